"""read_file, write_file and edit_file, called as a model calls them."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import stat
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from onplan.messages import Call, Media
from onplan.tools.files import file_tools
from onplan.tools.workspace import MAX_RESULT, Workspace
from onplan.toolset import Ctx, ToolOutput, Toolset


class Desk:
    """A workspace and its file tools."""

    def __init__(self, root: Path) -> None:
        self.root = root
        workspace = Workspace(root)
        self._tools = Toolset(file_tools(), {"workspace": lambda _: workspace})

    def call(self, name: str, **arguments: Any) -> ToolOutput:
        return asyncio.run(self._tools.call(Call("1", name, arguments), Ctx()))

    def read(self, path: str, **arguments: Any) -> str:
        return self.call("read_file", path=path, **arguments).content

    def write(self, path: str, content: str) -> str:
        return self.call("write_file", path=path, content=content).content

    def edit(self, path: str, **arguments: Any) -> str:
        return self.call("edit_file", path=path, **arguments).content

    def put(self, path: str, data: bytes) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def bytes(self, path: str) -> bytes:
        return (self.root / path).read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# --- what the model sees and pays for ---------------------------------------------------------------


def test_the_tools_as_the_model_sees_them():
    faces = {
        item.name: (item.description, len(json.dumps(schema)), item.read_only, item.parallel)
        for item, schema in zip(
            file_tools(), Toolset(file_tools(), {"workspace": str}).schemas(), strict=True
        )
    }
    assert faces == snapshot(
        {
            "read_file": (
                """\
Read a text file, or a window of its lines; images and PDFs are shown whole. A last line in
parentheses says what is not shown.\
""",
                477,
                True,
                True,
            ),
            "write_file": (
                """\
Create a file or replace it whole. An existing file must have been read first; to change a part
of one, use edit_file.\
""",
                415,
                False,
                False,
            ),
            "edit_file": (
                """\
Replace exact text in a file. Give old and new, or several edits, which are made in order, all or
none. The file's line endings are kept.\
""",
                872,
                False,
                False,
            ),
        }
    )
    assert all(size <= 900 for _, size, _, _ in faces.values())


# --- read_file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a\nb\n", "a\nb", "\n", "é\u2028x\fy\n", "a\rb\n", " "])
def test_a_small_file_is_shown_as_it_is(desk: Desk, text: str):
    desk.put("f", text.encode())
    assert desk.read("f") == text


def test_crlf_and_a_byte_order_mark_are_not_shown(desk: Desk):
    desk.put("f", b"\xef\xbb\xbfa\r\nb\r\n")
    assert desk.read("f") == "a\nb\n"


def test_a_window_says_where_to_continue(desk: Desk):
    desk.put("f", b"".join(b"%d\n" % number for number in range(1, 5322)))
    assert desk.read("f").endswith("\n2000\n(lines 1-2000 of 5321; continue with offset=2001)")
    assert desk.read("f", offset=2, limit=1) == "2\n(lines 2-2 of 5321; continue with offset=3)"
    assert desk.read("f", offset=5320) == "5320\n5321\n(lines 5320-5321 of 5321)"


def test_a_beginning_outside_of_the_file_is_an_error(desk: Desk):
    desk.put("f", b"a\n")
    assert desk.read("f", offset=9) == "Error: f has 1 line; offset=9 is beyond its end"
    assert desk.read("f", offset=0) == "Error: offset and limit count from 1; got offset=0, limit=2000"


def test_a_long_line_is_cut_and_its_length_named(desk: Desk):
    desk.put("f", "é".encode() * 40_000 + b"\nend\n")
    assert desk.read("f") == "é" * 2_000 + "… (line of 40,000 characters, cut)\nend\n"


@pytest.mark.parametrize("line", [b"x" * 100, b"x" * 1_999, b"x" * 5_000, "é".encode() * 700, b""])
def test_a_result_stays_under_the_cap_and_continues_without_a_gap(desk: Desk, line: bytes):
    desk.put("f", (line + b"\n") * 3_000)
    shown = desk.read("f", limit=100_000)
    assert len(shown) <= MAX_RESULT
    note = re.fullmatch(r"\(lines 1-(\d+) of 3000; continue with offset=(\d+)\)", shown.splitlines()[-1])
    if line:
        assert note is not None
        assert int(note[2]) == int(note[1]) + 1 == len(shown.splitlines())


