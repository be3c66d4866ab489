"""The demo model at work on real files, with the real tools and the real plan."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.demo import DEMO_TASK, demo_model
from onplan.demo.metadata import read_metadata
from onplan.demo.source import first_sentence, read_source
from onplan.messages import Assistant, Call, Message, Note, Outcome, ToolResult, User
from onplan.plan.dialect import DIALECTS
from onplan.plan.memory import PlanMemory
from onplan.plan.todo import Todo
from onplan.protocols import Request
from onplan.tools.files import file_tools
from onplan.tools.search import search_tools
from onplan.tools.workspace import Workspace
from onplan.toolset import Ctx, Toolset

ALL_TOOLS = tuple({"name": name} for name in ("glob", "read_file", "write_file", "write_todos", "read_todos"))
PROJECT = Path(__file__).parents[2] / "examples" / "project"


def allow(_: Call) -> Outcome | None:
    return None


class Desk:
    """A loop as small as can be: a directory, the tools, the plan, and the conversation so far.

    `outcome` may refuse a call; `after_round` sees the desk after each batch of results.
    """

    def __init__(
        self,
        root: Path,
        *,
        dialect: str = "write_todos",
        outcome: Callable[[Call], Outcome | None] = allow,
        after_round: Callable[[Desk], None] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        workspace = Workspace(root)
        tools = [item for item in (*file_tools(), *search_tools()) if item.name not in without]
        self.root = root
        self.tools = Toolset(tools, {"workspace": lambda _: workspace})
        self.memory = PlanMemory(dialect, reminder="default")
        self.planning = "plan" not in without
        self.outcome = outcome
        self.after_round = after_round
        self.messages: list[Message] = []

    async def run(self, text: str = DEMO_TASK) -> Assistant:
        self.messages.append(User(text))
        return await self.go_on()

    async def go_on(self) -> Assistant:
        for _ in range(20):
            reply = await self.ask()
            self.messages.append(reply)
            if not reply.calls:
                return reply
            for call in reply.calls:
                self.messages.append(await self.answer(call))
            if self.after_round:
                self.after_round(self)
        raise AssertionError("the demo model does not end")

    async def ask(self) -> Assistant:
        schemas = (*self.tools.schemas(), *(self.memory.tools if self.planning else ()))
        items = [item async for item in demo_model().stream(Request("", schemas, self.messages))]
        assert isinstance(items[-1], Assistant)
        return items[-1]

    async def answer(self, call: Call) -> ToolResult:
        refused = self.outcome(call)
        if refused:
            return ToolResult(call.id, call.name, f"The call was {refused}.", outcome=refused)
        if call.name in self.memory.state.dialect.tool_names:
            plan = self.memory.call(call.name, call.arguments)
            return ToolResult(call.id, call.name, plan.text, outcome="error" if plan.is_error else "ok")
        output = await self.tools.call(call, Ctx(call.id))
        return ToolResult(call.id, call.name, output.content, outcome="error" if output.is_error else "ok")

    @property
    def replies(self) -> list[Assistant]:
        return [item for item in self.messages if isinstance(item, Assistant)]

    @property
    def calls(self) -> list[Call]:
        return [call for reply in self.replies for call in reply.calls]

    def made(self, tool: str) -> list[Call]:
        return [call for call in self.calls if call.name == tool]

    @property
    def readme(self) -> str:
        return (self.root / "README.md").read_text(encoding="utf-8")

    @property
    def statuses(self) -> list[str]:
        return [todo.status for todo in self.memory.plan]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def files_in(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the demo's project, without what running its tests may have left there."""
    return copytree(PROJECT, tmp_path / "project", ignore=ignore_patterns("__pycache__", ".*", "README*"))


# --- the shape of the work --------------------------------------------------------------------------


async def test_nine_replies_plan_look_read_write_and_check(project: Path):
    desk = Desk(project)
    await desk.run()
    assert [[call.name for call in reply.calls] for reply in desk.replies] == [
        ["write_todos"],
        ["glob", "glob"],
        ["read_file"] * 3,
        ["write_todos"] + ["read_file"] * 6,
        ["read_todos"],
        ["write_todos", "write_file"],
        ["write_todos", "read_file"],
        ["write_todos"],
        [],
    ]


async def test_the_plan_moves_one_step_with_each_write(project: Path):
    seen: list[list[str]] = []
    desk = Desk(project, after_round=lambda desk: seen.append(desk.statuses))
    await desk.run()
    steps = [list(group) for group, _ in groupby(map(tuple, seen))]
    done, doing, left = "completed", "in_progress", "pending"
    assert steps == [
        [doing, left, left, left],
        [done, doing, left, left],
        [done, done, doing, left],
        [done, done, done, doing],
        [done, done, done, done],
    ]


