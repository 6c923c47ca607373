"""Runs everything a change must pass, and ends with pytest's own closing line.

Called by ./hermes-test in the environment that has the test set. Without arguments: format, lint,
types, layers and a look at all tests side by side, then the tests. With arguments: pytest alone,
with just these.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
WORKERS_MAX = 8
# The last one compiles all tests, which each worker would do again for itself.
PARTS = {
    "ruff format": ["ruff", "format", "--check", "--quiet"],
    "ruff check": ["ruff", "check", "--quiet"],
    "mypy": ["mypy", "--no-error-summary"],
    "lint-imports": ["lint-imports", "--no-logo"],
    "collection": ["pytest", "--collect-only", "-qq"],
}


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


def main(arguments: list[str]) -> int:
    os.chdir(ROOT)
    if "--soak" in arguments:
        arguments = [word for word in arguments if word != "--soak"]
        os.environ["HERMES_SOAK"] = "1"
    if arguments:
        return pytest.main(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    failed = run_parts()
    workers = min(os.cpu_count() or 1, WORKERS_MAX)
    code = pytest.main(["-n", str(workers), "--dist", "worksteal"], plugins=[Report(failed)])
    return int(code) or int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
