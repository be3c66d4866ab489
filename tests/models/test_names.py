"""How models are named, opened and refused; what is imported when."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import pytest

from onplan.config import trained_on
from onplan.errors import ConfigError
from onplan.models import open_model
from onplan.models.names import (
    EVERYTHING,
    IMAGES,
    NOTHING,
    ModelName,
    Takes,
    bare_name,
    default_name,
    parse_name,
    takes_of,
)

BOTH = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("anthropic:claude-opus-5-5", ModelName("anthropic", "claude-opus-5-5")),
        ("claude-opus-5-5", ModelName("anthropic", "claude-opus-5-5")),
        ("gpt-6.1-sol", ModelName("openai", "gpt-6.1-sol")),
        ("o3", ModelName("openai", "o3")),
        ("openai:qwen@http://127.0.0.1:8080/v1/", ModelName("openai", "qwen", "http://127.0.0.1:8080/v1")),
        ("openai:org/qwen:7b@http://[::1]:1/v1", ModelName("openai", "org/qwen:7b", "http://[::1]:1/v1")),
        ("anthropic:claude-x@20250805", ModelName("anthropic", "claude-x@20250805")),
        ("anthropic:m@https://proxy.invalid", ModelName("anthropic", "m", "https://proxy.invalid")),
    ],
)
def test_a_name_says_provider_model_and_address(text: str, name: ModelName) -> None:
    assert parse_name(text) == name
    assert parse_name(str(name)) == name


@pytest.mark.parametrize("text", ["", "llama", "mistral:x", "openai:", "openai:@http://x/v1", "openai:a b"])
def test_a_name_that_says_nothing_is_refused_with_the_ways_to_say_it(text: str) -> None:
    with pytest.raises(ConfigError, match=r"use .*openai:NAME@http://HOST:PORT/v1") as refused:
        parse_name(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, ""),
        ({"OPENAI_API_KEY": "o"}, "openai:gpt-6.1-sol"),
        (BOTH, "anthropic:claude-sonnet-5-5"),
        ({"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, ""),
        ({"ANTHROPIC_API_KEY": " "}, ""),
    ],
)
def test_a_key_alone_means_its_providers_default(environ: Mapping[str, str], name: str) -> None:
    assert default_name(environ) == name


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("anthropic:claude-sonnet-5-5", "TodoWrite"),
        ("openai:gpt-6.1-sol", "update_plan"),
        ("openai:qwen3@http://127.0.0.1:8080/v1", "write_todos"),
        ("openai:org/claude-like@http://127.0.0.1:8080/v1", "TodoWrite"),
        ("script:claude.json", "write_todos"),
        ("demo", "write_todos"),
    ],
)
def test_the_dialect_follows_the_family_and_not_the_address(text: str, dialect: str) -> None:
    assert trained_on(text) == dialect


def test_the_name_of_an_open_model_can_be_given_again() -> None:
    for text in ("anthropic:claude-sonnet-5-5", "openai:qwen@http://127.0.0.1:8080/v1"):
        assert open_model(text, BOTH).name == text
    assert bare_name("openai:qwen@http://127.0.0.1:8080/v1") == "qwen"


@pytest.mark.parametrize(
    ("text", "variable"),
    [("claude-sonnet-5-5", "ANTHROPIC_API_KEY"), ("gpt-6.1-sol", "OPENAI_API_KEY")],
)
def test_a_providers_own_address_needs_its_key(text: str, variable: str) -> None:
    with pytest.raises(ConfigError, match=f"needs a key: set {variable}"):
        open_model(text, {})


def test_another_address_needs_no_key() -> None:
    open_model("openai:qwen@http://127.0.0.1:8080/v1", {})
    open_model("openai:qwen", {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1"})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match="pip install openai"):
        open_model("gpt-6.1-sol", BOTH)


@pytest.mark.parametrize(
    "line",
    [
        "import onplan.cli.main",
        "import onplan.cli.repl, onplan.cli.headless",
        "from onplan.models import open_model; open_model('claude-x', {'ANTHROPIC_API_KEY': 'k'}); "
        "open_model('gpt-x', {'OPENAI_API_KEY': 'k'})",
    ],
)
def test_no_sdk_is_imported_before_the_first_request(line: str) -> None:
    heavy = "{'anthropic', 'openai', 'httpx2', 'pydantic'} & set(sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; {line}; print({heavy})"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout == "set()\n"


@pytest.mark.parametrize(
    ("model", "own", "elsewhere"),
    [
        ("claude-sonnet-5-5", EVERYTHING, IMAGES),
        ("claude-3-7-sonnet-20250219", EVERYTHING, IMAGES),
        ("claude-3-haiku-20240307", IMAGES, IMAGES),
        ("claude-2.1", NOTHING, NOTHING),
        ("gpt-6.1-sol", EVERYTHING, IMAGES),
        ("gpt-4o-mini", EVERYTHING, IMAGES),
        ("gpt-4.1", EVERYTHING, IMAGES),
        ("gpt-4-turbo", IMAGES, IMAGES),
        ("gpt-4-0613", NOTHING, NOTHING),
        ("gpt-4", NOTHING, NOTHING),
        ("gpt-3.5-turbo", NOTHING, NOTHING),
        ("o3", EVERYTHING, IMAGES),
        ("o3-mini", NOTHING, NOTHING),
        ("openai/gpt-oss-120b", NOTHING, NOTHING),
        ("openai/gpt-5.1", EVERYTHING, IMAGES),
        ("codex-next", EVERYTHING, NOTHING),
        ("Qwen/Qwen3-VL-8B-Instruct", EVERYTHING, IMAGES),
        ("qwen2.5vl:7b", EVERYTHING, IMAGES),
        ("llama3.2-vision", EVERYTHING, IMAGES),
        ("qwen3-coder", EVERYTHING, NOTHING),
        ("gemma3:4b", EVERYTHING, NOTHING),
        ("devstral", EVERYTHING, NOTHING),
        ("", EVERYTHING, NOTHING),
    ],
)
def test_what_a_model_takes_besides_text_is_told_by_its_name(
    model: str, own: Takes, elsewhere: Takes
) -> None:
    assert (takes_of(model, own=True), takes_of(model, own=False)) == (own, elsewhere)
