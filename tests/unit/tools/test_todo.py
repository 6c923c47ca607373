"""`todo`: durable in the session's facts, and nice to look at."""

import pytest

from hermes.core.errors import ToolFailed
from tests.unit.tools.tool_context import Desk

TODOS = [
    {"id": "1", "content": "read the code", "status": "completed"},
    {"id": "2", "content": "write\nthe test", "status": "in_progress"},
    {"id": "3", "content": "fix it", "status": "pending"},
    {"id": "4", "content": "panic", "status": "cancelled"},
]


async def test_a_list_is_shown_to_the_person_and_remembered(host: Desk) -> None:
    result = await host.do("todo", todos=TODOS)
    shown = "1 of 4 done\n☑ read the code\n◐ write the test\n☐ fix it\n☒ panic"
    assert result.text == shown
    assert host.watched() == shown
    assert set(result.facts) == {"todo"}


async def test_it_is_read_back_from_the_facts_alone(host: Desk) -> None:
    assert (await host.do("todo")).text == "The list is empty."
    await host.do("todo", todos=TODOS)
    text = (await host.do("todo")).text
    assert text.splitlines()[0] == "1: ☑ read the code"
    assert text.splitlines()[2] == "3: ☐ fix it"


async def test_a_new_list_replaces_the_old_one(host: Desk) -> None:
    await host.do("todo", todos=TODOS)
    assert (await host.do("todo", todos=[])).text == "The list is empty."
    assert (await host.do("todo")).text == "The list is empty."


def test_a_list_has_limits(host: Desk) -> None:
    many = [{"id": str(n), "content": "x", "status": "pending"} for n in range(51)]
    assert "at most 50" in host.check("todo", todos=many)
    assert "same id" in host.check("todo", todos=[many[0], many[0]])
    long = {"id": "1", "content": "x" * 501, "status": "pending"}
    assert "longer than 500" in host.check("todo", todos=[long])
    assert "status" in host.check("todo", todos=[{"id": "1", "content": "x", "status": "soon"}])


async def test_a_broken_fact_is_reported_and_can_be_overwritten(host: Desk) -> None:
    host.facts["todo"] = "{broken"
    with pytest.raises(ToolFailed, match="write a new one"):
        await host.do("todo")
    assert (await host.do("todo", todos=TODOS[:1])).text.startswith("1 of 1 done")
