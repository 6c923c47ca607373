"""A script as a model: real processes and real pipes, without an engine around them."""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hermes.core.ids import CallId, SessionKey
from hermes.core.messages import Call, Line, Outcome, TurnOptions
from hermes.core.ports import Answer, ModelRequest, RawCall, ToolSpec
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.terminals.local import LocalTerminal
from hermes.terminals.register import CommandLimits
from hermes.terminals.scripts import LocalScripts
from hermes.tools.code.library import functions_for
from hermes.tools.code.script import SCRIPT, CodeLimits, Scripts

CALL = CallId("turn-1")
ECHO = ToolSpec(
    name="echo",
    description="",
    parameters='{"type":"object","properties":{"text":{}},"required":["text"]}',
)
Tool = Callable[[RawCall], str]


class Talk:
    """What an engine does for a script: it makes the calls and writes them down."""

    def __init__(self, folder: Path) -> None:
        self.terminal = LocalTerminal(
            folder / "calls", environ=os.environ, limits=CommandLimits(grace_s=0.5)
        )
        self.folders = LocalScripts(folder / "calls")
        self.folder, self.lines = folder, list[Line]()
        self.made: list[RawCall] = []
        self.limits = CodeLimits(timeout_s=30)
        self.scripts = Scripts(self.terminal, self.folders, self.limits)

    async def start(self, code: str, specs: tuple[ToolSpec, ...] = (ECHO,)) -> None:
        files = self.folders.prepare(CALL, code, functions_for(specs), 0.0)
        launch = CommandLaunch(
            id=CALL,
            session=SessionKey("s"),
            command=" ".join((f"exec {sys.executable}", *files.arguments)),
            workdir=str(self.folder),
            pipes=files.pipes,
        )
        await self.terminal.launch(launch)

    async def ask(self) -> Answer:
        request = ModelRequest(system="", lines=tuple(self.lines))
        async with asyncio.timeout(60):
            return await self.scripts.model(f"{SCRIPT}{CALL}").ask(request, lambda _glimpse: None)

    def record(self, answer: Answer, tool: Tool, *, results: bool = True) -> None:
        """As a journal does: the calls, then their results."""
        first = len(self.made)
        self.made += answer.calls
        calls = tuple(
            Call(id=CallId(f"c{n}"), tool=raw.tool, arguments=raw.arguments)
            for n, raw in enumerate(answer.calls, start=first + 1)
        )
        self.lines.append(Line(role="assistant", calls=calls))
        for call, raw in zip(calls, answer.calls, strict=True):
            if results:
                said = Line(role="tool", call=call.id, text=tool(raw), outcome=Outcome.OK)
                self.lines.append(said)

    async def run(self, code: str, tool: Tool) -> Answer:
        await self.start(code)
        while (answer := await self.ask()).calls:
            self.record(answer, tool)
        return answer

    async def restart(self) -> None:
        """The gateway dies: nothing is left of what it had in memory."""
        await self.scripts.aclose()
        self.scripts = Scripts(self.terminal, self.folders, self.limits)


@pytest.fixture
async def talk(tmp_path: Path) -> AsyncIterator[Talk]:
    made = Talk(tmp_path)
    yield made
    await made.scripts.leave(TurnOptions(model=f"{SCRIPT}{CALL}"))
    await made.terminal.close()


def echoed(raw: RawCall) -> str:
    return str(json.loads(raw.arguments)["text"])


async def test_a_script_is_asked_until_its_last_words(talk: Talk) -> None:
    code = "from hermes_tools import echo, parallel\nprint(echo('a') + echo(text='b'))\n"
    code += "print(parallel([('echo', {'text': n}) for n in 'cde'] + [lambda: 'f']))"
    done = await talk.run(code, echoed)
    assert done.text == "ab\n['c', 'd', 'e', 'f']\n[calls: echo 5]"
    assert done.outcome is Outcome.OK
    assert talk.made[0].origin == "Called by my script, line 2: print(echo('a') + echo(text='b'))"


async def test_c87_a_number_that_is_said_again_gets_the_recorded_result(talk: Talk) -> None:
    await talk.start("from hermes_tools import echo\nprint([echo(n) for n in 'abc'])")
    done = await talk.ask()
    while done.calls:
        talk.record(done, echoed)
        await talk.restart()
        done = await talk.ask()
    assert done.text.startswith("['a', 'b', 'c']\n")
    assert [echoed(raw) for raw in talk.made] == ["a", "b", "c"], "each was made once"


