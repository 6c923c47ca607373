"""`todo`: durable in the session's facts, and nice to look at."""

import pytest

from hermes.core.errors import ToolFailed
from tests.unit.tools.desk import Desk

TODOS = [
    {"id": "1", "content": "read the code", "status": "completed"},
    {"id": "2", "content": "write\nthe test", "status": "in_progress"},
    {"id": "3", "content": "fix it", "status": "pending"},
    {"id": "4", "content": "panic", "status": "cancelled"},
]


async def test_a_list_is_shown_to_the_person_and_remembered(desk: Desk) -> None:
    result = await desk.do("todo", todos=TODOS)
    shown = "1 of 4 done\n☑ read the code\n◐ write the test\n☐ fix it\n☒ panic"
    assert result.text == shown
    assert desk.watched() == shown
    assert set(result.facts) == {"todo"}


async def test_it_is_read_back_from_the_facts_alone(desk: Desk) -> None:
    assert (await desk.do("todo")).text == "The list is empty."
    await desk.do("todo", todos=TODOS)
    text = (await desk.do("todo")).text
    assert text.splitlines()[0] == "1: ☑ read the code"
    assert text.splitlines()[2] == "3: ☐ fix it"


async def test_a_new_list_replaces_the_old_one(desk: Desk) -> None:
    await desk.do("todo", todos=TODOS)
    assert (await desk.do("todo", todos=[])).text == "The list is empty."
    assert (await desk.do("todo")).text == "The list is empty."


def test_a_list_has_limits(desk: Desk) -> None:
    many = [{"id": str(n), "content": "x", "status": "pending"} for n in range(51)]
    assert "at most 50" in desk.check("todo", todos=many)
    assert "same id" in desk.check("todo", todos=[many[0], many[0]])
    long = {"id": "1", "content": "x" * 501, "status": "pending"}
    assert "longer than 500" in desk.check("todo", todos=[long])
    assert "status" in desk.check("todo", todos=[{"id": "1", "content": "x", "status": "soon"}])


async def test_a_broken_fact_is_reported_and_can_be_overwritten(desk: Desk) -> None:
    desk.facts["todo"] = "{broken"
    with pytest.raises(ToolFailed, match="write a new one"):
        await desk.do("todo")
    assert (await desk.do("todo", todos=TODOS[:1])).text.startswith("1 of 1 done")
