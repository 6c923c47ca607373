"""`/resume`, `/sessions` and `/title` in chats on a real store."""

import pytest
from msgspec.structs import replace

from hermes.commands.past import EVENTS_MAX, closed, last_view, view_at_the_end
from hermes.core import events as e
from hermes.core import step as s
from hermes.core.events import Span, View
from hermes.core.ids import CallId, SessionId, TurnId, session_key
from hermes.core.messages import Address, Line, Outcome
from hermes.core.session import Idle, Running
from tests.unit.commands.chats import GROUP, GROUP_ADDRESS, Chat, Town
from tests.unit.core.strategies import inbound

NONE = ["There is no earlier conversation here."]
HOW = "Use /resume with its number, its title or the start of its id."


async def texts(chat: Chat) -> list[str]:
    return [line.text for line in await chat.read()]


async def with_past(town: Town) -> Chat:
    """Three conversations, an hour apart; the last one is current."""
    chat = await town.chat()
    await chat.exchange("Where is Rome?", "In Italy.")
    await chat.say("/title Trip to Rome")
    town.now += 3600
    await chat.say("/new")
    await chat.exchange("Where is Oslo?", "In Norway.")
    town.now += 3600
    await chat.say("/new")
    await chat.exchange("What is a tundra?", "Cold.")
    return chat


async def test_resume_alone_lists_what_was_before_and_how_to_pick(town: Town) -> None:
    chat = await with_past(town)
    [told] = await chat.say("/resume")
    assert told.splitlines() == [
        "Earlier conversations here:",
        "1. “Where is Oslo?” (2 messages, 1 hour ago)",
        "2. “Trip to Rome” (2 messages, 2 hours ago)",
        HOW,
    ]


async def test_nothing_before_says_so(town: Town) -> None:
    chat = await town.chat()
    assert await chat.say("/resume") == NONE
    await chat.exchange("hello")
    assert await chat.say("/resume 1") == NONE
    assert await chat.say("/resume other") == NONE


@pytest.mark.parametrize("name", ["2", "Trip to Rome", "trip to rome", "trip", "Rome"])
async def test_a_conversation_is_found_by_what_it_is_called(town: Town, name: str) -> None:
    chat = await with_past(town)
    assert await chat.say(f"/resume {name}") == ["Back in “Trip to Rome” (2 messages)."]
    assert await texts(chat) == ["Where is Rome?", "In Italy."]
    assert chat.session.facts.title == "Trip to Rome"
    await chat.exchange("And Milan?", "Too.")
    assert await texts(chat) == ["Where is Rome?", "In Italy.", "And Milan?", "Too."]


