"""The command line that a sandbox makes, what it refuses, what it says, and whether one works here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onplan.errors import ConfigError
from onplan.tools.sandbox import Available, Sandbox, Unavailable, detect


def pairs(argv: list[str], option: str) -> list[str]:
    return [argv[number + 2] for number, word in enumerate(argv) if word == option]


def place(argv: list[str], *words: str) -> int:
    return next(n for n in range(len(argv)) if argv[n : n + len(words)] == list(words))


# --- the command line -------------------------------------------------------------------------------


def test_the_command_line_isolates_and_ends_with_the_command(sandbox: Sandbox, root: Path):
    argv = sandbox.wrap(["bash", "-c", "echo hi"], cwd=root)
    assert argv[0].endswith("/bwrap")
    assert argv[0].startswith("/")
    assert argv[1:20] == [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
        *("--cap-drop", "ALL", "--new-session", "--unshare-net", "--die-with-parent"),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"),
    ]
    assert argv[-6:] == ["--chdir", str(root), "--", "bash", "-c", "echo hi"]


def test_a_program_on_the_path_is_never_the_sandbox(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
):
    (root / "bwrap").write_text("#!/bin/sh\n")
    (root / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(root))
    monkeypatch.chdir(root)
    assert Path(sandbox.wrap(["true"], cwd=root)[0]).parent != root


def test_network_and_lingering_each_take_one_option_away(root: Path, home: Path):
    plain = Sandbox(root, home).wrap(["true"], cwd=root)
    network = Sandbox(root, home, network=True).wrap(["true"], cwd=root)
    lingering = Sandbox(root, home, lingering=True).wrap(["true"], cwd=root)
    assert [word for word in plain if word != "--unshare-net"] == network
    assert [word for word in plain if word != "--die-with-parent"] == lingering


def test_outer_folders_are_mounted_before_what_is_in_them(root: Path, home: Path):
    (root / ".claude").mkdir()
    argv = Sandbox(root, home).wrap(["true"], cwd=root)
    order = [
        place(argv, "--tmpfs", "/tmp"),
        place(argv, "--tmpfs", str(home)),
        place(argv, "--bind", str(root), str(root)),
        place(argv, "--ro-bind", f"{root}/.claude", f"{root}/.claude"),
    ]
    assert order == sorted(order)


@pytest.mark.parametrize("folder", ["/home", "/root", "/run", "/tmp", "/var/tmp"])
def test_homes_sockets_and_temporary_files_are_hidden(sandbox: Sandbox, root: Path, folder: str):
    if not Path(folder).is_dir():
        pytest.skip(f"there is no {folder} here")
    assert place(sandbox.wrap(["true"], cwd=root), "--tmpfs", os.path.realpath(folder)) > 0


def test_files_of_one_command_are_writable_in_it_only(sandbox: Sandbox, root: Path, tmp_path: Path):
    record = tmp_path / "record"
    record.touch()
    assert str(record) in pairs(sandbox.wrap(["true"], cwd=root, writable=(record,)), "--bind")
    assert str(record) not in pairs(sandbox.wrap(["true"], cwd=root), "--bind")


def test_wrapping_changes_nothing_on_disk(sandbox: Sandbox, root: Path):
    sandbox.wrap(["true"], cwd=root)
    assert list(root.iterdir()) == []


def test_placeholders_are_what_the_first_command_leaves(sandbox: Sandbox, root: Path):
    assert sandbox.placeholders() == (root / ".onplan", root / ".claude", root / ".git")
    for path in sandbox.placeholders():
        path.mkdir()
    assert sandbox.placeholders() == ()


@pytest.mark.parametrize(
    ("place", "shown"),
    [("project", True), ("project/sub", True), (".", False), (".ssh", False), (".local/bin", True)],
)
def test_a_command_can_start_where_inside_and_outside_are_the_same(
    sandbox: Sandbox, home: Path, place: str, shown: bool
):
    assert sandbox.shows(home / place) is shown


@pytest.mark.parametrize(
    ("place", "shown"), [("/usr", True), ("/tmp", False), ("/dev/shm", False), ("/run", False)]
)
def test_system_folders_are_shown_and_temporary_ones_are_not(sandbox: Sandbox, place: str, shown: bool):
    assert sandbox.shows(Path(place)) is shown


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [".", "..", "/"])
def test_a_writable_folder_that_holds_the_home_is_refused(home: Path, root: Path, place: str):
    with pytest.raises(ConfigError, match="cannot protect the home directory"):
        Sandbox(home / place, home)
    with pytest.raises(ConfigError, match="cannot protect the home directory"):
        Sandbox(root, home, extra_writable=(home / place,))


def test_a_home_that_is_everything_is_refused(root: Path):
    with pytest.raises(ConfigError, match="set HOME to another"):
        Sandbox(root, Path("/"))


def test_a_writable_folder_that_does_not_exist_is_refused(root: Path, home: Path):
    with pytest.raises(ConfigError, match="missing writable: it does not exist"):
        Sandbox(root, home, extra_writable=(root / "missing",))


@pytest.mark.parametrize("name", [".git", ".onplan", ".claude"])
def test_a_protected_name_that_is_a_link_is_refused_at_once_and_later(root: Path, home: Path, name: str):
    sandbox = Sandbox(root, home)
    (root / name).symlink_to(root)
    with pytest.raises(ConfigError, match="because it is a link"):
        Sandbox(root, home)
    with pytest.raises(ConfigError, match="because it is a link"):
        sandbox.wrap(["true"], cwd=root)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_is_told_that_somebody_elses_workspace_cannot_be_used(root: Path, home: Path):
    os.chown(root, 12345, 12345)
    with pytest.raises(ConfigError, match="belongs to user 12345: run onplan as that user"):
        Sandbox(root, home)


# --- words ------------------------------------------------------------------------------------------


def test_the_notice_says_what_a_model_must_know(root: Path, home: Path):
    assert Sandbox(root, home).notice() == (
        f"Shell commands run in a sandbox. They can write in {root} and /tmp only, and /tmp is new for each "
        "command. The home directory is empty there apart from programs. There is no network: do not retry "
        "what needs it, say so instead. The settings of git and its hooks, .onplan and .claude are "
        "read-only, and a new repository cannot be made in the project's root. What a command leaves in the "
        "background ends with it. Each command has its own processes and its own localhost: start, use and "
        "stop a server in one command."
    )


def test_the_notice_leaves_out_what_is_allowed(root: Path, home: Path, tmp_path: Path):
    open_one = Sandbox(root, home, network=True, lingering=True, temporary=tmp_path)
    assert open_one.notice() == (
        f"Shell commands run in a sandbox. They can write in {root} and /tmp only. The home directory is "
        "empty there apart from programs. The settings of git and its hooks, .onplan and .claude are "
        "read-only, and a new repository cannot be made in the project's root. Each command has its own "
        "processes."
    )


# --- detection --------------------------------------------------------------------------------------


@pytest.fixture
def refusing(tmp_path: Path) -> Path:
    """A folder with a bubblewrap that makes nothing."""
    folder = tmp_path / "refusing"
    folder.mkdir()
    (folder / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    (folder / "bwrap").chmod(0o755)
    return folder


def test_a_sandbox_that_works_is_found(works: None):
    found = detect()
    assert isinstance(found, Available)
    assert found.program.endswith("/bwrap")


def test_a_missing_bubblewrap_is_named_with_its_package(tmp_path: Path):
    assert detect(platform="linux", folders=(tmp_path,)) == Unavailable(
        "bubblewrap is not installed",
        "install it: apt-get install bubblewrap (the name is the same for dnf, pacman, zypper, apk)",
    )


@pytest.mark.parametrize(
    ("setting", "value", "cure"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "sysctl -w kernel.apparmor_restrict_unprivileged",
        ),
        ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
        ("kernel/ostype", "Linux", "let the container be the sandbox"),
    ],
)
def test_a_refusal_is_told_with_the_cure_that_fits(
    refusing: Path, tmp_path: Path, setting: str, value: str, cure: str
):
    path = tmp_path / "sys" / setting
    path.parent.mkdir(parents=True)
    path.write_text(f"{value}\n")
    found = detect(platform="linux", folders=(refusing,), settings=tmp_path / "sys")
    assert isinstance(found, Unavailable)
    assert found.reason.endswith("cannot make a sandbox: bwrap: setting up uid map: Permission denied")
    assert cure in found.cure


def test_a_program_that_cannot_be_run_is_an_answer_too(tmp_path: Path):
    (tmp_path / "bwrap").write_text("not a program")
    found = detect(platform="linux", folders=(tmp_path,))
    assert isinstance(found, Unavailable)
    assert "could not be run: " in found.reason


def test_other_systems_have_none():
    assert detect(platform="win32") == Unavailable(
        "there is no sandbox for win32", "run without --sandbox, or run onplan in a container"
    )


# --- macOS ------------------------------------------------------------------------------------------


def test_the_profile_for_macos_closes_before_it_opens(root: Path, home: Path):
    (root / ".git").mkdir()
    (root / ".git/config").touch()
    argv = Sandbox(root, home, platform="darwin").wrap(["bash", "-c", "echo"], cwd=root)
    assert [*argv[:2], *argv[3:]] == ["/usr/bin/sandbox-exec", "-p", "bash", "-c", "echo"]
    rules = argv[2].splitlines()
    assert rules[0] == "(version 1)"
    writes = [rule for rule in rules if "file-write*" in rule]
    assert writes[0] == "(deny file-write*)"
    assert f'(subpath "{root}")' in writes[2]
    assert f'(subpath "{root}/.git/hooks")' in writes[3]
    assert f'(subpath "{root}/.git/config")' in writes[3]
    assert rules[-1] == "(deny network*)"


def test_the_profile_for_macos_quotes_names(home: Path):
    odd = home / 'a "b\\c'
    odd.mkdir()
    profile = Sandbox(odd, home, platform="darwin").wrap(["true"], cwd=odd)[2]
    assert f'(subpath "{home}/a \\"b\\\\c")' in profile