def test_an_empty_file_says_so(desk: Desk):
    desk.put("f", b"")
    assert desk.read("f") == "(empty file)"


def test_a_file_that_is_not_utf8_is_shown_and_named_as_such(desk: Desk):
    desk.put("latin.txt", b"caf\xe9\n")
    assert desk.read("latin.txt") == snapshot("""\
caf�
(not UTF-8: the bytes that could not be read are shown as �)\
""")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"a\0b", "binary file, 3 bytes"),
        (b"a" * 20_000 + b"\0", "binary file, 20,001 bytes"),
        ("hi".encode("utf-16"), "binary file, 6 bytes (UTF-16 text, it seems; iconv converts it)"),
    ],
)
def test_what_is_no_text_is_named_and_not_dumped(desk: Desk, data: bytes, shown: str):
    desk.put("f", data)
    assert desk.read("f") == shown


# --- images and PDFs --------------------------------------------------------------------------------


def png(width: int, height: int, more: bytes = b"") -> bytes:
    return (
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + more + b"\0\0\0\0IEND...."
    )


def jpeg(width: int, height: int, more: bytes = b"") -> bytes:
    frame = b"\xff\xff\xc0\0\x11\x08" + struct.pack(">HH", height, width)
    return b"\xff\xd8\xff\xe0\0\x04ab" + more + frame + b"." * 12 + b"\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"....;"


def webp(kind: bytes, head: bytes) -> bytes:
    chunk = b"WEBP" + kind + struct.pack("<I", len(head)) + head
    return b"RIFF" + struct.pack("<I", len(chunk)) + chunk


def pdf(body: bytes = b"", pages: int = 1) -> bytes:
    return b"%PDF-1.7\n" + body + b"<< /Type /Pages >>" + b"<< /Type /Page >>\n" * pages + b"%%EOF\n"


def packed(pages: int) -> bytes:
    objects = zlib.compress(b"<</Type/Page>>" * pages)
    return b"<< /Type /ObjStm /N 9 >>\nstream\r\n" + objects + b"\nendstream\n"


VP8X = webp(b"VP8X", b"\0\0\0\0" + b"\x7f\x02\0" + b"\xdf\x01\0")
VP8L = webp(b"VP8L", b"\x2f" + struct.pack("<I", 639 | 479 << 14))
VP8 = webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 640, 480))
TEXT_OF_PDF = "; a converter such as pdftotext shows its text"


@pytest.mark.parametrize(
    ("data", "media_type", "said"),
    [
        (png(640, 480), "image/png", "image file (PNG, 640x480, 36 bytes)"),
        (png(8_000, 1, b"\0" * 3_499_964), "image/png", "image file (PNG, 8000x1, 3,500,000 bytes)"),
        (jpeg(640, 480), "image/jpeg", "image file (JPEG, 32 bytes)"),
        (gif(640, 480), "image/gif", "image file (GIF, 640x480, 15 bytes)"),
        (VP8X, "image/webp", "image file (WebP, 30 bytes)"),
        (VP8L, "image/webp", "image file (WebP, 25 bytes)"),
        (VP8, "image/webp", "image file (WebP, 30 bytes)"),
        (pdf(), "application/pdf", f"PDF file (51 bytes){TEXT_OF_PDF}"),
        (pdf(packed(99)), "application/pdf", None),
    ],
)
def test_an_image_or_a_pdf_is_shown_whatever_it_is_called(
    desk: Desk, data: bytes, media_type: str, said: str | None
):
    desk.put("a/f.txt", data)
    output = desk.call("read_file", path="a/f.txt", offset=5)
    assert output.media == (Media(media_type, base64.b64encode(data).decode(), "a/f.txt"),)
    assert output.media[0].size == len(data)
    assert said in (None, output.content)
    assert not output.is_error


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (png(640, 480, b"\0" * 3_500_000), "(not shown: larger than 3,500,000 bytes; scale it down)"),
        (pdf(b"\0" * 8_000_000), "(not shown: larger than 8,000,000 bytes; take out the pages that matter)"),
        (png(8_001, 1), "(not shown: longer than 8,000 pixels on a side; scale it down)"),
        (webp(b"VP8X", b"\0\0\0\0" + b"\0\xff\0" + b"\0" * 3), "(not shown: longer than 8,000 pixels on a "
         "side; scale it down)"),
        (png(640, 480)[:-20], "(not shown: the file is cut off or damaged)"),
        (png(0, 480), "(not shown: the file is cut off or damaged)"),
        (jpeg(640, 480)[:-2], "(not shown: the file is cut off or damaged)"),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xd9", "(not shown: the file is cut off or damaged)"),
        (gif(640, 480)[:-1], "(not shown: the file is cut off or damaged)"),
        (VP8X[:-1], "(not shown: the file is cut off or damaged)"),
        (webp(b"XXXX", b"\0" * 20), "(not shown: the file is cut off or damaged)"),
        (b"%PDF-1.7\n", "(not shown: the file is cut off or damaged)"),
        (pdf(b"<< /Encrypt 5 0 R >>"), "(not shown: it is encrypted)"),
        (pdf(pages=101), "(not shown: more than 100 pages; take out those that matter)"),
        (pdf(packed(100)), "(not shown: more than 100 pages; take out those that matter)"),
    ],
    ids=range(15),
)  # fmt: skip
def test_what_a_provider_would_refuse_is_named_and_not_shown(desk: Desk, data: bytes, remark: str):
    desk.put("f", data)
    output = desk.call("read_file", path="f")
    kind, told = output.content.split("\n")
    assert (output.media, told, output.is_error) == ((), remark, False)
    assert kind.startswith(("image file (", "PDF file ("))


