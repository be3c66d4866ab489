"""Settings files of both kinds: read as they are, faults named, nothing fatal; without trust only tighter."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onplan.commandhooks import HookCommand
from onplan.rules import Rule
from onplan.settingsfile import FileSettings, Places, load_settings, places, read_settings


def toml(tmp_path: Path, text: str, *, source: Any = "user") -> FileSettings:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    return read_settings(file, "onplan", source)


def claude(tmp_path: Path, content: Any, *, source: Any = "user") -> FileSettings:
    file = tmp_path / "settings.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_settings(file, "claude", source)


def notes(found: FileSettings, tmp_path: Path) -> list[str]:
    return [note.replace(f"{tmp_path}/", "") for note in found.notes]


# --- our own ----------------------------------------------------------------------------------------


def test_our_own_file_brings_rules_hooks_and_switches(tmp_path: Path) -> None:
    found = toml(
        tmp_path,
        """
sandbox = true
auto = "sandboxed"
mask_secrets = false

[permissions]
allow = ["bash(git diff:*)"]
ask = ["bash(npm publish:*)"]
deny = ["edit_file(vendor/**)"]

[[hooks.PreToolUse]]
matcher = "bash"
command = "check --strict"
timeout = 5
fail_closed = true

[[hooks.Stop]]
hooks = [{ type = "command", command = "a" }, { command = "b" }]
""",
    )
    assert found == FileSettings(
        rules=(
            Rule("deny", "edit_file", "vendor/**"),
            Rule("ask", "bash", "npm publish:*"),
            Rule("allow", "bash", "git diff:*"),
        ),
        hooks=(
            HookCommand("PreToolUse", "check --strict", "bash", 5.0, fail_closed=True),
            HookCommand("Stop", "a"),
            HookCommand("Stop", "b"),
        ),
        sandbox=True,
        auto="sandboxed",
        mask_secrets=False,
    )


def test_what_is_not_understood_is_one_line_each_and_the_rest_counts(tmp_path: Path) -> None:
    found = toml(
        tmp_path,
        """
