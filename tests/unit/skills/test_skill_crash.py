"""Killed at any file operation, the old version is in force or the new one, and it goes on."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.skills.workshop import Workshop, folder

TOUCHES = frozenset({"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod"})
TOUCHES_MAX = 400


def dies_at(touch: int, work: Callable[[], object]) -> bool:
    """Do the work in a child that is killed at that operation on a file. False: it lived."""
    child = os.fork()
    if not child:
        status = 1
        try:
            _count_down(touch)
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def _count_down(touch: int) -> None:
    left = touch

    def count(event: str, _arguments: object) -> None:
        nonlocal left
        if event in TOUCHES:
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def install(workshop: Workshop) -> Callable[[], object]:
    """What lies in quarantine counts for nothing, so it is fetched before."""
    intake = workshop.shelf().intake
    candidate = intake.fetch(str(workshop.made / "good"))
    return lambda: intake.install(candidate)


def undo(workshop: Workshop) -> Callable[[], object]:
    return lambda: workshop.shelf().undo("good", "message-1")


def propose(workshop: Workshop) -> Callable[[], object]:
    return lambda: asyncio.run(workshop.propose("good-too", call="c", writes="apply"))


def stand(workshop: Workshop) -> tuple[str, ...]:
    """Every skill that can be used, whole."""
    shelf = workshop.shelf()
    assert all(checked.state != "tampered" for checked in shelf.audit())
    return tuple(
        f"{name}: {shelf.text(name, 'a.md') if name == 'good' else shelf.text(name)[-6:].strip()}"
        for name in sorted(shelf.names())
    )


@pytest.mark.parametrize("work", [install, undo, propose], ids=lambda work: work.__name__)
def test_killed_at_any_file_operation_there_is_one_whole_version(
    tmp_path: Path, work: Callable[[Workshop], Callable[[], object]]
) -> None:
    stands = set()
    for touch in range(1, TOUCHES_MAX):
        workshop = Workshop(tmp_path / str(touch))
        workshop.install(**{"a.md": "old"})
        folder(workshop.made, {"a.md": "new"})
        before = stand(workshop)
        died = dies_at(touch, work(workshop))
        between = stand(workshop)
        work(workshop)()
        after = stand(workshop)
        assert between in (before, after)
        assert workshop.shelf().proposals.waiting() == []
        stands.add(between == after)
        if not died:
            break
    assert stands == {False, True}
    assert touch > 5
