"""SH-4: a file that is swapped after the yes does not run, however the command reaches it."""

import time
from pathlib import Path

import pytest

from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.present import present_command
from hermes.tools.shell.verdict import judge

FILES = {
    "f": "echo hi\n",
    "Makefile": "all:\n\techo hi\n",
    "m.py": "print('hi')\n",
    "package.json": '{"scripts": {"test": "echo hi"}}\n',
    "lib/helper.py": "x = 1\n",
    "tests/test_x.py": "def test_x(): pass\n",
    ".git/hooks/pre-commit": "#!/bin/sh\n",
    ".git/config": "[core]\n",
    "notes.log": "a line\n",
}
SWAPS = [
    ("sh < f", "f"),
    ("bash 0< f", "f"),
    ("sh -s < ./f", "f"),
    ("bash -c 'sh f'", "f"),
    ('bash -c "sh ./f"', "f"),
    ("env X=1 bash -c '. ./f'", "f"),
    ("cat f | sh", "f"),
    ("sh <(cat f)", "f"),
    ("xargs -a f rm", "f"),
    ('eval "$(cat f)"', "f"),
    ("echo `sh f`", "f"),
    ("sudo sh f", "f"),
    ("timeout 5 sh f", "f"),
    ("sh f &", "f"),
    ("./f", "f"),
    ("make", "Makefile"),
    ("make -j2 all", "Makefile"),
    ("python3 -m m", "m.py"),
    ("python3 -c 'import m'", "m.py"),
    ("python3 m.py", "lib/helper.py"),
    ("pytest -q", "tests/test_x.py"),
    ("python3 -m pytest", "tests/test_x.py"),
    ("npm test", "package.json"),
    ("./f", "lib/helper.py"),
    ("git commit -m x", ".git/hooks/pre-commit"),
    ("git push", ".git/config"),
    ("sh $X", "m.py"),
    ("sh 'unclosed", "m.py"),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "f").chmod(0o755)
    return tmp_path


def bound(command: str, work: Path) -> str:
    place = CommandPlace(root=str(work), cwd=str(work), home="/home/user")
    return present_command(command, judge(command, place), work).bound


@pytest.mark.parametrize(("command", "swapped"), SWAPS)
def test_sh_04_what_a_command_reads_or_finds_is_held(
    work: Path, command: str, swapped: str
) -> None:
    before = bound(command, work)
    assert bound(command, work) == before
    file = work / swapped
    text = file.read_text()
    file.write_text(text.replace(text[-3], "X", 1))  # the same size
    assert bound(command, work) != before


@pytest.mark.parametrize("command", ["make", "python3 -m m", "pytest", "./f"])
def test_sh_04_a_new_file_that_a_program_would_find_is_noticed(work: Path, command: str) -> None:
    before = bound(command, work)
    (work / "sitecustomize.py").write_text("evil()\n")
    assert bound(command, work) != before


def test_sh_04_a_file_that_cannot_be_read_does_not_let_the_others_go(work: Path) -> None:
    (work / "dangling").symlink_to("nowhere")
    command = "sh dangling f " + "n" * 300
    before = bound(command, work)
    (work / "f").write_text("evil\n")
    assert bound(command, work) != before


def test_sh_04_many_named_files_do_not_crowd_one_out(work: Path) -> None:
    names = [f"d{n}" for n in range(150)]
    for name in names:
        (work / name).write_text("decoy")
    command = f"sh {' '.join(names)} f"
    before = bound(command, work)
    (work / "f").write_text("evil hi\n")
    assert bound(command, work) != before


def test_sh_04_a_log_that_grows_meanwhile_does_not_void_the_yes(work: Path) -> None:
    before = bound("make", work)
    with (work / "notes.log").open("a") as log:
        log.write(f"{time.time()}\n")
    assert bound("make", work) == before


@pytest.mark.parametrize("command", ["make", "python3 -m m", "npm test"])
def test_sh_04_the_card_says_that_a_program_finds_its_code_by_itself(
    work: Path, command: str
) -> None:
    place = CommandPlace(root=str(work), cwd=str(work), home="/home/user")
    notes = present_command(command, judge(command, place), work).notes
    assert any("files of this folder. If one changes, I ask again" in note for note in notes)
