"""What a sandboxed command sees of processes, network and environment, and what it gives back."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.tools.sandbox import Sandbox

Run = Callable[..., subprocess.CompletedProcess[str]]
SECRET_NAMES = """
ANTHROPIC_API_KEY OPENAI_API_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GITHUB_TOKEN
GH_TOKEN npm_config__authToken NPM_CONFIG__AUTH PGPASSWORD MYSQL_PWD DB_PASS SUDO_PASSWD PASSPHRASE
GOOGLE_APPLICATION_CREDENTIALS AZURE_DEVOPS_EXT_PAT SENTRY_DSN SLACK_WEBHOOK_URL SESSION_COOKIE MY_JWT
SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DISPLAY XAUTHORITY
XDG_RUNTIME_DIR DOCKER_HOST KUBECONFIG GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
GIT_CONFIG_PARAMETERS api_key Private_Key
"""
OTHER_NAMES = """
PATH PWD OLDPWD LANG LC_ALL TERM USER SHELL EDITOR VIRTUAL_ENV PYTHONPATH GIT_AUTHOR_NAME GIT_EDITOR
GIT_CONFIG_NOSYSTEM PYENV_ROOT CARGO_HOME NODE_ENV SSL_CERT_FILE CI COLUMNS ONPLAN_CALL PASSENGER_APP_ENV
PIP_INDEX_URL HTTP_PROXY COMPASS
"""


# --- results ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("no-such", 127)]
)
def test_the_exit_code_is_that_of_the_command(run: Run, script: str, code: int):
    assert run(script).returncode == code


def test_the_output_is_unchanged(run: Run):
    done = run("printf 'a\\tb \\n\\n\\303\\251'; printf 'wrong' >&2")
    assert (done.stdout, done.stderr) == ("a\tb \n\né", "wrong")


def test_a_command_starts_in_its_directory(run: Run, root: Path):
    (root / "sub").mkdir()
    assert run("pwd", cwd=root / "sub").stdout == f"{root}/sub\n"
    assert run("pwd", cwd=Path("/usr")).stdout == "/usr\n"


@pytest.mark.parametrize("place", [".ssh", "."])
def test_a_directory_that_is_not_inside_becomes_the_root(
    run: Run, sandbox: Sandbox, root: Path, home: Path, place: str
):
    assert not sandbox.shows(home / place)
    assert run("pwd", cwd=home / place).stdout == f"{root}\n"


def test_arguments_are_never_options_of_the_sandbox(works: None, sandbox: Sandbox, root: Path):
    done = subprocess.run(sandbox.wrap(["--version"], cwd=root), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "execvp --version" in done.stderr


# --- processes --------------------------------------------------------------------------------------


def test_processes_outside_are_invisible(run: Run):
    done = run(f"for file in /proc/[0-9]*/comm; do cat $file; done; kill -0 {os.getpid()}")
    assert sorted(set(done.stdout.split())) == ["bash", "bwrap"]
    assert done.returncode == 1


def test_a_command_has_no_rights_of_root(run: Run):
    done = run("grep -h -E 'Cap(Eff|Prm|Bnd)' /proc/self/status; mount -t tmpfs none /mnt; umount /etc")
    assert {line.split()[1] for line in done.stdout.splitlines()} == {"0" * 16}
    assert done.returncode != 0


def test_a_namespace_made_inside_cannot_take_the_protection_away(run: Run, root: Path):
    (root / ".claude").mkdir()
    undo = f"umount -l {root}/.claude; mount -o remount,rw,bind {root}/.claude; touch .claude/planted"
    run(f"unshare -rm sh -c '{undo}'")
    assert list((root / ".claude").iterdir()) == []


def test_settings_of_the_kernel_are_read_only(run: Run):
    done = run(
        "for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel; do "
        "test -w $file && echo $file; done"
    )
    assert done.stdout == ""


# --- network ----------------------------------------------------------------------------------------


@pytest.fixture
def port() -> Iterator[int]:
    """A server on the loopback address that says hello."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(b"hello\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_a_server_outside_is_out_of_reach(run: Run, port: int):
    done = run(f"cat < /dev/tcp/127.0.0.1/{port}")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Connection refused" in done.stderr


def test_the_network_can_be_allowed(run: Run, port: int):
    assert run(f"cat < /dev/tcp/127.0.0.1/{port}", network=True).stdout == "hello\n"


def test_an_abstract_socket_outside_is_out_of_reach(run: Run):
    name = f"onplan-test-{os.getpid()}-{os.urandom(4).hex()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        assert f"@{name}" in Path("/proc/net/unix").read_text()
        assert run("cat /proc/net/unix").stdout.count("@") == 0


# --- environment ------------------------------------------------------------------------------------


def test_the_environment_has_no_secrets(run: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("HARMLESS", "kept")
    done = run("tr '\\0' '\\n' < /proc/1/environ; env")
    assert "sk-of-the-test" not in done.stdout
    assert done.stdout.splitlines().count("HARMLESS=kept") == 2


@pytest.mark.parametrize(
    "name",
    SECRET_NAMES.split(),
)
def test_a_name_of_a_secret_goes(sandbox: Sandbox, name: str):
    assert sandbox.environment({name: "1"}) == {"HOME": str(sandbox.home)}


@pytest.mark.parametrize(
    "name",
    OTHER_NAMES.split(),
)
def test_any_other_name_stays(sandbox: Sandbox, name: str):
    assert sandbox.environment({name: "https://example.org/x"})[name] == "https://example.org/x"


@pytest.mark.parametrize(
    "value", ["postgres://ada:pw@db/x", "https://:pw@example.org/simple", "http://u:p@proxy:1"]
)
def test_an_address_with_a_login_goes(sandbox: Sandbox, value: str):
    assert sandbox.environment({"SOME_URL": value}) == {"HOME": str(sandbox.home)}


def test_temporary_folders_become_the_one_inside(sandbox: Sandbox):
    env = sandbox.environment({"TMPDIR": "/outside", "TEMP": "/outside", "HOME": "/elsewhere"})
    assert env == {"TMPDIR": "/tmp", "TEMP": "/tmp", "HOME": str(sandbox.home)}


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20)))
def test_an_environment_is_only_ever_made_smaller(env: dict[str, str]):
    sandbox = Sandbox(Path("/usr/share"), Path("/nonexistent"), platform="linux")
    found = sandbox.environment(env)
    assert {**env, **found} == {**env, "HOME": "/nonexistent"} | {
        name: "/tmp" for name in ("TMPDIR", "TEMP", "TMP") if name in found
    }
    assert sandbox.environment(found) == found
