"""The lines that are for onplan and not for the model: the table of commands, their help, what may follow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onplan.cli.agents import Running
from onplan.cli.repl import model_commands as models
from onplan.cli.repl import plan_commands as plans
from onplan.cli.repl import rights_commands as rights
from onplan.cli.repl import session_commands as sessions
from onplan.cli.repl.command import Command, Invocation, Leave, Next
from onplan.cli.repl.handlers import Offer
from onplan.cli.view.screen import Line, Prose, Span
from onplan.config import DEMO


def commands() -> tuple[Command, ...]:
    """All of them, in the order of the help."""
    meanwhile = True
    return (
        Command("/help", "this list", _help, "", meanwhile),
        Command("/plan", "the plan; edit: as a checklist in your editor", plans.plan, "[edit]", meanwhile),
        Command("/todos", "what is open; clear: empty the plan", plans.todos, "[clear]", meanwhile),
        Command("/undo", "take the plan's last change back; the model is told", plans.undo, "", meanwhile),
        Command("/redo", "take the last undo back", plans.redo, "", meanwhile),
        Command("/auto", "let tool calls run without asking; again: ask", rights.auto, "", meanwhile),
        Command("/allow", "list, add or remove rules", rights.allow, "[RULE]"),
        Command("/cost", "what the session used and cost, by todo", models.cost, "", meanwhile),
        Command("/model", "which model answers; another one", models.model, "[NAME]"),
        Command("/dialect", "name and shape of the plan tool; another one", models.dialect, "[NAME]"),
        Command("/compact", "a shorter conversation; the plan stays", models.compact, "[FOCUS]"),
        Command("/new", "a new session; this one is kept", sessions.new),
        Command("/clear", "a new session on a clear screen", sessions.clear),
        Command("/resume", "go on with another session", sessions.resume, "[ID]"),
        Command("/fork", "a new session that begins as this one, up to a record", sessions.fork, "[N|rN]"),
        Command("/export", "the session as .md, .html or .json", sessions.export, "[FILE]"),
        Command("/init", "look at the project and write an AGENTS.md", sessions.init),
        Command("/doctor", "check key, address, and what the model can do", models.doctor),
        Command("/quit", "leave; so do q, exit and Ctrl-D", _quit, "", meanwhile),
    )


def command_named(name: str, known: Iterable[Command]) -> Command | None:
    """By its whole name."""
    return next((command for command in known if command.name == name), None)


def is_command(line: str) -> bool:
    """Whether a line looks like a command and not like a path."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:] and word[1:].isidentifier()


async def offers(name: str, run: Running) -> Sequence[Offer]:
    """What may follow a command."""
    match name:
        case "/plan":
            return (("edit", "as a checklist in your editor"),)
        case "/todos":
            return (("clear", "empty the plan"),)
        case "/dialect":
            from onplan.plan.dialect import DIALECTS

            return [*((dialect, "") for dialect in DIALECTS), ("auto", "what the model was trained on")]
        case "/model":
            return [(DEMO, "scripted, needs no key"), ("anthropic:", "NAME"), ("openai:", "NAME or NAME@URL")]
        case "/resume":
            return [(info.id, info.title) for info in await sessions.others(run)]
        case "/allow":
            return (("remove", "a rule, by its number"), ("ask", "RULE"), ("deny", "RULE"))
        case _:
            return ()


_HELP_AT = 20
_KEYS = (
    ("Alt-Enter", "a new line; so does \\ before Enter"),
    ("@", "a file, by a part of its name"),
    ("!", "a line for your shell; the model does not see it"),
    ("Ctrl-G", "the message in your editor"),
    ("Ctrl-O", "the last folded result, whole; again: the one before"),
    ("Ctrl-T", "the whole plan, or only what changes"),
    ("Enter", "while onplan works: your words go along with its next step"),
    ("Esc", "interrupt; what you typed is sent now"),
    ("Ctrl-C", "interrupt; what you typed stays"),
)


def help_lines(known: Sequence[Command]) -> Iterator[Line]:
    """Every command, and the keys."""
    for command in known:
        front = (Span(f"  {command.name:9}", "bold"), Span(f"{command.argument:9}", "dim"))
        yield Prose((*front, command.told), _HELP_AT)
    yield ()
    for key, told in _KEYS:
        yield Prose((Span(f"  {key:18}", "bold"), told), _HELP_AT)


async def _help(asked: Invocation) -> Next:
    asked.screen.lines(help_lines(commands()))


async def _quit(asked: Invocation) -> Next:
    return Leave()
