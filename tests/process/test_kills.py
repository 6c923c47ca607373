"""SIGKILL at many instants, under load: nothing lost, nothing answered twice, no effect run twice.

Four clients talk to four sessions as fast as they are answered. When a connection is cut, a client
repeats what it got no answer for, under the same key, and says something new beside it. The
gateway is killed at random moments, at times while it starts, at times with all its commands. After
two kills it is stopped by SIGTERM with hardly any time to drain: three crashed boots in a row would
hold back the resumes (C15), and a turn that is cut off by a drain is worth having, too.

`HERMES_SOAK=1` kills more often; `HERMES_SEED` repeats a run as far as chance goes.
"""

import asyncio
import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from hermes.testing.model import Asked, Model, Says, terminal, text_of
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import NOTE, effect, effects, end_command, idle, raw, said

KILLS = 150 if os.environ.get("HERMES_SOAK") else 10
SESSIONS = ("a", "b", "c", "d")
KILLS_IN_A_ROW = 2
LIFE_S = 0.6  # longest life after it is ready
BOOT_S = 0.8
RETRY = ("gateway_stopping", "draining")
ORDER = re.compile(r"do ([a-d]-\d+)")


@dataclass
class World:
    here: GatewayProcess
    chance: random.Random
    texts: dict[str, bytes] = field(default_factory=dict)  # by key: the first answer
    open: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in SESSIONS})
    said: Counter[str] = field(default_factory=Counter)
    cuts: int = 0

    async def talk(self, session: str, *, once: bool = False) -> None:
        """Send messages until the connection is cut or everything is answered."""
        while True:
            self.said[session] += 1
            self.open[session].append(f"{session}-{self.said[session]}")
            wanted = list(self.open[session])
            self.chance.shuffle(wanted)
            came = await asyncio.gather(*(self.ask(session, key) for key in wanted))
            if not all(came):
                self.cuts += 1
                return
            if once:
                return

    async def ask(self, session: str, key: str) -> bool:
        """Send one message. Return False without an answer; then it is unknown whether it
        arrived."""
        try:
            body = await raw(self.here, f"do {key}", session, key=key)
        except httpx2.TransportError:
            return False
        if any(f'"code":"{code}"'.encode() in body for code in RETRY):
            return False
        assert b'"chat.completion"' in body, body
        self.texts[key] = body
        self.open[session].remove(key)
        return True


def rule(model_chance: random.Random) -> Any:
    """Return a rule: do each order once, with two commands and a check, and report the results. The
    answer depends on the request only."""

    async def answer(asked: Asked) -> Says:
        await asyncio.sleep(model_chance.choice((0, 0, 0.02, 0.08)))
        orders = dict.fromkeys(
            key for m in asked.messages if m["role"] == "user" for key in ORDER.findall(text_of(m))
        )
        results = _results(asked)
        todo = [key for key in orders if key not in results]
        if todo:
            return Says(calls=tuple(call for key in todo for call in _calls(key)))
        ledger = [f"{key}={','.join(results[key])}" for key in orders]
        return Says(" ".join(ledger), word_s=model_chance.choice((0, 0, 0.01)))

    return answer


def _calls(key: str) -> tuple[Any, ...]:
    slow = "sleep 0.1; " if key.endswith(("3", "7")) else ""
    first, second = (f"{slow}{effect(f'{key}.{n}')}" for n in (1, 2))
    return terminal(first), terminal(f"cat effects | grep -c {key}"), terminal(second)


def _results(asked: Asked) -> dict[str, list[str]]:
    """Return the results of each order's effects."""
    commands: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for message in asked.messages:
        for call in message.get("tool_calls") or ():
            commands[call["id"]] = call["function"]["arguments"]
        made = re.search(r"echo ([a-d]-\d+)\.", commands.get(message.get("tool_call_id", ""), ""))
        if made:
            done = "[exit status 0" in text_of(message)
            found.setdefault(made[1], []).append("done" if done else "unknown")
    return found


async def lives(world: World, kills: int) -> None:
    """Run several lives of a gateway: start, talk, kill or stop."""
    here, chance, died = world.here, world.chance, 0
    while died < kills:
        await here.start(ready=False)
        clients = [asyncio.create_task(_when_up(world, name)) for name in SESSIONS]
        if chance.random() < 0.25:
            await asyncio.sleep(chance.uniform(0, BOOT_S))
        else:
            await here.ready()
            await asyncio.sleep(chance.uniform(0, LIFE_S))
        stops = here.boots % (KILLS_IN_A_ROW + 1) == 0
        if stops:
            await here.ready()
            assert await here.stop() == 0
        else:
            await here.kill()
            died += 1
            if chance.random() < 0.25:
                _kill_commands(here)
        await asyncio.gather(*clients)


async def _when_up(world: World, session: str) -> None:
    """Retry a message until the gateway listens."""
    while world.here.child is not None and world.here.child.returncode is None:
        if await world.here.health():
            return await world.talk(session)
        await asyncio.sleep(0.05)
    return None


def _kill_commands(here: GatewayProcess) -> None:
    """Kill the gateway's commands, to simulate a power cut as far as possible."""
    for begun in here.home.glob("calls/*/begun"):
        if not (begun.parent / "status").exists():
            end_command(begun.parent)


@pytest.mark.soak
async def test_killed_at_many_instants_each_message_is_answered_once(tmp_path: Path) -> None:
    seed = int(os.environ.get("HERMES_SEED", str(time.time_ns() % 10**9)))
    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = rule(random.Random(seed + 1))
        here.configure(gateway={"drain_timeout_s": 0.1, "resume": {"attempts_max": 100}})
        world = World(here, random.Random(seed))
        try:
            await lives(world, KILLS)
            await here.start()
            await asyncio.gather(*(world.talk(name, once=True) for name in SESSIONS))
            await check(world, model)
        except (AssertionError, TimeoutError, httpx2.HTTPError) as broken:
            broken.add_note(f"HERMES_SEED={seed}, {here.boots} boots, home {here.home}")
            raise


async def check(world: World, model: Model) -> None:
    here = world.here
    assert sum(map(len, world.open.values())) == 0, "a message has no answer"
    for session in SESSIONS:
        await idle(here, session)
        heard = [key for text in await said(here, session) for key in ORDER.findall(text)]
        assert Counter(heard) == Counter(f"{session}-{n + 1}" for n in range(world.said[session]))
    for key, body in world.texts.items():
        assert await raw(here, "again", key[0], key=key) == body, "C26: another answer"
    _check_effects(effects(here), world.texts)
    turns = await here.hermes("turns", "list", "--limit", "1000", "--json")
    assert {turn["state"] for turn in turns} == {"answered"}
    assert world.cuts > 0, "nobody was cut off"
    assert any(NOTE in asked.everything for asked in model.asked), "nothing was resumed"
    assert max(asked.everything.count(NOTE) for asked in model.asked) == 1


def _check_effects(lines: list[str], answers: dict[str, bytes]) -> None:
    times = Counter(lines)
    assert set(times.values()) <= {1}, f"C20, C23: done twice: {times.most_common(3)}"
    for key, body in answers.items():
        told = re.search(rf"\b{key}=(\w+),(\w+)", body.decode())
        assert told is not None, f"{key} was not answered"
        for n, outcome in enumerate(told.groups(), start=1):
            assert times[f"{key}.{n}"] == 1 or outcome == "unknown", f"{key}.{n} never happened"
