"""glob and grep, called as a model calls them, over real trees."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.messages import Call
from onplan.tools.search import search_tools
from onplan.tools.workspace import MAX_RESULT, Workspace
from onplan.toolset import Ctx, ToolOutput, Toolset


class Desk:
    """A workspace and its search tools."""

    def __init__(self, root: Path, **limits: Any) -> None:
        self.root = root
        workspace = Workspace(root)
        self._tools = Toolset(search_tools(**limits), {"workspace": lambda _: workspace})

    async def start(self, name: str, arguments: dict[str, Any]) -> ToolOutput:
        return await self._tools.call(Call("1", name, arguments), Ctx())

    def glob(self, pattern: str, **arguments: Any) -> str:
        return asyncio.run(self.start("glob", {"pattern": pattern, **arguments})).content

    def grep(self, pattern: str, **arguments: Any) -> str:
        return asyncio.run(self.start("grep", {"pattern": pattern, **arguments})).content

    def put(self, *paths: str, text: str = "needle\n") -> None:
        for path in paths:
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "ws").mkdir()
    return Desk(tmp_path / "ws")


def test_the_tools_as_the_model_sees_them():
    faces = {
        item.name: (item.description, len(json.dumps(schema)), item.read_only, item.parallel)
        for item, schema in zip(
            search_tools(), Toolset(search_tools(), {"workspace": str}).schemas(), strict=True
        )
    }
    assert faces == snapshot(
        {
            "glob": (
                """\
Find files by name, sorted by path. Ignored files (.gitignore), .git and dependency folders
such as node_modules are left out unless named.\
""",
                448,
                True,
                True,
            ),
            "grep": (
                """\