async def test_a_conversation_is_found_by_its_id(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("one")
    old = chat.session.id
    await chat.say("/new")
    await chat.say(f"/resume {old}")
    assert await texts(chat) == ["one", "fine"]
    assert chat.session.id != old, "it goes on in a conversation of its own"


async def test_a_name_that_fits_several_or_none_lists_what_there_is(town: Town) -> None:
    chat = await town.chat()
    for title in ("Trip to Rome", "Trip to Oslo", "Tax"):
        await chat.exchange("hello")
        await chat.say(f"/title {title}")
        town.now += 60
        await chat.say("/new")
    current = chat.session.id
    [several] = await chat.say("/resume trip")
    assert [line[:17] for line in several.splitlines()[1:-1]] == [
        "2. “Trip to Oslo”",
        "3. “Trip to Rome”",
    ]
    [none] = await chat.say("/resume Lima")
    assert none.startswith("There is no conversation called “Lima”. There are:\n1. “Tax”")
    [none] = await chat.say("/resume 9")
    assert none.startswith("There is no conversation called “9”.")
    assert chat.session.id == current


async def test_resume_ends_the_open_turn_first(town: Town) -> None:
    chat = await with_past(town)
    await chat.say("and this?")
    await chat.go(e.DraftShown(chat.turn.id, "receipt", town.now))
    await chat.say("/resume 1")
    assert chat.session.phase == Idle()
    assert chat.replies[-1].replaces == "receipt"
    assert "TurnInterrupted" in chat.kinds()[-4:]
    assert await texts(chat) == ["Where is Oslo?", "In Norway."]


async def test_resume_keeps_what_waits(town: Town) -> None:
    chat = await with_past(town)
    await chat.say("and this?")
    await chat.say("and that?")
    await chat.say("/resume 1")
    assert isinstance(chat.then, s.AskModel)
    assert await texts(chat) == ["Where is Oslo?", "In Norway.", "and that?"]


async def test_a_conversation_that_was_itself_brought_back_is_read_whole(town: Town) -> None:
    chat = await with_past(town)
    await chat.say("/resume Rome")
    await chat.exchange("And Milan?", "Too.")
    await chat.say("/title Italy")
    await chat.say("/new")
    await chat.exchange("something else")
    await chat.say("/resume Italy")
    assert await texts(chat) == ["Where is Rome?", "In Italy.", "And Milan?", "Too."]


async def test_what_was_taken_back_stays_taken_back(town: Town) -> None:
    chat = await town.chat()
    await chat.exchange("one", "first")
    await chat.exchange("two", "second")
    await chat.say("/undo")
    await chat.exchange("three", "third")
    await chat.say("/new")
    await chat.say("/resume 1")
    assert await texts(chat) == ["one", "first", "three", "third"]
    await chat.say("/undo")
    assert await texts(chat) == ["one", "first"]


async def test_c16_a_parked_conversation_is_offered_first_and_can_be_brought_back(
    town: Town,
) -> None:
    chat = await with_past(town)
    await chat.say("/suspend")
    [told] = await chat.say("/resume")
    assert told.splitlines()[1].startswith("1. “What is a tundra?”")
    await chat.say("/resume 1")
    assert chat.session.phase == Idle()
    assert await texts(chat) == ["What is a tundra?", "Cold."]


async def test_c17_after_a_stop_that_resets_the_old_conversation_is_reachable(town: Town) -> None:
    town.on_stop = "reset"
    chat = await town.chat()
    await chat.exchange("one", "first")
    await chat.say("two")
    await chat.say("/stop")
    await chat.say("three")
    assert isinstance(chat.session.phase, Running)
    await chat.say("/resume 1")
    assert await texts(chat) == ["one", "first", "two"]


async def test_conversations_of_other_lanes_are_neither_listed_nor_found(town: Town) -> None:
    other = await town.chat(GROUP, GROUP_ADDRESS)
    await other.exchange("a secret")
    old = other.session.id
    await other.say("/new")
    chat = await town.chat()
    await chat.exchange("hello")
    await chat.say("/new")
    [told] = await chat.say(f"/resume {old}")
    assert told.startswith("There is no conversation called")
    assert "secret" not in told
    [told] = await chat.say("/sessions")
    assert "secret" not in told
    assert "group" not in told


async def test_sessions_lists_the_conversations_of_this_lane(town: Town) -> None:
    chat = await with_past(town)
    [told] = await chat.say("/sessions")
    assert told.splitlines() == [
        "Conversations here:",
        "- “What is a tundra?” (2 messages, just now), this one",
        "- “Where is Oslo?” (2 messages, 1 hour ago)",
        "- “Trip to Rome” (2 messages, 2 hours ago)",
        "/resume opens an earlier conversation.",
    ]


async def test_the_owner_sees_the_sessions_of_other_chats_too(town: Town) -> None:
    await with_past(town)
    owner = await town.chat(
        session_key("local", "dm", "main"), Address(platform="local", chat="main")
    )
    [told] = await owner.say("/sessions", by="owner")
    assert "- none yet" in told
    assert "- telegram:dm:1: idle, 2 messages, just now" in told.splitlines()


async def test_lists_have_a_limit(town: Town) -> None:
    chat = await town.chat()
    for number in range(12):
        await chat.exchange(f"number {number}")
        town.now += 1
        await chat.say("/new")
    [told] = await chat.say("/resume")
    assert len(told.splitlines()) == 12
    [told] = await chat.say("/sessions")
    assert len(told.splitlines()) == 12
    await chat.say("/resume 12")
    assert await texts(chat) == ["number 0", "fine"], "what is not listed can still be named"


async def test_a_title_is_set_shown_and_one_line() -> None:
    chat = await Town().chat()
    assert await chat.say("/title") == ["This conversation has no title. /title TEXT gives it one."]
    assert await chat.say("/title  Two\nlines \x07 here") == ["The title is now “Two lines here”."]
    assert chat.session.facts.title == "Two lines here"
    [told] = await chat.say("/title")
    assert told.startswith("This conversation is called “Two lines here”.")
    [told] = await chat.say(f"/title {'x' * 81}")
    assert "at most 80" in told
    assert chat.session.facts.title == "Two lines here"
    await chat.say(f"/title {'x' * 80}")
    assert chat.session.facts.title == "x" * 80
    await chat.say("/new")
    assert not chat.session.facts.title


def test_the_view_of_a_conversation_is_told_from_the_events_of_its_lane() -> None:
    one, two, three = SessionId("one"), SessionId("two"), SessionId("three")
    cut = View((Span(two, 4),), "so far")
    events: list[e.Event] = [
        e.SessionReset(one, "", 1.0),
        e.SessionReset(two, "", 1.0, View((Span(one, 0, 2),))),
        e.ViewChanged(cut, "", 1.0),
        e.SessionReset(three, "", 1.0),
    ]
    assert view_at_the_end(events, one) == View((Span(one),))
    assert view_at_the_end(events[:2], two) == View((Span(one, 0, 2), Span(two)))
    assert view_at_the_end(events, two) == cut
    assert view_at_the_end(events, three) == View((Span(three),))
    assert view_at_the_end(events[2:], two) is None, "its beginning is not known"


def test_pol_02_a_conversation_that_is_brought_back_has_all_its_labels() -> None:
    one, two = SessionId("one"), SessionId("two")
    told = Line(role="user", text="told", labels=("secret",))
    events: list[e.Event] = [
        e.MessageReceived(replace(inbound(1), before=(told,)), one),
        e.PromptMade("digest", 1.0, ("untrusted",)),
        e.CallEnded(TurnId("t"), CallId("c"), Outcome.OK, "x", 1.0, labels=("private",)),
        e.Compacted(1, View((Span(one, 4),), "so far"), 5, 1.0),
        e.SessionReset(two, "", 1.0),
    ]
    labels = ("private", "secret", "untrusted")
    assert view_at_the_end(events, one) == View((Span(one, 4),), "so far", labels=labels)


async def test_pol_02_of_a_conversation_whose_beginning_is_not_known_the_worst_is_believed(
    town: Town,
) -> None:
    chat = await town.chat()
    await chat.exchange("hello", "you too")
    await chat.say("/new")
    assert town.store is not None
    [row] = await town.store.library.conversations(chat.session.key, limit=5)
    later = replace(chat.session, position=EVENTS_MAX + chat.session.position)
    found = await last_view(later, row, town.context)
    assert set(found.labels) == {"private", "untrusted"}


def test_a_view_that_is_closed_grows_no_more_and_has_no_empty_pieces() -> None:
    one, two = SessionId("one"), SessionId("two")
    view = View((Span(one, 0, 2), Span(two, 1, 3), Span(two, 5)), "so far")
    assert closed(view, two, 7) == View((*view.spans[:2], Span(two, 5, 7)), "so far")
    assert closed(view, two, 5) == View(view.spans[:2], "so far")


async def test_sessions_search_finds_what_this_chat_may_see(town: Town) -> None:
    chat = await with_past(town)
    group = await town.chat(GROUP, GROUP_ADDRESS)
    await group.exchange("Oslo is cold", "It is.")
    first = (await town.context.store.library.conversations(chat.session.key, limit=9))[1].id
    [told] = await chat.say("/sessions search oslo")
    assert told.splitlines() == [
        f"- ann, 1 hour ago, telegram:dm:1, {first}: Where is [Oslo]?",
        "Use /resume with an id to open a conversation of this chat.",
    ]
    [told] = await group.say("/sessions search oslo")
    assert "telegram:group:7" in told
    assert "telegram:dm:1" not in told


async def test_sessions_search_says_when_there_is_nothing_and_how_to_ask(town: Town) -> None:
    chat = await with_past(town)
    assert await chat.say("/sessions search unicorn") == ["“unicorn” was not found."]
    for text in ("/sessions search", "/sessions find x"):
        [told] = await chat.say(text)
        assert told.startswith("/sessions lists the conversations. /sessions search WORDS finds")
    [told] = await chat.say("/sessions search -oslo")
    assert "names no word" in told
