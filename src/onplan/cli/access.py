"""What settings files and trust come to for a run, with the one question about a directory's settings."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from onplan.cli.terminal import Interrupted, Terminal
from onplan.cli.view.screen import Screen, Span
from onplan.config import Config
from onplan.errors import ConfigError, OnplanError
from onplan.settingsfile import FileSettings, load_settings, places
from onplan.tools.confinement import session_sandbox
from onplan.tools.sandbox import Sandbox
from onplan.trust import Trust, brought_by, load_trust, remember


@dataclass(frozen=True, slots=True)
class Access:
    """What a run may do by settings and trust. `sandboxed`: bash is inside, and is not asked about there."""

    settings: FileSettings
    sandbox: Sandbox | None = None

    @property
    def sandboxed(self) -> bool:
        return self.sandbox is not None and self.settings.auto == "sandboxed"

    @property
    def masked(self) -> bool:
        """Whether what looks like a key is masked in what is shown."""
        return self.settings.mask_secrets is not False


async def access(config: Config, root: Path, notices: Screen, terminal: Terminal | None = None) -> Access:
    """The settings that count in `root`; what does not count or is not understood is told on `notices`.

    With a `terminal` the person is asked, once for each directory that brings settings, whether they trust
    it; without one it is not trusted. Raises `ConfigError` for a sandbox that is wanted and not to be had.
    """
    trust = load_trust(config.home)
    if trust.warning:
        notices.say(Span(f"onplan: {trust.warning}", "yellow"))
    trusted = await _trusted(config, trust, root, terminal)
    settings = load_settings(root, places(), trusted=trusted)
    for note in settings.notes:
        notices.say(Span(f"onplan: {note}", "yellow"))
    found = Access(settings, _sandbox(config, settings, root))
    for screen in (notices, *((terminal.screen,) if terminal else ())):
        screen.masked = screen.masked and found.masked
    return found


async def _trusted(config: Config, trust: Trust, root: Path, terminal: Terminal | None) -> bool:
    said = trust.said(root)
    brought = brought_by(root)
    if said is not None or terminal is None or not brought:
        return said is True
    screen = terminal.screen
    screen.say(f"{root} brings settings of its own:")
    screen.judged("\n".join(brought))
    screen.say(
        "They may allow calls, run commands as hooks and start servers. Until you trust the directory they "
        "can only forbid. Your answer is remembered; onplan trust changes it."
    )
    answer = await _answer(terminal)
    if answer is None:
        return False
    try:
        remember(config.home, root, answer)
    except OnplanError as error:
        screen.say(Span(f"onplan: the answer holds for now only: {error}", "yellow"))
    return answer


async def _answer(terminal: Terminal) -> bool | None:
    """Yes, no, or no answer at all: then the question comes again at the next start."""
    terminal.forget()
    with contextlib.suppress(Interrupted):
        while (line := await terminal.read_line("Trust this directory? y/n> ")) is not None:
            match line.strip().casefold():
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
                case _:
                    terminal.screen.line("Please answer y or n.")
    return None


def _sandbox(config: Config, settings: FileSettings, root: Path) -> Sandbox | None:
    if config.sandbox or settings.sandbox:
        return session_sandbox(root, Path.home(), network=config.sandbox_network, private=(config.home,))
    if config.sandbox_network:
        raise ConfigError("--sandbox-network opens the sandbox, and there is none: give --sandbox too")
    return None
