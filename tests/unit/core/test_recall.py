"""Who may find what, by the lane in which it is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ids import SessionKey, chat_key, session_key
from hermes.core.recall import EVERYTHING, Scope, marked, scope_of

PART = st.text(min_size=1, max_size=5)
DM = chat_key("telegram", "dm", "1")


def test_the_owners_places_see_everything() -> None:
    assert scope_of(session_key("desk", "dm", "main"), "owner") == EVERYTHING
    assert scope_of(SessionKey("desk"), "owner") == Scope("lane", SessionKey("desk"))


def test_the_chat_says_whether_it_is_one_of_two_and_not_the_key() -> None:
    assert scope_of(DM, "people", False) == Scope("lane", DM)
    group = chat_key("telegram", "group", "1")
    assert scope_of(group, "people", True) == Scope("chat", group)


def test_where_programs_write_a_session_sees_itself() -> None:
    assert scope_of(DM, "unattended", True) == Scope("lane", DM)


def test_a_chat_of_two_sees_its_own_lanes_and_no_other_chat() -> None:
    scope = scope_of(chat_key("telegram", "dm", "1", thread="7"))
    assert scope == scope_of(DM) == Scope("chat", DM)
    assert scope.covers(DM)
    assert scope.covers(chat_key("telegram", "dm", "1", thread="8"))
    for other in (
        chat_key("telegram", "dm", "12"),
        chat_key("telegram", "group", "1"),
        session_key("slack", "dm", "1"),
        session_key("local", "dm", "1"),
    ):
        assert not scope.covers(other)


@pytest.mark.parametrize(
    "key",
    [
        chat_key("telegram", "group", "1", user="ann"),
        chat_key("telegram", "group", "1", thread="3"),
        chat_key("telegram", "channel", "1"),
        SessionKey("agent:main:local"),
        SessionKey(""),
    ],
)
def test_anything_else_sees_itself(key: SessionKey) -> None:
    scope = scope_of(key)
    assert scope == Scope("lane", key)
    assert scope.covers(key)
    assert not scope.covers(SessionKey(f"{key}:more"))


def test_a_lane_beside_a_chat_sees_itself() -> None:
    one, other = (session_key("background", "dm", name) for name in ("a", "b"))
    assert scope_of(one).covers(one)
    assert not scope_of(one).covers(other)
    assert not scope_of(one).covers(DM)


@given(PART, PART, PART)
def test_no_name_of_a_chat_forges_another_scope(platform: str, chat: str, other: str) -> None:
    seen = scope_of(chat_key(f"x{platform}", "dm", chat))
    assert seen.covers(chat_key(f"x{platform}", "dm", other)) == (chat == other)


def test_marks_are_put_into_brackets() -> None:
    assert marked("a snowy owl", ((2, 7), (8, 11))) == "a [snowy] [owl]"
    assert marked("plain", ()) == "plain"
