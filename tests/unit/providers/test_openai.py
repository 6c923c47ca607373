"""OpenAI's protocol: what goes out, what comes in, and where servers differ."""

import base64
import json
import re
from typing import Any

import pytest

from hermes.core.errors import ProviderBusy, ProviderGarbled, ProviderRefused
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line, Media, Outcome, Thought, Usage
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.catalogue import ENTRIES
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.openai_render import render
from hermes.providers.pieces import IMAGE_BYTES_MAX, IMAGES_MAX, Quirks
from hermes.providers.sse import EventReader
from tests.unit.providers.recordings import (
    HELLO,
    OPENAI,
    OPENAI_CALLS,
    OPENAI_TEXT,
    OPENAI_USAGE,
    SPEC,
    calls,
    data,
    delta,
    piece,
)

WRITER = "p:m"
PNG = Media(digest="d1", media_type="image/png", name="cat.png")
CALL = Call(id=CallId("t1-1"), tool="terminal", arguments='{"command":"ls"}')
OTHER = Call(id=CallId("t1-2"), tool="read_file", arguments="{}")

NO_TOOLS = ModelRequest(system="", lines=())


def body_of(request: ModelRequest, quirks: Quirks | None = None) -> Any:
    return json.loads(render(request, model="m", writer=WRITER, quirks=quirks or Quirks()))


def messages(*lines: Line, quirks: Quirks | None = None, blobs: Any = None) -> Any:
    return body_of(ModelRequest(system="", lines=lines, blobs=blobs or {}), quirks)["messages"]


def folded(*values: object) -> tuple[Answer, list[Glimpse]]:
    fold = OpenAIFold(EndpointLabel(name=WRITER, url="u", key_hint="k"), NO_TOOLS)
    seen: list[Glimpse] = []
    body = values[0] if isinstance(values[0], bytes) else data(*values, "[DONE]")
    for event in EventReader().feed(body):
        seen += fold.take(event)
    return fold.answer(WRITER), seen


ASKED = Line(role="user", text="go")
CALLED = Line(
    role="assistant",
    text="I look.",
    calls=(CALL, OTHER),
    thoughts=(Thought(text="hm"),),
    model=WRITER,
)
RESULTS = (
    Line(role="tool", text="a b", call=CALL.id, outcome=Outcome.OK),
    Line(role="tool", text="", call=OTHER.id, outcome=Outcome.FAILED),
)


def test_a_request_has_system_tools_lines_and_asks_for_a_stream_with_counts() -> None:
    body = body_of(HELLO)
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]
    assert body["tools"][0]["function"]["parameters"] == json.loads(SPEC.parameters)
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert "max_tokens" not in body


def test_calls_and_results_go_out_under_our_ids() -> None:
    _, assistant, first, second = messages(ASKED, CALLED, *RESULTS)
    assert assistant["content"] == "I look."
    assert [call["id"] for call in assistant["tool_calls"]] == ["t1-1", "t1-2"]
    assert assistant["tool_calls"][0]["function"] == {
        "name": "terminal",
        "arguments": '{"command":"ls"}',
    }
    assert first == {"role": "tool", "tool_call_id": "t1-1", "content": "a b"}
    assert second == {"role": "tool", "tool_call_id": "t1-2", "content": "(no output)"}


def test_an_output_limit_goes_under_the_name_that_the_server_knows() -> None:
    request = ModelRequest(system="", lines=(ASKED,), output_tokens_max=77)
    assert body_of(request)["max_tokens"] == 77
    assert body_of(request, ENTRIES["openai"].quirks)["max_completion_tokens"] == 77


def test_mistral_gets_ids_of_nine_letters_and_digits_that_match() -> None:
    quirks = ENTRIES["mistral"].quirks
    _, assistant, first, second = messages(ASKED, CALLED, *RESULTS, quirks=quirks)
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9]{9}", one) for one in ids)
    assert messages(ASKED, CALLED, quirks=quirks)[1]["tool_calls"][0]["id"] == ids[0]
    assert "stream_options" not in body_of(HELLO, quirks)


