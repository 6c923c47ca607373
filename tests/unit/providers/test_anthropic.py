"""Anthropic's protocol: what goes out and what comes in."""

import base64
import json
from typing import Any

import pytest

from hermes.core.errors import ContextOverflow, ProviderGarbled, ProviderRefused
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line, Media, Outcome, Thought
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.anthropic_render import OUTPUT_TOKENS_DEFAULT, render
from hermes.providers.catalogue import ENTRIES
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.pieces import Quirks
from hermes.providers.sse import EventReader
from tests.unit.providers.recordings import (
    ANTHROPIC,
    ANTHROPIC_USAGE,
    HELLO,
    OPENAI_CALLS,
    OPENAI_TEXT,
    SPEC,
    THINKING,
    block,
    events,
    message,
)

WRITER = "anthropic:claude"
PNG = Media(digest="d1", media_type="image/png", name="cat.png")
ONE = Call(id=CallId("t1-1"), tool="terminal", arguments='{"command": "ls"}')
TWO = Call(id=CallId("t1-2"), tool="terminal", arguments="{}")
ASKED = Line(role="user", text="go")
MARK = {"cache_control": {"type": "ephemeral"}}

NO_TOOLS = ModelRequest(system="", lines=())


def body_of(request: ModelRequest, quirks: Quirks | None = None) -> Any:
    return json.loads(render(request, model="claude", writer=WRITER, quirks=quirks or Quirks()))


def messages(*lines: Line, blobs: dict[str, bytes] | None = None) -> Any:
    return body_of(ModelRequest(system="", lines=lines, blobs=blobs or {}))["messages"]


def folded(body: bytes) -> tuple[Answer, list[Glimpse]]:
    fold = AnthropicFold(EndpointLabel(name=WRITER, url="u", key_hint="k"), NO_TOOLS)
    seen = [glimpse for event in EventReader().feed(body) for glimpse in fold.take(event)]
    return fold.answer(WRITER), seen


def test_a_request_has_system_tools_lines_and_a_limit() -> None:
    body = body_of(HELLO)
    assert body["system"] == [{"type": "text", "text": "Be brief."}]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    assert body["tools"][0]["input_schema"] == json.loads(SPEC.parameters)
    assert (body["stream"], body["max_tokens"]) == (True, OUTPUT_TOKENS_DEFAULT)
    limited = ModelRequest(system="", lines=(ASKED,), output_tokens_max=9)
    assert body_of(limited)["max_tokens"] == 9


def test_results_and_the_next_words_of_a_person_are_one_message() -> None:
    called = Line(role="assistant", text="I look.", calls=(ONE, TWO), model=WRITER)
    sent = messages(
        ASKED,
        called,
        Line(role="tool", text="a b", call=ONE.id, outcome=Outcome.OK),
        Line(role="tool", text="", call=TWO.id, outcome=Outcome.OK),
        Line(role="user", text="and now?"),
    )
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1-1", "name": "terminal", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "t1-2", "name": "terminal", "input": {}},
    ]
    first, second, words = sent[2]["content"]
    assert (first["tool_use_id"], first["content"][0]["text"]) == ("t1-1", "a b")
    assert second["content"][0]["text"] == "(no output)"
    assert words == {"type": "text", "text": "and now?"}


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_result_says_whether_it_is_an_error(outcome: Outcome) -> None:
    called = Line(role="assistant", calls=(ONE,))
    result = Line(role="tool", text="x", call=ONE.id, outcome=outcome)
    told = messages(ASKED, called, result)[2]["content"][0].get("is_error", False)
    assert told is (outcome is not Outcome.OK)


def test_an_image_goes_in_as_base64_also_in_a_result() -> None:
    encoded = base64.b64encode(b"\x89PNG").decode()
    shown = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": encoded},
    }
    result = Line(role="tool", text="x", call=ONE.id, media=(PNG,))
    lines = (
        Line(role="user", media=(PNG,)),
        Line(role="assistant", calls=(ONE,)),
        result,
    )
    sent = messages(*lines, blobs={"d1": b"\x89PNG"})
    assert sent[0]["content"] == [shown]
    assert sent[2]["content"][0]["content"][1] == shown
    assert "no longer stored" in messages(lines[0])[0]["content"][0]["text"]


def test_cache_marks_stand_behind_system_tools_and_the_last_block() -> None:
    called = Line(role="assistant", calls=(ONE,))
    result = Line(role="tool", text="x", call=ONE.id)
    request = ModelRequest(system="Be brief.", lines=(ASKED, called, result), tools=(SPEC, SPEC))
    body = body_of(request, ENTRIES["anthropic"].quirks)
    assert body["system"][-1].items() >= MARK.items()
    assert [("cache_control" in tool) for tool in body["tools"]] == [False, True]
    assert body["messages"][-1]["content"][-1].items() >= MARK.items()
    assert json.dumps(body).count("cache_control") == 3
    assert "cache_control" not in json.dumps(body_of(request, Quirks()))


