"""`/approve` and `/deny`: one answer, for one call, of the owner (C63)."""

import pytest

from hermes.core import events as e
from hermes.core import step as s
from hermes.core.grants import Grant
from hermes.core.ids import session_key
from hermes.core.messages import Outcome
from hermes.core.people import Role
from hermes.core.session import Running, Waiting
from tests.unit.commands.chats import GROUP, GROUP_ADDRESS, Chat, Town

NOT_A_YES = "I did not take that as a yes. /approve allows it once, /deny refuses it."
ANN = session_key("telegram", "group", "7", "ann")
BOB = session_key("telegram", "group", "7", "bob")
GRANT = Grant(
    id="g", principal="telegram:ann", tool="pay", arguments="{}", profile="host", expires_at=9e9
)


async def asked(chat: Chat, by: str = "ann") -> str:
    """Returns the question that waits."""
    await chat.say("buy it", by=by)
    await chat.answer("", "pay")
    [waits] = chat.session.questions
    return waits.question


def started(chat: Chat) -> int:
    return sum(isinstance(event, e.CallStarted) for event in chat.events)


def answers(chat: Chat) -> list[e.QuestionAnswered]:
    return [event for event in chat.events if isinstance(event, e.QuestionAnswered)]


async def test_c63_a_yes_runs_the_call_once() -> None:
    chat = await Town().chat()
    await asked(chat)
    assert await chat.say("/approve") == []
    assert started(chat) == 1
    assert answers(chat)[0].by == "telegram:ann"


async def test_c63_a_second_yes_changes_nothing(town: Town) -> None:
    chat = await town.chat()
    question = await asked(chat)
    await chat.say(f"/approve {question}")
    assert await chat.say("/approve") == ["No question is waiting for an answer."]
    [told] = await chat.say(f"/approve {question}")
    assert told == "That question is closed: used by telegram:ann."
    assert started(chat) == 1


async def test_c63_a_yes_for_another_call_is_closed(town: Town) -> None:
    chat = await town.chat()
    old = await asked(chat)
    await chat.say("/deny")
    await chat.answer("", "pay")
    closed = "That question is closed: denied by telegram:ann."
    assert await chat.say(f"/approve {old}") == [closed]
    assert await chat.say(f"/deny {old} no!") == [closed]
    assert isinstance(chat.session.phase, Waiting)
    assert not started(chat)


async def test_an_always_that_cannot_be_given_is_allowed_once_and_says_so() -> None:
    chat = await Town().chat()
    question = await asked(chat)
    [told] = await chat.say(f"/approve {question} always")
    assert "this once" in told
    assert started(chat) == 1
    assert answers(chat)[0].grant is None


async def test_an_always_is_written_down_with_the_answer() -> None:
    chat = await Town(offer=GRANT).chat()
    question = await asked(chat)
    [told] = await chat.say(f"/approve {question} always")
    assert "hermes approvals grants" in told
    assert answers(chat)[0].grant == GRANT


async def test_a_plain_yes_grants_nothing_for_good() -> None:
    chat = await Town(offer=GRANT).chat()
    await asked(chat)
    await chat.say("/approve")
    assert answers(chat)[0].grant is None


@pytest.mark.parametrize("text", ["/approve not", "/approve yes and more", "yes", "approve"])
async def test_other_words_are_no_yes(text: str) -> None:
    chat = await Town().chat()
    await asked(chat)
    assert await chat.say(text) == ([NOT_A_YES] if text.startswith("/") else [])
    assert isinstance(chat.session.phase, Waiting)


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
    question = await asked(chat)
    await chat.say(f"/deny {question}")
    assert chat.rows[-1].outcome is Outcome.DENIED
    assert "reason" not in chat.rows[-1].text


async def test_c63_silence_is_a_no_when_its_time_is_over() -> None:
    chat = await Town().chat()
    await asked(chat)
    chat.town.now += 3_599
    await chat.go()
    assert isinstance(chat.session.phase, Waiting)
    chat.town.now += 1
    await chat.go()
    row = chat.rows[-1]
    assert row.outcome is Outcome.DENIED
    assert "No answer came in time" in row.text
    assert answers(chat)[0].by == ""
    assert not started(chat)


