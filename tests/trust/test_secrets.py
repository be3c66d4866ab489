"""Keys are masked where they are shown; hashes, ids and words are not."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onplan.cli.view.screen import Screen
from onplan.secrets import MASK, mask_secrets

# Put together here, so that no scanner takes this file for a leak.
A20 = "Ab3dEf6hIj9lMn2pQr5t"
KEYS = {
    "anthropic": f"sk-ant-{'api03'}-{A20}{A20}",
    "openai": f"sk-{'proj'}-{A20}_{A20}",
    "openai_old": f"sk-{A20}T3BlbkFJ{A20}",
    "deepseek": "sk-" + "0123456789abcdef" * 2,
    "github": f"ghp_{A20}{A20}",
    "github_fine": f"github_{'pat'}_11{A20}_{A20}",
    "gitlab": f"glpat-{A20}",
    "slack": f"xoxb-{'123456789012'}-{A20}",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + A20 + "Sy1-abcdEFGH_ij",
    "stripe": f"sk_live_{A20}",
    "huggingface": f"hf_{A20}{A20}",
    "npm": f"npm_{A20}{A20[:16]}",
    "jwt": f"eyJ{A20}.eyJ{A20}.{A20}",
}


@pytest.mark.parametrize("name", KEYS)
def test_a_key_is_masked_wherever_it_stands(name: str) -> None:
    key = KEYS[name]
    for text in (key, f"KEY={key}", f'"{key}"', f"see {key}, then", f"https://x/?k={key}&y=1"):
        masked = mask_secrets(text)
        assert MASK in masked
        assert key not in masked
        assert key[-12:] not in masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Authorization: Bearer abc123def456ghi789jkl0", f"Authorization: Bearer {MASK}"),
        ("postgres://me:s3cr3t-pw@db.example/x", f"postgres://me:{MASK}@db.example/x"),
        ("API_KEY=a1b2c3d4e5f6a7b8c9", f"API_KEY={MASK}"),
        ('{"client_secret": "Zx9Yw8Vu7Ts6Rq5Po4"}', f'{{"client_secret": "{MASK}"}}'),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
            f"-----BEGIN RSA PRIVATE KEY----- {MASK} -----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_what_is_named_or_framed_as_a_secret_is_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "123e4567-e89b-12d3-a456-426614174000",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "sk-learn-is-a-library-with-a-name-2024-edition-long",
        "password = getpass.getpass()",
        "password: the one that you were given",
        "password_hash=5f4dcc3b5aa765d61d8327deb882cf99aa",
        "api_key = os.environ['OPENAI_API_KEY']",
        "token budget: 8000",
        "max_tokens=4096",
        "npm_config_registry",
        "xoxo-and-hugs",
        "https://example.com:8080/path@2",
        "git@github.com:owner/repository.git",
        "ssh://git@github.com/owner/repository",
        "bearer of bad news",
        "-----BEGIN CERTIFICATE-----",
        "AKIAs are letters",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUA",
        "task-0123456789abcdef0123456789abcdef",
    ],
)
def test_hashes_ids_words_and_code_are_left_alone(text: str) -> None:
    assert mask_secrets(text) == text


@given(st.text(max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@given(st.lists(st.sampled_from([*KEYS.values(), "plain", 'quo"te', "back\\slash", "a\nb"]), max_size=6))
def test_a_line_of_json_stays_json_of_the_same_shape(values: list[str]) -> None:
    line = json.dumps({"values": values, "password": KEYS["jwt"]})
    masked = json.loads(mask_secrets(line))
    assert [mask_secrets(value) for value in values] == masked["values"]
    assert list(masked) == ["values", "password"]


@pytest.mark.parametrize(
    "piece",
    ["a", "secret", "token=", "x://", "sk-", "eyJ", "-----BEGIN PRIVATE KEY-----\n", "bearer ", "password=a"],
)
def test_text_without_end_does_not_hang(piece: str) -> None:
    assert len(mask_secrets(piece * (300_000 // len(piece)))) > 0


def test_a_key_at_the_start_of_a_line_is_masked_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-ant-api03-" + "a1B2" * 8
    Screen(sys.stdout).json({"text": f"first\n{key}\nlast", "api_key": "x9" * 12})
    assert json.loads(capsys.readouterr().out) == {
        "text": "first\nsk-ant-api03-[masked]\nlast",
        "api_key": "[masked]",
    }
