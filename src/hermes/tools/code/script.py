"""The script as the model of a session: asking it means to wait for its next calls.

The journal has everything: the n-th call of the session is the script's call number n, and its
result is a line of the transcript. So a call that is said again gets the recorded result, and
nothing is remembered here that another process could not find.
"""

import asyncio
import time
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from hermes.core.grants import canonical
from hermes.core.ids import CallId
from hermes.core.messages import SCRIPT, SCRIPT_NAME, Call, Line, Outcome, TurnOptions
from hermes.core.policy import FAULTS
from hermes.core.ports import Answer, ModelRequest, RawCall
from hermes.core.signals import Watch
from hermes.ports.scripts import ScriptAnswer, ScriptCall, ScriptFolders, ScriptTalk
from hermes.ports.terminal import CommandRunning, Lost, Pending, Sighting, Terminal
from hermes.tools.code.ending import calls_made, last_words, results_of

WAIT_S = 3_600.0
GRACE_S = 10.0  # between the exception that its time is over and its end
BATCH_MAX = 64  # calls that are made of one look at the pipe
OTHER_CALL = (
    "call {0} was said before with other arguments, so this is not the script that was allowed"
)
TOO_MANY = "the script has made {0} calls, the limit (code.calls_max)"
TIME_OVER = "the script ran for {0:.0f} s without its calls, the limit (code.timeout_s)"
GONE = "[outcome unknown: the folder of the script was deleted while it ran, so it was ended]"
BACKGROUND = "A script cannot leave a command in the background. Run it without background."


class CodeLimits(Struct, frozen=True, kw_only=True):
    timeout_s: float = 300.0  # of its own time: what its calls take does not count
    calls_max: int = 50
    output_bytes: int = 50_000


class Scripts:
    """The scripts that this process talks to."""

    def __init__(self, terminal: Terminal, folders: ScriptFolders, limits: CodeLimits) -> None:
        self._terminal, self._folders, self._limits = terminal, folders, limits
        self._open: dict[CallId, ScriptModel] = {}

    def model(self, name: str) -> "ScriptModel":
        """Return the script of this name as a provider."""
        call = CallId(name.removeprefix(SCRIPT))
        if call not in self._open:
            self._open[call] = ScriptModel(self._terminal, call, self._folders, self._limits)
        return self._open[call]

    async def leave(self, options: TurnOptions) -> None:
        """The session of a script is over: the script is, too."""
        call = CallId(options.model.removeprefix(SCRIPT))
        model = self._open.pop(call, None)
        if model is not None:
            await model.aclose()
        await self._terminal.stop(call, "stopped")

    async def aclose(self) -> None:
        for model in self._open.values():
            await model.aclose()
        self._open.clear()


class ScriptModel:
    """One script. See `Provider`."""

    def __init__(
        self, terminal: Terminal, call: CallId, folders: ScriptFolders, limits: CodeLimits
    ) -> None:
        self._terminal, self._call, self._folders = terminal, call, folders
        self._limits = limits
        self._talk: ScriptTalk | None = None
        self._ending: asyncio.Task[Sighting] | None = None
        self._said: dict[int, ScriptCall] = {}  # by number; not answered yet
        self._used_s = 0.0
        self._timeout_s = 0.0

    @property
    def name(self) -> str:
        return SCRIPT_NAME

    async def ask(self, request: ModelRequest, _watch: Watch) -> Answer:
        """Give back the results that the script waits for, and wait for its next calls."""
        seen = await self._terminal.look(self._call)
        if seen is None or isinstance(seen.state, Pending | Lost):
            return await self._ended(request.lines, seen)
        if isinstance(seen.state, CommandRunning):
            try:
                new = await self._next_calls(request.lines)
            except OSError:  # its folder was deleted while it ran
                await self._terminal.stop(self._call, "stopped")
                return Answer(text=GONE, model=SCRIPT_NAME, outcome=Outcome.UNKNOWN)
            if new:
                code = await asyncio.to_thread(self._folders.code, self._call)
                made = tuple(_raw(said, code) for said in new)
                return Answer(calls=made, finish="calls", model=SCRIPT_NAME)
        return await self._ended(request.lines, await self._terminal.look(self._call))

    async def aclose(self) -> None:
        if self._ending is not None:
            self._ending.cancel()
        if self._talk is not None:
            self._talk.close()
        self._ending = self._talk = None

    async def _next_calls(self, lines: Sequence[Line]) -> list[ScriptCall]:
        """Return the calls that are not in the journal yet, in the order of their numbers; none
        when the script is over."""
        talk, ending = self._opened()
        if not self._timeout_s:
            asked = await asyncio.to_thread(self._folders.timeout_s, self._call)
            self._timeout_s = asked or self._limits.timeout_s
        made, results = calls_made(lines), results_of(lines)
        began = time.monotonic()
        while True:
            self._said |= {said.id: said for said in talk.taken()}
            self._answer(talk, made, results)
            if new := self._consecutive(talk, len(made) + 1):
                self._used_s += time.monotonic() - began
                return new
            if ending.done():
                return []
            left = self._timeout_s - self._used_s - (time.monotonic() - began)
            if left <= 0:
                await self._end_in_time(talk, ending)
                return []
            await _news(talk, ending, min(left, WAIT_S))

    async def _end_in_time(self, talk: ScriptTalk, ending: "asyncio.Task[Sighting]") -> None:
        """Tell the script with an exception; then end what does not listen."""
        talk.send(ScriptAnswer(over=TIME_OVER.format(self._timeout_s)))
        await asyncio.wait({ending}, timeout=GRACE_S)
        if not ending.done():
            await self._terminal.stop(self._call, "timeout")

    def _opened(self) -> "tuple[ScriptTalk, asyncio.Task[Sighting]]":
        if self._talk is None:
            self._talk = self._folders.talk(self._call)
        if self._ending is None or self._ending.done():
            self._ending = asyncio.create_task(self._over())
        return self._talk, self._ending

    async def _over(self) -> Sighting:
        while True:
            seen = await self._terminal.wait(self._call, WAIT_S)
            if not isinstance(seen.state, Pending | CommandRunning):
                return seen

    def _answer(self, talk: ScriptTalk, made: list[Call], results: dict[str, Line]) -> None:
        """Give back what is recorded under the numbers that were said."""
        for number in [number for number in self._said if number <= len(made)]:
            said = self._said.pop(number)
            if number < 1:
                continue
            call = made[number - 1]
            line = results.get(call.id)
            if not _is_same(said, call):
                talk.send(ScriptAnswer(id=number, ok=False, error=OTHER_CALL.format(number)))
            elif line is not None and line.outcome is Outcome.OK:
                talk.send(ScriptAnswer(id=number, ok=True, result=line.text))
            elif line is not None:
                talk.send(ScriptAnswer(id=number, ok=False, error=line.text))

    def _consecutive(self, talk: ScriptTalk, first: int) -> list[ScriptCall]:
        """Take what was said from this number on, without a gap, and within the limit."""
        new: list[ScriptCall] = []
        most = self._limits.calls_max
        for number in range(first, first + BATCH_MAX):
            if number not in self._said:
                break
            if number > most:
                for over in [each for each in self._said if each > most]:
                    del self._said[over]
                    error = TOO_MANY.format(most)
                    talk.send(ScriptAnswer(id=over, ok=False, error=error, limit=True))
                break
            new.append(self._said[number])
        return new

    async def _ended(self, lines: Sequence[Line], seen: Sighting | None) -> Answer:
        await self.aclose()
        if seen is None or isinstance(seen.state, Pending):
            text = "[the script was never started; nothing was run]"
            return Answer(text=text, model=SCRIPT_NAME, outcome=Outcome.FAILED)
        most = self._limits.output_bytes
        text, outcome = await last_words(self._terminal, seen, lines, most)
        return Answer(text=text, model=SCRIPT_NAME, outcome=outcome)


async def _news(talk: ScriptTalk, ending: "asyncio.Task[Sighting]", seconds: float) -> None:
    """Wait until the script says something or is over, at most so long."""
    heard = asyncio.ensure_future(talk.news())
    try:
        waits: set[asyncio.Future[Sighting] | asyncio.Future[None]] = {heard, ending}
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        heard.cancel()


def _is_same(said: ScriptCall, call: Call) -> bool:
    try:
        given = canonical(msgspec.json.encode(said.arguments).decode())
        return said.tool == call.tool and given == canonical(call.arguments)
    except FAULTS:
        return False


def _raw(said: ScriptCall, code: Sequence[str]) -> RawCall:
    """Return the call for the engine, with the line that the person is shown."""
    source = code[said.line - 1].strip()[:200] if 0 < said.line <= len(code) else ""
    place = f"line {said.line}: {source}" if source else "a line that I cannot name"
    left = said.tool == "terminal" and said.arguments.get("background")
    return RawCall(
        tool=said.tool,
        arguments=msgspec.json.encode(said.arguments).decode(),
        fault=BACKGROUND if left else "",
        origin=f"Called by my script, {place}",
    )
