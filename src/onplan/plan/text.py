"""Text made safe for a terminal or a model, and fitted into cells; knows nothing of plans or of printing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import category, combining, east_asian_width

# Parts of character classes. Controls without the breaks, which have a meaning of their own.
_BREAKS = r"\n\v\f\r\x85\u2028\u2029"
_CONTROLS = r"\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Soft hyphen included: some terminals draw it and some do not, so its width cannot be known.
# E0000..E0FFF without the selectors: tags, which spell hidden text. Three flags lose their country.
_FORMAT = (
    r"\xad\u034f\u17b4\u17b5\u180e\u200b\u200c\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_SELECTORS = r"\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FILLERS = r"\u115f\u1160\u2800\u3164\uffa0"
_EMOJI = r"\u2190-\u2bff\U0001f000-\U0001fbff"
_UNSEEN = rf"{_CONTROLS}{_BIDI}{_FORMAT}{_SELECTORS}\u200d"

_OUTER = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
    "\xad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"
)
"""What `clean` takes off the ends. No selectors and no controls: inside a sequence these carry meaning."""

# Patterns are compiled by `re` when they are first needed, and kept: most texts are plain and need none.
_SEEN = rf"[^\s{_UNSEEN}{_FILLERS}]"
_UNSAFE = rf"[\v\f\r\x85\u2028\u2029{_UNSEEN}\ud800-\udfff]"
_IS_EMOJI = f"[{_EMOJI}]"

# ECMA-48 and xterm's control sequences. A control string ends at its terminator, at any other control
# and, unlike in most terminals, at a line's end: output must not be able to hide the lines after it.
_ESCAPE = rf"""(?x)
      (?: \x1b[P\]X^_] | [\x90\x98\x9d-\x9f] )              # DCS, OSC, SOS, PM, APC
      [^\x07\x18\x1a\x1b\x80-\x9f{_BREAKS}]* (?: \x07 | \x9c | \x1b\\ )?
    | (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]?              # CSI
    | \x1b [ -/]* [0-~]                                     # charsets and two-character sequences
    """
# A joiner stays between emoji and a selector stays behind the character that it selects a form of.
_BARE = (
    rf"[{_CONTROLS}{_BIDI}{_FORMAT}]"
    rf"|\u200d(?![{_EMOJI}])|(?<![{_EMOJI}])(?<![{_EMOJI}]\ufe0f)\u200d"
    rf"|(?<![^\s{_UNSEEN}])[{_SELECTORS}]"
)
_BREAK = rf"(?<! )[ ]*[\t{_BREAKS}][\t {_BREAKS}]*"
_LINE_END = r"\r+\n?|[\v\f\x85\u2028\u2029]"
_TAG = rf"<(?=[\s/{_UNSEEN}]*(?i:system-reminder|reminder|plan)(?![\w-]))"


def clean(text: str) -> str:
    """`text` as it is taken in: surrogates mended, blanks off the ends; the inside stays as it is.

    Blanks are all white space, the byte order mark and zero-width characters. A surrogate pair becomes
    the character that it means, a lone surrogate U+FFFD. `clean(text) == ""` just when `is_blank(text)`.
    """
    if _is_plain(text) and text and text[0] != " " != text[-1]:
        return text
    mended = _mend(text).strip(_OUTER)
    return "" if is_blank(mended) else mended


def is_blank(text: str) -> bool:
    """Whether `text` holds nothing to see: only blanks, escapes, controls and zero-width characters."""
    if _is_plain(text):
        return not text.strip()
    return re.search(_SEEN, re.sub(_ESCAPE, "", text)) is None


def one_line(text: str) -> str:
    """`text` as one safe line for a terminal or a model.

    Escape sequences go as wholes, then controls, bidi controls, tags and other unseen characters; a
    joiner stays between emoji. Each run of line breaks and tabs, with the spaces around it, becomes one
    space; a carriage return is such a break, so `x\\rPASS` is `x PASS` and nothing is overwritten.
    """
    if _is_plain(text) or not ("\n" in text or "\t" in text or re.search(_UNSAFE, text)):
        return text
    return re.sub(_BREAK, " ", _bare(text))


def printable(text: str) -> str:
    """`text` as safe lines for a terminal: as `one_line`, but tabs stay and each break is a `\\n`.

    `\\r\\n` is one break; so is a run of carriage returns, whatever it would have overwritten.
    """
    if _is_plain(text) or not re.search(_UNSAFE, text):
        return text
    return re.sub(_LINE_END, "\n", _bare(text))


def visible(text: str) -> str:
    """`text` for a person who must judge it: nothing dropped, every unseen character as an escape.

    `\\x1b`, `\\u202e`, `\\t`: as Python writes them. Newlines stay newlines. Blanks other than the plain
    space are shown too, since a shell does not read them as it looks. Backslashes are left as they are.
    """
    if _is_plain(text):
        return text
    return "".join(char if char == "\n" or _shows(char) else _escaped(char) for char in text)


def disarm(text: str) -> str:
    """`text` in which no tag of the harness begins: the `<` of such a tag becomes `‹`.

    Holds for `reminder`, `system-reminder` and `plan`, opening or closing, in any case, with blanks or
    unseen characters before the name. Use it after `one_line`, which takes them out of the name itself.
    """
    return re.sub(_TAG, "‹", text) if "<" in text else text


def cells(text: str) -> int:
    """The width of single-line `text` in terminal cells. Controls count 0: make the text safe first."""
    if _is_plain(text):
        return len(text)
    return sum(map(_cluster_cells, clusters(text)))


def clusters(text: str) -> Iterator[str]:
    """The characters as a person counts them, in order; joined, they are `text`.

    Close to UAX #29: marks, selectors, emoji sequences, flags, Hangul syllables and the conjuncts of
    Indian scripts stay together.
    """
    start = 0
    for index in range(1, len(text)):
        if not _joins(text, start, index):
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def fit(text: str, width: int) -> str:
    """`text` if it takes at most `width` cells, else its beginning and one `…`; "" for no width.

    `text` is one safe line. It is cut between clusters, so the result may be a cell narrower.
    """
    if width <= 0:
        return ""
    if _is_plain(text):
        return text if len(text) <= width else text[: width - 1] + "…"
    used = kept = position = 0
    for cluster in clusters(text):
        used += _cluster_cells(cluster)
        if used > width:
            return text[:kept] + "…"
        position += len(cluster)
        if used < width:
            kept = position
    return text


def pad(text: str, width: int) -> str:
    """`text` in exactly `width` cells: fitted, then filled with spaces on the right."""
    fitted = fit(text, width)
    return fitted + " " * (width - cells(fitted))


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _mend(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _bare(text: str) -> str:
    return re.sub(_BARE, "", re.sub(_ESCAPE, "", _mend(text)))


def _shows(char: str) -> bool:
    return char == " " or (char.isprintable() and not is_blank(char))


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _joins(text: str, start: int, index: int) -> bool:
    """Whether the character at `index` belongs to the cluster that begins at `start`."""
    char, before = text[index], text[index - 1]
    if char < "\u0300" or category(before) in ("Cc", "Zl", "Zp"):
        return False
    if _extends(char):
        return True
    if _is_modifier(char) or before == "\u200d":
        return bool(re.match(_IS_EMOJI, char) and re.match(_IS_EMOJI, text[start]))
    if _is_regional(char):
        return index == start + 1 and _is_regional(before)
    return _composes(before, char) or (_is_virama(before) and category(char) == "Lo")


def _extends(char: str) -> bool:
    return (
        category(char) in ("Mn", "Me", "Mc")
        or char in ("\u200c", "\u200d")
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_modifier(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_virama(char: str) -> bool:
    """Whether `char` makes the consonant after it part of a conjunct (UAX #29 GB9c, Indian scripts)."""
    return "\u0900" <= char <= "\u0d7f" and combining(char) == 9


def _composes(before: str, char: str) -> bool:
    """Whether two Hangul letters share a cell pair: a vowel or final joins what is before it.

    Two initials stay apart, unlike in UAX #29: a terminal draws each in two cells.
    """
    return _is_following(char) and (_is_leading(before) or _is_following(before) or _is_syllable(before))


def _is_leading(char: str) -> bool:
    return "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c"


def _is_following(char: str) -> bool:
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7fb"


def _is_syllable(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3"


def _cluster_cells(cluster: str) -> int:
    first = cluster[0]
    if len(cluster) == 1:
        return 2 if _is_regional(first) else _char_cells(first)
    if _is_regional(first) or (re.match(_IS_EMOJI, first) and _is_drawn_as_emoji(cluster)):
        return 2
    if first in "#*0123456789©®‼⁉™ℹ" and cluster[1] == "\ufe0f":
        return 2
    return min(sum(map(_char_cells, cluster)), 2)


def _is_drawn_as_emoji(cluster: str) -> bool:
    return any(char in ("\u200d", "\ufe0f") or _is_modifier(char) for char in cluster[1:])


def _char_cells(char: str) -> int:
    if char < "\u0300":
        return 0 if char < " " or "\x7f" <= char < "\xa0" else 1
    kind = category(char)
    if kind in ("Mn", "Me", "Zl", "Zp") or _is_following(char):
        return 0
    if kind == "Cf":
        return 1 if char in _DRAWN_FORMATS else 0
    if kind == "Cn":
        # Python's tables may be older than the terminal's: what they lack here is emoji or Han.
        return 2 if "\U0001f300" <= char <= "\U0001faff" or "\U00020000" <= char <= "\U0003ffff" else 1
    return 2 if east_asian_width(char) in ("W", "F") else 1


_DRAWN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Signs that enclose the digits after them: format characters by category, yet drawn."""


def counted(number: int, noun: str) -> str:
    """`1 call`, `2 calls`, `1,680 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