async def test_one_file_is_written_and_no_other_changes(project: Path):
    before = files_in(project)
    desk = Desk(project)
    reply = await desk.run()
    after = files_in(project)
    assert after.pop("README.md").decode() == README
    assert after == before
    assert reply.text == "README.md is written: 65 lines about tidemark, from its metadata and 6 modules."


async def test_every_call_succeeds_and_has_an_id_of_its_own(project: Path):
    desk = Desk(project)
    await desk.run()
    await desk.run("And the README of it all, please.")
    results = [item for item in desk.messages if isinstance(item, ToolResult)]
    assert {item.outcome for item in results} == {"ok"}
    assert len({call.id for call in desk.calls}) == len(desk.calls) == len(results)


async def test_the_example_in_the_readme_runs(project: Path):
    desk = Desk(project)
    await desk.run()
    write(project, {"example.txt": "\n".join(re.findall(r"```pycon\n(.*?)```", desk.readme, re.S))})
    ran = subprocess.run(
        [sys.executable, "-m", "doctest", "-v", "example.txt"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": "src", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 passed" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
async def test_it_plans_in_every_dialect(project: Path, dialect: str):
    desk = Desk(project, dialect=dialect)
    await desk.run()
    assert desk.readme == README
    assert len(desk.made(dialect)) == 5
    assert desk.statuses == ["completed"] * 4


async def test_it_works_without_plan_tools(project: Path):
    desk = Desk(project, without=frozenset({"plan"}))
    await desk.run()
    assert desk.readme == README
    assert {call.name for call in desk.calls} == {"glob", "read_file", "write_file"}


async def test_it_says_which_tool_it_misses(project: Path):
    desk = Desk(project, without=frozenset({"write_file"}))
    assert (await desk.run()).text == (
        "I need the tools glob, read_file, write_file and was not given write_file."
    )


# --- what it decides from what it finds -------------------------------------------------------------


async def test_a_readme_that_is_there_stays(project: Path):
    write(project, {"readme.rst": "Tidemark\n========\n"})
    before = files_in(project)
    desk = Desk(project)
    assert (await desk.run()).text == (
        "This project has a README already: readme.rst (2 lines). I left it as it is and wrote nothing."
    )
    assert files_in(project) == before
    assert desk.statuses == ["completed"] * 2


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, "no Python in this directory"),
        ({"index.js": "1", "pyproject.toml": ""}, "no Python in this directory"),
        ({"setup.py": "", "tests/test_a.py": ""}, "no Python here but a set-up file or tests"),
    ],
)
async def test_without_python_it_says_so_and_writes_nothing(
    tmp_path: Path, files: dict[str, str], found: str
):
    desk = Desk(write(tmp_path, files))
    assert (await desk.run()).text == (
        f"There is {found}. I only know how to describe Python projects, so I wrote nothing."
    )
    assert not desk.made("write_file")
    assert desk.statuses == ["completed"]


async def test_another_task_is_not_begun(project: Path):
    desk = Desk(project)
    reply = await desk.run("Fix the bug in the parser.")
    assert reply.text == f'I am the demo model and know one job. Ask me: "{DEMO_TASK}"'
    assert desk.calls == []


async def test_its_own_task_may_be_worded_by_the_caller(project: Path):
    task = "Describe this."
    items = [item async for item in demo_model(task).stream(Request("", ALL_TOOLS, [User(task)]))]
    assert isinstance(items[-1], Assistant)
    assert [call.name for call in items[-1].calls] == ["write_todos"]


# --- people in between ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "statuses", "text"),
    [
        (
            "write_todos",
            [],
            "`write_todos` was not allowed, so I stop here.",
        ),
        (
            "glob",
            ["in_progress", "pending", "pending", "pending"],
            "`glob` was not allowed, so I stop here. Open in the plan: Look at the layout and the metadata "
            "of the project; Read the modules; Write README.md; Read README.md back and check it.",
        ),
        (
            "write_file",
            ["completed", "completed", "in_progress", "pending"],
            "`write_file` was not allowed, so I stop here. Open in the plan: Write README.md; "
            "Read README.md back and check it.",
        ),
    ],
)
async def test_a_refusal_ends_the_work_and_leaves_the_plan_true(
    project: Path, tool: str, statuses: list[str], text: str
):
    desk = Desk(project, outcome=lambda call: "denied" if call.name == tool else None)
    assert (await desk.run()).text == text
    assert desk.statuses == statuses
    assert "README.md" not in files_in(project)


