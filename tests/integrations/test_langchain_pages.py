"""The pages about other frameworks: what they show runs, and prints what they say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
NEEDS = {"langchain.md": "langchain", "pydantic-ai.md": "pydantic_ai", "openai-agents.md": "agents"}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", NEEDS)
def test_the_code_of_a_page_prints_what_the_page_says(page: str):
    if importlib.util.find_spec(NEEDS[page]) is None:
        pytest.skip(f"{NEEDS[page]} is not installed")
    code = "\n".join(blocks(page, "python"))
    command = [sys.executable, "-W", "error", "-W", "default::DeprecationWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(blocks(page, "text"))
    assert done.stdout
