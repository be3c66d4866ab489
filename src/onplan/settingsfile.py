"""Settings files: TOML of our own, and the permission and hook blocks of Claude Code's `settings.json`.

What is not understood is one line in `notes` and never fatal. What lies in a directory that nobody trusts
can only tighten.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import msgspec
from msgspec.structs import replace

from onplan.commandhooks import DEFAULT_TIMEOUT, HookCommand, HookEvent
from onplan.errors import ConfigError
from onplan.plan.text import one_line
from onplan.rules import Rule, Source, Verdict, parse_rules, tightening

Kind: TypeAlias = Literal["onplan", "claude"]

_LARGEST = 1_000_000
_LONGEST_TIMEOUT = 600.0
_EVENTS: tuple[str, ...] = get_args(HookEvent)
_VERDICTS: tuple[Verdict, ...] = ("allow", "ask", "deny")
_KEYS = ("permissions", "hooks", "sandbox", "auto", "mask_secrets", "web_allow_hosts")
_CLAUDE_HOOK_KEYS = {"type", "command", "args", "timeout", "statusMessage", "fail_closed"}


class FileSettings(msgspec.Struct, frozen=True):
    """What settings files say. `None`: they do not say. `web_allow_hosts`: hosts, in lower case, that may be
    fetched from though their address is private. `notes`: what was not understood or does not count, a line
    each, for the person. `broken`: some file could not be read at all."""

    rules: tuple[Rule, ...] = ()
    hooks: tuple[HookCommand, ...] = ()
    sandbox: bool | None = None
    auto: Literal["sandboxed"] | None = None
    mask_secrets: bool | None = None
    web_allow_hosts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    broken: bool = False

    def __add__(self, other: FileSettings) -> FileSettings:
        """Both; where each says something of a switch, the stricter."""
        return FileSettings(
            self.rules + other.rules,
            self.hooks + other.hooks,
            _either(self.sandbox, other.sandbox),
            self.auto or other.auto,
            _either(self.mask_secrets, other.mask_secrets),
            self.web_allow_hosts + other.web_allow_hosts,
            self.notes + other.notes,
            self.broken or other.broken,
        )


def _either(first: bool | None, second: bool | None) -> bool | None:
    if first is None or second is None:
        return second if first is None else first
    return first or second


class Places(msgspec.Struct, frozen=True):
    """Where the person's own files are: the directory of `settings.toml`, and Claude Code's."""

    config: Path
    claude: Path


def places(environ: Mapping[str, str] | None = None) -> Places:
    """`ONPLAN_HOME`, else the user's configuration directory of the platform; and `CLAUDE_CONFIG_DIR`, else
    `~/.claude`."""
    env = os.environ if environ is None else environ
    told = env.get("ONPLAN_HOME", "")
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
    if told:
        return Places(Path(told).expanduser(), claude)
    from platformdirs import user_config_dir

    return Places(Path(user_config_dir("onplan", appauthor=False)), claude)


def load_settings(root: Path, where: Places, *, trusted: bool) -> FileSettings:
    """All settings for a run in the directory `root`, files that are not there left out.

    `trusted`: whether the person trusts `root`. If not, its files can only deny, ask, mask and demand the
    sandbox. If any file is broken, no rule of any file allows anything: what the broken one would have
    denied is not known.
    """
    found = user_settings(where)
    for name, kind in _PROJECT_FILES:
        if os.path.realpath(root / name) == os.path.realpath(where.claude / "settings.json"):
            continue  # at work in the home directory: the person's own file, read already
        found += _untrusted(read_settings(root / name, kind, "project"), name, trusted)
    return _cautious(found) if found.broken else found


_PROJECT_FILES: tuple[tuple[str, Kind], ...] = (
    (".onplan/settings.toml", "onplan"),
    (".onplan/settings.local.toml", "onplan"),
    (".claude/settings.json", "claude"),
    (".claude/settings.local.json", "claude"),
)


def user_settings(where: Places) -> FileSettings:
    """What the person's own files say, which hold everywhere."""
    own = read_settings(where.config / "settings.toml", "onplan", "user")
    return own + read_settings(where.claude / "settings.json", "claude", "user")


def _untrusted(settings: FileSettings, name: str, trusted: bool) -> FileSettings:
    if trusted:
        return settings
    kept = tightening(settings.rules)
    dropped = [
        text
        for count, text in (
            (len(settings.rules) - len(kept), "rules that allow"),
            (len(settings.hooks), "hooks"),
            (len(settings.web_allow_hosts), "web_allow_hosts"),
        )
        if count
    ]
    note = f"{name}: its {' and '.join(dropped)} do not count: this directory is not trusted (onplan trust)"
    return replace(
        settings,
        rules=kept,
        hooks=(),
        sandbox=settings.sandbox or None,
        auto=None,
        mask_secrets=settings.mask_secrets or None,
        web_allow_hosts=(),
        notes=(*settings.notes, note) if dropped else settings.notes,
    )


def _cautious(settings: FileSettings) -> FileSettings:
    note = "until the broken file is mended, no rule of any settings file allows anything"
    return replace(settings, rules=tightening(settings.rules), auto=None, notes=(*settings.notes, note))


# --- one file ---------------------------------------------------------------------------------------


def read_settings(file: Path, kind: Kind, source: Source) -> FileSettings:
    """What one file says; nothing if it is not there. Never raises: a file that cannot be read is a note
    that names it and the position."""
    try:
        text = _text(file)
        if text is None:
            return FileSettings()
        table = _toml(text) if kind == "onplan" else _json(text)
    except _BrokenFile as error:
        return FileSettings(notes=(f"{file} is left out: {error}",), broken=True)
    reading = _Reading(file, kind, source)
    return reading.ours(table) if kind == "onplan" else reading.claudes(table)


class _BrokenFile(Exception):
    """Why a file cannot be read, with the position."""


def _text(file: Path) -> str | None:
    try:
        # A FIFO or a device in its place would make the program wait for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _BrokenFile(error.strerror or str(error)) from None
    with open(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _BrokenFile("it is not a regular file")
        data = stream.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise _BrokenFile(f"it is larger than {_LARGEST:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _BrokenFile(f"it is not UTF-8 (at byte {error.start})") from None


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # as json below: most runs find no file of the kind

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _BrokenFile(f"{error or 'it nests too deep'}") from None


def _json(text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    import json

    try:
        found: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise _BrokenFile(f"{error.msg} (at line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise _BrokenFile("it nests too deep") from None
    if not isinstance(found, dict):
        raise _BrokenFile("it holds no JSON object (at line 1, column 1)")
    return cast("dict[str, Any]", found)


class _Reading(msgspec.Struct):
    """One file being read: what was understood, and a line for what was not."""

    file: Path
    kind: Kind
    source: Source
    notes: list[str] = msgspec.field(default_factory=list[str])

    def note(self, text: str) -> None:
        self.notes.append(one_line(f"{self.file}: {text}"))

    def ours(self, table: dict[str, Any]) -> FileSettings:
        for key in sorted(table.keys() - set(_KEYS)):
            self.note(f"{key!r} is not known; known: {', '.join(_KEYS)}")
        return self._settled(
            table,
            sandbox=self._switch(table, "sandbox"),
            auto=self._auto(table.get("auto")),
            mask_secrets=self._switch(table, "mask_secrets"),
            web_allow_hosts=tuple(self._hosts(table.get("web_allow_hosts"))),
        )

    def claudes(self, table: dict[str, Any]) -> FileSettings:
        """Its permission and hook blocks; the rest of that file is another program's."""
        if table.get("disableAllHooks") is True:
            table = {**table, "hooks": {}}
        return self._settled(table)

    def _settled(self, table: dict[str, Any], **switches: Any) -> FileSettings:
        rules = tuple(self._rules(self._table(table, "permissions")))
        hooks = tuple(self._hooks(self._table(table, "hooks")))
        return FileSettings(rules, hooks, notes=tuple(self.notes), **switches)

    def _table(self, table: dict[str, Any], key: str) -> dict[str, Any]:
        found = table.get(key, {})
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
        self.note(f"{key!r} is no table and is left out")
        return {}

    def _switch(self, table: dict[str, Any], key: str) -> bool | None:
        found = table.get(key)
        if found is None or isinstance(found, bool):
            return found
        self.note(f"{key!r} is true or false, not {str(found)[:40]!r}")
        return None

    def _auto(self, found: Any) -> Literal["sandboxed"] | None:
        if found is None or found is False:
            return None
        if found != "sandboxed":
            self.note(
                'auto can be "sandboxed" in a file; to let everything run, say --auto or /auto yourself'
            )
            return None
        if self.source != "user":
            self.note("auto counts in your own settings only, not in a repository")
            return None
        return "sandboxed"

    def _hosts(self, found: Any) -> Iterable[str]:
        for entry in self._entries(found, "web_allow_hosts"):
            if re.search(r"[/*\s@]", entry) or not entry:
                self.note(f"web_allow_hosts: {entry[:60]!r} is no host name, such as docs.local; left out")
            else:
                yield entry.casefold()

    # --- permissions ---

    def _rules(self, block: dict[str, Any]) -> Iterable[Rule]:
        for key in sorted(block.keys() - set(_VERDICTS)):
            self.note(f"permissions.{key} is not known; known: allow, ask, deny")
        for verdict in ("deny", "ask", "allow"):
            for entry in self._entries(block.get(verdict), f"permissions.{verdict}"):
                yield from self._rule(entry, verdict)

    def _entries(self, found: Any, where: str) -> Iterable[str]:
        listed = cast("list[Any]", found) if isinstance(found, list) else [] if found is None else [found]
        for entry in listed:
            if isinstance(entry, str):
                yield entry
            else:
                self.note(f"{where}: {str(entry)[:60]!r} is no text and is left out")

    def _rule(self, entry: str, verdict: Verdict) -> Iterable[Rule]:
        try:
            rules = parse_rules(entry, verdict, self.source)
        except ConfigError as error:
            yield from self._instead(entry, verdict, str(error))
            return
        for rule in rules:
            if rule.verdict == "allow" and self.source == "project" and rule.tool == "*":
                self.note("allow * is left out: a repository cannot let everything run")
                continue
            yield rule

    def _instead(self, entry: str, verdict: Verdict, error: str) -> Iterable[Rule]:
        """A denial that is not understood is a question for every call of its tool, not nothing."""
        named = re.match(r"\s*([A-Za-z_][\w-]*)\s*\(", entry)
        if verdict == "allow" or named is None:
            self.note(f"permissions.{verdict}: {error}; left out")
            return
        self.note(f"permissions.{verdict}: {error}; taken as a question for every call of {named[1]}")
        yield from parse_rules(named[1], "ask", self.source)

    # --- hooks ---

    def _hooks(self, block: dict[str, Any]) -> Iterable[HookCommand]:
        for event, entries in block.items():
            if event not in _EVENTS:
                self.note(f"hooks.{event} is no event here; known: {', '.join(_EVENTS)}")
                continue
            if not isinstance(entries, list):
                self.note(f"hooks.{event} is no list and is left out")
                continue
            for entry in cast("list[Any]", entries):
                yield from self._group(cast("HookEvent", event), entry)

    def _group(self, event: HookEvent, entry: Any) -> Iterable[HookCommand]:
        """A matcher with its commands; or, in our own files, one command with its matcher beside it."""
        if not isinstance(entry, dict):
            self.note(f"hooks.{event}: an entry is no table and is left out")
            return
        group = cast("dict[str, Any]", entry)
        matcher: Any = group.get("matcher", "")
        if not isinstance(matcher, str):
            self.note(f"hooks.{event}: the matcher {str(matcher)[:40]!r} is no text; it fits everything")
            matcher = ""
        try:
            re.compile(matcher if matcher != "*" else "")
        except re.error as error:
            self.note(
                f"hooks.{event}: the matcher {matcher[:40]!r} is not valid ({error}); it fits everything"
            )
        commands = group.get("hooks") if "hooks" in group else [_without(group, "matcher")]
        if not isinstance(commands, list):
            self.note(f"hooks.{event}: its hooks are no list and are left out")
            return
        for command in cast("list[Any]", commands):
            hook = self._command(event, matcher, command)
            if hook is not None:
                yield hook

    def _command(self, event: HookEvent, matcher: str, entry: Any) -> HookCommand | None:
        table = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        line = table.get("command")
        if table.get("type", "command") != "command" or not isinstance(line, str) or not line.strip():
            kind = table.get("type", "command")
            self.note(f"hooks.{event}: only hooks of type command are run; one of type {kind!r} is left out")
            return None
        unknown = sorted(table.keys() - _CLAUDE_HOOK_KEYS)
        if unknown:
            # An `if` that nobody tests or an `async` that nobody honours would make it another hook.
            self.note(f"hooks.{event}: {', '.join(unknown)} is not known; the hook {line[:60]!r} is left out")
            return None
        arguments = table.get("args")
        if isinstance(arguments, list):
            import shlex

            line = shlex.join([line, *map(str, cast("list[Any]", arguments))])
        return HookCommand(
            event,
            line,
            matcher,
            self._timeout(event, table.get("timeout")),
            table.get("fail_closed") is True,
            self.kind == "claude",
            self.source,
        )

    def _timeout(self, event: HookEvent, found: Any) -> float:
        if found is None:
            return DEFAULT_TIMEOUT
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found > 0:
            return float(min(found, _LONGEST_TIMEOUT))
        self.note(f"hooks.{event}: a timeout is a number of seconds above 0, not {str(found)[:40]!r}")
        return DEFAULT_TIMEOUT


def _without(table: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key}