async def test_asked_again_after_a_refusal_it_does_not_try_again(project: Path):
    desk = Desk(project, outcome=lambda call: "denied" if call.name == "glob" else None)
    await desk.run()
    desk.messages.append(Note("You have open todos.", kind="stop"))
    before = len(desk.calls)
    assert (await desk.go_on()).text == "Nothing has changed since: I cannot finish this without you."
    assert len(desk.calls) == before


async def test_told_to_continue_it_asks_for_what_was_refused_again(project: Path):
    desk = Desk(project, outcome=lambda call: "denied" if call.name == "write_file" else None)
    await desk.run()
    desk.outcome = allow
    await desk.run("Go on, you may write it.")
    assert desk.readme == README
    assert desk.statuses == ["completed"] * 4


@pytest.mark.parametrize("outcome", ["interrupted", "not_executed"])
async def test_a_call_that_did_not_finish_is_made_again(project: Path, outcome: Outcome):
    left = {"glob", "read_file", "write_file", "write_todos", "read_todos"}

    def once_each(call: Call) -> Outcome | None:
        if call.name not in left:
            return None
        left.remove(call.name)
        return outcome

    desk = Desk(project, outcome=once_each)
    await desk.run()
    assert left == set()
    assert desk.readme == README


async def test_notes_in_between_change_nothing(project: Path):
    def remind(desk: Desk) -> None:
        desk.messages.append(Note("<reminder>Update the plan of the README.</reminder>", kind="reminder"))

    desk = Desk(project, after_round=remind)
    await desk.run()
    assert desk.readme == README
    assert len(desk.replies) == 9


async def test_a_failed_write_is_reported_and_stays_open(project: Path):
    (project / "README.md").mkdir()
    desk = Desk(project)
    reply = await desk.run()
    assert reply.text.startswith("README.md was not written: ")
    assert desk.statuses == ["completed", "completed", "in_progress", "pending"]


async def test_a_readme_that_reads_back_differently_stays_unchecked(project: Path):
    def meddle(desk: Desk) -> None:
        if desk.made("write_file"):
            write(project, {"README.md": "Mine now.\n"})

    desk = Desk(project, after_round=meddle)
    reply = await desk.run()
    assert reply.text.startswith("README.md reads back differently from what I wrote. Please look at it.")
    assert desk.statuses == ["completed", "completed", "completed", "in_progress"]


async def test_a_todo_that_the_person_adds_stays_in_the_plan(project: Path):
    def add(desk: Desk) -> None:
        if len(desk.replies) == 4:
            desk.memory.edit([*desk.memory.plan, Todo("Ask Kim for a logo")])

    desk = Desk(project, after_round=add)
    reply = await desk.run()
    assert desk.statuses == ["completed"] * 4 + ["pending"]
    assert reply.text.endswith(" Still open, and not mine to do: Ask Kim for a logo.")


async def test_a_step_that_the_person_takes_away_is_not_done(project: Path):
    def remove(desk: Desk) -> None:
        if len(desk.replies) == 4:
            desk.memory.edit([todo for todo in desk.memory.plan if "README" not in todo.content])

    desk = Desk(project, after_round=remove)
    reply = await desk.run()
    assert reply.text == '"Write README.md" was taken off the plan, so I wrote nothing.'
    assert "README.md" not in files_in(project)


# --- the README of other people's projects ----------------------------------------------------------


async def readme_of(root: Path, files: dict[str, str]) -> str:
    desk = Desk(write(root, files))
    await desk.run()
    return desk.readme


async def test_one_script_without_metadata(tmp_path: Path):
    source = '"""Says hello."""\n\ndef main(): ...\n\nif __name__ == "__main__":\n    main()\n'
    assert await readme_of(tmp_path, {"hello.py": source}) == (
        "# hello\n\nSays hello.\n\n## What is in it\n\n`hello` offers:\n\n- `main()`\n\n"
        "## Usage\n\nOn the command line:\n\n```sh\npython hello.py\n```\n"
    )


async def test_modules_named_like_a_readme_or_a_license_are_neither(tmp_path: Path):
    files = {"readme_maker.py": '"""Makes them."""\n', "license.py": "def grant(): ...\n"}
    assert await readme_of(tmp_path, files) == (
        "# Python modules\n\n## What is in it\n\nModules:\n\n"
        "- `license`: `grant`\n- `readme_maker`: Makes them.\n\n"
        "## Usage\n\nIn Python:\n\n```python\nfrom license import grant\n```\n"
    )


