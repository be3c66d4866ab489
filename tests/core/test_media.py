"""Images and PDFs of tools: into the log and the request, never around a hook, and what they count for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from parts import call, check_fold, log_of, results, start, work

from onplan.events import decode_record, encode_record
from onplan.hooks import Hooks, Replace
from onplan.messages import (
    MEDIA_TOKENS,
    Call,
    Media,
    Message,
    ToolResult,
    User,
    estimate,
    estimate_tokens,
    model_text,
)
from onplan.models.scripted import ScriptedModel
from onplan.parts import Limits
from onplan.planning import plan_of
from onplan.stores.memory import MemoryStore
from onplan.toolset import Ctx, Tool, ToolOutput, Toolset, tool

GOLDEN = Path(__file__).parent / "golden" / "session-v1-media.jsonl"
DOT = Media("image/gif", "R0lGODdh", "dot.gif")
PAGE = Media("application/pdf", "JVBERi0=")


def camera(*outputs: ToolOutput) -> Tool:
    """Answers with these, one after the other."""
    left = list(outputs)

    @tool(read_only=True)
    async def look() -> ToolOutput:
        """Look."""
        return left.pop(0)

    return look


async def test_what_a_tool_shows_is_in_the_log_and_in_the_next_request() -> None:
    store, model = MemoryStore(), ScriptedModel([[call(1, "look")], "A dot."])
    agent = await start(model, camera(ToolOutput("a dot", media=(DOT, PAGE))), store=store)
    await agent.run("go")
    shown = ToolResult("t1", "look", "a dot", media=(DOT, PAGE))
    assert results(await log_of(store)) == [shown]
    assert results(model.requests[-1].messages) == [shown]
    await check_fold(agent, store)


async def test_an_error_shows_nothing() -> None:
    agent = await start(
        [[call(1, "look")], "Nothing."], camera(ToolOutput("Error: no", is_error=True, media=(DOT,)))
    )
    await agent.run("go")
    assert results(agent.messages) == [ToolResult("t1", "look", "Error: no", "error")]


async def test_what_a_hook_puts_in_place_of_a_result_has_no_image_beside_it() -> None:
    hooks = Hooks(after_tool=(lambda call, result, view: Replace("hidden"),))
    agent = await start([[call(1, "look")], "Ok."], camera(ToolOutput("a dot", media=(DOT,))), hooks=hooks)
    await agent.run("go")
    assert results(agent.messages) == [ToolResult("t1", "look", "hidden")]


async def test_ignored_arguments_are_named_beside_an_image() -> None:
    agent = await start([[call(1, "look", zoom=2)], "Ok."], camera(ToolOutput("a dot", media=(DOT,))))
    await agent.run("go")
    told = "a dot\n(ignored: zoom; parameters of look: none)"
    assert results(agent.messages) == [ToolResult("t1", "look", told, media=(DOT,))]


@pytest.mark.parametrize("media", [None, [DOT], ("image/png",), (Media("image/png", b"x"),)])  # pyright: ignore[reportArgumentType]
async def test_media_that_a_log_could_not_give_back_are_an_error(media: Any) -> None:
    tools = Toolset([camera(ToolOutput("a dot", media=media))])
    told = await tools.call(Call("t1", "look", {}), Ctx())
    assert (told.is_error, told.media) == (True, ())


async def test_a_picture_that_changes_is_no_repetition() -> None:
    frames = [ToolOutput("a frame", media=(Media("image/gif", f"R0l{n}"),)) for n in range(8)]
    moving = [*([call(n, "look")] for n in range(8)), "Done."]
    agent = await start(moving, camera(*frames), work, limits=Limits(rounds=20))
    assert (await agent.run("go")).reason == "done"
    standing = await start(moving, camera(*[ToolOutput("a frame", media=(DOT,))] * 8), work)
    assert (await standing.run("go")).reason == "call_loop"


def test_each_of_the_media_counts_for_a_fixed_number_of_tokens() -> None:
    plain = ToolResult("t1", "look", "a dot")
    shown = ToolResult("t1", "look", "a dot", media=(DOT, PAGE))
    assert (estimate(plain), estimate(shown)) == (2, 2 + 2 * MEDIA_TOKENS)
    assert model_text(shown) == "a dot"
    assert estimate(User("déjà")) == estimate_tokens("déjà") == 2


def test_the_distance_of_the_plan_counts_images() -> None:
    before: list[Message] = [User("go")]
    far = [
        plan_of([*before, ToolResult("t1", "look", "a dot", media=(DOT,) * n)]).distance.tokens
        for n in range(3)
    ]
    assert [longer - shorter for shorter, longer in pairwise(far)] == [MEDIA_TOKENS] * 2


@pytest.mark.parametrize("data", ["", "R0lG", "R0k=", "Rw=="])
def test_the_size_is_that_of_the_bytes(data: str) -> None:
    size = {"": 0, "R0lG": 3, "R0k=": 2, "Rw==": 1}[data]
    assert Media("image/gif", data).size == size
    assert str(Media("image/gif", data)) == f"image/gif, {size} bytes"


def test_the_golden_results_with_media_are_read_and_written_as_they_were() -> None:
    """The file must never be made again: it stands for the logs that people have on their disks."""
    kept = [
        ToolResult("t1", "read_file", "image file (GIF, 1x1, 6 bytes)", media=(DOT,)),
        ToolResult("t2", "look", "two", details={"k": 1}, changed=True, media=(PAGE, DOT)),
    ]
    lines = GOLDEN.read_bytes().splitlines()
    assert [decode_record(line) for line in lines] == kept
    assert [encode_record(record) for record in kept] == lines
