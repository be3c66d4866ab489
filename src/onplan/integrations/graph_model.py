"""An onplan model as a LangChain chat model: any that onplan can open, a scripted one for instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from onplan.errors import ModelError
from onplan.integrations.lcmessages import conversation, to_langchain
from onplan.integrations.lctools import finished
from onplan.messages import Assistant
from onplan.protocols import Model, Request


class ChatModel(BaseChatModel):
    """Answers as `model` does, in one piece. Raises `ModelError` as it does."""

    model: Any
    """An onplan `Model`."""

    def __init__(self, model: Model, **others: Any) -> None:
        super().__init__(model=model, **others)  # pyright: ignore[reportCallIssue] # a field of this class

    @property
    def _llm_type(self) -> str:
        return "onplan"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return finished(self._agenerate(messages, stop, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request = Request(
            "\n\n".join(str(message.text) for message in messages if isinstance(message, SystemMessage)),
            tuple(_schema(tool["function"]) for tool in kwargs.get("tools", ())),
            conversation(messages),
        )
        async for item in self.model.stream(request):
            if isinstance(item, Assistant):
                return ChatResult(generations=[ChatGeneration(message=to_langchain(item))])
        raise ModelError(f"{self.model.name} ended its stream without a reply", retryable=True)


def _schema(function: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }
