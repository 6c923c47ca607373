"""Answers in the shapes that real servers send, and what they mean."""

import json
from collections.abc import Mapping, Sequence

from hermes.core.messages import Line, Usage
from hermes.core.ports import ModelRequest, RawCall, ToolSpec

Event = dict[str, object]

KEY = "sk-very-secret-0123456789"

SPEC = ToolSpec(
    name="terminal",
    description="Run a command.",
    parameters='{"type":"object","properties":{"command":{"type":"string"}}}',
)
HELLO = ModelRequest(system="Be brief.", lines=(Line(role="user", text="hello"),), tools=(SPEC,))


def data(*values: object) -> bytes:
    """OpenAI's events: data only, and a last word."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def delta(content: Mapping[str, object], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": content, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}


def calls(*pieces: Mapping[str, object]) -> dict[str, object]:
    return delta({"tool_calls": list(pieces)})


def piece(index: int, arguments: str, **more: str) -> dict[str, object]:
    named = {key: value for key, value in more.items() if key == "name"}
    given = {key: value for key, value in more.items() if key != "name"}
    return {"index": index, "function": {"arguments": arguments, **named}, **given}


OPENAI = data(
    delta({"role": "assistant", "content": ""}),
    delta({"reasoning_content": "Two "}),
    delta({"reasoning_content": "things."}),
    delta({"content": "I look"}),
    delta({"content": " at b💥th."}),
    calls(piece(0, "", id="x1", name="terminal")),
    calls(piece(1, "", id="x2", name="read_file")),
    calls(piece(0, '{"com')),
    calls(piece(1, '{"path": "/a')),
    calls(piece(0, 'mand": "ls"}'), piece(1, '"}')),
    delta({}, finish="tool_calls"),
    {
        "choices": [],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 5},
            "cost": 0.0125,
        },
    },
    "[DONE]",
)
OPENAI_CALLS = (RawCall("terminal", '{"command": "ls"}'), RawCall("read_file", '{"path": "/a"}'))
OPENAI_TEXT = "I look at b💥th."
OPENAI_USAGE = Usage(input=100, output=20, cached=64, cache_written=8, reasoning=5, cost=0.0125)

OPENAI_SHORT = data(
    delta({"content": "hé"}),
    calls(piece(0, '{"a":1}', id="x", name="t")),
    delta({}, finish="tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    "[DONE]",
)


def events(*values: Mapping[str, object]) -> bytes:
    """Anthropic's events: each with its name."""
    return "".join(f"event: {v['type']}\ndata: {json.dumps(v)}\n\n" for v in values).encode()


def block(index: int, start: Mapping[str, object], *deltas: Mapping[str, object]) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": one} for one in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def message(blocks: Sequence[Mapping[str, object]], stop: str, output: int = 20) -> bytes:
    usage = {
        "input_tokens": 28,
        "output_tokens": 1,
        "cache_read_input_tokens": 64,
        "cache_creation_input_tokens": 8,
    }
    return events(
        {"type": "message_start", "message": {"id": "m1", "content": [], "usage": usage}},
        {"type": "ping"},
        *blocks,
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": output},
        },
        {"type": "message_stop"},
    )


THINKING = {"type": "thinking", "thinking": "", "signature": ""}
ANTHROPIC = message(
    [
        *block(
            0,
            THINKING,
            {"type": "thinking_delta", "thinking": "Two "},
            {"type": "thinking_delta", "thinking": "things."},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "ZW5j"}),
        *block(
            2,
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": "I look"},
            {"type": "text_delta", "text": " at b💥th."},
        ),
        *block(
            3,
            {"type": "tool_use", "id": "u1", "name": "terminal", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"command": '},
            {"type": "input_json_delta", "partial_json": '"ls"}'},
        ),
        *block(
            4,
            {"type": "tool_use", "id": "u2", "name": "read_file", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"path": "/a"}'},
        ),
    ],
    "tool_use",
)
ANTHROPIC_USAGE = Usage(input=100, output=20, cached=64, cache_written=8)
ANTHROPIC_SHORT = events(
    {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hé"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)