@given(
    data=st.one_of(
        st.builds(
            bytes.__add__,
            st.sampled_from([png(1, 1), jpeg(1, 1), gif(1, 1), VP8X, pdf(packed(1))]),
            st.binary(max_size=50),
        ),
        st.builds(
            lambda whole, cut: whole[:cut],
            st.sampled_from([png(1, 1), jpeg(1, 1), gif(1, 1), VP8X, VP8L, VP8, pdf(packed(1))]),
            st.integers(0, 200),
        ),
        st.sampled_from([b"\xff\xd8\xff", b"%PDF-", b"RIFF1234WEBP"]).flatmap(
            lambda head: st.binary(max_size=50).map(lambda rest: head + rest)
        ),
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_answered_and_what_is_shown_is_the_file(desk: Desk, data: bytes):
    desk.put("f", data)
    output = desk.call("read_file", path="f")
    assert not output.is_error
    assert [base64.b64decode(medium.data) for medium in output.media] in ([], [data])


def test_a_pdf_that_was_made_to_take_for_ever_does_not(desk: Desk):
    large = b"/ObjStm stream\r\n" + zlib.compress(b"\0" * 5_000_000)
    for body in (large * 1_000, b"/ObjStm" * 1_000_000, b"/Type" + b" " * 5_000_000, b"/Type " * 1_000_000):
        desk.put("f", pdf(body))
        assert len(desk.call("read_file", path="f").media) == 1


# --- what cannot be read ----------------------------------------------------------------------------


def test_a_missing_file_is_answered_with_close_names(desk: Desk):
    desk.put("src/app.py", b"")
    assert desk.read("src/ap.py") == "Error: there is no file src/ap.py. Close names: src/app.py"
    assert desk.read("src/zzz") == "Error: there is no file src/zzz: find it with glob"
    assert desk.read("src/no/where/x") == "Error: there is no file src/no/where/x: the way there ends at src"


def test_a_directory_is_answered_with_the_tool_that_lists_it(desk: Desk):
    desk.put("src/app.py", b"")
    assert desk.read("src") == 'Error: src is a directory: list it with glob (pattern "*", path "src")'
    assert desk.read(".") == 'Error: . is a directory: list it with glob (pattern "*", path ".")'


def test_a_fifo_a_device_and_a_giant_are_refused_at_once(desk: Desk):
    os.mkfifo(desk.root / "pipe")
    with (desk.root / "sparse").open("wb") as file:
        file.truncate(2**31)
    with (desk.root / "giant").open("wb") as file:
        file.write(b"text\n" * 10_000)
        file.truncate(2**31)
    assert desk.read("pipe") == "Error: pipe is a FIFO, not a regular file"
    assert desk.read("sparse") == "binary file, 2,147,483,648 bytes"
    assert desk.read("giant") == snapshot(
        "Error: giant is too large (2,147,483,648 bytes; at most 20,000,000): "
        "use a shell command that picks a part of it (sed -n, head, tail)"
    )


def test_a_path_through_a_file_is_an_error_in_one_line(desk: Desk):
    desk.put("f", b"")
    assert desk.read("f/x") == "Error: cannot read f/x: Not a directory"


@pytest.mark.parametrize("path", ["../ws-evil/s", "a\0b", "/etc/passwd"])
def test_no_tool_leaves_the_workspace(desk: Desk, path: str):
    answers = {desk.read(path), desk.write(path, "x"), desk.edit(path, old="a", new="b")}
    assert len(answers) == 1
    assert answers.pop().endswith("is not a path inside the workspace; use one relative to its root")


@pytest.mark.parametrize("path", ["dangling", "newdir/../../ws-evil/n", "link/new", "l.txt", "../ws-evil/s"])
def test_nothing_is_read_or_written_outside_of_the_root(tmp_path: Path, path: str):
    root, evil = tmp_path / "ws", tmp_path / "ws-evil"
    root.mkdir()
    evil.mkdir()
    (evil / "s").write_text("secret\n")
    (root / "link").symlink_to(evil)
    (root / "l.txt").symlink_to(evil / "s")
    (root / "dangling").symlink_to(evil / "new")
    desk = Desk(root)
    answers = {desk.read(path), desk.write(path, "x"), desk.edit(path, old="secret", new="x")}
    assert answers == {f"Error: {path} is not a path inside the workspace; use one relative to its root"}
    assert {file.name: file.read_text() for file in evil.iterdir()} == {"s": "secret\n"}


# --- write_file -------------------------------------------------------------------------------------


def test_a_new_file_is_created_and_counts_as_read(desk: Desk):
    assert desk.write("new/a.py", "x = 1\ny = 2\n") == "Created new/a.py (2 lines)."
    assert desk.write("new/a.py", "x = 1\n").startswith("Replaced new/a.py (1 line, +0 -1).")
    assert desk.bytes("new/a.py") == b"x = 1\n"


def test_an_existing_file_must_have_been_read(desk: Desk):
    desk.put("f", b"old\n")
    assert desk.write("f", "new\n") == snapshot(
        "Error: f exists and has not been read: read_file it first, or change it by edit_file"
    )
    assert desk.bytes("f") == b"old\n"
    desk.read("f")
    assert desk.write("f", "new\n") == snapshot("""\
Replaced f (1 line, +1 -1).
@@ -1,1 +1,1 @@
-old
+new\
""")
    assert desk.bytes("f") == b"new\n"


def test_a_file_that_changed_since_it_was_read_is_not_replaced(desk: Desk):
    file = desk.put("f", b"old\n")
    desk.read("f")
    before = file.stat()
    file.write_bytes(b"mid\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert desk.write("f", "new\n") == snapshot(
        "Error: f has changed on disk since it was read: read_file it again before replacing it"
    )
    assert desk.bytes("f") == b"mid\n"


def test_a_file_that_was_only_touched_is_replaced(desk: Desk):
    file = desk.put("f", b"old\n")
    desk.read("f")
    os.utime(file, (1, 1))
    assert desk.write("f", "new\n").startswith("Replaced f")


def test_an_empty_file_has_nothing_to_lose(desk: Desk):
    desk.put("f", b"")
    assert desk.write("f", "new\n").startswith("Replaced f (1 line, +1 -0).")


def test_the_same_content_again_is_no_change(desk: Desk):
    desk.put("f", b"same\n")
    assert desk.write("f", "same\n") == "No change: f already has this content."


def test_the_byte_order_mark_and_uniform_crlf_of_the_old_file_are_kept(desk: Desk):
    desk.put("f", b"\xef\xbb\xbfa\r\nb\r\n")
    desk.read("f")
    assert desk.write("f", "a\nB\n") == snapshot("""\
Replaced f (2 lines, +1 -1).
The CRLF line endings of the file were kept.
The byte order mark of the file was kept.
@@ -1,2 +1,2 @@
 a
-b
+B\
""")
    assert desk.bytes("f") == b"\xef\xbb\xbfa\r\nB\r\n"


def test_the_content_is_written_as_it_is_over_mixed_endings(desk: Desk):
    desk.put("f", b"a\r\nb\n")
    desk.read("f")
    desk.write("f", "a\nB\n")
    assert desk.bytes("f") == b"a\nB\n"


def test_a_file_in_another_encoding_becomes_utf8_and_it_is_said(desk: Desk):
    desk.put("f", b"caf\xe9\n")
    desk.read("f")
    assert desk.write("f", "café\n").splitlines()[1] == "The file was not UTF-8; now it is."
    assert desk.bytes("f") == "café\n".encode()


def test_a_large_change_is_shown_in_part(desk: Desk):
    desk.put("f", b"".join(b"old %d\n" % number for number in range(3_000)))
    desk.read("f", limit=1)
    shown = desk.write("f", "".join(f"new {number}\n" for number in range(3_000))).splitlines()
    assert shown[0] == "Replaced f (3000 lines, +3000 -3000)."
    assert len(shown) == 41
    assert shown[-1].endswith("more lines of the diff)")


def test_text_that_no_file_can_hold_is_refused(desk: Desk):
    assert desk.write("f", "a\ud800") == snapshot(
        "Error: the text holds a lone surrogate (U+D800, character 1), which no file can; nothing was written"
    )
    assert not (desk.root / "f").exists()


def test_a_directory_is_not_written(desk: Desk):
    (desk.root / "src").mkdir()
    assert desk.write("src", "x") == 'Error: src is a directory: list it with glob (pattern "*", path "src")'
    assert desk.write("new/", "x") == "Error: new/ names a directory: give the path of a file"


def test_people_get_the_figures_and_the_diff_as_details(desk: Desk):
    desk.put("f", b"a\nb\n")
    desk.read("f")
    assert desk.call("write_file", path="f", content="a\nc\n").details == snapshot(
        {"path": "f", "added": 1, "removed": 1, "diff": ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]}
    )


# --- edit_file: line endings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb", b"a\r\nX\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b", "b\nX", b"a\r\nb\r\nX\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", b"a\r\nB\nc\r\n"),
        (b"a\nb\nc\n", "a\r\nb", "a\r\nX\r\nb", b"a\nX\nb\nc\n"),
        (b"a\nb\n", "b\n", "b\r\n", b"a\nb\r\n"),
        (b"a\r\nb\r\n", "a\nb\n", "", b""),
        (b"\r\nx\r\n", "\nx", "\ny", b"\r\ny\r\n"),
        (b"a\nb", "b", "B", b"a\nB"),
        (b"\xef\xbb\xbfhello\n", "hello", "hello2", b"\xef\xbb\xbfhello2\n"),
    ],
)
def test_an_edit_keeps_the_line_endings_around_it(
    desk: Desk, before: bytes, old: str, new: str, after: bytes
):
    desk.put("f", before)
    assert desk.edit("f", old=old, new=new).startswith("Edited f (")
    assert desk.bytes("f") == after


