"""Commands about what may run: without asking, and by which rules."""

from __future__ import annotations

from onplan.cli.repl.command import Invocation, Next
from onplan.cli.view.screen import Span


async def auto(asked: Invocation) -> Next:
    rights = asked.run.permissions
    rights.auto = not rights.auto
    if rights.auto:
        asked.screen.say(
            Span("auto-approve ON", "yellow"),
            ": calls run without asking, but for what is denied or needs a person; /auto ends it",
        )
    else:
        asked.screen.say(Span("auto-approve OFF", "green"), ": calls are asked about again")


async def allow(asked: Invocation) -> Next:
    from onplan.cli.allow import allow_command

    await allow_command(asked.argument, asked.run.permissions, asked.conversation, asked.run.files)
