"""Several gateways on one PostgreSQL share the work, and any of them may die."""

import asyncio
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes.app.engine import LEASE_S
from hermes.core.ids import NodeId
from hermes.stores.postgres import open_postgres
from hermes.testing.model import Asked, Model, Says, terminal
from tests.contract.server import fresh_database, running_server, this_run
from tests.doubles.telegram import BotApi
from tests.process.cluster import (
    EFFECTS,
    Crowd,
    Said,
    agreed,
    came_to_its_senses,
    effects,
    has_ended,
    is_lost,
    kept_promises,
    nodes,
    open_commands,
    rests,
    shared_folder,
    start,
    tried,
    until,
    worker,
)
from tests.process.database import Database, filled, own_database, why_no_cables
from tests.process.gateway import GatewayProcess

SESSIONS = 24
MESSAGES = 4
NO_CABLES = why_no_cables()
# This test depends on speed, so it needs an otherwise idle machine.
BUSY_MACHINE = pytest.mark.skipif(os.environ.get("HERMES_SOAK") != "1", reason="HERMES_SOAK=1")


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server(this_run()) as url:
        yield url


@pytest.fixture
def url(server: str) -> Iterator[str]:
    with fresh_database(server) as url:
        yield url


@BUSY_MACHINE
async def test_work_is_done_where_it_came_in(tmp_path: Path, url: str) -> None:
    async with Model().up() as model, nodes(tmp_path, model, [url] * 3) as here:
        model.rule = lambda asked: _held(model, asked)
        await start(here)
        said = [Said(f"s{n}", f"wait {n}", f"s{n}") for n in range(9)]
        asking = [asyncio.create_task(tried(here[n % 3], one)) for n, one in enumerate(said)]
        for one in said:
            await model.reached(one.text)
        shown = await asyncio.gather(*(node.hermes("gateway", "status", "--json") for node in here))
        assert [status["turns"]["running"] for status in shown] == [3, 3, 3]
        for one in said:
            model.open(one.text)
        assert [got and got.text for got in await asyncio.gather(*asking)] == ["Here it is."] * 9


@pytest.mark.setting("store.url")
async def test_c62_one_of_three_is_killed_under_load_and_nothing_is_lost_or_doubled(
    tmp_path: Path, url: str
) -> None:
    async with Model(rule=worker).up() as model, nodes(tmp_path, model, [url] * 3) as here:
        await start(here)
        crowd = Crowd(here, random.Random(7))
        talks = [asyncio.create_task(crowd.talk(f"s{n}", MESSAGES)) for n in range(SESSIONS)]
        await until(lambda: crowd.answered >= SESSIONS, 60.0)
        await until(lambda: any(open_commands(node) >= 2 for node in here), 60.0)
        dead, *alive = sorted(here, key=open_commands, reverse=True)
        killed_at = time.monotonic()
        await dead.kill()
        meanwhile = [one for one in crowd.said if not one.answers]
        await asyncio.gather(*talks)
        assert len(crowd.said) == SESSIONS * MESSAGES
        took_s = max(one.answered_at for one in meanwhile) - killed_at
        _tell(f"the last of {len(meanwhile)} was answered {took_s:.1f} s after the kill")
        assert took_s < 3 * LEASE_S
        await agreed(alive[0], crowd.said)
        assert any(is_lost(one.answers[0]) for one in crowd.said), "no command was under way"
        await until(lambda: open_commands(dead) == 0, 10.0)
        kept_promises(tmp_path, crowd.said)
        await rests(alive[0])


async def test_nodes_that_are_set_up_as_the_docs_say_verify_one_anothers_audit_log(
    tmp_path: Path, url: str
) -> None:
    async with Model(rule=worker).up() as model, nodes(tmp_path, model, [url] * 2) as here:
        for node in here:
            node.configure()
            await _told(node, "config", "set", "HERMES_AUDIT_KEY", "-", answer="5a" * 32)
        await start(here)
        for number, node in enumerate(here):
            assert (await node.say(f"do {number}", f"s{number}", key=f"k{number}")).status == 200
        for node in here:
            log = await _told(node, "audit", "verify")
            assert log.startswith("sound: "), log


async def _told(node: GatewayProcess, *words: str, answer: str = "") -> str:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "hermes", *words),
        env=node.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(child.communicate(f"{answer}\n".encode()), 60.0)
    return said.decode()


