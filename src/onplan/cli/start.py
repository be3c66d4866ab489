"""`onplan` without a command: one job where there is a prompt, else the prompt loop."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

import click

from onplan.cli.environment import environment
from onplan.cli.options import RunFlags
from onplan.cli.terminal import is_terminal
from onplan.cli.view.screen import screen_on
from onplan.config import Config, data_dir, here, load_config
from onplan.errors import ConfigError
from onplan.trust import load_trust

_PATIENCE = 3.0
"""Seconds without input after which a run that has a prompt already says what it waits for."""


def start(flags: RunFlags) -> int:
    """Run one job or the prompt loop; answers the exit code."""
    if flags.prompt is None and is_terminal(sys.stdin):
        from onplan.cli.repl import run_repl

        return run_repl(configuration(flags), colour=flags.colour)
    prompt = _prompt(flags.prompt)
    if not prompt:
        raise click.UsageError('nothing to do: give a job with -p "…" or on stdin')
    from onplan.cli.headless import run_job

    return run_job(prompt, configuration(flags), flags.output_format, colour=flags.colour)


def configuration(flags: RunFlags) -> Config:
    """The configuration, with what counts of a `.env` where the run works."""
    try:
        directory = Path(flags.cwd).expanduser() if flags.cwd else here()
    except ConfigError:  # that it is gone matters to who works there: a resumed session need not
        return load_config(flags)
    found = environment(directory, load_trust(data_dir()))
    for note in found.notes:
        screen_on(sys.stderr).line(f"onplan: {note}")
    return load_config(flags, found.variables)


def _prompt(given: str | None) -> str:
    """The prompt, a blank line, and what is piped in; or the one of them that there is."""
    text = "" if given in (None, "-") else given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    piped = "" if is_terminal(sys.stdin) and given != "-" else _stdin(bool(text))
    return "\n\n".join(part for part in (text.strip(), piped.strip()) if part)


def _stdin(has_prompt: bool) -> str:
    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return sys.stdin.read()
    if has_prompt and _is_silent(descriptor):
        screen_on(sys.stderr).line("onplan: waiting for the end of stdin (</dev/null gives none)")
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        return stream.read().decode("utf-8", "replace")


def _is_silent(descriptor: int) -> bool:
    """Whether a pipe or a socket has had nothing to say for a while, not even its end."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    return not select.select([descriptor], [], [], _PATIENCE)[0]
