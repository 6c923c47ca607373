"""hermes memory …, on real files: what is printed, and what a program can read of it."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.core.errors import Rejected
from hermes.memory.files import FileMemories
from hermes.ports.memory import By, Memories, MemoryChange, MemoryClaim
from tests.unit.cli.stage import Stage, stage

STRANGER = By(author="agent", turn="t1", trust="untrusted")


class Desk:
    """A home, and the command line on it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.stage = stage()

    def memories(self, home: Path) -> Memories:
        return FileMemories(
            home / "memories", memory_chars=60, user_chars=2_500, clock=lambda: 1_000_000.0
        )

    def hermes(self, *words: str, tty: bool = False) -> Stage:
        """Run `hermes memory …`; what it printed is on the stage."""
        module = import_module(f"hermes.cli.memory.{words[0]}")
        shown = stage(tty=tty)
        context = CliContext(home=self.home, environ={}, console=shown, clock=lambda: 1_000_060.0)
        options = module.COMMAND.parse(list(words[1:]))
        assert module.run(options, context, self.memories(self.home)) == DONE
        return shown

    def said(self, *words: str) -> str:
        return self.hermes(*words).stdout.getvalue()

    def document(self, *words: str) -> Any:
        return json.loads(self.said(*words, "--json"))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_fact_is_kept_shown_replaced_removed_and_comes_back(desk: Desk) -> None:
    assert (
        desk.said("add", "The", "server", "is", "omega.") == "Version 1: +e1 The server is omega.\n"
    )
    assert desk.said("add", "The server is omega.") == "Already stored as e1\n"
    desk.said("add", "--target", "user", "Likes tea.")
    shown = desk.said("show")
    assert "The world and the work: 23 of 60 characters (38%)" in shown
    assert "e1     person  1 min ago  -     trusted  The server is omega." in shown
    assert desk.said("replace", "tea", "Likes coffee.").endswith("+e3 Likes coffee.\n")
    assert desk.said("remove", "e1") == "Version 4: -e1 The server is omega.\n"
    told = desk.said("undo")
    assert told.startswith("Version 5 undoes version 4\n--- MEMORY.md, before version 5\n")
    assert "+- The server is omega." in told.splitlines()
    assert "Likes coffee." in desk.said("show", "--target", "user")


def test_what_a_program_reads_is_whole(desk: Desk) -> None:
    desk.said("add", "A.")
    document = desk.document("show")
    assert list(document) == ["memory", "user", "person"]
    assert document["memory"]["file"].endswith("memories/MEMORY.md")
    assert document["memory"]["entries"] == [
        {
            "id": "e1",
            "text": "A.",
            "author": "person",
            "trust": "trusted",
            "created": "1970-01-12T13:46:40.000+00:00",
            "last_used": None,
            "turn": None,
            "supersedes": [],
            "evidence": [],
        }
    ]
    (version,) = desk.document("history")
    assert (version["version"], version["why"], version["added"][0]["id"]) == (1, "add", "e1")
    assert "+- A." in desk.document("diff", "1")["diff"].splitlines()
    assert desk.document("proposals") == []


def test_proposals_are_shown_with_their_turn_and_decided_by_the_person(desk: Desk) -> None:
    memories = desk.memories(desk.home)
    memories.change(
        MemoryChange(action="add", target="memory", new=(MemoryClaim("Old."),)), By(author="person")
    )
    for text in ("New.", "Newer."):
        change = MemoryChange(
            action="replace", target="memory", new=(MemoryClaim(text),), old=("Old",)
        )
        memories.change(change, STRANGER)
    shown = desk.said("proposals")
    assert "p1  replace in memory, 1 min ago, by agent, turn t1\n  - e1 Old.\n  + New.\n" in shown
    assert desk.document("proposals")[0]["trust"] == "untrusted"
    assert "waiting for you" in desk.hermes("show").stderr.getvalue()
    assert desk.said("reject", "p1") == "Dropped p1\n"
    assert desk.said("approve", "p2") == "Version 2: -e1 Old.; +e2 Newer.\n"
    assert desk.document("show")["memory"]["entries"][0]["trust"] == "approved"


def test_history_is_a_table_and_a_diff_has_colours_on_a_terminal_only(desk: Desk) -> None:
    desk.said("add", "A.")
    assert "VERSION  WHEN       FILE    BY      WHY  CHANGE" in desk.said("history")
    assert "\x1b[32m+- A.\x1b[0m\n" in desk.hermes("diff", "1", tty=True).stdout.getvalue()
    assert "\x1b" not in desk.said("diff", "1")


def test_a_person_who_writes_too_much_is_told_and_obeyed(desk: Desk) -> None:
    told = desk.hermes("add", "x" * 80).stderr.getvalue()
    assert "83 of 60 characters: a prompt leaves out what is used least" in told


def test_what_makes_no_sense_is_one_sentence(desk: Desk) -> None:
    assert "The memory is empty" in desk.hermes("show").stderr.getvalue()
    assert not (desk.home / "memories").exists(), "looking makes nothing"
    assert "Nothing has been changed" in desk.hermes("history").stderr.getvalue()
    assert "No proposal waits" in desk.hermes("proposals").stderr.getvalue()
    for words, said in (
        (("remove", "zzz"), "no entry matches “zzz”"),
        (("undo",), "nothing to undo"),
        (("diff", "7"), "no version 7"),
        (("approve", "p9"), "no proposal “p9”"),
    ):
        with pytest.raises(Rejected, match=said):
            desk.hermes(*words)
