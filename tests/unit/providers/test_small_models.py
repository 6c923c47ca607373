"""The profile for small models: who gets it, what they are told, and what they answer."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ids import CallId
from hermes.core.messages import Call, Line
from hermes.core.ports import ModelRequest
from hermes.providers.openai_render import render
from hermes.providers.pieces import Quirks
from hermes.providers.plan import planned
from hermes.providers.profile import is_small, parameters
from hermes.providers.settings import ProviderSettings
from hermes.providers.small_calls import small_reader
from tests.unit.providers.test_text_calls import TOOLS


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen2.5-coder:1.5b", 1.5),
        ("Qwen2.5-Coder-0.5B-Instruct-Q4_K_M", 0.5),
        ("llama3.2:3b", 3),
        ("smollm2:360m", 0.36),
        ("qwen3:30b-a3b", 30),
        ("gpt-5", None),
        ("mixtral-8x7b", None),
        ("phi4", None),
    ],
)
def test_a_name_tells_the_size_of_a_model(name: str, billions: float | None) -> None:
    assert parameters(name) == billions


@pytest.mark.parametrize(
    ("model", "small"),
    [
        (ProviderSettings(provider="ollama", name="qwen2.5-coder:1.5b"), True),
        (ProviderSettings(provider="ollama", name="qwen2.5-coder:7b"), False),
        (ProviderSettings(provider="ollama", name="mystery"), False),
        (ProviderSettings(provider="local", name="qwen2.5-coder-0.5b"), True),
        (ProviderSettings(provider="local"), True),
        (ProviderSettings(provider="local", name="qwen2.5-coder-7b"), False),
        (ProviderSettings(provider="openrouter", name="qwen/qwen3-4b"), False),
        (
            ProviderSettings(provider="custom", base_url="http://127.0.0.1:1/v1", name="x-3b"),
            True,
        ),
        (ProviderSettings(provider="custom", base_url="https://x.example/v1", name="x-3b"), False),
        (ProviderSettings(provider="openrouter", name="big", profile="small"), True),
        (ProviderSettings(provider="ollama", name="x:1b", profile="full"), False),
    ],
)
def test_small_local_models_get_the_profile_by_themselves(
    model: ProviderSettings, small: bool
) -> None:
    assert is_small(model) is small


def test_a_built_in_model_is_asked_in_its_profile(tmp_path: Path) -> None:
    for profile, calls in (("auto", "text"), ("full", "native")):
        settings = ProviderSettings(provider="local", profile=profile, weights=str(tmp_path))
        [plan] = planned(settings, {})
        assert plan.quirks.calls == calls


def test_history_is_written_as_the_model_would_have_written_it() -> None:
    call = Call(id=CallId("c1"), tool="read_file", arguments='{"path":"a"}')
    lines = (
        Line(role="user", text="What is in a?"),
        Line(role="assistant", calls=(call,)),
        Line(role="tool", text="1|x", call="c1"),
        Line(role="assistant", text="It says x."),
        Line(role="user", text="Thanks."),
    )
    request = ModelRequest(system="Be brief.", lines=lines, tools=TOOLS)
    body = json.loads(render(request, model="m", writer="w", quirks=Quirks(calls="text")))
    assert "tools" not in body
    assert [each["role"] for each in body["messages"]] == [
        "system",
        *["user", "assistant"] * 2,
        "user",
    ]
    said = [each["content"] for each in body["messages"]]
    assert json.loads(said[2]) == {"name": "read_file", "arguments": {"path": "a"}}
    assert said[3] == "Result of read_file: 1|x"
    assert json.loads(said[4]) == {"name": "answer", "arguments": {"text": "It says x."}}
    forms = body["response_format"]["json_schema"]["schema"]["anyOf"]
    names = [form["properties"]["name"]["const"] for form in forms]
    assert names == ["answer", *(tool.name for tool in TOOLS)]
    without = render(request, model="m", writer="w", quirks=Quirks(calls="text", grammar=False))
    assert "response_format" not in json.loads(without)


def read(text: str, size: int) -> tuple[str, str, list[str]]:
    """What was shown before the end, all text, and the tools that were called."""
    reader = small_reader(ModelRequest(system="", lines=(), tools=TOOLS))
    assert reader is not None
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = "".join(reader.feed(piece) for piece in pieces)
    found = reader.end(native=False)
    return shown, shown + found.text, [call.tool for call in found.calls]


@given(st.text(max_size=80), st.integers(1, 12), st.booleans())
def test_an_answer_is_streamed_whatever_is_in_it(text: str, size: int, ascii_only: bool) -> None:
    value = {"name": "answer", "arguments": {"text": text}}
    shown, whole, calls = read(json.dumps(value, ensure_ascii=ascii_only), size)
    assert (shown, whole, calls) == (text, text, [])


@pytest.mark.parametrize("size", [1, 4, 500])
def test_a_call_is_held_back_and_other_text_is_read_as_usual(size: int) -> None:
    call = json.dumps({"name": "read_file", "arguments": {"path": "a"}})
    assert read(call, size) == ("", "", ["read_file"])
    assert read("Just words.", size)[1:] == ("Just words.", [])
    assert read("", size) == ("", "", [])
    assert read('{"name": "answer", "arguments": {"text": "cut of', size)[1:] == ("cut of", [])
    other = '{"arguments": {"text": "turned"}, "name": "answer"}'
    assert read(other, 500)[1] == "turned"
    assert read(f"<tool_call>{call}</tool_call>", size)[1:] == ("", ["read_file"])