def test_thinking_goes_back_byte_for_byte_with_the_calls_it_led_to() -> None:
    answer, _ = folded(ANTHROPIC)
    line = Line(role="assistant", calls=(ONE,), thoughts=answer.thoughts, model=WRITER)
    raw = render(
        ModelRequest(system="", lines=(ASKED, line)), model="claude", writer=WRITER, quirks=Quirks()
    )
    for thought in answer.thoughts:
        assert thought.opaque.encode() in raw
    assert json.loads(raw)["messages"][1]["content"][:2] == [
        {"type": "thinking", "thinking": "Two things.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZW5j"},
    ]


def test_thinking_of_another_model_and_of_a_line_without_calls_stays_here() -> None:
    thought = Thought(text="x", opaque='{"type":"thinking","thinking":"x","signature":"s"}')
    elsewhere = Thought(text="x", opaque='{"reasoning_details":[]}')
    lines = (
        ASKED,
        Line(role="assistant", calls=(ONE,), thoughts=(thought,), model="anthropic:older"),
        Line(role="tool", text="x", call=ONE.id),
        Line(role="assistant", text="done", thoughts=(thought,), model=WRITER),
        ASKED,
        Line(role="assistant", calls=(TWO,), thoughts=(elsewhere,), model=WRITER),
    )
    kinds = [one["type"] for m in messages(*lines) for one in m["content"]]
    assert "thinking" not in kinds
    assert kinds.count("tool_use") == 2


# ── answers ─────────────────────────────────────────────────────────────────────────────────────


def test_thinking_text_and_several_calls_come_out_whole() -> None:
    answer, seen = folded(ANTHROPIC)
    assert (answer.text, answer.calls, answer.finish) == (OPENAI_TEXT, OPENAI_CALLS, "calls")
    assert [thought.text for thought in answer.thoughts] == ["Two things.", ""]
    assert answer.usage == ANTHROPIC_USAGE
    assert "".join(one.text for one in seen if isinstance(one, TextDelta)) == OPENAI_TEXT
    assert "".join(one.text for one in seen if isinstance(one, ThoughtDelta)) == "Two things."


def test_input_that_comes_with_the_start_of_a_block_is_read() -> None:
    start = {"type": "tool_use", "id": "u", "name": "t", "input": {"a": 1}}
    answer, _ = folded(message(block(0, start), "tool_use"))
    assert [json.loads(call.arguments) for call in answer.calls] == [{"a": 1}]


def test_a_call_without_arguments_is_one_unless_the_limit_cut_it() -> None:
    start = {"type": "tool_use", "id": "u", "name": "t", "input": {}}
    assert folded(message(block(0, start), "tool_use"))[0].calls == (RawCall("t", ""),)
    assert folded(message(block(0, start), "max_tokens"))[0].calls == (RawCall("t", "{"),)


TEXT = block(0, {"type": "text", "text": "hi"})


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("refusal", "filtered"),
        ("tool_use", "stop"),
        ("model_context_window_exceeded", "length"),
    ],
)
def test_each_stop_reason_is_understood(reason: str, finish: str) -> None:
    assert folded(message(TEXT, reason))[0].finish == finish


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (message([], "end_turn"), ProviderGarbled),
        (message(block(0, THINKING), "end_turn"), ProviderGarbled),
        (message([], "max_tokens"), ProviderRefused),
        (message([], "refusal"), ProviderRefused),
        (message([], "model_context_window_exceeded"), ContextOverflow),
        (message(TEXT, "end_turn").replace(b"message_stop", b"message_stay"), ProviderGarbled),
        (events(*TEXT, {"type": "message_stop"}), ProviderGarbled),
        (events({"type": "content_block_delta", "index": 7, "delta": {}}), ProviderGarbled),
        (events({"type": "content_block_start", "index": "x"}), ProviderGarbled),
        (b"data: []\n\n", ProviderGarbled),
    ],
)
def test_what_is_no_answer_is_an_error(body: bytes, kind: type[Exception]) -> None:
    with pytest.raises(kind) as told:
        folded(body)
    assert type(told.value) is kind


def test_blocks_and_events_of_the_future_are_passed_over() -> None:
    start = {"type": "server_tool_use", "id": "s", "name": "web"}
    unknown = block(5, start, {"type": "new_delta", "partial_json": "{}"})
    body = message([*unknown, {"type": "weather", "text": "x"}, *TEXT], "end_turn")
    assert folded(body)[0].text == "hi"
