"""Makes docs/terminal.svg: the prompt in a pseudo-terminal, a real run, and what was on its screen.

    python docs/terminal/make.py

Needs pexpect and pyte (the `dev` group), no key and no network.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pexpect
import pyte
from pyte.screens import Char

ROOT = Path(__file__).resolve().parents[2]
JOB = ROOT / "docs" / "terminal" / "job.json"
TARGET = ROOT / "docs" / "terminal.svg"
COLUMNS, ROWS = 92, 40
PATIENCE = 30.0

CELL, LINE, SIZE, EDGE, BAR = 8.4, 19, 14, 16, 30
COLOURS = {
    "default": "#d7dae0",
    "red": "#e5676f",
    "green": "#8fc37a",
    "brown": "#d9b36c",
    "yellow": "#d9b36c",
    "blue": "#6aa8e8",
    "magenta": "#c08add",
    "cyan": "#5bb8c4",
}
_FAINT = "#7d838f"
_BLANK = "\N{NO-BREAK SPACE}"
"""Browsers draw several ordinary ones as one."""
_dims = re.compile(rb"\x1b\[([0-9;]*)m")


class Sitting:
    """Somebody at a terminal in front of the prompt."""

    def __init__(self, directory: Path, home: Path) -> None:
        self._screen = pyte.HistoryScreen(COLUMNS, ROWS, history=1_000, ratio=0.001)
        self._stream = pyte.ByteStream(self._screen)
        environ = {
            **os.environ,
            "TERM": "xterm-256color",
            "XTERM_VERSION": "pyte",
            "HOME": str(directory.parent),
            "ONPLAN_HOME": str(home),
            "PYTHONPATH": str(ROOT / "src"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        for name in ("NO_COLOR", "COLUMNS", "MODEL_ID", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            environ.pop(name, None)
        self._process = pexpect.spawn(
            sys.executable,
            ["-m", "onplan", "--model", f"script:{JOB}"],
            dimensions=(ROWS, COLUMNS),
            env=environ,
            cwd=str(directory),
        )

    def types(self, text: str) -> None:
        for character in text:
            self._process.send(character)
            self._read(0.01)

    def sees(self, text: str) -> None:
        until = time.monotonic() + PATIENCE
        while not any(text in row for row in self._screen.display):
            if time.monotonic() > until:
                raise SystemExit(f"{text!r} did not come:\n" + "\n".join(self._screen.display))
            self._read(0.1)

    def leaves(self) -> None:
        self._process.send("\x04")
        until = time.monotonic() + PATIENCE
        while self._read(0.5) and time.monotonic() < until:
            pass
        self._process.close(force=True)

    def rows(self) -> list[list[Char]]:
        """What scrolled away and what is on the screen, without the blank rows at the end."""
        kept = [*self._screen.history.top, *(self._screen.buffer[y] for y in range(ROWS))]
        rows = [[row[x] for x in range(COLUMNS)] for row in kept]
        while rows and not _text(rows[-1]).strip():
            rows.pop()
        return rows

    def _read(self, seconds: float) -> bool:
        try:
            data = self._process.read_nonblocking(65_536, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self._stream.feed(_dims.sub(_with_faint, data))
        return True


def _with_faint(code: re.Match[bytes]) -> bytes:
    """pyte knows no faint text: it is carried as blinking, which onplan never sends."""
    numbers = [b"5" if number == b"2" else number for number in code[1].split(b";")]
    return b"\x1b[" + b";".join(numbers) + b"m"


def _text(row: list[Char]) -> str:
    return "".join(cell.data for cell in row)


# --- the picture ------------------------------------------------------------------------------------


def svg(rows: list[list[Char]]) -> str:
    """The rows as a picture that needs no font but a monospaced one."""
    width = round(COLUMNS * CELL + 2 * EDGE)
    height = BAR + 8 + len(rows) * LINE + EDGE
    dots = "".join(
        f'<circle cx="{EDGE + 6 + n * 18}" cy="{BAR / 2}" r="5.5" fill="{colour}"/>'
        for n, colour in enumerate(("#e5676f", "#d9b36c", "#8fc37a"))
    )
    lines = "\n".join(
        f'<text y="{BAR + 8 + n * LINE + SIZE}">{"".join(_spans(row))}</text>' for n, row in enumerate(rows)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="A session of onplan in a terminal">\n'
        f'<rect width="{width}" height="{height}" rx="9" fill="#1b1e24"/>\n{dots}\n'
        f'<rect y="{BAR}" width="{width}" height="1" fill="#2a2e37"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" '
        f'font-size="{SIZE}">\n{lines}\n</g>\n</svg>\n'
    )


def _spans(row: list[Char]) -> Iterator[str]:
    """Cells of one style together, each at its column: fonts differ in the width of what is not ASCII."""
    start = 0
    cells = row[: max((x + 1 for x, cell in enumerate(row) if cell.data.strip()), default=1)]
    for x in range(1, len(cells) + 1):
        if x < len(cells) and _style(cells[x]) == _style(cells[start]) and cells[x].data.isascii():
            continue
        text = "".join(cell.data for cell in cells[start:x])
        if text.strip():
            shown = escape(text).replace(" ", _BLANK)
            yield f'<tspan x="{EDGE + start * CELL:.1f}"{_style(cells[start])}>{shown}</tspan>'
        start = x


def _style(cell: Char) -> str:
    colour = COLOURS.get(cell.fg, COLOURS["default"])
    if cell.blink and cell.fg == "default":
        colour = _FAINT
    weight = ' font-weight="bold"' if cell.bold else ""
    return f' fill="{colour}"{weight}'


# --- the session ------------------------------------------------------------------------------------


def session(directory: Path, home: Path) -> list[list[Char]]:
    """A bug is mended: planning and reading are allowed, a change is looked at, then the tests are run.

    Answers what is to be seen when the change is asked about; the job is done to its end all the same.
    """
    someone = Sitting(directory, home)
    someone.sees("/help lists")
    someone.sees("›")
    someone.types("Levels in lower case, such as warn, are not counted. Mend that.\r")
    someone.sees("p/r/e/n ›")
    someone.types("p")
    someone.sees("re.IGNORECASE")
    someone.sees("/n ›")
    rows = someone.rows()
    for asked in ("warn disk", "pytest -q"):
        someone.types("y")
        someone.sees(asked)
        someone.sees("/n ›")
    someone.types("y")
    someone.sees("holds it.")
    someone.sees("3/3 done · ")
    someone.leaves()
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "tidemark"
        shutil.copytree(ROOT / "examples" / "project", directory)
        (directory / "README.md").unlink(missing_ok=True)
        rows = session(directory, Path(folder) / "home")
    TARGET.write_text(svg(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
