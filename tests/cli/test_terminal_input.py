"""The drawn prompt's input: lines, history, completion, pasted text, the editor; and how it is drawn."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import call, onplan, todos
from drawn import CTRL_C, CTRL_D, CTRL_G, CTRL_O, CTRL_T, ENTER, ESC, Drawn

Script = Callable[..., str]
Sit = Callable[..., Drawn]
UP, TAB, BACKSPACE = "\x1b[A", "\t", "\x7f"


def records() -> list[dict[str, Any]]:
    told = json.loads(onplan("show", "latest", "--json").stdout)
    return [item["record"] for item in told["records"]]


def said() -> list[str]:
    return [item["text"] for item in records() if item["type"] == "user"]


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets an editor that does what a line of Python says to `text`."""

    def make(change: str) -> None:
        program = tmp_path / "editor.py"
        program.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text()\n"
            f"{change}\n"
            "path.write_text(text)\n"
        )
        monkeypatch.setenv("EDITOR", f"python3 {program}")

    return make


# --- what is typed ----------------------------------------------------------------------------------


def test_alt_enter_and_a_backslash_begin_a_new_line(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script("Fine."))
    someone.sees_prompt()
    someone.types("one")
    someone.types(f"{ESC}{ENTER}")
    someone.types(f"two\\{ENTER}")
    someone.types(f"three{ENTER}")
    someone.sees("Fine.")
    assert said() == ["one\ntwo\nthree"]
    at = someone.rows.index("› one")
    assert someone.rows[at : at + 3] == ["› one", "  two", "  three"]


def test_history_is_kept_for_each_directory(work: Path, drawn: Sit, script: Script, tmp_path: Path):
    model = script("Fine.", "Fine.", "Fine.")
    someone = drawn("--model", model)
    someone.sees_prompt()
    for line in ("first", "second", " not kept"):
        someone.types(f"{line}{ENTER}")
        someone.waits(lambda line=line: f"› {line.strip()}" in someone.rows, "not sent")
        someone.sees_prompt()
    someone.types(CTRL_D)
    assert someone.leaves() == 0
    again = drawn("--model", model)
    again.sees_prompt()
    again.types(UP)
    again.waits(lambda: again.input == "› second", "no history")
    again.types(UP)
    again.waits(lambda: again.input == "› first", "no history")
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = drawn("--model", model, "--cwd", str(other))
    elsewhere.sees_prompt()
    elsewhere.types(UP)
    elsewhere.settles()
    assert elsewhere.input == "›"


def test_a_long_pasted_text_is_folded_and_sent_whole(work: Path, drawn: Sit, script: Script):
    pasted = "\n".join(f"line {n}" for n in range(40))
    someone = drawn("--model", script("Fine.", "Fine."))
    someone.sees_prompt()
    someone.types("read: ")
    someone.pastes(pasted)
    someone.sees("› read: [pasted text 1: 40 lines]")
    someone.types(ENTER)
    someone.sees("Fine.")
    someone.sees_prompt()
    assert said() == [f"read: {pasted}"]
    someone.pastes(pasted)
    someone.sees("› [pasted text 2: 40 lines]")
    someone.types(BACKSPACE)
    someone.waits(lambda: someone.input == "›", "the mark is not gone")
    someone.pastes("two\nlines")
    someone.sees("  lines")
    someone.types(ENTER)
    someone.waits(lambda: len(said()) == 2, "not sent")
    assert said()[1] == "two\nlines"


def test_ctrl_g_edits_the_message_in_the_editor(
    work: Path, drawn: Sit, script: Script, editor: Callable[[str], None]
):
    editor("text = text.upper() + '\\nand more\\n'")
    someone = drawn("--model", script("Fine."))
    someone.sees_prompt()
    someone.types(f"shout{CTRL_G}")
    someone.sees("› SHOUT")
    someone.types(ENTER)
    someone.sees("Fine.")
    assert said() == ["SHOUT\nand more"]


