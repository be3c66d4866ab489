"""What a sandboxed command can write, read and find, seen from outside afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
Git = Callable[..., str]


# --- writing ----------------------------------------------------------------------------------------


def test_a_write_in_the_workspace_lasts(run: Run, root: Path):
    done = run("mkdir -p a/b && echo kept > a/b/c")
    assert (done.returncode, done.stderr) == (0, "")
    assert (root / "a/b/c").read_text() == "kept\n"


@pytest.mark.parametrize("folder", ["/etc", "/usr/local", "/var", "/"])
def test_a_write_elsewhere_fails(run: Run, folder: str):
    marker = Path(folder) / f"onplan-marker-{os.getpid()}"
    done = run(f"touch {marker}")
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr or "Permission denied" in done.stderr
    assert not marker.exists()


def test_a_write_beside_the_workspace_and_in_the_home_is_forgotten(run: Run, root: Path, home: Path):
    assert run("touch ../beside ~/in-home").returncode == 0
    assert not (root.parent / "beside").exists()
    assert not (home / "in-home").exists()


@pytest.mark.parametrize("target", ["/etc", "/usr/share"])
def test_a_link_out_of_the_workspace_leads_to_a_read_only_place(run: Run, root: Path, target: str):
    name = f"onplan-marker-{os.getpid()}"
    (root / "way-out").symlink_to(target)
    assert run(f"touch way-out/{name}; ln -s {target} mine; touch mine/{name}").returncode == 1
    assert not (Path(target) / name).exists()


def test_a_link_to_the_home_leads_to_the_empty_one(run: Run, root: Path, home: Path):
    (root / "keys").symlink_to(home / ".ssh")
    done = run("cat keys/id_ed25519")
    assert done.returncode == 1
    assert "No such file" in done.stderr


def test_the_workspace_may_be_reached_through_a_link(run: Run, root: Path, tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(root)
    done = run("pwd -P; touch here", root=link)
    assert (done.returncode, done.stdout) == (0, f"{root}\n")
    assert (root / "here").exists()


def test_further_folders_are_writable_when_named(run: Run, home: Path):
    cache = home / ".cache/tool"
    cache.mkdir(parents=True)
    assert run(f"touch {cache}/kept", extra_writable=(cache,)).returncode == 0
    assert (cache / "kept").exists()


def test_what_is_named_read_only_or_hidden_is_so_inside_the_workspace_too(run: Run, root: Path):
    (root / "vendor").mkdir()
    (root / "data").mkdir()
    (root / "data/log").write_text("hidden")
    (root / ".env").write_text("hidden")
    named = {"read_only": (root / "vendor",), "hidden": (root / "data", root / ".env")}
    done = run("touch vendor/x; ls data; cat .env", **named)
    assert "vendor/x" in done.stderr
    assert done.stdout == ""
    assert not (root / "vendor/x").exists()


# --- reading ----------------------------------------------------------------------------------------


def test_the_home_is_empty_but_for_programs_and_the_project(run: Run, home: Path, root: Path):
    done = run("cd ~ && find . -mindepth 1 | sort")
    assert done.stdout.split() == [
        "./.gitconfig",
        "./.local",
        "./.local/bin",
        "./.local/bin/greet",
        "./project",
        "./project/.claude",
        "./project/.git",
        "./project/.onplan",
    ]


def test_no_file_of_the_home_tells_its_secret(run: Run, home: Path):
    everything = [str(path) for path in home.rglob("*") if path.is_file() and "secret" in path.read_text()]
    assert len(everything) == 9
    done = run("cat " + " ".join(everything))
    assert done.stdout == ""
    assert done.stderr.count("No such file") == len(everything)


def test_programs_of_the_home_run_and_cannot_be_changed(run: Run, home: Path):
    before = (home / ".local/bin/greet").read_bytes()
    done = run("~/.local/bin/greet; echo x >> ~/.local/bin/greet; git config user.name")
    assert done.stdout == "good day\nAda\n"
    assert "Read-only file system" in done.stderr
    assert (home / ".local/bin/greet").read_bytes() == before


def test_temporary_files_of_others_are_not_there(run: Run, tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("of another program")
    done = run(f"cat {other}; ls /var/tmp /run/user")
    assert done.returncode != 0
    assert done.stdout.split() == ["/var/tmp:"]


def test_tmp_is_new_for_each_command(run: Run):
    assert run("touch /tmp/once; ls /tmp/once").stdout == "/tmp/once\n"
    assert run("ls /tmp/once").returncode == 2


def test_a_temporary_folder_of_the_session_is_kept(run: Run, tmp_path: Path):
    temporary = tmp_path / "kept"
    temporary.mkdir()
    run("echo 1 > /tmp/once", temporary=temporary)
    assert run("cat /tmp/once", temporary=temporary).stdout == "1\n"
    assert (temporary / "once").read_text() == "1\n"


def test_sockets_of_daemons_are_not_there(run: Run):
    assert run("find /run /var/run/ -type s").stdout == ""


# --- git and settings -------------------------------------------------------------------------------


def test_a_commit_works(run: Run, root: Path, git: Git):
    git("init", "-q")
    done = run("echo 1 > a && git add a && git commit -qm first && git checkout -qb next && git status -s")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert git("log", "--format=%an %s") == "Ada first"


@pytest.mark.parametrize(
    "attempt",
    [
        "touch .git/hooks/planted",
        "echo >> .git/config",
        "git config core.pager planted",
        "git config --worktree core.pager planted",
        "mv .git .moved",
        "mv .git/hooks .git/moved",
        "mv .git/config .git/moved",
        "ln -sfn /tmp .git/hooks/link",
    ],
)
def test_hooks_and_settings_of_git_cannot_be_changed(run: Run, root: Path, git: Git, attempt: str):
    git("init", "-q")
    before = _tree(root)
    assert run(attempt).returncode != 0
    assert _tree(root) == before | {".claude": "", ".onplan": ""}


def test_a_repository_can_be_closed_altogether(run: Run, root: Path, git: Git):
    git("init", "-q")
    before = _tree(root / ".git")
    closed = (root / ".git",)
    done = run("git status -s; echo /tmp > .git/commondir || touch .git/index", read_only=closed)
    assert (done.returncode, done.stdout) == (1, "")
    assert _tree(root / ".git") == before


def test_settings_of_submodules_and_worktrees_cannot_be_changed(run: Run, root: Path, git: Git):
    git("init", "-q")
    for name in ("modules/lib", "worktrees/other"):
        (root / ".git" / name).mkdir(parents=True)
        (root / ".git" / name / "config").write_text("")
    before = _tree(root / ".git")
    script = (
        "cd .git; echo x > modules/lib/config; echo x > worktrees/other/config; mv modules m; mv worktrees w"
    )
    assert run(script).returncode != 0
    assert _tree(root / ".git") == before


def test_a_repository_without_hooks_gets_none(run: Run, root: Path, git: Git):
    git("init", "-q", "--template=")
    assert not (root / ".git/hooks").exists()
    assert run("mkdir -p .git/hooks && touch .git/hooks/pre-commit").returncode != 0
    assert list((root / ".git/hooks").iterdir()) == []


def test_no_repository_can_be_made_in_the_root_and_git_outside_does_not_mind(run: Run, root: Path, git: Git):
    git("init", "-q", cwd=root.parent)
    assert run("git init -q").returncode != 0
    assert git("rev-parse", "--show-toplevel") == str(root.parent)
    assert git("init", "-q") == ""


def test_the_file_that_names_the_repository_of_a_worktree_cannot_be_changed(run: Run, root: Path):
    (root / ".git").write_text("gitdir: /elsewhere\n")
    assert run("echo planted > .git; rm -f .git; mv .git moved").returncode != 0
    assert (root / ".git").read_text() == "gitdir: /elsewhere\n"


def test_the_repository_of_a_worktree_is_protected_when_it_is_made_writable(
    run: Run, tmp_path: Path, git: Git
):
    main, root = tmp_path / "main", tmp_path / "tree"
    main.mkdir()
    git("init", "-q", cwd=main)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=main)
    git("worktree", "add", "-q", str(root), cwd=main)
    writable = (main / ".git", main / ".git/worktrees/tree")
    done = run("touch a; git add a; git commit -qm second", root=root, extra_writable=writable)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(f"touch {main}/.git/hooks/planted", root=root, extra_writable=writable)
    assert done.returncode == 1
    assert git("log", "--format=%s", cwd=root) == "second\nfirst"


@pytest.mark.parametrize("name", [".onplan", ".claude"])
@pytest.mark.parametrize("exists", [True, False])
def test_settings_of_agents_cannot_be_made_or_changed(run: Run, root: Path, name: str, exists: bool):
    if exists:
        (root / name).mkdir()
        (root / name / "settings.json").write_text("{}")
    script = f"echo 1 > {name}/settings.json; mkdir -p {name}/hooks; mv {name} moved; rmdir {name}"
    assert run(script).returncode != 0
    left = [(path.name, path.read_text()) for path in (root / name).iterdir()]
    assert left == ([("settings.json", "{}")] if exists else [])


def _tree(folder: Path) -> dict[str, str]:
    """Every path below, with the content of files."""
    return {
        str(path.relative_to(folder)): path.read_text(errors="replace") if path.is_file() else ""
        for path in folder.rglob("*")
    }
