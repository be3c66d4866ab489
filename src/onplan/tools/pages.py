"""HTML as Markdown, made in a process of its own: a hostile page costs that process and nothing else."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from onplan.errors import ToolError
from onplan.plan.text import one_line

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_UNREAD = ("script", "style", "noscript", "template", "nav", "svg", "iframe", "head", "title")
_ENDING_EACH_OTHER = ({"li"}, {"p"}, {"dt", "dd"}, {"tr"}, {"td", "th"})
_MAX_SECONDS = 20
_MAX_MEMORY = 2 << 30


async def in_markdown(html: str, url: str) -> str:
    """`html` from `url` as Markdown, its title first.

    Cancelling ends the conversion at once. Raises `ToolError` for a page that could not be converted.
    """
    import asyncio
    from asyncio.subprocess import DEVNULL, PIPE

    # -P: nothing in the working directory may take the place of a module.
    command = (sys.executable, "-P", "-m", "onplan.tools.pages")
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
    )
    try:
        output, _ = await process.communicate(f"{url}\n{html}".encode("utf-8", "replace"))
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            # Reads what is left in the pipes: a process whose pipes are full is not reported as ended.
            await process.communicate()
    if process.returncode:
        raise ToolError(
            "the HTML of the page could not be turned into text (too large or too deep): use another source"
        )
    return output.decode()


def markdown_of(html: str, url: str) -> str:
    """The conversion itself. Scripts, styles and navigation go; links become absolute."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    soup = BeautifulSoup(html, "html.parser")
    found = next((tag for tag in soup("title") if tag.find_parent("svg") is None), None)
    title = " ".join(one_line(found.get_text()).split()) if found else ""
    _prepare(soup, url)
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    try:
        text = converter.convert_soup(soup)
    except RecursionError:
        text = soup.get_text("\n", strip=True)
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.split("\n"))).strip("\n")
    return "\n\n".join(part for part in (f"Title: {title}" if title else "", body) if part)


def _prepare(soup: BeautifulSoup, url: str) -> None:
    for tag in soup(_UNREAD):
        if not tag.decomposed:
            tag.decompose()
    for image in soup("img"):
        if not str(image.get("alt") or "").strip() or _is_inline(str(image.get("src") or "")):
            image.replace_with(str(image.get("alt") or ""))
    for link in soup("a"):
        href = str(link.get("href") or "").strip()
        if not href or href.startswith("#") or _is_inline(href):
            link.unwrap()
            continue
        with suppress(ValueError):
            link["href"] = urljoin(url, href)
    # The parser does not know that the next item ends the one before it.
    for names in _ENDING_EACH_OTHER:
        for tag in soup(list(names)):
            if tag.parent is not None and tag.parent.name in names:
                tag.parent.insert_after(tag)


def _is_inline(reference: str) -> bool:
    return reference.lower().startswith(("data:", "javascript:", "blob:"))


def _bound_resources() -> None:
    """For a page that makes the parser run for ever, and for a parent that was killed meanwhile."""
    import resource

    for what, limit in ((resource.RLIMIT_CPU, _MAX_SECONDS), (resource.RLIMIT_AS, _MAX_MEMORY)):
        with suppress(OSError, ValueError):  # not every system takes each of them
            resource.setrlimit(what, (limit, limit))


def _main() -> None:
    _bound_resources()
    url, _, html = sys.stdin.buffer.read().decode("utf-8", "replace").partition("\n")
    sys.stdout.buffer.write(markdown_of(html, url).encode("utf-8", "replace"))


if __name__ == "__main__":
    _main()