def test_a_name_that_a_server_would_refuse_for_ever_is_made_harmless() -> None:
    odd = [Call(id=CallId(f"t-{n}"), tool=t) for n, t in enumerate(["a b!", "", "x" * 200])]
    sent = messages(ASKED, Line(role="assistant", calls=tuple(odd)))[1]["tool_calls"]
    assert [call["function"]["name"] for call in sent] == ["a_b_", "unnamed", "x" * 64]


def test_an_image_goes_in_as_a_data_url() -> None:
    line = Line(role="user", text="look", media=(PNG,))
    (message,) = messages(line, blobs={"d1": b"\x89PNG"})
    encoded = base64.b64encode(b"\x89PNG").decode()
    assert message["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{encoded}"}},
    ]


@pytest.mark.parametrize(
    ("media", "blobs", "words"),
    [
        (PNG, {}, "no longer stored"),
        (PNG, {"d1": b"x" * (IMAGE_BYTES_MAX + 1)}, "larger than 5 MB"),
        (Media(digest="d1", media_type="application/pdf"), {"d1": b"x"}, "not an image"),
    ],
)
def test_what_cannot_be_shown_is_named_in_its_place(
    media: Media, blobs: dict[str, bytes], words: str
) -> None:
    (message,) = messages(Line(role="user", text="look", media=(media,)), blobs=blobs)
    assert words in message["content"][1]["text"]


def test_of_many_images_the_newest_are_shown() -> None:
    media = [Media(digest=f"d{n}", media_type="image/png") for n in range(IMAGES_MAX + 3)]
    blobs = {one.digest: b"x" for one in media}
    sent = messages(*(Line(role="user", text="i", media=(one,)) for one in media), blobs=blobs)
    kinds = [message["content"][1]["type"] for message in sent]
    assert kinds == ["text"] * 3 + ["image_url"] * IMAGES_MAX


def test_cache_marks_go_to_claude_behind_openrouter_only() -> None:
    openrouter = ENTRIES["openrouter"]
    lines = (ASKED, CALLED, *RESULTS)
    request = ModelRequest(system="Be brief.", lines=lines)
    marked = body_of(request, openrouter.quirks_of("anthropic/claude-opus-4"))["messages"]
    mark = {"type": "ephemeral"}
    assert marked[0]["content"] == [{"type": "text", "text": "Be brief.", "cache_control": mark}]
    assert marked[1]["content"] == [{"type": "text", "text": "go", "cache_control": mark}]
    assert marked[-1]["content"][0]["cache_control"] == mark
    assert marked[2]["content"] == "I look."
    assert "cache_control" not in json.dumps(body_of(request, openrouter.quirks_of("openai/gpt")))


def test_settings_of_a_person_go_into_the_body() -> None:
    assert body_of(HELLO, Quirks(body={"temperature": 0.5}))["temperature"] == 0.5


# ── reasoning ───────────────────────────────────────────────────────────────────────────────────

LATER = (
    ASKED,
    CALLED,
    *RESULTS,
    Line(role="assistant", text="done", thoughts=(Thought(text="ok"),), model=WRITER),
    Line(role="user", text="and?"),
    Line(role="assistant", text="no call", thoughts=(Thought(text="idle"),), model=WRITER),
    Line(role="user", text="bye"),
)


def test_reasoning_is_not_passed_back_unless_the_server_wants_it() -> None:
    assert "reasoning" not in json.dumps(messages(*LATER))


@pytest.mark.parametrize("provider", ["deepseek", "kimi", "zai", "xiaomi"])
def test_reasoning_goes_back_in_the_turns_that_called_tools(provider: str) -> None:
    sent = messages(*LATER, quirks=ENTRIES[provider].quirks)
    given = [m.get("reasoning_content") for m in sent if m["role"] == "assistant"]
    assert given == ["hm", "ok", None]


