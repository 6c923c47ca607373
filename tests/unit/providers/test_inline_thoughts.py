"""Thoughts between tags, in pieces of every size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.signals import TextDelta, ThoughtDelta
from hermes.providers.inline_thoughts import ThoughtSplitter


def split(text: str, size: int) -> tuple[str, str, bool]:
    """Thought, text, and whether the thought was left open."""
    splitter = ThoughtSplitter()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    glimpses = [one for piece in pieces for one in splitter.feed(piece)]
    glimpses += splitter.end()
    thought = "".join(one.text for one in glimpses if isinstance(one, ThoughtDelta))
    talk = "".join(one.text for one in glimpses if isinstance(one, TextDelta))
    return thought, talk, splitter.unclosed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ("", "plain", False)),
        ("<think>hm</think>\n\nhi", ("hm", "hi", False)),
        ("\n <think>a < b </thin> c</think>hi </think>", ("a < b </thin> c", "hi </think>", False)),
        ("hi <think>no</think>", ("", "hi <think>no</think>", False)),
        ("<think>never closed", ("never closed", "", True)),
        ("<think>cut </thi", ("cut </thi", "", True)),
        ("<thin", ("", "<thin", False)),
        ("<", ("", "<", False)),
        ("  ", ("", "  ", False)),
        ("", ("", "", False)),
        ("<think></think>hi", ("", "hi", False)),
    ],
)
def test_tags_at_the_beginning_divide_thought_from_text(
    text: str, expected: tuple[str, str, bool]
) -> None:
    for size in range(1, len(text) + 2):
        assert split(text, size) == expected


@given(st.text(alphabet="<think>/ x\n", max_size=60), st.integers(1, 9))
def test_nothing_is_lost_but_tags_and_the_space_around_them(text: str, size: int) -> None:
    thought, talk, _ = split(text, size)
    assert split(text, len(text) + 1) == (thought, talk, split(text, size)[2])
    kept = "".join((thought + talk).split())
    assert kept in "".join(text.replace("<think>", "", 1).replace("</think>", "", 1).split()) or (
        kept == "".join(text.split())
    )
