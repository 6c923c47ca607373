"""`/approve` and `/deny`: one answer, for one call, of the person who was asked (C63)."""

import pytest

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.ids import session_key
from hermes.core.messages import Outcome
from hermes.core.session import Asking, Running
from tests.unit.commands.chats import GROUP, GROUP_ADDRESS, Chat, Town

NOT_ASKED = "Only the person who was asked can answer that."
NOT_A_YES = "I did not take that for a yes. /approve allows it once, /deny refuses it."
CLOSED = "That question is closed."
ANN = session_key("telegram", "group", "7", "ann")
BOB = session_key("telegram", "group", "7", "bob")


async def asked(chat: Chat, by: str = "ann") -> str:
    """Returns the call that waits."""
    await chat.say("buy it", by=by)
    await chat.answer("", "pay")
    phase = chat.session.phase
    assert isinstance(phase, Asking)
    return phase.call


def started(chat: Chat) -> list[str]:
    return [event.call for event in chat.events if isinstance(event, e.CallStarted)]


async def test_c63_a_yes_runs_the_call_once() -> None:
    chat = await Town().chat()
    call = await asked(chat)
    assert await chat.say("/approve") == []
    assert started(chat) == [call]


async def test_c63_a_second_yes_changes_nothing(town: Town) -> None:
    chat = await town.chat()
    call = await asked(chat)
    await chat.say(f"/approve {call}")
    assert await chat.say("/approve") == ["Nothing waits for an answer."]
    assert await chat.say(f"/approve {call}") == [CLOSED]
    assert started(chat) == [call]


async def test_c63_a_yes_for_another_call_is_closed(town: Town) -> None:
    chat = await town.chat()
    old = await asked(chat)
    await chat.say("/deny")
    await chat.answer("", "pay")
    assert await chat.say(f"/approve {old}") == [CLOSED]
    assert await chat.say(f"/deny {old} no!") == [CLOSED]
    assert isinstance(chat.session.phase, Asking)
    assert started(chat) == []


async def test_an_always_is_allowed_once_and_says_so() -> None:
    chat = await Town().chat()
    call = await asked(chat)
    [told] = await chat.say(f"/approve {call} always")
    assert "this once" in told
    assert started(chat) == [call]


@pytest.mark.parametrize("text", ["/approve not", "/approve yes and more", "/approve id1-1 maybe"])
async def test_other_words_are_no_yes(text: str) -> None:
    chat = await Town().chat()
    await asked(chat)
    assert await chat.say(text) == [NOT_A_YES]
    assert isinstance(chat.session.phase, Asking)


async def test_a_no_is_told_with_its_reason() -> None:
    chat = await Town().chat()
    await asked(chat)
    assert await chat.say("/deny covid-19 closed the shop") == []
    row = chat.rows[-1]
    assert row.outcome is Outcome.DENIED
    assert "covid-19 closed the shop" in row.text
    assert "said no" in row.text
    assert isinstance(chat.then, s.AskModel)


async def test_a_no_without_a_reason_is_a_no() -> None:
    chat = await Town().chat()
    call = await asked(chat)
    await chat.say(f"/deny {call}")
    assert chat.rows[-1].outcome is Outcome.DENIED
    assert "reason" not in chat.rows[-1].text


async def test_c63_in_a_shared_chat_only_the_person_who_was_asked_answers() -> None:
    chat = await Town().chat(GROUP, GROUP_ADDRESS)
    call = await asked(chat, by="ann")
    assert await chat.say("/approve", by="bob") == [NOT_ASKED]
    assert await chat.say(f"/deny {call}", by="bob") == [NOT_ASKED]
    assert isinstance(chat.session.phase, Asking)
    assert await chat.say("/approve", by="ann") == []
    assert started(chat) == [call]


@pytest.mark.parametrize("owner", ["owner", "api"])
async def test_the_owner_may_answer_everywhere(owner: str) -> None:
    chat = await Town().chat(GROUP, GROUP_ADDRESS)
    await asked(chat, by="ann")
    assert await chat.say("/approve", by=owner) == []
    assert isinstance(chat.session.phase, Running)


async def test_c63_a_button_pressed_by_somebody_else_in_the_group_is_refused(town: Town) -> None:
    ann, bob = await town.chat(ANN, GROUP_ADDRESS), await town.chat(BOB, GROUP_ADDRESS)
    call = await asked(ann, by="ann")
    assert await bob.say(f"/approve {call}", by="bob") == [NOT_ASKED]
    await ann.go()
    assert isinstance(ann.session.phase, Asking)


async def test_c63_a_question_of_another_chat_is_closed_here(town: Town) -> None:
    ann = await town.chat(GROUP, GROUP_ADDRESS)
    call = await asked(ann)
    chat = await town.chat()
    assert await chat.say(f"/approve {call}", by="ann") == [CLOSED]
