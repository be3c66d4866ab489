"""A program that has the terminal for a while: the person's editor, a line of theirs."""

from __future__ import annotations

from asyncio.subprocess import Process


async def exit_code(process: Process) -> int:
    """Wait for the end of `process`, that of a signal is below 0. One that nobody waits for is ended."""
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
