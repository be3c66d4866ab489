# pyright: strict
"""What a host saw against what a scenario expects, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, cast

from onplan.messages import (
    Assistant,
    Message,
    Note,
    ToolResult,
    User,
    model_text,
)
from onplan.plan.todo import Plan, Todo
from onplan.protocols import Request
from onplan.testing.scenarios.format import (
    MARKS,
    ExpectData,
    MessageData,
    Scenario,
    TodoData,
    Words,
    WordsData,
)
from onplan.testing.scenarios.playing import (
    Observed,
)


def check(scenario: Scenario, observed: Observed) -> list[str]:
    """Every difference between what the scenario expects and what was seen, in plain words; none is good.

    Whatever a scenario states, each call must have its one result, in call order and at once, and each
    request must extend the one before it and be followed by its reply.
    """
    expect = scenario.expect
    return [
        *_pairing(observed.messages),
        *_prefixes(observed),
        *_conversation(expect, observed),
        *_answers(expect, observed),
        *_reminders(expect, observed),
        *_plans(expect, observed),
        *_turns(expect, observed),
        *_told(expect, observed),
        *_figures(expect, observed),
    ]


def _pairing(messages: Sequence[Message]) -> Iterator[str]:
    ids = [call_id for message in messages if isinstance(message, Assistant) for call_id in _ids(message)]
    for call_id in sorted({call_id for call_id in ids if ids.count(call_id) > 1}):
        yield f"several calls have the id {call_id}"
    waiting: list[str] = []
    for position, message in enumerate(messages):
        if isinstance(message, ToolResult) and waiting and message.call_id == waiting[0]:
            waiting.pop(0)
        elif isinstance(message, ToolResult):
            wanted = waiting[0] if waiting else "no result"
            yield f"message {position}: a result for {message.call_id} where {wanted} was due"
        elif waiting:
            yield f"message {position}: {_shape(message)} where the result for {waiting[0]} was due"
            waiting = []
        if isinstance(message, Assistant):
            waiting = list(_ids(message))
    if waiting:
        yield f"the conversation ends without results for {', '.join(waiting)}"


def _prefixes(observed: Observed) -> Iterator[str]:
    last, skew = Request("", (), ()), 0
    shortened = {found.requests + 1: found for found in observed.compactions}
    for number, request in enumerate(observed.requests, 1):
        if found := shortened.get(number):
            yield from _extends(observed, last, skew)
            last, skew = Request(last.system, last.tools, ()), found.messages - found.view
        if number > 1 and (request.system, request.tools) != (last.system, last.tools):
            yield f"request {number}: its system text or tools are not those of the one before"
        sent = len(last.messages)
        if len(request.messages) <= sent or tuple(request.messages[:sent]) != tuple(last.messages):
            yield f"request {number}: it does not extend the one before"
        end = len(request.messages) + skew
        reply = observed.messages[end : end + 1]
        if reply and not isinstance(reply[0], (Assistant, User)):  # a user message, if no reply came
            yield f"request {number}: {_shape(reply[0])} follows it, and no reply"
        last = request
    yield from _extends(observed, last, skew)


def _extends(observed: Observed, last: Request, skew: int) -> Iterator[str]:
    """Whether the conversation goes on from a request; of one that a compaction made, behind its view."""
    views = [found.view for found in observed.compactions if found.messages - found.view == skew]
    begin = views[-1] if views and skew else 0
    sent = tuple(last.messages[begin:])
    if tuple(observed.messages[begin + skew : len(last.messages) + skew]) != sent:
        yield "the conversation does not extend the last request"


def _conversation(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.messages is None:
        return
    found = observed.messages
    if len(found) != len(expect.messages):
        shapes = ", ".join(_shape(message) for message in found)
        yield f"expected {len(expect.messages)} messages, found {len(found)}: {shapes}"
    for position, (wanted, message) in enumerate(zip(expect.messages, found, strict=False)):
        where = f"message {position}"
        if isinstance(wanted, str):
            shape = _shape(message)
            # `note` without its kind stands for a note of any kind
            if shape != wanted and not (wanted == "note" and isinstance(message, Note)):
                yield f"{where}: expected {wanted}, found {shape}"
        elif wanted is not None:
            yield from _message(where, wanted, message)


def _shape(message: Message) -> str:
    """`user`, `assistant c1 c2`, `result c1`, `note reminder`."""
    match message:
        case User():
            return "user"
        case Assistant():
            return " ".join(("assistant", *_ids(message)))
        case ToolResult(call_id=call_id):
            return f"result {call_id}"
        case Note(kind=kind):
            return f"note {kind}"


def _message(where: str, wanted: MessageData, message: Message) -> Iterator[str]:
    yield from _same(f"{where}: role", wanted.role, _shape(message).split()[0])
    yield from _words(where, wanted.text, _text(message))
    facts: dict[str, Any] = {}
    match message:
        case Assistant():
            facts = {"calls": _ids(message), "stop": message.stop}
        case ToolResult():
            facts = {"id": message.call_id, "outcome": message.outcome}
        case Note():
            facts = {"kind": _kind(message), "placement": message.placement}
        case User():
            pass
    for name in ("id", "outcome", "calls", "stop", "kind", "placement"):
        yield from _same(f"{where}: {name}", getattr(wanted, name), facts.get(name))


def _answers(expect: ExpectData, observed: Observed) -> Iterator[str]:
    results = {item.call_id: item for item in observed.messages if isinstance(item, ToolResult)}
    for call_id, wanted in expect.answers.items():
        where = f"answer to {call_id}"
        result = results.get(call_id)
        if result is None:
            yield f"{where}: there is none"
        elif isinstance(wanted, str):
            yield from _words(where, wanted, result.content)
            yield from _same(f"{where}: outcome", "ok", result.outcome)
        else:
            yield from _words(where, wanted.text, result.content)
            yield from _words(where, WordsData(wanted.contains, wanted.lacks), result.content)
            yield from _same(f"{where}: outcome", wanted.outcome, result.outcome)


def _reminders(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.reminders is None:
        return
    found = [(at, item) for at, item in enumerate(observed.messages) if isinstance(item, Note)]
    if len(found) != len(expect.reminders):
        kinds = ", ".join(_kind(note) for _, note in found) or "none"
        yield f"expected {len(expect.reminders)} reminders, found {len(found)}: {kinds}"
    for wanted, (at, note) in zip(expect.reminders, found, strict=False):
        if wanted is None:
            continue
        where = f"reminder at message {at}"
        before = observed.messages[at - 1] if at else note
        after = before.call_id if isinstance(before, ToolResult) else _shape(before).split()[0]
        yield from _same(f"{where}: kind", wanted.kind, _kind(note))
        yield from _same(f"{where}: after", wanted.after, after)
        yield from _same(f"{where}: placement", wanted.placement, note.placement)
        yield from _words(where, wanted.text, note.text)


def _kind(note: Note) -> str:
    kept: Any = (note.details or {}).get("plan")
    return str(cast("dict[str, Any]", kept).get("kind", note.kind)) if isinstance(kept, dict) else note.kind


def _plans(expect: ExpectData, observed: Observed) -> Iterator[str]:
    yield from _todos("the plan at the end", expect.plan, observed.plan)
    yield from _same("the revision at the end", expect.revision, observed.revision)
    yield from _same("dropped", expect.dropped, observed.dropped)
    if expect.plans is None:
        return
    yield from _same("rounds", len(expect.plans), len(observed.rounds))
    for number, (wanted, found) in enumerate(zip(expect.plans, observed.rounds, strict=False), 1):
        if wanted is not None:
            yield from _todos(f"the plan after round {number}", wanted.todos, found.plan)
            yield from _same(f"the revision after round {number}", wanted.revision, found.revision)


def _todos(where: str, wanted: tuple[TodoData, ...] | None, plan: Plan) -> Iterator[str]:
    if wanted is None:
        return
    for position, (data, todo) in enumerate(zip_longest(wanted, plan.todos)):
        if data is None or todo is None or not _is_todo(data, todo):
            yield f"{where}: todo {position}: expected {data!r}, found {todo!r}"


def _is_todo(data: TodoData, todo: Todo) -> bool:
    if isinstance(data, str):
        return (todo.content, todo.status) == (data[4:], MARKS[data[:4]])
    return {name: getattr(todo, name, None) for name in data} == data


def _turns(expect: ExpectData, observed: Observed) -> Iterator[str]:
    requests = sum(turn.requests for turn in observed.turns)
    if not any(turn.reason == "crashed" for turn in observed.turns):
        yield from _same("requests of all turns", len(observed.requests), requests)
    yield from _same("requests", expect.requests, len(observed.requests))
    if expect.turns is None:
        return
    yield from _same("turns", len(expect.turns), len(observed.turns))
    for number, (wanted, found) in enumerate(zip(expect.turns, observed.turns, strict=False), 1):
        if wanted is None:
            continue
        for name in ("reason", "requests", "rounds", "exit_code"):
            yield from _same(f"turn {number}: {name}", getattr(wanted, name), getattr(found, name))
        yield from _words(f"turn {number}: text", wanted.text, found.text)
        yield from _words(f"turn {number}: error", wanted.error, found.error)


def _told(expect: ExpectData, observed: Observed) -> Iterator[str]:
    for told in expect.told:
        if not 0 < told.request <= len(observed.requests):
            yield f"request {told.request}: there is none"
            continue
        request = observed.requests[told.request - 1]
        text = "\n".join([request.system, *map(_text, request.messages)])
        yield from _words(f"request {told.request}", WordsData(told.contains, told.lacks), text)
    if expect.offers is not None:
        for request in observed.requests[:1]:
            yield from _same("offers", expect.offers, tuple(tool["name"] for tool in request.tools))


def _figures(expect: ExpectData, observed: Observed) -> Iterator[str]:
    system = observed.requests[0].system if observed.requests else ""
    yield from _same("messages with the system text", expect.thread, len(observed.messages) + bool(system))
    if expect.characters is not None:
        size = len(system) + sum(len(model_text(message)) for message in observed.messages)
        if not expect.characters[0] <= size <= expect.characters[1]:
            yield f"characters: expected {expect.characters}, found {size}"
    yield from _counter(expect, observed)
    for name, number in expect.stats.items():
        yield from _same(f"stats: {name}", number, observed.stats.get(name))
    changed = [item.call_id for item in observed.messages if isinstance(item, ToolResult) and item.changed]
    yield from _same("ran", expect.ran, observed.ran)
    yield from _same("changed", expect.changed, tuple(changed))
    yield from _same("asked", expect.asked, observed.asked)
    yield from _texts("refused edit", expect.refused_edits, observed.refused_edits)
    yield from _texts("warning", expect.warnings, observed.warnings)


def _counter(expect: ExpectData, observed: Observed) -> Iterator[str]:
    if expect.distance is not None:
        now = observed.counter[-1] if observed.counter else 0
        yield from _same("distance at the end", expect.distance.now, now)
        yield from _same("distance at most", expect.distance.max, observed.stats.get("max_messages"))
    if expect.counter is not None:
        yield from _same("counted messages", len(expect.counter), len(observed.counter))
        for position, (wanted, found) in enumerate(zip(expect.counter, observed.counter, strict=False)):
            yield from _same(f"distance after message {position}", wanted, found)


def _texts(what: str, wanted: tuple[Words, ...] | None, found: tuple[str, ...]) -> Iterator[str]:
    if wanted is None:
        return
    yield from _same(f"{what}s", len(wanted), len(found))
    for number, (words, text) in enumerate(zip(wanted, found, strict=False), 1):
        yield from _words(f"{what} {number}", words, text)


def _words(where: str, wanted: Words | None, found: str) -> Iterator[str]:
    match wanted:
        case None:
            return
        case str():
            yield from _same(f"{where}: text", wanted, found)
        case WordsData(contains=contains, lacks=lacks):
            for piece in contains:
                if piece not in found:
                    yield f"{where}: {piece!r} is missing in {found!r:.400}"
            for piece in lacks:
                if piece in found:
                    yield f"{where}: {piece!r} should not be in {found!r:.400}"


def _same(what: str, wanted: object, found: object) -> Iterator[str]:
    if wanted is not None and wanted != found:
        yield f"{what}: expected {wanted!r}, found {found!r}"


def _text(message: Message) -> str:
    return message.text if isinstance(message, Assistant) else model_text(message)


def _ids(reply: Assistant) -> tuple[str, ...]:
    return tuple(call.id for call in reply.calls)
