"""Rules: read from text, matched against calls, combined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust_parts import rules

from onplan.errors import ConfigError
from onplan.rules import Place, Rule, Source, Verdict, combined, matches, parse_rules, tightening


def place(tmp_path: Path) -> Place:
    (tmp_path / "ws").mkdir(exist_ok=True)
    (tmp_path / "home").mkdir(exist_ok=True)
    return Place((tmp_path / "ws").resolve(), (tmp_path / "home").resolve())


# --- reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("bash", [("bash", "")]),
        ("bash(git diff:*)", [("bash", "git diff:*")]),
        ("  bash( npm test )  ", [("bash", "npm test")]),
        ("bash(*)", [("bash", "")]),
        ("bash(echo (a))", [("bash", "echo (a)")]),
        ("edit_file(src/**)", [("edit_file", "src/**")]),
        ("mcp__github__create_issue", [("mcp__github__create_issue", "")]),
        ("mcp__github", [("mcp__github", "")]),
        ("Bash(npm run *)", [("bash", "npm run:*")]),
        ("Bash(git:*)", [("bash", "git:*")]),
        ("Edit(src/**)", [("edit_file", "src/**"), ("write_file", "src/**")]),
        ("Write(a)", [("write_file", "a")]),
        ("Read(.env)", [("read_file", ".env"), ("glob", ".env"), ("grep", ".env")]),
        ("WebFetch(domain:example.com)", [("web_fetch", "domain:example.com")]),
        ("TodoRead", [("read_todos", "")]),
    ],
)
def test_an_entry_is_read_in_our_names_and_in_those_of_claude_code(
    text: str, read: list[tuple[str, str]]
) -> None:
    assert [(rule.tool, rule.pattern) for rule in parse_rules(text, "ask")] == read


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'' is no rule: write a tool, or tool(pattern), as in bash(git diff:*)"),
        ("(x)", "'(x)' is no rule: write a tool, or tool(pattern), as in bash(git diff:*)"),
        ("bash(x", "'bash(x' is no rule: write a tool, or tool(pattern), as in bash(git diff:*)"),
        ("Read(!a)", "'read_file(!a)': a pattern cannot begin with `!`; write an own rule instead"),
        ("web_fetch(http://x)", "'web_fetch(http://x)': the pattern of web_fetch is domain:NAME"),
        ("mcp__a__b(x)", "'mcp__a__b(x)': mcp__a__b takes no pattern, only bash and file tools do"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_rules(text, "allow")
    assert str(error.value) == told


@given(st.text(max_size=60), st.sampled_from(["allow", "ask", "deny"]))
def test_any_text_is_rules_or_one_line_of_error(text: str, verdict: Verdict) -> None:
    try:
        read = parse_rules(text, verdict)
    except ConfigError as error:
        told = str(error)
    else:
        told = ", ".join(rule.verdict for rule in read if rule.verdict == verdict)
    assert 0 < len(told) < 400


# --- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/**", "other/src/a.py", False),
        ("src/**", "./src/../src/a.py", True),
        ("src/**", "src/../secret", False),
        ("*.env", "deep/x.env", True),
        (".env", "deep/.env", True),
        ("./a.txt", "a.txt", True),
        ("./a.txt", "deep/a.txt", False),
        ("/a.txt", "a.txt", True),
        ("/a.txt", "deep/a.txt", False),
        ("#a", "#a", True),
        ("src", "src/a.py", True),
        ("src/**", "../ws-evil/src/a", False),
        ("*.txt", "../outside.txt", False),
    ],
)
def test_a_pattern_of_paths_is_read_like_a_line_of_gitignore_in_the_workspace(
    tmp_path: Path, pattern: str, path: str, fits: bool
) -> None:
    (rule,) = parse_rules(f"read_file({pattern})", "allow")
    assert matches(rule, "read_file", {"path": path}, place(tmp_path)) is fits


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src", True),
        ("src/**", ".", False),
        ("src/*.py", "src", False),
        ("secret/", "secret/deep", True),
    ],
)
def test_a_search_is_of_what_lies_below_its_directory(
    tmp_path: Path, pattern: str, path: str, fits: bool
) -> None:
    assert matches(Rule("deny", "grep", pattern), "grep", {"path": path}, place(tmp_path)) is fits
    assert matches(Rule("allow", "glob", pattern), "glob", {"path": path}, place(tmp_path)) is fits


def test_absolute_and_home_patterns_start_there(tmp_path: Path) -> None:
    where = place(tmp_path)
    outside = tmp_path / "data"
    outside.mkdir()

    def fits(pattern: str, path: str) -> bool:
        return matches(Rule("deny", "read_file", pattern), "read_file", {"path": path}, where)

    assert fits(f"/{outside.resolve()}/**", str(outside / "x"))
    assert not fits(f"/{outside.resolve()}/**", str(tmp_path / "other" / "x"))
    assert fits("~/.ssh/**", str(where.home / ".ssh" / "id"))
    assert not fits("~/.ssh/**", ".ssh/id")
    assert fits("~", str(where.home / "x"))


def test_a_denial_needs_one_name_of_a_file_to_match_and_a_permission_both(tmp_path: Path) -> None:
    where = place(tmp_path)
    (where.root / "secret").mkdir()
    (where.root / "secret" / "key").write_text("x")
    (where.root / "open").symlink_to(where.root / "secret")

    def fits(verdict: Verdict, pattern: str, path: str) -> bool:
        return matches(Rule(verdict, "read_file", pattern), "read_file", {"path": path}, where)

    assert fits("deny", "secret/**", "open/key")
    assert fits("deny", "open/**", "open/key")
    assert not fits("allow", "open/**", "open/key")
    assert not fits("allow", "secret/**", "open/key")
    assert fits("allow", "secret/**", "secret/key")


@pytest.mark.parametrize("path", [None, 3, "a\0b", ["x"]])
def test_a_path_that_cannot_be_read_matches_what_restricts_and_nothing_that_allows(
    tmp_path: Path, path: Any
) -> None:
    where = place(tmp_path)
    assert matches(Rule("deny", "read_file", "x/**"), "read_file", {"path": path}, where)
    assert matches(Rule("ask", "read_file", "x/**"), "read_file", {"path": path}, where)
    assert not matches(Rule("allow", "read_file", "x/**"), "read_file", {"path": path}, where)


# --- names and addresses ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "tool", "fits"),
    [
        ("mcp__github", "mcp__github__create_issue", True),
        ("mcp__github", "mcp__githubber__x", False),
        ("mcp__github__create_issue", "mcp__github__create_issue", True),
        ("mcp__github__create_issue", "mcp__github__create_issue_2", False),
        ("mcp__github__get_*", "mcp__github__get_x", True),
        ("bash", "bash", True),
        ("bash", "bash2", False),
        ("*", "anything", True),
    ],
)
def test_a_rule_names_a_tool_a_server_or_a_family(tmp_path: Path, rule: str, tool: str, fits: bool) -> None:
    (read,) = parse_rules(rule, "deny")
    assert matches(read, tool, {}, place(tmp_path)) is fits


@pytest.mark.parametrize(
    ("url", "fits"),
    [
        ("https://example.com/x", True),
        ("https://EXAMPLE.com.:443/x", True),
        ("https://example.com.evil.org/", False),
        ("https://evil.org/example.com", False),
        ("https://example.com@evil.org/", False),
        ("http://[bad", False),
        (None, False),
    ],
)
def test_a_domain_is_the_host_of_the_address(tmp_path: Path, url: Any, fits: bool) -> None:
    (rule,) = parse_rules("WebFetch(domain:example.com)", "allow")
    assert matches(rule, "web_fetch", {"url": url}, place(tmp_path)) is fits


# --- combining --------------------------------------------------------------------------------------

ANY_RULE = st.builds(
    Rule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.just("x"),
    st.sampled_from(["", "p"]),
    st.sampled_from(["user", "project", "session", "flag"]),
)


@given(st.lists(ANY_RULE, max_size=8))
def test_the_most_restrictive_rule_wins_and_a_denial_is_never_overridden(found: list[Rule]) -> None:
    told = combined(found)
    verdicts = {rule.verdict for rule in found}
    if not found:
        assert told is None
        return
    assert told is not None
    assert told.rule in found
    assert told.verdict == told.rule.verdict
    if "deny" in verdicts:
        assert told.verdict == "deny"
    elif "ask" in verdicts and told.verdict == "allow":
        assert any(rule.verdict == "allow" and rule.source in ("session", "flag") for rule in found)
        assert all(rule.source in ("user", "project") for rule in found if rule.verdict == "ask")


@given(st.lists(ANY_RULE, max_size=6), st.randoms())
def test_the_order_of_rules_does_not_matter(found: list[Rule], random: Any) -> None:
    mixed = list(found)
    random.shuffle(mixed)
    one, other = combined(found), combined(mixed)
    assert (one and one.verdict) == (other and other.verdict)


@pytest.mark.parametrize(
    ("allow", "ask", "verdict"),
    [
        (("p", "user"), ("p", "project"), "ask"),
        (("p", "project"), ("p", "user"), "ask"),
        (("p", "flag"), ("p", "user"), "allow"),
        (("", "session"), ("p", "user"), "ask"),
        (("", "session"), ("", "user"), "allow"),
        (("p", "session"), ("p", "flag"), "ask"),
    ],
)
def test_what_the_person_allows_now_outweighs_a_question_of_a_file(
    allow: tuple[str, Source], ask: tuple[str, Source], verdict: Verdict
) -> None:
    told = combined([Rule("allow", "x", *allow), Rule("ask", "x", *ask)])
    assert told is not None
    assert told.verdict == verdict


def test_what_nobody_trusts_keeps_only_what_tightens() -> None:
    found = rules(allow=["bash(a)"], ask=["bash(b)"], deny=["bash(c)"])
    assert [str(rule) for rule in tightening(found)] == ["bash(b)", "bash(c)"]
