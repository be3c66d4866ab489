"""The page of the player as one file: modules and styles put in, the run as JSON that cannot break out."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files

import msgspec

from onplan.errors import OnplanError
from onplan.web.run import Run

_STYLE = re.compile(r'<link rel="stylesheet" href="\./([\w-]+\.css)">\n?')
_MODULE = re.compile(r'<link rel="modulepreload" href="\./([\w-]+\.js)">\n?')
_MAIN = '<script type="module" src="./main.js"></script>'
_PLACE = '<script type="application/json" id="run"></script>'
_IMPORT = re.compile(r"^import\s*\{[^}]*\}\s*from\s*['\"]\./[\w-]+\.js['\"];?[ \t]*\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def single_file(run: Run) -> str:
    """The player with this run in it: opens from a disk, asks nobody for anything.

    The policy in it lets run only the script and the styles of the package, by their hashes.
    """
    page = source("index.html")
    styles = "\n".join(source(name) for name in _STYLE.findall(page))
    script = bundle([(name, source(name)) for name in _MODULE.findall(page)])
    page = _MODULE.sub("", _STYLE.sub("", page))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(styles)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    page = page.replace('<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{head}', 1)
    page = page.replace("</head>", f"<style>{styles}</style>\n</head>", 1)
    page = page.replace(_MAIN, f'<script type="module">{script}</script>', 1)
    return page.replace(_PLACE, _PLACE.replace("></", f">{embedded(run)}</"), 1)


def embedded(run: Run) -> str:
    """JSON for a `<script>` of data: no text in it can end the element or begin a comment there."""
    body = msgspec.json.encode(run).decode()
    return re.sub(r"<(?=[!/sS])", r"\\u003c", body)


def bundle(modules: list[tuple[str, str]]) -> str:
    """ES modules as one script, in this order: `import {…} from './x.js'` goes, `export` in front of a
    declaration goes. Raises `OnplanError` for any other import or export."""
    parts: list[str] = []
    for name, text in modules:
        body = _EXPORT.sub("", _IMPORT.sub("", text))
        if left := _LEFT.search(body):
            raise OnplanError(f"{name} of the player cannot be put into one file: {left[0][:80]}")
        parts.append(body.replace("</script", "<\\/script").replace("<!--", "<\\!--"))
    return "\n".join(parts)


def source(name: str) -> str:
    """A file of the page, by its name."""
    return files("onplan.web").joinpath("page", name).read_text(encoding="utf-8")


def names() -> tuple[str, ...]:
    """The files that the page is made of."""
    page = source("index.html")
    return (*_STYLE.findall(page), *_MODULE.findall(page))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
