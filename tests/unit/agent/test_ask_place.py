"""Where the owner is asked, and where the answer goes: two addresses."""

from collections.abc import Sequence

from msgspec.structs import replace

from hermes.agent.permit import Permit
from hermes.agent.question import Asker
from hermes.core.channel import Manifest, audience_in
from hermes.core.events import MessageReceived, QuestionAsked, TurnStarted
from hermes.core.fold import fold
from hermes.core.ids import CallId, MessageId, SessionId, TurnId, session_key
from hermes.core.messages import REPLY, Address, Call, Inbound, Origin, Person
from hermes.core.people import Role, Sender, derived, principal_of, sender_of
from hermes.core.session import Session
from hermes.core.steps import AskPerson
from hermes.core.store import ChatRow, Home
from hermes.core.trust import TrustRegister, role_of
from tests.unit.agent.test_permit import permit

OWN = Address(platform="plaza", chat="1")  # the owner's chat; a person's id is their chat's
GUESTS = Address(platform="plaza", chat="2")
ROOM = Address(platform="plaza", chat="-100")
HOME = Address(platform="plaza", chat="1", thread="home")
LANE = session_key("schedule", "dm", "job")


def said(by: str, at: Address, *, direct: bool = True, origin: Origin = "person") -> Inbound:
    return Inbound(
        id=MessageId("m"),
        account="plaza",
        session=session_key("plaza", "dm", at.chat),
        sender=Person(id=by),
        address=at,
        text="every day: work",
        at=1.0,
        origin=origin,
        direct=direct,
    )


def job(cause: Inbound, answers_at: Address, ceiling: Role = Role.OWNER) -> Session:
    """A turn of a lane of its own that this message brought about."""
    occurrence = replace(said("schedule", answers_at, origin="schedule"), session=LANE, direct=None)
    inbound = derived(occurrence, principal_of(sender_of(cause)), ceiling)
    heard = fold(Session(key=LANE), MessageReceived(inbound, SessionId("s")))
    return fold(heard, TurnStarted(TurnId("t"), ("plaza#m",), 1, 2.0))


def role(sender: Sender, _register: TrustRegister) -> Role:
    known = {"1": Role.OWNER, "2": Role.PAIRED}
    return role_of(TrustRegister(), sender, lambda each: known.get(each.id, Role.STRANGER))


def rights() -> Permit:
    return replace(permit(), role_by=role, audience=audience_in([Manifest(name="plaza")]))


async def asked(session: Session, tool: str = "run") -> QuestionAsked:
    async def homes() -> Sequence[Home]:
        return [Home(address=HOME, at=1.0)]

    async def chats() -> Sequence[ChatRow]:
        return []

    asker = Asker(
        tools=rights().tools,
        permit=rights(),
        homes=homes,
        chats=chats,
        answer_s=60.0,
        new_id=lambda: "q",
        clock=lambda: 3.0,
    )
    assert session.turn is not None
    call = Call(id=CallId("t-1"), tool=tool, arguments='{"text":"hello"}')
    [event] = await asker.ask(session, session.turn, AskPerson(TurnId("t"), call, "sure?"))
    assert isinstance(event, QuestionAsked)
    return event


async def test_the_owner_is_asked_where_they_began_it_and_not_where_the_answer_goes() -> None:
    session = job(said("1", OWN), ROOM)
    event = await asked(session)
    assert event.question.address == OWN
    assert [notice.address for notice in event.notices] == [ROOM]
    assert session.turn is not None
    assert session.turn.address == ROOM


async def test_what_a_guest_began_is_asked_at_home() -> None:
    assert (await asked(job(said("2", GUESTS), GUESTS))).question.address == HOME


async def test_with_a_guests_rights_the_owner_is_asked_at_home_too() -> None:
    session = job(said("1", OWN), OWN, Role.PAIRED)
    assert (await asked(session)).question.address == HOME


async def test_an_answer_that_holds_something_private_is_not_shown_to_a_room() -> None:
    began_in_a_room = job(said("1", ROOM, direct=False), ROOM)
    assert (await asked(began_in_a_room, REPLY)).question.address == HOME
    assert (await asked(job(said("1", OWN), ROOM), REPLY)).question.address == OWN


def test_a_chat_of_the_owner_is_private_wherever_the_work_is_done() -> None:
    for cause, at, shared in (
        (said("1", OWN), OWN, False),
        (said("1", OWN), ROOM, True),
        (said("1", ROOM, direct=False), ROOM, True),
        (said("2", GUESTS), GUESTS, True),
    ):
        session = job(cause, at)
        assert session.turn is not None
        assert rights().is_shared(session, session.turn) is shared, (cause.sender, at)


def test_a_call_hands_on_what_the_weakest_speaker_may_do_now() -> None:
    principal = rights().principal(job(said("2", GUESTS), ROOM))
    assert principal.person == Person(id="2")
    assert principal.ceiling is Role.PAIRED
    assert principal.via == ("schedule",)
    assert rights().principal(Session(key=LANE)).ceiling is Role.STRANGER


def test_what_several_people_began_is_handed_on_behind_the_hops_of_all() -> None:
    event = derived(said("hook", ROOM, origin="webhook"), ceiling=Role.PAIRED)
    owner = replace(said("1", ROOM, direct=False), id=MessageId("n"), session=LANE)
    session = Session(key=LANE)
    for inbound in (replace(event, session=LANE), owner):
        session = fold(session, MessageReceived(inbound, SessionId("s")))
    session = fold(session, TurnStarted(TurnId("t"), ("plaza#m", "plaza#n"), 1, 2.0))
    principal = rights().principal(session)
    assert principal.ceiling is Role.PAIRED
    assert principal.via == ("webhook",)


def test_the_limits_of_every_hop_hold_to_the_end() -> None:
    event = derived(said("hook", ROOM, origin="webhook"), ceiling=Role.PAIRED)
    session = job(event, ROOM)
    assert session.turn is not None
    subject = rights().subject(session, session.turn)
    assert [hop.kind for hop in subject.hops] == ["webhook", "schedule"]
    assert subject.role is Role.PAIRED