async def test_a_namespace_package_keeps_its_whole_name(tmp_path: Path):
    files = {
        "pyproject.toml": '[project]\nname = "acme-tools"\ndynamic = ["version", "dependencies"]\n',
        "src/acme/tools/__init__.py": '"""Tools of Acme."""\n',
        "src/acme/tools/saw.py": '"""Saws, big and small. Sharp."""\n\ndef cut(x): ...\n',
    }
    assert await readme_of(tmp_path, files) == (
        "# acme-tools\n\nTools of Acme.\n\n## What is in it\n\nModules in `src/acme/tools`:\n\n"
        "- `acme.tools.saw`: Saws, big and small. With `cut`.\n\n"
        "## Installation\n\nFrom a copy of this directory:\n\n```sh\npython -m pip install .\n```\n\n"
        "## Usage\n\nIn Python:\n\n```python\nfrom acme.tools.saw import cut\n```\n"
    )


async def test_setup_py_is_read_and_never_run(tmp_path: Path):
    setup = """\
from setuptools import setup
NAME = "oldie"
open("ran", "w").close()
setup(name=NAME, description="an old one", python_requires=">=3.8", install_requires=["six"],
      entry_points={"console_scripts": ["oldie = oldie:main"]}, license="MIT")
"""
    test = "import unittest\n\nclass T(unittest.TestCase): ...\n"
    files = {
        "setup.py": setup,
        "oldie.py": "import argparse\n\ndef main(): ...\n",
        "tests/__init__.py": "",
        "tests/test_oldie.py": test,
        "Makefile": "test:\n\ttrue\n",
        "COPYING": "whatever\n",
    }
    assert await readme_of(tmp_path, files) == (
        "# oldie\n\nAn old one.\n\n## What is in it\n\n`oldie` offers:\n\n- `main()`\n\n"
        "## Installation\n\nFrom a copy of this directory:\n\n```sh\npython -m pip install .\n```\n\n"
        "It needs Python 3.8 or newer and `six`.\n\n"
        "## Usage\n\nOn the command line:\n\n```sh\noldie --help\n```\n\n"
        "In Python:\n\n```python\nfrom oldie import main\n```\n\n"
        "## Tests\n\nThe tests in `tests` run with unittest:\n\n```sh\npython -m pip install -e .\n"
        "python -m unittest discover -s tests -t .\n```\n\n`make test` works too.\n\n"
        "## License\n\nMIT. The text is in [COPYING](COPYING).\n"
    )
    assert not (tmp_path / "ran").exists()


async def test_names_are_followed_to_private_modules(tmp_path: Path):
    files = {
        "pkg/__init__.py": "from ._a import *\nfrom ._b import hide as _hide, Oops\n",
        "pkg/_a.py": 'from ._c import deep\n__all__ = ["deep"]\n',
        "pkg/_b.py": 'class Oops(ValueError):\n    """It broke."""\n\ndef hide(): ...\n',
        "pkg/_c.py": 'def deep(x, *, y=1):\n    """Go deep. Deeper."""\n',
    }
    assert await readme_of(tmp_path, files) == (
        "# pkg\n\n## What is in it\n\n`pkg` offers:\n\n- `deep(x, *, y=1)`: Go deep.\n- `Oops`: It broke.\n\n"
        "## Usage\n\nIn Python:\n\n```python\nfrom pkg import deep\n```\n"
    )


async def test_a_long_list_of_modules_is_cut_and_says_how_many_more(tmp_path: Path):
    files = {"many/__init__.py": ""} | {f"many/m{n:02}.py": f"def f{n}(): ...\n" for n in range(30)}
    readme = await readme_of(tmp_path, files)
    assert readme.count("- `many.m") == 12
    assert "- and 18 more\n" in readme


async def test_a_file_too_long_for_one_read_is_read_to_its_end(tmp_path: Path):
    lines = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(900))
    source = f'"""Long."""\n\n{lines}def last():\n    """The very last."""\n'
    readme = await readme_of(tmp_path, {"long.py": source})
    assert "- `last()`: The very last.\n- `f0()`\n" in readme
    assert "- and 889 more\n" in readme


async def test_of_a_module_that_was_not_read_to_its_end_no_number_is_given(tmp_path: Path):
    long = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(900))
    readme = await readme_of(tmp_path, {"pkg/__init__.py": "", "pkg/long.py": long})
    assert "- `pkg.long`: `f0`, `f1`, `f2`, `f3`, `f4` and more\n" in readme


