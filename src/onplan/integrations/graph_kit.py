"""What the nodes of one graph work with: settings, tools, the channels of the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.channels import AnyValue, EphemeralValue, LastValue, UntrackedValue
from typing_extensions import is_typeddict

from onplan.errors import ToolError
from onplan.integrations.graph_state import channels_of
from onplan.messages import Call
from onplan.plan.decode import translated
from onplan.plan.dialect import DIALECTS
from onplan.plan.settings import Settings
from onplan.toolset import parse_arguments


@dataclass(frozen=True, slots=True)
class Kit:
    """What the nodes of one graph work with. Plan tools are not among `tools`. `asks`: a person approves;
    `schema` declares the state, `channels` are the graph's."""

    settings: Settings
    tools: Mapping[str, BaseTool]
    asks: bool = True
    schema: type[Any] = dict
    channels: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shaped(self, state: Mapping[str, Any]) -> Any:
        """The state as tools know it: a dict, or a value of the class that declares it."""
        if self.schema is dict or is_typeddict(self.schema):
            return dict(state)
        return self.schema(**{name: state[name] for name in channels_of(self.schema) if name in state})

    def adds(self, channel: str) -> bool:
        """Whether writes of one step add up there; elsewhere the last one counts."""
        return not isinstance(self.channels[channel], (AnyValue, EphemeralValue, LastValue, UntrackedValue))

    def after(self, state: Mapping[str, Any], channel: str, value: Any) -> Any:
        """What is in a channel after one more write to it."""
        if not self.adds(channel):
            return value
        kept = self.channels[channel]
        twin = kept.from_checkpoint(state[channel]) if channel in state else kept.copy()
        twin.update([value])
        return twin.get()

    @property
    def plan_names(self) -> tuple[str, ...]:
        return () if self.settings.planning == "off" else self.settings.dialect.tool_names

    def canonical(self, call: Call) -> Call:
        """A call of another dialect's write tool as one of ours: models fall back into what they learned."""
        spoken = DIALECTS.get(call.name)
        if spoken is None or not self.plan_names or call.name in (*self.tools, *self.plan_names):
            return call
        ours = self.settings.dialect
        return Call(call.id, ours.name, translated(call.arguments, spoken, ours))

    def could_run(self, call: Call) -> bool:
        """Whether anything may come of the call: one whose arguments cannot be read only gets an answer."""
        if self.canonical(call).name in self.plan_names:
            return True  # the plan engine reads more than JSON
        try:
            parse_arguments(call.arguments, call.name)
        except ToolError:
            return False
        return True


def denial(kit: Kit, approval: Any) -> str:
    """Why a call is not to run, in words for the model; empty if it is. Where a person is asked at all, a
    call runs only with their word for it."""
    match approval:
        case {"approved": False, "reason": str(reason)}:
            return reason or "the user rejected it"
        case {"approved": True}:
            return ""
        case _:
            return "nobody approved it" if kit.asks else ""
