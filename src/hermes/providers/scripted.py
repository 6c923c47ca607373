"""A provider that answers by script: for tests and demos, without network and without keys.

It is a pure function of the request, so every run, and every resumed run, is the same run.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from hermes.core.budget import tokens_of, tokens_of_line
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
from hermes.core.messages import Line, Thought, Usage
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import TextDelta, ThoughtDelta, Watch

SCRIPT_BYTES_MAX: Final = 4 * 1024 * 1024
PATTERN_CHARS_MAX: Final = 500
MATCH_CHARS_MAX: Final = 2_000  # of the person's text; a pattern sees no more
DELAY_S_MAX: Final = 600.0
OVER: Final = "The script has no further step."
NO_RULE: Final = "The script has no rule for this message."

ErrorKind = Literal["busy", "silent", "garbled", "denied", "refused", "overflow"]

_ERRORS: Final[Mapping[ErrorKind, type[ProviderFailed]]] = {
    "busy": ProviderBusy,
    "silent": ProviderSilent,
    "garbled": ProviderGarbled,
    "denied": ProviderDenied,
    "refused": ProviderRefused,
    "overflow": ContextOverflow,
}


class ScriptedCall(Struct, frozen=True, forbid_unknown_fields=True):
    """One scripted call. `arguments` are an object, or a text that is sent as it is, however
    broken."""

    tool: str
    arguments: dict[str, object] | str = {}


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of the model. In texts, `{last}` is the person's last message, `{result}` the last
    tool result, and `{1}` the first group of the rule's pattern."""

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    thought: str = ""
    delay_s: float = 0.0
    chunk_s: float = 0.0
    error: ErrorKind | None = None


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps that are played when a person's last message matches."""

    steps: tuple[Step, ...]
    match: str = ""


Played = Answer | ProviderFailed


class StreamPace(Struct, frozen=True):
    """How slowly an answer streams: the delay before its first word, and between words."""

    delay_s: float = 0.0
    chunk_s: float = 0.0


class Script:
    """Rules, ready to be played. The first that matches counts."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [(re.compile(rule.match, re.IGNORECASE), rule) for rule in rules]

    def answer(self, request: ModelRequest) -> tuple[Played, StreamPace]:
        """Return the nth step at the nth model call since the person's last message."""
        last = max((at for at, line in enumerate(request.lines) if line.role == "user"), default=-1)
        said = request.lines[last].text if last >= 0 else ""
        since = request.lines[last + 1 :]
        played = sum(line.role == "assistant" for line in since)
        for pattern, rule in self._rules:
            if found := pattern.search(said[:MATCH_CHARS_MAX]):
                if played >= len(rule.steps):
                    return _speak(request, OVER), StreamPace()
                words = {"last": said, "result": _result(since), **_groups(found)}
                step = rule.steps[played]
                pace = StreamPace(min(step.delay_s, DELAY_S_MAX), min(step.chunk_s, DELAY_S_MAX))
                return _play(request, step, words), pace
        return _speak(request, NO_RULE), StreamPace()


class Scripted:
    """A provider that plays a script. `rule` returns the answer, perhaps with a pace, or the error
    to raise."""

    def __init__(
        self,
        rule: Callable[[ModelRequest], Played | tuple[Played, StreamPace]],
        *,
        name: str = "scripted:rule",
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._rule = rule
        self._name = name
        self._sleep = sleep

    @property
    def name(self) -> str:
        return self._name

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        ruled = self._rule(request)
        played, pace = ruled if isinstance(ruled, tuple) else (ruled, StreamPace())
        await self._sleep(pace.delay_s)
        if isinstance(played, ProviderFailed):
            raise played
        for thought in played.thoughts:
            if thought.text:
                watch(ThoughtDelta(thought.text))
        for word in re.findall(r"\s*\S+\s*$|\s*\S+", played.text):
            watch(TextDelta(word))
            await self._sleep(pace.chunk_s)
        return msgspec.structs.replace(played, model=played.model or self._name)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def load_script(path: Path, *, at: str) -> Script:
    """Read a file of rules. Raise Misconfigured, naming the setting `at` and what is wrong."""
    try:
        with path.open("rb") as file:
            raw = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as missing:
        problem = f"the script {path} cannot be read ({missing.strerror})"
        raise Misconfigured(at, problem, "Give the path of a JSON file") from missing
    if len(raw) > SCRIPT_BYTES_MAX:
        raise Misconfigured(at, f"the script {path} is larger than 4 MB", "Shorten it")
    try:
        rules = msgspec.json.decode(raw, type=list[Rule])
        if any(len(rule.match) > PATTERN_CHARS_MAX for rule in rules):
            raise Misconfigured(at, f"a pattern of {path} is too long", "Shorten it")
        return Script(rules)
    except (ValueError, RecursionError, re.error) as broken:
        problem = f"the script {path} is not valid ({broken})"
        raise Misconfigured(at, problem, "See docs/PROVIDERS.md for its form") from broken


def _play(request: ModelRequest, step: Step, words: Mapping[str, str]) -> Played:
    if step.error is not None:
        return _ERRORS[step.error](step.text or f"scripted: {step.error}")
    text = _fill(step.text, words)
    calls = tuple(
        RawCall(
            call.tool,
            call.arguments
            if isinstance(call.arguments, str)
            else msgspec.json.encode(_filled_in(call.arguments, words)).decode(),
        )
        for call in step.calls
    )
    thoughts = (Thought(text=_fill(step.thought, words)),) if step.thought else ()
    return Answer(
        text=text,
        calls=calls,
        thoughts=thoughts,
        usage=_usage(request, text, calls),
        finish="calls" if calls else "stop",
    )


def _speak(request: ModelRequest, text: str) -> Answer:
    return Answer(text=text, usage=_usage(request, text, ()))


def _usage(request: ModelRequest, text: str, calls: Sequence[RawCall]) -> Usage:
    """Return estimated token counts, good enough to see numbers move."""
    read = tokens_of(request.system) + sum(tokens_of_line(line) for line in request.lines)
    written = tokens_of(text) + sum(tokens_of(call.arguments) for call in calls)
    return Usage(input=read, output=written)


def _result(lines: Sequence[Line]) -> str:
    return next((line.text for line in reversed(lines) if line.role == "tool"), "")


def _groups(found: re.Match[str]) -> dict[str, str]:
    return {str(at): group or "" for at, group in enumerate(found.groups(), start=1)}


def _fill(text: str, words: Mapping[str, str]) -> str:
    """Fill the known placeholders once; inserted text is not expanded again."""
    return re.sub(r"\{(\w+)\}", lambda m: words.get(m.group(1), m.group(0)), text)


def _filled_in(value: object, words: Mapping[str, str]) -> object:
    if isinstance(value, str):
        return _fill(value, words)
    if isinstance(value, list):
        return [_filled_in(item, words) for item in value]
    if isinstance(value, dict):
        return {key: _filled_in(item, words) for key, item in value.items()}
    return value


DEMO: Final = Script(
    [
        Rule(
            match=r"^\W*(hello|hi|hey)\b",
            steps=(
                Step(
                    text="Hello! I am the scripted demo: no model, no network. Say “run” and a "
                    "command, or anything else and I say it back."
                ),
            ),
        ),
        Rule(
            match=r"\brun:? (.+)",
            steps=(
                Step(
                    text="I run it.",
                    calls=(ScriptedCall("terminal", {"command": "{1}"}),),
                ),
                Step(text="It said:\n{result}"),
            ),
        ),
        Rule(steps=(Step(text="You said: {last}", chunk_s=0.02),)),
    ]
)
