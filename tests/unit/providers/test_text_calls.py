"""Calls that models write as text: every dialect is read, and prose about calls stays prose."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.messages import Line
from hermes.core.ports import Answer, ModelRequest, ToolSpec
from hermes.core.signals import Retrying, TextDelta
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.repair import repaired
from hermes.providers.sse import ServerEvent
from tests.tasks.dialects import DIALECTS
from tests.unit.providers.asking import asked
from tests.unit.providers.recordings import data, delta
from tests.unit.providers.servers import chunked

WHOM = EndpointLabel(name="custom:m", url="u", key_hint="k")


def spec(name: str, **types: str) -> ToolSpec:
    properties = {key: {"type": kind} for key, kind in types.items()}
    schema = {"type": "object", "properties": properties}
    return ToolSpec(name=name, description="", parameters=json.dumps(schema))


TOOLS = (
    spec("terminal", command="string", timeout="number", background="boolean"),
    spec("read_file", path="string", offset="integer", limit="integer"),
    spec("write_file", path="string", content="string"),
    spec("todo", todos="array"),
    spec("skills_list"),
)
KNOWN = {tool.name: tool for tool in TOOLS}


def request(*lines: Line, tools: Sequence[ToolSpec] = TOOLS) -> ModelRequest:
    return ModelRequest(system="", lines=(Line(role="user", text="go"), *lines), tools=tuple(tools))


def answered(
    text: str, asked: ModelRequest | None = None, size: int = 0, *, native: bool = False
) -> tuple[Answer, str]:
    """The answer, and all text that was streamed before its end."""
    fold = OpenAIFold(WHOM, asked or request())
    size = size or len(text) or 1
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    glimpses = []
    for piece in pieces:
        glimpses += fold.take(_event({"delta": {"content": piece}}))
    if native:
        call = {"index": 0, "id": "a", "function": {"name": "skills_list", "arguments": "{}"}}
        glimpses += fold.take(_event({"delta": {"tool_calls": [call]}}))
    glimpses += fold.take(_event({"delta": {}, "finish_reason": "stop"}))
    void = [at for at, one in enumerate(glimpses) if isinstance(one, Retrying)]
    valid = glimpses[void[-1] :] if void else glimpses
    shown = "".join(one.text for one in valid if isinstance(one, TextDelta))
    return fold.answer("m"), shown


def _event(choice: Mapping[str, Any]) -> ServerEvent:
    return ServerEvent("", json.dumps({"choices": [{"index": 0, **choice}]}).encode())


def calls_in(answer: Answer) -> list[tuple[str, Any]]:
    read = [repaired(call, KNOWN) for call in answer.calls]
    assert all(not fault for _, _, fault in read)
    return [(tool, json.loads(arguments)) for tool, arguments, _ in read]


ONE = [("terminal", {"command": "grep -n 'a b' *.py | head -5\necho \"done\" && ls <x >y"})]
TWO = [
    ("read_file", {"path": "notes/über uns.md", "limit": 5}),
    ("write_file", {"path": "a.py", "content": 'def f():\n    return {"a": [1, 2]}\n'}),
]
NESTED = [("todo", {"todos": [{"id": "1", "content": "x, y"}, {"id": "2", "content": "[z]"}]})]


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("calls", [ONE, TWO, NESTED], ids=["one", "two", "nested"])
def test_every_dialect_is_read_whatever_the_size_of_its_pieces(name: str, calls: Any) -> None:
    text = DIALECTS[name](calls)
    for size in (0, 1, 7):
        answer, shown = answered(text, size=size)
        assert calls_in(answer) == calls, text
        assert answer.finish == "calls"
        assert answer.text == shown.rstrip()
        assert "<" not in answer.text
        assert "{" not in answer.text


def test_without_tools_or_beside_a_native_call_text_stays_text() -> None:
    text = DIALECTS["hermes"](ONE)
    answer, shown = answered(text, request(tools=()))
    assert (answer.text, shown, answer.calls) == (text, text, ())
    answer, shown = answered(text, native=True)
    assert (answer.text, shown) == (text, text)
    assert [call.tool for call in answer.calls] == ["skills_list"]


@pytest.mark.parametrize("name", DIALECTS)
def test_an_unknown_tool_is_not_called(name: str) -> None:
    text = DIALECTS[name]([("launch_rocket", {"to": "the moon"})])
    answer, _ = answered(text)
    assert answer.calls == ()


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_that_was_cut_off_is_never_completed(name: str) -> None:
    whole = DIALECTS[name](TWO)
    inside = whole.index("return")
    answer, shown = answered(whole[:inside])
    assert answer.calls == ()
    assert shown.strip() == answer.text.strip()


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_tool_returned_is_never_a_call_when_it_is_repeated(name: str) -> None:
    text = DIALECTS[name](ONE)
    numbered = "\n".join(f"{n}|{line}" for n, line in enumerate(text.split("\n"), start=1))
    for said in (f"{text}\nthe end", f"0|first\n{numbered}"):
        answer, _ = answered(text, request(Line(role="tool", text=said, call="c")))
        assert answer.calls == ()


_FRAMES = (
    "A model of that family writes {} and waits.",
    "The tag looks like this: {}",
    "Here is an example of the format:\n\n{}",
    "For example:\n{}\nThen the server answers.",
    "It wrote:\n\n```\n{}\n```\n\nand nothing happened.",
    "```xml\n{}\n```\nThat is all.",
    "> {}\n\nYou wrote that; I did not run it.",
    "The log has `{}` in it.",
    "The line was “{}”.",
    'The line was "{}", I think.',
    "First:\n\n    {}\n\nAnd so on.",
    "Do not write ({}) yourself.",
)
_TALK = (
    "Use <tool_call> tags to call a tool.",
    "The token <|python_tag|> comes first, then JSON.",
    "[TOOL_CALLS] is what Mistral writes.",
    "`<invoke name=\"terminal\">` opens a call and `</invoke>` closes it.",
    "{\"name\": \"Bob\", \"arguments\": {\"age\": 5}}",
    "{\"name\": \"terminal\", \"kind\": \"desk\"}",
    "[read_file](docs/read_file.md) explains it.",
    "Action: none is needed.",
    ">>> print('hello')",
    "read_file reads a file; write_file writes one.",
    "terminal (the tool) runs commands.",
    "```json\n{\"name\": \"x\", \"version\": 1}\n```",
    "```python\nterminal(command='ls')\nprint('then this')\n```",
    "<tool_call>\n{\"name\": \"terminal\", \"arguments\": {\"command\": \"ls\"}\n</tool_call>",
    "<function=terminal>\n<parameter=command>ls\n</function>",
)  # fmt: skip


_PURE = [name for name, writer in DIALECTS.items() if not writer(ONE)[0].isalpha()]


@pytest.mark.parametrize("name", _PURE)
@pytest.mark.parametrize("frame", _FRAMES)
def test_prose_that_shows_a_call_makes_none(frame: str, name: str) -> None:
    block = DIALECTS[name]([("terminal", {"command": "rm -r build"})])
    margin = frame[: frame.index("{")].rpartition("\n")[2]
    if not margin.strip("> "):
        block = block.replace("\n", f"\n{margin}")  # each line of a quotation is quoted
    text = frame.format(block)
    if "```" in block and "```" in frame:
        return  # a fence in a fence is two fences
    for size in (0, 3):
        answer, shown = answered(text, size=size)
        assert answer.calls == (), text
        assert answer.text == shown == text


@pytest.mark.parametrize("text", _TALK)
def test_talk_about_calls_is_shown_as_it_is(text: str) -> None:
    for size in (0, 1):
        answer, shown = answered(text, size=size)
        assert (answer.text, shown, answer.calls) == (text, text, ())


words = st.lists(
    st.sampled_from([*_TALK, "Yes.", "So, ", "\n", "- one\n", "tool call "]), max_size=6
)


@settings(max_examples=60, deadline=None)
@given(words, st.integers(1, 9))
def test_ordinary_text_is_never_changed_and_never_called(parts: list[str], size: int) -> None:
    text = "So: " + " ".join(parts) + " That is how it works."
    answer, shown = answered(text, size=size)
    assert (answer.text, shown, answer.calls) == (text, text, ())


_BLOCKS = [writer([("terminal", {"command": "ls"})]) for writer in DIALECTS.values()]
_WORDS = sorted({word for block in _BLOCKS for word in re.findall(r"<[^>]*>|\w+|\W", block)})


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 9))
def test_an_answer_means_the_same_in_pieces_of_every_size(draw: st.DataObject, size: int) -> None:
    block = draw.draw(st.sampled_from(_BLOCKS))
    at = draw.draw(st.integers(0, len(block)))
    words = draw.draw(st.lists(st.sampled_from([*_WORDS, "```", "\n\n", "> "]), max_size=3))
    text = f"x{block[:at]}{''.join(words)}{block[at:]}"[draw.draw(st.integers(0, 1)) :]
    whole, shown = answered(text)
    pieces, streamed = answered(text, size=size)
    assert (whole.text, whole.calls) == (pieces.text, pieces.calls)
    if not whole.calls and "think" not in text:
        assert whole.text == shown == streamed == text.removeprefix(">>>all\n")


def test_prose_is_streamed_and_the_call_is_held_back() -> None:
    fold = OpenAIFold(WHOM, request())
    first = fold.take(_event({"delta": {"content": "Let me look.\n"}}))
    assert first == [TextDelta("Let me look.\n")]
    assert not list(fold.take(_event({"delta": {"content": '<tool_call>{"name": "term'}})))


def test_what_a_model_says_behind_its_own_call_is_a_guess_and_not_kept() -> None:
    text = DIALECTS["hermes"](ONE)
    for behind in ("\nThe file was deleted.", "\n<tool_response>\nok\n</tool_response>\nDone."):
        answer, shown = answered(text + behind)
        assert calls_in(answer) == ONE
        assert answer.text == shown == ""


def test_calls_with_prose_between_them_are_made_in_order() -> None:
    text = "\nThen the second.\n".join(DIALECTS["hermes"]([call]) for call in TWO)
    assert calls_in(answered(f"First this.\n{text}")[0]) == TWO


@pytest.mark.parametrize(
    "text",
    [
        '<|python_tag|>terminal.call(command="ls")',
        'terminal(command="ls")',
        'terminal("ls")',
        '[terminal({"command": "ls"})]',
        "```tool_code\nprint(default_api.terminal(command='ls'))\n```",
        'terminal {"command": "ls"}',
        "{'name': 'terminal', 'arguments': {'command': 'ls'}}",
        '{"type": "function", "name": "terminal", "parameters": {"command": "ls"}}',
        '{"tool": "terminal", "command": "ls"}',
        '{"action": "terminal", "action_input": {"command": "ls"}}',
        '{"function_call": {"name": "terminal", "arguments": "{\\"command\\": \\"ls\\"}"}}',
        '{"name": "terminal", "arguments": {"command": "ls"}}<|im_end|>',
        '<tool_call>\n{{"name": "terminal", "arguments": {{"command": "ls"}}}}\n</tool_call>',
        '<tool_call name="terminal">{"command": "ls"}</tool_call>',
        '<tool_call>```json\n{"name": "terminal", "arguments": {"command": "ls"}}\n```</tool_call>',
        '<tools>\n{"name": "terminal", "arguments": {"command": "ls"}}\n</tools>',
        '<function_call> {"name": "terminal", "arguments": {"command": "ls"}}',
        "<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>terminal\n"
        '```json\n{"command": "ls"}\n```<|tool▁call▁end|><|tool▁calls▁end|>',
        '>>>all\nLet me look.\n>>>terminal\n{"command": "ls"}',
        'Plan: I look.\nAction: ```json\n[{"tool_name": "terminal", '
        '"parameters": {"command": "ls"}}]\n```',
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.terminal <|constrain|>json<|message|>{"command": "ls"}<|call|>',
        '<\uff5cDSML\uff5cfunction_calls>\n<\uff5cDSML\uff5cinvoke name="terminal">\n'
        '<\uff5cDSML\uff5cparameter name="command" string="true">ls</\uff5cDSML\uff5cparameter>\n'
        "</\uff5cDSML\uff5cinvoke>\n</\uff5cDSML\uff5cfunction_calls>",
        "<start_function_call>call:terminal{command:<escape>ls<escape>}<end_function_call>",
    ],
)
def test_looser_spellings_are_read_as_well(text: str) -> None:
    for size in (0, 1, 4):
        assert calls_in(answered(text, size=size)[0]) == [("terminal", {"command": "ls"})]


def test_one_bad_call_among_good_ones_makes_none() -> None:
    bad = '\n<tool_call>\n{"name": "launch_rocket", "arguments": {}}\n</tool_call>'
    assert answered(DIALECTS["hermes"](ONE) + bad)[0].calls == ()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("bash", {"cmd": "ls"}), ("terminal", {"command": "ls"})),
        (("functions.run_command", {"command": "ls"}), ("terminal", {"command": "ls"})),
        (("Read", {"file_path": "a"}), ("read_file", {"path": "a"})),
        (
            ("create_file", {"filename": "a", "text": "b"}),
            ("write_file", {"path": "a", "content": "b"}),
        ),
        (("bash", {"command": "ls", "description": "List"}), ("terminal", {"command": "ls"})),
    ],
)  # fmt: skip
def test_aliases_are_understood_in_text_and_natively(written: Any, meant: Any) -> None:
    assert calls_in(answered(DIALECTS["hermes"]([written]))[0]) == [meant]


async def test_a_server_that_swallows_the_opening_tag_shows_its_next_thought_as_one() -> None:
    said = "I greet.\n</think>\n\nHello."
    pieces = [delta({"content": said[at : at + 4]}) for at in range(0, len(said), 4)]
    body = chunked(data(*pieces, delta({}, "stop"), "[DONE]"))
    async with asked([body], [body]) as (chain, _):
        for first in (True, False):
            seen: list[object] = []
            answer = await chain.ask(request(), seen.append)
            assert answer.text == "Hello."
            assert any(isinstance(one, Retrying) for one in seen) is first
