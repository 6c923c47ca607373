"""C85: where a question of the agent is asked, of whom, and in which words."""

from collections.abc import Sequence
from typing import cast

from hermes.agent.question import BY_COMMAND, NOBODY_THERE, Asker, worded
from hermes.core.channel import ButtonLimits, CommandContext, Manifest, audience_in
from hermes.core.events import CallEnded, QuestionAsked
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Address, Call
from hermes.core.ports import Deferred, ToolContext
from hermes.core.principal import Person, Principal
from hermes.core.store import ChatRow, Home
from tests.unit.agent.test_ask_place import HOME, rights

CHAT = Address(platform="plaza", chat="7")
HOOK = Address(platform="hook", chat="ci")
ANN = Principal(person=Person(id="1"), spoke=CHAT)
LIMITS = ButtonLimits(rows=9, per_row=3, label_chars=20, value_bytes=64)


async def asked(
    address: Address,
    principal: Principal = ANN,
    *,
    home: bool = True,
    choices: tuple[str, ...] = (),
) -> QuestionAsked | CallEnded:
    async def homes() -> Sequence[Home]:
        return [Home(address=HOME, at=1.0)] if home else []

    async def chats() -> Sequence[ChatRow]:
        return []

    permit = rights()
    asker = Asker(
        tools=permit.tools,
        permit=permit,
        homes=homes,
        chats=chats,
        answer_s=60.0,
        new_id=lambda: "q" * 32,
        clock=lambda: 3.0,
        buttons={"plaza": LIMITS}.get,
    )
    context = ToolContext(
        session=SessionKey("s"),
        turn=TurnId("t"),
        call=Call(id=CallId("t-1"), tool="clarify"),
        facts={},
        labels=frozenset(),
        watch=lambda _glimpse: None,
        host=cast("CommandContext", None),
        address=address,
        principal=principal,
    )
    event = await asker.defer(context, Deferred(question="Which?", choices=choices, timeout_s=10))
    assert isinstance(event, QuestionAsked | CallEnded)
    return event


async def test_c85_the_person_behind_the_turn_is_asked_where_it_speaks() -> None:
    event = await asked(CHAT, choices=("Red", "Blue"))
    assert isinstance(event, QuestionAsked)
    assert (event.question.address, event.asked, event.expires_at) == (CHAT, "plaza:1", 13.0)
    assert event.question.text == "Which?"
    assert event.question.buttons[0] == ("Red", f"/answer {'q' * 32} 1")


async def test_c85_where_no_person_reads_the_question_goes_home_and_says_how_to_answer() -> None:
    event = await asked(HOOK, Principal())
    assert isinstance(event, QuestionAsked)
    assert event.question.address == HOME
    assert BY_COMMAND.format("q" * 32) in event.question.text
    assert event.asked == "", "the owner answers what is the owner's"


async def test_c85_without_a_person_and_a_home_the_call_ends_at_once() -> None:
    event = await asked(HOOK, Principal(), home=False)
    assert isinstance(event, CallEnded)
    assert event.text == NOBODY_THERE


def test_choices_that_no_button_can_show_have_numbers() -> None:
    assert worded("Which?", ("Red", "Blue"), LIMITS) == "Which?"
    assert "1. Red\n2. Blue" in worded("Which?", ("Red", "Blue"), None)
    assert "2. A long one" in worded("Which?", ("Red", "A long one that does not fit"), LIMITS)


def test_a_platform_that_is_not_there_has_no_readers() -> None:
    assert audience_in([Manifest(name="plaza")])("hook") == "unattended"
