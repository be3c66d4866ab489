"""Opens what a run needs, from its configuration: store, model, rights and agent; closes it again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from onplan.agent import Agent
from onplan.cli.access import Access, access
from onplan.cli.allow import RuleFiles
from onplan.cli.approval import TerminalApprover, TerminalAsker
from onplan.cli.conversation import Conversation
from onplan.cli.logs import SessionLog, load_from
from onplan.cli.preview import preview
from onplan.cli.surroundings import surroundings
from onplan.cli.view.screen import Screen, Span
from onplan.coding import coding_agent, quiet_tools
from onplan.compaction import CompactionPolicy
from onplan.config import DEMO, Config, here, open_model, open_store
from onplan.context import Context
from onplan.errors import ConfigError
from onplan.hooks import Hooks
from onplan.messages import User
from onplan.models.names import CHOICE, parse_name
from onplan.permissions import Permissions
from onplan.protocols import Model
from onplan.settingsfile import places
from onplan.stores.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Running:
    """An agent with what belongs to it. `root`: the directory it works in; `files`: where rules are kept;
    `context`: the instruction files that it was given. `keep`: what it is given is closed at the end too."""

    agent: Agent
    store: SqliteStore
    permissions: Permissions
    access: Access
    root: Path
    config: Config
    files: RuleFiles
    context: Context
    keep: Callable[[Model], None]

    @property
    def side_by_side(self) -> frozenset[str]:
        """The tools whose calls may run together."""
        return frozenset(tool.name for tool in self.agent.toolset if tool.parallel)


@asynccontextmanager
async def running(
    config: Config,
    person: Conversation | None,
    notices: Screen,
    *,
    allow_quiet: bool = False,
    ask_for_trust: bool = False,
    needs_model: bool = False,
) -> AsyncIterator[Running]:
    """An agent that asks `person`, closed at the end; a session in which nothing was said is removed.

    `allow_quiet`: the tools that only read or plan are allowed from the start. `ask_for_trust`: a directory
    that brings settings is asked about. `needs_model`: without one that was named the demo does not stand in.
    """
    store = open_store(config.home)
    models: list[Model] = []
    try:
        log = await load_from(store, config.resume) if config.resume else None
        config = _with_model(config, log)
        if needs_model and not config.named and config.model == DEMO:
            raise ConfigError(CHOICE)
        model = open_model(config.model, config.environ)
        models.append(model)
        root = _root(config, log)
        # A resumed session keeps its own way of planning, and so the names of its plan tools.
        planning = log.plan_state().settings if log else config.planning
        quiet = quiet_tools(planning)
        said = await access(config, root, notices, person if ask_for_trust else None)
        context = surroundings(root)
        files = RuleFiles(root, places(), said.trusted)
        rights = Permissions(
            TerminalApprover(person, root, files) if person else None,
            auto=config.auto,
            allowed=quiet if allow_quiet else (),
            quiet=quiet,
            rules=said.settings.rules,
            root=root,
            sandboxed=said.sandboxed,
            preview=partial(preview, root=root),
        )
        agent = await coding_agent(
            root,
            model=model,
            store=store,
            asker=TerminalAsker(person) if person else None,
            permissions=rights,
            planning=planning,
            settings=said.settings,
            sandbox=said.sandbox or False,
            context=context,
            limits=config.limits,
            compaction=CompactionPolicy(limit=config.max_context),
            hooks=_cost_cap(config, notices),
            resume=log.info.id if log else "",
        )
        for warning in store.warnings:
            notices.say(Span(f"onplan: {warning}", "yellow"))
        try:
            yield Running(agent, store, rights, said, root, config, files, context, models.append)
        finally:
            await agent.close()
            if not any(isinstance(message, User) for message in agent.messages):
                await store.delete(agent.session_id)
    finally:
        await store.close()
        for model in models:
            await _disconnect(model)


def _with_model(config: Config, log: SessionLog | None) -> Config:
    """A session goes on with the model it began with, unless another is named."""
    if config.named or log is None or log.started is None:
        return config
    try:
        return replace(config, model=str(parse_name(log.started.model)), named=True)
    except ConfigError:
        return config


async def _disconnect(model: Model) -> None:
    """Close the connections of a model that has any."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


def _cost_cap(config: Config, notices: Screen) -> Hooks:
    if config.max_cost is None:
        return Hooks()
    from onplan.models.prices import cost_cap, load_prices

    prices = load_prices()
    if prices.of_model(config.model) is None:
        told = f"onplan: the price of {config.model} is not known, so --max-cost cannot end a turn"
        notices.say(Span(told, "yellow"))
    return Hooks(after_round=(cost_cap(config.max_cost, prices),))


def told_default(config: Config) -> str:
    """Which model answers where the person named none; empty where they did."""
    if config.named or config.model == DEMO:
        return ""
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
