"""The `bash` tool against a real shell; after every test nothing that it started may be alive."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.errors import ToolError
from onplan.messages import Call
from onplan.tools.capture import Capture
from onplan.tools.processes import read_processes
from onplan.tools.shell import Shell, bash
from onplan.toolset import Ctx, ToolOutput, Toolset

T = TypeVar("T")
PYTHON = sys.executable
HANG = 30.0


async def returns(work: Awaitable[T]) -> T:
    """`work`, unless it hangs."""
    async with asyncio.timeout(HANG):
        return await work


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG):
        while not true():
            await asyncio.sleep(0.01)


def alive_with(tag: str) -> list[int]:
    found: list[int] = []
    for directory in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if directory.name.isdecimal() and tag.encode() in (directory / "environ").read_bytes():
                found.append(int(directory.name))
    return found


@pytest.fixture
def tag(request: pytest.FixtureRequest) -> str:
    return f"SHELL_TEST_{os.getpid()}_{id(request)}_{time.monotonic_ns()}"


@pytest.fixture
def env(tag: str, tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "SHELL_TEST": tag, "HOME": str(tmp_path), "PYTHON": PYTHON}


@pytest.fixture
async def shell(tmp_path: Path, env: dict[str, str], tag: str) -> AsyncIterator[Shell]:
    shell = Shell(tmp_path, env=env)
    yield shell
    await returns(shell.close())
    assert alive_with(tag) == []


@pytest.fixture
async def brisk(tmp_path: Path, env: dict[str, str], tag: str) -> AsyncIterator[Shell]:
    """For tests that only wait while it waits: what it does is the same."""
    shell = Shell(tmp_path, env=env, grace=0.1, settle=0.05)
    yield shell
    await returns(shell.close())
    assert alive_with(tag) == []


# --- what an answer looks like ----------------------------------------------------------------------


async def test_a_small_output_is_unchanged_and_the_exit_code_is_the_last_line(shell: Shell):
    output = await returns(shell.run("printf ' a\\tb \\r\\n\\n\\303\\251\\n'"))
    assert output.content == " a\tb \r\n\né\nexit code: 0"
    assert not output.is_error


async def test_the_exit_code_has_its_own_line_after_output_without_a_line_end(shell: Shell):
    assert (await returns(shell.run("printf hi"))).content == "hi\nexit code: 0"


async def test_an_empty_output_is_said(shell: Shell):
    assert (await returns(shell.run("true"))).content == "(no output)\nexit code: 0"


async def test_details_are_for_code(shell: Shell):
    details = (await returns(shell.run("echo hi; exit 7"))).details or {}
    seconds = details.pop("seconds")
    assert isinstance(seconds, float)
    assert details == {"exit_code": 7, "timed_out": False, "omitted": 0, "background": []}


async def test_a_failing_command_is_a_normal_result_with_all_its_output(shell: Shell):
    output = await returns(shell.run("seq 1 50; exit 3"))
    lines = "".join(f"{number}\n" for number in range(1, 51))
    assert (output.content, output.is_error) == (f"{lines}exit code: 3", False)


async def test_stderr_and_stdout_are_merged_in_order(shell: Shell):
    output = await returns(shell.run("echo 1; echo 2 >&2; echo 3; echo 4 >&2"))
    assert output.content == "1\n2\n3\n4\nexit code: 0"


async def test_the_same_command_gives_the_same_bytes(shell: Shell):
    first = await returns(shell.run("sleep 0.2; echo x"))
    assert (await returns(shell.run("sleep 0.01; echo x"))).content == first.content


@pytest.mark.parametrize(
    ("command", "code"), [("kill -9 $$", 137), ("kill -TERM $$", 143), ("no_such_command_here", 127)]
)
async def test_exit_codes_are_those_of_a_shell(shell: Shell, command: str, code: int):
    assert (await returns(shell.run(command))).content.endswith(f"\nexit code: {code}")


@pytest.mark.parametrize("command", ["if", "echo 'a", 'echo "a', "(", "echo )"])
async def test_a_syntax_error_is_an_answer(shell: Shell, command: str):
    output = await returns(shell.run(command))
    assert re.fullmatch(r"(?s)bash: .*line \d.*\nexit code: [12]", output.content)


async def test_a_command_sees_the_shell_as_if_it_were_alone(shell: Shell):
    command = 'echo "$0 $#"; set -x; cd .; set +x; trap "echo bye" EXIT; cat <<END\n\'$-\'\nEND'
    output = await returns(shell.run(command))
    assert output.content == "bash 0\n++ cd .\n++ set +x\n'hBc'\nbye\nexit code: 0"


async def test_quotes_newlines_comments_and_backslashes_arrive_as_written(shell: Shell):
    output = await returns(shell.run("echo 'it'\\''s' \"$(echo '\"')\"\necho b # comment\necho c\\\n"))
    assert output.content == "it's \"\nb\nc\nexit code: 0"


async def test_bytes_that_are_no_utf8_become_replacement_marks(shell: Shell):
    assert (await returns(shell.run("printf 'caf\\351\\n'"))).content == "caf�\nexit code: 0"


# --- input and environment --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("cat", "(no output)\nexit code: 0"),
        ('read x; echo "got:$x"', "got:\nexit code: 0"),
        ("readlink /proc/self/fd/0", "/dev/null\nexit code: 0"),
        ("(exec </dev/tty) 2>/dev/null || echo none", "none\nexit code: 0"),
        (
            'echo "$GIT_TERMINAL_PROMPT $GIT_EDITOR $PAGER $GIT_PAGER"',
            "0 true cat cat\nexit code: 0",
        ),
    ],
)
async def test_nothing_waits_for_input(shell: Shell, command: str, content: str):
    assert (await returns(shell.run(command))).content == content


@pytest.mark.parametrize("command", ['"$PYTHON" -c "input()"', 'cat </dev/null; "$PYTHON" -c "input()"'])
async def test_a_program_that_asks_fails_at_once(shell: Shell, command: str):
    output = await returns(shell.run(command))
    assert output.content.endswith("EOFError: EOF when reading a line\nexit code: 1")


async def test_git_commit_without_a_message_returns(tmp_path: Path, env: dict[str, str], shell: Shell):
    identity = {
        f"GIT_{who}_{what}": f"{who.lower()}@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    own = Shell(tmp_path, env={**env, **identity, "GIT_EDITOR": "vi"})
    await returns(own.run("git init -q repository && cd repository"))
    output = await returns(own.run("git commit --allow-empty"))
    assert output.content.endswith("Aborting commit due to empty commit message.\nexit code: 1")
    await own.close()


async def test_descriptors_of_the_harness_are_not_inherited(shell: Shell):
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    output = await returns(shell.run("ls /proc/self/fd"))
    os.close(read_end)
    os.close(write_end)
    assert output.content == "0\n1\n2\n3\nexit code: 0"  # 3 is the directory that `ls` reads


async def test_without_bash_sh_runs_the_command(tmp_path: Path, env: dict[str, str], tag: str):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "sh").symlink_to("/bin/sh")
    shell = Shell(tmp_path, env={**env, "PATH": str(programs)})
    output = await returns(shell.run('echo "$0"; cd bin; exit 4'))
    assert output.content == "sh\nexit code: 4"
    assert shell.cwd == programs.resolve()
    assert alive_with(tag) == []


# --- the working directory --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "cd sub",
        "cd sub; false",
        "cd sub && exit 3",
        "cd sub; exit",
        "set -e; cd sub; false; cd ..",
        "set -x; set -C; set -u; cd sub",
        "trap 'echo own' EXIT; cd sub",
        "f() { cd sub; }; f",
        "pushd sub >/dev/null",
        "cd sub; (cd ..)",
        "cd sub; exec >/dev/null 2>&1",
        "cd sub; if",
        "cd link",
    ],
)
async def test_a_cd_holds_for_the_next_call(shell: Shell, tmp_path: Path, command: str):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    if command == "cd sub; if":  # a line that does not parse runs no part of itself
        await returns(shell.run(command))
        assert shell.cwd == tmp_path
        return
    await returns(shell.run(command))
    output = await returns(shell.run("pwd"))
    assert output.content == f"{(tmp_path / 'sub').resolve()}\nexit code: 0"


@pytest.mark.parametrize("name", ["with space", "it's", 'quote"d', "line\nbreak", "é", "-dash"])
async def test_any_directory_name_is_kept(shell: Shell, tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    await returns(shell.run(f"cd -- '{name}'" if "'" not in name else f'cd -- "{name}"'))
    assert shell.cwd == (tmp_path / name).resolve()


async def test_variables_are_not_kept(shell: Shell):
    await returns(shell.run("export KEPT=1"))
    assert (await returns(shell.run('echo "<$KEPT>"'))).content == "<>\nexit code: 0"


async def test_a_vanished_directory_is_said_and_the_root_is_used(shell: Shell, tmp_path: Path):
    await returns(shell.run("mkdir gone; cd gone; rmdir ../gone"))
    gone = tmp_path.resolve() / "gone"
    output = await returns(shell.run("pwd -P"))
    assert output.content == (
        f"{tmp_path.resolve()}\n(the working directory {gone} is gone: this ran in {tmp_path})\nexit code: 0"
    )
    assert (await returns(shell.run("true"))).content == "(no output)\nexit code: 0"


async def test_a_missing_root_is_an_error_that_names_it(tmp_path: Path):
    missing = tmp_path / "missing"
    with pytest.raises(
        ToolError, match=re.escape(f"could not start: the project directory {missing} does not exist")
    ):
        await Shell(missing).run("true")


async def test_two_shells_side_by_side_do_not_mix(tmp_path: Path, env: dict[str, str], tag: str):
    shells = [Shell(tmp_path, env=env, settle=0.05) for _ in range(2)]
    for name in "ab":
        (tmp_path / name).mkdir()

    async def work(shell: Shell, name: str) -> list[str]:
        outputs = [await shell.run(f"cd {name}; sleep 300 & echo {name}")]
        outputs += [await shell.run("basename $PWD; sleep 0.05") for _ in range(3)]
        return [output.content.splitlines()[0] for output in outputs]

    lines = await returns(asyncio.gather(work(shells[0], "a"), work(shells[1], "b")))
    assert lines == [["a"] * 4, ["b"] * 4]
    assert len(await returns(shells[0].close())) == 1
    assert (shells[0].survivors, len(shells[1].survivors)) == ([], 1)
    await returns(shells[1].close())
    assert alive_with(tag) == []


# --- background children ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & echo started",
        "setsid sleep 300 & echo started",
        "(setsid sleep 300 &); echo started",
        "(env -i setsid sleep 300 &); echo started",
        "sleep 300 >/dev/null 2>&1 & echo started",
        "nohup sleep 300 >/dev/null 2>&1 & disown; echo started",
        "set -m; sleep 300 & echo started",
    ],
)
async def test_a_background_child_is_named_kept_and_ended_at_close(
    brisk: Shell, tmp_path: Path, command: str
):
    await returns(brisk.run("true"))
    output = await returns(brisk.run(command, timeout=25))
    (survivor,) = brisk.survivors
    assert output.content == (
        f"started\n(still running in the background: {survivor.pid} sleep 300; what they print from now on "
        "is lost unless it goes to a file)\nexit code: 0"
    )
    assert (output.details or {})["background"] == [survivor.pid]
    assert (await returns(brisk.run("echo next"))).content == "next\nexit code: 0"
    assert await returns(brisk.close()) == [survivor]
    assert survivor.pid not in read_processes()
    assert await returns(brisk.close()) == []


async def test_late_output_is_dropped_and_does_not_end_who_writes_it(brisk: Shell, tmp_path: Path):
    late = "(while ! test -e go; do sleep 0.02; done; seq 1 100000; echo done >wrote; sleep 300) & echo now"
    output = await returns(brisk.run(late))
    assert output.content.startswith("now\n(still running in the background: ")
    (tmp_path / "go").touch()
    await until((tmp_path / "wrote").exists)
    assert len(brisk.survivors) >= 1


async def test_a_child_that_ends_by_itself_is_no_survivor(brisk: Shell):
    await returns(brisk.run("sleep 0.4 >/dev/null & echo started"))
    assert len(brisk.survivors) == 1
    await until(lambda: brisk.survivors == [])
    assert await returns(brisk.close()) == []


async def test_a_child_that_was_killed_is_not_named(shell: Shell):
    output = await returns(shell.run("sleep 300 & kill $!; echo ok"))
    assert output.content == "ok\nexit code: 0"


async def test_many_survivors_are_counted_not_listed(brisk: Shell):
    output = await returns(brisk.run("for n in 1 2 3 4 5 6 7; do sleep 300 & done"))
    assert " and 2 more; " in output.content
    assert len(await returns(brisk.close())) == 7


async def test_close_ends_what_ignores_term(brisk: Shell):
    await returns(brisk.run("bash -c 'trap \"\" TERM; echo up; sleep 300; sleep 300' >log & sleep 0.2"))
    assert len(brisk.survivors) == 2
    await returns(brisk.close())
    assert brisk.survivors == []


# --- timeouts ---------------------------------------------------------------------------------------

STOPPED = (
    "(stopped with everything it had started: pass a longer timeout, at most 600, "
    "or start it with & and its output in a file)"
)


TREES = [
    "echo before; sleep 300; echo after",
    "echo before; (sleep 300 | cat)",
    "echo before; bash -c 'trap \"\" TERM; (sleep 300) & sleep 300'",
    "echo before; setsid sleep 300 & setsid sleep 300 & sleep 300",
    "echo before; setsid setsid bash -c 'trap \"\" TERM; sleep 300; sleep 300' & sleep 300",
    "echo before; (env -i sleep 300 & env -i setsid sleep 300 & wait)",
    "echo before; kill -STOP $$",
    "trap '' TERM; echo before; while true; do sleep 0.01; done",
]


async def test_a_timeout_ends_the_whole_tree_and_keeps_the_output(
    tmp_path: Path, env: dict[str, str], tag: str
):
    children_before = children()  # another test of this process may have left a helper of its own running
    shells = [Shell(tmp_path, env=env, grace=0.1, settle=0.05) for _ in TREES]
    # Side by side, as each of them only waits; none may end what belongs to another.
    runs = [shell.run(command, timeout=1) for shell, command in zip(shells, TREES, strict=True)]
    outputs = dict(zip(TREES, await returns(asyncio.gather(*runs)), strict=True))
    contents = {
        command: re.sub(r"(?m)^(bash|setsid): .*\n", "", output.content)
        for command, output in outputs.items()
    }
    ends = [(output.is_error, *facts(output, "timed_out", "exit_code")) for output in outputs.values()]
    assert contents == dict.fromkeys(TREES, f"before\n{STOPPED}\ntimed out after 1 s, exit code: 124")
    assert ends == [(True, True, 124)] * len(TREES)
    assert alive_with(tag) == []
    assert children() - children_before == set()


def children() -> set[int]:
    return {pid for pid, entry in read_processes().items() if entry.parent == os.getpid()}


def facts(output: ToolOutput, *names: str) -> list[Any]:
    return [(output.details or {})[name] for name in names]


async def test_what_a_command_says_while_it_is_stopped_is_kept(shell: Shell):
    output = await returns(shell.run("trap 'echo stopping; exit' TERM; sleep 300 & wait", timeout=0.5))
    assert output.content.startswith("stopping\n")


async def test_the_default_timeout_counts_where_none_is_given(tmp_path: Path, env: dict[str, str], tag: str):
    shell = Shell(tmp_path, env=env, default_timeout=0.3)
    output = await returns(shell.run("sleep 300"))
    assert output.content.endswith("timed out after 0.3 s, exit code: 124")
    assert alive_with(tag) == []


async def test_a_timeout_above_the_longest_is_lowered_and_said(shell: Shell):
    output = await returns(shell.run("echo hi", timeout=10**400))
    assert output.content == "hi\n(timeout lowered to 600 s, the longest allowed)\nexit code: 0"


@pytest.mark.parametrize("timeout", [0, -1, -0.0, math.nan, math.inf, -math.inf, True, "60", [], {}])
async def test_a_timeout_that_is_no_positive_number_is_refused(shell: Shell, timeout: Any):
    with pytest.raises(ToolError, match="timeout must be a number of seconds above 0 and at most 600, not"):
        await shell.run("echo hi", timeout=timeout)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "the command is empty: pass the command line to run"),
        (" \n\t", "the command is empty: pass the command line to run"),
        ("echo a\0b", "the command holds a NUL character: remove it, or write it as an escape"),
        (
            "echo " + "a" * 3_000_000,
            "could not start: Argument list too long: write the command to a file and run that",
        ),
    ],
)
async def test_a_command_that_cannot_run_is_refused(shell: Shell, command: str, message: str):
    with pytest.raises(ToolError) as caught:
        await returns(shell.run(command))
    assert str(caught.value) == message


# --- cancellation -----------------------------------------------------------------------------------

WORK = "echo a >f; echo partial; setsid sleep 300 & sleep 300; echo b >>f"


async def started(shell: Shell, tmp_path: Path, command: str = WORK) -> asyncio.Task[ToolOutput]:
    seen: list[str] = []
    task = asyncio.create_task(shell.run(command, progress=seen.append))
    await until(lambda: "partial\n" in "".join(seen))
    return task


async def test_a_cancelled_command_is_ended_and_its_output_not_lost(shell: Shell, tmp_path: Path, tag: str):
    task = await started(shell, tmp_path)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await returns(task)
    assert vars(caught.value)["partial"] == "partial\n"
    assert 0 < vars(caught.value)["seconds"] < HANG
    assert task.cancelled()
    assert (tmp_path / "f").read_text() == "a\n"
    assert alive_with(tag) == []
    assert (await returns(shell.run("echo next"))).content == "next\nexit code: 0"


async def test_the_attributes_are_on_the_error_that_comes_out_of_the_tool(shell: Shell, tmp_path: Path):
    tools = Toolset([bash], {"shell": lambda _: shell})
    seen: list[str] = []
    call = Call("1", "bash", {"command": WORK})
    task = asyncio.create_task(tools.call(call, Ctx("1", seen.append)))
    await until(lambda: "partial\n" in seen)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await returns(task)
    assert vars(caught.value)["partial"] == "partial\n"


async def test_cancelling_again_and_again_still_ends_what_ignores_term(
    brisk: Shell, tmp_path: Path, tag: str
):
    command = "trap '' TERM; echo partial; setsid sleep 300 & while true; do sleep 0.01; done"
    task = await started(brisk, tmp_path, command)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0.02)
    assert task.cancelled()
    assert alive_with(tag) == []


async def test_a_timeout_around_the_call_is_a_timeout(shell: Shell, tag: str):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await shell.run("sleep 300")
    assert alive_with(tag) == []


async def test_a_task_group_ends_the_call_when_a_sibling_fails(shell: Shell, tag: str):
    async def fail() -> None:
        await asyncio.sleep(0.3)
        raise ValueError("sibling")

    calls: list[asyncio.Task[ToolOutput]] = []

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            calls.append(group.create_task(shell.run("sleep 300")))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup) as caught:
        await returns(together())
    assert [str(error) for error in caught.value.exceptions] == ["sibling"]
    assert calls[0].cancelled()
    assert alive_with(tag) == []


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13])
async def test_a_call_that_is_cancelled_while_it_starts_leaves_nothing(shell: Shell, tag: str, turns: int):
    task = asyncio.create_task(shell.run("setsid sleep 300 & sleep 300"))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await returns(task)
    assert alive_with(tag) == []


# --- large output -----------------------------------------------------------------------------------

MARKER = re.compile(
    r"\n?\[\.\.\. ([\d,]+) characters \(([\d,]+) lines?\) omitted: "
    r"filter the output, or send it to a file and read parts \.\.\.\]\n"
)


def parts(output: ToolOutput) -> tuple[str, int, int, str, str]:
    """Head, omitted characters and lines, tail, and the last line of a cut answer."""
    head, characters, lines, rest = MARKER.split(output.content)
    tail, _, last = rest.rpartition("\n")
    count, line_count = (int(number.replace(",", "")) for number in (characters, lines))
    assert count == (output.details or {})["omitted"]
    return head, count, line_count, tail, last


async def test_of_many_lines_the_beginning_and_the_end_are_kept_whole(shell: Shell):
    output = await returns(shell.run("seq 1 2000000"))
    head, omitted, lines, tail, last = parts(output)
    shown = [int(line) for line in f"{head}\n{tail}".splitlines()]
    assert len(output.content) <= 30_000
    assert (shown[0], shown[-1], last) == (1, 2_000_000, "exit code: 0")
    assert len(shown) + lines == 2_000_000
    assert len(head) + 1 + len(tail) + 1 + omitted == 14_888_896
    assert len(output.content) > 25_000


async def test_one_giant_line_is_cut_too(shell: Shell):
    output = await returns(shell.run('"$PYTHON" -c "print(\'x\' * 5_000_000)"'))
    head, omitted, lines, tail, last = parts(output)
    assert len(output.content) <= 30_000
    assert set(head + tail) == {"x"}
    assert (len(head) + len(tail) + omitted, lines, last) == (5_000_000, 1, "exit code: 0")


async def test_the_cut_is_never_inside_a_character(shell: Shell):
    output = await returns(shell.run('PYTHONUTF8=1 "$PYTHON" -c "print(\'é\' * 40000)"'))
    head, omitted, _, tail, _ = parts(output)
    assert set(head + tail) == {"é"}
    assert len(head) + len(tail) + omitted == 40_000
    assert len(output.content) <= 30_000


async def test_the_last_lines_and_the_exit_code_survive_a_flood(shell: Shell):
    output = await returns(shell.run("seq 1 100000; echo 'the error' >&2; exit 3"))
    assert output.content.endswith("\n100000\nthe error\nexit code: 3")
    assert not output.is_error


@pytest.mark.parametrize("limit", [400, 700, 2000])
async def test_the_whole_answer_obeys_the_limit_with_notes_too(
    tmp_path: Path, env: dict[str, str], tag: str, limit: int
):
    shell = Shell(tmp_path, env=env, limit=limit, settle=0.05)
    output = await returns(shell.run("sleep 300 & seq 1 100000; exit 9", timeout=10_000))
    assert len(output.content) <= limit
    assert output.content.splitlines()[-1] == "exit code: 9"
    assert "characters" in output.content
    assert "timeout lowered to 600 s" in output.content
    await returns(shell.close())
    assert alive_with(tag) == []


def test_a_limit_that_holds_no_answer_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="limit must be at least 400 characters, not 399"):
        Shell(tmp_path, limit=399)


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


async def test_gigabytes_are_drained_in_bounded_memory(shell: Shell, tag: str):
    await returns(shell.run("seq 1 100000"))
    before = resident()
    peak = before

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, resident())
            await asyncio.sleep(0.05)

    watcher = asyncio.create_task(watch())
    output = await returns(shell.run("yes | head -c 3000000000", timeout=1))
    watcher.cancel()
    assert len(output.content) <= 30_000
    assert (output.details or {})["omitted"] > 50_000_000
    assert peak - before < 50_000_000
    assert alive_with(tag) == []


async def test_an_endless_flood_ends_by_its_timeout(shell: Shell, tag: str):
    output = await returns(shell.run("yes", timeout=0.5))
    assert output.content.startswith("y\ny\n")
    assert output.content.endswith("y\n" + STOPPED + "\ntimed out after 0.5 s, exit code: 124")
    assert alive_with(tag) == []


async def test_a_flooding_background_child_does_not_hold_the_answer(brisk: Shell):
    output = await returns(brisk.run("yes & exit 5"))
    assert output.content.endswith("\nexit code: 5")
    assert [process.command for process in await returns(brisk.close())] == ["yes"]


# --- live output ------------------------------------------------------------------------------------


async def test_output_is_shown_while_the_command_runs(shell: Shell, tmp_path: Path):
    seen: list[str] = []
    task = asyncio.create_task(
        shell.run("echo one; while ! test -e go; do sleep 0.02; done; printf two", progress=seen.append)
    )
    await until(lambda: seen == ["one\n"])
    (tmp_path / "go").touch()
    await returns(task)
    assert "".join(seen) == "one\ntwo"


async def test_a_character_that_arrives_in_two_pieces_is_shown_whole(shell: Shell):
    seen: list[str] = []
    await returns(shell.run("printf '\\303'; sleep 0.3; printf '\\251'", progress=seen.append))
    assert seen == ["é"]


async def test_a_flood_is_shown_in_few_bounded_pieces_and_to_its_end(shell: Shell):
    seen: list[str] = []
    output = await returns(shell.run("seq 1 2000000", progress=seen.append))
    seconds = (output.details or {})["seconds"]
    assert seen[-1].endswith("\n2000000\n")
    assert max(map(len, seen)) <= 4_000
    assert len(seen) <= seconds / 0.1 + 3


# --- the tool ---------------------------------------------------------------------------------------


async def test_the_model_sees_a_command_and_a_timeout_only():
    assert bash.name == "bash"
    assert set(bash.input_schema["properties"]) == {"command", "timeout"}
    assert bash.input_schema["required"] == ["command"]
    assert bash.injected == ("shell", "ctx")
    assert (bash.read_only, bash.parallel) == (False, False)
    assert len(bash.description) < 600
    described = cast("dict[str, dict[str, Any]]", bash.input_schema["properties"])
    assert all(parameter["description"] for parameter in described.values())


@pytest.mark.parametrize(
    ("arguments", "content", "is_error"),
    [
        ({"command": "echo hi"}, "hi\nexit code: 0", False),
        ({"command": "echo hi; exit 1", "timeout": 25}, "hi\nexit code: 1", False),
        (
            {"command": "sleep 300", "timeout": 0.2},
            f"(no output)\n{STOPPED}\ntimed out after 0.2 s, exit code: 124",
            True,
        ),
        (
            {"command": "echo hi", "timeout": -5},
            "Error: timeout must be a number of seconds above 0 and at most 600, not -5.0",
            True,
        ),
        ({"command": " "}, "Error: the command is empty: pass the command line to run", True),
    ],
)
async def test_the_tool_runs_in_the_injected_shell(
    shell: Shell, arguments: dict[str, Any], content: str, is_error: bool
):
    tools = Toolset([bash], {"shell": lambda _: shell})
    output = await returns(tools.call(Call("1", "bash", arguments), Ctx("1")))
    assert (output.content, output.is_error) == (content, is_error)


# --- the capture ------------------------------------------------------------------------------------


@st.composite
def pieces_of_bytes(draw: st.DrawFn) -> list[bytes]:
    alphabet = st.sampled_from(["a", "\n", "\r\n", "é", "€", "😀", "\0", "word word\n"])
    text = "".join(draw(st.lists(alphabet, max_size=400))).encode()
    data = text + draw(st.binary(max_size=30)) + text[: draw(st.integers(0, 200))]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=30)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def captured(pieces: list[bytes], limit: int) -> tuple[Capture, str]:
    capture = Capture(limit)
    shown = [capture.feed(piece) for piece in pieces]
    shown.append(capture.feed(b"", final=True))
    return capture, "".join(shown)


@given(pieces_of_bytes(), st.integers(1, 600), st.integers(0, 600))
def test_a_capture_depends_on_the_bytes_and_not_on_their_pieces(pieces: list[bytes], limit: int, room: int):
    whole = b"".join(pieces).decode("utf-8", "replace")
    capture, shown = captured(pieces, limit)
    at_once, _ = captured([b"".join(pieces)], limit)
    text, omitted = capture.excerpt(room)
    assert shown == whole
    assert (text, omitted) == at_once.excerpt(room)
    assert len(text) <= min(room, limit) or (text, omitted) == (whole, 0)
    if len(whole) <= min(room, limit):
        assert (text, omitted) == (whole, 0)
        return
    assert omitted > 0
    if text:
        head, _, _, tail = MARKER.split(text, maxsplit=1)
        assert whole.endswith(tail)
        assert whole.startswith(head)
        assert omitted in (len(whole) - len(head) - len(tail), len(whole) - len(head) - len(tail) - 1)


# --- processes --------------------------------------------------------------------------------------


@pytest.fixture
def sleeper(env: dict[str, str]) -> Iterator[int]:
    with subprocess.Popen(["sleep", "300"], env=env) as process:
        yield process.pid
        process.kill()


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_processes_are_read_alike_with_and_without_proc(sleeper: int, tmp_path: Path):
    entry, without = read_processes()[sleeper], read_processes(tmp_path / "none")[sleeper]
    assert (entry.process.command, without.process.command) == ("sleep 300", "sleep 300")
    assert entry.parent == without.parent == os.getpid()
    assert (entry.session, without.session) == (os.getsid(sleeper), os.getpgid(sleeper))
