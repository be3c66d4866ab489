"""Flags and environment in one frozen value, the model by its name, the store in its place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from onplan.errors import ConfigError, PlanError

if TYPE_CHECKING:
    from onplan.parts import Limits
    from onplan.plan.settings import Settings
    from onplan.protocols import Model
    from onplan.stores.sqlite import SqliteStore

DEMO = "demo"


class Flags(Protocol):
    """What was said on the command line; empty or `None` where nothing was."""

    @property
    def model(self) -> str: ...
    @property
    def auto(self) -> bool: ...
    @property
    def sandbox(self) -> bool: ...
    @property
    def sandbox_network(self) -> bool: ...
    @property
    def dialect(self) -> str: ...
    @property
    def preset(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def max_rounds(self) -> int | None: ...
    @property
    def max_tokens(self) -> int | None: ...
    @property
    def max_cost(self) -> float | None: ...
    @property
    def max_context(self) -> int | None: ...
    @property
    def resume(self) -> str: ...
    @property
    def cwd(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Config:
    """How a run is set up. `cwd` is `None` where a resumed session's own directory counts. `sandbox`: the
    person asked for it on the command line; a settings file may too. `sandbox_network`: commands in it may
    use the network, which only the command line can say. `named`: the person named the model; else it is a
    provider's default, or the demo. `max_cost`: dollars of a turn. `max_context`: tokens
    that the model takes; `None` for what is known of it."""

    home: Path
    model: str
    auto: bool
    sandbox: bool
    sandbox_network: bool
    planning: Settings
    limits: Limits
    resume: str
    cwd: Path | None
    max_cost: float | None = None
    max_context: int | None = None
    named: bool = True
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


def load_config(flags: Flags, environ: Mapping[str, str] | None = None) -> Config:
    """Flags first, then `MODEL_ID` and `ONPLAN_HOME`; without a model the default of the provider that there
    is a key for, with a cap on its cost. Raises `ConfigError`.

    No `.env` is read here: `onplan.cli.environment` reads one, as far as its directory is trusted.
    """
    # What only lists or shows sessions comes for `open_store`, and needs none of these.
    from onplan.models.names import DEFAULT_COST_CAP, default_name
    from onplan.parts import Limits

    env = os.environ if environ is None else environ
    named = flags.model or env.get("MODEL_ID", "").strip()
    model = named or default_name(env) or DEMO
    capped = DEFAULT_COST_CAP if not named and model != DEMO else None
    limits = Limits(
        rounds=flags.max_rounds if flags.max_rounds is not None else Limits().rounds,
        tokens=flags.max_tokens,
    )
    return Config(
        home=data_dir(env),
        model=model,
        auto=flags.auto,
        sandbox=flags.sandbox,
        sandbox_network=flags.sandbox_network,
        planning=_planning(flags, model),
        limits=limits,
        resume=flags.resume,
        cwd=_directory(flags),
        max_cost=flags.max_cost if flags.max_cost is not None else capped,
        max_context=flags.max_context,
        named=bool(named),
        environ=env,
    )


def _planning(flags: Flags, model: str) -> Settings:
    from onplan.plan.settings import settings

    name = flags.dialect or "write_todos"
    mode = flags.plan or "suggest"
    try:
        return settings(
            trained_on(model) if name == "auto" else name,
            preset="tutorial" if flags.preset == "tutorial" else None,
            planning="require" if mode == "require" else "off" if mode == "off" else "suggest",
        )
    except PlanError as error:
        raise ConfigError(str(error)) from None


def trained_on(model: str) -> str:
    """The dialect that a model's family was trained on, as far as its name tells; else our own."""
    if model.startswith("script:"):
        return "write_todos"
    from onplan.models.names import bare_name

    name = bare_name(model).rpartition("/")[2].rpartition(":")[2].casefold()
    if "claude" in name:
        return "TodoWrite"
    if name.startswith(("gpt", "codex", "o1", "o3", "o4")):
        return "update_plan"
    return "write_todos"


def _directory(flags: Flags) -> Path | None:
    if flags.cwd:
        path = Path(flags.cwd).expanduser()
        if not path.is_dir():
            raise ConfigError(f"{flags.cwd} is not a directory: give --cwd one that exists")
        return path.absolute()
    return None if flags.resume else here()


def here() -> Path:
    """The current directory. Raises `ConfigError` when it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise ConfigError("the current directory is gone: change to another, or give --cwd") from None


# --- models -----------------------------------------------------------------------------------------


def open_model(name: str, environ: Mapping[str, str] | None = None) -> Model:
    """The model that a name stands for: `demo`, `script:FILE`, or a real one (`onplan.models.names`).

    Raises `ConfigError`: an unknown name, a script that cannot be used, no key where one is needed.
    """
    kind, _, rest = name.partition(":")
    if name == DEMO:
        from onplan.demo import demo_model

        return demo_model()
    if kind == "script":
        from onplan.models.scripted import load_script

        if not rest:
            raise ConfigError("script: needs a file: --model script:FILE")
        return load_script(Path(rest).expanduser())
    from onplan.models import open_model as open_real

    return open_real(name, os.environ if environ is None else environ)


# --- the store --------------------------------------------------------------------------------------


def data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where sessions are kept: `ONPLAN_HOME`, else the user's data directory of the platform."""
    env = os.environ if environ is None else environ
    told = env.get("ONPLAN_HOME", "")
    if told:
        return Path(told).expanduser()
    from platformdirs import user_data_dir

    return Path(user_data_dir("onplan", appauthor=False))


def command_line(words: str, environ: Mapping[str, str] | None = None) -> str:
    """`onplan WORDS` as the person has to type it to reach the same sessions."""
    home = (os.environ if environ is None else environ).get("ONPLAN_HOME", "")
    if not home:
        return f"onplan {words}"
    import shlex

    return f"ONPLAN_HOME={shlex.quote(home)} onplan {words}"


def open_store(home: Path | None = None) -> SqliteStore:
    """The store of all sessions, made new if there is none. Raises `StoreError`, `ConfigError`."""
    from onplan.stores.sqlite import SqliteStore

    return SqliteStore.open((data_dir() if home is None else home) / "sessions.sqlite3")