async def test_c87_a_gateway_that_dies_before_it_recorded_a_call_hears_it_again(talk: Talk) -> None:
    await talk.start("from hermes_tools import echo\nprint(echo('a'))")
    lost = await talk.ask()
    await talk.restart()
    again = await talk.ask()
    assert lost.calls == again.calls
    talk.record(again, echoed)
    assert (await talk.ask()).text.startswith("a\n")


async def test_c87_other_arguments_under_the_same_number_are_refused(talk: Talk) -> None:
    await talk.start("from hermes_tools import call\nprint(call('echo', text='other'))")
    first = await talk.ask()
    talk.record(Answer(calls=(RawCall("echo", '{"text":"allowed"}'),)), echoed)
    assert first.calls[0].arguments == '{"text":"other"}'
    done = await talk.ask()
    assert done.outcome is Outcome.FAILED
    assert "not the script that was allowed" in done.text


async def test_calls_of_many_threads_are_each_made_once_and_answered_to_the_one_who_asked(
    talk: Talk,
) -> None:
    code = """
import threading
from hermes_tools import echo
found = {}
def work(n):
    found[n] = [echo(f"{n}-{m}") for m in range(3)]
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[t.start() for t in threads]
[t.join() for t in threads]
print(all(found[n] == [f"{n}-{m}" for m in range(3)] for n in range(16)))
"""
    done = await talk.run(code, echoed)
    assert done.text.startswith("True\n")
    assert len(talk.made) == 48


async def test_a_large_result_reaches_the_script_whole(talk: Talk) -> None:
    code = "from hermes_tools import echo\nprint(len(echo('x' * 1_000_000)))"
    done = await talk.run(code, echoed)
    assert done.text.startswith("1000000\n")


async def test_words_that_are_no_calls_are_passed_over(talk: Talk) -> None:
    await talk.start("from hermes_tools import echo\nprint(echo('a'))")
    pipe = os.open(talk.folder / "calls" / f"{CALL}.script" / "asks", os.O_RDWR)
    for noise in (b"{\n", b'{"id": "x"}\n', b"\xff\xfe\n", b"[" * 10_000 + b"\n", b'{"id":0}\n'):
        os.write(pipe, noise)
    answer = await talk.ask()
    os.close(pipe)
    talk.record(answer, echoed)
    assert (await talk.ask()).text.startswith("a\n")


async def test_an_error_of_the_script_names_its_line(talk: Talk) -> None:
    done = await talk.run("x = 1\n\nraise ValueError('wrong')\n", echoed)
    assert done.outcome is Outcome.FAILED
    assert 'File "<script>", line 3, in <module>\n    raise ValueError' in done.text
    assert "hermes_tools" not in done.text, "our own lines are left out"


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ("see:\n```json\n[1, 2]\n``` there", [1, 2]), ("7", 7)],
)
async def test_json_is_read_out_of_a_text(talk: Talk, text: str, value: object) -> None:
    code = f"from hermes_tools import json_parse, shell_quote\nprint(json_parse({text!r}))"
    done = await talk.run(f"{code}\nprint(shell_quote('a b'))", echoed)
    assert done.text == f"{value}\n'a b'\n"


async def test_the_folder_of_a_running_script_is_not_swept_with_what_is_old(tmp_path: Path) -> None:
    limits = CommandLimits(grace_s=0.5, keep_s=-1.0)
    talk = Talk(tmp_path)
    talk.terminal = LocalTerminal(tmp_path / "calls", environ=os.environ, limits=limits)
    talk.scripts = Scripts(talk.terminal, talk.folders, talk.limits)
    await talk.start("from hermes_tools import echo\nprint(echo('a'))")
    await talk.terminal.sweep()
    assert (await talk.ask()).calls
    await talk.scripts.leave(TurnOptions(model=f"{SCRIPT}{CALL}"))
    await talk.terminal.sweep()
    assert not list((tmp_path / "calls").glob("*.script"))
    await talk.terminal.close()


async def test_a_script_whose_folder_is_gone_is_ended_and_unknown(talk: Talk) -> None:
    await talk.start("from hermes_tools import echo\nprint(echo('a'))")
    shutil.rmtree(talk.folder / "calls" / f"{CALL}.script")
    done = await talk.ask()
    assert done.outcome is Outcome.UNKNOWN
    seen = await talk.terminal.look(CALL)
    assert seen is not None
    assert isinstance(seen.state, Ended)
