"""The modules of the page: what lets Python put them into one file."""

from __future__ import annotations

import re
from pathlib import Path

from onplan.web.html import bundle, source

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "src/onplan/web/page"


def test_the_modules_fit_into_one_script():
    """Names at the top of the modules must differ: they share one scope in the single file."""
    names: list[str] = []
    for module in PAGE.glob("*.js"):
        names += re.findall(
            r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)", module.read_text(), re.M
        )
    assert sorted(names) == sorted(set(names))


def test_the_page_lists_its_modules_so_that_each_comes_after_what_it_needs():
    order = re.findall(r'modulepreload" href="\./(\w+\.js)"', (PAGE / "index.html").read_text())
    assert sorted(order) == sorted(file.name for file in PAGE.glob("*.js"))
    for place, name in enumerate(order):
        needed = re.findall(r"from '\./(\w+\.js)'", (PAGE / name).read_text())
        assert set(needed) <= set(order[:place]), name


def test_the_demo_in_the_docs_is_made_of_the_page_as_it_is():
    """Else: `python docs/player/make.py`."""
    page = source("index.html")
    modules = re.findall(r'modulepreload" href="\./(\w+\.js)"', page)
    demo = (ROOT / "docs/player/demo.html").read_text(encoding="utf-8")
    assert bundle([(name, source(name)) for name in modules]) in demo
    for name in re.findall(r'stylesheet" href="\./(\w+\.css)"', page):
        assert source(name) in demo
    assert str(Path.home()) not in demo
