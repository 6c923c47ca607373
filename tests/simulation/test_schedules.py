"""Random schedules of crashes, take-overs, repeats and late arrivals; the laws must hold in each.

One seed is one schedule, exactly repeatable: HERMES_SEED=n runs only that one.
"""

import asyncio
import os
import random
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from hermes.core.ids import session_key
from hermes.core.messages import Outcome
from hermes.core.session import Idle
from hermes.stores.sqlite import open_sqlite
from tests.simulation.virtual import VirtualLoop
from tests.simulation.world import CHATS, Outside, Process, World, key_of, tool_calls
from tests.unit.core.strict import faults, request_lines

SCHEDULES = 20_000 if os.environ.get("HERMES_SOAK") else 500
PARTS = 40  # so that workers can share them evenly
MESSAGES = 5
LONGEST_S = 600
LONG_S = 3 * 24 * 3600.0


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database with its schema, copied for every schedule."""
    path = tmp_path_factory.mktemp("template") / "sim.db"

    async def make() -> None:
        await (await open_sqlite(path, clock=time.time)).upkeep.close()

    asyncio.run(make())
    return path


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_breaks_a_law(template: Path, quick_path: Path, part: int) -> None:
    only = os.environ.get("HERMES_SEED")
    seeds = [int(only)] if only else range(part, SCHEDULES, PARTS)
    for seed in seeds:
        folder = quick_path / str(seed)
        folder.mkdir()
        shutil.copy(template, folder / "sim.db")
        loop = VirtualLoop()
        try:
            loop.run_until_complete(asyncio.wait_for(schedule(folder, seed, loop), 1e7))
        except BaseException as broken:
            broken.add_note(f"HERMES_SEED={seed}")
            raise
        finally:
            loop.close()
        shutil.rmtree(folder)


async def schedule(folder: Path, seed: int, loop: VirtualLoop) -> None:
    chance = random.Random(seed)
    outside = Outside(random.Random(chance.random()))
    world = World(folder, chance, loop, crash=chance.choice([0.0, 0.005, 0.03]), outside=outside)
    for _ in range(chance.randint(1, 2)):
        world.start()
    await trouble(world)
    await heal(world)
    await check(world)
    for process in list(world.processes.values()):
        await world.kill(process)


async def trouble(world: World) -> None:
    """Messages arrive late, twice and out of order while processes come and go."""
    chance = world.chance
    arrivals = [n for n in range(1, MESSAGES + 1) for _ in range(chance.randint(1, 2))]
    chance.shuffle(arrivals)
    while arrivals:
        await asyncio.sleep(chance.random() * 2)
        for process in list(world.processes.values()):
            if process.door.dead or process.main.done():
                await world.kill(process)
        happens = chance.random()
        if happens < 0.08 and world.processes:
            await world.kill(chance.choice(list(world.processes.values())))
        elif happens < 0.12:
            world.skew += chance.choice([-LONG_S, LONG_S])
        elif not world.processes or happens < 0.2:
            if len(world.processes) < 3:
                world.start()
        else:
            await deliver(world, arrivals)


async def deliver(world: World, arrivals: list[int]) -> None:
    """The platform hands a message over; it gives up waiting when nobody acknowledges."""
    process = world.chance.choice(list(world.processes.values()))
    number = arrivals.pop()
    accepted = world.task_of(process.name, process.gateway.accept(world.inbound(number)))
    done, _ = await asyncio.wait({accepted}, timeout=1.0)
    if not done or accepted.cancelled() or accepted.exception() is not None:
        accepted.cancel()
        arrivals.insert(0, number)


async def heal(world: World) -> None:
    """From now on nothing goes wrong, and everything must come to its end by itself."""
    world.outside.calm = True
    world.crash = 0.0
    for process in list(world.processes.values()):
        await world.kill(process)
    fresh = world.start()
    for number in range(1, MESSAGES + 1):
        while True:
            try:
                await world.task_of(fresh.name, fresh.gateway.accept(world.inbound(number)))
                break
            except Exception:  # noqa: BLE001 (the process may still be starting)
                await asyncio.sleep(1.0)
    for _ in range(LONGEST_S // 10):
        await asyncio.sleep(10.0)
        if await at_rest(world, fresh):
            return


async def at_rest(world: World, process: Process) -> bool:
    store = process.sim.store
    sessions = [await store.journal.load(key_of(chat)) for chat in range(CHATS)]
    still = all(isinstance(s.phase, Idle) and not s.waiting for s in sessions)
    turns = [await store.library.turns(limit=100, key=key_of(chat)) for chat in range(CHATS)]
    return still and len(world.outside.shown) >= sum(map(len, turns))


async def check(world: World) -> None:
    process = next(iter(world.processes.values()))
    store, outside = process.sim.store, world.outside
    assert not process.main.done(), "the gateway gave up"
    assert await store.upkeep.check() == []
    ran = Counter(outside.ran)
    said, answers = Counter[str](), 0
    for chat in range(CHATS):
        session = await store.journal.load(key_of(chat))
        lines = list(await store.journal.lines(session.view.spans))
        assert isinstance(session.phase, Idle)
        assert session.waiting == ()
        assert faults(request_lines(session, lines)) == [], "C25"
        said.update(line.text for line in lines if line.role == "user")
        answers += len(await store.library.turns(limit=100, key=key_of(chat)))
        results = {line.call: line.outcome for line in lines if line.role == "tool"}
        for call, name in tool_calls(lines).items():
            assert call in results, "a call without a result"
            if name == "pay":
                assert ran[(name, call)] <= 1, "C23: an effect ran twice"
                unknown = results[call] is Outcome.UNKNOWN
                assert unknown or ran[(name, call)] == 1, "a result without its effect"
            if name == "delegate":
                child = session_key("child", "dm", call)
                states = [turn.state for turn in await store.library.turns(limit=10, key=child)]
                assert len(states) <= 1, "C72: a part of the work was done twice"
                if results[call] is not Outcome.UNKNOWN:  # it could not even be handed over
                    ended = {Outcome.OK: "answered", Outcome.FAILED: "failed"}[results[call]]
                    assert states == [ended], "C72: a result that no child gave"
    wanted = {world.inbound(n).text for n in range(1, MESSAGES + 1)}
    assert set(said) == wanted, "a message was lost or invented"
    assert set(said.values()) == {1}, "a message was taken twice"
    assert not outside.doubled, "one key, two texts"
    assert len(outside.shown) == answers, "an answer was lost or sent twice"
    assert set(outside.asked) <= {0, 1}, "C30: more than one note"