def test_an_editor_that_is_not_there_is_told_and_the_text_stays(
    work: Path, drawn: Sit, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("EDITOR", "no-such-editor")
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types(f"keep me{CTRL_G}")
    someone.sees("the editor no-such-editor cannot be started")
    someone.waits(lambda: someone.input == "› keep me", "the text is lost")


# --- completion -------------------------------------------------------------------------------------


def test_commands_are_completed_with_their_help(work: Path, drawn: Sit):
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types("/un")
    someone.sees("/undo  take the plan's last change back")
    someone.types(f"{TAB}{ENTER}")
    someone.sees("nothing to undo")


def test_files_are_completed_as_git_knows_them(work: Path, drawn: Sit):
    subprocess.run(["git", "init", "-q"], check=True)
    (work / "src").mkdir()
    for name in ("src/server.py", "src/ignored_server.py", "service.md"):
        (work / name).write_text("x")
    (work / ".gitignore").write_text("ignored*\n")
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types("look at @serv")
    someone.sees("src/server.py")
    someone.sees("service.md")
    assert "new" in next(row for row in someone.rows if "service.md" in row)
    assert "ignored_server" not in someone.text
    someone.types("er")
    someone.loses("service.md")
    someone.types(TAB)
    someone.waits(lambda: someone.input == "› look at @src/server.py", "not completed")


def test_files_are_completed_without_git(work: Path, drawn: Sit):
    (work / "deep").mkdir()
    (work / "deep" / "notes.txt").write_text("x")
    (work / ".hidden.txt").write_text("x")
    someone = drawn("--model", "demo")
    someone.sees_prompt()
    someone.types("@txt")
    someone.sees("deep/notes.txt")
    assert ".hidden" not in someone.text


# --- the plan ---------------------------------------------------------------------------------------


def test_the_plan_is_edited_as_a_checklist_undone_and_redone_and_the_model_is_told_once(
    work: Path, drawn: Sit, script: Script, editor: Callable[[str], None]
):
    editor("text = text.replace('- [ ] paint', '- [x] paint') + '- [ ] sell it\\n'")
    model = script(todos("[~] build", "[ ] paint"), "Hm.", "Hm.", "I see.", "Fine.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("Hm.")
    someone.sees_prompt()
    someone.types(f"/plan edit{ENTER}")
    someone.sees("sell it")
    someone.types(f"/undo{ENTER}")
    someone.sees("r3 by you")
    someone.types(f"/redo{ENTER}")
    someone.sees("r4 by you")
    someone.types(f"and?{ENTER}")
    someone.sees("I see.")
    someone.sees_prompt()
    notes = [item["text"] for item in records() if item["type"] == "note"]
    assert [text.split("\n")[1] for text in notes if "The person changed the plan" in text] == [
        'Added: "sell it".'
    ]
    assert "2 open" in someone.status


def test_ctrl_t_shows_the_whole_plan_until_it_is_pressed_again(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(todos("[x] one", "[~] two", "[ ] three"), "Hm.", "Hm."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("Hm.")
    someone.sees_prompt()
    before = len(someone.rows)
    someone.types(CTRL_T)
    someone.waits(lambda: "   [ ] three" in someone.rows[before - 3 :], "no plan")
    someone.types(CTRL_T)
    someone.waits(lambda: len(someone.rows) == before, "the plan stays")


def test_ctrl_o_unfolds_the_last_result(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="seq 101 140"), "Done."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("Done.")
    someone.sees_prompt()
    assert "117" not in someone.text
    someone.types(CTRL_O)
    someone.sees("117")


def test_todos_clear_empties_the_plan(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(todos("[~] one"), "Hm.", "Hm."), "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("Hm.")
    someone.sees_prompt()
    someone.types(f"/todos{ENTER}")
    someone.sees("  [~] one")
    someone.types(f"/todos clear{ENTER}")
    someone.sees("dropped: one")
    someone.types(f"/todos clear{ENTER}")
    someone.sees("there is no plan to clear")


# --- how it is drawn --------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_no_row_is_wider_than_the_window_and_nothing_wraps(
    work: Path, drawn: Sit, script: Script, columns: int
):
    wide = "修复登录错误并添加测试用例然后更新文档与发布说明 🧪🧪🧪 " + "a" * 200
    model = script(todos(f"[~] {wide}"), call("bash", command=f"echo {wide}"), f"{wide}", "Hm.")
    someone = drawn("--model", model, "--auto", columns=columns)
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("todos open;")
    someone.sees_prompt()
    someone.types("修复登录错误并添加测试用例然后更新文档与发布说明" * 2)
    someone.settles()
    assert someone.input.startswith("  ") or columns == 120
    someone.types(CTRL_C)
    someone.sees("Ctrl-C again leaves")
    someone.sees_prompt()
    someone.settles()
    assert sum("1 open" in row for row in someone.rows) == 1


def test_after_a_resize_there_is_one_prompt_and_one_status_line(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script("Fine.", "Good."), columns=100)
    someone.sees_prompt()
    session = someone.status.rpartition(" ")[2]
    someone.types(f"go{ENTER}")
    someone.sees("Fine.")
    someone.sees_prompt()
    for columns, rows in ((40, 24), (60, 12), (120, 40), (20, 10), (80, 24)):
        someone.resizes(columns, rows)
        someone.settles()
        assert someone.input == "›"
        assert sum(row.startswith("›") for row in someone.rows) <= 2  # what was said, and the input
    assert [row for row in someone.rows if session in row] == [someone.status]
    someone.types(f"still there?{ENTER}")
    someone.sees("Good.")


def test_a_window_of_few_rows_still_takes_a_message(work: Path, drawn: Sit, script: Script):
    someone = drawn("--model", script(call("bash", command="echo hi"), "Fine."), columns=30, rows=6)
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("/n ›")
    someone.types("y")
    someone.sees("Fine.")


def test_no_colour_is_sent_where_none_is_wanted(work: Path, drawn: Sit, script: Script):
    plain = drawn("--model", script(todos("[~] one"), "Hm.", "Hm."), "--auto", NO_COLOR="1")
    plain.sees_prompt()
    plain.types(f"go{ENTER}")
    plain.sees("Hm.")
    plain.sees_prompt()
    assert b"\x1b[3" not in plain.raw
    assert b";3" not in plain.raw
    assert plain.colours_of("1 open") == {"default"}


def test_colours_are_the_terminals_own_sixteen(work: Path, drawn: Sit, script: Script):
    coloured = drawn("--model", script(todos("[~] one"), "Hm.", "Hm."), "--auto")
    coloured.sees_prompt()
    coloured.types(f"go{ENTER}")
    coloured.sees("Hm.")
    coloured.sees_prompt()
    assert coloured.colours_of("1 open") == {"cyan"}
    assert b"38;" not in coloured.raw
    assert b"48;" not in coloured.raw


def test_control_characters_of_a_model_never_reach_the_terminal(work: Path, drawn: Sit, script: Script):
    evil = "ok\x1b]52;c;cm0gLXJmIC8=\x07 a\x1b[2J\x9b31mred abc\u202etxt.exe"
    model = script(todos(f"[~] {evil}"), call("bash", command=f"echo '{evil}'"), evil, "Hm.")
    someone = drawn("--model", model)
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("run write_todos?")
    someone.types("a")
    someone.sees("run bash?")
    assert "\\x1b[2J" in someone.text
    someone.types("n")
    someone.sees("Why not")
    someone.types(ENTER)
    someone.sees_prompt()
    assert b"\x1b]" not in someone.raw
    assert b"\x1b[2J" not in someone.raw
    assert "\u202e".encode() not in someone.raw
    assert "\x9b".encode() not in someone.raw


def test_the_conversation_is_exported_once(work: Path, drawn: Sit, script: Script):
    model = script(todos("[x] one"), call("bash", command="echo made"), "All done.")
    someone = drawn("--model", model, "--auto")
    someone.sees_prompt()
    someone.types(f"go{ENTER}")
    someone.sees("All done.")
    someone.sees_prompt()
    someone.types(f"/export talk.md{ENTER}")
    someone.sees("written to")
    text = (work / "talk.md").read_text()
    assert "All done." in text
    assert "one" in text
    someone.types(f"/export talk.md{ENTER}")
    someone.sees("is there already")
    assert (work / "talk.md").read_text() == text
    someone.types(f"/export talk.doc{ENTER}")
    someone.sees("says no format")
    assert not (work / "talk.doc").exists()
