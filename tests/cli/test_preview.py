"""What a call would do, as it is shown to the person who must judge it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onplan.cli.preview import preview
from onplan.messages import Call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["bash", "write_file", "edit_file", "read_file", "no tool"])
ARGUMENTS = JSON | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("command", "path", "content", "old", "new", "edits", "replace_all"), JSON)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES, ARGUMENTS)
def test_any_arguments_can_be_shown(tmp_path: Path, name: str, arguments: Any):
    assert isinstance(preview(Call("1", name, arguments), tmp_path), str)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (Call("1", "bash", {"command": "make\ntest"}), "make\ntest"),
        (Call("1", "bash", {"command": "make", "timeout": 3}), "make\ntimeout: 3"),
        (Call("1", "read_file", {"path": "a", "limit": 2}), "path: a\nlimit: 2"),
        (Call("1", "bash", "{broken"), "{broken"),
        (
            Call("1", "write_todos", {"todos": [{"content": "a\nb", "status": "in_progress"}]}),
            "[~] a\\nb",
        ),
        (Call("1", "todo", {"items": [{"id": "7", "text": "a"}]}), "[ ] #7: a"),
        (Call("1", "write_todos", {"todos": []}), "(clears the plan)"),
        (Call("1", "write_todos", {"todos": [{"content": 1}]}), 'todos: [{"content": 1}]'),
        (Call("1", "read_todos", {}), ""),
        (Call("1", "write_file", {"path": "new", "content": "a\n"}), "new\nnew file, 1 line\n+a"),
        (Call("1", "write_file", {"path": "../out", "content": "a"}), "../out\nnew file, 1 line\n+a"),
        (
            Call("1", "write_file", {"path": "old", "content": "one\n2\n"}),
            "old\nreplaces the file\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        (
            Call("1", "write_file", {"path": "old", "content": "one\ntwo\n"}),
            "old\nreplaces the file\n(no change)",
        ),
        (
            Call("1", "edit_file", {"path": "old", "old": "two", "new": "2", "replace_all": True}),
            "old\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
        ),
        (
            Call(
                "1",
                "edit_file",
                {"path": "old", "edits": [{"old": "one", "new": "1"}, {"old": "two", "new": ""}]},
            ),
            "old\n@@ -1,2 +1,2 @@\n-one\n-two\n+1\n+",
        ),
        (
            Call("1", "edit_file", {"path": "old", "old": "three", "new": "3", "replace_all": True}),
            "old\n(this would fail: old was not found in old. No line is like it: read the file again)\n"
            "-three\n+3\n(every occurrence)",
        ),
        (
            Call("1", "edit_file", {"path": "gone", "old": "a", "new": "b"}),
            "gone\n(the file cannot be read)\n-a\n+b",
        ),
        (Call("1", "edit_file", {"path": "old", "old": "a"}), "old\npath: old\nold: a"),
    ],
)
def test_the_preview_says_what_would_happen(tmp_path: Path, call: Call, shown: str):
    (tmp_path / "old").write_text("one\ntwo\n")
    assert preview(call, tmp_path) == shown


def test_a_change_can_be_shown_whole(tmp_path: Path):
    call = Call("1", "write_file", {"path": "new", "content": "x\n" * 100})
    assert len(preview(call, tmp_path, None).splitlines()) == 102


def test_a_long_change_is_cut_and_says_by_how_much(tmp_path: Path):
    lines = preview(Call("1", "write_file", {"path": "new", "content": "x\n" * 100}), tmp_path).splitlines()
    assert (len(lines), lines[-1]) == (33, "… 70 more lines")
