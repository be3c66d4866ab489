"""What settings files and trust come to for a run, with the one question about a directory's settings."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onplan.cli.conversation import Choice, Conversation
from onplan.cli.terminal import Interrupted
from onplan.cli.view.screen import Screen, Span
from onplan.config import Config
from onplan.errors import ConfigError, OnplanError
from onplan.settingsfile import FileSettings, load_settings, places
from onplan.trust import Trust, brought_by, load_trust, remember

if TYPE_CHECKING:
    from onplan.tools.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Access:
    """What a run may do by settings and trust. `sandboxed`: bash is inside, and is not asked about there.
    `trusted`: what the directory's own settings allow counts."""

    settings: FileSettings
    sandbox: Sandbox | None = None
    trusted: bool = False

    @property
    def sandboxed(self) -> bool:
        return self.sandbox is not None and self.settings.auto == "sandboxed"

    @property
    def masked(self) -> bool:
        """Whether what looks like a key is masked in what is shown."""
        return self.settings.mask_secrets is not False


async def access(config: Config, root: Path, notices: Screen, person: Conversation | None = None) -> Access:
    """The settings that count in `root`; what does not count or is not understood is told on `notices`.

    A `person` is asked, once for each directory that brings settings, whether they trust it; without one it
    is not trusted. Raises `ConfigError` for a sandbox that is wanted and not to be had.
    """
    trust = load_trust(config.home)
    if trust.warning:
        notices.say(Span(f"onplan: {trust.warning}", "yellow"))
    trusted = await _trusted(config, trust, root, person)
    settings = load_settings(root, places(), trusted=trusted)
    for note in settings.notes:
        notices.say(Span(f"onplan: {note}", "yellow"))
    found = Access(settings, _sandbox(config, settings, root), trusted)
    for screen in (notices, *((person.screen,) if person else ())):
        screen.masked = screen.masked and found.masked
    return found


async def _trusted(config: Config, trust: Trust, root: Path, person: Conversation | None) -> bool:
    said = trust.said(root)
    brought = brought_by(root)
    if said is not None or person is None or not brought:
        return said is True
    screen = person.screen
    screen.say(f"{root} brings settings of its own:")
    screen.judged("\n".join(brought))
    screen.say(
        "They may allow calls, run commands as hooks and start servers. Until you trust the directory they "
        "can only forbid. Your answer is remembered; onplan trust changes it."
    )
    answer = await _answer(person)
    if answer is None:
        return False
    try:
        remember(config.home, root, answer)
    except OnplanError as error:
        screen.say(Span(f"onplan: the answer holds for now only: {error}", "yellow"))
    return answer


async def _answer(person: Conversation) -> bool | None:
    """Yes, no, or no answer at all: then the question comes again at the next start."""
    person.forget()
    choices = (Choice("y", "yes", ("yes",)), Choice("n", "no", ("no",)))
    with contextlib.suppress(Interrupted):
        picked = await person.key("Trust this directory? ", choices)
        return picked and picked.key == "y"
    return None


def _sandbox(config: Config, settings: FileSettings, root: Path) -> Sandbox | None:
    if config.sandbox or settings.sandbox:
        from onplan.tools.confinement import session_sandbox

        return session_sandbox(root, Path.home(), network=config.sandbox_network, private=(config.home,))
    if config.sandbox_network:
        raise ConfigError("--sandbox-network opens the sandbox, and there is none: give --sandbox too")
    return None