async def test_a_killed_node_gives_its_bot_to_another_and_no_message_is_lost(
    tmp_path: Path, url: str
) -> None:
    async with BotApi() as bot, Model().up() as model:
        model.rule = lambda asked: _held(model, asked)
        async with nodes(tmp_path, model, [url] * 3, **_telegram(bot)) as here:
            await start(here)
            dead = await _with_bot(here)
            bot.say("good morning")
            await until(lambda: bot.texts(7) == ["You said: good morning"], 20.0)
            bot.say("wait")
            await model.reached("wait")
            killed_at = time.monotonic()
            await dead.kill()
            bot.say("is anybody there?", chat=8, user=8)
            model.open("wait")
            await until(lambda: bot.texts(8) == ["You said: is anybody there?"], LEASE_S)
            _tell(f"the bot was with another {time.monotonic() - killed_at:.1f} s after the kill")
            await until(lambda: len(bot.texts(7)) == 2, LEASE_S)
            alive = [node for node in here if node is not dead]
            await _with_bot(alive)
            await rests(alive[0])
            assert bot.texts(7) == ["You said: good morning", "Here it is."]
            assert bot.texts(8) == ["You said: is anybody there?"]


async def test_a_turn_goes_on_at_a_node_that_does_not_have_its_bot(
    tmp_path: Path, url: str
) -> None:
    async with BotApi() as bot, Model().up() as model:
        model.rule = lambda asked: _held(model, asked)
        async with nodes(tmp_path, model, [url] * 2, **_telegram(bot)) as (first, second):
            await first.start()
            bot.say("wait")
            await model.reached("wait")
            await first.kill()
            model.shut("wait")
            store = await open_postgres(url, clock=time.time, lease_s=60.0)
            try:  # an unknown third node holds the bot
                await store.nodes.join(NodeId("third"), seat="elsewhere")
                assert await store.nodes.hold(NodeId("third"), "channel:telegram")
                await second.start()
                await model.reached("wait")
                assert await _bot_states([second]) == ["waiting"]
            finally:
                await store.upkeep.close()
            model.open("wait")
            await until(lambda: bot.texts(7) == ["Here it is."], LEASE_S)


async def test_a_node_that_is_leaving_takes_no_work_from_the_dead(tmp_path: Path, url: str) -> None:
    async with Model().up() as model:
        model.rule = lambda asked: _held(model, asked)
        async with nodes(tmp_path, model, [url] * 3) as (leaving, dead, fresh):
            asking = []
            for node, text in ((leaving, "wait 0"), (dead, "wait 1")):
                await node.start()
                asking.append(asyncio.create_task(tried(node, Said(text, text, text))))
                await model.reached(text)
            leaving.signal(signal.SIGTERM)
            await leaving.until_draining()
            await dead.kill()
            model.shut("wait 1")
            await asyncio.sleep(1.0)
            await fresh.start()
            await model.reached("wait 1")
            assert not has_ended(leaving)
            for text in ("wait 0", "wait 1"):
                model.open(text)
            assert await leaving.ended() == 0
            await asyncio.gather(*asking)


@pytest.mark.slow
async def test_a_database_that_goes_away_for_a_while_costs_time_and_nothing_else(
    tmp_path: Path,
) -> None:
    with own_database() as database:
        urls = [database.url] * 2
        async with Model(rule=worker).up() as model, nodes(tmp_path, model, urls) as here:
            await start(here)
            crowd = Crowd(here, random.Random(3))
            talks = [asyncio.create_task(crowd.talk(f"s{n}", 2 * MESSAGES)) for n in range(8)]
            await until(lambda: crowd.answered >= 8, 60.0)
            await asyncio.to_thread(database.stop, signal.SIGINT)  # a restart
            database.start()
            await until(lambda: crowd.answered >= 24, 60.0)
            await asyncio.to_thread(database.stop, signal.SIGQUIT)  # a crash
            await asyncio.sleep(6.0)  # longer than any client retries without a pause
            database.start()
            await asyncio.gather(*talks)
            assert [node.output() for node in here if has_ended(node)] == []
            await agreed(here[0], crowd.said)
            kept_promises(tmp_path, crowd.said)
            await rests(here[0])


@pytest.mark.slow
async def test_a_database_that_is_full_is_waited_for_and_nothing_is_lost(tmp_path: Path) -> None:
    with own_database() as database, database.small(megabytes=48) as url:
        async with Model(rule=worker).up() as model, nodes(tmp_path, model, [url] * 2) as here:
            await start(here)
            crowd = Crowd(here, random.Random(5))
            await crowd.talk("before", 2)
            with filled(url):
                talks = [asyncio.create_task(crowd.talk(f"s{n}", MESSAGES)) for n in range(8)]
                await asyncio.sleep(8.0)
                assert not all(talk.done() for talk in talks), "there was room after all"
                assert not any(has_ended(node) for node in here)
            await asyncio.gather(*talks)
            await agreed(here[0], crowd.said)
            kept_promises(tmp_path, crowd.said)
            await rests(here[0])


