"""Bytes of a text file and the text in them: byte order mark, line endings, lines; touches no file."""

from __future__ import annotations

import re

from onplan.errors import ToolError

BOM = b"\xef\xbb\xbf"


def decoded(data: bytes) -> tuple[str, bool]:
    """The text without byte order mark and carriage returns at line ends, and whether it was UTF-8."""
    body = data.removeprefix(BOM)
    try:
        text, is_utf8 = body.decode(), True
    except UnicodeDecodeError:
        text, is_utf8 = body.decode(errors="replace"), False
    return text.replace("\r\n", "\n"), is_utf8


def encoded(text: str) -> bytes:
    """Raises `ToolError` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"the text holds a lone surrogate (U+{ord(text[error.start]):04X}, character {error.start}), "
            "which no file can; nothing was written"
        ) from None


def split_lines(text: str) -> list[str]:
    """The lines with their endings; only `\\n` ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def lines_of(data: bytes) -> list[str]:
    return split_lines(data.removeprefix(BOM).decode(errors="replace"))


def ends_in_crlf(data: bytes) -> bool:
    """Whether every line that ends does so in CRLF, and one does."""
    return b"\n" in data and data.count(b"\r\n") == data.count(b"\n")


def fitted(content: str, before: bytes | None) -> tuple[bytes, list[str]]:
    """The bytes to write, and what to say: the old file's byte order mark and uniform CRLF stay."""
    notes: list[str] = []
    if before is not None and "\r" not in content and "\n" in content and ends_in_crlf(before):
        content = content.replace("\n", "\r\n")
        notes.append("The CRLF line endings of the file were kept.")
    data = encoded(content)
    if before is not None and before.startswith(BOM) and not data.startswith(BOM):
        data = BOM + data
        notes.append("The byte order mark of the file was kept.")
    if before is not None and not decoded(before)[1]:
        notes.append("The file was not UTF-8; now it is.")
    return data, notes
