"""Flags and environment in one frozen value, the model by its name, the store in its place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from onplan.errors import ConfigError, PlanError
from onplan.parts import Limits
from onplan.plan.settings import Settings, settings

if TYPE_CHECKING:
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
    def resume(self) -> str: ...
    @property
    def cwd(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Config:
    """How a run is set up. `cwd` is `None` where a resumed session's own directory counts. `sandbox`: the
    person asked for it on the command line; a settings file may too. `sandbox_network`: commands in it may
    use the network, which only the command line can say."""

    home: Path
    model: str
    auto: bool
    sandbox: bool
    sandbox_network: bool
    planning: Settings
    limits: Limits
    resume: str
    cwd: Path | None


def load_config(flags: Flags, environ: Mapping[str, str] | None = None) -> Config:
    """Flags first, then `MODEL_ID` and `ONPLAN_HOME`. Raises `ConfigError`.

    No `.env` is read here. Of one in the working directory `MODEL_ID` alone may count before
    `onplan.trust.Trust.covers` has said that the person trusts it: anything else could redirect a key.
    """
    env = os.environ if environ is None else environ
    model = flags.model or env.get("MODEL_ID", "").strip() or DEMO
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
    )


def _planning(flags: Flags, model: str) -> Settings:
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
    name = model.rpartition("/")[2].rpartition(":")[2].casefold()
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


def open_model(name: str) -> Model:
    """The model that a name stands for: `demo`, or `script:FILE`. Raises `ConfigError` for any other."""
    kind, _, rest = name.partition(":")
    if name == DEMO:
        from onplan.demo import demo_model

        return demo_model()
    if kind == "script":
        from onplan.models.scripted import load_script

        if not rest:
            raise ConfigError("script: needs a file: --model script:FILE")
        return load_script(Path(rest).expanduser())
    raise ConfigError(
        f"the model {name[:80]!r} cannot be used: real models are not installed in this version; "
        "use --model demo, or --model script:FILE"
    )


# --- the store --------------------------------------------------------------------------------------


def data_dir(environ: Mapping[str, str] | None = None) -> Path:
    """Where sessions are kept: `ONPLAN_HOME`, else the user's data directory of the platform."""
    env = os.environ if environ is None else environ
    told = env.get("ONPLAN_HOME", "")
    if told:
        return Path(told).expanduser()
    from platformdirs import user_data_dir

    return Path(user_data_dir("onplan", appauthor=False))


def open_store(home: Path | None = None) -> SqliteStore:
    """The store of all sessions, made new if there is none. Raises `StoreError`, `ConfigError`."""
    from onplan.stores.sqlite import SqliteStore

    return SqliteStore.open((data_dir() if home is None else home) / "sessions.sqlite3")
