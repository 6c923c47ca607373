"""Runs everything a change must pass, and ends with pytest's own closing line.

Called by ./hermes-test in the environment that has the test set. Without arguments: format, lint,
types, layers and a look at all tests side by side, then the tests. With --fast: the same, but only
the tests of the inner loop. With other arguments: pytest alone, with just these.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
WORKERS_MAX = 8  # more than cores: a third of the time a test waits for another process
INSTALL_S_MAX = 120
# Debian's packages that some tests need, with the program of each: sandboxes to attack, and clocks
# that can be set.
PACKAGES = {"bubblewrap": "bwrap", "faketime": "faketime"}
# The last one compiles all tests, which each worker would do again for itself.
PARTS = {
    "ruff format": ["ruff", "format", "--check", "--quiet"],
    "ruff check": ["ruff", "check", "--quiet"],
    "mypy": ["mypy", "--no-error-summary"],
    "lint-imports": ["lint-imports", "--no-logo"],
    "collection": ["pytest", "--collect-only", "-qq"],
}
# A test that fails once and then passes is named with its traceback, and the run goes on. More than
# twenty of them are a fault of the change. tests/conftest.py says where there is no second chance.
SECOND_CHANCE = ["--reruns", "2", "--reruns-delay", "2", "--max-suite-reruns", "20"]
# What one wants to know after each change: no process is killed, no window opened, no server run.
FAST = ["tests/unit", "tests/tidy", "tests/contract", "-k", "not postgres", "-m", "not slow"]
FULL_RUN = ["--dist", "worksteal", *SECOND_CHANCE, "--rerun-show-tracebacks"]


@dataclass(frozen=True)
class Report:
    """A pytest plugin of one hook: which parts failed, told just before the closing line."""

    failed: list[str]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.failed:
            terminalreporter.section("failed before the tests", red=True)
            terminalreporter.line(", ".join(self.failed))


def run_parts() -> list[str]:
    """Run all parts at once; print the output of those that failed and return their names."""
    started = time.monotonic()
    running = {
        name: subprocess.Popen(
            [BIN / command[0], *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, command in PARTS.items()
    }
    failed = []
    for name, part in running.items():
        output, _ = part.communicate()
        print(f"{name}: {'FAILED' if part.returncode else 'ok'}", flush=True)
        if part.returncode:
            failed.append(name)
            print(output.strip(), flush=True)
    print(f"{len(PARTS) - len(failed)} of {len(PARTS)} ok, {time.monotonic() - started:.0f} s")
    return failed


def install_packages() -> None:
    """Install what some tests need, where nobody has to be asked: as root, with apt. Elsewhere
    those tests are skipped."""
    missing = [package for package, program in PACKAGES.items() if not shutil.which(program)]
    if not missing or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    install = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    for command in (install, ["apt-get", "update"], install):
        try:
            subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=INSTALL_S_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            break
        if all(shutil.which(PACKAGES[package]) for package in missing):
            break
    for package in missing:
        here = shutil.which(PACKAGES[package])
        print(f"{package}: {'installed' if here else 'cannot be installed'}")


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    install_packages()
    fast = arguments == ["--fast"]
    if "--soak" in arguments:
        arguments = [word for word in arguments if word != "--soak"]
        os.environ["HERMES_SOAK"] = "1"
    if arguments and not fast:
        return pytest.main(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    failed = run_parts()
    chosen = [*FAST, "--dist", "worksteal", "-q"] if fast else FULL_RUN
    cores = os.cpu_count() or 1
    workers = min(cores + cores // 2, WORKERS_MAX)
    code = pytest.main(["-n", str(workers), *chosen], plugins=[Report(failed)])
    return int(code) or int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