@pytest.mark.slow
@pytest.mark.skipif(bool(NO_CABLES), reason=NO_CABLES)
async def test_c62_a_node_that_is_cut_off_writes_and_shows_nothing_and_its_work_goes_on_elsewhere(
    tmp_path: Path,
) -> None:
    with own_database(cables=2) as database:
        async with BotApi() as bot, Model().up() as model:
            model.rule = lambda asked: _partition(model, asked)
            urls = [*(database.far_url(cable) for cable in database.cables), database.url]
            async with nodes(tmp_path, model, urls, **_telegram(bot)) as here:
                await _cut_off(database, bot, model, here)
                await rests(here[-1])


async def _cut_off(
    database: Database, bot: BotApi, model: Model, here: Sequence[GatewayProcess]
) -> None:
    folder = here[0].folder.parent
    far, near = here[:-1], here[-1]
    await start(far)
    began = {node.port: node.started_at() for node in far}
    said = [Said(f"{what}{n}", f"{what} {n}", f"{what}{n}") for n in (0, 1) for what in _BUSY]
    early = [asyncio.create_task(tried(far[int(one.text[-1])], one)) for one in said]
    bot.say("tell me a story")
    for point in ("think 0", "think 1"):
        await model.reached(point)
    await until(lambda: sum(effects(folder).values()) == 2 and bool(bot.texts()), 20.0)
    await near.start()
    database.cables[0].cut()
    database.cables[1].lose_replies()
    cut_at = time.monotonic()
    new = [Said(f"new{n}", f"new {n}", f"new{n}") for n in (0, 1)]
    early += [asyncio.create_task(tried(node, one)) for node, one in zip(far, new, strict=True)]
    for point in ("think 0", "think 1"):
        model.open(point)  # disconnected nodes receive the answer and cannot store it
    crowd = Crowd([near], random.Random(1), said + new)
    await asyncio.gather(*(crowd.ask(one) for one in said + new))
    took_s = max(one.answered_at for one in said) - cut_at
    _tell(f"the last turn of those that were cut off was answered {took_s:.1f} s after")
    assert took_s < 4 * LEASE_S
    await until(lambda: bot.texts() == [THE_END], LEASE_S)
    await asyncio.sleep(4.0)
    assert bot.texts() == [THE_END]
    assert [await node.health() for node in far] == [503, 503]
    assert all(got is None or got.status == 503 for got in await asyncio.gather(*early))
    database.cables[0].mend()
    database.cables[1].find_replies()
    for node in far:
        await came_to_its_senses(node, began[node.port], 2 * LEASE_S)
    (shared_folder(folder) / "go").touch()
    assert effects(folder) == {"0": 1, "1": 1}
    assert [is_lost(one.answers[0]) for one in said] == [one.text.startswith("act") for one in said]
    for one in said + new:
        assert [row["text"] for row in await _rows(near, one) if row["role"] == "user"] == [
            one.text
        ]
        assert (
            sum(bool(row["text"]) for row in await _rows(near, one) if row["role"] == "assistant")
            == 1
        )
    assert bot.texts() == [THE_END]


_BUSY = ("think", "act")
THE_END = "They lived happily ever after."


async def _partition(model: Model, asked: Asked) -> Says:
    said = asked.said.rpartition("\n")[2]
    what, _, which = said.partition(" ")
    match what:
        case "think":
            await model.hold(said)
        case "act" if not asked.results:
            command = f"echo {which} >> {EFFECTS}; until [ -e go ]; do sleep 0.1; done"
            return Says(calls=(terminal(command),))
        case "act":
            return Says(asked.results[-1])
        case "tell":
            times = sum(other.said.endswith("story") for other in model.asked)
            return Says(THE_END) if times > 1 else Says("Once upon a time " * 50, word_s=0.3)
        case _:
            pass
    return Says(f"You said: {said}")


async def _held(model: Model, asked: Asked) -> Says:
    said = asked.said.rpartition("\n")[2]
    if said.startswith("wait"):
        await model.hold(said)
        return Says("Here it is.")
    return Says(f"You said: {said}")


def _telegram(bot: BotApi) -> dict[str, Any]:
    section = {"token": bot.token, "api_base": bot.url, "allowed_users": [7, 8]}
    return {"platforms": {"telegram": section}}


async def _with_bot(here: Sequence[GatewayProcess]) -> GatewayProcess:
    """Return the node that holds the connection; the others wait for it."""
    states = await _bot_states(here)
    assert sorted(states) == ["connected", *["waiting"] * (len(here) - 1)]
    return here[states.index("connected")]


async def _bot_states(here: Sequence[GatewayProcess]) -> list[str]:
    shown = await asyncio.gather(*(node.hermes("gateway", "status", "--json") for node in here))
    return [
        next(channel["state"] for channel in one["channels"] if channel["name"] == "telegram")
        for one in shown
    ]


async def _rows(here: GatewayProcess, one: Said) -> list[Any]:
    return list(await here.get(f"/v1/sessions/{one.session}/messages"))


def _tell(text: str) -> None:
    """Print a line, shown by pytest -rP."""
    sys.stdout.write(f"{text}\n")
