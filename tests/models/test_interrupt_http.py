"""Ctrl-C while a model answers: the request is aborted, what was said is kept, the session goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from far_side import ANTHROPIC, CHAT, KEY, Server, serving

from onplan.messages import Assistant, Text
from onplan.testing.models import PATIENCE, Hang


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(provider: str) -> Iterator[Server]:
    with serving(CHAT if provider == "openai" else ANTHROPIC) as running:
        yield running


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 2 * PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def test_ctrl_c_aborts_the_request_and_the_session_goes_on(
    provider: str, server: Server, tmp_path: Path
) -> None:
    server.will(Hang("The first half"), Assistant((Text("The second half."),)))
    model = f"{provider}:x@{server.url}{'/v1' if provider == 'openai' else ''}"
    own = {"ONPLAN_HOME": str(tmp_path / "home"), f"{provider.upper()}_API_KEY": KEY}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "onplan", *arguments],
            cwd=tmp_path,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    with start("-p", "Tell me.", "--model", model, "--output-format", "stream-json") as run:
        assert run.stdout is not None
        while b"text_delta" not in (line := run.stdout.readline()):
            assert line, "the run ended before it was told to"
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=2 * PATIENCE)
    assert run.returncode == 130
    _until(lambda: server.aborted == 1)
    with start("resume", "latest", "-p", "Go on.") as again:
        told, _ = again.communicate(timeout=2 * PATIENCE)
    assert (again.returncode, told) == (0, b"The second half.\n")
    assert b"The first half" in server.requests[1]
