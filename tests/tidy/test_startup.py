"""What a start must not load: asking for the version costs nothing but Python itself."""

import os
import subprocess
import sys
from pathlib import Path

from hermes import __version__

SRC = Path(__file__).parents[2] / "src"
HEAVY = {"argparse", "asyncio", "email", "http", "json", "logging", "socket", "sqlite3", "ssl"}
HEAVY |= {"concurrent", "ctypes", "dataclasses", "inspect", "subprocess", "tempfile", "typing"}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-s", "-P", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True)


def imported(*arguments: str) -> set[str]:
    """The modules that Python reports to have imported, in a real run of the program."""
    report = run("-X", "importtime", *arguments).stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in report if line.startswith("import time:")}


def test_version_is_told_on_standard_output() -> None:
    for flag in ("--version", "-V"):
        done = run("-m", "hermes", flag)
        assert (done.stdout, done.stderr) == (f"hermes {__version__}\n", "")


def test_version_imports_only_the_first_two_files_of_ours() -> None:
    told = run(
        "-c",
        "import sys; before = set(sys.modules); sys.argv = ['hermes', '--version']\n"
        "from hermes.__main__ import main; main()\n"
        "print(*sorted(set(sys.modules) - before))",
    )
    assert told.stdout.splitlines()[-1].split() == ["hermes", "hermes.__main__"]


def test_version_loads_nothing_heavy_and_nothing_foreign() -> None:
    added = imported("-m", "hermes", "--version") - imported("-c", "pass")
    roots = {name.partition(".")[0] for name in added}
    assert roots & HEAVY == set()
    assert roots - sys.stdlib_module_names == {"hermes"}
    assert {name for name in added if name.startswith("hermes")} == {"hermes"}


def test_help_is_told_without_a_parser() -> None:
    assert "argparse" not in imported("-m", "hermes", "--help")
    assert "argparse" in imported("-m", "hermes", "chat", "--help")