@pytest.mark.parametrize("role", [Role.PAIRED, Role.MEMBER])
async def test_pol_05_nobody_but_the_owner_answers(role: Role) -> None:
    chat = await Town(roles={"bob": role}).chat(GROUP, GROUP_ADDRESS)
    question = await asked(chat, by="ann")
    assert await chat.say("/approve", by="bob") == ["Only my owner can use /approve."]
    assert await chat.say(f"/approve {question}", by="bob") == ["Only my owner can use /approve."]
    assert await chat.say(f"/deny {question}", by="bob") == ["Only my owner can use /deny."]
    assert isinstance(chat.session.phase, Waiting)
    assert await chat.say("/approve", by="ann") == []
    assert started(chat) == 1


async def test_pol_05_whoever_asked_for_it_does_not_allow_it(town: Town) -> None:
    town.roles["bob"] = Role.PAIRED
    chat = await town.chat()
    question = await asked(chat, by="bob")
    assert await chat.say(f"/approve {question}", by="bob") == ["Only my owner can use /approve."]
    assert isinstance(chat.session.phase, Waiting)


async def test_the_owner_may_answer_from_another_chat(town: Town) -> None:
    bob = await town.chat(BOB, GROUP_ADDRESS)
    question = await asked(bob, by="bob")
    ann = await town.chat()
    assert await ann.say(f"/approve {question}", by="ann") == []
    await bob.go()
    assert isinstance(bob.session.phase, Running)
    assert answers(bob)[0].by == "telegram:ann"


async def test_pol_05_a_question_that_nobody_asked_is_refused(town: Town) -> None:
    chat = await town.chat()
    await asked(chat)
    assert await chat.say(f"/approve {'0' * 32}") == ["I do not know that question."]
    assert isinstance(chat.session.phase, Waiting)


async def test_pol_12_the_second_of_two_answers_hears_of_the_first(town: Town) -> None:
    chat = await town.chat()
    question = await asked(chat)
    ann, ben = await town.chat(ANN, GROUP_ADDRESS), await town.chat(BOB, GROUP_ADDRESS)
    await ann.say(f"/deny {question}", by="ann")
    await chat.go()
    [told] = await ben.say(f"/approve {question}", by="ben")
    assert told == "That question is closed: denied by telegram:ann."
    assert not started(chat)


async def test_pol_06_a_turn_that_was_parked_while_it_asked_asks_again(town: Town) -> None:
    """An answer that is owed to a question of before would be about something else."""
    chat = await town.chat()
    question = await asked(chat)
    await chat.say("/suspend")
    await chat.say("/retry")
    assert isinstance(chat.session.phase, Waiting)
    assert not started(chat)
    [told] = await chat.say(f"/approve {question}")
    assert told.startswith("That question is closed")


async def test_pol_07_a_yes_for_the_session_is_kept_in_the_conversation_and_gone_with_it() -> None:
    chat = await Town(session_offer=GRANT).chat()
    question = await asked(chat)
    [told] = await chat.say(f"/approve {question} session")
    assert told == "Allowed, now and for similar calls in this conversation. /new ends that."
    assert answers(chat)[0].session_grant == GRANT
    assert answers(chat)[0].grant is None
    assert chat.session.grants == (GRANT,)
    await chat.say("/new")
    assert chat.session.grants == ()


async def test_a_yes_for_the_session_that_cannot_be_given_is_allowed_once_and_says_so() -> None:
    chat = await Town(offer=GRANT).chat()
    question = await asked(chat)
    [told] = await chat.say(f"/approve {question} session")
    assert told.startswith("Allowed this once. “For this session” is not possible")
    assert started(chat) == 1
    assert chat.session.grants == ()


async def test_of_several_questions_each_shows_its_command_and_its_session(town: Town) -> None:
    bob = await town.chat(BOB, GROUP_ADDRESS)
    await bob.say("/title Shopping", by="bob")
    first = await asked(bob, by="bob")
    second = await asked(await town.chat(ANN, GROUP_ADDRESS))
    other = await town.chat(session_key("telegram", "dm", "9"))
    [told] = await other.say("/approve")
    assert told.startswith("Several questions are waiting. Which one?\n")
    assert f"│ pay: Sure?\nSession: “Shopping” (telegram group 7 bob)\n/approve {first}" in told
    assert f"│ pay: Sure?\nSession: telegram group 7 ann\n/approve {second}" in told
