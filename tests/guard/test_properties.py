"""What holds for every line: a verdict comes back, wrappers hide nothing, data is no command."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from make_corpus import spelling

from onplan.shellguard import judge

CWD, HOME = "/home/u/proj", "/home/u"
FAULT = "the guard could not read the line"

PIECES = st.sampled_from(
    [
        "rm",
        "-rf",
        "/",
        "~",
        " ",
        "\n",
        "'",
        '"',
        "`",
        "$(",
        ")",
        "(",
        "{",
        "}",
        "${",
        "$X",
        "X=",
        ";",
        "&",
        "&&",
        "||",
        "|",
        "<<E",
        "E",
        "<<<",
        ">",
        "<(",
        "\\",
        "\\\n",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "f()",
        "sudo",
        "bash -c",
        "eval",
        "xargs",
        "find . -exec",
        "*",
        "[",
        "]",
        "[[",
        "]]",
        "((",
        "#",
        "!",
        "é",
        "\x00",
        "\r",
        "{a,b}",
        "{1..9}",
        "$'\\x2f'",
        "cd",
        "trap",
        "alias",
        "echo",
        "2>&1",
        ":",
        "=",
        ",",
        "\ufdd0",
        "\ud800",
        "%",
        "-",
    ]
)
SOUP = st.lists(PIECES, max_size=30).map("".join) | st.lists(PIECES, max_size=30).map(" ".join)
DENIED = st.integers(0, 10_000).map(lambda seed: spelling(random.Random(seed)))
SIMPLE = st.sampled_from(
    [
        "rm -rf /",
        "rm -r -f ~",
        "/bin/rm -fr /etc",
        "dd if=x of=/dev/sda",
        "mkfs.ext4 /dev/sda1",
        "reboot",
        "rm -rf ..",
    ]
)
WRAPPERS = st.sampled_from(
    [
        "sudo",
        "sudo -u root",
        "doas",
        "env",
        "env -i A=1",
        "nohup",
        "nice -n 5",
        "ionice -c3",
        "time -p",
        "timeout -k 1 5",
        "stdbuf -oL",
        "command",
        "exec",
        "setsid",
        "busybox",
        "xargs -0",
        "chroot /",
        "unshare -r",
        "watch",
        "strace -f",
    ]
)
HARMLESS = st.sampled_from(
    [
        "ls -la",
        "echo 'it; is'",
        "git status",
        "make -j4 test",
        "Z=1",
        "true",
        "cat <(ls)",
        "python3 -m pytest -q",
    ]
)
DATA = st.text(st.characters(codec="utf-8", exclude_characters="'", exclude_categories=["C"]), max_size=40)


@given(st.text(max_size=200) | SOUP)
def test_any_text_gets_a_verdict(line: str) -> None:
    verdict = judge(line, cwd=CWD, home=HOME)
    assert verdict.decision in ("deny", "ask", "pass")
    assert FAULT not in verdict.reason
    assert (verdict.reason == "") == (verdict.decision == "pass")
    start, end = verdict.span
    assert 0 <= start <= end <= len(line)


@given(SOUP, st.text("/.~*?[]$", max_size=12), st.text("/.~*", max_size=8))
def test_any_directory_is_borne(line: str, cwd: str, home: str) -> None:
    assert FAULT not in judge(f"cd {line} {cwd}; rm -rf {home}", cwd=cwd, home=home).reason


@given(SOUP)
def test_the_same_line_gets_the_same_verdict(line: str) -> None:
    assert judge(line, cwd=CWD, home=HOME) == judge(line, cwd=CWD, home=HOME)


@given(DENIED)
def test_every_spelling_of_the_grammar_is_denied(line: str) -> None:
    assert judge(line, cwd=CWD, home=HOME).decision == "deny"


@given(SIMPLE, st.lists(WRAPPERS, max_size=12))
def test_no_wrapper_changes_a_deny(line: str, wrappers: list[str]) -> None:
    assert judge(" ".join([*wrappers, line]), cwd=CWD, home=HOME).decision == "deny"


@given(
    SIMPLE, st.lists(st.sampled_from(["bash -c", "sh -c", "eval", "sudo sh -c", "env bash -lc"]), max_size=4)
)
def test_no_shell_within_a_shell_changes_a_deny(line: str, shells: list[str]) -> None:
    for shell in shells:
        line = f"{shell} '{line.replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}'"
    assert judge(line, cwd=CWD, home=HOME).decision == "deny"


@given(
    DENIED,
    st.lists(HARMLESS, max_size=4),
    st.lists(HARMLESS, max_size=4),
    st.sampled_from(["; ", "\n", " && "]),
)
def test_harmless_commands_around_it_do_not_change_a_deny(
    line: str, before: list[str], after: list[str], between: str
) -> None:
    whole = between.join([*before, "{ " + line + "\n}", *after])
    assert judge(whole, cwd=CWD, home=HOME).decision == "deny"


@given(DENIED | DATA)
def test_quoted_text_is_data(text: str) -> None:
    quoted = text.replace("'", "'\\''")
    for line in (f"echo '{quoted}'", f"git commit -m '{quoted}'", f"grep -rn -- '{quoted}' src"):
        assert judge(line, cwd=CWD, home=HOME).decision == "pass"


@given(DENIED)
def test_a_here_document_for_a_file_is_data(text: str) -> None:
    line = f"cat > notes.md <<'END-OF-TEXT'\n{text}\nEND-OF-TEXT\nls"
    assert judge(line, cwd=CWD, home=HOME).decision == "pass"


@given(DENIED)
def test_a_here_document_for_a_shell_is_code(text: str) -> None:
    line = f"bash <<'END-OF-TEXT'\n{text}\nEND-OF-TEXT\nls"
    assert judge(line, cwd=CWD, home=HOME).decision == "deny"


@given(st.from_regex(r"[a-z][a-z0-9_-]{0,8}(/[a-z][a-z0-9_-]{0,8}){0,3}", fullmatch=True))
def test_named_parts_of_the_workspace_pass(path: str) -> None:
    assert judge(f"rm -rf {path} ./{path} {CWD}/{path}", cwd=CWD, home=HOME).decision == "pass"
