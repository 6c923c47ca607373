"""Personalities: ours, the owner's, and what is wrong with a name."""

import pytest

from hermes.context.personalities import BUILT_IN, checked_default, chosen, personalities
from hermes.core.budget import tokens_of
from hermes.core.errors import Misconfigured


def test_an_own_one_is_added_or_takes_the_place_of_ours() -> None:
    known = personalities({"pirate": "Arr.", "butler": "Very well."})
    assert set(known) == {*BUILT_IN, "butler"}
    assert known["pirate"] == "Arr."


def test_ours_are_small_and_differ() -> None:
    assert len(BUILT_IN) >= 5
    assert len(set(BUILT_IN.values())) == len(BUILT_IN)
    assert all(tokens_of(text) <= 80 for text in BUILT_IN.values())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none", "x"),
        ("Two words", "x"),
        ("", "x"),
        ("UP", "x"),
        ("x" * 41, "x"),
        ("empty", " "),
        ("long", "x" * 4_001),
    ],
)
def test_a_wrong_one_is_named_with_its_fix(name: str, text: str) -> None:
    with pytest.raises(Misconfigured, match=f"agent.personalities.{name}"):
        personalities({name: text})


def test_the_chosen_one_comes_before_the_default() -> None:
    known = personalities({})
    assert chosen("", "", known) == ""
    assert chosen("", "warm", known) == known["warm"]
    assert chosen("pirate", "warm", known) == known["pirate"]
    assert chosen("none", "warm", known) == ""
    assert chosen("gone", "warm", known) == "", "what was chosen is gone from the settings"


def test_a_default_must_exist() -> None:
    known = personalities({"butler": "Very well."})
    assert checked_default("butler", known) == "butler"
    assert checked_default("", known) == ""
    assert checked_default("none", known) == "none"
    with pytest.raises(Misconfigured, match=r"Choose one of: concise, .*butler"):
        checked_default("butlr", known)
