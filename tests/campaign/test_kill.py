"""`kill -9` at random points of real runs: every session resumes, nothing accepted is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import campaign


@pytest.mark.timeout(180)
def test_twenty_killed_runs_resume_and_lose_no_accepted_write(tmp_path: Path):
    figures = campaign(20, seed=7, folder=tmp_path)
    assert figures.faults == []
    assert (figures.kills, figures.resumed) == (20, 20)
    assert figures.writes_told > 0
    assert figures.forks == 20


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_three_hundred_killed_runs_resume_and_lose_no_accepted_write(tmp_path: Path):
    figures = campaign(300, seed=11, folder=tmp_path)
    assert figures.faults == []
    assert (figures.kills, figures.resumed) == (300, 300)
    assert figures.in_tool > 10
    assert figures.compactions > 100