@pytest.mark.parametrize(("old", "new"), [("a\r\nb", "a\nb"), ("a\nb", "a\r\nb"), ("a", "a")])
def test_an_edit_that_changes_nothing_never_claims_success(desk: Desk, old: str, new: str):
    desk.put("f", b"a\r\nb\r\n")
    answer = desk.call("edit_file", path="f", old=old, new=new)
    assert answer == ToolOutput(
        "Error: no change: the edit leaves f as it is (its line endings are kept)", is_error=True
    )
    assert desk.bytes("f") == b"a\r\nb\r\n"


def test_lf_and_crlf_at_different_places_are_ambiguous(desk: Desk):
    desk.put("f", b"a\r\nb\r\n-\na\nb\n")
    for old in ("a\nb", "a\r\nb"):
        assert desk.edit("f", old=old, new="X") == snapshot(
            "Error: old matches 2 places in f (lines 1, 4): "
            "add lines around it until it is unique, or set replace_all to true"
        )
    desk.edit("f", old="a\nb\n", new="A\nb\n", replace_all=True)
    assert desk.bytes("f") == b"A\r\nb\r\n-\nA\nb\n"


LINES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6)
ENDING = st.sampled_from(["\n", "\r\n"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data(), head=LINES, old=LINES, new=LINES, tail=LINES)
def test_an_edit_touches_no_byte_outside_of_the_text_it_replaces(
    desk: Desk, data: st.DataObject, head: list[str], old: list[str], new: list[str], tail: list[str]
):
    def spell(lines: list[str]) -> str:
        return "".join(line + data.draw(ENDING) for line in lines)

    before, found, after = spell(head), "<" + spell(old) + ">", spell(tail)
    asked, wanted = "<" + spell(old) + ">", "<" + spell(new) + ">"
    assume(old != new)
    desk.put("f", (before + found + after).encode())
    assert desk.edit("f", old=asked, new=wanted).startswith("Edited f (")
    result = desk.bytes("f").decode()
    assert result.startswith(before)
    assert result.endswith(after)
    inner = result[len(before) : len(result) - len(after)]
    assert inner.replace("\r\n", "\n") == wanted.replace("\r\n", "\n")
    if "\n" not in (before + found + after).replace("\r\n", ""):
        assert "\n" not in inner.replace("\r\n", "")


# --- edit_file: the rest ----------------------------------------------------------------------------


def test_the_answer_shows_the_changed_region_with_line_numbers(desk: Desk):
    desk.put("f", b"".join(b"line %d\n" % number for number in range(1, 21)))
    assert desk.edit(
        "f", edits=[{"old": "line 3\n", "new": ""}, {"old": "line 15", "new": "L15"}]
    ) == snapshot("""\
Edited f (2 replacements, +1 -2).
@@ -1,5 +1,4 @@
 line 1
 line 2
-line 3
 line 4
 line 5
@@ -13,5 +12,5 @@
 line 13
 line 14
-line 15
+L15
 line 16
 line 17\
""")


def test_several_matches_are_named_by_their_lines(desk: Desk):
    desk.put("f", b"x\ny\nx\naaa\n")
    assert desk.edit("f", old="x", new="z") == snapshot(
        "Error: old matches 2 places in f (lines 1, 3): "
        "add lines around it until it is unique, or set replace_all to true"
    )
    assert desk.edit("f", old="aa", new="z").startswith("Error: old matches 2 places in f (lines 4, 4)")
    assert desk.bytes("f") == b"x\ny\nx\naaa\n"


def test_replace_all_replaces_every_match_and_counts_them(desk: Desk):
    desk.put("f", b"x\ny\nx\n")
    assert desk.edit("f", old="x", new=r"\g<0>", replace_all=True).startswith(
        "Edited f (2 replacements, +2 -2)."
    )
    assert desk.bytes("f") == b"\\g<0>\ny\n\\g<0>\n"


def test_text_that_is_not_there_is_answered_with_the_closest_lines(desk: Desk):
    desk.put("f.py", b"def run():\n    first = 1\n    return first\n")
    assert desk.edit("f.py", old="first = 1\nreturn first", new="") == snapshot("""\
Error: old was not found in f.py. Lines 2-3 differ from it only in blanks:
    first = 1
    return first\
""")
    assert desk.edit("f.py", old="    return frist", new="") == snapshot("""\
Error: old was not found in f.py. The closest line is 3:
    return first\
""")
    assert desk.edit("f.py", old="§§§§", new="") == snapshot(
        "Error: old was not found in f.py. No line is like it: read the file again"
    )


def test_edits_are_made_in_order_all_or_none(desk: Desk):
    desk.put("f", b"a\nb\n")
    answer = desk.edit("f", edits=[{"old": "a", "new": "A"}, {"old": "zz", "new": ""}])
    assert answer == snapshot("""\
Error: edit 2 of 2: old was not found in f. No line is like it: read the file again
None of the edits was made.\
""")
    assert desk.bytes("f") == b"a\nb\n"
    desk.edit("f", edits=[{"old": "a", "new": "c"}, {"old": "c", "new": "d"}])
    assert desk.bytes("f") == b"d\nb\n"


def test_an_edit_that_says_nothing_or_two_things_is_refused(desk: Desk):
    desk.put("f", b"a\n")
    assert desk.edit("f") == snapshot(
        "Error: old is empty: give the text to replace, or use write_file for a new or empty file"
    )
    assert desk.edit("f", old="a", new="b", edits=[{"old": "a", "new": "c"}]) == snapshot(
        "Error: give either old and new, or edits, not both; nothing was changed"
    )
    assert desk.bytes("f") == b"a\n"


def test_a_file_that_is_not_utf8_or_not_text_is_not_edited(desk: Desk):
    desk.put("latin.txt", b"caf\xe9\n")
    desk.put("bin.dat", b"a\0b")
    assert desk.edit("latin.txt", old="caf", new="tea") == snapshot(
        "Error: latin.txt is not UTF-8 (byte 3), so an edit could damage it; "
        "nothing was changed. Convert it first (iconv), or change it by a command that works on bytes (sed)"
    )
    assert desk.edit("bin.dat", old="a", new="b") == snapshot(
        "Error: bin.dat is a binary file; edit_file changes text only"
    )
    assert (desk.bytes("latin.txt"), desk.bytes("bin.dat")) == (b"caf\xe9\n", b"a\0b")


def test_an_edit_keeps_the_mode_and_leaves_no_other_file(desk: Desk):
    file = desk.put("run.sh", b"echo a\n")
    file.chmod(0o755)
    desk.edit("run.sh", old="a", new="b")
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert os.listdir(desk.root) == ["run.sh"]


def test_an_edit_needs_no_reading_and_proves_none(desk: Desk):
    desk.put("f", b"a\nb\n")
    assert desk.edit("f", old="a", new="A").startswith("Edited f")
    assert desk.write("f", "gone\n").startswith("Error: f exists and has not been read")


def test_a_file_that_was_read_stays_read_after_an_edit(desk: Desk):
    desk.put("f", b"a\nb\n")
    desk.read("f")
    desk.edit("f", old="a", new="A")
    assert desk.write("f", "new\n").startswith("Replaced f")


def test_an_edit_of_a_file_changed_by_others_does_not_hide_their_change(desk: Desk):
    file = desk.put("f", b"a\nb\n")
    desk.read("f")
    file.write_bytes(b"a\nb\ntheirs\n")
    desk.edit("f", old="a", new="A")
    assert desk.write("f", "new\n").startswith("Error: f has changed on disk")
    assert desk.bytes("f") == b"A\nb\ntheirs\n"


def test_a_link_that_stays_inside_is_edited_in_its_target(desk: Desk):
    desk.put("real/f", b"a\n")
    (desk.root / "l").symlink_to("real/f")
    desk.edit("l", old="a", new="b")
    assert (desk.bytes("real/f"), (desk.root / "l").is_symlink()) == (b"b\n", True)


# --- does it still parse ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "good", "bad", "says"),
    [
        ("a.py", "x = 1\n", "x = (\n", r"a\.py no longer parses: line 1: .+ \(Python 3\.\d+\)"),
        ("a.json", '{"a": 1}\n', '{"a": 1,\n}\n', r"a\.json no longer parses: line \d: .+"),
        ("a.toml", "a = 1\n", "a = 1\nb\n", r"a\.toml no longer parses: line 2: .+"),
        ("a.py", "x = 1\n", "(" * 5_000, r"a\.py no longer parses: .+"),
        ("a.json", "1\n", "[" * 100_000, r"a\.json no longer parses: .+"),
    ],
)
def test_a_file_that_stops_parsing_is_written_with_a_warning(
    desk: Desk, name: str, good: str, bad: str, says: str
):
    desk.put(name, good.encode())
    desk.read(name)
    answer = desk.call("write_file", path=name, content=bad)
    assert (answer.is_error, desk.bytes(name)) == (False, bad.encode())
    assert re.fullmatch(f"warning: {says}", answer.content.splitlines()[1])
    assert "warning" not in desk.edit(name, old=bad, new=bad + " ")


def test_a_new_file_that_does_not_parse_is_created_with_a_warning(desk: Desk):
    assert desk.write("a.toml", "a\n").splitlines()[0] == "Created a.toml (1 line)."
    assert desk.write("b.toml", "a\n").splitlines()[1].startswith("warning: b.toml does not parse: line 1: ")


def test_text_with_dubious_escapes_is_no_reason_to_warn(desk: Desk):
    assert desk.write("a.py", 'x = "\\d"\n') == "Created a.py (1 line)."
