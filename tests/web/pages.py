"""Runs for tests of the player's page: one in which everything happens, one that attacks; and the server."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import uvicorn
from run_logs import Writing, long_log, stamped

from onplan.cli.runs import runtime
from onplan.coding import coding_tools
from onplan.errors import StoreError
from onplan.events import (
    ApprovalRequested,
    Compacted,
    Decided,
    PlanEdited,
    Record,
    SessionStarted,
    ToolStarted,
    TurnEnded,
    encode_record,
)
from onplan.messages import Assistant, Call, Note, Outcome, Part, Text, Thinking, ToolResult, Usage, User
from onplan.models.prices import load_prices
from onplan.plan.changes import Written
from onplan.plan.settings import Settings
from onplan.plan.stored import outcome_to_json
from onplan.plan.todo import Plan, Status, Todo
from onplan.planning import Planning
from onplan.protocols import Holder, SessionInfo
from onplan.session import InboxRequest, Stamped
from onplan.stores.memory import MemoryStore
from onplan.web.folding import run_of
from onplan.web.following import Following
from onplan.web.html import single_file
from onplan.web.run import Run
from onplan.web.server import app, listen

MODEL = "claude-sonnet-5-5"
CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_ARGS = ["--no-sandbox"] if os.getuid() == 0 else []
"""Chromium's own sandbox does not work for root."""

PAYLOADS = (
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "<!--<script>document.title='owned'</script>",
    "<svg onload=\"document.title='owned'\">",
    "javascript:document.title='owned'",
    "\u2028document.title='owned'\u2029",
    "{{constructor.constructor('document.title=1')()}}",
    "]]><script>document.title='owned'</script>",
    "<style>*{display:none!important}</style>",
    "'\"`><a href=\"javascript:document.title='owned'\">x</a>",
)

ELSEWHERE = {
    "name": "issue_search",
    "description": "Search the issues of a tracker.",
    "input_schema": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
}
"""A tool of another server: what fills its parameters there is not known here."""

FAINT_WORDS = """() => {
  const parts = (colour) => {
    const [r, g, b, alpha = 1] = colour.match(/[\\d.]+/g).map(Number);
    return { rgb: [r, g, b], alpha };
  };
  const over = (top, rgb) => rgb.map((part, at) => top.rgb[at] * top.alpha + part * (1 - top.alpha));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const lineage = (node) => node ? [...lineage(node.parentElement), node] : [];
  const behind = (node) => lineage(node).map((each) => parts(getComputedStyle(each).backgroundColor))
    .reduce((rgb, top) => over(top, rgb), [255, 255, 255]);
  const opacity = (node) => lineage(node).reduce((all, each) => all * getComputedStyle(each).opacity, 1);
  const isRead = (node) => node.checkVisibility()
    && !node.closest('script, noscript, style, option, title, .unseen, .skip, button:disabled');
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !isRead(node)) continue;
    const drawing = node.closest('svg');
    const box = drawing && node.parentElement.querySelector('rect');
    const page = behind(drawing ? drawing.parentElement : node);
    const back = box ? over(parts(getComputedStyle(box).fill), page) : page;
    const ink = parts(getComputedStyle(node)[drawing ? 'fill' : 'color']);
    const seen = over({ rgb: ink.rgb, alpha: ink.alpha * opacity(node) }, back);
    const [low, high] = [light(seen), light(back)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    if (contrast < 4.5) words.push([walker.currentNode.data.trim().slice(0, 40), contrast.toFixed(2)]);
  }
  return words;
}"""
"""The words in sight that stand out too little from what is behind them, each with its contrast."""

_MARKS: dict[str, Status] = {" ": "pending", ">": "in_progress", "x": "completed"}


def run_from(log: Sequence[Stamped], title: str = "A run") -> Run:
    info = SessionInfo("a1b2c3d4", "/work/project", log[0].time, log[-1].time, len(log), title)
    return run_of(info, log, prices=load_prices(), runtime=runtime())


def write_page(path: Path, log: Sequence[Stamped], title: str = "A run") -> str:
    """The player of a log as a file; its address."""
    path.write_text(single_file(run_from(log, title)), encoding="utf-8")
    return path.as_uri()


def plan(*lines: str) -> Plan:
    """`plan("x Read", "> Write", "  Check")`: the first character is the status."""
    return Plan(tuple(Todo(line[2:], _MARKS[line[0]]) for line in lines))