Search file contents by a regular expression, line by line. Answers path:line: text. Leaves out
what glob leaves out, and binary files.\
""",
                682,
                True,
                True,
            ),
        }
    )
    assert all(size <= 900 for _, size, _, _ in faces.values())


# --- glob -------------------------------------------------------------------------------------------


def test_files_are_found_by_pattern_and_sorted_by_path(desk: Desk):
    desk.put("b.py", "src/z.py", "src/a.py", "src/deep/er/c.py", "src/a.ts", "src-x/d.py")
    found = {
        pattern: desk.glob(pattern).splitlines()
        for pattern in ("**/*.py", "*.py", "src/*.py", "src/**", "s*/*.{ts,py}", "**/er/*", "{b,src/a}.*")
    }
    assert found == snapshot(
        {
            "**/*.py": ["b.py", "src/a.py", "src/deep/er/c.py", "src/z.py", "src-x/d.py"],
            "*.py": ["b.py"],
            "src/*.py": ["src/a.py", "src/z.py"],
            "src/**": ["src/a.py", "src/a.ts", "src/deep/er/c.py", "src/z.py"],
            "s*/*.{ts,py}": ["src/a.py", "src/a.ts", "src/z.py", "src-x/d.py"],
            "**/er/*": ["src/deep/er/c.py"],
            "{b,src/a}.*": ["b.py", "src/a.py", "src/a.ts"],
        }
    )


def test_a_star_alone_lists_a_directory_with_its_directories(desk: Desk):
    desk.put("a.py", "src/b.py", "src/deep/c.py")
    assert desk.glob("*").splitlines() == ["a.py", "src/"]
    assert desk.glob("*", path="src").splitlines() == ["src/b.py", "src/deep/"]
    assert desk.glob("src/*/").splitlines() == ["src/deep/"]
    assert desk.glob("src") == desk.glob("src/") == desk.glob("*", path="src")


def test_nothing_found_says_so_and_where_else_to_look(desk: Desk):
    desk.put("src/a.py")
    assert desk.glob("*.py") == snapshot(
        "No files match *.py in . (ignored files are not searched). For the directories below it: **/*.py"
    )
    assert desk.glob("src/*.ts") == snapshot(
        "No files match *.ts in src (ignored files are not searched). For the directories below it: **/*.ts"
    )


def test_ignored_files_are_left_out_without_a_repository_too(desk: Desk):
    desk.put(".gitignore", text="*.log\ndist/\n/only-here.py\n")
    desk.put("a.py", "a.log", "dist/b.py", "src/c.log", "src/only-here.py", "only-here.py", ".hidden/d.py")
    assert desk.glob("**/*.{py,log}").splitlines() == [".hidden/d.py", "a.py", "src/only-here.py"]
    assert desk.glob("*", path="src").splitlines() == ["src/only-here.py"]
    assert desk.glob("dist/*").splitlines() == ["dist/b.py"]
    assert desk.grep("needle").splitlines() == [
        ".hidden/d.py:1: needle",
        "a.py:1: needle",
        "src/only-here.py:1: needle",
    ]


def test_rules_above_the_workspace_count_only_inside_a_repository(desk: Desk):
    desk.put("a.py")
    (desk.root.parent / ".gitignore").write_text("*\n")
    assert desk.glob("**").splitlines() == ["a.py"]
    (desk.root.parent / ".git").mkdir()
    assert desk.glob("**").startswith("No files match")


def test_git_is_never_searched(desk: Desk):
    desk.put(".git/config", "a.py")
    assert desk.glob("**").splitlines() == ["a.py"]
    assert desk.glob(".git/*") == snapshot(
        "Error: .git: .git is not searched; ask git itself by a shell command"
    )
    assert desk.grep("needle", path=".git").startswith("Error: .git: .git is not searched")


def test_dependencies_and_caches_are_searched_only_when_named(desk: Desk):
    desk.put(".gitignore", text="node_modules/\n__pycache__\n")
    desk.put("a.js", "node_modules/x/b.js", "sub/node_modules/y/c.js", "__pycache__/d.js", ".venv/e.js")
    assert desk.glob("**/*.js").splitlines() == ["a.js"]
    assert desk.glob("**/node_modules/**/*.js").splitlines() == [
        "node_modules/x/b.js",
        "sub/node_modules/y/c.js",
    ]
    assert desk.glob("**/*.js", path="node_modules").splitlines() == ["node_modules/x/b.js"]
    assert desk.glob(".venv/*.js").splitlines() == [".venv/e.js"]
    assert desk.grep("needle", path="node_modules/x").splitlines() == ["node_modules/x/b.js:1: needle"]
    assert desk.grep("needle", include="*.js").splitlines() == ["a.js:1: needle"]


def test_an_absolute_pattern_is_walked_from_its_fixed_beginning(desk: Desk):
    desk.put("img/a.png", "img/deep/b.png", "c.png")
    assert desk.glob(f"{desk.root}/img/*.png", path="/").splitlines() == ["img/a.png"]
    assert desk.glob(f"{desk.root}-evil/*.png", path=".").startswith("Error: ")
    assert desk.glob("/*.png").startswith("Error: / is not a path inside the workspace")
    assert desk.glob("*.png", path="/").startswith("Error: ")
    assert desk.glob("../*").startswith("Error: ")


def test_a_long_list_is_cut_and_says_how_much_was_left_out(desk: Desk):
    desk.put(*(f"{number:04}.txt" for number in range(250)))
    lines = desk.glob("*.txt").splitlines()
    assert lines[0] == "0000.txt"
    assert lines[199:] == ["0199.txt", "(200 of 250 paths shown; narrow the pattern or the path)"]


def test_long_paths_do_not_pass_the_cap_of_a_result(desk: Desk):
    folder = "/".join(["d" * 200] * 4)
    desk.put(*(f"{folder}/{number:03}" for number in range(100)))
    shown = desk.glob("**")
    assert len(shown) <= MAX_RESULT
    assert re.search(r"\n\(\d\d of 100 paths shown; narrow the pattern or the path\)$", shown)


def test_a_search_ends_after_its_budget_of_entries_and_says_so(tmp_path: Path):
    desk = Desk(tmp_path, entries=10)
    desk.put(*(f"{number:02}" for number in range(10)))
    assert len(desk.glob("*").splitlines()) == 10
    desk.put("99")
    assert desk.glob("*").splitlines()[9:] == snapshot(
        ["09", "(stopped after 10 entries: there may be more; narrow the path or the pattern)"]
    )


NAME = st.text(st.sampled_from("abé.-[]!"), min_size=1, max_size=4).filter(
    lambda name: name not in (".", "..")
)
PATTERN = st.text(st.sampled_from("aaé.-**?[]!"), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(names=st.sets(NAME, min_size=1, max_size=4), pattern=PATTERN)
@example(names={"[.", "é1"}, pattern="??")
@example(names={"a."}, pattern="a*")
def test_a_pattern_without_slashes_means_what_fnmatch_says(
    tmp_path_factory: pytest.TempPathFactory, names: set[str], pattern: str
):
    desk = Desk(tmp_path_factory.mktemp("ws"))
    desk.put(*(f"d/{name}" for name in names))
    wanted = sorted(f"d/{name}" for name in names if fnmatchcase(name, pattern))
    answer = desk.glob(pattern, path="d")
    if pattern in (".", ".."):
        return
    assert answer.splitlines() == wanted if wanted else answer.startswith("No files match")


# --- grep -------------------------------------------------------------------------------------------


def test_matches_are_shown_with_path_and_line(desk: Desk):
    desk.put("a.py", text="x\nneedle = 1\r\n\tNeedle\n")
    desk.put("src/b.py", text="needle")
    assert desk.grep("needle") == "a.py:2: needle = 1\nsrc/b.py:1: needle"
    assert desk.grep("needle", ignore_case=True, path="a.py") == "a.py:2: needle = 1\na.py:3: \tNeedle"
    assert desk.grep("needle = 1$") == "a.py:2: needle = 1"


def test_include_narrows_by_name_or_by_path(desk: Desk):
    desk.put("a.py", "a.ts", "src/b.py", "src/deep/c.py")
    found = {
        include: desk.grep("needle", include=include).replace(":1: needle", "").splitlines()
        for include in ("*.py", "src/*.py", "**/deep/**", "*.{ts,js}", "[a].ts")
    }
    assert found == snapshot(
        {
            "*.py": ["a.py", "src/b.py", "src/deep/c.py"],
            "src/*.py": ["src/b.py"],
            "**/deep/**": ["src/deep/c.py"],
            "*.{ts,js}": ["a.ts"],
            "[a].ts": ["a.ts"],
        }
    )
    assert desk.grep("needle", path="a.py", include="*.py") == "a.py:1: needle"


def test_no_match_says_where_was_looked(desk: Desk):
    desk.put("a.py")
    assert desk.grep("nothing", include="*.py") == snapshot(
        "No matches for nothing in ., files *.py (ignored and binary files are not searched)."
    )


def test_more_matches_than_the_limit_are_counted(desk: Desk):
    desk.put("a", text="needle\n" * 300)
    assert desk.grep("needle", limit=2) == snapshot("""\
