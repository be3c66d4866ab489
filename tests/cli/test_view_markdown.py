"""Markdown of replies on a terminal: what is shown, block by block, at any width, with nothing lost."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.cli.view.markdown import Markdown, MarkdownStream
from onplan.cli.view.screen import Line, Screen
from onplan.plan.text import cells

REPLY = """\
# What changed

The parser now takes **both** forms, see [the notes](https://example.com/notes), and
`parse()` says *why* it refuses.
It keeps its name.

1. read `parser.py`
1. write the tests
   - for lists
   - for strings
1. run them

   all of them

| file | tests | 说明 |
|------|------:|---|
| `parser.py` | 12 | 修复登录错误 |
| x | 1 | a \\| b |

> Kept as it was:
> the old form.

```diff
@@ -1 +1 @@
-\told
+\tnew
```

```python
if x:
\treturn "a line that is longer than forty cells"
```

---
- [ ] one ~~gone~~
- [x] two\x20\x20
  second line

[1]: https://example.com
<b>html</b> &amp; \\*plain\\*
"""


def drawn(lines: list[Line], width: int, *, colour: bool = False) -> str:
    return "\n".join(Screen(io.StringIO(), measure=lambda: width, colour=colour).rows(lines))


def streamed(text: str, width: int, size: int) -> list[Line]:
    stream = MarkdownStream(width)
    lines: list[Line] = []
    for start in range(0, len(text), size):
        lines += stream.feed(text[start : start + size], width)
        stream.pending()
    return lines + stream.end()


def test_a_reply_at_forty_cells():
    assert drawn(Markdown(40).lines(REPLY), 40) == snapshot("""\
What changed

The parser now takes both forms, see the
notes (https://example.com/notes), and
parse() says why it refuses.
It keeps its name.

1. read parser.py
2. write the tests
   • for lists
   • for strings
3. run them
   all of them

file       tests  说明
─────────  ─────  ────────────
parser.py  12     修复登录错误
x          1      a | b

▎ Kept as it was:
▎ the old form.

    @@ -1 +1 @@
    -   old
    +   new

    if x:
        return "a line that is longer
    than forty cells"

────────────────────────

• [ ] one gone
• [x] two
  second line

[1]: https://example.com
<b>html</b> & *plain*\
""")


def test_a_reply_at_eighty_cells():
    assert drawn(Markdown(80).lines(REPLY), 80) == snapshot("""\
What changed

The parser now takes both forms, see the notes (https://example.com/notes), and
parse() says why it refuses.
It keeps its name.

1. read parser.py
2. write the tests
   • for lists
   • for strings
3. run them
   all of them

file       tests  说明
─────────  ─────  ────────────
parser.py  12     修复登录错误
x          1      a | b

▎ Kept as it was:
▎ the old form.

    @@ -1 +1 @@
    -   old
    +   new

    if x:
        return "a line that is longer than forty cells"

────────────────────────

• [ ] one gone
• [x] two
  second line

[1]: https://example.com
<b>html</b> & *plain*\
""")


def test_a_reply_at_a_hundred_and_twenty_cells():
    assert drawn(Markdown(120).lines(REPLY), 120) == snapshot("""\
What changed

The parser now takes both forms, see the notes (https://example.com/notes), and
parse() says why it refuses.
It keeps its name.

1. read parser.py
2. write the tests
   • for lists
   • for strings
3. run them
   all of them

file       tests  说明
─────────  ─────  ────────────
parser.py  12     修复登录错误
x          1      a | b

▎ Kept as it was:
▎ the old form.

    @@ -1 +1 @@
    -   old
    +   new

    if x:
        return "a line that is longer than forty cells"

────────────────────────

• [ ] one gone
• [x] two
  second line

[1]: https://example.com
<b>html</b> & *plain*\
""")


def test_colours_mark_what_is_marked():
    text = "## a **b** `c`\n\n*d* ~~e~~\n\n```diff\n-f\n+g\n@@ h\n```\n"
    assert drawn(Markdown(80).lines(text), 80, colour=True) == snapshot("""\
\x1b[1ma b \x1b[0m\x1b[36mc\x1b[0m

\x1b[3md\x1b[0m \x1b[2me\x1b[0m

    \x1b[31m-f\x1b[0m
    \x1b[32m+g\x1b[0m
    \x1b[36m@@ h\x1b[0m\
""")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 1000])
def test_a_reply_that_streams_in_is_shown_as_the_whole_of_it(size: int):
    assert drawn(streamed(REPLY, 60, size), 60) == drawn(Markdown(60).lines(REPLY), 60)


def test_a_block_comes_out_once_nothing_can_change_it():
    stream = MarkdownStream(40)
    steps = [
        "One",
        " line\n",
        "and on\n",
        "\n",
        "1. a\n",
        "2. b\n",
        "3. c\n\n",
        "```\n",
        "x\n\ny\n",
        "```\n",
        "|a|\n",
        "|-|\n",
    ]
    assert [drawn(stream.feed(step, 40), 40) for step in steps] == snapshot(
        [
            "",
            "",
            "",
            """\
One line
and on\
""",
            "",
            """\

1. a\
""",
            "2. b",
            "3. c",
            "",
            "",
            "",
            "",
        ]
    )
    assert drawn(stream.pending(), 40) == snapshot("""\
    x

    y

a
─\
""")
    assert drawn(stream.end(), 40) == snapshot("""\

    x

    y

a
─\
""")
    assert (stream.is_begun, stream.end()) == (False, [])


def test_numbers_go_on_where_a_list_came_out_in_parts():
    text = "1. a\n1. b\n1. c\n1. d\n\nand\n\n1. e\n"
    assert drawn(streamed(text, 40, 1), 40).split("\n") == [
        "1. a",
        "2. b",
        "3. c",
        "4. d",
        "",
        "and",
        "",
        "1. e",
    ]


@pytest.mark.parametrize(
    "line", ["{n}\n", "word {n}\n", "word {n} ", "| {n} | a |\n", "> {n}\n", "- {n}\n"], ids=repr
)
@pytest.mark.parametrize("begun", ["", "```\n", "| a | b |\n|---|---|\n"], ids=repr)
def test_a_long_block_shows_its_end_while_it_is_written_and_comes_out_whole(begun: str, line: str):
    stream = MarkdownStream(400)
    lines = stream.feed(begun, 400)
    for n in range(400):
        lines += stream.feed(line.format(n=n), 400)
    pending = drawn(stream.pending(), 400)
    assert "399" in pending
    assert len(pending) < 10_000
    whole = drawn(lines + stream.end(), 400)
    assert sorted(map(int, re.findall(r"\d+", whole))) == list(range(400))


PIECES = st.sampled_from(
    [
        *(
            "word ",
            "# head",
            "- ",
            "1. ",
            "  ",
            "\n",
            "\n\n",
            "\n```\n",
            "\n~~~\n",
            "`",
            "**",
            "*",
            "> ",
            "| a | b |\n|--|--|\n",
        ),
        *(
            "---\n",
            "[x](y)",
            "[x]: y\n",
            "<b>",
            "&lt;",
            "\\",
            "\t",
            "\r",
            "修复",
            "\x1b[2J",
            "\u202e",
            "![i](s)",
            "\x00",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=25).map("".join)


@given(TEXTS, st.integers(1, 50), st.integers(1, 9))
def test_any_text_fits_any_width_and_is_safe(text: str, width: int, size: int):
    for line in drawn(streamed(text, width, size), width).split("\n"):
        assert cells(line) <= width
        assert not [char for char in line if char < " " or "\x7f" <= char < "\xa0" or char in "\u202e\u2066"]


@given(st.lists(PIECES, max_size=25).map("".join), st.integers(1, 9))
def test_no_word_is_lost_however_it_is_marked(text: str, size: int):
    shown = drawn(streamed(text, 400, size), 400)
    assert sorted(re.findall(r"word|修复|head", shown)) == sorted(re.findall(r"word|修复|head", text))


@given(st.lists(PIECES, max_size=25).map("".join), st.integers(1, 9))
def test_what_is_pending_and_what_came_out_are_all_there_is(text: str, size: int):
    """At each moment both together show the words that came so far."""
    stream = MarkdownStream(400)
    out: list[Line] = []
    for start in range(0, len(text), size):
        out += stream.feed(text[start : start + size], 400)
    both = drawn([*out, *stream.pending()], 400)
    assert sorted(re.findall("word|修复", both)) == sorted(re.findall("word|修复", text))
