"""What a file is that holds no text, told from its first bytes."""

from __future__ import annotations


def kind_of(head: bytes, size: int) -> str | None:
    """What to say of a file that begins with `head` and has `size` bytes; `None` if it may be text."""
    if (image := _image(head)) is not None:
        return f"image file ({image}, {size:,} bytes)"
    if head.startswith(b"%PDF-"):
        return f"PDF file ({size:,} bytes); a converter such as pdftotext shows its text"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"binary file, {size:,} bytes (UTF-16 text, it seems; iconv converts it)"
    return f"binary file, {size:,} bytes" if b"\0" in head else None


def _image(head: bytes) -> str | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return f"PNG, {_number(head[16:20])}x{_number(head[20:24])}"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return f"GIF, {_number(head[7:5:-1])}x{_number(head[9:7:-1])}"
    if head.startswith(b"\xff\xd8\xff"):
        return f"JPEG{_jpeg_size(head)}"
    return "WebP" if head.startswith(b"RIFF") and head[8:12] == b"WEBP" else None


def _jpeg_size(head: bytes) -> str:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        # The frame headers are C0 to CF, without the tables C4, C8 and CC.
        if 0xC0 <= head[at + 1] <= 0xCF and head[at + 1] not in (0xC4, 0xC8, 0xCC):
            return f", {_number(head[at + 7 : at + 9])}x{_number(head[at + 5 : at + 7])}"
        at += 2 + _number(head[at + 2 : at + 4])
    return ""


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
