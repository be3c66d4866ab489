"""Code in colours: of a reply and of what is asked about, with every character as it was."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.cli.preview import painter, preview
from onplan.cli.view.code import Highlighter
from onplan.cli.view.markdown import Markdown, MarkdownStream
from onplan.cli.view.screen import Line, Prose, Screen, Span
from onplan.messages import Call

REPLY = """\
So:

```python
def size(path):  # in bytes
    return 0 if path is None else f"{path.stat()}"
```

```nosuchlanguage
def x
```
"""


def spans_of(lines: list[Line]) -> list[tuple[str, str]]:
    found = [span for line in lines for span in (line.spans if isinstance(line, Prose) else line)]
    return [(span.text, span.style) for span in found if isinstance(span, Span) and span.style != "plain"]


def test_code_of_a_reply_has_the_colours_of_its_language():
    assert spans_of(Markdown(80, Highlighter()).lines(REPLY)) == snapshot(
        [
            ("def", "magenta"),
            ("size", "bold"),
            ("# in bytes", "dim"),
            ("return", "magenta"),
            ("0", "cyan"),
            ("if", "magenta"),
            ("is", "magenta"),
            ("None", "cyan"),
            ("else", "magenta"),
            ("f", "magenta"),
            ('"', "green"),
            ("{", "cyan"),
            ("}", "cyan"),
            ('"', "green"),
            ("def x", "cyan"),
        ]
    )


def test_code_has_one_colour_without_a_highlighter():
    assert {style for _, style in spans_of(Markdown(80).lines(REPLY))} == {"cyan"}


def test_code_that_is_being_written_has_the_colours_that_it_will_have():
    stream = MarkdownStream(80, Highlighter())
    begun = REPLY.partition("else")[0]
    stream.feed("So:\n\n" + "".join(f"{n}\n" for n in range(3)) + "\n", 80)
    stream.feed(begun.partition("\n\n")[2] + "\n", 80)
    assert ("def", "magenta") in spans_of(stream.pending())
    stream.feed("    x = None  # more\n" * 200, 80)
    assert spans_of(stream.pending())[-2:] == [("None", "cyan"), ("# more", "dim")]


@given(
    st.text(), st.sampled_from(["python", "js", "bash", "html", "json", "console", "Diff", "yaml", "x", ""])
)
def test_no_character_of_a_code_is_changed(code: str, language: str):
    lines = Highlighter().lines(code, language)
    assert lines is None or "\n".join("".join(span.text for span in line) for line in lines) == code


@pytest.mark.parametrize(
    "code",
    [
        'key = "ghp_' + "a1" * 20 + '"',
        "password=" + "a1" * 10,
        "x = 1\x1b[2J",
        "x = 1\u202e",
        "x" * 3_000,
        "x = 1\n" * 6_000,
    ],
)
def test_what_a_screen_hides_or_is_too_long_has_no_colours(code: str):
    assert Highlighter().lines(code, "python") is None


def shown(call: Call, root: Path, *, colour: bool) -> str:
    stream = io.StringIO()
    screen = Screen(stream, measure=lambda: 24, colour=colour)
    screen.judged(preview(call, root), paint=painter(call, Highlighter() if colour else None))
    return stream.getvalue()


def test_a_new_file_and_a_command_are_judged_in_the_colours_of_their_language(tmp_path: Path):
    new = Call("1", "write_file", {"path": "a.py", "content": "x = None\n# a comment that is long"})
    assert shown(new, tmp_path, colour=True) == snapshot(
        """\
  \x1b[2m│\x1b[0m a.py
  \x1b[2m│\x1b[0m new file, 2 lines
  \x1b[2m│\x1b[0m \x1b[32m+\x1b[0mx = \x1b[36mNone\x1b[0m
  \x1b[2m│\x1b[0m \x1b[32m+\x1b[0m# a comment that is
  \x1b[2m┆\x1b[0m  long
"""
    )
    command = Call("2", "bash", {"command": "for x in 'a b'; do ls; done"})
    assert shown(command, tmp_path, colour=True) == snapshot(
        """\
  \x1b[2m│\x1b[0m \x1b[35mfor\x1b[0m x \x1b[35min\x1b[0m \x1b[32m'a b'\x1b[0m; \x1b[35mdo\x1b[0m l
  \x1b[2m┆\x1b[0m s; \x1b[35mdone\x1b[0m
"""
    )


def test_a_change_has_the_colours_of_what_comes_and_goes(tmp_path: Path):
    (tmp_path / "a.py").write_text("x = None\n")
    change = Call("1", "edit_file", {"path": "a.py", "old": "None", "new": "1"})
    assert shown(change, tmp_path, colour=True) == snapshot(
        """\
  \x1b[2m│\x1b[0m a.py
  \x1b[2m│\x1b[0m \x1b[36m@@ -1 +1 @@\x1b[0m
  \x1b[2m│\x1b[0m \x1b[31m-x = None\x1b[0m
  \x1b[2m│\x1b[0m \x1b[32m+x = 1\x1b[0m
"""
    )


@given(st.text(max_size=60))
def test_colours_change_no_character_of_what_is_judged(content: str):
    call = Call("1", "write_file", {"path": "a.py", "content": content})
    coloured, plain = (shown(call, Path("/nonexistent"), colour=colour) for colour in (True, False))
    for code in ("0", "1", "2", "31", "32", "35", "36"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == plain


def test_what_colours_code_is_loaded_with_the_first_code_only():
    program = (
        "import sys\n"
        "from onplan.cli.view.code import Highlighter\n"
        "from onplan.cli.view.markdown import Markdown\n"
        "markdown = Markdown(80, Highlighter())\n"
        "markdown.lines('# words\\n\\n`code`')\n"
        "print(sorted({'rich', 'pygments'} & set(sys.modules)))\n"
        "markdown.lines('```python\\nx = 1\\n```')\n"
        "print(sorted({'rich', 'pygments'} & set(sys.modules)))\n"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n['pygments', 'rich']\n"
