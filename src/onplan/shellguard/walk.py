"""The tree of a line, walked as a shell would run it; every command is judged where it stands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from onplan.shellguard.commands import assigned_outcomes, judged, odd_program
from onplan.shellguard.effects import change, decides_programs, stays_in_shell
from onplan.shellguard.expand import Expander, TooMuch, words
from onplan.shellguard.heredoc import lifted
from onplan.shellguard.marks import FILE, STREAM, UNKNOWN, is_known, plain, shown
from onplan.shellguard.printed import printed
from onplan.shellguard.programs import written
from onplan.shellguard.record import Record
from onplan.shellguard.rules import Entry
from onplan.shellguard.state import Function, Shell, Value
from onplan.shellguard.syntax import Source, parse, source_of
from onplan.shellguard.verdict import Argv, Code, Finding, Outcome, Place, Span
from onplan.shellguard.wrappers import is_clear

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 60
MAX_VARIANTS = 64

_BACKTICK = re.compile(r"\\([`$\\])")
_BACKQUOTED = re.compile(r"(?<!\\)`([^`]*)`")
_NUMBER_SET = re.compile(r"([A-Za-z_]\w*)\s*(?:[-+*/%|&^]?=(?!=)|\+\+|--)")
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})


@dataclass(slots=True)
class _Calls:
    """How a function calls itself while its body is walked."""

    name: str
    total: int = 0
    behind: int = 0
    """How many of the calls run in the background whatever happens."""
    maybe: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """Where in a line a statement stands."""

    source: Source
    stdin: str | None = None
    depth: int = 0
    background: bool = False
    conditional: bool = False
    defined: bool = False
    """Whether it stands in a function that nobody has called: only what must never run counts."""
    calls: tuple[str, ...] = ()
    outer: int | None = None
    extra: tuple[Node, ...] = ()
    """Words that the grammar gives to a redirection and the shell to the last command before it."""
    given: str | None = None
    """Standard input of the last command only, where the grammar redirects a whole chain or pipeline."""

    def first(self) -> Context:
        """The context of a command that is not the last of a chain."""
        return self if not self.extra and self.given is None else replace(self, extra=(), given=None)

    def deeper(self) -> Context:
        """One level further down; raises `TooMuch` beyond the cap."""
        if self.depth >= MAX_DEPTH:
            raise TooMuch
        return replace(self, depth=self.depth + 1)


@dataclass(slots=True)
class Walker:
    """Walks lines and fills `record`."""

    record: Record
    workspace: str
    home: str
    _frames: list[_Calls] = field(default_factory=list[_Calls])
    _later: list[tuple[str, Shell, Context, Span]] = field(
        default_factory=list["tuple[str, Shell, Context, Span]"]
    )

    def line(self, text: str, origin: Span | None = None) -> None:
        """Judge `text` as the whole line."""
        shell = Shell(self.home, (self.workspace,), (UNKNOWN,))
        source = source_of(text, origin)
        self._text(source, shell, Context(source), self.record.whole)
        for code, at_end, context, span in self._later:
            self._code(code, at_end, context, span)

    def passes(self, text: str, place: Place) -> bool:
        """Whether `text` as a line of its own, at `place`, meets no objection."""
        record = Record(whole=(0, 0), work=self.record.work)
        walker = Walker(record, self.workspace, self.home)
        source = source_of(text, (0, 0))
        walker._text(
            source, Shell(self.home, (place.cwd,), (UNKNOWN,)), Context(source, depth=MAX_DEPTH // 2), (0, 0)
        )
        self.record.work = record.work
        return record.worst is None

    def _text(self, source: Source, shell: Shell, context: Context, span: Span) -> str:
        root = parse(source)
        if root is None:
            other = lifted(source.text)
            source = source_of(other, span) if other is not None else source
            root = parse(source) if other is not None else None
        if root is None:
            self._find(_UNPARSED, context, span)
            return UNKNOWN
        return self._run(root, shell, replace(context, source=source))

    def _code(self, text: str, shell: Shell, context: Context, span: Span) -> str:
        """Judge `text`, which a command of the line would run as shell text."""
        self.record.spend()
        if not is_known(text):
            self._find(Finding("ask", "it runs text that is not known before it runs"), context, span)
        return self._text(source_of(text.replace("\0", ""), span), shell, context.deeper(), span)

    def _run(self, node: Node, shell: Shell, context: Context) -> str:
        """Judge what is below `node` in `shell`; what it prints."""
        context = context.deeper()
        match node.type:
            case "command":
                run = self._command
            case "program" | "compound_statement" | "do_group" | "negated_command":
                run = self._block
            case "subshell":
                run = self._subshell
            case "pipeline":
                run = self._pipeline
            case "list":
                run = self._list
            case "redirected_statement":
                run = self._redirected
            case "variable_assignment":
                run = self._assign
            case "variable_assignments":
                run = self._assignments
            case "declaration_command":
                run = self._declaration
            case "unset_command":
                run = self._unset
            case "function_definition":
                run = self._function
            case "if_statement":
                run = self._if
            case "while_statement":
                run = self._while
            case "for_statement":
                run = self._for
            case "c_style_for_statement":
                run = self._counting
            case "case_statement":
                run = self._case
            case _:
                run = self._other
        return run(node, shell, context)

    def _other(self, node: Node, shell: Shell, context: Context) -> str:
        """A comment, a test, a lone expression: nothing runs but the substitutions in it."""
        self._expander(shell, context).visit(node)
        return ""

    def _sequence(self, nodes: Iterable[Node], shell: Shell, context: Context) -> str:
        printed: list[str] = []
        for node, after in _with_next(nodes):
            if not node.is_named:
                continue
            if after is not None and after.type == "&":
                printed.append(self._run(node, shell.fork(), replace(context, background=True)))
            else:
                printed.append(self._run(node, shell, context))
        return "".join(printed)

    def _block(self, node: Node, shell: Shell, context: Context) -> str:
        if node.child_count and node.children[0].type == "((":
            self._expander(shell, context).visit(node)
            for name in _NUMBER_SET.findall(context.source.of(node)):
                shell.assign(name, [("0",), ("1",)])
            return ""
        return self._sequence(node.children, shell, context)

    def _subshell(self, node: Node, shell: Shell, context: Context) -> str:
        return self._sequence(node.children, shell.fork(), context)

    def _pipeline(self, node: Node, shell: Shell, context: Context) -> str:
        return self._piped([child for child in node.children if child.is_named], shell, context)

    def _piped(self, nodes: Sequence[Node], shell: Shell, context: Context) -> str:
        stdin, again = context.stdin, 0
        for node in nodes:
            before = self._self_calls()
            place = context if node is nodes[-1] else context.first()
            stdin = self._run(node, shell.fork(), replace(place, stdin=stdin))
            again += self._self_calls() > before
        if again > 1:
            self.record.find("deny", _FORK_BOMB, context.source.span(nodes[0]))
        return stdin or ""

    def _list(self, node: Node, shell: Shell, context: Context) -> str:
        items, operators = _flat(node)
        chooses = "||" in operators
        before = shell.fork()
        output = [self._run(items[0], shell, context.first())]
        for left, operator, item in zip(items, operators, items[1:], strict=False):
            place = context if item is items[-1] else context.first()
            inner = replace(place, conditional=True)
            if operator == "||":
                other = before.fork()
                output.append(self._run(item, other, inner))
                shell.become([shell, other])
                continue
            tested = shell.fork() if left.type == "test_command" else None
            before = shell.fork() if chooses else before
            output.append(self._run(item, shell, inner))
            if tested is not None:
                shell.become([shell, tested])
        return "".join(output)

    def _if(self, node: Node, shell: Shell, context: Context) -> str:
        ends: list[Shell] = []
        output: list[str] = []
        branch: Shell | None = None
        complete = False
        for child, after in _with_next(node.children):
            match child.type:
                case "then":
                    branch = shell.fork()
                    ends.append(branch)
                case "elif_clause":
                    ends.append(self._elif(child, shell, context))
                case "else_clause":
                    other = shell.fork()
                    ends.append(other)
                    output.append(self._sequence(child.children, other, replace(context, conditional=True)))
                    complete = True
                case _ if child.is_named:
                    inner = replace(context, conditional=branch is not None or context.conditional)
                    output.append(self._sequence(_both(child, after), branch or shell, inner))
                case _:
                    pass
        shell.become(ends if complete else [*ends, shell])
        return UNKNOWN if any(output) else ""

    def _elif(self, node: Node, shell: Shell, context: Context) -> Shell:
        branch: Shell | None = None
        for child, after in _with_next(node.children):
            if child.type == "then":
                branch = shell.fork()
            elif child.is_named:
                self._sequence(_both(child, after), branch or shell, replace(context, conditional=True))
        return branch or shell

    def _while(self, node: Node, shell: Shell, context: Context) -> str:
        """The body runs twice here: what it changes may matter to what stands before the change."""
        output = ""
        body = shell.fork()
        for _ in range(2):
            for child in node.children:
                if child.is_named:
                    output = self._run(child, body, context)
            body.left = False
        shell.become([shell, body])
        return UNKNOWN if output else ""

    def _for(self, node: Node, shell: Shell, context: Context) -> str:
        name, values, body = self._loop(node, shell, context)
        before = shell.fork()
        output: list[str] = []
        for value in values[:MAX_VARIANTS]:
            shell.assign(name, [(value,)])
            output.append(self._run(body, shell, replace(context, conditional=True)))
            shell.left = False
        if not values or UNKNOWN in values:
            shell.become([shell, before])
        return "".join(output)

    def _loop(self, node: Node, shell: Shell, context: Context) -> tuple[str, list[str], Node]:
        """A loop's variable, the values that it takes, and its body."""
        name = node.child_by_field_name("variable")
        body = node.child_by_field_name("body") or node
        expander = self._expander(shell, context)
        nodes = [child for child in node.children_by_field_name("value") if child.is_named]
        values: list[str] = []
        for group in words(nodes, context.source):
            for fields in expander.word(group):
                values.extend(fields)
        if all(child.type != "in" for child in node.children):
            values = [UNKNOWN] if shell.positional is None else list(shell.positional)
        if len(values) > MAX_VARIANTS:
            values = [*values[: MAX_VARIANTS - 1], UNKNOWN]
        return context.source.of(name) if name else "_", values, body

    def _counting(self, node: Node, shell: Shell, context: Context) -> str:
        body = node.child_by_field_name("body")
        for name in _NUMBER_SET.findall(context.source.of(node).partition("))")[0]):
            shell.assign(name, [("0",), ("1",)])
        for child in node.children:
            if child.is_named and child != body:
                self._expander(shell, context).visit(child)
        return self._while(body, shell, context) if body else ""

    def _case(self, node: Node, shell: Shell, context: Context) -> str:
        ends: list[Shell] = []
        output: list[str] = []
        expander = self._expander(shell, context)
        for child in node.children:
            if child.type != "case_item":
                expander.visit(child)
                continue
            branch = shell.fork()
            patterns = set(child.children_by_field_name("value"))
            body = [one for one in child.children if one not in patterns]
            output.append(self._sequence(body, branch, replace(context, conditional=True)))
            ends.append(branch)
        shell.become([*ends, shell])
        return UNKNOWN if any(output) else ""

    def _function(self, node: Node, shell: Shell, context: Context) -> str:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return ""
        title = context.source.of(name)
        shell.functions[title] = Function(body, context.source)
        inside = shell.fork()
        inside.positional = None
        self._called(title, inside, replace(context, defined=True, stdin=None), ())
        return ""

    def _assignments(self, node: Node, shell: Shell, context: Context) -> str:
        for child in node.named_children:
            self._assign(child, shell, context)
        return ""

    def _assign(self, node: Node, shell: Shell, context: Context) -> str:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return ""
        expander = self._expander(shell, context)
        if name.type == "subscript":
            shell.assign(context.source.of(name).partition("[")[0], [(UNKNOWN,)])
            expander.visit(node)
            return ""
        title = context.source.of(name)
        values = expander.value(value)
        if any(child.type == "+=" for child in node.children):
            values = _appended(shell.values(title), values, array=value is not None and value.type == "array")
        self._set(title, values, shell, context, context.source.span(node))
        return ""

    def _set(self, name: str, values: Sequence[Value], shell: Shell, context: Context, span: Span) -> None:
        shell.assign(name, values)
        self.record.changes_programs = self.record.changes_programs or decides_programs(name)
        for value in values:
            for outcome in assigned_outcomes(name, "".join(value[:1])):
                self._outcome(outcome, shell.fork(), context, span)

    def _declaration(self, node: Node, shell: Shell, context: Context) -> str:
        """`export`, `local` and their kind. A name reference may stand for any variable."""
        references = any(re.fullmatch(r"-\w*n\w*", context.source.of(child)) for child in node.named_children)
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child, shell, context)
            elif child.type not in ("variable_name", "word"):
                for fields in self._expander(shell, context).word([child]):
                    change("export", fields, shell, self._place(shell, context))
            if references and child.type == "variable_assignment":
                shell.assign(context.source.of(child).partition("=")[0], [(UNKNOWN,)])
        return ""

    def _unset(self, node: Node, shell: Shell, context: Context) -> str:
        for child in node.named_children:
            shell.assign(context.source.of(child), [("",)])
            self._expander(shell, context).visit(child)
        return ""

    def _redirected(self, node: Node, shell: Shell, context: Context) -> str:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.named_children if child.type in _REDIRECTS]
        inner, after = self._redirects(redirects, shell, context)
        if body is None:
            return UNKNOWN
        if body.type in _CHAINS and inner.stdin is not context.stdin:
            inner = replace(inner, stdin=context.stdin, given=inner.stdin)
        if inner.extra and body.type not in (*_CHAINS, "command"):
            self._find(_UNPARSED, context, context.source.span(node))
        cwds = shell.cwds
        inner = inner if body.type in (*_CHAINS, "command") else replace(inner, extra=())
        output = self._run(body, shell, inner)
        if body.type in _CHAINS and shell.cwds != cwds:
            self._redirects(redirects, shell, context)
        return self._after_heredoc(after, output, shell, context) if after else output

    def _redirects(self, nodes: Sequence[Node], shell: Shell, context: Context) -> tuple[Context, list[Node]]:
        """The context that redirections give a command, and the statements that follow a here-document."""
        stdin, extra = context.stdin, list(context.extra)
        after: list[Node] = []
        todo = list(nodes)
        while todo:
            node = todo.pop(0)
            match node.type:
                case "file_redirect":
                    stdin, more = self._file(node, stdin, shell, context)
                    extra.extend(more)
                case "herestring_redirect":
                    stdin = self._expander(shell, context).text(node.named_children[-1])[0] + "\n"
                case _:
                    stdin = self._heredoc(node, shell, context)
                    extra.extend(node.children_by_field_name("argument"))
                    todo.extend(child for child in node.named_children if child.type in _REDIRECTS)
                    after.extend(child for child in node.children if _follows(child))
        return replace(context, stdin=stdin, extra=tuple(extra)), after

    def _file(
        self, node: Node, stdin: str | None, shell: Shell, context: Context
    ) -> tuple[str | None, list[Node]]:
        """Standard input after a redirection, and the words that belong to the command."""
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = words(node.children_by_field_name("destination"), context.source)
        if not targets:
            return stdin, []
        extra = [one for group in targets[1:] for one in group]
        for fields in self._expander(shell, context).word(targets[0]):
            target = fields[0] if fields else ""
            if operator == "<":
                stdin = _opened(target)
            elif not (operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", target)):
                self._written(target, shell, context, context.source.span(node))
        return stdin, extra

    def _written(self, target: str, shell: Shell, context: Context, span: Span) -> None:
        if target.startswith(("/dev/tcp/", "/dev/udp/")):
            self._find(Finding("ask", "it opens a connection to another machine"), context, span)
            return
        for cwd in shell.cwds:
            for outcome in written(target, Place(self.workspace, cwd, self.home)):
                self._outcome(outcome, shell, context, span)

    def _heredoc(self, node: Node, shell: Shell, context: Context) -> str:
        body = next((child for child in node.named_children if child.type == "heredoc_body"), None)
        start = next((child for child in node.named_children if child.type == "heredoc_start"), None)
        if body is None or start is None:
            return ""
        quoted = any(mark in context.source.of(start) for mark in "'\"\\")
        if quoted:
            return context.source.of(body) + "\n"
        # The grammar does not look for backquotes here, the shell does.
        for code in _BACKQUOTED.findall(context.source.of(body)):
            self._code(code, shell.fork(), context, context.source.span(node))
        return _BACKQUOTED.sub(UNKNOWN, self._expander(shell, context).heredoc(body)) + "\n"

    def _after_heredoc(self, nodes: Sequence[Node], output: str, shell: Shell, context: Context) -> str:
        for node in nodes:
            if node.type == "pipeline":
                output = self._pipeline(node, shell, replace(context.deeper(), stdin=output, extra=()))
            elif node.is_named:
                output += self._run(node, shell, replace(context, extra=()))
        return output

    def _command(self, node: Node, shell: Shell, context: Context) -> str:
        if context.given is not None:
            context = replace(context, stdin=context.given, given=None)
        parts, redirects, assignments = _parts(node)
        inner, after = self._redirects(redirects, shell, context)
        for child in [part for part in parts if part.type == "subshell"]:
            parts.remove(child)
            self._run(child, shell, replace(inner, extra=()))
            if context.source.of(node.children[0]) not in ("time", "coproc"):
                self._find(_UNPARSED, context, context.source.span(node))
        grouped = words([*parts, *inner.extra], context.source)
        inner = replace(inner, extra=())
        expander = self._expander(shell, context)
        options = [expander.word(group) for group in grouped]
        before = dict(shell.variables) if assignments else {}
        for child in assignments:
            self._assign(child, shell, context)
        span, raw = context.source.span(node), context.source.of(node)
        outputs = [self._simple(chosen, shell, inner, span, raw) for chosen in self._choices(options)]
        if assignments and parts:
            shell.restore(before, [_assigned_name(child, context.source) for child in assignments])
        output = outputs[0] if len(set(outputs)) == 1 else UNKNOWN
        return self._after_heredoc(after, output, shell, context) if after else output

    def _choices(self, options: Sequence[list[tuple[str, ...]]]) -> Iterator[tuple[str, ...]]:
        """Each list of words that a command may have; not every one if there are too many."""
        total = 1
        for option in options:
            total *= len(option)
        chosen = [option if total <= MAX_VARIANTS or len(option) == 1 else [(UNKNOWN,)] for option in options]
        for groups in itertools.product(*chosen):
            yield tuple(itertools.chain.from_iterable(groups))

    def _simple(
        self,
        argv: tuple[str, ...],
        shell: Shell,
        context: Context,
        span: Span,
        raw: str,
        *,
        functions: bool = True,
    ) -> str:
        """Judge one command whose words are known as far as they can be; what it prints."""
        self.record.spend(1 + len(argv) // 16)
        if argv[:1] == ("{",):
            argv = argv[1:]
        if not argv or argv == ("}",):
            return ""
        name = plain(argv[0])
        if name in shell.aliases and len(context.calls) < 8:
            text = f"{shell.aliases[name]} {' '.join(map(_quoted, argv[1:]))}"
            inner = shell.fork()
            del inner.aliases[name]
            return self._code(text, inner, replace(context, calls=(*context.calls, "alias")), span)
        if functions and name in shell.functions:
            return self._call(name, argv[1:], shell, context, span)
        base = name.rpartition("/")[2]
        index = self.record.command(Entry(argv, raw, span, is_clear(base), context.outer))
        problem = odd_program(argv[0])
        if problem:
            self._find(Finding("ask", problem), context, span)
            return UNKNOWN
        return self._program(base, argv[1:], shell, replace(context, outer=index), span)

    def _program(self, name: str, args: tuple[str, ...], shell: Shell, context: Context, span: Span) -> str:
        place = self._place(shell, context)
        output: str | None = None
        if name == "trap" and (code := _trapped(args)):
            self._later.append((code, shell, replace(context.deeper(), stdin=None, outer=None), span))
        for cwd in shell.cwds:
            at = replace(place, cwd=cwd)
            for outcome in judged(name, args, at, lambda text, at=at: self.passes(text, at)):
                inside = shell if _in_shell(name, outcome) else shell.fork()
                if inside is not shell:
                    inside.cwds = (cwd,)
                given = self._outcome(outcome, inside, context, span)
                output = given if given is not None else output
        change(name, args, shell, place)
        if output is not None:
            return output
        return printed(name, args, place)

    def _outcome(self, outcome: Outcome, shell: Shell, context: Context, span: Span) -> str | None:
        match outcome:
            case Finding():
                self._find(outcome, context, span)
                return None
            case Code(text, positional, zero):
                if positional is not None:
                    shell.positional = positional
                if zero is not None:
                    shell.variables["0"] = ((zero,),)
                return self._code(text, shell, replace(context, outer=None), span)
            case Argv(argv, joined, functions, cwd):
                if cwd is not None:
                    shell.go([cwd])
                inner = replace(context.deeper(), outer=context.outer if joined else None)
                return self._simple(argv, shell, inner, span, " ".join(map(shown, argv)), functions=functions)

    def _call(self, name: str, args: tuple[str, ...], shell: Shell, context: Context, span: Span) -> str:
        if name in context.calls:
            self._again(name, context)
            return ""
        kept, shell.positional = shell.positional, args
        output = self._called(name, shell, context.deeper(), args)
        shell.positional, shell.left = kept, False
        return output

    def _called(self, name: str, shell: Shell, context: Context, args: tuple[str, ...]) -> str:
        """Judge a function's body, and how it calls itself."""
        function = shell.functions[name]
        calls = _Calls(name)
        self._frames.append(calls)
        inner = replace(
            context,
            source=function.source,
            calls=(*context.calls, name),
            background=False,
            conditional=False,
            outer=None,
            extra=(),
            given=None,
        )
        output = self._run(function.body, shell, inner)
        self._frames.pop()
        span = function.source.span(function.body)
        if calls.total > 1 and calls.behind:
            self.record.find("deny", _FORK_BOMB, span)
        elif calls.behind or calls.maybe:
            self.record.find("ask", "a function starts itself again in the background", span)
        return output

    def _again(self, name: str, context: Context) -> None:
        for frame in self._frames:
            if frame.name == name:
                frame.total += 1
                frame.behind += context.background and not context.conditional
                frame.maybe += context.background and context.conditional

    def _self_calls(self) -> int:
        return sum(frame.total for frame in self._frames)

    def _substitution(self, node: Node, shell: Shell, context: Context) -> str:
        """What a command or process substitution prints, once it is judged."""
        self.record.spend()
        inner = replace(
            context.deeper(),
            stdin=None if node.type == "process_substitution" else context.stdin,
            extra=(),
            given=None,
        )
        text = context.source.of(node).strip()
        if text.startswith("`") and "\\" in text:
            return self._code(
                _BACKTICK.sub(r"\1", text[1:-1]), shell.fork(), inner, context.source.span(node)
            )
        if re.fullmatch(r"\$\(\s*<[^<(].*\)", text, re.DOTALL):
            for child in node.children:
                self._expander(shell, inner).visit(child)
            return UNKNOWN
        if text.startswith(">("):
            inner = replace(inner, stdin=UNKNOWN)
        return self._sequence(node.children, shell.fork(), inner)

    def _expander(self, shell: Shell, context: Context) -> Expander:
        return Expander(context.source, shell, lambda node: self._substitution(node, shell, context))

    def _place(self, shell: Shell, context: Context) -> Place:
        cwd = shell.cwds[0] if len(shell.cwds) == 1 else UNKNOWN
        return Place(self.workspace, cwd, self.home, context.stdin)

    def _find(self, finding: Finding, context: Context, span: Span) -> None:
        if finding.decision == "deny" or not context.defined:
            self.record.find(finding.decision, finding.reason, span)


_UNPARSED = Finding("ask", "the line cannot be parsed; write it more plainly")
_CHAINS = ("list", "pipeline", "negated_command")
_FORK_BOMB = "a function starts itself again and again, which stops the machine"


def _with_next(nodes: Iterable[Node]) -> Iterator[tuple[Node, Node | None]]:
    listed = list(nodes)
    return zip(listed, [*listed[1:], None], strict=False)


def _both(node: Node, after: Node | None) -> list[Node]:
    return [node] if after is None else [node, after] if not after.is_named else [node]


def _flat(node: Node) -> tuple[list[Node], list[str]]:
    """A chain of `&&` and `||`, which the grammar nests to the left, as commands and what stands between."""
    items: list[Node] = []
    operators: list[str] = []
    while node.type == "list":
        left, operator, *rest = [child for child in node.children if child.type != "comment"]
        items.extend(reversed(rest))
        operators.append(operator.type)
        node = left
    items.append(node)
    return items[::-1], operators[::-1]


def _follows(node: Node) -> bool:
    """Whether `node`, part of a here-document, is a statement that stands on its first line."""
    return node.is_named and node.type not in (
        *_REDIRECTS,
        "heredoc_start",
        "heredoc_body",
        "heredoc_end",
        "word",
        "string",
        "raw_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "file_descriptor",
    )


def _parts(node: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """A command's words, redirections and assignments."""
    parts: list[Node] = []
    redirects: list[Node] = []
    assignments: list[Node] = []
    for child in node.children:
        if child.type in _REDIRECTS:
            redirects.append(child)
        elif child.type == "variable_assignment":
            assignments.append(child)
        elif child.type == "command_name":
            parts.extend(child.children)
        elif child.type != "comment":
            parts.append(child)
    return parts, redirects, assignments


def _assigned_name(node: Node, source: Source) -> str:
    name = node.child_by_field_name("name")
    return source.of(name).partition("[")[0] if name else ""


def _opened(target: str) -> str:
    """What standard input is once it comes from `target`."""
    if target.startswith(STREAM):
        return target[1:]
    return "" if target == "/dev/null" else FILE


def _appended(before: Sequence[Value], more: Sequence[Value], *, array: bool) -> list[Value]:
    if array:
        return [(*first, *second) for first in before for second in more]
    return [("".join(first[:1]) + "".join(second[:1]), *first[1:]) for first in before for second in more]


def _trapped(args: Sequence[str]) -> str:
    """The code that `trap` keeps for later."""
    words = args[1:] if args[:1] == ("--",) else args
    return plain(words[0]) if words and words[0] not in ("-p", "-l", "-") else ""


def _in_shell(name: str, outcome: Outcome) -> bool:
    return stays_in_shell(name) or (isinstance(outcome, Code) and outcome.here)


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./=:@%+-]+", word) else "'" + word.replace("'", "'\\''") + "'"
