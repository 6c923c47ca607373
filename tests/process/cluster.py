"""Several gateways on one PostgreSQL, and clients that talk to any node that answers."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import Answered, GatewayProcess, gateway
from tests.process.looks import UNASKED

ASK_S = 60.0
AGAIN_S = 0.2
UNKNOWN = "unknown"  # in the result of a lost command
EFFECTS = "effects"


@asynccontextmanager
async def nodes(
    folder: Path, model: Model, urls: Sequence[str], **settings: Any
) -> AsyncIterator[list[GatewayProcess]]:
    """Yield one gateway for each store URL, each with its own home, not started yet. Their commands
    share one folder."""
    shared = {"terminal": {"workdir": str(shared_folder(folder))}, **UNASKED, **settings}
    async with AsyncExitStack() as stack:
        made: list[GatewayProcess] = []
        for number, url in enumerate(urls):
            place = folder / f"node-{number}"
            place.mkdir()
            opened = gateway(place, model, store={"url": url}, **shared)
            made.append(await stack.enter_async_context(opened))
        yield made


async def start(here: Sequence[GatewayProcess]) -> None:
    await asyncio.gather(*(node.start() for node in here))


def shared_folder(folder: Path) -> Path:
    shared = folder / "shared"
    shared.mkdir(exist_ok=True)
    return shared


def effects(folder: Path) -> Counter[str]:
    """Count how often a command wrote each word."""
    file = shared_folder(folder) / EFFECTS
    return Counter(file.read_text(encoding="utf-8").split() if file.exists() else ())


def worker(asked: Asked) -> Says:
    """Answer by a rule: `do WORD` runs a command with an effect and tells its result; other text is
    echoed. A note of ours may come before it."""
    said = asked.said.rpartition("\n")[2]
    if not said.startswith("do "):
        return Says(f"You said: {said}")
    word = said.split()[-1]
    if asked.results:
        return Says(f"{word}: {asked.results[-1]}")
    return Says(calls=(terminal(f"echo {word} >> {EFFECTS}; sleep 0.6"),))


def is_lost(answer: Answered) -> bool:
    return UNKNOWN in answer.text


def open_commands(here: GatewayProcess) -> int:
    """Return how many commands this node has started that have not ended."""
    calls = [begun.parent for begun in here.home.glob("calls/*/begun")]
    return sum(not (call / "status").exists() for call in calls)


@dataclass
class Said:
    """One message of a person, and every answer to it."""

    session: str
    text: str
    key: str
    asked_at: float = 0.0
    answered_at: float = 0.0
    answers: list[Answered] = field(default_factory=list)


@dataclass
class Crowd:
    """Clients that repeat a message under the same key until a node answers."""

    nodes: Sequence[GatewayProcess]
    chance: random.Random
    said: list[Said] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return sum(bool(one.answers) for one in self.said)

    async def talk(self, session: str, messages: int) -> None:
        """Send the messages in order; send some twice at once, to any two nodes."""
        for number in range(messages):
            word = f"{session}-{number}"
            text = f"do {word}" if number % 2 else f"hello {word}"
            one = Said(session, text, f"key-{word}", asked_at=time.monotonic())
            self.said.append(one)
            times = 2 if self.chance.random() < 0.3 else 1
            await asyncio.gather(*(self.ask(one) for _ in range(times)))

    async def ask(self, one: Said) -> None:
        async with asyncio.timeout(ASK_S):
            while True:
                alive = [node for node in self.nodes if not has_ended(node)]
                got = await tried(self.chance.choice(alive), one)
                if got is not None and got.status == 200:
                    one.answers.append(got)
                    one.answered_at = one.answered_at or time.monotonic()
                    return
                await asyncio.sleep(AGAIN_S)


def has_ended(node: GatewayProcess) -> bool:
    return node.child is None or node.child.returncode is not None


async def tried(node: GatewayProcess, one: Said, limit_s: float = ASK_S) -> Answered | None:
    """Send a message; return None if no node answered."""
    try:
        return await node.say(one.text, one.session, key=one.key, limit_s=limit_s)
    except httpx2.TransportError:
        return None


async def until(holds: Callable[[], Awaitable[bool] | bool], limit_s: float) -> float:
    """Poll until the condition holds; return how long it took."""
    began = time.monotonic()
    while True:
        found = holds()
        if found if isinstance(found, bool) else await found:
            return time.monotonic() - began
        assert time.monotonic() - began < limit_s, "it did not come true"
        await asyncio.sleep(0.03)


async def agreed(here: GatewayProcess, said: Sequence[Said]) -> None:
    """Check that every message has exactly one answer, whichever nodes were asked, however
    often."""
    for one in said:
        assert one.answers, one
        assert len({(answer.turn, answer.text) for answer in one.answers}) == 1, one
    assert len({one.answers[0].turn for one in said}) == len(said)
    turns = await here.hermes("turns", "list", "--json", "--limit", "1000")
    assert Counter(turn["state"] for turn in turns) == {"answered": len(said)}
    for session in sorted({one.session for one in said}):
        mine = [one for one in said if one.session == session]
        rows = await here.get(f"/v1/sessions/{session}/messages")
        assert [row["text"] for row in rows if row["role"] == "user"] == [one.text for one in mine]
        final = [row["text"] for row in rows if row["role"] == "assistant" and row["text"]]
        assert final == [one.answers[0].text for one in mine]


def kept_promises(folder: Path, said: Sequence[Said]) -> None:
    """Check that no effect happened twice, each reported one happened once, and none was
    unrequested."""
    done = effects(folder)
    assert set(done.values()) <= {1}
    wanted = {one.text.split()[-1]: one for one in said if one.text.startswith("do ")}
    assert set(done) <= set(wanted)
    claimed = {word for word, one in wanted.items() if not is_lost(one.answers[0])}
    assert claimed <= set(done), [wanted[word].answers[0].text for word in claimed - set(done)]


async def came_to_its_senses(node: GatewayProcess, before: float, limit_s: float) -> None:
    """Wait until the node exited with an error, or has restarted since `before` and is ready."""

    async def ended_or_anew() -> bool:
        if has_ended(node):
            return True
        return node.started_at() > before and await node.health() == 200

    await until(ended_or_anew, limit_s)
    if has_ended(node):
        assert node.child is not None
        assert node.child.returncode != 0
        assert " dead" in node.output()
        await node.start()


async def rests(here: GatewayProcess) -> None:
    """Wait until nothing runs, waits, or is marked on any node."""
    status = await here.hermes("gateway", "status", "--json")
    assert status["turns"] == {"running": 0, "queued": 0, "asking": 0}
    assert status["marks"] == {}
