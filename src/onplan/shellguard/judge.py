"""One line of shell text to one verdict: the guard's own findings, then a person's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onplan.shellguard.expand import TooMuch
from onplan.shellguard.marks import has_marks
from onplan.shellguard.paths import components
from onplan.shellguard.record import Record
from onplan.shellguard.rules import covered, forbids, touched
from onplan.shellguard.syntax import MAX_CHARS, joined, unseen
from onplan.shellguard.verdict import Command, Rule, Verdict
from onplan.shellguard.walk import Walker


def judge(line: str, *, cwd: str, home: str, rules: Sequence[Rule] = ()) -> Verdict:
    """What bash would do with `line` in the directory `cwd` for a person whose home is `home`.

    Both are absolute paths. Pure: nothing is run, and no file is looked at. Never raises, for any text;
    work is capped, and what goes beyond the cap is asked. The worst finding of any command counts, and of
    equals the first: hard deny, then a deny rule, then the guard's ask, then an ask rule, then allow rules.
    """
    record = Record(whole=(0, len(line)))
    if len(line) > MAX_CHARS:
        record.find("ask", "the line is too long to be read; put it into a file", record.whole)
    else:
        _read(line, _absolute(cwd), _absolute(home), record)
    return _with_rules(record, rules)


def _read(line: str, cwd: str, home: str, record: Record) -> None:
    hidden = unseen(line)
    if hidden is not None:
        record.find(
            "ask", "the line holds characters that a person cannot see; write it without them", hidden
        )
    walker = Walker(record, workspace=cwd, home=home)
    try:
        walker.line(line)
        if (other := joined(line)) is not None:
            walker.line(other, origin=record.whole)
    except (TooMuch, RecursionError):
        record.find("ask", "the line is too involved to be judged; do it in several steps", record.whole)
    except Exception as error:  # noqa: BLE001 - a fault of the guard's own must not open the gate
        record.find("ask", f"the guard could not read the line ({type(error).__name__})", record.whole)


def _absolute(path: str) -> str:
    return "/" + "/".join(components(path)) if not has_marks(path) else "/"


def _with_rules(record: Record, rules: Sequence[Rule]) -> Verdict:
    commands = tuple(Command(entry.raw, entry.text, entry.span) for entry in record.entries)
    own = record.worst
    verdict = Verdict("pass", commands=commands)
    if own is not None:
        verdict = Verdict(own.decision, f"{own.reason}.", own.span, commands, "guard")
    if verdict.decision == "deny":
        return verdict
    denied = _by_rule(record, rules, "deny")
    if denied is not None:
        return replace(denied, commands=commands)
    if verdict.decision == "ask":
        return verdict
    asked = _by_rule(record, rules, "ask")
    if asked is not None:
        return replace(asked, commands=commands)
    return _allowed(verdict, record, [rule for rule in rules if rule.decision == "allow"])


def _by_rule(record: Record, rules: Sequence[Rule], decision: str) -> Verdict | None:
    for rule in rules:
        if rule.decision != decision:
            continue
        for entry in record.entries:
            if not forbids(rule, entry):
                continue
            if decision == "deny":
                reason = f"the rule `deny {rule.pattern}` forbids `{entry.text[:80]}`; do it another way."
                return Verdict("deny", reason, entry.span, by="rule")
            return Verdict(
                "ask", f"the rule `ask {rule.pattern}` wants a person to see this.", entry.span, by="rule"
            )
    return None


def _allowed(verdict: Verdict, record: Record, rules: Sequence[Rule]) -> Verdict:
    entries = record.entries
    if not rules or not entries or not touched(entries, rules):
        return verdict
    for index, entry in enumerate(entries):
        if not covered(index, entries, rules):
            reason = f"a rule allows part of the line, but none allows `{entry.text[:80]}`."
            return replace(verdict, decision="ask", reason=reason, span=entry.span, by="rule")
    if record.changes_programs:
        reason = "the line changes a variable that decides which programs run."
        return replace(verdict, decision="ask", reason=reason, span=record.whole, by="rule")
    return replace(verdict, allowed=True)
