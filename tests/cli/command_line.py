"""The command line as a person and as a script meet it: in this process, as a process, on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from onplan.cli.main import cli

PATIENCE = 20.0
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A script entry with one call."""
    return {"calls": [{"name": name, "arguments": arguments}]}


def todos(*items: str) -> dict[str, Any]:
    """A plan write: `[ ] text`, `[~] text`, `[x] text`."""
    status = {" ": "pending", "~": "in_progress", "x": "completed"}
    return call("write_todos", todos=[{"content": item[4:], "status": status[item[1]]} for item in items])


def onplan(*arguments: str, input: str = "") -> Result:
    """The command line in this process, without a terminal."""
    return CliRunner().invoke(cli, list(arguments), input=input)


def process(*arguments: str, input: bytes = b"", **more: Any) -> subprocess.CompletedProcess[bytes]:
    """The command line as a process of its own, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "onplan", *arguments],
        input=input,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        **more,
    )


class Person:
    """Somebody at a pseudo-terminal in front of the command line."""

    def __init__(self, *arguments: str, columns: int = 80, colour: bool = False) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # Without colour also not drawn on: lines as the terminal itself reads them.
        environment = dict(os.environ) if colour else {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
        # os.login_tty would need a fork of our own: a Python child takes the terminal and becomes onplan
        takes = "import fcntl,termios,os,sys; fcntl.ioctl(0,termios.TIOCSCTTY,0); os.execv(sys.executable,"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"{takes}[sys.executable,'-m','onplan',*sys.argv[1:]])", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self._buffer = ""
        self.seen = ""

    def sees(self, text: str) -> str:
        """Wait for `text`; answers everything up to and with it that was not seen before."""
        until = time.monotonic() + PATIENCE
        while text not in self._buffer:
            if time.monotonic() > until or not self._more():
                raise AssertionError(f"{text!r} did not come after: {self.seen[-2000:]}{self._buffer}")
        shown, found, self._buffer = self._buffer.partition(text)
        self.seen += shown + found
        return shown + found

    def types(self, text: str) -> None:
        os.write(self._master, text.encode())

    def leaves(self) -> int:
        """Wait for the end; answers the exit code."""
        while self._more():
            pass
        self.seen += self._buffer
        self._buffer = ""
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def _more(self) -> bool:
        if not select.select([self._master], [], [], PATIENCE)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self._buffer += data.decode().replace("\r\n", "\n")
        return bool(data)


def plain(text: str) -> str:
    """Without the colours that we mean to send."""
    return _COLOURS.sub("", text)


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.02)


def running_commands(command: str) -> list[int]:
    """The processes whose command line is `command`."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes() == wanted:
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found
