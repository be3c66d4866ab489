"""What every session store must do, as checks that anybody can run on theirs; needs no test framework.

With pytest: `@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)`, then
`await check.run(store)` on an empty store. Without: `await check_store(make)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import msgspec

from onplan.errors import SessionBusy, SessionNotFound, StoreError
from onplan.protocols import Holder, Row, SessionInfo, SessionStore
from onplan.stores.holder import this_process

Steps = Callable[[SessionStore], Awaitable[None]]

ELSEWHERE = Holder(host="another-host.invalid", pid=1, start=1.0)
"""A holder that nobody here can see, so it counts as alive."""


@dataclass(frozen=True, slots=True)
class Check:
    """One rule. `run` gets an empty store, may fill it, and raises AssertionError if the rule is broken."""

    name: str
    run: Steps


async def check_store(make: Callable[[], Awaitable[SessionStore]]) -> None:
    """Run every check on a store of its own. The first broken rule raises AssertionError with its name."""
    for check in CHECKS:
        store = await make()
        try:
            await check.run(store)
        except AssertionError as error:
            raise AssertionError(f"{check.name}: {error}") from error
        finally:
            await store.close()


# --- logs -------------------------------------------------------------------------------------------


async def _new_log_is_empty_and_listed(store: SessionStore) -> None:
    await store.create("s1", cwd="/work", time=100.0)
    _same(await store.load("s1"), [])
    _same(await store.sessions(), [SessionInfo("s1", cwd="/work", created=100.0, updated=100.0)])


async def _taken_id_is_refused(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    await _raises(StoreError, store.create("s1", cwd="/other", time=200.0))
    _same(await store.load("s1"), [Row(1, 10.0, b"1")])
    _same((await store.find("s1")).cwd, "/work")


async def _unusable_ids_are_refused(store: SessionStore) -> None:
    for session in ("", "latest", "a\ud800"):
        await _raises(StoreError, store.create(session, cwd="", time=1.0))
    _same(await store.sessions(), [])


async def _bodies_come_back_byte_for_byte(store: SessionStore) -> None:
    bodies = [b'{"a":1}', b"", b"\x00", bytes(range(256)), "déjà ✓".encode(), b"not json", b"x" * 300_000]
    await _filled(store, "s1", bodies)
    _same([row.body for row in await store.load("s1")], bodies)


async def _rows_keep_number_and_time(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    await store.append("s1", 1, [b"1", b"2"], time=1234567890.123456)
    await store.append("s1", 3, [b"3"], time=1234567891.5)
    rows = [Row(1, 1234567890.123456, b"1"), Row(2, 1234567890.123456, b"2"), Row(3, 1234567891.5, b"3")]
    _same(await store.load("s1"), rows)


async def _load_begins_after(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1", b"2", b"3"])
    for after, numbers in ((0, [1, 2, 3]), (1, [2, 3]), (3, []), (99, []), (-1, [1, 2, 3])):
        _same([row.seq for row in await store.load("s1", after=after)], numbers)


async def _loaded_rows_belong_to_the_caller(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    (await store.load("s1")).clear()
    _same(len(await store.load("s1")), 1)


async def _wrong_number_stores_nothing(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1", b"2"])
    for seq in (-1, 0, 1, 2, 4, 2**40):
        await _raises(SessionBusy, store.append("s1", seq, [b"x", b"y"], time=20.0))
    _same([row.body for row in await store.load("s1")], [b"1", b"2"])
    await store.append("s1", 3, [b"3"], time=20.0)
    _same([row.body for row in await store.load("s1")], [b"1", b"2", b"3"])


async def _append_of_nothing_checks_and_changes_nothing(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    before = await store.sessions()
    await store.append("s1", 2, [], time=99.0)
    await _raises(SessionBusy, store.append("s1", 1, [], time=99.0))
    _same(await store.sessions(), before)


async def _one_of_two_writers_wins(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    both = (store.append("s1", 2, [body, body], time=1.0) for body in (b"a", b"b"))
    ended = await asyncio.gather(*both, return_exceptions=True)
    _same(sorted(type(end).__name__ for end in ended), ["NoneType", "SessionBusy"])
    bodies = [row.body for row in await store.load("s1")]
    _holds(bodies in ([b"1", b"a", b"a"], [b"1", b"b", b"b"]), f"the log holds {bodies}")


async def _logs_are_apart(store: SessionStore) -> None:
    for session in ("s1", "s2", "s3"):
        await store.create(session, cwd="", time=1.0)
    for number in range(1, 6):
        for session in ("s1", "s2", "s3"):
            await store.append(session, number, [f"{session} {number}".encode()], time=1.0)
    await store.delete("s2")
    for session in ("s1", "s3"):
        expected = [f"{session} {number}".encode() for number in range(1, 6)]
        _same([row.body for row in await store.load(session)], expected)


async def _unknown_session_is_not_found(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    for session in ("s", "S1", "s1 ", "", "no\ud800", "latest"):
        for attempt in (
            store.append(session, 1, [b"1"], time=1.0),
            store.load(session),
            store.describe(session, {"title": "t"}),
            store.delete(session),
            store.claim(session, this_process()),
            store.put_request(session, b"r"),
            store.requests(session),
        ):
            await _raises(SessionNotFound, attempt)
    _same(await store.sessions(), [SessionInfo("s1", created=1.0, updated=1.0)])


async def _deleted_session_is_gone(store: SessionStore) -> None:
    await _filled(store, "s1", [b"old"])
    await store.put_request("s1", b"old request")
    await store.claim("s1", ELSEWHERE)
    await store.delete("s1")
    await _raises(SessionNotFound, store.load("s1"))
    await store.create("s1", cwd="/new", time=5.0)
    _same(await store.load("s1"), [])
    _same(await store.requests("s1"), [])
    _same(await store.claim("s1", this_process()), None)
    _same(await store.sessions(), [SessionInfo("s1", cwd="/new", created=5.0, updated=5.0)])


# --- the list of sessions ---------------------------------------------------------------------------


async def _facts_are_set_and_kept(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    line = SessionInfo("s1", cwd="/work", created=1.0, updated=10.0, records=1)
    await store.describe("s1", {"title": "Fix\x00 it ✓", "done": 1, "total": 3})
    line = msgspec.structs.replace(line, title="Fix\x00 it ✓", done=1, total=3)
    _same(await store.find("s1"), line)
    await store.describe("s1", {"done": 3, "ended": "done"})
    await store.describe("s1", {})
    _same(await store.find("s1"), msgspec.structs.replace(line, done=3, ended="done"))


async def _cost_is_set_and_taken_back(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    for cost in (0.25, None, 3.0):
        await store.describe("s1", {"cost": cost})
        _same(await store.find("s1"), SessionInfo("s1", created=1.0, updated=1.0, cost=cost))
    await store.describe("s1", {"title": "t"})
    _same((await store.find("s1")).cost, 3.0)


async def _unknown_facts_are_refused(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    for name in ("id", "records", "updated", "key", "title = 'x', done"):
        await _raises(ValueError, store.describe("s1", {"title": "t", name: 1}))
    _same(await store.sessions(), [SessionInfo("s1", created=1.0, updated=1.0)])


async def _newest_session_comes_first(store: SessionStore) -> None:
    for session, cwd in (("a", "/x"), ("b", "/y"), ("c", "/x"), ("d", "/x")):
        await store.create(session, cwd=cwd, time=5.0)
    await store.append("b", 1, [b"1"], time=7.0)
    await store.append("a", 1, [b"1"], time=6.0)
    _same([line.id for line in await store.sessions()], ["b", "a", "d", "c"])
    _same([line.id for line in await store.sessions(cwd="/x")], ["a", "d", "c"])
    _same([line.id for line in await store.sessions(cwd="/x", limit=2)], ["a", "d"])
    _same(await store.sessions(cwd="/z"), [])
    _same(await store.sessions(limit=0), [])


async def _clock_set_back_does_no_harm(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1000.0)
    await store.append("s1", 1, [b"1"], time=3.0)
    await store.append("s1", 2, [b"2"], time=2.0)
    _same(await store.load("s1"), [Row(1, 3.0, b"1"), Row(2, 2.0, b"2")])
    _same(await store.find("s1"), SessionInfo("s1", created=1000.0, updated=1000.0, records=2))


async def _session_is_found_by_prefix(store: SessionStore) -> None:
    for number, session in enumerate(("ab", "abc", "b_1", "bX1", "é1")):
        await store.create(session, cwd="", time=float(number))
    for prefix, session in (("ab", "ab"), ("abc", "abc"), ("b_", "b_1"), ("é", "é1"), ("latest", "é1")):
        _same((await store.find(prefix)).id, session)
    for prefix in ("abcd", "B", "%", "_", "*", "z", "\x00", "b_\x00"):
        await _raises(SessionNotFound, store.find(prefix))


async def _ambiguous_prefix_names_the_sessions(store: SessionStore) -> None:
    await _raises(SessionNotFound, store.find("latest"))
    await store.create("ab1", cwd="", time=1.0)
    await store.create("ab2", cwd="", time=1.0)
    for prefix in ("a", "ab", ""):
        said = await _raises(SessionNotFound, store.find(prefix))
        _holds("ab1" in said and "ab2" in said, f"the error names no session: {said}")


async def _odd_text_is_kept_or_replaced(store: SessionStore) -> None:
    await store.create("s1", cwd="/odd\udcff", time=1.0)
    await store.describe("s1", {"title": "half \ud83d"})
    line = SessionInfo("s1", cwd="/odd?", created=1.0, updated=1.0, title="half ?")
    _same(await store.sessions(cwd="/odd\udcff"), [line])


# --- the holder and its inbox -----------------------------------------------------------------------


async def _session_has_one_holder(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    await store.create("s2", cwd="", time=1.0)
    _same(await store.claim("s1", ELSEWHERE), None)
    _same(await store.claim("s1", ELSEWHERE), None)
    _same(await store.claim("s1", this_process()), ELSEWHERE)
    _same(await store.claim("s2", this_process()), None)
    await store.release("s1", this_process())
    _same(await store.claim("s1", this_process()), ELSEWHERE)
    await store.release("s1", ELSEWHERE)
    _same(await store.claim("s1", this_process()), None)
    _same(await store.claim("s1", ELSEWHERE), this_process())


async def _dead_holder_is_followed(store: SessionStore) -> None:
    me = this_process()
    await store.create("s1", cwd="", time=1.0)
    await store.claim("s1", msgspec.structs.replace(me, pid=2**31 - 1))
    _same(await store.claim("s1", me), None)
    if me.start:
        await store.claim("s1", me)
        await store.release("s1", me)
        await store.claim("s1", msgspec.structs.replace(me, start=me.start + 3600))
        _same(await store.claim("s1", me), None)


async def _requests_wait_in_order_until_they_are_served(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    await store.create("s2", cwd="", time=1.0)
    for body in (b"1", b"\x00\xff", b""):
        await store.put_request("s1", body)
        await store.put_request("s2", b"other " + body)
    first, second, third = await store.requests("s1")
    _same([row.body for row in (first, second, third)], [b"1", b"\x00\xff", b""])
    _same(await store.requests("s1"), [first, second, third])
    await store.append("s1", 1, [b"done"], time=2.0, served=[second.id])
    _same(await store.requests("s1"), [first, third])
    await store.append("s1", 2, [], time=2.0, served=[first.id, third.id, second.id])
    _same(await store.requests("s1"), [])
    await store.put_request("s1", b"4")
    _same([row.body for row in await store.requests("s1")], [b"4"])
    other = [row.body for row in await store.requests("s2")]
    _same(other, [b"other 1", b"other \x00\xff", b"other "])
    _same([row.body for row in await store.load("s1")], [b"done"])


async def _what_is_not_stored_serves_no_request(store: SessionStore) -> None:
    await _filled(store, "s1", [b"1"])
    await store.put_request("s1", b"request")
    (row,) = await store.requests("s1")
    await _raises(SessionBusy, store.append("s1", 5, [b"x"], time=2.0, served=[row.id]))
    _same(await store.requests("s1"), [row])


async def _closed_store_says_so(store: SessionStore) -> None:
    await store.create("s1", cwd="", time=1.0)
    await store.close()
    await _raises(StoreError, store.append("s1", 1, [b"1"], time=1.0))
    await store.close()


CHECKS: tuple[Check, ...] = tuple(
    Check(steps.__name__.strip("_"), steps)
    for steps in (
        _new_log_is_empty_and_listed,
        _taken_id_is_refused,
        _unusable_ids_are_refused,
        _bodies_come_back_byte_for_byte,
        _rows_keep_number_and_time,
        _load_begins_after,
        _loaded_rows_belong_to_the_caller,
        _wrong_number_stores_nothing,
        _append_of_nothing_checks_and_changes_nothing,
        _one_of_two_writers_wins,
        _logs_are_apart,
        _unknown_session_is_not_found,
        _deleted_session_is_gone,
        _facts_are_set_and_kept,
        _cost_is_set_and_taken_back,
        _unknown_facts_are_refused,
        _newest_session_comes_first,
        _clock_set_back_does_no_harm,
        _session_is_found_by_prefix,
        _ambiguous_prefix_names_the_sessions,
        _odd_text_is_kept_or_replaced,
        _session_has_one_holder,
        _dead_holder_is_followed,
        _requests_wait_in_order_until_they_are_served,
        _what_is_not_stored_serves_no_request,
        _closed_store_says_so,
    )
)
"""Every rule of `SessionStore`, each for an empty store of its own."""


# --- steps and comparisons --------------------------------------------------------------------------


async def _filled(store: SessionStore, session: str, bodies: Sequence[bytes]) -> None:
    await store.create(session, cwd="/work", time=1.0)
    await store.append(session, 1, bodies, time=10.0)


async def _raises(kind: type[Exception], attempt: Awaitable[object]) -> str:
    """Await what must fail with `kind`; its text, which must be one line."""
    try:
        answer = await attempt
    except kind as error:
        _holds("\n" not in str(error) and bool(str(error)), f"not one line: {error!r}")
        return str(error)
    raise AssertionError(f"{kind.__name__} was not raised; the answer was {answer!r}")


def _same(found: object, expected: object) -> None:
    _holds(found == expected, f"found {_short(found)}, expected {_short(expected)}")


def _holds(rule: bool, message: str) -> None:
    if not rule:
        raise AssertionError(message)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 500 else f"{text[:500]}…"