def test_a_call_that_another_model_made_gets_blank_reasoning_where_it_must_have_some() -> None:
    foreign = Line(
        role="assistant", calls=(CALL,), thoughts=(Thought(text="x"),), model="other:model"
    )
    sent = messages(ASKED, foreign, quirks=ENTRIES["deepseek"].quirks)
    assert sent[1]["reasoning_content"] == ""
    done = Line(role="assistant", text="done", model="other:model")
    sent = messages(ASKED, foreign, RESULTS[0], done, quirks=ENTRIES["deepseek"].quirks)
    assert "reasoning_content" not in sent[3]
    assert sent[1]["content"] is None
    assert "reasoning_content" not in messages(ASKED, foreign, quirks=ENTRIES["zai"].quirks)[1]


def test_reasoning_details_make_the_round_trip_in_the_shape_they_came() -> None:
    answer, seen = folded(
        delta({"reasoning": "He", "reasoning_details": [detail(0, text="He")]}),
        delta({"reasoning": "llo", "reasoning_details": [detail(0, text="llo")]}),
        delta({"reasoning_details": [detail(0, signature="sig", text=None)]}),
        delta({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 1}]}),
        delta({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 1}]}),
        delta({"content": "hi"}, finish="stop"),
    )
    assert seen == [ThoughtDelta("He"), ThoughtDelta("llo"), TextDelta("hi")]
    assert [thought.text for thought in answer.thoughts] == ["Hello"]
    line = Line(role="assistant", text="hi", thoughts=answer.thoughts, model=WRITER)
    sent = messages(ASKED, line, quirks=ENTRIES["openrouter"].quirks)
    assert sent[1]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Hello", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "x", "index": 1},
        {"type": "reasoning.encrypted", "data": "y", "index": 1},
    ]
    elsewhere = Line(role="assistant", text="hi", thoughts=answer.thoughts, model="other:m")
    assert (
        "reasoning_details"
        not in messages(ASKED, elsewhere, quirks=ENTRIES["openrouter"].quirks)[1]
    )


def detail(index: int, **more: object) -> dict[str, object]:
    return {"type": "reasoning.text", "index": index, **more}


def test_google_gets_the_signature_of_each_call_back() -> None:
    signed = {"google": {"thought_signature": "abc"}}
    answer, _ = folded(
        calls({**piece(0, "{}", id="a", name="terminal"), "extra_content": signed}),
        calls(piece(1, "{}", id="b", name="terminal")),
        delta({}, finish="tool_calls"),
    )
    line = Line(role="assistant", calls=(CALL, OTHER), thoughts=answer.thoughts, model=WRITER)
    quirks = ENTRIES["google"].quirks_of("gemini-3-pro")
    sent = messages(ASKED, line, quirks=quirks)[1]["tool_calls"]
    assert [call.get("extra_content") for call in sent] == [signed, None]
    foreign = Line(role="assistant", calls=(CALL, OTHER), model="other:m")
    blank = messages(ASKED, foreign, quirks=quirks)[1]["tool_calls"]
    skip = "skip_thought_signature_validator"
    assert blank[0]["extra_content"]["google"]["thought_signature"] == skip
    assert "extra_content" not in blank[1]
    older = ENTRIES["google"].quirks_of("gemini-2.5-flash")
    assert "extra_content" not in messages(ASKED, foreign, quirks=older)[1]["tool_calls"][0]


def test_thinking_in_parts_of_the_content_is_kept_apart() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    answer, _ = folded(
        delta({"content": [thinking]}),
        delta({"content": [{"type": "text", "text": "hi"}]}),
        delta({"content": "!"}, finish="stop"),
    )
    assert (answer.text, answer.thoughts) == ("hi!", (Thought(text="hm"),))


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def test_several_calls_whose_pieces_are_mixed_come_out_whole() -> None:
    answer, seen = folded(OPENAI)
    assert answer == Answer(
        text=OPENAI_TEXT,
        calls=OPENAI_CALLS,
        thoughts=(Thought(text="Two things."),),
        usage=OPENAI_USAGE,
        model=WRITER,
        finish="calls",
    )
    assert "".join(one.text for one in seen if isinstance(one, TextDelta)) == OPENAI_TEXT


