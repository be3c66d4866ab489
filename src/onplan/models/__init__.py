"""Models that answer requests: one module for each vendor, and a scripted one that needs none."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING

from onplan.errors import ConfigError

if TYPE_CHECKING:
    from onplan.models.anthropic import AnthropicModel
    from onplan.models.names import ModelName
    from onplan.models.openai import OpenAIModel


def open_model(name: str, environ: Mapping[str, str]) -> AnthropicModel | OpenAIModel:
    """The real model that a name stands for (`onplan.models.names`), with key and address of `environ`.

    Nothing is sent, and no SDK is imported yet. Raises `ConfigError`: an unknown name, no key where one is
    needed, a missing SDK.
    """
    from onplan.models.names import parse_name

    parsed = parse_name(name)
    if not _is_installed(parsed.provider):
        raise ConfigError(f"{parsed} needs the package {parsed.provider}: pip install {parsed.provider}")
    return _anthropic(parsed, environ) if parsed.provider == "anthropic" else _openai(parsed, environ)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a module that was put in its place
        return False


def _anthropic(parsed: ModelName, environ: Mapping[str, str]) -> AnthropicModel:
    from onplan.models.anthropic import URL, AnthropicModel

    url = parsed.url or _set(environ, "ANTHROPIC_BASE_URL") or URL
    # Claude 3 refuses to be allowed longer replies.
    longest = 8_192 if parsed.name.startswith("claude-3") else 32_000
    key = _key(parsed, environ, url, URL, "ANTHROPIC_API_KEY")
    return AnthropicModel(parsed.name, api_key=key, base_url=url, name=str(parsed), max_tokens=longest)


def _openai(parsed: ModelName, environ: Mapping[str, str]) -> OpenAIModel:
    from onplan.models.openai import URL, OpenAIModel

    url = parsed.url or _set(environ, "OPENAI_BASE_URL") or URL
    key = _key(parsed, environ, url, URL, "OPENAI_API_KEY")
    return OpenAIModel(parsed.name, api_key=key, base_url=url, name=str(parsed))


def _key(parsed: ModelName, environ: Mapping[str, str], url: str, own: str, variable: str) -> str:
    if key := _set(environ, variable):
        return key
    if url == own:
        raise ConfigError(
            f"{parsed} needs a key: set {variable}, or name a server: {parsed}@http://HOST:PORT/v1"
        )
    # Local servers ask for none, but the SDKs insist on sending one.
    return "none"


def _set(environ: Mapping[str, str], variable: str) -> str:
    return environ.get(variable, "").strip().rstrip("/")
