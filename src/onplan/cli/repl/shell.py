"""A line that the person runs in their own shell, on the terminal that the process has."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from onplan.cli.foreground import exit_code


async def run_line(line: str, root: Path) -> int:
    """Run `line` in `$SHELL` in the directory `root`; answers the exit code, that of a signal below 0.

    It is the person's own: nothing judges it, and the model hears nothing of it. Raises `OSError`.
    """
    shell = os.environ.get("SHELL") or "/bin/sh"
    process = await asyncio.create_subprocess_exec(shell, "-c", line, cwd=root)
    return await exit_code(process)
