"""The text in the body of an answer: which types hold any, and in which charset; knows no network."""

from __future__ import annotations

import re

_HEAD = 1_024
_HTML = ("text/html", "application/xhtml+xml")
_UNSAID = ("", "application/octet-stream", "binary/octet-stream", "application/x-download")
_TEXT = re.compile(
    r"text/.+|.+\+(json|xml)|(application|message)/"
    r"((x-)?(json|ndjson|jsonlines|xml|javascript|ecmascript|yaml|toml|sh|httpd-php|perl|python|tex|latex|sql)"
    r"|json5|graphql|rtf|xml-dtd|http|rfc822)"
)
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARED = re.compile(
    rb"""(?:<meta[^>]{0,200}?\bcharset|<\?xml[^>]{0,200}?\bencoding)\s*=\s*["']?([\w-]{1,40})"""
)
# By name: some codecs of Python's decode something else than a charset, or take quadratic time.
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|iso-?8859-?\d{1,2}|latin-?1|windows-\d+|cp\d+|koi8-[ru]|ibm866"
    r"|gbk|gb2312|gb18030|big5(-hkscs)?|euc-(jp|kr)|shift[_-]jis|iso-2022-jp|macintosh"
)


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def may_be_text(content_type: str) -> bool:
    """Whether a body of this type is worth reading. A type that says nothing is."""
    kind = media_type(content_type)
    return kind in _UNSAID or _TEXT.fullmatch(kind) is not None


def is_html(content_type: str, body: bytes) -> bool:
    kind = media_type(content_type)
    start = body[:_HEAD].removeprefix(_BOMS[0][0]).lstrip().lower()
    return kind in _HTML or (kind in _UNSAID and start.startswith((b"<!doctype html", b"<html")))


def text_in(content_type: str, body: bytes, *, is_cut: bool = False) -> str | None:
    """The text of `body`, `None` if it holds none. Bytes that do not fit the charset become U+FFFD.

    The charset is that of the byte order mark, else of the header, else what the document declares, else
    UTF-8 if the bytes are, else Windows-1252, as browsers have it.
    """
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    declared = _DECLARED.search(body[:_HEAD])
    in_header = re.search(r"""charset\s*=\s*["']?([\w-]{1,40})""", content_type, re.IGNORECASE)
    named = [in_header[1]] if in_header else []
    if declared:
        # What could be read in bytes is not UTF-16, whatever it says.
        named.append(re.sub(r"(?i)^utf-?16.*", "utf-8", declared[1].decode("ascii", "replace")))
    charset = next((charset for name in named if (charset := _charset(name))), "")
    if b"\0" in body and not charset.startswith("utf-16"):
        return None
    if charset:
        return body.decode(charset, "replace")
    return _guessed(body, is_cut=is_cut, is_said=media_type(content_type) not in _UNSAID)


def _guessed(body: bytes, *, is_cut: bool, is_said: bool) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        if is_cut and error.reason == "unexpected end of data":
            return body[: error.start].decode()
        return body.decode("cp1252", "replace") if is_said else None


def _charset(name: str) -> str:
    label = name.lower()
    if _CHARSETS.fullmatch(label) is None:
        return ""
    # The WHATWG standard: pages that say Latin-1 or ASCII mean Windows-1252.
    aliases = {"utf16": "utf-16-le", "utf-16": "utf-16-le", "macintosh": "mac_roman", "gb2312": "gbk"}
    label = (
        "cp1252" if re.fullmatch(r"iso-?8859-?1|latin-?1|(us-)?ascii", label) else aliases.get(label, label)
    )
    try:
        "".encode(label)
    except LookupError:
        return ""
    return label
