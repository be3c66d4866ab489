"""Hooks that are commands: each gets JSON on standard input and answers by exit code or JSON.

The contract is the public one of Claude Code's hooks (its hooks reference), so that scripts written for it
work here; `PlanChanged` is ours. What a command says becomes the decisions of `onplan.hooks`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from onplan.events import Warned
from onplan.hooks import (
    Allow,
    Ask,
    Block,
    CompactionPlan,
    Continue,
    Deny,
    EndTurn,
    Hooks,
    PlanChange,
    Rewrite,
    Veto,
    View,
)
from onplan.messages import Assistant, Call, Note, ToolResult
from onplan.rules import PLAN_TOOLS, Source
from onplan.toolset import Tool

if TYPE_CHECKING:
    from onplan.tools.processes import Tree

HookEvent: TypeAlias = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PlanChanged",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
]

DEFAULT_TIMEOUT = 60.0
"""Seconds that a command may take unless its entry says otherwise."""

_MOST_OUTPUT = 1_000_000
_MOST_CONTEXT = 10_000
"""Characters of a hook's text that reach the model."""
_KILL_GRACE = 0.5
_NAMES_ONLY = re.compile(r"[A-Za-z0-9_\-\s,|]*")


class HookCommand(msgspec.Struct, frozen=True):
    """A command and when to run it. `timeout` is in seconds.

    `fail_closed`: if it fails, what it was asked about does not happen. `claude`: it comes from a file of
    Claude Code and is spoken to in the tool and argument names of that.
    """

    event: HookEvent
    command: str
    matcher: str = ""
    timeout: float = DEFAULT_TIMEOUT
    fail_closed: bool = False
    claude: bool = False
    source: Source = "user"

    @property
    def name(self) -> str:
        """The command for people, on one line and not too long."""
        line = " ".join(self.command.split())
        return line if len(line) <= 60 else f"{line[:59]}…"


class Said(msgspec.Struct, frozen=True):
    """What one command answered, whatever the event.

    `block`: its reason against what was about to happen. `ended`: why the turn is to end. `failure`: why
    there is no answer; everything else is then empty.
    """

    hook: HookCommand
    block: str | None = None
    permission: Literal["allow", "ask"] | None = None
    reason: str = ""
    updated: dict[str, Any] | None = None
    context: str = ""
    ended: str | None = None
    message: str = ""
    failure: str = ""


