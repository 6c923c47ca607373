"""The crash matrix: SIGKILL at ten instants of a turn, and what becomes of it.

A person writes to a bot; the model calls a command with an effect, then answers. Everybody is
driven the same way: by the Bot API's double, with a model that stops at the instant in question.
The process and its group are killed there and started again at once. If nothing comes of it in
forty seconds, the person asks again.
"""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.gated import FINAL, YES, Gate, GatedBot, GatedModel, Json
from bench.peers.base import Ground, Installed, NotHere, Peer
from bench.running import Gateway, House, free_port
from bench.tunnel import Tunnel, vouched
from bench.wire import text_of
from hermes.gateway.delivery import REPEAT

INSTANTS: Mapping[str, str] = {
    "handed out": "the platform has handed out the message",
    "call asked": "the model has been asked",
    "call half": "half of the model's answer is there",
    "call given": "the model has asked for the command",
    "began": "the command runs, its effect has not happened",
    "effect": "the effect has happened, the command runs",
    "ended": "the command has just ended",
    "answer given": "the model has answered, nothing is delivered",
    "delivering": "the answer is on its way, not seen yet",
    "shown": "the answer is delivered, the receipt is not",
}
READY_S, TURN_S, ITSELF_S, SETTLE_S = 120.0, 90.0, 40.0, 3.0
LOOK_S = 0.005
PRINTED = "seventeen-pages"
HELLO, AGAIN = "Hello [[say Good morning]]", "Are you still there?"


@dataclass(frozen=True)
class Fate:
    """What became of one turn. `why`: what is wrong with the history, or why there is no fate."""

    instant: str
    reached: bool = False
    itself: bool = False  # it went on without a word of the person
    answers: int = 0
    marked: int = 0  # answers that say of themselves that they may be repeats
    effects: int = 0
    known: bool = False  # the model was given what the command printed
    valid: bool = False
    asked: int = 0  # how often the model was asked in this turn
    why: str = ""

    @property
    def faultless(self) -> bool:
        whole = self.reached and self.itself and self.known and self.valid
        return whole and (self.answers, self.effects) == (1, 1)


