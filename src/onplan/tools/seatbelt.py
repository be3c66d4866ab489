"""The profile that macOS's `sandbox-exec` enforces, for the same layout that bubblewrap mounts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from onplan.tools.mounts import TEMPORARY, TOOLS, Layout, protected, real

SEATBELT = "/usr/bin/sandbox-exec"


def profile(layout: Layout, writable: Sequence[Path], *, network: bool) -> str:
    """A profile for `sandbox-exec`, whose last rule that fits decides. Written from its documentation and
    never run: `docs/layout.md` says so."""
    home, root = real(layout.home), real(layout.root)
    places = [root, *map(real, layout.extra_writable)]
    temporary = real(layout.temporary or TEMPORARY)
    tools = [home / name for name in TOOLS]
    rules = [
        "(version 1)",
        "(allow default)",
        '(deny appleevent-send job-creation (with message "onplan"))',
        '(deny mach-lookup (global-name "com.apple.SecurityServer" "com.apple.securityd.xpc"'
        ' "com.apple.pasteboard.1" "com.apple.coreservices.launchservicesd"))',
        "(deny signal)",
        "(allow signal (target same-sandbox))",
        "(deny file-write*)",
        '(allow file-write* (regex #"^/dev/(null|zero|tty|fd/[0-9]+)$"))',
        f"(deny file-read-data {_subpaths([home])})",
        f"(allow file-read-data {_subpaths([*tools, *places, temporary])})",
        f"(allow file-write* {_subpaths([*places, temporary, *map(real, writable)])})",
    ]
    guarded = [mount for place in places for mount in protected(place) if mount.access != "write"]
    closed = [*(mount.path for mount in guarded), *map(real, layout.read_only)]
    rules.append(f"(deny file-write* {_subpaths(closed)})")
    rules.append(f"(deny file-write-create file-write-unlink (literal {_quoted(root / '.git')}))")
    if layout.hidden:
        rules.append(f"(deny file-read-data file-write* {_subpaths(map(real, layout.hidden))})")
    if not network:
        rules.append("(deny network*)")
    return "\n".join(rules)


def _subpaths(paths: Iterable[Path]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
