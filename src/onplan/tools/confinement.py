"""A sandbox for one session: whether it works here, its own /tmp, and what it leaves on disk at the end."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path

from onplan.errors import ConfigError
from onplan.tools.sandbox import Sandbox, Unavailable, detect


def session_sandbox(
    root: Path, home: Path, *, network: bool = False, private: Iterable[Path] = ()
) -> Sandbox:
    """The sandbox that an agent works in: what a command leaves in the background goes on until the end.

    `private`: folders of onplan's own, hidden where they would be seen. Raises `ConfigError` as `Sandbox`.
    """
    sandbox = Sandbox(root, home, network=network, lingering=True)
    return replace(sandbox, hidden=tuple(path for path in private if sandbox.shows(path)))


@contextlib.contextmanager
def confinement(sandbox: Sandbox) -> Generator[Sandbox, None, None]:
    """`sandbox` with a /tmp that its commands share, unless it has one. End all commands before you leave.

    Then that folder is removed, and so are the empty folders that the sandbox had to leave. Raises
    `ConfigError` where no sandbox can be made: nothing is ever run without the one that was asked for.
    """
    found = detect(platform=sandbox.platform)
    if isinstance(found, Unavailable):
        raise ConfigError(f"no sandbox can be made here: {found.reason}; {found.cure}")
    placeholders = sandbox.placeholders()
    with contextlib.ExitStack() as stack:
        for path in placeholders:
            stack.callback(_remove_empty, path)
        if sandbox.temporary is None:
            temporary = Path(tempfile.mkdtemp(prefix="onplan-tmp-"))
            stack.callback(shutil.rmtree, temporary, ignore_errors=True)
            sandbox = replace(sandbox, temporary=temporary)
        yield sandbox


def _remove_empty(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.rmdir()
