"""`/answer`: who may give the words that a call waits for."""

import asyncio

from msgspec.structs import replace

from hermes.commands.questions import NOT_ASKED, QUESTION_COMMANDS, SAY_IT
from hermes.core.channel import CommandCall, CommandResult
from hermes.core.events import QuestionAnswered
from hermes.core.ids import SessionId
from hermes.core.messages import Person
from hermes.core.people import Role
from tests.unit.core.life import NOBODY
from tests.unit.core.strategies import inbound
from tests.unit.core.test_deferred import asking, begun

ANSWER = QUESTION_COMMANDS[2]


def given(text: str, *, by: str = "ann", role: Role = Role.MEMBER) -> CommandResult:
    life = begun("tidy")
    asking(life, 0)
    said = inbound(2, f"/answer {text}", 1.0)
    said = said if by == "ann" else replace(said, sender=Person(id=by))
    order = CommandCall(
        session=life.session,
        inbound=said,
        argument=text,
        at=1.0,
        epoch=1,
        reached=False,
        new_session=lambda: SessionId("s2"),
        role=role,
        role_of_turn=role,
    )
    return asyncio.run(run(order))


async def run(order: CommandCall) -> CommandResult:
    assert ANSWER.run_async is not None
    return await ANSWER.run_async(order, NOBODY)


def test_c85_the_person_who_was_asked_answers_by_a_number_or_in_words() -> None:
    for said, text in (("1", "red"), (f"{'q' * 32} 2", "blue"), ("green", "green")):
        [answered] = given(said).events
        assert isinstance(answered, QuestionAnswered)
        assert answered.text == text


def test_c85_another_member_of_the_room_does_not_answer() -> None:
    result = given("1", by="bob")
    assert result.events == ()
    assert [reply.text for reply in result.replies] == [NOT_ASKED]


def test_c85_the_owner_is_the_same_person_wherever_they_speak() -> None:
    assert len(given("1", by="cli", role=Role.OWNER).events) == 1


def test_c85_something_else_is_no_answer_yet() -> None:
    result = given("something else")
    assert result.events == ()
    assert [reply.text for reply in result.replies] == [SAY_IT]
