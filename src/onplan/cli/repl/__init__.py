"""The prompt: one turn after the other, with commands between them."""

from __future__ import annotations

import asyncio

from onplan.config import Config


def run_repl(config: Config, *, colour: bool = True) -> int:
    """Take turns until the person leaves; answers the exit code."""
    from onplan.cli.repl.loop import run

    return asyncio.run(run(config, colour))