class Told(Writing):
    """A session told call by call."""

    def __init__(self, system: str = "You are onplan, a coding agent in the terminal.") -> None:
        self._system = system
        super().__init__()
        self._last: tuple[Call, ...] = ()
        self._number = 0

    def put(self, record: Record) -> None:
        if isinstance(record, SessionStarted):
            tools = [*Planning().tools(), *coding_tools()]
            schemas = tuple(
                {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
                for tool in tools
            )
            schemas = (*schemas, ELSEWHERE)
            settings = Settings().to_json()
            record = SessionStarted("a1b2c3d4", 1, "/work/project", MODEL, self._system, schemas, settings)
        super().put(record)

    def says(
        self, text: str, *calls: tuple[str, Any], thinking: str = "", usage: Usage | None = None
    ) -> None:
        """A reply with calls."""
        made: list[Call] = []
        for name, arguments in calls:
            self._number += 1
            made.append(Call(f"c{self._number}", name, arguments))
        self._last = tuple(made)
        parts: tuple[Part, ...] = ((Thinking(thinking),) if thinking else ()) + (Text(text), *made)
        size = sum(len(str(message)) // 4 for message in self.view)
        counted = usage or Usage(input=400, output=60 + 40 * len(made), cache_read=size)
        self.put(Assistant(parts, "tool_calls" if made else "end", counted, MODEL))

    def call(self, index: int) -> Call:
        return self._last[index]

    def allow(self, index: int = 0, by: str = "auto") -> None:
        self.put(Decided(self._last[index].id, "allow", by))

    def answers(self, content: str, index: int = 0, outcome: Outcome = "ok", **details: Any) -> None:
        call = self._last[index]
        self.put(ToolResult(call.id, call.name, content, outcome, details or None, changed=bool(details)))

    def runs(self, content: str, index: int = 0, outcome: Outcome = "ok", **details: Any) -> None:
        self.allow(index)
        self.put(ToolStarted(self._last[index].id))
        self.answers(content, index, outcome, **details)

    def writes(self, text: str, new: Plan) -> None:
        """A reply with one write of the plan, which is accepted."""
        self.says(text, ("write_todos", {"todos": new.to_json()}))
        outcome = outcome_to_json(Written(self.plan.state.ledger.revision + 1, new))
        self.runs("Task list updated:\n" + lines_of(new), plan=outcome)

    def reads(self, text: str, path: str, content: str) -> None:
        self.says(text, ("read_file", {"path": path}))
        self.runs(content)

    def reminds(self, text: str, kind: Literal["stale", "distance"], *, recites: bool) -> None:
        self.put(Note(text, "reminder", details={"plan": {"kind": kind, "recites": recites}}))


def lines_of(of: Plan) -> str:
    marks = {"pending": "[ ]", "in_progress": "[~]", "completed": "[x]"}
    return "\n".join(f"{marks[todo.status]} {todo.content}" for todo in of)


def source_text(name: str, lines: int) -> str:
    return "\n".join(
        f"{number:>4}  def {name}_{number}(value: int) -> int: ..." for number in range(1, lines)
    )


def eventful() -> list[Stamped]:
    """Two turns with a plan, an error, a reminder, questions, a denial, a person's edit and a compaction."""
    told = Told()
    told.put(User("Move the settings from INI to TOML, keep old files readable, and document it."))
    told.writes(
        "I begin with a plan.",
        plan(
            "> Find every reader of the settings",
            "  Write the TOML reader",
            "  Migrate old files",
            "  Document it",
        ),
    )
    told.says("Let me look.", ("grep", {"pattern": "configparser"}), ("glob", {"pattern": "**/*.py"}))
    told.allow(0)
    told.allow(1)
    told.put(ToolStarted(told.call(0).id))
    told.put(ToolStarted(told.call(1).id))
    told.answers("src/settings.py:3:import configparser\nsrc/cli.py:11:from settings import load", 0)
    told.answers("src/settings.py\nsrc/cli.py\ntests/test_settings.py", 1)
    for name in ("settings", "cli"):
        told.reads(f"Now {name}.", f"src/{name}.py", source_text(name, 60))
    told.reads("And the old defaults.", "src/defaults.ini", "Error: src/defaults.ini does not exist.")
    told.reminds(
        "The plan is 3 rounds old. Just finished: nothing. Now: Find every reader of the settings. "
        "Next: Write the TOML reader.",
        "stale",
        recites=False,
    )
    told.writes(
        "All readers are found.",
        plan(
            "x Find every reader of the settings",
            "> Write the TOML reader",
            "  Migrate old files",
            "  Document it",
        ),
    )
    told.says(
        "I write the reader.",
        ("edit_file", {"path": "src/settings.py", "old": "import configparser", "new": "import tomllib"}),
        thinking="tomllib reads bytes. The file must be opened in binary mode.",
    )
    told.put(ApprovalRequested(told.call(0).id, "-import configparser\n+import tomllib", "it changes a file"))
    told.allow(by="person")
    told.put(ToolStarted(told.call(0).id))
    told.answers(
        "Edited src/settings.py (1 line).",
        path="src/settings.py",
        diff="-import configparser\n+import tomllib",
    )
    told.says("I run the tests.", ("bash", {"command": "pytest -q tests/test_settings.py"}))
    told.runs(
        "E   AttributeError: 'str' object has no attribute 'decode'\n1 failed in 0.12s\nexit code 1",
        outcome="error",
    )
    told.put(
        PlanEdited(
            3,
            tuple(
                plan(
                    "x Find every reader of the settings",
                    "> Write the TOML reader",
                    "  Keep INI files readable",
                    "  Document it",
                ).to_json()
            ),
            "edit",
        )
    )
    told.put(
        Note("The person changed the plan: removed Migrate old files, added Keep INI files readable.", "plan")
    )
    told.says("The file must be opened in binary mode.", ("bash", {"command": "git push --force"}))
    told.put(ApprovalRequested(told.call(0).id, "git push --force", "it rewrites what others have"))
    told.put(Decided(told.call(0).id, "deny", "person", "not now"))
    told.answers("Denied by the person: not now", outcome="denied")
    for number in range(8):
        told.reads(f"Part {number + 1}.", f"src/part_{number}.py", source_text(f"part_{number}", 40))
    _compact(told)
    told.reads("On with the reader.", "src/settings.py", source_text("settings", 20))
    told.writes(
        "The reader works.",
        plan(
            "x Find every reader of the settings",
            "x Write the TOML reader",
            "x Keep INI files readable",
            "> Document it",
        ),
    )
    told.says(
        "The last step.",
        ("write_file", {"path": "docs/settings.md", "content": "# Settings\n\nA TOML file.\n" * 6}),
    )
    told.runs("Created docs/settings.md (18 lines).", path="docs/settings.md")
    told.writes(
        "Documented.",
        plan(
            "x Find every reader of the settings",
            "x Write the TOML reader",
            "x Keep INI files readable",
            "x Document it",
        ),
    )
    told.says("Settings are TOML now; INI files are still read.")
    told.put(TurnEnded("done", 20, 21))
    told.put(User("Thank you. Which version of Python does it need?"))
    told.says("Python 3.11: tomllib is part of it since then.")
    told.put(TurnEnded("done", 0, 1))
    return stamped(told.records)


def _compact(told: Told) -> None:
    current = told.plan.state.plan
    told.put(
        Compacted(
            "limit",
            4,
            (Note("What came before: the readers were found, the TOML reader is begun.", "summary"),),
            (Note("The plan:\n" + lines_of(current), "plan", details={"plan": {"shows": 3}}),),
            before=9_400,
            after=1_900,
        )
    )


def waiting() -> list[Stamped]:
    """A session that waits for the person's answer to a call."""
    told = Told()
    told.put(User("Tidy up."))
    told.writes("A plan.", plan("> Remove what is old", "  Check"))
    told.says("May I?", ("bash", {"command": "git clean -n"}))
    told.put(ApprovalRequested(told.call(0).id, "git clean -n", "it lists what would go"))
    return stamped(told.records)


def hostile() -> list[Stamped]:
    """Every text of a session is an attempt to run script in the page."""
    told = Told(system=PAYLOADS[1])
    told.put(User(" ".join(PAYLOADS)))
    for payload in PAYLOADS:
        told.writes(payload, plan(f"> {payload[:200]}", f"  second {payload[:150]}"))
        told.says(
            payload,
            (payload[:60], {payload: payload, "todos": [{"content": payload, "status": payload}]}),
            thinking=payload,
        )
        told.put(ApprovalRequested(told.call(0).id, payload, payload))
        told.put(Decided(told.call(0).id, "allow", payload, payload, payload))
        told.answers(payload, diff=f"+{payload}\n-{payload}")
        told.put(Note(payload, "reminder"))
    told.put(TurnEnded("model_error", 1, 1, error=PAYLOADS[0]))
    return stamped(told.records)


def messages_of_length(count: int, text: str = "line of output\n" * 12) -> list[Stamped]:
    """A session of at least so many messages."""
    return long_log(count // 2, text)


class Disk(MemoryStore):
    """A store that can be away."""

    is_away = False

    async def load(self, session: str, *, after: int = 0):
        if self.is_away:
            raise StoreError("the disk is away")
        return await super().load(session, after=after)


class Served:
    """The player's server with one session, in a thread of its own; the session grows by `append`."""

    def __init__(self, log: Sequence[Stamped]) -> None:
        self.token = "f00d" * 8
        self.store = Disk()
        self.session = "a1b2c3d4"
        self._seq = 0
        self._port = 0
        asyncio.run(self.store.create(self.session, cwd="/work/project", time=1.0))
        self.append(*(item.record for item in log))
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/#token={self.token}"

    def start(self) -> None:
        """Listen again where it listened before."""
        following = Following(self.store, self.session, prices=load_prices())
        listening = listen(self._port)
        self._port = listening.getsockname()[1]
        served = app(
            following, token=self.token, port=self._port, every=0.02, ending=lambda: self._server.should_exit
        )
        self._server = uvicorn.Server(
            uvicorn.Config(served, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]})
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        assert not self._thread.is_alive()

    def append(self, *records: Record) -> None:
        bodies = [encode_record(record) for record in records]
        asyncio.run(self.store.append(self.session, self._seq + 1, bodies, time=2.0 + self._seq))
        self._seq += len(records)

    def hold(self) -> None:
        """As if an agent on another machine had the session open."""
        asyncio.run(self.store.claim(self.session, Holder("elsewhere", 1, 1.0)))

    def requests(self) -> list[InboxRequest]:
        """What was left for the holder."""
        left = asyncio.run(self.store.requests(self.session))
        return [msgspec.json.decode(row.body, type=InboxRequest) for row in left]
