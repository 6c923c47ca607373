"""The provider that plays a script."""

import json
from pathlib import Path

import pytest

from hermes.core.errors import (
    ContextOverflow,
    Misconfigured,
    ProviderBusy,
    ProviderDenied,
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    ProviderSilent,
)
from hermes.core.ids import CallId
from hermes.core.messages import Call, Line
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Glimpse, TextDelta, ThoughtDelta
from hermes.providers.build import build
from hermes.providers.scripted import DEMO, NO_RULE, OVER, Script, Scripted, StreamPace, load_script
from hermes.providers.settings import ProviderSettings, RetryLimits
from tests.unit.providers.recordings import HELLO

SCRIPT = [
    {
        "match": "deploy (\\w+)",
        "steps": [
            {
                "thought": "first",
                "text": "I look.",
                "calls": [
                    {"tool": "terminal", "arguments": {"command": "check {1}", "n": [1, "{last}"]}},
                    {"tool": "broken", "arguments": "{not json {1}"},
                ],
            },
            {"text": "Done: {result} {unknown} {1}"},
        ],
    },
    {"match": "fail", "steps": [{"error": "denied", "text": "no key"}]},
]


def written(path: Path, script: object) -> str:
    path.write_text(script if isinstance(script, str) else json.dumps(script), encoding="utf-8")
    return str(path)


def script(tmp_path: Path, rules: object = SCRIPT) -> Script:
    return load_script(Path(written(tmp_path / "s.json", rules)), at="model.name")


def played(one: Script, *lines: Line) -> Answer:
    answer, _ = one.answer(ModelRequest(system="", lines=lines))
    assert isinstance(answer, Answer)
    return answer


def user(text: str) -> Line:
    return Line(role="user", text=text)


CALLED = Line(role="assistant", text="I look.", calls=(Call(id=CallId("t-1"), tool="terminal"),))
RESULT = Line(role="tool", text="all {last} green", call=CallId("t-1"))


def test_the_nth_step_is_the_nth_answer_since_the_person_spoke(tmp_path: Path) -> None:
    one = script(tmp_path)
    first = played(one, user("please DEPLOY api"))
    assert (first.text, first.finish, first.thoughts[0].text) == ("I look.", "calls", "first")
    assert json.loads(first.calls[0].arguments) == {
        "command": "check api",
        "n": [1, "please DEPLOY api"],
    }
    assert first.calls[1] == RawCall("broken", "{not json {1}")
    second = played(one, user("deploy api"), CALLED, RESULT)
    assert second.text == "Done: all {last} green {unknown} api"
    assert played(one, user("deploy api"), CALLED, RESULT, CALLED, RESULT).text == OVER
    again = (user("deploy api"), CALLED, RESULT, Line(role="assistant", text="Done"), user("hm"))
    assert played(one, *again).text == NO_RULE
    assert played(one).text == NO_RULE


def test_the_same_request_gets_the_same_answer(tmp_path: Path) -> None:
    one, two = script(tmp_path), script(tmp_path)
    line = user("deploy api")
    assert played(one, line) == played(one, line) == played(two, line)
    assert played(one, line).usage.input > 0


async def test_a_scripted_answer_streams_at_its_pace() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    text = "  one two\n three  "
    answer = Answer(text=text)
    provider = Scripted(lambda _: (answer, StreamPace(2.0, 0.5)), name="scripted:x", sleep=sleep)
    seen: list[Glimpse] = []
    given = await provider.ask(HELLO, seen.append)
    assert "".join(one.text for one in seen if isinstance(one, TextDelta)) == text
    assert slept == [2.0, 0.5, 0.5, 0.5]
    assert given.model == provider.name == "scripted:x"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("busy", ProviderBusy),
        ("silent", ProviderSilent),
        ("garbled", ProviderGarbled),
        ("denied", ProviderDenied),
        ("refused", ProviderRefused),
        ("overflow", ContextOverflow),
    ],
)
async def test_each_error_can_be_played(
    name: str, kind: type[ProviderFailed], tmp_path: Path
) -> None:
    path = written(tmp_path / "s.json", [{"steps": [{"error": name, "text": "so it is"}]}])
    patience = RetryLimits(attempts_max=1)
    chain = build(ProviderSettings(provider="scripted", name=path, patience=patience), {})
    with pytest.raises(kind, match="so it is"):
        await chain.ask(HELLO, lambda _: None)
    await chain.aclose()


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("not json", "is not valid"),
        ({"steps": []}, "is not valid"),
        ([{"steps": [{"txt": "typo"}]}], "txt"),
        ([{"match": "(", "steps": []}], "is not valid"),
        ([{"match": "x" * 1000, "steps": []}], "too long"),
        ([{"steps": [{"error": "strange"}]}], "is not valid"),
    ],
)
def test_a_script_that_cannot_be_played_is_a_wrong_setting(
    rules: object, words: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "s.json", rules)
    with pytest.raises(Misconfigured, match=words) as told:
        build(ProviderSettings(provider="scripted", name=path), {})
    assert told.value.key == "model.name"


def test_a_script_that_is_not_there_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot be read"):
        build(ProviderSettings(provider="scripted", name=str(tmp_path / "none.json")), {})
    with pytest.raises(Misconfigured, match="cannot be read"):
        build(ProviderSettings(provider="scripted", name=str(tmp_path)), {})


async def test_without_a_script_there_is_a_demo() -> None:
    chain = build(ProviderSettings(provider="scripted"), {})
    seen: list[Glimpse] = []
    answer = await chain.ask(HELLO, seen.append)
    assert "Hello!" in answer.text
    assert chain.name == answer.model == "scripted:demo"
    assert not any(isinstance(one, ThoughtDelta) for one in seen)
    run = played(DEMO, user("run: echo 1"))
    assert [json.loads(call.arguments) for call in run.calls] == [{"command": "echo 1"}]
    assert played(DEMO, user("what?")).text == "You said: what?"
