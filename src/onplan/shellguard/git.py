"""What a git command would lose or run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from onplan.shellguard.marks import UNKNOWN, is_pattern
from onplan.shellguard.options import options
from onplan.shellguard.verdict import Argv, Code, Finding, Outcome

_GLOBAL_VALUES = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"}
)
_RUNNING_SETTINGS = (
    "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.hookspath", "diff.external",
    "sequence.editor", "credential.helper", "core.askpass", "gpg.program",
)  # fmt: skip
_HARMLESS_EDITORS = frozenset({"true", "cat", "less", "vim", "nano", "vi", "delta", ":", "code --wait", ""})


def subcommand(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """git's own options, and the subcommand with its words."""
    index = 0
    while index < len(args) and args[index].startswith("-"):
        index += 2 if args[index] in _GLOBAL_VALUES else 1
    return list(args[:index]), list(args[index:])


def git(args: Sequence[str]) -> list[Outcome]:
    """The objections to `git` with `args`, and what it would run."""
    before, after = subcommand(args)
    found = _settings(before)
    if not after:
        return found
    name, rest = after[0], after[1:]
    if UNKNOWN in name:
        return [*found, Finding("ask", "the git command is not known before it runs")]
    reason = _loss(name, rest)
    if reason:
        found.append(Finding("ask", f"`git {name}` here {reason}"))
    return [*found, *_runs(name, rest)]


def _settings(before: Sequence[str]) -> list[Outcome]:
    found: list[Outcome] = []
    for flag, value in pairwise(before):
        if flag == "-c":
            key, _, text = value.partition("=")
            found.extend(_setting(key, text))
    return found


def _setting(key: str, text: str) -> list[Outcome]:
    name = key.lower()
    if name.startswith("alias."):
        return [Code(text[1:])] if text.startswith("!") else [Argv(("git", *text.split()))] if text else []
    runs = name in _RUNNING_SETTINGS or name.endswith(
        (".textconv", ".clean", ".smudge", ".process", ".driver")
    )
    if runs and text not in _HARMLESS_EDITORS:
        return [Code(text), Finding("ask", f"git's setting `{key}` names a program that git will run")]
    return []


def _loss(name: str, args: list[str]) -> str:
    """What is lost for good, in words that follow the command's name; "" for nothing."""
    found = options(args)
    match name:
        case "clean" if not found.has("n", "dry-run") and found.has("f", "force", "x", "X", "d"):
            return "deletes files that git does not keep; look first with `git clean -n`"
        case "push":
            return _pushed(args)
        case "reset" if found.has("hard") or found.has("merge"):
            return "throws away changes that are not committed; `git stash` keeps them"
        case "checkout" | "restore" | "switch":
            return _checked_out(name, args)
        case "stash" if args[:1] in (["drop"], ["clear"]):
            return "throws stashed changes away"
        case "reflog" if args[:1] in (["expire"], ["delete"]):
            return "removes the record by which lost commits are found"
        case "gc" | "prune" if name == "prune" or any("prune=" in word for word in args):
            return "removes commits that nothing points to for good"
        case "filter-branch" | "filter-repo":
            return "rewrites every commit"
        case "update-ref" if found.has("d"):
            return "removes a reference"
        case "rm" if found.has("r") and any(
            word in (".", "*") or is_pattern(word[-1:]) for word in found.operands
        ):
            return "removes every file"
        case _:
            return ""


def _pushed(args: Sequence[str]) -> str:
    found = options(args, "o", ("push-option", "repo", "receive-pack"))
    if found.has("n", "dry-run"):
        return ""
    if found.has("f", "force", "mirror", "force-with-lease", "prune"):
        return "rewrites the history that others share"
    if found.has("d", "delete") or any(word.startswith(":") and len(word) > 1 for word in found.operands):
        return "deletes a branch or tag that others share"
    if any(word.startswith("+") for word in found.operands):
        return "rewrites the history that others share"
    return ""


def _checked_out(name: str, args: Sequence[str]) -> str:
    found = options(args, "bBcs" if name != "restore" else "s", ("source", "orphan", "conflict"))
    lost = "throws away changes that are not committed; `git stash` keeps them"
    if name != "restore" and (found.has("f", "force") or found.has("discard-changes")):
        return lost
    if name == "restore" and found.has("S", "staged") and not found.has("W", "worktree"):
        return ""
    whole = any(word in (".", "./", ":/", "*") or is_pattern(word) for word in found.operands)
    return lost if whole and name != "switch" else ""


def _runs(name: str, args: list[str]) -> list[Outcome]:
    match name:
        case "config":
            words = [word for word in args if not word.startswith("-")]
            words = words[1:] if words[:1] in (["set"], ["get"]) else words
            return _setting(words[0], words[1]) if len(words) > 1 else []
        case "submodule" if "foreach" in args:
            words = [word for word in args[args.index("foreach") + 1 :] if word != "--recursive"]
            return [Code(" ".join(words))]
        case "bisect" if args[:1] == ["run"]:
            return [Argv(tuple(args[1:]))]
        case "rebase":
            text = options(args, "xs", ("exec", "onto", "strategy")).value("x", "exec")
            return [Code(text)] if text else []
        case "worktree" | "clone" | "fetch":
            text = options(args, "ucbo", ("upload-pack", "config")).value("upload-pack")
            return [Code(text)] if text else []
        case _:
            return []
