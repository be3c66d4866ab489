"""How models are named: `provider:NAME`, `openai:NAME@URL`, or a bare name that a small table resolves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from onplan.errors import ConfigError

Provider: TypeAlias = Literal["anthropic", "openai"]

_FAMILIES: tuple[tuple[str, Provider], ...] = (
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
)

MediaKind: TypeAlias = Literal["image", "pdf"]
Takes: TypeAlias = frozenset[MediaKind]
"""What a model takes besides text."""

EVERYTHING: Takes = frozenset(get_args(MediaKind))
IMAGES: Takes = frozenset(("image",))
NOTHING: Takes = frozenset()

_BLIND = re.compile(r"gpt-3|gpt-4(-\d|-32k|$)|gpt-oss|o1-(mini|preview)|o3-mini|claude-(2|instant)")
_NO_PDFS = re.compile(r"claude-3-(opus|sonnet|haiku)|gpt-4-|chatgpt-")
_SEEING = re.compile(
    r"(claude|gemini|gpt-(4o|4\.1|4-turbo|[5-9])|chatgpt-|o[134](-|$))|.*(vl\d*\b|vision|llava|pixtral)"
)

_DEFAULTS: Mapping[Provider, str] = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol"}

DEFAULT_COST_CAP = 5.0
"""Dollars of a turn with a model that nobody chose by name."""

CHOICE = (
    "no model is set. Set ANTHROPIC_API_KEY or OPENAI_API_KEY for that provider's default model, name a "
    "local server with --model openai:NAME@http://127.0.0.1:8080/v1, or try onplan demo, which needs neither "
    "key nor network"
)
"""For a person who has set nothing."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model of a provider. `url`: where it answers, empty for what the environment or the provider says."""

    provider: Provider
    name: str
    url: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}@{self.url}" if self.url else f"{self.provider}:{self.name}"


def parse_name(text: str) -> ModelName:
    """Raises `ConfigError`, one line with the ways to name a model."""
    kind, colon, rest = text.strip().partition(":")
    for provider in get_args(Provider):
        if colon and kind == provider:
            return _with_url(provider, rest, text)
    for beginning, provider in _FAMILIES:
        if text.strip().startswith(beginning):
            return _with_url(provider, text.strip(), text)
    raise ConfigError(
        f"the model {text[:80]!r} is not known: use --model anthropic:NAME, openai:NAME, "
        "openai:NAME@http://HOST:PORT/v1, demo or script:FILE"
    )


def _with_url(provider: Provider, rest: str, text: str) -> ModelName:
    # A name may hold an @ of its own.
    found = re.fullmatch(r"(.*?)@(https?://.+)", rest)
    name, url = (found[1], found[2].rstrip("/")) if found else (rest, "")
    if not name or name.endswith("@") or any(char.isspace() for char in rest):
        raise ConfigError(
            f"the model {text[:80]!r} is not complete: use {provider}:NAME, or "
            f"{provider}:NAME@http://HOST:PORT/v1"
        )
    return ModelName(provider, name, url)


def bare_name(text: str) -> str:
    """The name that a provider gave the model, without provider and address; any other text as it is."""
    try:
        return parse_name(text).name
    except ConfigError:
        return text


def default_name(environ: Mapping[str, str]) -> str:
    """The default of the provider that the environment holds a key for, Anthropic's first; else empty.

    Behind another address than OpenAI's may be any model, so none is guessed.
    """
    if environ.get("ANTHROPIC_API_KEY", "").strip():
        return f"anthropic:{_DEFAULTS['anthropic']}"
    if environ.get("OPENAI_API_KEY", "").strip() and not environ.get("OPENAI_BASE_URL", "").strip():
        return f"openai:{_DEFAULTS['openai']}"
    return ""


def takes_of(model: str, *, own: bool) -> Takes:
    """What a model takes besides text, told by its name. `own`: it answers at its provider's own address.

    There all but some old models take images and PDFs. Elsewhere a server may refuse every request that
    holds an image, and with it the rest of the session, so only names that tell of images count.
    """
    name = model.casefold().rpartition("/")[2]
    if _BLIND.match(name):
        return NOTHING
    if own:
        return IMAGES if _NO_PDFS.match(name) else EVERYTHING
    return IMAGES if _SEEING.match(name) else NOTHING
