"""`onplan doctor`: what is installed, set and reachable, and whether the model can do what onplan needs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING

import click

from onplan.cli.options import RunFlags, common_options, run_options

if TYPE_CHECKING:
    from onplan.cli.view.screen import Line, Style
    from onplan.config import Config
    from onplan.models.probe import Finding

_MARKS: Mapping[str, tuple[str, Style]] = {
    "ok": ("✓", "green"),
    "failed": ("✗", "red"),
    "unknown": ("?", "yellow"),
}
_OTHERS = (
    *("prompt", "output_format", "auto", "sandbox", "sandbox_network", "dialect", "preset", "plan"),
    *("max_rounds", "max_tokens", "max_cost", "max_context", "resume"),
)


@click.command(
    "doctor",
    short_help="Check versions, key, endpoint, and what the model can do.",
    epilog="\b\nExample:\n  onplan doctor\n  onplan doctor --model openai:qwen@http://127.0.0.1:8080/v1",
)
@run_options(*_OTHERS)
@common_options
@click.pass_context
def command(ctx: click.Context, flags: RunFlags) -> None:
    """Check versions, the key (it is never printed), the endpoint, and with two short requests whether the
    model answers, streams, calls a tool and reads its cache; each failure with a cure. Exit code 1 if
    something failed."""
    from onplan.cli.view.screen import screen_on

    screen = screen_on(sys.stdout, colour=flags.colour)

    async def tell() -> bool:
        well = True
        async for finding in examine(flags):
            screen.lines(finding_lines(finding))
            well = well and finding.state != "failed"
        return well

    ctx.exit(0 if asyncio.run(tell()) else 1)


async def examine(flags: RunFlags) -> AsyncIterator[Finding]:
    from onplan.cli.start import configuration
    from onplan.config import DEMO, open_model
    from onplan.errors import ConfigError
    from onplan.models.names import CHOICE
    from onplan.models.probe import Finding, probe

    for finding in _versions():
        yield finding
    config = configuration(flags)
    if not config.named and config.model == DEMO:
        yield Finding("model", "failed", "none", CHOICE)
        return
    yield Finding("model", "ok", config.model if config.named else f"{config.model}, by the key that is set")
    for finding in _keys(config):
        yield finding
    try:
        model = open_model(config.model, config.environ)
    except ConfigError as error:
        yield Finding("can be opened", "failed", str(error))
        return
    async for finding in probe(model):
        yield finding
    if (close := getattr(model, "aclose", None)) is not None:
        await close()


def _versions() -> Iterator[Finding]:
    import platform
    from importlib import metadata

    from onplan._version import __version__
    from onplan.models.probe import Finding

    yield Finding("onplan", "ok", f"{__version__}, Python {platform.python_version()}")
    for package in ("anthropic", "openai"):
        try:
            yield Finding(package, "ok", metadata.version(package))
        except metadata.PackageNotFoundError:
            yield Finding(package, "failed", "is not installed", f"pip install {package}")


def _keys(config: Config) -> Iterator[Finding]:
    """The key of the model's provider, and the address that is set; neither where the model needs none."""
    from onplan.errors import ConfigError
    from onplan.models.names import parse_name
    from onplan.models.probe import Finding

    try:
        parsed = parse_name(config.model)
    except ConfigError:
        return
    key, address = f"{parsed.provider.upper()}_API_KEY", f"{parsed.provider.upper()}_BASE_URL"
    url = parsed.url or config.environ.get(address, "")
    if config.environ.get(key, "").strip():
        yield Finding("key", "ok", f"{key} is set")
    elif url:
        yield Finding("key", "unknown", f"{key} is not set; many servers need none")
    else:
        yield Finding("key", "failed", f"{key} is not set", f"export {key}=…")
    if url:
        yield Finding("address", "ok", url)


def finding_lines(finding: Finding) -> Iterator[Line]:
    from onplan.cli.view.screen import Prose, Span

    mark, colour = _MARKS[finding.state]
    yield Prose((Span(f"{mark} ", colour), f"{finding.name}: {finding.told}"))
    if finding.cure:
        yield Prose((f"  {finding.cure}",), 2)
