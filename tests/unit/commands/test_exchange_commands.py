"""`/retry` and `/undo` in a chat on a real store."""

import pytest

from hermes.core import step as s
from hermes.core.messages import Media
from hermes.core.session import Idle, Running, Suspended
from tests.unit.commands.chats import Chat, Town

NOTHING = ["There is nothing to go back to here."]


async def texts(chat: Chat) -> list[str]:
    return [line.text for line in await chat.read()]


async def test_undo_takes_the_last_exchange_back_and_then_the_one_before(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("one", "first")
    await chat.exchange("two", "second")
    assert await chat.say("/undo") == ["Undone: “two”."]
    assert await texts(chat) == ["one", "first"]
    assert chat.then == s.Rest()
    assert await chat.say("/undo") == ["Undone: “one”."]
    assert await texts(chat) == []
    assert await chat.say("/undo") == NOTHING
    await chat.exchange("three", "third")
    assert await texts(chat) == ["three", "third"]
    assert chat.session.rows == 6, "no row is lost"


async def test_undo_says_that_what_was_done_stays_done(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("dig " * 40, "dug", "look")
    [told] = await chat.say("/undo")
    assert told.endswith("…”. This does not undo what its tools did.")
    assert len(told) < 100


async def test_retry_asks_the_same_again(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("one", "first")
    picture = Media(digest="d", media_type="image/png")
    await chat.say("two", media=(picture,))
    await chat.answer("", "look")
    await chat.result()
    await chat.answer("second")
    assert await chat.say("/retry") == ["Trying again: “two”"]
    assert isinstance(chat.then, s.AskModel)
    assert [line.role for line in await chat.read()] == ["user", "assistant", "user"]
    asked = (await chat.read())[-1]
    assert (asked.text, asked.media) == ("two", (picture,))
    await chat.answer("better")
    assert await texts(chat) == ["one", "first", "two", "better"]


async def test_retry_after_a_stop_asks_again_with_all_that_was_said(town: Town) -> None:
    chat = await town.chat()
    await chat.say("dig")
    await chat.answer("", "look")
    await chat.say("/steer deeper")
    await chat.say("/stop")
    await chat.say("/retry")
    assert await texts(chat) == ["dig\n\ndeeper"]


async def test_retry_twice_asks_once_at_a_time(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("one")
    for _ in range(3):
        await chat.say("/retry")
        assert await texts(chat) == ["one"]
        await chat.answer("again")
    assert await texts(chat) == ["one", "again"]
    assert len(chat.session.view.spans) == 1


async def test_a_queued_retry_waits_for_nobody_and_interrupts_nobody(town: Town) -> None:
    town.busy = "interrupt"
    chat = await town.chat()
    await chat.exchange("one")
    await chat.say("/retry")
    turn = chat.turn.id
    await chat.go()
    assert chat.turn.id == turn


@pytest.mark.parametrize("text", ["/retry", "/undo"])
async def test_while_a_turn_runs_it_has_to_be_stopped_first(text: str) -> None:
    chat = await Town().chat()
    await chat.say("one")
    assert await chat.say(text) == ["A turn is running. Stop it first with /stop."]
    assert isinstance(chat.session.phase, Running)
    await chat.answer("", "pay")
    [told] = await chat.say(text)
    assert told.startswith("A question is waiting for you.")


@pytest.mark.parametrize("text", ["/retry", "/undo"])
async def test_where_nothing_was_said_nothing_happens(town: Town, text: str) -> None:
    chat = await town.chat()
    assert await chat.say(text) == NOTHING
    assert chat.session.phase == Idle()


async def test_c14_one_tap_goes_on_with_a_parked_turn() -> None:
    chat = await Town().chat()
    await chat.say("one")
    turn = chat.turn.id
    await chat.say("/suspend")
    [told] = await chat.say("/undo")
    assert told.startswith("This conversation is suspended.")
    assert await chat.say("/retry") == []
    assert chat.turn.id == turn
    assert isinstance(chat.session.phase, Running)


async def test_c17_a_retry_after_a_stop_that_resets_starts_clean(town: Town) -> None:
    town.on_stop = "reset"
    chat = await town.chat()
    await chat.exchange("before")
    await chat.say("one")
    old = chat.session.id
    await chat.say("/stop")
    assert isinstance(chat.session.phase, Suspended)
    await chat.say("/retry")
    assert chat.session.id != old
    assert await texts(chat) == ["one"]
