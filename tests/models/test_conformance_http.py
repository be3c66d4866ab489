"""Both adapters, over real HTTP and the official SDKs, against servers that hold them to the rules."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from far_side import ANTHROPIC, CHAT, KEY, RESPONSES, STRICT_CHAT, Server, Speech, serving

from onplan.errors import ModelError
from onplan.messages import Assistant, Call, Text
from onplan.models.anthropic import AnthropicModel
from onplan.models.connection import Retry
from onplan.models.names import EVERYTHING
from onplan.models.openai import OpenAIModel
from onplan.models.scripted import Cut, Reply, ScriptedModel
from onplan.models.wire_chat import OPENAI
from onplan.protocols import Delta, Request
from onplan.testing.models import CHECKS, Answer, Check, CutOff

SPEECHES: dict[str, Speech] = {
    "anthropic": ANTHROPIC,
    "chat": CHAT,
    "strict chat": STRICT_CHAT,
    "responses": RESPONSES,
}
QUICK = Retry(tries=4, first=0.01)


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Server]]:
    running: dict[str, Server] = {}
    contexts = [(name, serving(speech)) for name, speech in SPEECHES.items()]
    for name, context in contexts:
        running[name] = context.__enter__()
    yield running
    for _, context in contexts:
        context.__exit__(None, None, None)


def model_for(kind: str, server: Server, *, key: str = KEY, **more: Any) -> AnthropicModel | OpenAIModel:
    more = {"retry": QUICK, "timeout": 20.0, **more}
    match kind:
        case "anthropic":
            return AnthropicModel("claude-test", api_key=key, base_url=server.url, **more)
        case "responses":
            return OpenAIModel(
                "gpt-test",
                api_key=key,
                base_url=f"{server.url}/v1",
                api="responses",
                takes=EVERYTHING,
                **more,
            )
        case "strict chat":
            return OpenAIModel("devstral-test", api_key=key, base_url=f"{server.url}/v1", **more)
        case _:
            more = {"quirks": OPENAI, "takes": EVERYTHING, **more}
            return OpenAIModel("qwen-test", api_key=key, base_url=f"{server.url}/v1", **more)


@pytest.mark.parametrize("kind", SPEECHES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_the_adapter_conforms(servers: dict[str, Server], kind: str, check: Check) -> None:
    server = servers[kind]
    server.forget()
    model = model_for(kind, server)
    try:
        await check.run(model, server)
    finally:
        await model.aclose()


@dataclass
class OwnFarSide:
    """The far side of a scripted model, which answers by itself."""

    requests: list[bytes] = field(default_factory=list)
    aborted: int = 0
    answers: list[Answer] = field(default_factory=list)

    def will(self, *answers: Answer) -> None:
        self.answers += answers

    def reply(self, request: Request) -> Reply:
        self.requests.append(b"")
        match self.answers.pop(0):
            case CutOff(text=text):
                return Cut(text)
            case Assistant() as whole:
                return whole
            case other:
                raise AssertionError(other)


@pytest.mark.parametrize("check", [check for check in CHECKS if not check.wire], ids=lambda check: check.name)
async def test_the_scripted_model_conforms(check: Check) -> None:
    far = OwnFarSide()
    if check.name == "a stream cut after text is an error":
        pytest.skip("its errors are what the script says, retryable or not")
    await check.run(ScriptedModel(far.reply), far)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_every_check_can_fail(check: Check) -> None:
    class Wrong:
        name = "wrong"

        async def stream(self, request: Request) -> AsyncIterator[Delta | Assistant]:
            yield Assistant((Text("wrong"), Call("x", "y", 7)), "paused")

    far = OwnFarSide()
    far.aborted = 1
    with pytest.raises((AssertionError, TimeoutError)):
        await check.run(Wrong(), far)


# --- errors of the connection ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SPEECHES)
async def test_a_refused_key_names_the_variable_to_set(servers: dict[str, Server], kind: str) -> None:
    servers[kind].forget()
    model = model_for(kind, servers[kind], key="wrong")
    with pytest.raises(ModelError, match=r"refused the key: set (ANTHROPIC|OPENAI)_API_KEY to a valid one"):
        await _drain(model)
    await model.aclose()


@pytest.mark.parametrize("kind", SPEECHES)
async def test_no_server_is_one_line_with_its_address(kind: str) -> None:
    nowhere = Server(SPEECHES[kind], "http://127.0.0.1:9")
    model = model_for(kind, nowhere)
    with pytest.raises(ModelError, match=r"^no connection to http://127\.0\.0\.1:9.*: is the server running"):
        await _drain(model)
    await model.aclose()


async def _drain(model: AnthropicModel | OpenAIModel) -> None:
    async for _ in model.stream(Request("", (), ())):
        pass
