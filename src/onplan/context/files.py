"""Instruction files, `AGENTS.md` and its kin: found in a fixed order, told once, and again on a change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from onplan.messages import Message, Note
from onplan.plan.text import disarm, one_line, printable

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""In one directory they are read in this order."""

MOST = 32_000
"""Characters of one file; the rest is cut."""

MOST_IN_ALL = 100_000
"""Characters of all files together; beyond, those farthest from the directory are left out."""

_KIND = "context"
_HEAD = (
    "Instructions of the person and of the project, the most general first; "
    "where they differ, the later counts."
)
_BLOCK = re.compile(r'<instructions file="([^"\n]*)">\n(.*?)\n</instructions>', re.S)
_OWN_TAG = re.compile(r"<(?=\s*/?\s*instructions\b)", re.I)
_IMPORT = re.compile(r"@(?:\./)?AGENTS\.md")


class InstructionFile(msgspec.Struct, frozen=True):
    """`name`: relative to the directory, or below `~` for the person's own. `text`: as the model reads it."""

    name: str
    text: str

    @property
    def block(self) -> str:
        return f'<instructions file="{self.name}">\n{self.text}\n</instructions>'


class Context(msgspec.Struct, frozen=True):
    """The files, the most general first, and what of them was cut or left out, a line each for the person.

    `root` and `own` are where they came from, so that they can be read again.
    """

    root: Path
    own: tuple[Path, ...] = ()
    files: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """For the system text; empty where there is no file."""
        if not self.files:
            return ""
        return "\n\n".join((_HEAD, *(file.block for file in self.files)))

    def again(self) -> Context:
        """As the files are now."""
        return load_context(self.root, self.own)


def own_files(config: Path, claude: Path) -> tuple[Path, ...]:
    """Where the person's own instructions may be: our configuration directory, then Claude Code's."""
    return (*(config / name for name in NAMES), claude / "CLAUDE.md")


def load_context(root: Path, own: Iterable[Path] = ()) -> Context:
    """The person's `own` files, then those from the repository's root down to the directory `root`.

    Without a repository those of `root` alone. A file that says what another said is left out, and so is
    one of the project that is a link out of the repository: it could show the model any file of the person.
    Never raises.
    """
    root, own = Path(os.path.realpath(root)), tuple(own)
    top = _repository(root) or root
    notes: list[str] = []
    found = [_read(path, _own_name(path), None, notes) for path in own]
    for directory in reversed([place for place in (root, *root.parents) if place.is_relative_to(top)]):
        found += [
            _read(directory / name, os.path.relpath(directory / name, root), top, notes) for name in NAMES
        ]
    files = _within(_distinct([file for file in found if file is not None]), notes)
    return Context(root, own, tuple(files), tuple(notes))


def _repository(root: Path) -> Path | None:
    """The nearest directory at or above `root` with a `.git` of ours; somebody else's is none."""
    me = os.getuid()
    for place in (root, *root.parents):
        try:
            owner = os.lstat(place / ".git").st_uid
        except OSError:
            continue
        return place if me in (0, owner) or owner == 0 else None
    return None


def _own_name(path: Path) -> str:
    home = os.path.expanduser("~")
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _read(path: Path, name: str, within: Path | None, notes: list[str]) -> InstructionFile | None:
    """One file; `within`: the directory that it must really be in."""
    name = one_line(name).replace('"', "'")
    try:
        if not path.is_file():
            return None
        if within is not None and not Path(os.path.realpath(path)).is_relative_to(within):
            notes.append(f"{name} is a link out of the project and is not read")
            return None
        with path.open("rb") as file:
            data = file.read(MOST * 4 + 1)
            more = os.fstat(file.fileno()).st_size > len(data)
    except (OSError, ValueError) as error:
        notes.append(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}")
        return None
    raw = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    text = printable(raw).strip()
    if text != raw.strip():
        notes.append(f"{name} holds characters that nobody sees; the model gets it without them")
    if len(text) > MOST or more:
        notes.append(f"{name} is long: the model gets its first {MOST:,} characters")
        text = f"{text[:MOST]}\n(cut here: the file goes on)"
    text = _OWN_TAG.sub("‹", disarm(text))
    return InstructionFile(name, text) if text else None


def _distinct(files: Sequence[InstructionFile]) -> Iterator[InstructionFile]:
    """Without those that only repeat or import another: often all three names are one text."""
    seen: set[str] = set()
    for file in files:
        imports = _IMPORT.fullmatch(file.text) and any(other.name.endswith("AGENTS.md") for other in files)
        if file.text not in seen and not imports:
            seen.add(file.text)
            yield file


def _within(files: Iterable[InstructionFile], notes: list[str]) -> list[InstructionFile]:
    """As many as have room, those nearest to the directory first, in their order."""
    room, kept = MOST_IN_ALL, list[InstructionFile]()
    for file in reversed([*files]):
        room -= len(file.text)
        if room < 0:
            notes.append(f"{file.name} is left out: all instructions together are too long")
            continue
        kept.append(file)
    return kept[::-1]


# --- changes ----------------------------------------------------------------------------------------


def told_of_changes(context: Context, system: str, messages: Sequence[Message]) -> Note | None:
    """What is to be said of the files as they are now to a model that read `system` and these messages;
    `None` if it knows them. What a compaction took out of the messages is said again."""
    told = _told(system, messages)
    now = {file.name: file for file in context.files}
    parts = [_changed(file, told.get(name)) for name, file in now.items() if told.get(name) != file.text]
    parts += [f"{name} is gone: it counts no more." for name in told if name not in now]
    if not parts:
        return None
    said: dict[str, str | None] = {**dict.fromkeys(told), **{name: file.text for name, file in now.items()}}
    text = "\n".join(("<notice>Instruction files have changed.", *parts)) + "</notice>"
    return Note(text, _KIND, details={_KIND: said})


def _told(system: str, messages: Sequence[Message]) -> dict[str, str]:
    """What the model last read of each file."""
    told: dict[str, str] = dict(_BLOCK.findall(system))
    for message in messages:
        if not isinstance(message, Note) or message.kind != _KIND:
            continue
        said: Any = (message.details or {}).get(_KIND)
        for name, text in cast("Mapping[str, Any]", said if isinstance(said, dict) else {}).items():
            told.pop(name, None)
            if isinstance(text, str):
                told[name] = text
    return told


def _changed(file: InstructionFile, before: str | None) -> str:
    if before is None:
        return f"{file.name} is new:\n{file.block}"
    import difflib  # seldom needed

    lines = difflib.unified_diff(before.splitlines(), file.text.splitlines(), lineterm="", n=2)
    diff = "\n".join([*lines][2:])
    if len(diff) * 2 > len(file.text):
        return f"{file.name} has changed:\n{file.block}"
    return f"{file.name} has changed, as a diff:\n{diff}"
