"""A full run names a flaky test and goes on, except where that could hide a breach."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from setup.checks import FULL_RUN

ROOT = Path(__file__).parents[2]
# Fails when it is run for the first time, passes from then on.
FLAKY = """
import pathlib, pytest

def test_{name}():
    seen = pathlib.Path(__file__).with_suffix(".seen")
    if not seen.exists():
        seen.touch()
        pytest.fail("the first time")
"""


def full_run(folder: Path) -> subprocess.CompletedProcess[str]:
    """The suite in that folder, under our conftest, as a full run does it."""
    shutil.copy(ROOT / "tests/conftest.py", folder)
    ours = ["-c", ROOT / "pyproject.toml", "--rootdir", folder, "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *ours, "-n", "1", *FULL_RUN, folder]
    command += ["--reruns-delay", "0"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_flaky_test_is_named_with_its_failure_and_fails_only_where_a_breach_could_hide(
    tmp_path: Path,
) -> None:
    for folder in ("unit/gateway", "unit/secrets", "attacks"):
        name = folder.replace("/", "_")
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"test_{name}.py").write_text(FLAKY.format(name=name), "utf-8")
    marked = FLAKY.replace("def test", "@pytest.mark.once\ndef test").format(name="marked")
    (tmp_path / "test_marked.py").write_text(marked, "utf-8")
    done = full_run(tmp_path)
    again, _, failed = done.stdout.partition("rerun test summary info")[2].partition("short test")
    assert re.findall(r"^RERUN \S+::(\S+)", again, re.M) == ["test_unit_gateway"], done.stdout
    assert "the first time" in again
    assert set(re.findall(r"^FAILED \S+::(\S+)", failed, re.M)) == {
        "test_unit_secrets",
        "test_attacks",
        "test_marked",
    }
    assert re.search(r"^=+ 3 failed, 1 passed, 1 rerun in .*=+$", done.stdout, re.M)
