"""The threat model names a test for each promise, and each of these is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "threat-model.md"
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_test_that_backs_a_promise_exists(file: str, name: str) -> None:
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE)


def test_every_promise_names_a_test() -> None:
    promises = PAGE.read_text(encoding="utf-8").partition("## Promises")[2].partition("## Not promised")[0]
    rows = [row for row in promises.splitlines() if row.startswith("| ") and not row.startswith("| promise")]
    assert len(rows) == len(NAMED) > 25
