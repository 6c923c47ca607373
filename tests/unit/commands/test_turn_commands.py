"""`/stop`, `/new`, `/steer`, `/queue`, `/suspend`: what they do to the turn that runs."""

import pytest

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.messages import Address
from hermes.core.rules import BusyMode
from hermes.core.session import Idle, Running, Suspended, Waiting
from tests.unit.commands.chats import ADDRESS, Chat, Town


async def busy_chat(town: Town | None = None) -> Chat:
    chat = await (town or Town()).chat()
    await chat.say("hello")
    assert isinstance(chat.session.phase, Running)
    return chat


async def test_c17_stop_ends_the_turn_and_says_so() -> None:
    chat = await busy_chat()
    assert await chat.say("/stop") == ["Stopped."]
    assert chat.session.phase == Idle()
    assert chat.then == s.Rest()


@pytest.mark.parametrize("text", ["/stop", "/stop now", "/stop please, stop!", "/STOP@bot"])
async def test_words_behind_a_stop_do_not_keep_it_from_stopping(text: str) -> None:
    chat = await busy_chat()
    await chat.say(text)
    assert chat.session.phase == Idle()


async def test_stop_with_nothing_to_stop_says_so() -> None:
    chat = await Town().chat()
    assert await chat.say("/stop") == ["Nothing is running."]
    assert await chat.say("/stop id99") == ["That turn is not running any more."]


async def test_c18_a_stop_for_an_old_turn_stops_nothing() -> None:
    chat = await busy_chat()
    old = chat.turn.id
    await chat.say("/stop")
    await chat.say("something else")
    assert await chat.say(f"/stop {old}") == ["That turn is not running any more."]
    assert isinstance(chat.then, s.AskModel)
    await chat.say(f"/stop {chat.turn.id}")
    assert chat.session.phase == Idle()


async def test_c17_with_on_stop_reset_a_stop_parks_the_conversation() -> None:
    chat = await busy_chat(Town(on_stop="reset"))
    await chat.say("/stop")
    assert isinstance(chat.session.phase, Suspended)
    old = chat.session.id
    await chat.say("again")
    assert chat.session.id != old


async def test_stop_reaches_a_turn_that_waits_for_an_answer() -> None:
    chat = await busy_chat()
    await chat.answer("", "pay")
    assert isinstance(chat.session.phase, Waiting)
    await chat.say("/stop")
    assert chat.session.phase == Idle()


@pytest.mark.parametrize(("text", "said"), [("/stop", "Stopped."), ("/new", "A new conversation.")])
async def test_c54_last_words_take_the_place_of_the_draft(text: str, said: str) -> None:
    chat = await busy_chat()
    await chat.go(e.DraftShown(chat.turn.id, "receipt", 1.0))
    await chat.say(text)
    [reply] = chat.replies
    assert (reply.text, reply.replaces, reply.kind) == (said, "receipt", "notice")


async def test_c54_a_draft_in_another_chat_is_replaced_there() -> None:
    chat = await busy_chat()
    await chat.go(e.DraftShown(chat.turn.id, "receipt", 1.0))
    elsewhere = Address(platform="api", chat="x")
    await chat.say("/stop", at=elsewhere)
    here, there = chat.replies
    assert (here.address, here.replaces) == (elsewhere, "")
    assert (there.address, there.replaces) == (ADDRESS, "receipt")
    assert here.id != there.id


async def test_new_ends_the_turn_and_begins_another_conversation() -> None:
    chat = await busy_chat()
    old = chat.session.id
    assert await chat.say("/new") == ["A new conversation."]
    assert chat.session.id != old
    assert chat.session.phase == Idle()
    assert chat.kinds()[-3:] == ["TurnInterrupted", "SessionReset", "CommandRun"]


async def test_new_keeps_what_waits() -> None:
    chat = await busy_chat()
    await chat.say("and this")
    await chat.say("/reset")
    assert isinstance(chat.then, s.AskModel)
    assert chat.rows[-1].text == "and this"


async def test_c61_a_steer_stops_nothing_and_is_read_next() -> None:
    chat = await busy_chat()
    turn = chat.turn.id
    assert await chat.say("/steer in French") == [], "the model that is being asked cannot hear it"
    await chat.answer("", "look")
    assert chat.turn.id == turn
    assert chat.rows[-1].text == "in French"


async def test_c61_a_steer_that_came_too_late_is_what_comes_next() -> None:
    chat = await busy_chat()
    turn = chat.turn.id
    await chat.say("/steer in French")
    await chat.answer("Done.")
    assert chat.turn.id != turn
    assert chat.rows[-1].text == "in French"


async def test_a_turn_that_waits_for_an_answer_can_be_steered() -> None:
    chat = await busy_chat()
    await chat.answer("", "pay")
    assert await chat.say("/steer the cheap one") == ["Noted for the next step."]
    assert isinstance(chat.session.phase, Waiting)


async def test_a_steer_needs_words_and_a_turn() -> None:
    chat = await Town().chat()
    assert await chat.say("/steer") == ["Add the text: /steer TEXT"]
    assert await chat.say("/steer left") == []
    assert [line.text for line in chat.rows] == ["left"], "it is a message then"


async def test_queue_lets_an_idle_chat_begin_without_a_word() -> None:
    chat = await Town().chat()
    assert await chat.say("/queue hello") == []
    assert isinstance(chat.then, s.AskModel)
    assert [line.text for line in chat.rows] == ["hello"]


@pytest.mark.parametrize("busy", ["queue", "interrupt", "steer"])
async def test_c60_what_is_queued_waits_in_every_mode_and_that_is_said_once(
    busy: BusyMode,
) -> None:
    chat = await busy_chat(Town(busy=busy, tells=frozenset({"telegram"})))
    turn = chat.turn.id
    assert await chat.say("/queue and then this") == ["Queued."]
    assert chat.turn.id == turn
    await chat.answer("done")
    assert chat.turn.id != turn
    assert chat.rows[-1].text == "and then this"


async def test_c60_queued_messages_are_one_turn_in_their_order() -> None:
    chat = await busy_chat()
    await chat.say("/queue one")
    await chat.say("/queue two")
    await chat.answer("done")
    assert [line.text for line in chat.rows[-2:]] == ["one", "two"]
    assert chat.session.waiting == ()


async def test_commands_do_not_queue_and_other_slashes_do() -> None:
    chat = await busy_chat()
    assert await chat.say("/queue /stop") == [
        "Commands cannot be queued. Send the command directly."
    ]
    assert await chat.say("/queue") == ["Add the text: /queue TEXT"]
    assert isinstance(chat.session.phase, Running)
    assert await chat.say("/queue /etc/hosts, what is that?") == ["Queued."]


async def test_queue_in_a_parked_conversation_begins_a_new_one() -> None:
    chat = await busy_chat()
    await chat.say("/suspend")
    [told] = await chat.say("/queue hello")
    assert "new conversation" in told
    assert isinstance(chat.then, s.AskModel)


async def test_suspend_parks_once() -> None:
    chat = await busy_chat()
    assert await chat.say("/suspend") == ["Suspended."]
    assert isinstance(chat.session.phase, Suspended)
    assert await chat.say("/suspend") == ["It is already suspended."]
