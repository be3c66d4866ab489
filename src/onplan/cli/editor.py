"""A text in the person's editor: which one it is, the file that it gets, and what comes back."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from onplan.cli.foreground import exit_code
from onplan.errors import ConfigError


def editor_command(environ: Mapping[str, str] | None = None) -> list[str]:
    """`$VISUAL`, else `$EDITOR`, else `vi`, in words. Raises `ConfigError` for one that is no command."""
    env = os.environ if environ is None else environ
    told = env.get("VISUAL") or env.get("EDITOR") or "vi"
    try:
        return shlex.split(told) or ["vi"]
    except ValueError:
        raise ConfigError(f"the editor {told!r} is no command: set EDITOR to one") from None


async def in_editor(text: str, suffix: str) -> str:
    """`text` as the person makes it, in a file with this suffix on the terminal that the process has.

    A newline that the editor adds at the end is left out. Raises `ConfigError`. An editor that nobody waits
    for any more is ended.
    """
    command = editor_command()
    with tempfile.TemporaryDirectory(prefix="onplan-") as directory:
        path = Path(directory) / f"text{suffix}"
        path.write_text(text, encoding="utf-8")
        if code := await _run([*command, str(path)]):
            raise ConfigError(f"the editor {command[0]} ended with {code}: nothing was changed")
        made = path.read_text(encoding="utf-8", errors="replace")
    return made if text.endswith("\n") else made.removesuffix("\n")


async def _run(command: Sequence[str]) -> int:
    try:
        process = await asyncio.create_subprocess_exec(*command)
    except OSError as error:
        raise ConfigError(
            f"the editor {command[0]} cannot be started ({error.strerror}): set EDITOR to another"
        ) from None
    return await exit_code(process)
