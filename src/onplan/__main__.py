"""The console script: `--version` at once, everything else through the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; answers the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        # Without the command line's imports: scripts and shells ask this often.
        from onplan._version import __version__

        sys.stdout.write(f"onplan {__version__}\n")
        return 0
    try:
        from onplan.cli.main import run
    except KeyboardInterrupt:
        return 130
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
