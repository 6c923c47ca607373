"""hermes demo crash from outside: a gateway is killed, the turn ends, and the picture says so."""

import xml.etree.ElementTree as ET
from pathlib import Path

from journey.cli_program import Program


def test_the_turn_of_the_demo_ends_and_nothing_of_the_persons_own_is_touched(
    tmp_path: Path,
) -> None:
    hermes = Program(tmp_path, {"HERMES_MODEL__PROVIDER": "openai", "HERMES_STORE__URL": "none"})
    picture = tmp_path / "crash.svg"
    done = hermes.run("demo", "crash", "--json", "--svg", str(picture))
    assert done.status == 0, done.err
    story = done.document
    assert story["holds"] is True
    assert [finding["holds"] for finding in story["findings"]] == [True] * 5
    assert 0 < story["killed"] < story["back"] < story["seconds"]
    assert len(story["pages"]) == 8
    dead = [page for page in story["pages"] if story["killed"] < page < story["back"]]
    assert dead, "the command worked while there was no gateway"
    assert not any(story["killed"] < at < story["back"] for at in story["commits"])
    (waited,) = [span for span in story["spans"] if span["lane"] == "person"]
    assert waited["end"] == max(beat["at"] for beat in story["beats"] if beat["lane"] == "person")
    drawn = ET.fromstring(picture.read_text("utf-8"))  # noqa: S314
    words = " ".join(drawn.itertext())
    assert "SIGKILL" in words
    assert "reused: message, answer, call" in words
    assert not hermes.home.exists()


def test_a_pipe_gets_plain_text_and_a_terminal_gets_colours(tmp_path: Path) -> None:
    plain = Program(tmp_path, {"LC_ALL": "C", "COLUMNS": "90"}).run("demo")
    assert plain.status == 0, plain.err
    assert plain.out.isascii()
    assert "\x1b" not in plain.out
    lines = plain.out.splitlines()
    for lane in ("person", "gateway", "model", "command", "journal"):
        assert any(line.startswith(lane) for line in lines)
    assert all(len(line) < 130 for line in lines)
    assert sum(line.startswith("ok ") for line in lines) == 5
    shown = Program(tmp_path, {"LC_ALL": "C.UTF-8"}).on_terminal("demo", "crash")
    assert shown.status == 0, shown.out
    assert "\x1b[1;31m✖\x1b[0m" in shown.out


def test_a_reader_who_has_had_enough_ends_the_demo_and_all_that_it_started(tmp_path: Path) -> None:
    hermes = Program(tmp_path)
    child = hermes.start("demo", "crash")
    assert child.stdout is not None
    while "starts (pid" not in (line := child.stdout.readline()):
        assert line, child.communicate()
    pid = int(line.partition("(pid ")[2].partition(")")[0])
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == ""
    assert child.wait() == 0
    child.stderr.close()
    assert not Path(f"/proc/{pid}").exists()


def test_the_tour_shows_four_scenes_without_a_model_and_touches_nothing(tmp_path: Path) -> None:
    hermes = Program(tmp_path, {"HERMES_MODEL__PROVIDER": "openai", "NO_COLOR": "1"})
    done = hermes.run("tour")
    assert done.status == 0, done.err
    for scene in ("1. A question", "2. A tool call", "3. A kill", "4. A schedule"):
        assert scene in done.out
    assert "ideas.txt is gone" in done.out
    assert "The turn was finished as if nothing had happened." in done.out
    assert "every weekday at 08:00" in done.out
    assert not hermes.home.exists()


def test_a_person_answers_the_card_of_the_tour(tmp_path: Path) -> None:
    hermes = Program(tmp_path, {"NO_COLOR": "1"})
    typed = [
        ("Enter continues", "\n"),
        ("Allow it? (y = yes", "y\n"),
        ("ideas.txt is gone", ""),
        ("gone, and shopping.txt is as it was.", ""),
        ("was.\r\n\r\nEnter continues", "q\n"),
    ]
    done = hermes.on_terminal("tour", typed=typed)
    assert done.status == 0, done.out
    assert done.out.count("Run this command?") == 1, "the card stands there once"
    assert "4. A schedule" not in done.out
    assert not hermes.home.exists()
