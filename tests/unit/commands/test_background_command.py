"""`/background`: a lane of its own, an answer in this chat, questions that are answered from it."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import SessionKey
from hermes.core.people import Role
from hermes.core.session import Idle, Running, Waiting
from hermes.gateway.plan import AsyncCommand
from tests.unit.commands.chats import ADDRESS, GROUP, GROUP_ADDRESS, Chat, Town

WORKING = "Working on it in the background; the answer comes here."
NOTHING = "No background work for this chat. Start some with /background TEXT."


async def lanes(town: Town) -> list[SessionKey]:
    assert town.store is not None
    rows = await town.store.library.sessions(limit=100)
    return [row.key for row in rows if ":background:" in row.key]


async def behind(town: Town, chat: Chat, text: str = "/background dig", by: str = "ann") -> Chat:
    """What was just begun behind this chat."""
    known = await lanes(town)
    assert await chat.say(text, by=by) == [WORKING]
    [key] = [lane for lane in await lanes(town) if lane not in known]
    made = await town.chat(key, chat.address)
    await made.go()
    return made


async def test_it_runs_beside_the_conversation_and_is_answered_in_this_chat(town: Town) -> None:
    chat = await town.chat()
    await chat.say("hello")
    other = await behind(town, chat)
    assert isinstance(chat.session.phase, Running)
    assert isinstance(other.session.phase, Running)
    assert other.turn.sender == "ann"
    await other.answer("found it")
    assert [(reply.address, reply.text) for reply in other.replies] == [(ADDRESS, "found it")]


async def test_a_text_that_looks_like_a_command_is_worked_on(town: Town) -> None:
    other = await behind(town, await town.chat(), "/background /stop signs, explain them")
    assert other.rows[0].text == "/stop signs, explain them"


async def test_a_second_run_after_a_crash_is_no_second_request(town: Town) -> None:
    chat = await town.chat()
    await chat.say("hello")
    before = chat.session
    await chat.say("/background dig")
    command = next(x.inbound for x in reversed(chat.events) if isinstance(x, e.MessageReceived))
    died_before_its_commit = replace(before, waiting=(command,))
    plan = town.planner.plan(died_before_its_commit, (), epoch=chat.epoch, reached=False)
    [errand] = plan.launches
    assert isinstance(errand, AsyncCommand)
    assert errand.command.run_async is not None
    again = await errand.command.run_async(errand.call, town.context)
    assert [reply.text for reply in again.replies] == [WORKING]
    [lane] = await lanes(town)
    assert len((await town.chat(lane)).events) == 1


async def test_two_requests_have_two_lanes(town: Town) -> None:
    chat = await town.chat()
    await behind(town, chat)
    await behind(town, chat)
    assert len(await lanes(town)) == 2


async def test_c63_its_question_is_answered_from_this_chat(town: Town) -> None:
    chat = await town.chat()
    other = await behind(town, chat)
    await other.answer("", "pay")
    assert isinstance(other.session.phase, Waiting)
    assert await chat.say(f"/approve {other.session.questions[0].question}") == []
    await other.go()
    assert isinstance(other.session.phase, Running)


async def test_c63_without_a_name_the_only_open_question_is_meant(town: Town) -> None:
    chat = await town.chat()
    one, two = await behind(town, chat), await behind(town, chat)
    await one.answer("", "pay")
    await two.answer("", "pay")
    [told] = await chat.say("/deny")
    assert told.startswith("Several questions are waiting.")
    assert isinstance(one.session.phase, Waiting)
    await chat.say(f"/deny {one.session.questions[0].question} too dear")
    await one.go()
    assert "too dear" in one.rows[-1].text
    assert await chat.say("/approve") == []
    await two.go()
    assert isinstance(two.session.phase, Running)


async def test_c63_in_a_group_only_its_person_answers_and_stops(town: Town) -> None:
    town.roles["bob"] = Role.PAIRED
    chat = await town.chat(GROUP, GROUP_ADDRESS)
    other = await behind(town, chat, by="ann")
    await other.answer("", "pay")
    assert await chat.say("/approve", by="bob") == ["Only my owner can use /approve."]
    assert await chat.say("/background stop", by="bob") == [NOTHING]
    await other.go()
    assert isinstance(other.session.phase, Waiting)
    assert await chat.say("/background stop", by="ann") == ["Stopping 1 background turn."]
    await other.go()
    assert other.session.phase == Idle()


async def test_what_runs_is_listed_and_stopped(town: Town) -> None:
    chat = await town.chat()
    assert await chat.say("/background") == [NOTHING]
    assert await chat.say("/background stop") == [NOTHING]
    other = await behind(town, chat)
    elsewhere = await behind(town, await town.chat(GROUP, GROUP_ADDRESS))
    town.now += 120
    [told] = await chat.say("/background")
    assert told.splitlines()[1:-1] == ["- runs, begun 2 minutes ago"]
    assert await chat.say("/background stop") == ["Stopping 1 background turn."]
    await other.go()
    await elsewhere.go()
    assert other.session.phase == Idle()
    assert other.texts == ["Stopped."]
    assert isinstance(elsewhere.session.phase, Running)
