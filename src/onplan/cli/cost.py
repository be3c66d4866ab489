"""What planning costs in a conversation: the fixed part of every request, the writes, answers, reminders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from onplan.agent import Agent
from onplan.cli.view.words import counted
from onplan.messages import Assistant, Call, Message, Note, ToolResult, estimate, estimate_tokens, model_text
from onplan.plan.settings import Settings
from onplan.planning import prompt_text


@dataclass(frozen=True, slots=True)
class PlanningCost:
    """Tokens are estimates (UTF-8 bytes / 4, rounded up; 1,500 for an image), of the whole session.

    `fixed_characters` and `fixed_tokens`: schemas of the plan tools and the prompt's sentences, which go
    along with every request. `tokens`: the fixed part once, calls, answers and reminders;
    `conversation_tokens`: everything that the model reads, each part once.
    """

    mode: str
    fixed_characters: int = 0
    fixed_tokens: int = 0
    writes: int = 0
    reads: int = 0
    call_tokens: int = 0
    answer_tokens: int = 0
    reminders: int = 0
    reminder_tokens: int = 0
    conversation_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.fixed_tokens + self.call_tokens + self.answer_tokens + self.reminder_tokens

    @property
    def share(self) -> float:
        """Of the conversation, from 0 to 1."""
        return self.tokens / self.conversation_tokens if self.conversation_tokens else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "tokens": self.tokens, "share": round(self.share, 4)}


def planning_cost(
    messages: Iterable[Message], settings: Settings, *, system: str, tools: Sequence[Mapping[str, Any]]
) -> PlanningCost:
    """The cost in a conversation that was sent with this system text and these tool schemas."""
    names = settings.dialect.tool_names
    own = [tool for tool in tools if tool.get("name") in names]
    fixed = [_json(tool) for tool in own] + ([prompt_text(settings.dialect)] if own else [])
    total = estimate_tokens(system) + sum(estimate_tokens(_json(tool)) for tool in tools)
    sent, answers, reminders = list[Call](), list[str](), list[str]()
    for message in messages:
        total += estimate(message)
        match message:
            case Assistant(calls=calls):
                sent += [call for call in calls if call.name in names]
            case ToolResult(name=name, content=content) if name in names:
                answers.append(content)
            case Note(text=text, details=details) if (details or {}).get("plan"):
                reminders.append(text)
            case _:
                pass
    return PlanningCost(
        mode=settings.planning,
        fixed_characters=sum(map(len, fixed)),
        fixed_tokens=_tokens(fixed),
        writes=sum(call.name == names[0] for call in sent),
        reads=sum(call.name != names[0] for call in sent),
        call_tokens=_tokens(model_text(Assistant((call,))) for call in sent),
        answer_tokens=_tokens(answers),
        reminders=len(reminders),
        reminder_tokens=_tokens(reminders),
        conversation_tokens=total,
    )


def cost_of(agent: Agent) -> PlanningCost:
    """The cost so far in an agent's session."""
    return planning_cost(
        agent.messages,
        agent.plan_state.settings,
        system=agent.system,
        tools=agent.toolset.schemas(),
    )


def cost_line(cost: PlanningCost) -> str:
    """The cost in one line for a person."""
    if cost.mode == "off":
        return "planning: off"
    return (
        f"planning: {counted(cost.writes, 'write')}, {counted(cost.reminders, 'reminder')}, "
        f"about {counted(cost.tokens, 'token')} "
        f"({cost.share:.0%} of the conversation); --plan off turns it off"
    )


def _tokens(texts: Iterable[str]) -> int:
    return sum(map(estimate_tokens, texts))


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")
