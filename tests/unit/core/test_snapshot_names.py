"""Stored snapshots use names that never change, so that an older snapshot keeps its calls."""

import msgspec

from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Address, Call
from hermes.core.session import CallState, Turn


def test_the_calls_of_a_turn_are_stored_under_their_first_name() -> None:
    state = CallState(call=Call(id=CallId("c1"), tool="terminal"))
    turn = Turn(
        id=TurnId("t1"),
        address=Address(platform="telegram", chat="7"),
        epoch=1,
        started_at=0.0,
        call_states=(state,),
    )
    stored = msgspec.json.decode(msgspec.json.encode(turn))
    assert "tracks" in stored
    assert msgspec.convert(stored, Turn) == turn
