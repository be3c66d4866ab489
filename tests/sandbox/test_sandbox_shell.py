"""The `bash` tool in a real sandbox: directory, output, timeouts and what stays alive."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from onplan.errors import ToolError
from onplan.tools.sandbox import Sandbox
from onplan.tools.shell import Shell

HANG = 30.0


@asynccontextmanager
async def shell_in(sandbox: Sandbox, **variables: str) -> AsyncIterator[Shell]:
    env = {**os.environ, "PATH": "/usr/bin:/bin", "LC_ALL": "C", **variables}
    shell = Shell(sandbox.root, env=env, sandbox=sandbox)
    try:
        yield shell
    finally:
        async with asyncio.timeout(HANG):
            await shell.close()


@pytest.fixture
def tag() -> str:
    return f"1{os.urandom(4).hex()}".translate(str.maketrans("abcdef", "012345"))


@pytest.fixture
async def shell(works: None, sandbox: Sandbox) -> AsyncIterator[Shell]:
    async with shell_in(sandbox) as shell:
        yield shell


@pytest.fixture
async def lingering(works: None, sandbox: Sandbox) -> AsyncIterator[Shell]:
    async with shell_in(replace(sandbox, lingering=True)) as shell:
        yield shell


async def content(shell: Shell, command: str, timeout: float | None = None) -> str:
    async with asyncio.timeout(HANG):
        return (await shell.run(command, timeout=timeout)).content


def sleeping(tag: str) -> list[int]:
    """The processes, seen from outside, that sleep for as many seconds as the tag says."""
    found: list[int] = []
    for directory in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                directory.name.isdecimal()
                and (directory / "cmdline").read_bytes() == f"sleep\0{tag}\0".encode()
            ):
                found.append(int(directory.name))
    return found


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG):
        while not true():
            await asyncio.sleep(0.02)


# Every way out that the shell knows from outside, tried from inside.
RUNAWAY = (
    "sleep {tag} & setsid sleep {tag} & env -i setsid sleep {tag} & "
    "(setsid env -i nohup sleep {tag} > /dev/null 2>&1 &) ; "
)


async def test_output_and_exit_code_are_as_without_a_sandbox(shell: Shell):
    assert await content(shell, "printf ' a\\tb\\303\\251'; echo wrong >&2; exit 3") == (
        " a\tbéwrong\nexit code: 3"
    )
    assert await content(shell, "kill -9 $$") == "(no output)\nexit code: 137"


async def test_a_fault_is_told_in_the_same_words_as_without_a_sandbox(shell: Shell, root: Path):
    command = "no-such-program"
    assert await content(shell, command) == await content(Shell(root, env={"PATH": "/usr/bin:/bin"}), command)


async def test_the_shell_keeps_secrets_from_the_command_and_from_what_starts_it(
    works: None, sandbox: Sandbox
):
    async with shell_in(sandbox, MY_TOKEN="a secret of the test", HARMLESS="kept", GIT_PAGER="less") as shell:
        answer = await content(shell, "tr '\\0' '\\n' < /proc/1/environ; env")
    assert "a secret of the test" not in answer
    assert answer.splitlines().count("HARMLESS=kept") == 2
    assert answer.splitlines().count("GIT_PAGER=cat") == 2


async def test_a_protected_name_that_became_a_link_is_told_and_nothing_runs(shell: Shell, root: Path):
    (root / ".claude").symlink_to(root)
    with pytest.raises(
        ToolError, match=r"could not start: the sandbox cannot protect .* because it is a link"
    ):
        await content(shell, "touch ran")
    assert not (root / "ran").exists()


async def test_the_directory_is_kept(shell: Shell, root: Path):
    await content(shell, "mkdir -p a/b && cd a/b")
    assert shell.cwd == root / "a/b"
    assert await content(shell, "pwd") == f"{root}/a/b\nexit code: 0"
    await content(shell, "cd /usr; exit 1")
    assert await content(shell, "pwd") == "/usr\nexit code: 0"


async def test_a_directory_that_was_only_inside_is_told_as_gone(shell: Shell, root: Path, tag: str):
    await content(shell, f"mkdir /tmp/{tag} && cd /tmp/{tag}")
    answer = await content(shell, "pwd")
    assert answer == (f"{root}\n(the working directory /tmp/{tag} is gone: this ran in {root})\nexit code: 0")


async def test_the_file_for_the_directory_cannot_be_made_something_else(shell: Shell, root: Path):
    command = "record=$(find /tmp -maxdepth 1 -name 'onplan-cwd-*'); rm -f $record; mv $record moved; "
    answer = await content(shell, command + "ln -sf /etc/hostname $record; test -f $record && echo a file")
    assert "a file" in answer
    assert shell.cwd == root


async def test_a_timeout_ends_everything_inside(shell: Shell, tag: str):
    answer = await content(shell, RUNAWAY.format(tag=tag) + f"sleep {tag}", timeout=1)
    assert answer.endswith("timed out after 1 s, exit code: 124")
    await until(lambda: not sleeping(tag))


async def test_a_timeout_ends_everything_inside_that_could_linger(lingering: Shell, tag: str):
    answer = await content(lingering, RUNAWAY.format(tag=tag) + f"sleep {tag}", timeout=1)
    assert answer.endswith("timed out after 1 s, exit code: 124")
    assert sleeping(tag) == []
    assert lingering.survivors == []


async def test_a_cancelled_command_ends_with_everything_inside(shell: Shell, tag: str):
    task = asyncio.create_task(shell.run(f"setsid sleep {tag} & sleep {tag}"))
    await until(lambda: len(sleeping(tag)) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not sleeping(tag))


async def test_what_is_left_in_the_background_ends_with_the_command(shell: Shell, tag: str):
    assert await content(shell, RUNAWAY.format(tag=tag) + "echo done") == "done\nexit code: 0"
    await until(lambda: not sleeping(tag))
    assert shell.survivors == []


async def test_what_may_linger_is_told_and_ends_with_the_session(lingering: Shell, tag: str):
    answer = await content(lingering, RUNAWAY.format(tag=tag) + "echo done")
    running = sorted(sleeping(tag))
    listed = ", ".join(f"{pid} sleep {tag}" for pid in running)
    assert len(running) == 4
    assert answer == (
        f"done\n(still running in the background: {listed}; later commands cannot see or stop them, they end "
        "with the session; what they print from now on is lost unless it goes to a file)\nexit code: 0"
    )
    assert [process.pid for process in lingering.survivors] == running
    assert [process.pid for process in await lingering.close()] == running
    assert sleeping(tag) == []


async def test_a_command_that_may_linger_is_asked_to_end_before_it_is_killed(lingering: Shell, root: Path):
    command = "bash -c 'trap \"echo asked > heard; exit\" TERM; while :; do sleep 0.1; done'"
    await content(lingering, command, timeout=1)
    assert (root / "heard").read_text() == "asked\n"


async def test_everything_ends_when_the_process_that_runs_the_sandbox_is_killed(
    works: None, sandbox: Sandbox, root: Path, tag: str
):
    inside = sandbox.wrap(["bash", "-c", f"setsid sleep {tag} & sleep {tag}"], cwd=root)
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:])"), *inside
    )
    await until(lambda: len(sleeping(tag)) == 2)
    parent.kill()
    await parent.wait()
    await until(lambda: not sleeping(tag))


async def test_a_temporary_folder_of_the_session_is_kept_from_command_to_command(
    works: None, sandbox: Sandbox, tmp_path: Path
):
    temporary = tmp_path / "session"
    temporary.mkdir(mode=0o700)
    async with shell_in(replace(sandbox, temporary=temporary)) as shell:
        await content(shell, "echo 1 > /tmp/note")
        assert await content(shell, "cat /tmp/note") == "1\nexit code: 0"
    assert (temporary / "note").read_text() == "1\n"
    assert list(temporary.glob("onplan-cwd-*")) == []
    assert stat.S_IMODE(temporary.stat().st_mode) == 0o700
