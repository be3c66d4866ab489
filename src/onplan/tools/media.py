"""Which bytes are an image or a PDF that a model can be shown; knows no model and touches no file.

What a provider refuses once it refuses in every later request of the session, so a file that is cut off,
too large or locked is not shown at all.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress

MAX_IMAGE = 3_500_000
MAX_PDF = 8_000_000
"""Bytes. Anthropic takes images of 5 MB as base64 text, which is a third longer."""

MAX_SIDE = 8_000
MAX_PAGES = 100
"""Pixels and pages that Anthropic takes: https://docs.anthropic.com/en/docs/build-with-claude/vision"""

PDF = "application/pdf"

_PNG = b"\x89PNG\r\n\x1a\n"
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_MOST_PACKED = 500
_LONGEST_PACKED = 200_000
"""Of compressed objects as many are looked into: a file may be made to take for ever."""


def media_type_of(head: bytes) -> str:
    """The type by the first bytes, whatever the file is called; empty for what cannot be shown."""
    if head.startswith(_PNG):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return PDF if head.startswith(b"%PDF-") else ""


def largest(media_type: str) -> int:
    """Bytes of the largest file of this type that is shown."""
    return MAX_PDF if media_type == PDF else MAX_IMAGE


def fault_of(media_type: str, data: bytes) -> str:
    """Why the file is not shown, and what to do; empty if it is. `data` may be cut where it is too large."""
    if len(data) > largest(media_type):
        way = "take out the pages that matter" if media_type == PDF else "scale it down"
        return f"larger than {largest(media_type):,} bytes; {way}"
    if media_type_of(data) != media_type or not _is_whole(media_type, data):
        return "the file is cut off or damaged"
    if media_type == PDF:
        return _pdf_fault(data)
    sides = _sides(media_type, data)
    if 0 in sides:
        return "the file is cut off or damaged"
    return f"longer than {MAX_SIDE:,} pixels on a side; scale it down" if max(sides) > MAX_SIDE else ""


def _is_whole(media_type: str, data: bytes) -> bool:
    """Whether the end of the file is there. Programs put up to some hundred bytes of their own behind it."""
    match media_type:
        case "image/png":
            return b"IEND" in data[-1_024:]
        case "image/jpeg":
            return b"\xff\xd9" in data[-1_024:]
        case "image/gif":
            return b";" in data[-1_024:]
        case "image/webp":
            return len(data) >= int.from_bytes(data[4:8], "little") + 8 > 20
        case _:
            return b"%%EOF" in data[-1_024:]


# --- images -----------------------------------------------------------------------------------------


def _sides(media_type: str, data: bytes) -> tuple[int, int]:
    """Width and height in pixels."""
    match media_type:
        case "image/png":
            return _big(data[16:20]), _big(data[20:24])
        case "image/gif":
            return _little(data[6:8]), _little(data[8:10])
        case "image/jpeg":
            return _jpeg_sides(data)
        case _:
            return _webp_sides(data)


def _jpeg_sides(data: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        # The frame headers are C0 to CF, without the tables C4, C8 and CC.
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return _big(data[at + 7 : at + 9]), _big(data[at + 5 : at + 7])
        # A marker may have any number of FF in front.
        at += 1 if data[at + 1] == 0xFF else 2 + _big(data[at + 2 : at + 4])
    return 0, 0


def _webp_sides(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8X":
            return _little(data[24:27]) + 1, _little(data[27:30]) + 1
        case b"VP8L":
            bits = _little(data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return _little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF
        case _:
            return 0, 0


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


# --- PDFs -------------------------------------------------------------------------------------------


def _pdf_fault(data: bytes) -> str:
    if b"/Encrypt" in data:
        return "it is encrypted"
    pages = len(_PAGE.findall(data)) + sum(len(_PAGE.findall(objects)) for objects in _packed(data))
    return f"more than {MAX_PAGES} pages; take out those that matter" if pages > MAX_PAGES else ""


def _packed(data: bytes) -> Iterator[bytes]:
    """The objects that newer PDFs keep compressed, the pages often among them."""
    at = 0
    for _ in range(_MOST_PACKED):
        at = data.find(b"/ObjStm", at + 1)
        start = data.find(b"stream", at, at + 500)
        if at < 0:
            return
        if start < 0:
            continue
        start += len(b"stream")
        packed = data[start : start + _LONGEST_PACKED].lstrip(b"\r\n")
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(packed, _LONGEST_PACKED)
