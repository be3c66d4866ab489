"""Commands about sessions: a new one, another one, a copy, a file; and the one that describes a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onplan.cli.agents import Running
from onplan.cli.conversation import Choice
from onplan.cli.repl.command import Invocation, Next, Open, Say
from onplan.cli.view.screen import Span
from onplan.protocols import SessionInfo


async def new(asked: Invocation) -> Open:
    run = asked.run
    return Open(replace(run.config, resume="", cwd=run.root, auto=run.permissions.auto))


async def clear(asked: Invocation) -> Next:
    return replace(await new(asked), cleared=True)


async def resume(asked: Invocation) -> Next:
    name = asked.argument or await _chosen(asked)
    if not name:
        return None
    run = asked.run
    info = await run.store.find(name)
    if info.id == run.agent.session_id:
        asked.screen.line(Span("that is the session which is open", "dim"))
        return None
    same = info.cwd == str(run.root)
    if run.permissions.auto and not same:
        asked.screen.say(Span(f"auto-approve OFF: {info.cwd} is another directory", "yellow"))
    auto = run.permissions.auto and same
    return Open(replace(run.config, resume=info.id, cwd=None, auto=auto, named=False))


_OFFERED = 9


async def _chosen(asked: Invocation) -> str:
    """One of the newest sessions of this directory; empty for none."""
    here = await others(asked.run)
    if not here:
        asked.screen.line(Span("this directory has no other session; /resume ID opens any", "dim"))
        return ""
    told = [f"{info.id}  {info.title[:60]}" for info in here]
    choices = [Choice(str(number), text) for number, text in enumerate(told, 1)]
    picked = await asked.conversation.key("", [*choices, Choice("q", "none of them")])
    return here[int(picked.key) - 1].id if picked and picked.key != "q" else ""


async def others(run: Running) -> Sequence[SessionInfo]:
    """The newest other sessions of the directory."""
    found = await run.store.sessions(cwd=str(run.root), limit=2 * _OFFERED)
    return [info for info in found if info.id != run.agent.session_id and info.title][:_OFFERED]


async def fork(asked: Invocation) -> Next:
    from onplan.cli.fork import fork_at

    run, before = asked.run, asked.run.agent.session_id
    forked = await fork_at(run.store, before, asked.argument)
    asked.screen.say(f"forked from {before}, which stays as it is; this is {forked} now")
    return Open(replace(run.config, resume=forked, cwd=None, auto=run.permissions.auto, named=False))


async def export(asked: Invocation) -> Next:
    from onplan.cli.repl.export import export

    asked.screen.say(f"written to {await export(asked.run, asked.argument)}")


async def init(asked: Invocation) -> Next:
    from onplan.cli.surroundings import init_message

    return Say(init_message(asked.run.root))