async def test_an_example_that_needs_more_than_the_package_is_not_quoted(tmp_path: Path):
    doc = '"""Do it.\n\n    >>> work(other)\n    1\n\n    >>> work(2)\n    3\n    """'
    readme = await readme_of(tmp_path, {"job.py": f"def work(n):\n    {doc}\n"})
    assert "```pycon\n>>> from job import work\n>>> work(2)\n3\n```" in readme
    assert "other" not in readme


async def test_what_cannot_be_parsed_is_told_by_its_names(tmp_path: Path):
    source = '"""Old thing."""\nprint "x"\n\ndef f(a): pass\n\nclass C: pass\n'
    readme = await readme_of(tmp_path, {"old.py": source, "pyproject.toml": "[[["})
    assert readme.startswith("# old\n\nOld thing.\n\n## What is in it\n\n`old` offers:\n\n- `f`\n- `C`\n")


@pytest.mark.parametrize(
    ("doc", "summary"),
    [
        ("Reads it. Then more.", "Reads it."),
        ("Reads e.g. this, i.e. that. Then more.", "Reads e.g. this, i.e. that."),
        ("Title\n=====\n\nWhat it does\nin two lines.\n", "What it does in two lines."),
        ("Wrap :class:`~a.b.Thing` in ``x``.", "Wrap `Thing` in `x`."),
        ("See `the docs <https://example.org>`_ first.", "See the docs first."),
        ("Copyright (c) 2020 Somebody.\n\nDoes it.", "Does it."),
        (":param x: nothing\n", ""),
        ("mod.py - does it\n\nArgs:\n    x: y\n", "does it"),
        ("将汉字转换为拼音，返回列表。更多。", "将汉字转换为拼音，返回列表。"),
        ("Takes <b>markup</b>, not `<i>`.", "Takes \\<b>markup\\</b>, not `<i>`."),
        ("", ""),
    ],
)
def test_the_first_sentence_of_a_docstring(doc: str, summary: str):
    assert first_sentence(doc) == summary


@given(
    st.text()
    | st.lists(st.sampled_from(["`", "*", "<", ".", " ", "\n", "a", "::", ">>> x", "=="])).map("".join)
)
def test_a_summary_is_one_short_line_whatever_the_docstring(doc: str):
    summary = first_sentence(doc)
    assert "\n" not in summary
    assert len(summary) <= 600


@given(st.text())
def test_any_text_can_be_read_as_a_source_or_as_metadata(text: str):
    assert read_source(text) == read_source(text)
    names = ("pyproject.toml", "setup.cfg", "setup.py")
    assert read_metadata(dict.fromkeys(names, text)) == read_metadata(dict.fromkeys(names, text))


README = """\
# tidemark

Sums up log files: how many lines of each level, which messages keep coming, and when it was busy.

## What is in it

`tidemark` offers:

- `Entry`: One line of a log, taken apart.
- `Summary`: What a log comes to.
- `parse_line(line)`: Take one log line apart; a line of another kind gives `None`.
- `read_entries(lines)`: The entries among `lines`; what is no entry, such as a traceback, is left out.
- `render_table(rows, width=72)`: A table of names and counts with a bar for each row.
- `shape_of(message)`: The message with its changing parts replaced, so that repetitions can be counted.
- `summarise(entries, top=5)`: Count entries and keep the `top` most frequent messages.

Modules in `src/tidemark`:

- `tidemark.cli`: The command line: reads files or standard input and prints the summary.
- `tidemark.lines`: Reads log lines: time, level and message, in the formats that most programs write.
- `tidemark.shapes`: Finds messages that say the same thing with other numbers, names or addresses.
- `tidemark.summary`: Counts entries: by level, by shape of message and by hour.
- `tidemark.table`: Draws small text tables for a terminal.

## Installation

From a copy of this directory:

```sh
python -m pip install .
```

It needs Python 3.11 or newer and no other package.

## Usage

On the command line:

```sh
tidemark --help
python -m tidemark
```

In Python:

```pycon
>>> from tidemark import parse_line
>>> entry = parse_line("2026-03-01 12:00:07 WARN disk is almost full")
>>> entry.level, entry.message
('WARNING', 'disk is almost full')
```

## Tests

The tests in `tests` run with pytest:

```sh
python -m pip install -e .
python -m pip install --group test
python -m pytest
```

## License

MIT. The text is in [LICENSE](LICENSE).
"""
