"""Reading a journal with events that cannot be read: nothing is folded over a gap."""

import pytest
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.codec import encode
from hermes.core.errors import Refused, RowUnreadable
from hermes.core.fold import fold
from hermes.core.ids import MessageId, SessionId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.salvage import folded, leaves, readable
from hermes.core.session import Session

KEY = session_key("telegram", "dm", "1")
EMPTY = Session(key=KEY)


def received(number: int, text: str) -> e.MessageReceived:
    inbound = Inbound(
        id=MessageId(str(number)),
        account="bot",
        session=KEY,
        sender=Person(id="ann"),
        address=Address(platform="telegram", chat="1"),
        text=text,
        at=float(number),
    )
    return e.MessageReceived(inbound, SessionId(f"c{number}"))


HELLO, NEW = encode(received(1, "hello")), encode(received(2, "/new"))
TITLE = encode(e.FactSet("title", "Owls", 3.0))
GARBLED = TITLE.replace(b"3.0", b'"soon"')


def test_a_sound_journal_is_folded_as_ever() -> None:
    session = folded(EMPTY, [HELLO, NEW, TITLE])
    assert (session.id, session.position, session.salvaged) == ("c1", 3, False)


@pytest.mark.parametrize("tail", [[GARBLED], [GARBLED, TITLE], [GARBLED, HELLO]])
def test_nothing_is_folded_behind_what_cannot_be_read(tail: list[bytes]) -> None:
    with pytest.raises(RowUnreadable):
        folded(EMPTY, [HELLO, *tail])


def test_an_event_that_does_not_fit_is_a_gap_as_well() -> None:
    ended = encode(e.TurnEnded(turn="none", outcome="answered", at=1.0))  # type: ignore[arg-type]
    with pytest.raises(Refused):
        folded(EMPTY, [HELLO, ended])
    assert folded(EMPTY, [HELLO, ended, NEW]).id == "c2"


def test_a_message_that_leaves_begins_a_session_of_its_own() -> None:
    session = folded(EMPTY, [HELLO, GARBLED, TITLE, NEW])
    assert (session.id, session.position, session.salvaged) == ("c2", 4, True)
    assert [inbound.text for inbound in session.waiting] == ["/new"]
    told = [event for _, event, _ in readable(EMPTY, [HELLO, GARBLED, TITLE, NEW, TITLE])]
    assert [type(event).__name__ for event in told] == [
        "MessageReceived",
        "MessageReceived",
        "FactSet",
    ]


def test_it_counts_as_salvaged_until_its_owner_has_written() -> None:
    session = folded(EMPTY, [HELLO, GARBLED, NEW])
    assert fold(session, received(3, "more")).salvaged
    assert not fold(session, e.FactSet("title", "x", 4.0)).salvaged


def test_only_a_persons_command_leaves() -> None:
    inbound = received(1, "/NEW@bot now").inbound
    assert leaves(inbound)
    assert not leaves(replace(inbound, origin="relay"))
    assert not leaves(replace(inbound, text="/newer"))
