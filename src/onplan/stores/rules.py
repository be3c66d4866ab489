"""What every store checks and answers in the same way; knows nothing of how rows are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType

from onplan.errors import SessionBusy, SessionNotFound, StoreError
from onplan.protocols import Fact, SessionInfo

_FACTS: dict[str, tuple[type, ...]] = {
    "title": (str,),
    "done": (int,),
    "total": (int,),
    "ended": (str,),
    "cost": (float, int, NoneType),
}
_NAMED = 8
"""How many candidates the error for an ambiguous prefix names."""


def check_new_id(session: str) -> None:
    """Raise `StoreError` for an id that could not be found again."""
    if session and session != "latest" and session == clean(session):
        return
    raise StoreError(f"{session!r} cannot be the id of a session: it must be text, not empty, not 'latest'")


def checked_facts(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts of a session's line, with text that can be stored. Raises ValueError for others."""
    for name, value in facts.items():
        if name not in _FACTS:
            raise ValueError(f"a session has no fact {name!r}; it has {', '.join(_FACTS)}")
        if not isinstance(value, _FACTS[name]):
            raise ValueError(f"{name} must be {_FACTS[name][0].__name__}, not {type(value).__name__}")
    return {name: _kept(name, value) for name, value in facts.items()}


def _kept(name: str, value: Fact) -> Fact:
    if isinstance(value, str):
        return clean(value)
    return float(value) if name == "cost" and value is not None else value


def clean(text: str) -> str:
    """`text` with what UTF-8 cannot hold replaced: lone surrogates, as in the names of odd directories."""
    return text.encode("utf-8", "replace").decode()


def pick(prefix: str, found: Sequence[SessionInfo]) -> SessionInfo:
    """The one session that `prefix` means among those whose id begins with it, newest first."""
    if prefix == "latest" and found:
        return found[0]
    for info in found:
        if info.id == prefix:
            return info
    if len(found) == 1:
        return found[0]
    if not found:
        raise not_found(prefix)
    named = ", ".join(info.id for info in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    raise SessionNotFound(
        f"{prefix!r} begins the ids of {len(found)} sessions: {named}{more}. Give more of it"
    )


def not_found(session: str) -> SessionNotFound:
    if session == "latest":
        return SessionNotFound("there is no session yet")
    return SessionNotFound(f"no session has the id {session!r}; `onplan sessions` lists them")


def taken(session: str) -> StoreError:
    return StoreError(f"a session with the id {session!r} exists already; resume it or take another id")


def out_of_turn(session: str, last: int, seq: int) -> SessionBusy:
    return SessionBusy(
        f"the log of session {session} ends at record {last}, not at {seq - 1}: something else wrote to it. "
        "Nothing was stored; resume the session to go on"
    )
