"""What of the scenarios holds for planning tools of others as installed, and what each adds to a request.

Prints a report and, with `--write`, puts it into `docs/peers.md` between the markers. No network: the models
are scripted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The hosts live with the tests; and a benchmark beside this file must not pass for the library of its name.
sys.path[:] = [
    str(ROOT / "tests" / "integrations"),
    *(place for place in sys.path if Path(place or ".").resolve() != Path(__file__).parent),
]

from hosts import Graph, Middleware, ThreadHost  # noqa: E402 # after the path
from peer_hosts import (  # noqa: E402 # after the path
    PydanticTodoHost,
    TodoList,
    TodoListHost,
    compared,
    inapplicable,
)

from onplan.messages import ToolResult  # noqa: E402 # after the path
from onplan.testing.scenarios import Host, Observed, PlainLoop, Scenario, load_scenarios  # noqa: E402 # after the path

PAGE = ROOT / "docs" / "peers.md"
START, END = "<!-- peers: written by bench/peers.py -->", "<!-- peers: end -->"
AS_STATED = "as stated"

_STRICT = "refuses, and says what it wants; nothing is lost"
_WORDS: Mapping[str, Mapping[str, str]] = {
    "TodoListMiddleware": {
        "limits_refuse_and_cut_nothing": "sets no limits",
        "one_other_name_of_the_content_is_taken": _STRICT,
        "status_spellings_are_read": _STRICT,
        "string_lists_are_repaired_and_said": _STRICT,
        "the_same_plan_twice_in_one_reply": "refuses both, on purpose: one write in a reply",
        "two_in_progress_are_refused_by_name": "allows several, on purpose: for steps that run in parallel",
        "two_writes_in_one_reply": "refuses all of them, on purpose: one write in a reply",
        "wrappers_are_unwrapped": "refuses; a reply of nothing but unreadable calls ends the run",
    },
    "pydantic-ai-todo": {
        "limits_refuse_and_cut_nothing": "sets no limits",
        "one_other_name_of_the_content_is_taken": _STRICT,
        "status_spellings_are_read": _STRICT,
        "string_lists_are_repaired_and_said": _STRICT,
        "two_in_progress_are_refused_by_name": "asks for one in its prompt and accepts several",
        "two_writes_in_one_reply": "applies them in order; also the last one, which has two in progress",
        "wrappers_are_unwrapped": _STRICT,
    },
}
"""What each does where it does otherwise, read from its source."""


@dataclass(frozen=True)
class Peer:
    """A planner as installed. `tools`: the plan tools that it offers."""

    name: str
    release: str
    host: Host
    tools: Sequence[str]


@dataclass(frozen=True)
class Cost:
    """Characters of JSON and text: what planning adds to each request, and the answer to one write."""

    request: int
    answer: int
    shows_plan: bool


def peers() -> tuple[Peer, ...]:
    langchain = f"langchain {version('langchain')}"
    pydantic = f"{version('pydantic-ai-todo')} on pydantic-ai {version('pydantic-ai-slim')}"
    return (
        Peer("TodoListMiddleware", langchain, TodoListHost(), TodoList.tools),
        Peer("pydantic-ai-todo", pydantic, PydanticTodoHost(), PydanticTodoHost.tools),
    )


def ours() -> Mapping[str, Host]:
    return {
        "plain loop": PlainLoop(),
        "graph": ThreadHost(Graph(), sync=True),
        "PlanMiddleware": ThreadHost(Middleware(), sync=True),
    }


def differences(host: Host, scenario: Scenario) -> list[str]:
    return compared(scenario, asyncio.run(host.play(scenario)))


def cells(peer: Peer, scenarios: Sequence[Scenario]) -> dict[str, str]:
    """For each scenario that applies to the peer: what it does."""
    found: dict[str, str] = {}
    for scenario in scenarios:
        if inapplicable(scenario, peer.tools):
            continue
        told = differences(peer.host, scenario)
        found[scenario.name] = AS_STATED
        if told:
            found[scenario.name] = _WORDS[peer.name].get(scenario.name, f"otherwise: {told[0][:80]}")
    return found


def cost(host: Host, plain: Scenario) -> Cost:
    """What planning costs, seen on a run of one write and an answer."""
    observed = asyncio.run(host.play(plain))
    request = observed.requests[0]
    schemas = sum(len(json.dumps(tool)) for tool in request.tools if not _is_scenarios(tool["name"], plain))
    answer = next(item.content for item in observed.messages if isinstance(item, ToolResult))
    return Cost(len(request.system) + schemas, len(answer), all(text in answer for text in _open(observed)))


def _is_scenarios(name: str, scenario: Scenario) -> bool:
    return name in [tool.name for tool in scenario.tools]


def _open(observed: Observed) -> list[str]:
    return [todo.content for todo in observed.rounds[0].plan.open]


# --- the report -------------------------------------------------------------------------------------


def report() -> str:
    """The part of the page that is measured."""
    scenarios, found = load_scenarios(), peers()
    rows = {peer.name: cells(peer, scenarios) for peer in found}
    shown = [one for one in scenarios if any(one.name in row for row in rows.values())]
    return "\n\n".join(
        [
            "Installed: " + "; ".join(f"{peer.name} ({peer.release})" for peer in found) + ".",
            _summary(found, rows, scenarios),
            _our_line(shown),
            _details(found, rows, shown),
            _left_out(found, scenarios),
            _costs(found, scenarios),
        ]
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _summary(
    found: Sequence[Peer], rows: Mapping[str, Mapping[str, str]], scenarios: Sequence[Scenario]
) -> str:
    lines = [
        (
            peer.name,
            len(rows[peer.name]),
            sum(cell == AS_STATED for cell in rows[peer.name].values()),
            sum(cell != AS_STATED for cell in rows[peer.name].values()),
            len(scenarios) - len(rows[peer.name]),
        )
        for peer in found
    ]
    return _table(("", "scenarios that apply", AS_STATED, "otherwise", "do not apply"), lines)


def _our_line(shown: Sequence[Scenario]) -> str:
    counts = {name: sum(not differences(host, one) for one in shown) for name, host in ours().items()}
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"Of the {len(shown)} scenarios that apply to any of them, as stated on onplan: {told}."


def _details(found: Sequence[Peer], rows: Mapping[str, Mapping[str, str]], shown: Sequence[Scenario]) -> str:
    lines = [
        (scenario.title, *(rows[peer.name].get(scenario.name, "–") for peer in found)) for scenario in shown
    ]
    return _table(("the rule, words aside", *(peer.name for peer in found)), lines)


def _left_out(found: Sequence[Peer], scenarios: Sequence[Scenario]) -> str:
    return "\n\n".join(
        f"Does not apply to {peer.name}: {'; '.join(_reasons(peer, scenarios))}." for peer in found
    )


def _reasons(peer: Peer, scenarios: Sequence[Scenario]) -> list[str]:
    """Each reason with its number, and its details with theirs."""
    found = Counter(reason for one in scenarios if (reason := inapplicable(one, peer.tools)))
    told: list[str] = []
    for group in sorted({group for group, _ in found}):
        details = {detail: number for (other, detail), number in found.items() if other == group}
        parts = ", ".join(f"{detail} {number}" for detail, number in sorted(details.items()) if detail)
        told.append(f"{group} {sum(details.values())}" + (f" ({parts})" if parts else ""))
    return told


def _costs(found: Sequence[Peer], scenarios: Sequence[Scenario]) -> str:
    plain = next(scenario for scenario in scenarios if scenario.name == "tutorial_write_answers_the_list")
    hosts = {"onplan, plain loop": PlainLoop(), "onplan, PlanMiddleware": ours()["PlanMiddleware"]}
    hosts |= {peer.name: peer.host for peer in found}
    measured = {name: cost(host, plain) for name, host in hosts.items()}
    lines = [
        (name, f"{one.request:,}", one.answer, "yes" if one.shows_plan else "no")
        for name, one in measured.items()
    ]
    head = (
        "",
        "characters of planning in a request",
        "of the answer to a write",
        "it shows the open todos",
    )
    return _table(head, lines)


def written(page: str, text: str) -> str:
    """The page with the report between its markers."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{text}\n\n{END}{after}"


if __name__ == "__main__":
    text = report()
    print(text)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text(), text))
        print(f"\nwritten into {PAGE.relative_to(ROOT)}")
