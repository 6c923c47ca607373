"""Answers whose pieces are odd: half a sign here and half there, or no end at all."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.folding import ANSWER_CHARS_MAX
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.pairs import PairJoiner, joined
from hermes.providers.sse import ServerEvent

WHOM = EndpointLabel(name="p:m", url="http://x", key_hint="Set X")
FIRST, SECOND = "\ud83d", "\ude00"
FACE = "\N{GRINNING FACE}"
Kind = str
KINDS = ("text", "thought", "arguments")

NO_TOOLS = ModelRequest(system="", lines=())


def openai(kind: Kind, pieces: list[str]) -> list[dict[str, Any]]:
    def delta(piece: str) -> dict[str, Any]:
        if kind == "arguments":
            return {"tool_calls": [{"index": 0, "id": "c", "function": {"arguments": piece}}]}
        return {"content" if kind == "text" else "reasoning_content": piece}

    opened = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "write_file"}}]}
    begun = [opened] if kind == "arguments" else [{"content": "So: "}]
    deltas = [*begun, *map(delta, pieces)]
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]


def anthropic(kind: Kind, pieces: list[str]) -> list[dict[str, Any]]:
    types = {"text": "text", "thought": "thinking", "arguments": "tool_use"}
    keys = {"text": "text", "thought": "thinking", "arguments": "partial_json"}

    def start(index: int, type_: str) -> dict[str, Any]:
        block = {"type": type_, "name": "write_file"}
        return {"type": "content_block_start", "index": index, "content_block": block}

    def grow(index: int, key: str, piece: str) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": {key: piece}}

    return [
        *(start(0, "text"), grow(0, "text", "So: "), start(1, types[kind])),
        *(grow(1, keys[kind], piece) for piece in pieces),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]


PROTOCOLS = {"openai": (openai, OpenAIFold), "anthropic": (anthropic, AnthropicFold)}
protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


def folded(protocol: str, kind: Kind, pieces: list[str]) -> tuple[Answer, list[Glimpse]]:
    """The pieces as a server sends them: JSON with escapes, one event each."""
    events, make = PROTOCOLS[protocol]
    fold, seen = make(WHOM, NO_TOOLS), list[Glimpse]()
    for event in events(kind, pieces):
        seen += fold.take(ServerEvent("", json.dumps(event).encode()))
        if fold.finished:
            break
    return fold.answer("m"), seen


def read(kind: Kind, answer: Answer) -> str:
    if kind == "text":
        return answer.text.removeprefix("So: ")
    if kind == "thought":
        return "".join(thought.text for thought in answer.thoughts)
    return answer.calls[0].arguments


def shown(kind: Kind, seen: list[Glimpse]) -> str:
    wanted = TextDelta if kind == "text" else ThoughtDelta
    return "".join(one.text for one in seen if isinstance(one, wanted)).removeprefix("So: ")


@protocols
@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_cut_over_two_pieces_is_one_sign(protocol: str, kind: Kind) -> None:
    pieces = ["a ", FIRST, SECOND, f" b {FIRST}", f"{SECOND}{FIRST}", "", SECOND]
    answer, seen = folded(protocol, kind, pieces)
    assert read(kind, answer) == f"a {FACE} b {FACE}{FACE}"
    if kind != "arguments":
        assert shown(kind, seen) == f"a {FACE} b {FACE}{FACE}", "in what is seen meanwhile, too"


@protocols
@pytest.mark.parametrize("kind", KINDS)
def test_half_a_sign_without_its_other_half_costs_only_itself(protocol: str, kind: Kind) -> None:
    answer, _ = folded(protocol, kind, ["a", SECOND, "b", FIRST, "c", FIRST])
    told = read(kind, answer)
    assert [sign for sign in told if sign in "abc"] == ["a", "b", "c"]
    told.encode()  # nothing in it that cannot be stored


def test_halves_in_kept_reasoning_are_joined() -> None:
    fold = OpenAIFold(WHOM, NO_TOOLS)
    for text in (f"x {FIRST}", f"{SECOND} y"):
        details = [{"type": "reasoning.text", "index": 0, "text": text}]
        event = {"choices": [{"index": 0, "delta": {"reasoning_details": details}}]}
        fold.take(ServerEvent("", json.dumps(event).encode()))
    for event in openai("text", ["done"]):
        fold.take(ServerEvent("", json.dumps(event).encode()))
    (thought,) = fold.answer("m").thoughts
    assert thought.text == f"x {FACE} y"
    assert json.loads(thought.opaque)["reasoning_details"][0]["text"] == f"x {FACE} y"


@given(
    st.text(st.characters(exclude_categories=["Co", "Cs"]), max_size=40),
    st.lists(st.integers(0, 80), max_size=6),
)
def test_any_text_cut_anywhere_comes_out_whole(text: str, places: list[int]) -> None:
    units = [
        text.encode("utf-16-le")[n : n + 2].decode("utf-16-le", "surrogatepass")
        for n in range(0, 2 * (len(text.encode("utf-16-le")) // 2), 2)
    ]
    cuts = sorted({0, len(units), *(place for place in places if place < len(units))})
    pieces = ["".join(units[a:b]) for a, b in pairwise(cuts)]
    stand_ins = [
        "".join(chr(ord(c) - 0xD800 + 0x10F000) if "\ud800" <= c <= "\udfff" else c for c in piece)
        for piece in pieces
    ]
    joiner = PairJoiner()
    assert "".join([*map(joiner.feed, stand_ins), joiner.end()]) == text
    assert joined("".join(stand_ins)) == text


@protocols
def test_res_08_an_answer_without_an_end_is_cut_off_and_says_so(protocol: str) -> None:
    answer, seen = folded(protocol, "text", ["a" * 100_000] * 40)
    assert answer.text.endswith(
        "(This answer is longer than 1,000,000 characters. I cut it off here.)"
    )
    assert ANSWER_CHARS_MAX < len(answer.text) < ANSWER_CHARS_MAX + 100
    assert len(shown("text", seen)) <= ANSWER_CHARS_MAX + 100_000, "the rest is not even read"
    assert answer.finish == "stop"


def test_res_08_an_answer_in_one_piece_is_cut_off_likewise() -> None:
    long = "a" * 3_000_000
    said = {"choices": [{"message": {"content": long}, "finish_reason": "stop"}]}
    first = OpenAIFold(WHOM, NO_TOOLS)
    first.whole(json.dumps(said).encode())
    block = {"type": "text", "text": long}
    second = AnthropicFold(WHOM, NO_TOOLS)
    second.whole(json.dumps({"type": "message", "content": [block]}).encode())
    for fold in (first, second):
        assert len(fold.answer("m").text) < ANSWER_CHARS_MAX + 100


@protocols
def test_res_08_a_call_that_was_cut_off_is_not_taken_for_a_whole_one(protocol: str) -> None:
    answer, _ = folded(protocol, "arguments", ['{"text": "', *["a" * 100_000] * 40])
    assert answer.finish == "length"
    assert not answer.calls[0].arguments.endswith("}")
