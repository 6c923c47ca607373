"""The skills that come with Hermes: valid, short, and with scripts that do what they say."""

import gzip
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes.core.budget import tokens_of
from hermes.skills.index import index_part
from hermes.skills.library import SkillLibrary
from hermes.skills.places import BUILTIN
from hermes.skills.tree import form_of, read_tree

NAMES = sorted(place.name for place in BUILTIN.iterdir())
LOG = """\
2026-01-31 10:00:01 INFO request 17 took 5 ms
2026-01-31 10:00:02 INFO request 18 took 7 ms
2026-01-31 10:00:03 ERROR cannot reach 10.0.0.1:5432
2026-01-31 10:00:04 ERROR cannot reach 10.0.0.2:5432
2026-01-31 10:00:05 WARNING slow disk
"""


def script(skill: str, name: str, *words: str, cwd: Path | None = None, said: str = "") -> str:
    path = BUILTIN / skill / "scripts" / name
    program = ["sh"] if name.endswith(".sh") else [sys.executable, "-I"]
    command = [*program, str(path), *words]
    done = subprocess.run(command, cwd=cwd, input=said, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return f"{done.returncode}\n{done.stdout}"


def test_there_are_a_dozen_and_they_fit_into_the_index(tmp_path: Path) -> None:
    shelf = SkillLibrary(tmp_path, environ={}, clock=lambda: 0.0)
    rows = shelf.rows()
    assert [(row.name, row.state) for row in rows] == [(name, "on") for name in NAMES]
    assert len(rows) >= 12
    assert tokens_of(index_part(rows).text) <= 550


@pytest.mark.parametrize("name", NAMES)
def test_each_is_valid_short_and_names_only_files_that_it_has(name: str) -> None:
    tree = read_tree(BUILTIN / name)
    form = form_of(tree)
    assert form.name == name
    assert len(form.description) <= 200
    assert "Use " in form.description
    assert tokens_of(form.body) <= 700
    named = re.findall(r"(?:scripts|references|assets)/[\w.-]+", form.body)
    assert set(named) - {"scripts/", "references/"} == {path for path in tree if "/" in path}


@pytest.mark.parametrize(
    "path", [*BUILTIN.rglob("*.sh")], ids=lambda path: f"{path.parent.parent.name}-{path.name}"
)
def test_shell_scripts_have_no_syntax_errors(path: Path) -> None:
    shell = "bash" if "bash" in path.read_text("utf-8").split("\n", 1)[0] else "sh"
    subprocess.run([shell, "-n", str(path)], check=True)


def test_log_triage_groups_lines_by_their_shape(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(LOG)
    told = script("log-triage", "log_triage.py", str(log))
    assert told.splitlines()[1] == "5 lines of 3 shapes"
    assert told.splitlines()[3].split()[:2] == ["2", "ERROR"]
    assert "2026-01-31T10:00:03  2026-01-31T10:00:04" in told
    since = script("log-triage", "log_triage.py", "--since", "2026-01-31T10:00:05", said=LOG)
    assert "1 line of 1 shape" in since


def test_a_server_checkup_changes_nothing_and_grades_each_line() -> None:
    told = script("server-checkup", "server_checkup.sh").splitlines()
    assert told[0] == "0"
    assert {line.split()[0] for line in told[1:]} <= {"OK", "LOOK", "BAD"}
    assert any(line.split()[1] == "disk" for line in told[1:]) or len(told) > 1


def test_a_backup_check_reads_the_newest_of_each_series(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        path = tmp_path / f"db-2026-01-0{day}.sql.gz"
        with gzip.open(path, "wb") as file:
            file.write(os.urandom(10_000))
        os.utime(path, (day * 86_400, day * 86_400))
    with tarfile.open(tmp_path / "home.tar.gz", "w:gz") as archive:
        archive.add(__file__, "x")
    told = script("backup-check", "backup_check.py", str(tmp_path))
    assert told.startswith("1\n")
    assert re.search(r"BAD   db-2026-01-03.*3 in its series: is \d+ hours old", told)
    assert "OK    home.tar.gz" in told
    whole = (tmp_path / "home.tar.gz").read_bytes()
    (tmp_path / "home.tar.gz").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in script("backup-check", "backup_check.py", str(tmp_path))
    assert "is not a folder" in script("backup-check", "backup_check.py", str(tmp_path / "x"))


TABLE = """\
\ufeffName; Born ;Zip;Sum
 Ann ;1980-01-02;01234;1.5
Bob;2.3.1990;00017;n/a
 Ann ;1980-01-02;01234;1.5
Cid;1970-05-06;9999
"""


def test_a_table_is_told_about_and_cleaned(tmp_path: Path) -> None:
    source, out = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text(TABLE, encoding="utf-8")
    told = script("spreadsheet-cleaning", "csv_profile.py", str(source))
    assert "separated by ';'" in told
    assert "4 rows, 4 columns, 1 exact duplicates" in told
    assert "1 rows of another length, in lines 5" in told
    assert "Zip: text-number" in told
    words = (str(source), str(out), "--drop-duplicates", "--snake-case")
    assert "4 rows in, 3 out, 1 left out" in script("spreadsheet-cleaning", "csv_clean.py", *words)
    assert out.read_text(encoding="utf-8") == (
        "name,born,zip,sum\nAnn,1980-01-02,01234,1.5\nBob,2.3.1990,00017,\nCid,1970-05-06,9999,\n"
    )
    assert "is there already" in script("spreadsheet-cleaning", "csv_clean.py", *words)
    assert source.read_text(encoding="utf-8") == TABLE


def test_changes_are_listed_since_the_latest_tag(tmp_path: Path) -> None:
    def git(*words: str, environ: Mapping[str, str] = os.environ) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, env=environ)

    git("init", "-q", "-b", "main")
    for subject in ("first", "feat: Add exports", "fix!: Stop losing rows", "wrong sum corrected"):
        git("commit", "-q", "--allow-empty", "-m", subject)
        if subject == "first":
            git("tag", "v1")
    told = script("release-notes", "change_list.py", cwd=tmp_path)
    assert "3 commits in v1..HEAD" in told
    headings = [line for line in told.splitlines()[2:] if line and not line.startswith(" ")]
    assert headings == ["! breaking", "feat", "fixed"]


def test_the_template_works_on_odd_names(tmp_path: Path) -> None:
    odd = tmp_path / "a b*.txt"
    odd.write_text("x")
    template = BUILTIN / "shell-script-writing" / "assets" / "template.sh"
    run = subprocess.run(["bash", str(template), str(odd)], capture_output=True, check=True)
    assert (run.stdout, odd.read_text()) == (b"", "x")
    alone = subprocess.run(["bash", str(template)], capture_output=True, check=False)
    assert alone.returncode == 1


def test_the_skill_about_hermes_names_commands_that_exist() -> None:
    body = form_of(read_tree(BUILTIN / "hermes")).body
    documented = (Path(__file__).parents[3] / "docs" / "COMMANDS.md").read_text(encoding="utf-8")
    named = re.findall(r"`hermes ([a-z]+(?: [a-z]+)?)", body)
    assert len(named) >= 15
    for words in named:
        family, _, rest = words.partition(" ")
        known = [words, family] if rest else [family]
        assert any(f"| `hermes {each}" in documented for each in known), words
    for command in re.findall(r"`(/[a-z]+)", body):
        assert f"| `{command}" in documented, command
