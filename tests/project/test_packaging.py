"""The wheel: builds, holds what it must, and runs in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **env})


@pytest.mark.timeout(300)
def test_a_built_wheel_installs_and_runs_in_an_empty_environment(tmp_path: Path):
    built = _run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)
    )
    assert built.returncode == 0, built.stderr
    wheel = next(tmp_path.glob("onplan-*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert "onplan/py.typed" in names
    assert "onplan/scenarios/readme_run.json" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]

    python = tmp_path / "env" / "bin" / "python"
    assert _run(sys.executable, "-m", "venv", str(tmp_path / "env")).returncode == 0
    installed = _run(
        str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)
    )
    if "Could not find a version" in installed.stderr or "ConnectionError" in installed.stderr:
        pytest.skip(f"no package index is reachable for the wheel's dependencies: {installed.stderr[-200:]}")
    assert installed.returncode == 0, installed.stderr

    onplan = str(python.with_name("onplan"))
    version = _run(onplan, "--version")
    assert (version.returncode, version.stderr) == (0, "")
    project = tmp_path / "project"
    project.mkdir()
    (project / "greet.py").write_text('"""Says hello."""\n\n\ndef greet(name):\n    """A greeting."""\n')
    demo = _run(onplan, "demo", str(project), "--auto", ONPLAN_HOME=str(tmp_path / "home"))
    assert demo.returncode == 0, demo.stderr
    assert "greet" in (project / "README.md").read_text()