@pytest.mark.parametrize(
    "pieces",
    [
        [piece(0, '{"a":1}', id="x", name="t"), piece(0, '{"b":2}', id="y", name="u")],
        [piece(0, '{"a":1}', name="t"), piece(0, '{"b":2}', name="u")],
        [
            {"function": {"name": "t", "arguments": '{"a":1}'}},
            {"function": {"name": "u", "arguments": '{"b":2}'}},
        ],
        [
            {"id": "x", "function": {"name": "t", "arguments": '{"a'}},
            {"id": "x", "function": {"arguments": '":1}'}},
            {"id": "y", "function": {"name": "u", "arguments": {"b": 2}}},
        ],
        [
            piece(0, '{"a"', id="x", name="t"),
            piece(0, ":1}", id="x", name="t"),
            piece(1, '{"b":2}', id="y", name="u"),
        ],
    ],
)
def test_servers_that_number_their_calls_badly_are_understood(pieces: list[Any]) -> None:
    answer, _ = folded(*(calls(one) for one in pieces), delta({}, finish="stop"))
    assert answer.calls == (RawCall("t", '{"a":1}'), RawCall("u", '{"b":2}'))
    assert answer.finish == "calls"


def test_two_calls_without_arguments_under_one_index_are_two() -> None:
    pieces = [piece(0, "", id="x", name="t"), piece(0, "", id="y", name="u")]
    answer, _ = folded(*(calls(one) for one in pieces), delta({}, finish="tool_calls"))
    assert answer.calls == (RawCall("t", ""), RawCall("u", ""))


def test_a_bad_call_goes_out_as_the_model_wrote_it() -> None:
    answer, _ = folded(calls(piece(0, "{not json", name="no such")), delta({}, finish="tool_calls"))
    assert answer.calls == (RawCall("no such", "{not json"),)


def test_a_call_of_which_nothing_came_before_the_limit_is_not_one_without_arguments() -> None:
    whole = piece(0, "", id="x", name="t")
    cut = piece(1, "", id="y", name="u")
    answer, _ = folded(calls(whole), calls(cut), delta({}, finish="length"))
    assert answer.calls == (RawCall("t", ""), RawCall("u", "{"))
    assert answer.finish == "length"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filtered"), ("eos", "stop")],
)
def test_each_finish_reason_is_understood(reason: str, finish: str) -> None:
    assert folded(delta({"content": "x"}, finish=reason))[0].finish == finish


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([delta({"content": "half"})], ProviderGarbled),
        ([delta({}, finish="stop")], ProviderGarbled),
        ([delta({"content": " \n"}, finish="stop")], ProviderGarbled),
        ([delta({"reasoning_content": "hm"}, finish="stop")], ProviderGarbled),
        ([delta({}, finish="tool_calls")], ProviderGarbled),
        ([delta({"reasoning_content": "hm"}, finish="length")], ProviderRefused),
        ([delta({}, finish="content_filter")], ProviderRefused),
        ([delta({"content": "x"}, finish="error")], ProviderBusy),
        ([delta({"content": "x"}, finish="insufficient_system_resource")], ProviderBusy),
        ([delta({"content": 5})], ProviderGarbled),
        (["not json"], ProviderGarbled),
        ([{"choices": [{"delta": {"tool_calls": {}}}]}], ProviderGarbled),
    ],
)
def test_what_is_no_answer_is_an_error(chunks: list[object], kind: type[Exception]) -> None:
    with pytest.raises(kind) as told:
        folded(*chunks)
    assert type(told.value) is kind


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        (None, Usage()),
        ({"prompt_tokens": "many"}, Usage()),
        ({"prompt_tokens": -5, "completion_tokens": 3.0}, Usage(output=3)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(input=9, cached=4)),
        ({"prompt_tokens": 10**30}, Usage(input=10**9)),
        ({"prompt_tokens": 1, "cost": 0}, Usage(input=1, cost=0.0)),
    ],
)
def test_counts_are_taken_as_far_as_they_can_be_read(usage: object, known: Usage) -> None:
    answer, _ = folded(delta({"content": "x"}, finish="stop"), {"choices": [], "usage": usage})
    assert answer.usage == known


def test_a_refusal_is_the_answer() -> None:
    assert folded(delta({"refusal": "I will not."}, finish="stop"))[0].text == "I will not."
