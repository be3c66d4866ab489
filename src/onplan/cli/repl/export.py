"""The open session as a file for others."""

from __future__ import annotations

from pathlib import Path

from onplan.cli.agents import Running
from onplan.errors import ConfigError

_FORMATS = {".md": "md", ".html": "html", ".json": "json"}


async def export(run: Running, name: str) -> Path:
    """Write the session into the file `name`: a transcript (`.md`), the player (`.html`) or all records
    (`.json`); answers its path. By default a transcript that is named after the session.

    What looks like a key is masked. Raises `ConfigError` for a file that is there or of another kind.
    """
    from onplan.cli.export import written
    from onplan.cli.logs import load_from

    path = run.root / Path(name or f"onplan-{run.agent.session_id}.md").expanduser()
    to = _FORMATS.get(path.suffix)
    if to is None:
        raise ConfigError(f"{path.name} says no format: name it .md, .html or .json")
    log = await load_from(run.store, run.agent.session_id)
    text = written(log, to, masked=run.access.masked)
    try:
        with path.open("x", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is there already: name another file, /export FILE") from None
    return path
