"""Death at every touch of a file: the change is there as a whole, or it is not, and never twice."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes.ports.memory import By
from tests.unit.memory.shelf import AGENT, PERSON, Shelf

TOUCHES = frozenset({"open", "os.rename", "os.link", "os.remove", "os.truncate", "os.chmod"})
TOUCHES_MAX = 40
BY = replace(AGENT, call="t1-0")


def dies_at(touch: int, work: Callable[[], object]) -> bool:
    """Do the work in a child that is killed before that touch of a file. False: it lived."""
    child = os.fork()
    if not child:
        _lives_until(touch, work)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _lives_until(touch: int, work: Callable[[], object]) -> None:
    seen = 0

    def count(event: str, _arguments: object) -> None:
        nonlocal seen
        if event in TOUCHES:
            seen += 1
            if seen == touch:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    _last_work(work)


def _last_work(work: Callable[[], object]) -> None:
    """Of a child that must not go on as a test."""
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def deaths(folder: Path, work: Callable[[Shelf], object], before: str) -> int:
    """Kill at each touch, and look afterwards. The number of places where it died."""
    for touch in range(1, TOUCHES_MAX):
        shelf = Shelf(folder / str(touch))
        shelf.write(before)
        shelf.texts()
        died = dies_at(touch, lambda shelf=shelf: work(Shelf(shelf.folder)))  # type: ignore[misc]
        looked = Shelf(shelf.folder)
        looked.texts()
        assert looked.read() in (before, "- A.\n- B.\n")
        assert looked.texts() == [line[2:] for line in looked.read().splitlines()]
        work(looked)
        assert looked.read() == "- A.\n- B.\n"
        assert Shelf(shelf.folder).texts() == ["A.", "B."]
        authors = [version.by.author for version in looked.memories.versions(limit=9)]
        assert authors == ["agent", "person"], "healing is no edit by hand"
        assert not list(shelf.folder.glob(".*.next")) + list(shelf.folder.glob(".*.aside"))
        if not died:
            return touch - 1
    return TOUCHES_MAX


def test_killed_at_any_touch_of_a_file_a_change_is_made_once(tmp_path: Path) -> None:
    def work(shelf: Shelf) -> object:
        return shelf.add("B.", BY)

    assert 8 < deaths(tmp_path, work, "- A.\n") < TOUCHES_MAX


def saved_between(shelf: Shelf, event: str, save: Callable[[], object]) -> None:
    """A person saves the file at the first event of that kind, while a child changes it."""
    child = os.fork()
    if not child:
        _changes(shelf, event, save)
    _, status = os.waitpid(child, 0)
    assert status == 0


def _changes(shelf: Shelf, event: str, save: Callable[[], object]) -> None:
    saved = False

    def hear(name: str, _arguments: object) -> None:
        nonlocal saved
        if name == event and not saved:
            saved = True
            save()

    sys.addaudithook(hear)
    _last_work(lambda: shelf.add("B.", BY))


@pytest.mark.parametrize("event", ["os.rename", "os.link", "os.remove"])
@pytest.mark.parametrize("in_place", [True, False])
def test_what_a_person_saves_at_the_same_instant_is_not_lost(
    shelf: Shelf, event: str, *, in_place: bool
) -> None:
    shelf.write("- A.\n")
    shelf.texts()
    mine = "- A, as I see it.\n"

    def save() -> None:
        if in_place:
            shelf.file().write_text(mine, "utf-8")
        else:
            half = shelf.folder / "mine.half"
            half.write_text(mine, "utf-8")
            half.replace(shelf.file())

    saved_between(shelf, event, save)
    looked = Shelf(shelf.folder)
    assert "A, as I see it." in looked.texts()
    kept = [path.read_text("utf-8") for path in (shelf.folder / "versions").glob("*.md")]
    assert mine in kept
    assert any("B." in entry.text for v in looked.memories.versions(limit=9) for entry in v.added)


def test_a_prepared_text_that_the_history_never_heard_of_is_dropped(shelf: Shelf) -> None:
    shelf.write("- A.\n")
    shelf.texts()
    (shelf.folder / ".MEMORY.md.next").write_text("- Z.\n", "utf-8")
    assert shelf.texts() == ["A."]
    assert not (shelf.folder / ".MEMORY.md.next").exists()


def test_a_person_who_goes_back_to_the_old_text_by_hand_is_believed(shelf: Shelf) -> None:
    shelf.write("- A.\n")
    shelf.add("B.")
    shelf.write("- A.\n")
    assert shelf.texts() == ["A."]
    assert shelf.memories.versions(limit=1)[0].by == By(author="person")
    shelf.memories.undo(None, PERSON)
    assert shelf.texts() == ["A.", "B."]
