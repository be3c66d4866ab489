"""Loads a vendor's library while the person types, so that neither the prompt nor the first answer waits."""

from __future__ import annotations

import contextlib
import importlib
import threading

from onplan.errors import ConfigError
from onplan.models.names import parse_name


def warm_up(model: str) -> None:
    """Import what the model of this name will need, in a thread that nobody waits for."""
    try:
        library = parse_name(model).provider
    except ConfigError:
        return  # the demo and scripts need none
    threading.Thread(target=_load, args=(library,), daemon=True).start()


def _load(library: str) -> None:
    with contextlib.suppress(Exception):  # the first request meets the same error and says it
        importlib.import_module(library)
