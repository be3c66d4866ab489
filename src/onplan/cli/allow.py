"""The person's rules while a run goes on: saved where they choose, listed, removed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onplan.cli.conversation import Choice, Conversation
from onplan.cli.view.screen import Line, Prose, Span
from onplan.cli.view.words import short_path
from onplan.errors import ConfigError
from onplan.permissions import Permissions
from onplan.plan.text import one_line
from onplan.rules import Rule, Verdict, parse_rules
from onplan.settingsfile import Places, read_settings

if TYPE_CHECKING:
    from onplan.cli.rulefile import FileChange


@dataclass(frozen=True, slots=True)
class RulePlace:
    """A settings file of ours in which a rule can be kept. `told`: what that means to the person."""

    key: str
    told: str
    file: Path


@dataclass(frozen=True, slots=True)
class RuleFiles:
    """Where rules of a run in `root` can be saved. `trusted`: whether the person trusts `root`; else what
    its files allow does not count."""

    root: Path
    where: Places
    trusted: bool

    def places(self, verdict: Verdict = "allow") -> tuple[RulePlace, ...]:
        """The project's own files only where they would count, and where they really are in it."""
        own = self.where.config / "settings.toml"
        user = RulePlace("u", f"in every project of yours: {short_path(own)}", own)
        project = self.root / ".onplan" / "settings.toml"
        if not self._counts(verdict) or not _is_inside(project, self.root):
            return (user,)
        return (
            RulePlace("p", f"in this project, also for others: {project.relative_to(self.root)}", project),
            user,
        )

    def _counts(self, verdict: Verdict) -> bool:
        return self.trusted or verdict != "allow"

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file of ours that is read in `root`."""
        below = self.root / ".onplan"
        return (self.where.config / "settings.toml", below / "settings.toml", below / "settings.local.toml")


def _is_inside(file: Path, root: Path) -> bool:
    """Whether the file is no link out of the project: a repository must not choose what is written to."""
    return Path(os.path.realpath(file)) == Path(os.path.realpath(root)) / file.relative_to(root)


# --- saving -----------------------------------------------------------------------------------------


async def save_rule(
    conversation: Conversation, files: RuleFiles, offered: Sequence[str], verdict: Verdict = "allow"
) -> str | None:
    """The rule that the person chose and saved, for this session or in a file; `None` if they did not."""
    text = await _chosen(conversation, offered, verdict)
    return None if text is None else await _kept(conversation, files, text, verdict)


async def _kept(conversation: Conversation, files: RuleFiles, text: str, verdict: Verdict) -> str | None:
    """The rule, once the person said where it holds; `None` if they did not."""
    places = files.places(verdict)
    choices = [Choice("s", "for this session only", ("session",))]
    choices += [Choice(place.key, place.told) for place in places]
    conversation.screen.say("Where does it hold?", *_project_note(files, verdict))
    picked = await conversation.key("", [*choices, _BACK])
    if picked is None or picked.key == _BACK.key:
        return None
    if picked.key == "s":
        return text
    file = next(place.file for place in places if place.key == picked.key)
    return text if await _saved(conversation, file, verdict, text) else None


_BACK = Choice("b", "back, save nothing", ("back",))


def _project_note(files: RuleFiles, verdict: Verdict) -> tuple[Span, ...]:
    if files.trusted or verdict != "allow":
        return ()
    return (Span(" (In this project's own settings once you trust the directory: onplan trust)", "dim"),)


async def _chosen(conversation: Conversation, offered: Sequence[str], verdict: Verdict) -> str | None:
    """One of the offered rules, or one that the person types; only a rule that is understood."""
    typed = ""
    if offered:
        choices = [Choice(str(number), one_line(rule)) for number, rule in enumerate(offered, 1)]
        picked = await conversation.key("", [*choices, Choice("o", "another rule, typed", ("other",)), _BACK])
        if picked is None or picked.key == _BACK.key:
            return None
        if picked.key.isdecimal():
            return offered[int(picked.key) - 1]
        typed = (picked.rest or "").strip()
    else:
        conversation.screen.say("No single rule would allow it; every command of a line needs one.")
    while True:
        typed = typed or (await conversation.line("rule, such as bash(git diff:*)") or "").strip()
        if not typed:
            return None
        try:
            return understood(typed, verdict)
        except ConfigError as error:
            conversation.screen.say(Span(str(error), "yellow"))
            typed = ""


def understood(text: str, verdict: Verdict) -> str:
    """A rule as it is written into a file. Raises `ConfigError`, one line."""
    rules = parse_rules(text, verdict, "session")
    return str(rules[0]) if len(rules) == 1 else text.strip()


async def _saved(conversation: Conversation, file: Path, verdict: Verdict, rule: str) -> bool:
    """Show what the file will hold, and write it on a yes."""
    from onplan.cli.rulefile import with_rule, write  # with the first rule that is saved

    screen = conversation.screen
    try:
        change = with_rule(file, verdict, rule)
        screen.lines(change_lines(change))
        picked = await conversation.key("", (Choice("y", "save it", ("yes",)), _BACK))
        if picked is None or picked.key != "y":
            return False
        write(change)
    except ConfigError as error:
        screen.say(Span(str(error), "yellow"))
        return False
    screen.say(Span("saved", "green"), f" in {short_path(file)}; /allow lists and removes rules")
    return True


def change_lines(change: FileChange) -> Iterator[Line]:
    """What changes in a file: its name, and the lines that come and go."""
    import difflib

    begun = "" if change.before is not None else "  (a new file)"
    yield Prose((Span(short_path(change.file), "bold"), Span(begun, "dim")))
    before, after = (change.before or "").splitlines(), change.after.splitlines()
    changes = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    for line in changes:
        if line.startswith("@@"):
            continue
        style = {"+": "green", "-": "red"}.get(line[:1], "dim")
        yield Prose((Span(f"  {line}", style),), 4)  # type: ignore[arg-type]
    if before == after:
        yield (Span("  it is in there already", "dim"),)


# --- /allow -----------------------------------------------------------------------------------------


async def allow_command(
    arguments: str, rights: Permissions, conversation: Conversation, files: RuleFiles
) -> None:
    """`/allow` lists, `/allow RULE` adds (`ask RULE`, `deny RULE` too), `/allow remove RULE` or its number
    removes."""
    word, _, rest = arguments.strip().partition(" ")
    match word, rest.strip():
        case "", _:
            conversation.screen.lines(allow_lines(rights, files))
        case "remove", "":
            conversation.screen.say("Which one? /allow lists the rules; then /allow remove NUMBER")
        case "remove", which:
            await _remove(which, rights, conversation, files)
        case ("allow" | "ask" | "deny") as verdict, rule if rule:
            await _add(rule, verdict, rights, conversation, files)
        case _:
            await _add(arguments.strip(), "allow", rights, conversation, files)


async def _add(
    text: str, verdict: Verdict, rights: Permissions, conversation: Conversation, files: RuleFiles
) -> None:
    try:
        rule = understood(text, verdict)
    except ConfigError as error:
        conversation.screen.say(Span(str(error), "yellow"))
        return
    saved = await _kept(conversation, files, rule, verdict)
    if saved:
        rights.add_rules(parse_rules(saved, verdict, "session"))
    else:
        conversation.screen.line("No rule was saved.")


@dataclass(frozen=True, slots=True)
class Listed:
    """A rule as `/allow` lists it: the file that holds it, or `None` for this session."""

    rule: Rule
    file: Path | None


def listed_rules(rights: Permissions, files: RuleFiles) -> tuple[Listed, ...]:
    """What can be removed: the rules of the session, then those of our own files."""
    kept = [Listed(rule, file) for file in files.all for rule in _rules_in(file, files)]
    known = {_identity(one.rule) for one in kept}
    session = [Listed(rule, None) for rule in rights.rules if rule.source in ("session", "flag")]
    return (*(one for one in session if _identity(one.rule) not in known), *kept)


def _rules_in(file: Path, files: RuleFiles) -> tuple[Rule, ...]:
    source = "user" if file == files.all[0] else "project"
    return read_settings(file, "onplan", source).rules


def _identity(rule: Rule) -> tuple[str, str, str]:
    return rule.verdict, rule.tool, rule.pattern


def allow_lines(rights: Permissions, files: RuleFiles) -> Iterator[Line]:
    """What runs without a question and what never does, numbered for `/allow remove`."""
    if rights.auto:
        yield (Span("auto-approve is ON", "yellow"), ": only what is denied or needs a person stops")
    if rights.allowed:
        yield Prose((Span("this session", "bold"), f": {', '.join(sorted(rights.allowed))}"))
    rules = listed_rules(rights, files)
    before: Path | str | None = ""
    for number, one in enumerate(rules, 1):
        if one.file != before:
            before = one.file
            yield Prose((Span(short_path(one.file) if one.file else "rules of this session", "bold"),))
        style = {"allow": "green", "ask": "yellow", "deny": "red"}[one.rule.verdict]
        yield Prose((f"  {number}  ", Span(f"{one.rule.verdict:5}", style), f" {one.rule}"), 11)  # type: ignore[arg-type]
    others = [rule for rule in rights.rules if _identity(rule) not in {_identity(one.rule) for one in rules}]
    if others:
        yield Prose((Span("from other settings files", "bold"),))
        yield from (Prose((f"     {rule.told}",), 7) for rule in others)
    if not rules and not others and not rights.allowed and not rights.auto:
        yield ("Every call is asked about. /allow bash(git diff:*) adds a rule.",)


async def _remove(which: str, rights: Permissions, conversation: Conversation, files: RuleFiles) -> None:
    rules = listed_rules(rights, files)
    found = _found(which, rules)
    screen = conversation.screen
    if found is None:
        screen.line(f"{which} is no rule of the list; /allow shows it")
        return
    try:
        if found.file is not None and not await _taken_out(found.rule, found.file, conversation):
            screen.line("The rule stays.")
            return
    except ConfigError as error:
        screen.say(Span(str(error), "yellow"))
        return
    rights.drop_rules((found.rule,))
    screen.say(Span("removed", "green"), f": {found.rule.verdict} {found.rule}")


def _found(which: str, rules: Sequence[Listed]) -> Listed | None:
    if which.isdecimal():
        return rules[int(which) - 1] if 1 <= int(which) <= len(rules) else None
    return next((one for one in rules if which in (str(one.rule), f"{one.rule.verdict} {one.rule}")), None)


async def _taken_out(rule: Rule, file: Path, conversation: Conversation) -> bool:
    from onplan.cli.rulefile import without_rule, write

    change = without_rule(file, rule.verdict, str(rule))
    conversation.screen.lines(change_lines(change))
    picked = await conversation.key("", (Choice("y", "save it", ("yes",)), _BACK))
    if picked is None or picked.key != "y":
        return False
    write(change)
    return True
