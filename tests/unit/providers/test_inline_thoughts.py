"""Thoughts between tags, in pieces of every size."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.signals import Retrying, TextDelta, ThoughtDelta
from hermes.providers.inline_thoughts import ThoughtSplitter, begins_with_thought


def split(text: str, size: int, *, begun: bool = False) -> tuple[str, str, bool]:
    """Thought, text, and whether the thought was left open."""
    splitter = ThoughtSplitter(begun=begun)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    glimpses = [one for piece in pieces for one in splitter.feed(piece)]
    glimpses += splitter.end()
    thought = "".join(one.text for one in glimpses if isinstance(one, ThoughtDelta))
    void = [at for at, one in enumerate(glimpses) if isinstance(one, Retrying)]
    valid = glimpses[void[-1] :] if void else glimpses
    talk = "".join(one.text for one in valid if isinstance(one, TextDelta))
    return thought, talk, bool(splitter.unclosed)


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
        ("I think.\n</think>\n\nhi", ("I think.\n", "hi", False)),
        ("I think.</think>hi", ("I think.", "hi", False)),
        ("I think.</think>", ("I think.", "", False)),
        ("one\n<think>hm</think>\ntwo", ("hm", "one\ntwo", False)),
        ("<think>a</think>\n<think>b</think>\nc", ("ab", "c", False)),
        ("one\n  <think>hm</think>two", ("hm", "one\n  two", False)),
    ],
)
def test_tags_divide_thought_from_text(text: str, expected: tuple[str, str, bool]) -> None:
    for size in range(1, len(text) + 2):
        assert split(text, size) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Close it with </think> and go on.",
        "Write `</think>` at the end.",
        "The tag is </think>.",
        "The tag “</think>” closes it.",
        "Between <think> and </think>\nit thinks.",
        "```\nfoo\n</think>\n<think>x</think>\n```\nThat is the log.",
        "> <think>\n> quoted\n> </think>\n\nYou wrote this.",
        "one\n\n    <think>code</think>",
    ],
)
def test_text_about_the_tags_stays_text(text: str) -> None:
    for size in range(1, len(text) + 2):
        assert split(text, size) == ("", text, False)


def test_a_model_that_is_known_to_think_first_shows_nothing_of_it() -> None:
    assert begins_with_thought("ollama:deepseek-r1:8b")
    assert begins_with_thought("vllm:Qwen/QwQ-32B")
    assert not begins_with_thought("custom:qwen2.5-coder")
    for size in (1, 5, 99):
        assert split("a b\n</think>\n\nhi", size, begun=True) == ("a b\n", "hi", False)
        assert split("<think>a b</think>hi", size, begun=True) == ("a b", "hi", False)
    splitter = ThoughtSplitter(begun=True)
    splitter.expect_answer()
    assert splitter.feed("hi") == [TextDelta("hi")]


@given(st.text(alphabet="<think>/ x\n`", max_size=60), st.integers(1, 9))
def test_nothing_is_lost_but_tags_and_the_space_around_them(text: str, size: int) -> None:
    thought, talk, _ = split(text, size)
    assert split(text, len(text) + 1) == (thought, talk, split(text, size)[2])
    plain = Counter("".join(re.sub("</?think>", "", text).split()))
    kept = Counter("".join(re.sub("</?think>", "", thought + talk).split()))
    assert kept == plain
