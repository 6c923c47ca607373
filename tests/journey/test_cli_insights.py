"""hermes insights from outside: plots for people, JSON for programs, pictures as files."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from journey.cli_program import SCRIPT, Program


@pytest.fixture
def hermes(tmp_path: Path) -> Program:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT), encoding="utf-8")
    chosen = {"HERMES_MODEL__PROVIDER": "scripted", "HERMES_MODEL__NAME": str(script)}
    return Program(tmp_path, chosen)


def test_before_anything_was_said_there_is_nothing_to_show(hermes: Program) -> None:
    done = hermes.run("insights")
    assert (done.status, done.out) == (0, "")
    assert "No model calls" in done.err
    assert not (hermes.home / "hermes.db").exists()


def test_what_was_done_is_told_in_words_numbers_and_pictures(hermes: Program) -> None:
    hermes.run("chat", "-q", "run date")
    done = hermes.run("insights", "--json", "--days", "2")
    shown = done.document
    assert shown["total"]["calls"] == 2
    assert len(shown["days"]) == 2
    assert [each["name"] for each in shown["purposes"]] == ["turn"]
    assert [(each["tool"], each["calls"]) for each in shown["tools"]] == [("terminal", 1)]
    hermes.environ.update(LC_ALL="C", COLUMNS="60")
    plain = hermes.run("insights").out
    assert plain.isascii()
    assert all(len(line) < 60 for line in plain.splitlines())
    for heading in ("By day", "By model", "By purpose", "By platform", "By session", "By tool"):
        assert heading in plain.splitlines()
    picture = hermes.folder / "a.svg"
    assert hermes.run("insights", "--svg", str(picture)).status == 0
    assert ET.fromstring(picture.read_text("utf-8")).tag.endswith("svg")  # noqa: S314
    assert picture.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_and_wrong_days_are_said(hermes: Program) -> None:
    hermes.run("chat", "-q", "hello")
    done = hermes.run("insights", "--svg", "nowhere/a.svg")
    assert done.status == 1
    assert "cannot be written" in done.err
    done = hermes.run("insights", "--days", "0")
    assert (done.status, done.out) == (2, "")
    assert "number from 1 to 3660" in done.err
