"""Names of sessions, from what people write to lanes and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.cli.errors import UsageError
from hermes.cli.lookup.session_keys import parse_session_key, session_name
from hermes.core.ids import SessionKey

PRINTABLE = st.characters(exclude_categories=("C", "Z")) | st.just(" ")
NAMES = st.text(PRINTABLE, min_size=1, max_size=50).filter(
    lambda name: bool(name.strip()) and not name.startswith("agent:")
)


def test_a_bare_name_is_a_lane_of_this_terminal() -> None:
    assert parse_session_key("main") == "agent:main:local:dm:main"
    assert session_name(parse_session_key("main")) == "main"


def test_a_key_is_taken_as_it_is() -> None:
    assert parse_session_key("agent:main:telegram:dm:12") == "agent:main:telegram:dm:12"
    assert session_name(SessionKey("agent:main:telegram:dm:12")) == "telegram:dm:12"


@given(NAMES)
def test_a_name_leads_back_to_itself_and_to_no_other_lane(name: str) -> None:
    key = parse_session_key(name)
    assert session_name(key) == name
    assert len(key.split(":")) == 5


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "agent:main", "agent:main:a::b"])
def test_what_is_no_name_is_wrong_usage(name: str) -> None:
    with pytest.raises(UsageError):
        parse_session_key(name)
