"""A run as a Markdown transcript: what was said and done in each turn, and what happened to the plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from datetime import UTC, datetime
from typing import Any

import msgspec

from onplan.plan.text import counted
from onplan.web.run import NO_CALL, Entry, PlanRevision, Run

_MARKS = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
_MOST_LINES = 60
# What a reader of Markdown would turn into markup or fetch: tags, and images.
_MARKUP = re.compile(r"<[A-Za-z/!?]|!\[")
_PROSE = re.compile(r"([\\`*_\[\]<>#|~!&])")
_OUTCOMES = {
    "error": "failed",
    "denied": "was denied",
    "interrupted": "was interrupted",
    "not_executed": "was not executed",
}


def markdown(run: Run) -> str:
    """The whole run. Texts of the transcript stay texts: what could be markup stands in a fence. Long answers
    of tools are cut after 60 lines."""
    return "\n".join([*_head(run), *_body(run)]).rstrip() + "\n"


def _head(run: Run) -> Iterator[str]:
    facts, steps = run.session, run.steps
    yield f"# {prose(facts.title or f'Session {facts.id}')}"
    yield ""
    began = datetime.fromtimestamp(facts.created, UTC).strftime("%Y-%m-%d %H:%M UTC") if steps.at else ""
    parent = f"forked from `{facts.parent}`" if facts.parent else ""
    told = [f"session `{facts.id}`", parent, began, prose(facts.model), prose(facts.cwd)]
    yield " · ".join(part for part in told if part)
    yield ""
    if not steps.at:
        return
    tokens = steps.input[-1] + steps.cache_read[-1] + steps.cache_write[-1]
    cost = steps.cost[-1]
    figures = [
        counted(steps.turn[-1], "turn"),
        counted(sum(not entry.made for entry in run.messages), "message"),
    ]
    figures += [f"{tokens:,} tokens in, {steps.output[-1]:,} out"] if tokens else []
    figures += [f"${cost:.4f}"] if cost else []
    figures += [f"ended: {facts.ended.replace('_', ' ')}"] if facts.ended else []
    yield " · ".join(figures)
    yield ""


def _body(run: Run) -> Iterator[str]:
    """Step by step: what came first in the log comes first here."""
    revisions = {revision.step: revision for revision in run.revisions}
    writes = {run.steps.call[step] for step in revisions} - {NO_CALL}
    turn, said = 0, 0
    for step, (now, count) in enumerate(zip(run.steps.turn, run.steps.messages, strict=True)):
        if now != turn:
            turn = now
            yield from (f"## Turn {turn}", "")
        for entry in run.messages[said:count]:
            if not entry.made:
                yield from _entry(run, entry, writes)
        said = count
        if step in revisions:
            yield from _plan(revisions[step])
        elif run.kinds[run.steps.kind[step]] in ("compaction", "resumed", "prefix", "end", "error"):
            yield from _remark(run, step)


def _remark(run: Run, step: int) -> Iterator[str]:
    if run.steps.call[step] == NO_CALL:  # what a call came to is told with its answer
        yield from (f"*{prose(run.steps.title[step])}*", "")


def _entry(run: Run, entry: Entry, writes: Set[int]) -> Iterator[str]:
    """`writes`: the calls whose revision is shown, so that neither arguments nor answer need be."""
    match entry.role:
        case "user":
            yield from ("**You**", "", *_quoted(_text(entry)), "")
        case "note":
            yield from (
                f"**{entry.kind.capitalize() or 'Note'}** (for the model)",
                "",
                *fenced(_text(entry)),
                "",
            )
        case "tool" if entry.call in writes:
            pass
        case "tool":
            yield from _result(run, entry)
        case "assistant":
            yield from _reply(run, entry, writes)


def _reply(run: Run, entry: Entry, writes: Set[int]) -> Iterator[str]:
    yield from (f"**Model**, round {entry.round}{' (cut off)' if entry.stop == 'interrupted' else ''}", "")
    for part in entry.parts:
        match part.kind:
            case "text" if part.text.strip():
                yield from (*_quoted(part.text), "")
            case "call":
                call = run.calls[part.call]
                yield from (f"calls {code(call.name)}", "")
                if part.call not in writes:
                    yield from (*fenced(_arguments(call.arguments), "json"), "")
            case _:
                pass


def _result(run: Run, entry: Entry) -> Iterator[str]:
    name = run.calls[entry.call].name if entry.call != NO_CALL else "an unknown call"
    came = _OUTCOMES.get(entry.outcome, "answered")
    yield from (f"{code(name)} {came}", "", *fenced(_text(entry)), "")
    yield from (
        f"with {medium.media_type}, {medium.size:,} bytes: {code(medium.name)}" for medium in entry.media
    )
    if entry.media:
        yield ""


def _plan(revision: PlanRevision) -> Iterator[str]:
    by = " by you" if revision.author == "user" else ""
    yield f"**Plan r{revision.number}**{by} · {revision.done}/{len(revision.todos)} done"
    yield ""
    yield from (f"- {_MARKS[todo.status]} {prose(todo.content)}" for todo in revision.todos)
    yield from (f"- dropped: {prose(content)}" for content in revision.diff.get("dropped", ()))
    yield ""


def _text(entry: Entry) -> str:
    return "".join(part.text for part in entry.parts if part.kind == "text")


def _arguments(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    return msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode()


def _quoted(text: str) -> list[str]:
    """Words of a person or a model, which are Markdown already unless they hold markup."""
    if _MARKUP.search(text):
        return fenced(text)
    return [f"> {line}".rstrip() for line in text.strip().splitlines()]


def fenced(text: str, language: str = "") -> list[str]:
    """The lines between fences that nothing in them can close."""
    lines = text.strip("\n").splitlines()
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}", *lines, fence]


def code(text: str) -> str:
    """A word in code style."""
    word = " ".join(text.replace("`", "'").split())
    return f"`{word or ' '}`"


def prose(text: str) -> str:
    """Text in a line of Markdown, its marks made plain."""
    return _PROSE.sub(r"\\\1", " ".join(text.split()))
