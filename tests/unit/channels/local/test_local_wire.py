"""What is said on the socket is understood on the other side, or refused by name."""

import msgspec
import pytest

from hermes.channels.local import wire
from hermes.core.errors import ChannelDown, Fenced, HermesError, Rejected, StoreBusy, StoreFull
from hermes.core.events import TurnEnded
from hermes.core.ids import CallId, ReplyId, TurnId
from hermes.core.messages import Address, Reply
from hermes.core.signals import CallProgress, Recorded, Retrying, Signal, TextDelta, ThoughtDelta
from hermes.core.store import Accepted
from unit.channels.local.house import KEY, message

T = TurnId("t")
ADDRESS = Address(platform="local", chat="main")
REPLY = Reply(id=ReplyId("t/0"), session=KEY, address=ADDRESS, text="a\nb")
ENDED = TurnEnded(T, "answered", 1.0, (REPLY,))


def test_what_a_chat_says_is_one_line_and_comes_back_the_same() -> None:
    for said in (
        wire.AskStatus(1),
        wire.Say(2, message("one\ntwo\u2028three")),
        wire.Follow(3, KEY, None, live=True),
        wire.Deliver(4, KEY),
        wire.AskOutcome(5, KEY, T),
        wire.DeliveryShown("t/0.0"),
    ):
        raw = wire.line(said)
        assert raw.count(b"\n") == 1
        assert wire.asked(raw) == said


def test_what_a_gateway_says_is_one_line_and_comes_back_the_same() -> None:
    for said in (
        wire.Hello(1),
        wire.SayTold(1, Accepted(fresh=True, key=KEY, position=7)),
        wire.Following(2, 7),
        wire.Happened(KEY, ENDED, 8),
        wire.Delivered("t/0.0", REPLY, "a\nb"),
        wire.OutcomeTold(3, wire.TurnOutcome(session_id=msgspec.convert("s", str))),
        wire.Failed(4, "Rejected", "no"),
        wire.Done(5),
    ):
        raw = wire.line(said)
        assert raw.count(b"\n") == 1
        assert wire.told(raw) == said


def test_a_signal_is_the_same_on_the_other_side() -> None:
    for glimpse in (
        TextDelta("a"),
        ThoughtDelta("b"),
        CallProgress(CallId("t-1"), "c"),
        Retrying("why", 1.5),
    ):
        said = wire.glimpsed(Signal(KEY, T, glimpse))
        assert said is not None
        assert wire.signal_of(said) == Signal(KEY, T, glimpse)
    assert wire.glimpsed(Signal(KEY, T, Recorded((ENDED,), 8))) is None
    assert wire.signal_of(wire.Happened(KEY, ENDED, 8)).glimpse == Recorded((ENDED,), 8)


@pytest.mark.parametrize("raw", [b"", b"\xff\n", b"[]\n", b"{}\n", b'{"type":"x"}\n', b"[" * 9999])
def test_what_nobody_understands_is_refused_by_name(raw: bytes) -> None:
    for understand in (wire.asked, wire.told):
        with pytest.raises(ChannelDown):
            understand(raw)


def test_an_error_is_the_same_on_the_other_side() -> None:
    for error in (Rejected("empty"), StoreBusy("held"), StoreFull("no room")):
        there = wire.error_of(wire.failure(1, error))
        assert (type(there), str(there)) == (type(error), str(error))
    strange: HermesError = Fenced("taken over")
    assert isinstance(wire.error_of(wire.failure(1, strange)), Rejected)
    assert isinstance(wire.error_of(wire.Failed(1, "Newer", "why")), Rejected)
