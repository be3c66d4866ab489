"""web_fetch as a tool of the coding agent: offered, asked about, and open to the hosts that settings name."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from onplan.coding import coding_agent, coding_tools, quiet_tools
from onplan.messages import Call, ToolResult
from onplan.models.scripted import ScriptedModel
from onplan.settingsfile import FileSettings
from onplan.stores.memory import MemoryStore


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(b"local documentation\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join(10)


async def fetched(root: Path, url: str, *, auto: bool, hosts: tuple[str, ...] = ()) -> ToolResult:
    model = ScriptedModel([[Call("1", "web_fetch", {"url": url})], "done"])
    settings = FileSettings(web_allow_hosts=hosts)
    async with await coding_agent(
        root, model=model, store=MemoryStore(), auto=auto, settings=settings
    ) as agent:
        await agent.run("go")
        [result] = [message for message in agent.messages if isinstance(message, ToolResult)]
    return result


def test_web_fetch_is_offered_and_not_among_the_quiet_tools():
    assert [tool.name for tool in coding_tools()] == [
        *("bash", "read_file", "write_file", "edit_file"),
        *("glob", "grep", "web_fetch", "ask_user"),
    ]
    assert "web_fetch" not in quiet_tools()


async def test_a_page_is_asked_about(tmp_path: Path, url: str):
    assert (await fetched(tmp_path, url, auto=False)).outcome == "denied"


async def test_this_machine_is_open_only_where_settings_name_it(tmp_path: Path, url: str):
    refused = await fetched(tmp_path, url, auto=True, hosts=("localhost",))
    assert (refused.outcome, "127.0.0.1" in refused.content) == ("error", True)
    result = await fetched(tmp_path, url, auto=True, hosts=("127.0.0.1",))
    assert (result.outcome, result.content) == ("ok", "local documentation\n")
