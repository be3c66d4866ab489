"""The root command: which subcommands there are, each imported when it is called; errors and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from onplan._version import __version__
from onplan.cli.options import RunFlags, common_options, run_options
from onplan.cli.view.streams import utf8
from onplan.errors import OnplanError


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a subcommand is, and its line in the help, so that the list needs no import."""

    module: str
    short_help: str


COMMANDS: Mapping[str, _Entry] = {
    "demo": _Entry("demo", "Watch an agent plan and write a README; no key, no network."),
    "sessions": _Entry("sessions", "List, search or delete sessions."),
    "show": _Entry("show", "Show a session as a timeline."),
    "resume": _Entry("resume", "Go on with a session."),
    "fork": _Entry("fork", "Begin a new session from any point of another."),
    "plan": _Entry("plan", "Show, compare, undo, redo or edit a session's plan."),
    "play": _Entry("play", "Play a session step by step in the browser, or write the player as a file."),
    "export": _Entry("export", "Write a session as Markdown, a player, records, or a provider's request."),
    "tools": _Entry("tools", "Show what the model sees of each tool, and what the runtime fills."),
    "scenarios": _Entry("scenarios", "Play the scenarios that say how the plan must behave; offline."),
    "doctor": _Entry("doctor", "Check versions, key, endpoint, and what the model can do."),
    "trust": _Entry("trust", "Trust a directory to bring settings and hooks, or take that back."),
    "hooks": _Entry("hooks", "List the hooks that are commands, or try those of an event."),
    "completion": _Entry("completion", "Print the completion script for a shell."),
}

COMPLETES = "_ONPLAN_COMPLETE"
"""What a shell sets when it asks for completions."""

_EPILOG = """\b
Examples:
  onplan                                   ask in turns, at a prompt
  onplan -p "fix the failing test"         one job
  git diff | onplan -p "review this"       one job, with input
  onplan demo examples/project --auto      no key, no network

\b
Exit codes: 0 done, 1 error, 2 usage, 3 a call was denied for want of a
person, 4 open todos, 5 a cap was reached, 130 interrupted, 143 terminated.
"""


class Root(click.Group):
    """The group, with errors as one line and exit codes of our own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        return importlib.import_module(f"onplan.cli.{entry.module}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            raise click.UsageError(
                f'no command is named {args[0][:60]!r}; to give a job: onplan -p "…"; '
                f"commands: {', '.join(COMMANDS)}",
                ctx,
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.short_help) for name, entry in COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        code = _guarded(self, list(sys.argv[1:] if args is None else args), extra)
        if standalone_mode:
            sys.exit(code)
        return code


@click.group(
    cls=Root,
    invoke_without_command=True,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", message="onplan %(version)s")
@run_options()
@common_options
@click.pass_context
def cli(ctx: click.Context, flags: RunFlags) -> None:
    """A terminal coding agent that stays on plan.

    Without a command and without -p: a prompt, for one turn after the other.
    """
    if ctx.invoked_subcommand is not None:
        flags.refuse_before(ctx.invoked_subcommand)
        return
    from onplan.cli.start import start

    ctx.exit(start(flags))


def run(arguments: Sequence[str]) -> int:
    """The command line as a function: the exit code, everything shown."""
    return _guarded(cli, list(arguments), {})


# --- errors -----------------------------------------------------------------------------------------


def _guarded(root: Root, arguments: list[str], extra: dict[str, Any]) -> int:
    """Run a command; every failure is one line on stderr, a traceback only with `--debug`."""
    for stream in (sys.stdout, sys.stderr):
        utf8(stream)
    if wanted := os.environ.get(COMPLETES):
        return _complete(root, wanted)
    debug = "--debug" in arguments
    try:
        with root.make_context("onplan", _as_utf8(arguments), **extra) as ctx:
            root.invoke(ctx)
        code = 0
    except click.exceptions.Exit as leaving:
        code = leaving.exit_code
    except Exception as error:
        if debug and not isinstance(error, click.ClickException):
            raise
        code = _tell(error)
    except KeyboardInterrupt:
        code = 130
    return _drained(code)


def _complete(root: Root, wanted: str) -> int:
    """Answer a shell that asks what can follow; a failure must not end up in the line that is being typed."""
    from click.shell_completion import shell_complete

    try:
        return shell_complete(root, {}, "onplan", COMPLETES, wanted)
    except Exception:  # noqa: BLE001 - see above
        return 1


def _tell(error: Exception) -> int:
    match error:
        case click.exceptions.NoArgsIsHelpError():
            _stderr(error.format_message())
            return 2
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "onplan"
            _say(f"{error.format_message()} ({where} --help)")
            return 2
        case click.Abort():
            return 130
        case click.ClickException():
            _say(error.format_message())
            return error.exit_code
        case BrokenPipeError():
            return 0
        case OnplanError():
            _say(str(error))
        case OSError():
            named = f"{error.filename}: " if isinstance(error.filename, str) else "input or output failed: "
            _say(f"{named}{error.strerror or error}")
        case _:
            _say(f"internal error: {type(error).__name__}: {error} (--debug shows where)")
    return 1


def _say(text: str) -> None:
    from onplan.plan.text import one_line

    _stderr(f"onplan: {one_line(text)}")


def _stderr(text: str) -> None:
    from onplan.cli.view.screen import Screen

    Screen(sys.stderr, on_failure=lambda _: None).text(text)


def _drained(code: int) -> int:
    """`code`, with the output written out; a reader that went away is no error, a full disk is one."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        _say(f"input or output failed: {error.strerror or error}")
        return code or 1
    return code


def _discard_stdout() -> None:
    # Python flushes once more at exit and would complain there.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _as_utf8(arguments: list[str]) -> list[str]:
    """Arguments as UTF-8 whatever the locale; bytes that are none are kept for paths."""
    return [os.fsencode(text).decode("utf-8", "surrogateescape") for text in arguments]