colour = "red"
sandbox = "yes"
auto = true
[permissions]
allow = ["bash(", 3, "bash(ls)"]
forbid = []
deny = ["mcp__a__b(x)"]
[[hooks.Nothing]]
command = "x"
[[hooks.Stop]]
type = "prompt"
prompt = "x"
[[hooks.Stop]]
command = "y"
if = "Bash(git *)"
[[hooks.Stop]]
command = "z"
matcher = "("
timeout = -1
""",
    )
    assert found.rules == (Rule("ask", "mcp__a__b"), Rule("allow", "bash", "ls"))
    assert found.hooks == (HookCommand("Stop", "z", "("),)
    assert not found.broken
    events = "SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, PlanChanged, PreCompact, Stop"
    assert notes(found, tmp_path) == [
        "settings.toml: 'colour' is not known; known: permissions, hooks, sandbox, auto, mask_secrets, "
        "web_allow_hosts",
        "settings.toml: 'sandbox' is true or false, not 'yes'",
        'settings.toml: auto can be "sandboxed" in a file; to let everything run, say --auto or /auto '
        "yourself",
        "settings.toml: permissions.forbid is not known; known: allow, ask, deny",
        "settings.toml: permissions.deny: 'mcp__a__b(x)': mcp__a__b takes no pattern, only bash and file "
        "tools do; taken as a question for every call of mcp__a__b",
        "settings.toml: permissions.allow: 'bash(' is no rule: write a tool, or tool(pattern), as in "
        "bash(git diff:*); left out",
        "settings.toml: permissions.allow: '3' is no text and is left out",
        f"settings.toml: hooks.Nothing is no event here; known: {events}, SubagentStop, SessionEnd",
        "settings.toml: hooks.Stop: only hooks of type command are run; one of type 'prompt' is left out",
        "settings.toml: hooks.Stop: if is not known; the hook 'y' is left out",
        "settings.toml: hooks.Stop: the matcher '(' is not valid (missing ), unterminated subpattern at "
        "position 0); it fits everything",
        "settings.toml: hooks.Stop: a timeout is a number of seconds above 0, not '-1'",
    ]


# --- Claude Code's ----------------------------------------------------------------------------------


def test_the_permission_and_hook_blocks_of_claude_code_are_read_as_they_are(tmp_path: Path) -> None:
    found = claude(
        tmp_path,
        {
            "model": "opus",
            "permissions": {
                "allow": ["Bash(npm run:*)", "Read(src/**)"],
                "deny": ["Read(./.env)", "Bash(curl *)"],
                "defaultMode": "acceptEdits",
            },
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Edit|Write",
                        "hooks": [
                            {"type": "command", "command": "lint", "timeout": 30},
                            {"type": "command", "command": "run", "args": ["a b"]},
                        ],
                    }
                ],
                "Notification": [{"hooks": [{"type": "command", "command": "beep"}]}],
            },
        },
        source="project",
    )
    assert [rule.told for rule in found.rules] == [
        "deny read_file(./.env) (project)",
        "deny glob(./.env) (project)",
        "deny grep(./.env) (project)",
        "deny bash(curl:*) (project)",
        "allow bash(npm run:*) (project)",
        "allow read_file(src/**) (project)",
        "allow glob(src/**) (project)",
        "allow grep(src/**) (project)",
    ]
    assert found.hooks == (
        HookCommand("PreToolUse", "lint", "Edit|Write", 30.0, claude=True, source="project"),
        HookCommand("PreToolUse", "run 'a b'", "Edit|Write", claude=True, source="project"),
    )
    assert notes(found, tmp_path) == [
        "settings.json: permissions.defaultMode is not known; known: allow, ask, deny",
        "settings.json: hooks.Notification is no event here; known: SessionStart, UserPromptSubmit, "
        "PreToolUse, PostToolUse, PlanChanged, PreCompact, Stop, SubagentStop, SessionEnd",
    ]


def test_all_hooks_can_be_switched_off_there(tmp_path: Path) -> None:
    entry = {"hooks": [{"type": "command", "command": "x"}]}
    assert claude(tmp_path, {"disableAllHooks": True, "hooks": {"Stop": [entry]}}).hooks == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "permissions": st.dictionaries(st.sampled_from(["allow", "ask", "deny", "x"]), JSON) | JSON,
        "hooks": st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "x"]), JSON) | JSON,
    },
)


@settings(max_examples=60)
@given(SHAPES | JSON)
def test_no_shape_of_a_file_is_fatal(tmp_path_factory: pytest.TempPathFactory, content: Any) -> None:
    found = claude(tmp_path_factory.mktemp("s"), content)
    assert all("\n" not in note for note in found.notes)


# --- broken files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "content", "told"),
    [
        ("onplan", b"a = \n", "Invalid value (at line 1, column 5)"),
        ("onplan", b"a = 1\n[b\n", "(at line 2, column 3)"),
        ("claude", b'{\n  "a": }', "Expecting value (at line 2, column 8)"),
        ("claude", b"[]", "it holds no JSON object (at line 1, column 1)"),
        ("claude", b"[" * 100_000, "it nests too deep"),
        ("onplan", b"\xff\xfe", "it is not UTF-8 (at byte 0)"),
        ("onplan", b"#" * 1_000_001, "it is larger than 1,000,000 bytes"),
    ],
)
def test_a_broken_file_is_one_line_with_its_name_and_the_position(
    tmp_path: Path, kind: Any, content: bytes, told: str
) -> None:
    file = tmp_path / "settings"
    file.write_bytes(content)
    found = read_settings(file, kind, "user")
    assert found.broken
    (note,) = found.notes
    assert note.startswith(f"{file} is left out: ")
    assert told in note


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.toml")
    found = read_settings(tmp_path / "settings.toml", "onplan", "user")
    assert found.notes == (f"{tmp_path}/settings.toml is left out: it is not a regular file",)


def test_with_a_broken_file_no_rule_allows_and_every_denial_stands(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / "claude")
    root = tmp_path / "ws"
    (root / ".onplan").mkdir(parents=True)
    where.config.mkdir()
    (where.config / "settings.toml").write_text(
        'auto = "sandboxed"\n[permissions]\nallow=["bash(git:*)"]\ndeny=["bash(git push:*)"]\n'
    )
    (root / ".onplan" / "settings.toml").write_text("[permissions\n")
    found = load_settings(root, where, trusted=True)
    assert [str(rule) for rule in found.rules] == ["bash(git push:*)"]
    assert found.auto is None
    assert found.notes[-1] == "until the broken file is mended, no rule of any settings file allows anything"


# --- where they are, and who trusts them ------------------------------------------------------------


def test_without_trust_a_directory_can_only_tighten(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / "claude")
    root = tmp_path / "ws"
    for folder in (root / ".onplan", root / ".claude", where.config, where.claude):
        folder.mkdir(parents=True)
    hook = '[[hooks.Stop]]\ncommand = "x"\n'
    (where.config / "settings.toml").write_text(f'[permissions]\nallow = ["bash(ls)"]\n{hook}')
    (where.claude / "settings.json").write_text('{"permissions": {"ask": ["Bash(c:*)"]}}')
    (root / ".onplan" / "settings.toml").write_text(
        f'sandbox = true\nmask_secrets = false\n[permissions]\nallow = ["bash"]\ndeny = ["bash(a:*)"]\n{hook}'
    )
    (root / ".onplan" / "settings.local.toml").write_text("sandbox = false\n")
    (root / ".claude" / "settings.json").write_text('{"permissions": {"deny": ["Bash(b:*)"]}}')
    untrusted = load_settings(root, where, trusted=False)
    assert [rule.told for rule in untrusted.rules] == [
        "allow bash(ls) (user)",
        "ask bash(c:*) (user)",
        "deny bash(a:*) (project)",
        "deny bash(b:*) (project)",
    ]
    assert [hook.source for hook in untrusted.hooks] == ["user"]
    assert (untrusted.sandbox, untrusted.mask_secrets) == (True, None)
    assert untrusted.notes == (
        ".onplan/settings.toml: its rules that allow and hooks do not count: this directory is not trusted "
        "(onplan trust)",
    )
    trusted = load_settings(root, where, trusted=True)
    assert "allow bash (project)" in [rule.told for rule in trusted.rules]
    assert [hook.source for hook in trusted.hooks] == ["user", "project"]


def test_a_repository_never_brings_auto_even_when_it_is_trusted(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / "claude")
    (tmp_path / ".onplan").mkdir()
    (tmp_path / ".onplan" / "settings.toml").write_text('auto = "sandboxed"\n[permissions]\nallow = ["*"]\n')
    found = load_settings(tmp_path, where, trusted=True)
    assert (found.auto, found.rules) == (None, ())
    assert [note.partition(": ")[2] for note in found.notes] == [
        "auto counts in your own settings only, not in a repository",
        "allow * is left out: a repository cannot let everything run",
    ]


def test_hosts_for_the_web_are_names_and_a_repository_needs_trust_to_bring_them(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / "claude")
    where.config.mkdir()
    (tmp_path / ".onplan").mkdir()
    (where.config / "settings.toml").write_text('web_allow_hosts = ["Docs.Local", "http://a", "*.b", ""]\n')
    (tmp_path / ".onplan" / "settings.toml").write_text('web_allow_hosts = ["127.0.0.1"]\n')
    untrusted = load_settings(tmp_path, where, trusted=False)
    assert untrusted.web_allow_hosts == ("docs.local",)
    assert [note.partition(": ")[2] for note in untrusted.notes] == [
        "web_allow_hosts: 'http://a' is no host name, such as docs.local; left out",
        "web_allow_hosts: '*.b' is no host name, such as docs.local; left out",
        "web_allow_hosts: '' is no host name, such as docs.local; left out",
        "its web_allow_hosts do not count: this directory is not trusted (onplan trust)",
    ]
    trusted = load_settings(tmp_path, where, trusted=True)
    assert trusted.web_allow_hosts == ("docs.local", "127.0.0.1")


def test_at_work_in_the_home_directory_ones_own_file_is_read_once(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / ".claude")
    where.claude.mkdir()
    (where.claude / "settings.json").write_text('{"permissions": {"allow": ["Bash(ls)"]}}')
    found = load_settings(tmp_path, where, trusted=False)
    assert ([rule.told for rule in found.rules], found.notes) == (["allow bash(ls) (user)"], ())


def test_the_persons_files_are_where_the_environment_says(tmp_path: Path) -> None:
    told = places({"ONPLAN_HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c")})
    assert told == Places(tmp_path, tmp_path / "c")


def test_without_files_nothing_is_said(tmp_path: Path) -> None:
    where = Places(tmp_path / "config", tmp_path / "claude")
    assert load_settings(tmp_path, where, trusted=True) == FileSettings()
