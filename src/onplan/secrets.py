"""Finds what looks like a key in text and masks it for display and export; never changes what runs."""

from __future__ import annotations

import re
from typing import Any, cast

MASK = "[masked]"

# Each form has a prefix of its own or a shape that hashes, UUIDs and plain words do not have: a mask on
# every long string would hide commit ids and checksums, which people need to read.
_KEYS = re.compile(
    r"""
    (?<![A-Za-z0-9_-])(?:
        (?P<anthropic>sk-ant-[a-z0-9]+-)[A-Za-z0-9_-]{20,}
      | (?P<openai>sk-(?:proj-|svcacct-|admin-)?)(?=[A-Za-z_-]*\d)(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{32,}
      | (?P<hex>sk-(?:or-v1-)?)[0-9a-f]{32,}(?![A-Za-z0-9_-])
      | (?P<github>gh[pousr]_|github_pat_)[A-Za-z0-9_]{30,}
      | (?P<gitlab>glpat-)[A-Za-z0-9_-]{20,}
      | (?P<slack>xox[abposer]-|xapp-)(?=[A-Za-z-]*\d)[A-Za-z0-9-]{16,}
      | (?P<aws>AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | (?P<google>AIza)[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])
      | (?P<stripe>[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9]{20,}
      | (?P<huggingface>hf_)[A-Za-z0-9]{30,}
      | (?P<npm>npm_)[A-Za-z0-9]{36}(?![A-Za-z0-9])
      | (?P<pypi>pypi-)[A-Za-z0-9_-]{60,}
      | (?P<sendgrid>SG\.)[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{30,}
      | (?P<groq>gsk_)[A-Za-z0-9]{40,}
      | (?P<xai>xai-)[A-Za-z0-9]{60,}
      | (?P<jwt>eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}
    )
    """,
    re.VERBOSE,
)
_PEM = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)"
    r"(?:(?!-----)(?:[A-Za-z0-9+/=\s:,-]|\\[nr]))*"
    r"(-----END [A-Z ]*PRIVATE KEY-----)"
)
_BEARER = re.compile(r"(?i)(\b(?:authorization:\s*)?bearer\s+)(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/-]{20,}=*")
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{1,100}:)[^\s:/@'\"$<{]{3,200}(?=@[A-Za-z0-9])")
# An assignment names its value; the value has to look random, so that words and paths stay readable.
_NAMED = re.compile(
    r"""(?ix)
    ((?:secret|password|passwd|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token)
       (?![A-Za-z0-9_]{0,20}hash)[A-Za-z0-9_]{0,20}\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?)
    (?=[A-Za-z_/+.-]*[0-9])(?=[0-9_/+.-]*[A-Za-z])[A-Za-z0-9_/+.~-]{16,200}=*
    """
)
# Nearly every text holds none of these, and looking for words is many times quicker than any pattern.
_WORTH_A_LOOK = (
    *("sk-", "ghp_", "gho_", "ghu_", "ghr_", "ghs_", "github_pat_", "glpat-", "xox", "xapp-", "akia", "asia"),
    *("aiza", "sk_", "rk_", "whsec_", "hf_", "npm_", "pypi-", "sg.", "gsk_", "xai-", "eyj", "private key"),
    *("bearer", "secret", "passw", "api", "access", "token", "://"),
)


def mask_secrets(text: str) -> str:
    """`text` with the secret part of everything that looks like a key replaced by `[masked]`.

    Known forms of keys, private keys, bearer tokens, passwords in URLs and values assigned to a name such as
    `API_KEY`. What tells the kind of key is left. Hashes and UUIDs stay. Safe on the text of a JSON value
    and on a line of JSON: quotes and backslashes never belong to what is replaced.
    """
    folded = text.lower()
    if not any(word in folded for word in _WORTH_A_LOOK):
        return text
    text = _PEM.sub(rf"\1 {MASK} \2", text)
    text = _KEYS.sub(lambda found: f"{found[found.lastgroup or 0]}{MASK}", text)
    for pattern in (_BEARER, _IN_URL, _NAMED):
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def masked_value(value: Any) -> Any:
    """A JSON value with every text in it masked, the data of images and PDFs apart."""
    match value:
        case str():
            return mask_secrets(value)
        case {"media_type": str(), "data": str(data)} if data:
            return {**masked_value({**value, "data": ""}), "data": data}
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {mask_secrets(key): _named(key, item) for key, item in items}
        case list() | tuple():
            return [masked_value(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _named(key: str, value: Any) -> Any:
    """The value of a key, which may tell what it is: `{"api_key": "…"}` is an assignment too."""
    if not isinstance(value, str):
        return masked_value(value)
    masked, name = mask_secrets(f"{key}={value}"), f"{key}="
    return masked.removeprefix(name) if masked.startswith(name) else mask_secrets(value)