a:1: needle
a:2: needle
(2 of 300 matches shown; narrow the pattern or the path)\
""")
    desk.put("a", text="needle\n" * 5_000)
    assert desk.grep("needle", limit=1).splitlines()[1:] == snapshot(
        ["(1 of 1,001+ matches shown; narrow the pattern or the path)"]
    )
    assert desk.grep("needle", limit=0) == snapshot("Error: limit must be at least 1; got 0")


def test_a_giant_line_is_cut(desk: Desk):
    desk.put("a", text="needle" + "é" * 1_000_000)
    assert desk.grep("needle") == f"a:1: needle{'é' * 294}…"


def test_a_result_stays_under_the_cap(desk: Desk):
    desk.put("a", text=("needle" + "x" * 290 + "\n") * 900)
    shown = desk.grep("needle", limit=1_000)
    assert len(shown) <= MAX_RESULT
    assert shown.splitlines()[-1].startswith("(")


@pytest.mark.parametrize("pattern", ["foo(", r"(?=a)b", r"a\nb", "[", "a{99999999}", ""])
def test_a_pattern_that_cannot_be_used_is_answered_in_one_line_with_a_hint(desk: Desk, pattern: str):
    desk.put("a")
    answer = desk.grep(pattern)
    assert re.fullmatch(r"Error: (invalid pattern: .+; .+|pattern is empty)", answer)


def test_the_reason_of_a_refused_pattern_is_named(desk: Desk):
    assert desk.grep("foo(") == snapshot(
        "Error: invalid pattern: unclosed group; "
        "to search for ( [ { . * + ? as they are, escape them with a backslash"
    )
    assert desk.grep("a\0") == "Error: pattern holds a NUL or a lone surrogate, which no search can find"
    assert desk.glob("{a,b}" * 10).startswith("Error: the braces of the pattern stand for more than 64")


def test_a_pattern_that_looks_like_an_option_is_a_pattern(desk: Desk):
    desk.put("a", text="--files\n")
    desk.put("-v", text="x\n")
    assert desk.grep("--files") == "a:1: --files"
    assert desk.grep("x", path="-v") == "-v:1: x"


def test_binary_and_oversized_files_are_left_out_and_refused_by_name(desk: Desk):
    desk.put("a.txt")
    (desk.root / "bin").write_bytes(b"needle\n\0")
    with (desk.root / "big.txt").open("wb") as file:
        file.write(b"needle\n" * 1_500_000)
    assert desk.grep("needle") == "a.txt:1: needle"
    assert desk.grep("needle", path="bin") == "Error: bin is a binary file"
    assert desk.grep("needle", path="big.txt") == snapshot(
        "Error: big.txt is too large (10,500,000 bytes; at most 10,000,000): use the shell (grep)"
    )
    assert desk.grep("needle", path="gone").startswith("Error: cannot search gone: No such file")


# --- hostile trees ----------------------------------------------------------------------------------


def test_links_are_not_followed_and_nothing_leaks_from_outside(desk: Desk):
    evil = desk.root.parent / "ws-evil"
    evil.mkdir()
    (evil / "s").write_text("needle\n")
    desk.put("a/f")
    (desk.root / "link").symlink_to(evil)
    (desk.root / "l.txt").symlink_to(evil / "s")
    (desk.root / "a/up").symlink_to("..")
    assert desk.glob("**").splitlines() == ["a/f"]
    assert desk.grep("needle") == "a/f:1: needle"
    for path in ("link", "l.txt", "../ws-evil"):
        assert "is not a path inside the workspace" in desk.grep("needle", path=path)
        assert "is not a path inside the workspace" in desk.glob("*", path=path)
    assert desk.grep("needle", path="a/up/a") == "a/f:1: needle"


def test_a_root_that_is_reached_through_a_link_is_searched(desk: Desk):
    desk.put("a/f")
    link = desk.root.parent / "wslink"
    link.symlink_to(desk.root)
    through = Desk(link)
    assert through.grep("needle", path=f"{link}/a") == "a/f:1: needle"
    assert through.glob(f"{link}/a/*") == "a/f"


def test_a_fifo_a_sparse_giant_and_masses_of_dependencies_do_not_hold_a_search_up(desk: Desk):
    desk.put("src/a.py", "src/b.py")
    os.mkfifo(desk.root / "pipe")
    with (desk.root / "sparse").open("wb") as file:
        file.truncate(2**31)
    for folder in range(20):
        place = desk.root / f"node_modules/{folder}"
        place.mkdir(parents=True)
        for number in range(1_000):
            os.mknod(place / f"{number}.py")
    begun = time.monotonic()
    assert desk.glob("**/*.py").splitlines() == ["src/a.py", "src/b.py"]
    assert desk.grep("needle").splitlines() == ["src/a.py:1: needle", "src/b.py:1: needle"]
    assert desk.glob("**").splitlines() == ["sparse", "src/a.py", "src/b.py"]
    assert "of 20,000 paths shown" in desk.glob("node_modules/**")
    assert desk.grep("needle", path="pipe") == "Error: pipe is not a regular file"
    assert time.monotonic() - begun < 30


def test_a_name_that_is_no_text_or_holds_controls_is_shown_harmless(desk: Desk):
    for name in (b"a\x1b[2J", b"b\nc", b"d\xff"):
        with open(os.path.join(os.fsencode(desk.root), name), "w") as file:
            file.write("x")
    assert desk.glob("*").splitlines() == ["a\ufffd[2J", "b\ufffdc", "d\ufffd"]


def _endless_tree(desk: Desk) -> None:
    """A tree in which ripgrep finds `a/f` and then waits for ever: for somebody to write to a FIFO."""
    desk.put("a/f")
    (desk.root / "b").mkdir()
    os.mkfifo(desk.root / "b/.gitignore")


def _searches_running() -> list[int]:
    return [
        int(process.name)
        for process in Path("/proc").glob("[0-9]*")
        if (process / "comm").exists()
        and (process / "comm").read_text().strip() == "rg"
        and int((process / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid()
    ]


async def test_a_search_that_takes_too_long_answers_with_what_it_has(tmp_path: Path):
    desk = Desk(tmp_path, seconds=3)
    _endless_tree(desk)
    answers = await asyncio.gather(
        desk.start("grep", {"pattern": "needle"}),
        desk.start("glob", {"pattern": "**/f"}),
        desk.start("grep", {"pattern": "nothing"}),
    )
    stopped = "(stopped after 3 s: there may be more; narrow the path or the pattern)"
    assert [answer.content for answer in answers] == [
        f"a/f:1: needle\n{stopped}",
        f"a/f\n{stopped}",
        stopped,
    ]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
async def test_a_cancelled_search_is_over_at_once_and_leaves_no_process(tmp_path: Path):
    desk = Desk(tmp_path, seconds=300)
    _endless_tree(desk)
    search = asyncio.create_task(desk.start("grep", {"pattern": "needle"}))
    while not _searches_running():
        await asyncio.sleep(0.01)
    begun = time.monotonic()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert _searches_running() == []
    assert time.monotonic() - begun < 10
