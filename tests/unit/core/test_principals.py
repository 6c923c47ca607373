"""Who is behind a message is carried along, and loses rights on the way, but never wins any."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core.codec import decode_event, decode_session, encode
from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived
from hermes.core.fold import fold
from hermes.core.ids import MessageId, SessionId, session_key
from hermes.core.messages import PROVENANCE, Address, Inbound, Origin, Person
from hermes.core.people import Role, Sender, derived, principal_of, sender_of
from hermes.core.principal import HOPS_MAX, UNSIGNED, Principal
from hermes.core.session import Session, speaker, speakers
from hermes.core.trust import KnownPerson, TrustRegister, role_in, role_of

ROLES = st.sampled_from(Role)
LABELS = st.sets(st.sampled_from(sorted(PROVENANCE))).map(lambda some: tuple(sorted(some)))
HANDED: Sequence[Origin] = ("background", "schedule", "parent", "webhook", "relay", "review")
PLACE = Address(platform="plaza", chat="7")


def said(origin: Origin = "person", *, direct: bool | None = True, at: Address = PLACE) -> Inbound:
    return Inbound(
        id=MessageId("m"),
        account="test",
        session=session_key(at.platform, "dm", at.chat),
        sender=Person(id="ada"),
        address=at,
        text="hello",
        at=1.0,
        origin=origin,
        direct=direct,
    )


def role(inbound: Inbound, now: Role, configured: Role = Role.STRANGER) -> Role:
    known = KnownPerson(platform="plaza", id="ada", role=now)
    register = TrustRegister(people={("plaza", "ada"): known})
    return role_of(register, sender_of(inbound), lambda _sender: configured)


LINK = st.tuples(st.sampled_from(HANDED), ROLES, LABELS, st.booleans())


@given(ROLES, ROLES, LABELS, st.lists(LINK, max_size=HOPS_MAX))
def test_no_chain_of_messages_wins_a_right(
    then: Role,
    now: Role,
    labels: tuple[str, ...],
    chain: list[tuple[Origin, Role, tuple[str, ...], bool]],
) -> None:
    message = replace(said(), labels=labels)
    spoken, weakest, read = role(message, now), then, {*labels}
    message = derived(said("background"), principal_of(sender_of(message), labels), then)
    for origin, ceiling, more, elsewhere in chain[: HOPS_MAX - 1]:
        before = role(message, now)
        at = Address(platform="elsewhere", chat="1") if elsewhere else PLACE
        cause = principal_of(sender_of(message))
        message = derived(replace(said(origin, at=at), labels=more), cause, ceiling)
        weakest, read = max(weakest, ceiling), read | {*more}
        assert role(message, now) >= before
        assert message.principal is not None
        assert message.principal.ask == PLACE, "the owner is asked where it began"
        assert message.principal.via[-1] == origin
    assert role(message, now) == max(weakest, spoken)
    assert {*message.labels} == read, "labels only accumulate"


@given(ROLES, ROLES)
def test_what_a_person_lost_since_is_lost_and_what_they_won_is_not_lent(
    then: Role, now: Role
) -> None:
    work = derived(said("schedule"), principal_of(sender_of(said())), then)
    assert role(work, now) >= max(then, role(said(), now))


def test_a_chain_ends_at_its_limit() -> None:
    message = said()
    for _ in range(HOPS_MAX):
        message = derived(said("parent"), principal_of(sender_of(message)))
    with pytest.raises(Rejected, match=f"only {HOPS_MAX} times in a row"):
        derived(said("parent"), principal_of(sender_of(message)))
    carried = message.principal
    assert carried is not None
    forged = replace(message, principal=replace(carried, via=(*carried.via, "parent")))
    assert role(forged, Role.OWNER) is Role.STRANGER


@pytest.mark.parametrize(("origin", "most"), UNSIGNED.items())
def test_a_message_that_carries_nobody_may_do_what_its_origin_may(
    origin: Origin, most: Role
) -> None:
    assert role(said(origin), Role.OWNER, Role.OWNER) is most
    if origin in ("schedule", "parent"):
        assert most is Role.STRANGER


@given(ROLES)
def test_background_work_of_an_old_journal_is_its_persons(now: Role) -> None:
    assert role(said("background"), now) == role(said(), now)


def test_a_room_lets_in_whom_it_let_in_where_they_spoke() -> None:
    room = Address(platform="plaza", chat="room")
    heard = said(direct=False, at=room)
    work = derived(said("background"), principal_of(sender_of(heard)), Role.MEMBER)

    def configured(sender: Sender) -> Role:
        return Role.MEMBER if sender.address == room else Role.STRANGER

    assert role_of(TrustRegister(), sender_of(work), configured) is Role.MEMBER
    paired = KnownPerson(platform="plaza", id="ada", role=Role.PAIRED)
    register = TrustRegister(people={("plaza", "ada"): paired})
    assert role_in(register, sender_of(heard), Role.MEMBER) is Role.MEMBER, "not in a chat of two"


def test_the_channel_says_what_is_a_chat_of_two_and_not_the_key() -> None:
    group = session_key("plaza", "group", "7")
    assert sender_of(replace(said(direct=True), session=group)).is_direct
    assert not sender_of(said(direct=False)).is_direct
    assert sender_of(said(direct=None)).is_direct, "an old journal has only the key"
    assert not sender_of(replace(said(direct=None), session=group)).is_direct


def test_what_is_carried_is_in_the_journal() -> None:
    work = derived(said("background"), principal_of(sender_of(said())), Role.PAIRED)
    event = decode_event(encode(MessageReceived(work, SessionId("s"))))
    assert isinstance(event, MessageReceived)
    assert event.inbound == work
    assert work.principal == Principal(
        person=Person(id="ada"),
        spoke=PLACE,
        direct=True,
        ceiling=Role.PAIRED,
        ask=PLACE,
        via=("background",),
    )


# Written by the version before messages carried a principal.
OLD = (
    b'{"type":"message_received.1","inbound":{"id":"m1","account":"background","session":'
    b'"agent:main:background:dm:a1","sender":{"id":"8","name":"Bob"},"address":{"platform":"plaza",'
    b'"chat":"8","account":"bot"},"text":"dig","at":1.0,"origin":"background","labels":'
    b'["untrusted"]},"opens":"s1"}',
    b'{"type":"turn_started.1","turn":"t1","messages":["background#m1"],"epoch":1,"at":2.0,'
    b'"node":"n1"}',
)


def test_an_old_journal_folds_as_it_did() -> None:
    session = Session(key=session_key("background", "dm", "a1"))
    for raw in OLD:
        event = decode_event(raw)
        assert encode(event) == raw
        session = fold(session, event)
    assert decode_session(encode(session)) == session
    turn = session.turn
    assert turn is not None
    assert speakers(session, turn) == (speaker(session, turn),)
    bob = KnownPerson(platform="plaza", id="8", role=Role.PAIRED)
    register = TrustRegister(people={("plaza", "8"): bob})
    found = role_of(register, speaker(session, turn), lambda _sender: Role.STRANGER)
    assert found is Role.PAIRED
    assert speaker(session, turn).name == "plaza:8"
