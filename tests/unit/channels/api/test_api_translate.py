"""From the wire to an Inbound: names of lanes, ids of calls, and nothing that breaks it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.api.manifest import lane_of, name_of
from hermes.channels.api.refusals import Unserved
from hermes.channels.api.translate import CARRIED, asked, inbound, pictures, ticket
from hermes.core.ids import SessionKey, session_key
from hermes.core.messages import Line
from hermes.core.session import Session
from tests.unit.core.strict import faults, request_lines

NAMES = st.text(
    alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40
)


@given(NAMES)
def test_a_lane_has_one_name_and_a_name_one_lane(name: str) -> None:
    assert name_of(lane_of(name)) == name
    assert lane_of(name).count(":") == 4, "no name reaches another platform's lane"


def test_a_lane_of_another_channel_is_called_by_its_key() -> None:
    other = session_key("telegram", "dm", "1")
    assert name_of(other) == other
    assert name_of(SessionKey("agent:main:api:dm")) == "agent:main:api:dm"


CALL = st.builds(
    lambda n, text: {"id": f"c{n}", "function": {"name": "f", "arguments": text}},
    st.integers(0, 3),
    st.sampled_from(["{}", '{"a": 1}', "[1]", "not json", "", "\x00"]),
)
TEXT = st.text(max_size=5).filter(lambda text: text.isprintable()) | st.just("a\x00b")
MESSAGE = st.one_of(
    st.builds(lambda text: {"role": "user", "content": text}, TEXT),
    st.builds(lambda text: {"role": "system", "content": text}, TEXT),
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls},
        TEXT | st.none(),
        st.none() | st.lists(CALL, max_size=3),
    ),
    st.builds(
        lambda n, text: {"role": "tool", "tool_call_id": f"c{n}", "content": text},
        st.integers(0, 3),
        TEXT,
    ),
)


def _sound(history: list[dict[str, Any]]) -> bool:
    """Every result is one of a call before it."""
    known: set[str] = set()
    for message in history:
        if message["role"] == "tool" and message["tool_call_id"] not in known:
            return False
        known |= {call["id"] for call in message.get("tool_calls") or ()}
    return True


@given(st.lists(MESSAGE, max_size=8))
def test_whatever_history_a_client_brings_the_model_gets_a_valid_one(
    history: list[dict[str, Any]],
) -> None:
    body = msgspec.json.encode({"messages": [*history, {"role": "user", "content": "now"}]})
    request = asked(body)
    numbers = iter(range(1_000))
    here = ticket(None, None, lambda: f"id{next(numbers)}")
    if not _sound(history):
        with pytest.raises(Unserved, match="no call has the id"):
            inbound(request, here, {}, at=1.0)
        return
    made = inbound(request, here, {}, at=1.0)
    assert all(CARRIED in line.labels and not line.calls for line in made.before)
    assert {line.role for line in made.before} <= {"user", "assistant"}
    assert b"\\u0000" not in msgspec.json.encode((made.before, made.text))
    lines = [*made.before, Line(role="user", text=made.text)]
    assert faults(request_lines(Session(key=made.session), lines)) == []


def test_pictures_of_old_messages_are_not_looked_at_in_a_named_session() -> None:
    old = {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}
    body = msgspec.json.encode(
        {
            "messages": [
                {"role": "user", "content": [old]},
                {"role": "user", "content": "and now?"},
            ]
        }
    )
    named = ticket("work", "k", lambda: "id")
    assert pictures(asked(body), named) == {}
    made = inbound(asked(body), named, {}, at=1.0)
    assert (made.text, made.before, made.media, made.id) == ("and now?", (), (), "k")
    with pytest.raises(Unserved):
        pictures(asked(body), ticket(None, None, lambda: "id"))