@dataclass
class Stage:
    """One case's world: a home, a bot, a model, and the gateway between them."""

    house: House
    peer: Peer
    installed: Installed
    ground: Ground
    gate: Gate
    model: GatedModel
    bot: GatedBot
    gateway: Gateway | None = None

    @property
    def marks(self) -> Path:
        return self.ground.workspace / "marks"

    @property
    def effects(self) -> Path:
        return self.ground.workspace / "effects"

    async def start(self) -> None:
        self.bot.polled.clear()
        self.gateway = self.house.start(self.peer, self.installed, self.ground)
        await self.until(self.bot.polled.is_set, READY_S, "to listen")

    async def until(self, holds: Callable[[], bool], limit_s: float, what: str) -> None:
        try:
            async with asyncio.timeout(limit_s):
                while not holds():  # noqa: ASYNC110 (another process's doing: there is no bell)
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise TimeoutError(f"it took more than {limit_s:.0f} s {what}") from None

    async def comes(self, text: str, limit_s: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await self.until(lambda: self.bot.shows(text) > 0, limit_s, "to answer")
        return self.bot.shows(text) > 0

    async def reads(self, text: str, limit_s: float) -> None:
        """Until the model is told of this, if it ever is."""
        seen = 0

        def told() -> bool:
            nonlocal seen
            new = self.model.requests[seen:]
            seen += len(new)
            return any(text in json.dumps(request["messages"]) for request in new)

        with contextlib.suppress(TimeoutError):
            await self.until(told, limit_s, "to read it")

    def question(self) -> str:
        """`marks` tells how far the command is, `effects` how often it did what it is for."""
        steps = ("echo began >> marks", "sleep 1", "echo done >> effects", "sleep 1")
        command = "; ".join((*steps, f"echo ended >> marks; echo {PRINTED}"))
        name, argument = self.peer.tool
        return f"Please do it. [[call {name} {json.dumps({argument: command})}]]"


async def fate(stage: Stage, instant: str) -> Fate:
    await stage.start()
    stage.bot.write(HELLO)
    await stage.until(lambda: stage.bot.shows("Good morning") > 0, TURN_S, "to say hello")
    await asyncio.sleep(1.0)  # what follows an answer is over
    before = len(stage.model.requests)
    stage.gate.arm(instant)
    stage.bot.sought = "Please do it"
    stage.bot.write(stage.question())
    try:
        await stage.until(_reached(stage, instant), TURN_S, f"to get to “{instant}”")
    except TimeoutError as late:
        return Fate(instant, why=str(late))
    assert stage.gateway is not None
    stage.gateway.kill()
    stage.gate.arm("")
    await stage.start()
    itself = await stage.comes(FINAL, ITSELF_S)
    await asyncio.sleep(SETTLE_S)
    asked = len(stage.model.requests) - before
    stage.bot.write(AGAIN)
    await stage.comes(FINAL if not itself else YES, TURN_S / 3)
    await stage.reads(AGAIN, TURN_S / 3)
    await asyncio.sleep(SETTLE_S)
    why = fault(stage.model.requests[-1]["messages"], AGAIN)
    return Fate(
        instant,
        reached=True,
        itself=itself,
        answers=stage.bot.shows(FINAL),
        marked=stage.bot.shows(REPEAT),
        effects=len(_lines(stage.effects)),
        known=any(_prints(request) for request in stage.model.requests),
        valid=not why,
        asked=asked,
        why=why,
    )


def _reached(stage: Stage, instant: str) -> Callable[[], bool]:
    match instant:
        case "began" | "ended":
            return lambda: instant in _lines(stage.marks)
        case "effect":
            return lambda: bool(_lines(stage.effects))
        case _:
            return stage.gate.reached.is_set


def fault(messages: Sequence[Json], told: str) -> str:
    """What a provider, or a person, would hold against this history; empty when nothing."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                return "a result without its call"
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return "a call without its result"
        else:
            open_calls = [call["id"] for call in message.get("tool_calls") or []]
    text = json.dumps(messages)
    if "Please do it" not in text:
        return "the message is not in it"
    return "" if told in text else "the last message is not in it"


def _prints(request: Json) -> bool:
    results = (text_of(one) for one in request["messages"] if one["role"] == "tool")
    return any(PRINTED in result for result in results)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


@asynccontextmanager
async def staged(house: House, peer: Peer, installed: Installed) -> AsyncIterator[Stage]:
    gate = Gate()
    folder = Path(tempfile.mkdtemp(dir=house.folder))
    context, authority = vouched(folder)
    bot = GatedBot(gate)
    async with (
        GatedModel(gate) as model,
        bot,
        Tunnel(bot.http.port, context) as tunnel,
    ):
        ground = Ground(
            home=Path(tempfile.mkdtemp(dir=house.folder)),
            model=model.port,
            port=free_port(),
            bot_api=bot.url,
            proxy=f"http://127.0.0.1:{tunnel.port}",
            authority=str(authority),
        )
        stage = Stage(house, peer, installed, ground, gate, model, bot)
        try:
            yield stage
        finally:
            if stage.gateway is not None:
                stage.gateway.kill()


async def case(house: House, peer: Peer, installed: Installed, instant: str) -> Fate:
    try:
        async with staged(house, peer, installed) as stage:
            return await fate(stage, instant)
    except (TimeoutError, NotHere, RuntimeError) as problem:
        return Fate(instant, why=str(problem))


def as_json(found: Fate) -> Json:
    return {**asdict(found), "faultless": found.faultless}


def told(found: Fate) -> str:
    if not found.reached:
        return f"not measured: {found.why}"
    went = "by itself" if found.itself else "not by itself"
    known = "result known" if found.known else "result not known"
    counts = f"answers {found.answers}, effects {found.effects}, {went}, {known}"
    return f"{counts}, history {'valid' if found.valid else found.why}"
