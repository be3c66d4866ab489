"""Opens what a run needs, from its configuration: store, model, rights and agent; closes it again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from onplan.agent import Agent
from onplan.cli.access import Access, access
from onplan.cli.approval import TerminalApprover, TerminalAsker
from onplan.cli.logs import SessionLog, load_from
from onplan.cli.terminal import Terminal
from onplan.cli.view.screen import Screen, Span
from onplan.coding import coding_agent, quiet_tools
from onplan.config import Config, here, open_model, open_store
from onplan.errors import ConfigError
from onplan.messages import User
from onplan.permissions import Permissions
from onplan.stores.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Running:
    """An agent with what belongs to it. `root`: the directory it works in."""

    agent: Agent
    store: SqliteStore
    permissions: Permissions
    access: Access
    root: Path
    config: Config

    @property
    def side_by_side(self) -> frozenset[str]:
        """The tools whose calls may run together."""
        return frozenset(tool.name for tool in self.agent.toolset if tool.parallel)


@asynccontextmanager
async def running(
    config: Config,
    terminal: Terminal | None,
    notices: Screen,
    *,
    allow_quiet: bool = False,
    ask_for_trust: bool = False,
) -> AsyncIterator[Running]:
    """An agent that asks at `terminal`, closed at the end; a session in which nothing was said is removed.

    `allow_quiet`: the tools that only read or plan are allowed from the start. `ask_for_trust`: a directory
    that brings settings is asked about.
    """
    model = open_model(config.model)
    store = open_store(config.home)
    try:
        log = await load_from(store, config.resume) if config.resume else None
        root = _root(config, log)
        # A resumed session keeps its own way of planning, and so the names of its plan tools.
        planning = log.plan_state().settings if log else config.planning
        quiet = quiet_tools(planning)
        said = await access(config, root, notices, terminal if ask_for_trust else None)
        rights = Permissions(
            TerminalApprover(terminal, root) if terminal else None,
            auto=config.auto,
            allowed=quiet if allow_quiet else (),
            quiet=quiet,
            rules=said.settings.rules,
            root=root,
            sandboxed=said.sandboxed,
        )
        agent = await coding_agent(
            root,
            model=model,
            store=store,
            asker=TerminalAsker(terminal) if terminal else None,
            permissions=rights,
            planning=planning,
            settings=said.settings,
            sandbox=said.sandbox or False,
            limits=config.limits,
            hooks=_cost_cap(config),
            resume=log.info.id if log else "",
        )
        if not config.named and config.model != DEMO:
            notices.say(_told_default(config))
        for warning in store.warnings:
            notices.say(Span(f"onplan: {warning}", "yellow"))
        try:
            yield Running(agent, store, rights, said, root, config)
        finally:
            await agent.close()
            if not any(isinstance(message, User) for message in agent.messages):
                await store.delete(agent.session_id)
    finally:
        await store.close()
        if not isinstance(model, ScriptedModel):
            await close_model(model)


def _cost_cap(config: Config) -> Hooks:
    if config.max_cost is None:
        return Hooks()
    from onplan.models.prices import cost_cap, load_prices

    return Hooks(after_round=(cost_cap(config.max_cost, load_prices()),))


def _told_default(config: Config) -> str:
    cap = "" if config.max_cost is None else f", at most ${config.max_cost:.2f} a turn (--max-cost)"
    return f"No model was named: {config.model} answers, by the key that is set{cap}; --model names another."


def _root(config: Config, log: SessionLog | None) -> Path:
    """Where to work: `--cwd`, else where the session worked, else here."""
    if config.cwd is not None:
        return config.cwd
    directory = log.started.cwd if log and log.started else ""
    if not directory:
        return here()
    if log and not Path(directory).is_dir():
        raise ConfigError(f"session {log.info.id} worked in {directory}, which is gone: give --cwd DIR")
    return Path(directory)
