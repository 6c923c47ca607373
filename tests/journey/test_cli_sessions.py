"""Looking back from outside: lists, transcripts, search, export, turns, deletion."""

import json
from pathlib import Path

import pytest

from journey.cli_program import Program, scripted


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return a home with two conversations, for tests that only read."""
    hermes = scripted(tmp_path_factory.mktemp("lived"))
    hermes.run("chat", "--session", "main", "-q", "run echo 'blue   elephant'; seq 9")
    hermes.run("chat", "-q", "the red fox \x1b[31m", "--session", "a: work%")
    return hermes


def test_an_empty_home_has_empty_lists_and_is_not_made(tmp_path: Path) -> None:
    hermes = Program(tmp_path)
    for family in ("sessions", "turns"):
        done = hermes.run(family, "list", "--json")
        assert (done.status, done.document) == (0, [])
    done = hermes.run("sessions")
    assert (done.status, done.out) == (0, "")
    assert "hermes chat -q" in done.err
    assert not hermes.home.exists()


def test_sessions_are_listed_latest_first(lived: Program) -> None:
    done = lived.run("sessions", "list")
    lines = done.out.splitlines()
    assert lines[0].split() == ["NAME", "STATE", "MESSAGES", "LAST", "TITLE"]
    assert lines[1].startswith("a: work%  idle")
    assert lines[2].split()[:3] == ["main", "idle", "4"]
    assert lines[2].endswith("run echo 'blue elephant'; seq 9")
    rows = lived.run("sessions", "list", "--json", "-n", "1").document
    assert [row["name"] for row in rows] == ["a: work%"]
    assert rows[0]["key"] == "agent:main:local:dm:a%3A work%25"
    assert rows[0]["updated_at"].endswith("+00:00")


def test_a_transcript_is_found_by_name_key_and_id(lived: Program) -> None:
    row = lived.run("sessions", "list", "--json").document[1]
    shown = lived.run("sessions", "show", "main").out
    assert "  run echo 'blue   elephant'; seq 9\n" in shown
    assert "  → terminal echo 'blue elephant'; seq 9: ok\n" in shown
    assert "more lines (--full)" in shown
    assert "    9\n" in lived.run("sessions", "show", "main", "--full").out
    for name in (row["key"], row["id"], row["id"][:-3], "local:dm:main"):
        found = lived.run("sessions", "show", name, "--json").document
        assert found["session"]["name"] == "main"
        assert [line["role"] for line in found["messages"]] == [
            "user",
            "assistant",
            "tool",
            "assistant",
        ]


def test_a_terminal_is_not_commanded_by_what_is_shown(lived: Program) -> None:
    done = lived.on_terminal("sessions", "show", "a: work%")
    assert "the red fox ␛[31m" in done.out


def test_words_are_found(lived: Program) -> None:
    found = lived.run("sessions", "search", "blue", "elephant", "--json").document
    assert {hit["name"] for hit in found} == {"main"}
    assert "[blue]" in found[0]["excerpt"] or "[elephant]" in found[0]["excerpt"]
    assert "main" in lived.run("sessions", "search", "elephant").out
    nothing = lived.run("sessions", "search", "unicorn")
    assert (nothing.status, nothing.out) == (1, "")


def test_a_conversation_is_exported_in_each_form(lived: Program) -> None:
    markdown = lived.run("sessions", "export", "main").out
    assert markdown.startswith("# main\n")
    assert "blue   elephant\n" in markdown
    lines = lived.run("sessions", "export", "main", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["role"] for line in lines] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    whole = lived.run("sessions", "export", "main", "--format", "json").document
    assert whole["messages"] == [json.loads(line) for line in lines]
    target = lived.folder / "export.jsonl"
    done = lived.run(
        "sessions", "export", "main", "--format", "jsonl", "--events", "-o", str(target)
    )
    events = [json.loads(line)["type"] for line in target.read_text().splitlines()]
    assert (done.status, done.out) == (0, "")
    assert (events[0], events[-1]) == ("message_received.1", "turn_ended.1")
    assert target.stat().st_mode & 0o777 == 0o600
    assert lived.run("sessions", "export", "main", "--events").status == 2


def test_a_turn_tells_its_steps(lived: Program) -> None:
    turns = lived.run("turns", "list", "--session", "main", "--json").document
    assert [(turn["state"], turn["attempts"]) for turn in turns] == [("answered", 1)]
    turn = lived.run("turns", "show", turns[0]["id"][:-4], "--json").document
    steps = [(s["kind"], s["name"], s["state"], s["outcome"]) for s in turn["steps"]]
    model = turn["steps"][0]["name"]
    assert steps == [
        ("model", model, "finished", None),
        ("tool", "terminal", "finished", "ok"),
        ("model", model, "finished", None),
    ]
    assert turn["steps"][1]["effect"] in ("read", "effect")
    assert turn["steps"][1]["started_at"] <= turn["steps"][1]["ended_at"] <= turn["ended_at"]
    shown = lived.run("turns", "show", turn["id"]).out
    assert f"turn {turn['id']}: answered" in shown
    assert "terminal echo 'blue elephant'; seq 9" in shown


def test_what_does_not_exist_is_status_1_and_one_line(lived: Program) -> None:
    for words in (
        ["sessions", "show", "zzz"],
        ["turns", "show", "zzz"],
        ["sessions", "delete", "z", "-y"],
    ):
        done = lived.run(*words)
        assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    both = lived.run("turns", "list", "--json").document
    common = both[0]["id"][:3]
    assert "matches 2 turns" in lived.run("turns", "show", common).err


def test_a_session_is_deleted_only_after_a_yes(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    hermes.run("chat", "--session", "main", "-q", "hello")
    done = hermes.run("sessions", "delete", "main")
    assert (done.status, done.err.count("\n")) == (2, 1)
    kept = hermes.on_terminal("sessions", "delete", "main", typed=[("[y/N] ", "n\n")])
    assert "Nothing was deleted" in kept.out
    gone = hermes.on_terminal("sessions", "delete", "main", typed=[("[y/N] ", "y\n")])
    assert "Deleted main" in gone.out
    assert hermes.run("sessions", "list", "--json").document == []


def test_what_is_said_after_a_deletion_can_be_found_and_deleted(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    for word in ("first", "second"):
        hermes.run("chat", "--session", "main", "-q", word)
        assert len(hermes.run("sessions", "search", word, "--json").document) == 2
        assert hermes.run("sessions", "delete", "main", "--yes").status == 0
    assert "No problems found" in hermes.run("doctor").out


def test_an_older_conversation_is_shown_by_its_id(tmp_path: Path) -> None:
    hermes = scripted(tmp_path)
    old = hermes.run("chat", "--session", "main", "-q", "long ago", "--json").document["session_id"]
    hermes.run("chat", "--session", "main", "-q", "/new")
    hermes.run("chat", "--session", "main", "-q", "just now")
    assert "long ago" in hermes.run("sessions", "show", old).out
    assert "long ago" not in hermes.run("sessions", "show", "main").out
