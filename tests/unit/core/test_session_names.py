"""Session keys: parsed in one place, and the same again when they are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.errors import Rejected
from hermes.core.ids import SessionName, name_of, parse_key, platform_of, session_key

PART = st.text(min_size=1, max_size=8) | st.sampled_from(["%", ":", "%3A", "%25", "a:b", "%253A"])
NAMES = st.builds(
    SessionName, PART, PART, PART, st.lists(PART, max_size=3).map(tuple), st.just("main")
)


@given(NAMES)
def test_a_name_that_is_written_is_read_back(name: SessionName) -> None:
    assert parse_key(str(name)) == name
    key = session_key(name.platform, name.kind, name.chat, *name.rest)
    assert str(parse_key(key)) == key == str(name)
    assert platform_of(key) == name.platform


@given(st.text(alphabet="agentmi:%3A25x", max_size=30))
def test_any_text_is_a_key_to_the_letter_or_none(text: str) -> None:
    name = name_of(text)
    assert name is None or str(name) == text


@given(NAMES, NAMES)
def test_two_names_never_share_a_key(one: SessionName, other: SessionName) -> None:
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "agent",
        "agent:main:plaza:dm",
        "agent:main::dm:1",
        "other:main:plaza:dm:1",
        "a:%zz:b:c:d",
    ],
)
def test_a_malformed_key_is_refused_with_the_right_form(key: str) -> None:
    with pytest.raises(Rejected, match="Write agent:main:PLATFORM:TYPE:CHAT"):
        parse_key(key)
    assert name_of(key) is None
    assert platform_of(key) == ""