class CommandHooks:
    """The commands of a run, as hooks. `root`: where they run. `session_id` is set once it is known.

    `mode` answers the permission mode that commands are told: `default` or `bypassPermissions`.
    """

    def __init__(
        self,
        commands: Iterable[HookCommand],
        root: Path,
        *,
        mode: Callable[[], str] = lambda: "default",
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.commands = _once(commands)
        self.session_id = ""
        self._root = root
        self._mode = mode
        self._env = env
        self._ended = False  # a command has said that the turn is to end: done at the end of the round

    def hooks(self) -> Hooks:
        """Only the events that some command waits for: a run without commands pays nothing."""
        wanted = {command.event for command in self.commands}
        ends = {"PreToolUse", "PostToolUse"} & wanted
        return Hooks(
            session_start=(self._session_start,) if "SessionStart" in wanted else (),
            user_prompt=(
                *((self._new_turn,) if ends else ()),
                *((self._user_prompt,) if "UserPromptSubmit" in wanted else ()),
            ),
            before_tool=(self._before_tool,) if "PreToolUse" in wanted else (),
            after_tool=(self._after_tool,) if "PostToolUse" in wanted else (),
            after_round=(self._after_round,) if ends else (),
            plan_change=(self._plan_change,) if "PlanChanged" in wanted else (),
            stop=(self._stop,) if "Stop" in wanted else (),
            session_end=(self._session_end,) if "SessionEnd" in wanted else (),
            before_compaction=(self._before_compaction,) if "PreCompact" in wanted else (),
        )

    def hooks_of_subagent(self) -> Hooks:
        """For a subagent: the same, with `SubagentStop` in place of `Stop`, and no session of its own."""
        own = self.hooks()
        stop = (self._subagent_stop,) if any(c.event == "SubagentStop" for c in self.commands) else ()
        return replace(own, session_start=(), user_prompt=(), session_end=(), stop=stop)

    # --- the events ---

    async def _session_start(self, view: View) -> tuple[Note | Warned, ...]:
        said = await self.ask("SessionStart", {"source": "startup"}, subject="startup")
        return (*_notes(said), *_told(said))

    def _new_turn(self, text: str, view: View) -> None:
        self._ended = False  # an interrupt may have come before the round's end

    async def _user_prompt(self, text: str, view: View) -> tuple[Note | Block | Warned, ...]:
        said = await self.ask("UserPromptSubmit", {"prompt": text})
        against = _objection(said)
        return (*((Block(against[1]),) if against else _notes(said)), *_told(said))

    async def _before_tool(self, call: Call, tool: Tool, view: View) -> tuple[Any, ...]:
        said = await self.ask("PreToolUse", {"tool_use_id": call.id}, call=call)
        self._note_ending(said)
        objection = _objection(said)
        if objection:
            hook, reason = objection
            return (Deny(reason, f"hook {hook.name}"), *_told(said))
        return (*_rewrites(call, said), *_permission(said), *_notes(said), *_told(said))

    async def _after_tool(self, call: Call, result: ToolResult, view: View) -> tuple[Note | Warned, ...]:
        if result.outcome != "ok":
            return ()
        response = {"content": result.content, "success": True, **(result.details or {})}
        facts = {"tool_use_id": call.id, "tool_response": response}
        said = await self.ask("PostToolUse", facts, call=call)
        self._note_ending(said)
        blocks = [_note(f"{call.name}: {one.block}") for one in said if one.block is not None]
        return (*blocks, *_notes(said), *_told(said))

    def _after_round(self, view: View) -> EndTurn | None:
        ended, self._ended = self._ended, False
        return EndTurn("blocked") if ended else None

    async def _plan_change(self, change: PlanChange) -> tuple[Veto | Warned, ...]:
        facts = {
            "before": change.before,
            "after": change.after,
            "diff": change.diff,
            "author": change.author,
        }
        said = await self.ask("PlanChanged", facts)
        objection = _objection(said)
        return (*((Veto(objection[1]),) if objection else ()), *_told(said))

    async def _stop(self, reply: Assistant, view: View) -> tuple[Continue | Warned, ...]:
        return await self._at_stop("Stop", reply, view)

    async def _subagent_stop(self, reply: Assistant, view: View) -> tuple[Continue | Warned, ...]:
        return await self._at_stop("SubagentStop", reply, view)

    async def _at_stop(self, event: HookEvent, reply: Assistant, view: View) -> tuple[Continue | Warned, ...]:
        facts = {
            "stop_hook_active": view.turn.continuations > 0,
            "last_assistant_message": reply.text,
        }
        said = await self.ask(event, facts)
        if any(one.ended is not None for one in said):
            return _told(said)
        going_on = [
            Continue(Note(f"<notice>{one.block}</notice>", "stop_hook", "message"))
            for one in said
            if one.block is not None
        ]
        return (*going_on, *_told(said))

    async def _session_end(self, view: View) -> tuple[Warned, ...]:
        return _told(await self.ask("SessionEnd", {"reason": "other"}, subject="other"))

    async def _before_compaction(self, plan: CompactionPlan) -> tuple[Veto | Warned, ...]:
        facts = {"trigger": plan.trigger, "custom_instructions": plan.focus}
        said = await self.ask("PreCompact", facts, subject=plan.trigger)
        objection = _objection(said)
        return (*((Veto(objection[1]),) if objection else ()), *_told(said))

    def _note_ending(self, said: Sequence[Said]) -> None:
        self._ended = self._ended or any(one.ended is not None for one in said)

    # --- asking ---

    async def ask(
        self, event: HookEvent, facts: Mapping[str, Any], *, call: Call | None = None, subject: str = ""
    ) -> list[Said]:
        """What every command of the event says that its matcher lets speak: all run, side by side.

        `subject`: what matchers compare where there is no call. Cancellation ends the commands.
        """
        names = _names_of(call.name) if call else (subject,)
        chosen = [hook for hook in self.commands if hook.event == event and _fits(hook.matcher, names)]
        return list(await asyncio.gather(*(self._ask_one(hook, facts, call) for hook in chosen)))

    async def _ask_one(self, hook: HookCommand, facts: Mapping[str, Any], call: Call | None) -> Said:
        import json  # here and below: a run without hooks needs none of what running one does

        payload = json.dumps(self._payload(hook, facts, call), default=repr).encode()
        try:
            ran = await _run(hook, payload, self._root, self._environment())
        except OSError as error:
            return _closed(Said(hook, failure=f"could not start: {error.strerror or error}"))
        return _closed(read_answer(hook, ran))

    def _payload(self, hook: HookCommand, facts: Mapping[str, Any], call: Call | None) -> dict[str, Any]:
        spoken: dict[str, Any] = {}
        if call is not None:
            spoken = {"tool_name": call.name, "tool_input": call.arguments}
            if hook.claude:
                name, arguments = to_claude(call, self._root)
                spoken = {"tool_name": name, "tool_input": arguments}
        return {
            "session_id": self.session_id,
            "transcript_path": "",
            "cwd": str(self._root),
            "permission_mode": self._mode(),
            "hook_event_name": hook.event,
            **spoken,
            **facts,
        }

    def _environment(self) -> dict[str, str]:
        root = str(self._root)
        inherited = os.environ if self._env is None else self._env
        return {**inherited, "CLAUDE_PROJECT_DIR": root, "ONPLAN_PROJECT_DIR": root}


def _once(commands: Iterable[HookCommand]) -> tuple[HookCommand, ...]:
    """The same command of the same event and matcher runs once, however many files name it."""
    seen: dict[tuple[str, str, str], HookCommand] = {}
    for command in commands:
        key = (command.event, command.command, command.matcher)
        known = seen.setdefault(key, command)
        if command.fail_closed and not known.fail_closed:
            seen[key] = replace(known, fail_closed=True)
    return tuple(seen.values())


# --- what was said, as decisions --------------------------------------------------------------------


def _objection(said: Sequence[Said]) -> tuple[HookCommand, str] | None:
    """The first refusal: a block, or an end of the turn."""
    for one in said:
        if one.block is not None:
            return one.hook, one.block
        if one.ended is not None:
            return one.hook, one.ended
    return None


def _closed(said: Said) -> Said:
    """The failure of a hook that fails closed is its refusal."""
    if not said.failure or not said.hook.fail_closed:
        return said
    return replace(said, block=f"a hook that has to agree failed: {said.hook.name}: {said.failure}")


def _rewrites(call: Call, said: Sequence[Said]) -> tuple[Rewrite | Warned, ...]:
    """The first change of the input: all saw the same one, so a second cannot build on it."""
    updates = [one for one in said if one.updated is not None]
    if not updates:
        return ()
    first = updates[0].updated or {}
    arguments = from_claude(call, first) if updates[0].hook.claude else first
    left_out = [
        Warned(f"hook {one.hook.name}: its change of the input was left out, another hook changed it too")
        for one in updates[1:]
        if one.updated != first
    ]
    return (Rewrite(arguments), *left_out)


def _permission(said: Sequence[Said]) -> tuple[Ask | Allow, ...]:
    """The most restrictive of what is no refusal."""
    asking = next((one for one in said if one.permission == "ask"), None)
    if asking:
        return (Ask(asking.reason, f"hook {asking.hook.name}"),)
    allowing = next((one for one in said if one.permission == "allow"), None)
    return (Allow(f"hook {allowing.hook.name}", allowing.reason),) if allowing else ()


def _notes(said: Sequence[Said]) -> tuple[Note, ...]:
    return tuple(_note(one.context) for one in said if one.context)


def _note(text: str) -> Note:
    return Note(f"<notice>{text}</notice>", "hook")


def _told(said: Sequence[Said]) -> tuple[Warned, ...]:
    """What the person reads: failures, messages, and why a turn was ended."""
    lines: list[Warned] = []
    for one in said:
        if one.failure:
            effect = "" if one.hook.fail_closed else " and was skipped"
            lines.append(Warned(f"hook {one.hook.name} failed{effect}: {one.failure}"))
        elif one.block is not None and one.hook.event in ("SessionStart", "SessionEnd"):
            lines.append(Warned(f"hook {one.hook.name}: {one.block}"))  # there is nothing to block
        if one.message:
            lines.append(Warned(f"hook {one.hook.name}: {one.message}"))
        if one.ended is not None:
            lines.append(Warned(f"hook {one.hook.name} ended the turn: {one.ended}"))
    return tuple(lines)


# --- reading an answer ------------------------------------------------------------------------------


class Ran(msgspec.Struct, frozen=True):
    """How a command ended. `timed_out`: it was ended with everything that it had started."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False


def read_answer(hook: HookCommand, ran: Ran) -> Said:
    """What a command meant: exit 2 blocks with standard error as the reason, 0 may say more in JSON on
    standard output, any other code is a failure."""
    if ran.timed_out:
        return Said(hook, failure=f"it took longer than {hook.timeout:g} s and was ended")
    if ran.code == 2:
        return Said(hook, block=_text(ran.stderr) or f"the hook {hook.name} blocked it without a reason")
    if ran.code != 0:
        last = ran.stderr.strip().splitlines()
        return Said(hook, failure=f"exit code {ran.code}" + (f": {last[-1][:200]}" if last else ""))
    import json

    text = ran.stdout.strip()
    if not text.startswith("{"):
        speaks = hook.event in ("UserPromptSubmit", "SessionStart")
        return Said(hook, context=_text(text) if speaks else "")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Said(hook, failure=f"its answer is not valid JSON: {error}")
    return _read_json(hook, cast("dict[str, Any]", found))


def _read_json(hook: HookCommand, found: dict[str, Any]) -> Said:
    specific = found.get("hookSpecificOutput")
    inner = cast("dict[str, Any]", specific) if isinstance(specific, dict) else {}
    reason = _text(inner.get("permissionDecisionReason")) or _text(found.get("reason"))
    said = Said(
        hook,
        reason=reason,
        context=_text(inner.get("additionalContext")),
        ended=None,
        message=_text(found.get("systemMessage")),
    )
    if found.get("continue") is False:
        said = replace(said, ended=_text(found.get("stopReason")) or "a hook ended the turn")
    decision = inner.get("permissionDecision", found.get("decision"))
    match decision:
        case None:
            pass
        case "deny" | "block":
            said = replace(said, block=reason or f"the hook {hook.name} refused it without a reason")
        case "allow" | "approve":
            said = replace(said, permission="allow")
        case "ask":
            said = replace(said, permission="ask")
        case _:
            return Said(hook, failure=f"it decided {str(decision)[:40]!r}: allow, ask or deny are known")
    updated = inner.get("updatedInput")
    if updated is None or hook.event != "PreToolUse":
        return said
    if not isinstance(updated, dict):
        return Said(hook, failure="its updatedInput is no object")
    return replace(said, updated=cast("dict[str, Any]", updated))


def _text(value: Any) -> str:
    """Text of a hook for the model or a person, cut where it would fill a context or a screen."""
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= _MOST_CONTEXT else f"{text[:_MOST_CONTEXT]}…"


# --- matching ---------------------------------------------------------------------------------------


def _names_of(tool: str) -> tuple[str, ...]:
    """A tool's own name, and those under which Claude Code knows it."""
    if tool in PLAN_TOOLS:
        return (tool, "TodoWrite")
    both = ("MultiEdit",) if tool == "edit_file" else ()
    return (tool, *((_TOOL_NAMES[tool],) if tool in _TOOL_NAMES else ()), *both)


def _fits(matcher: str, names: Sequence[str]) -> bool:
    """Nothing or `*`: all. Only names, with `|` or `,` between them: one of these. Else a regular expression
    that is found anywhere in a name; one that is not valid fits all, so that no hook is lost by a slip."""
    if matcher.strip() in ("", "*") or names == ("",):
        return True
    if _NAMES_ONLY.fullmatch(matcher):
        return bool({name.strip() for name in re.split(r"[|,]", matcher)} & set(names))
    try:
        pattern = re.compile(matcher)
    except re.error:
        return True
    return any(pattern.search(name) for name in names)


# --- the names of Claude Code -----------------------------------------------------------------------

_TOOL_NAMES: Mapping[str, str] = {
    "bash": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "web_search": "WebSearch",
    "task": "Task",
    "ask_user": "AskUserQuestion",
}
_KEYS: Mapping[str, str] = {"path": "file_path", "old": "old_string", "new": "new_string"}
_RENAMED = ("read_file", "write_file", "edit_file")


def to_claude(call: Call, root: Path) -> tuple[str, Any]:
    """The call as Claude Code would name it: file paths absolute, times of bash in milliseconds."""
    name = "TodoWrite" if call.name in PLAN_TOOLS else _TOOL_NAMES.get(call.name, call.name)
    sent: object = call.arguments
    if not isinstance(sent, dict):
        return name, sent
    arguments = {**cast("dict[str, Any]", sent)}
    timeout: object = arguments.get("timeout")
    if call.name == "bash" and isinstance(timeout, (int, float)):
        arguments["timeout"] = int(timeout * 1000)
    if call.name not in _RENAMED:
        return name, arguments
    if isinstance(arguments.get("path"), str):
        arguments["path"] = str(root / arguments["path"])
    edits: object = arguments.get("edits")
    if isinstance(edits, list) and edits:
        name = "MultiEdit"
        arguments["edits"] = [_renamed(edit, _KEYS) for edit in cast("list[Any]", edits)]
    return name, _renamed(arguments, _KEYS)


def from_claude(call: Call, updated: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that a hook gave back in those names, in ours."""
    arguments = dict(updated)
    timeout: object = arguments.get("timeout")
    if call.name == "bash" and isinstance(timeout, (int, float)):
        arguments["timeout"] = timeout / 1000
    if call.name not in _RENAMED:
        return arguments
    back = {theirs: ours for ours, theirs in _KEYS.items()}
    edits: object = arguments.get("edits")
    if isinstance(edits, list):
        arguments["edits"] = [_renamed(edit, back) for edit in cast("list[Any]", edits)]
    return {back.get(key, key): value for key, value in arguments.items()}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    return {names.get(key, key): item for key, item in cast("dict[str, Any]", value).items()}


# --- running ----------------------------------------------------------------------------------------


async def _run(hook: HookCommand, payload: bytes, root: Path, env: Mapping[str, str]) -> Ran:
    """Run one command to its end, or to its timeout. Cancellation ends it with all that it started."""
    from tempfile import TemporaryFile

    from onplan.tools.processes import Tree

    mark = os.urandom(8).hex()
    # Files and no pipes: what a command leaves running in the background could hold a pipe open for ever.
    with TemporaryFile() as told, TemporaryFile() as out, TemporaryFile() as err:
        told.write(payload)
        told.seek(0)
        process = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            hook.command,
            stdin=told,
            stdout=out,
            stderr=err,
            cwd=root,
            env={**env, "ONPLAN_HOOK": mark},
            start_new_session=True,
        )
        timed_out = not await _ends(process, Tree(mark).with_session(process.pid), hook.timeout)
        code = process.returncode or 0
        # As a shell gives it, whether or not there was a shell in between.
        return Ran(code if code >= 0 else 128 - code, _written(out), _written(err), timed_out)


async def _ends(process: asyncio.subprocess.Process, tree: Tree, timeout: float) -> bool:
    """Whether the command ends by itself in time; if not, it is ended with everything it started."""
    from onplan.tools.processes import end_processes, uncancelled

    try:
        async with asyncio.timeout(timeout):
            await process.wait()
    except TimeoutError:
        await end_processes(tree.alive, _KILL_GRACE)
        await process.wait()
        return False
    except asyncio.CancelledError:
        await uncancelled(end_processes(tree.alive, _KILL_GRACE))
        raise
    return True


def _written(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MOST_OUTPUT).decode("utf-8", "replace")
