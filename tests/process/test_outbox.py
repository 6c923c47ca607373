"""C51 to C54 under kills and stops: order, doubt only where bytes have left, one visible answer."""

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from hermes.testing.model import Model, Says
from tests.doubles.telegram import BotApi
from tests.process.gateway import GatewayProcess, gateway

ANN = 7


class SlowApi(BotApi):
    """Accept a message at once, and confirm it late."""

    slow_s = 0.0

    async def _do(self, method: str, fields: dict[str, str], files: dict[str, Any]) -> Any:
        result = await super()._do(method, fields, files)
        if method == "sendMessage":
            await asyncio.sleep(self.slow_s)
        return result


@asynccontextmanager
async def bot(
    folder: Path, *, drafts: bool = False
) -> AsyncIterator[tuple[GatewayProcess, SlowApi, Model]]:
    async with SlowApi() as api, Model().up() as model, gateway(folder, model) as here:
        telegram = {"token": api.token, "api_base": api.url, "drafts": drafts, "poll_s": 1}
        here.configure(platforms={"telegram": {**telegram, "allowed_users": [ANN]}})
        yield here, api, model


async def said(here: GatewayProcess, api: BotApi, *words: str) -> None:
    for word in words:
        api.say(word, chat=ANN, user=ANN)
        await here.until(lambda word=word: _answered(here, word))


async def _answered(here: GatewayProcess, word: str) -> bool:
    rows = await here.hermes("turns", "list", "--json")
    return len([row for row in rows if row["state"] == "answered"]) >= int(word)


async def shows(here: GatewayProcess, api: BotApi, count: int, limit_s: float = 30.0) -> None:
    async def there() -> bool:
        return len(api.texts(ANN)) >= count

    await here.until(there, limit_s)


def answers(*words: str) -> list[str]:
    return [f"You said: {word}" for word in words]


async def outbox(here: GatewayProcess) -> dict[str, int]:
    return dict((await here.hermes("gateway", "status", "--json"))["outbox"])


async def test_c52_every_reply_that_waited_arrives_after_a_start_and_in_order(
    tmp_path: Path,
) -> None:
    """There are more replies than a start waits for before it continues."""
    words = [str(n) for n in range(1, 8)]
    async with bot(tmp_path) as (here, api, _):
        await here.start()
        api.fault("sendMessage", "error", times=10_000)
        await said(here, api, *words)
        await here.kill()
        api.faults.clear()
        api.slow_s = 0.9
        await here.start()
        await shows(here, api, len(words))
        assert api.texts(ANN) == answers(*words)
        await here.until(lambda: _empty(here))


async def _empty(here: GatewayProcess) -> bool:
    return not await outbox(here)


async def test_c51_a_later_answer_does_not_overtake_one_that_failed(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, _):
        await here.start()
        api.fault("sendMessage", "error", times=2)
        await said(here, api, "1", "2", "3")
        await shows(here, api, 3)
        assert api.texts(ANN) == answers("1", "2", "3")


async def test_c51_what_only_waits_for_its_chat_is_not_doubted_after_a_kill(
    tmp_path: Path,
) -> None:
    """Telegram accepts one message a second for a chat; the process dies while one waits for
    that."""
    parts = [f"{name} {'word ' * 700}" for name in ("first", "second", "third")]
    async with bot(tmp_path) as (here, api, model):
        model.rule = lambda _asked: Says("\n\n".join(parts))
        await here.start()
        api.say("long", chat=ANN, user=ANN)
        await shows(here, api, 1)
        await here.until(lambda: _waits_for_its_next_chunk(here))
        await here.kill()
        await here.start()
        await shows(here, api, 3)
        assert [text.split()[0] for text in api.texts(ANN)] == ["first", "second", "third"]
        assert api.called("forwardMessage") == [], "there was nothing to look for"


async def _waits_for_its_next_chunk(here: GatewayProcess) -> bool:
    with closing(sqlite3.connect(f"file:{here.home / 'hermes.db'}?mode=ro", uri=True)) as db:
        [(state, chunks)] = db.execute("SELECT state, chunks FROM outbox").fetchall()
    return bool(state == "pending" and chunks)


async def test_c51_a_stop_in_good_order_leaves_no_doubt(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, _):
        await here.start()
        api.slow_s = 2.0
        api.say("1", chat=ANN, user=ANN)
        await shows(here, api, 1)
        started = here.started_at()
        here.signal(signal.SIGUSR1)
        await here.restarted(started)
        api.slow_s = 0.0
        api.say("2", chat=ANN, user=ANN)
        await shows(here, api, 2)
        assert api.texts(ANN) == answers("1", "2")
        assert api.called("forwardMessage") == [], "there was nothing to look for"


async def test_c54_a_draft_whose_receipt_was_lost_is_found_again(tmp_path: Path) -> None:
    """The platform has the draft, and the process dies before the receipt arrives."""
    whole = "one two three four five six seven eight"
    async with bot(tmp_path, drafts=True) as (here, api, model):
        model.rule = lambda _asked: Says(whole, word_s=0.4)
        await here.start()
        api.slow_s = 3600.0
        api.say("go", chat=ANN, user=ANN)
        await shows(here, api, 1)
        await here.kill()
        api.slow_s = 0.0
        await here.start()

        async def answered() -> bool:
            return whole in api.texts(ANN)

        await here.until(answered)
        assert api.texts(ANN) == [whole]


async def test_c54_a_stopped_turn_leaves_no_draft_even_when_nothing_can_be_removed(
    tmp_path: Path,
) -> None:
    """The removal is stored, so it is tried again, also after a kill."""
    async with bot(tmp_path, drafts=True) as (here, api, model):
        here.configure(gateway={"busy": "interrupt"})
        long = "one two three four five six seven eight nine ten"

        async def rule(asked: Any) -> Says:
            return Says(long, word_s=0.5) if asked.said == "go" else Says("Stopped and changed.")

        model.rule = rule
        await here.start()
        api.say("go", chat=ANN, user=ANN)
        await shows(here, api, 1)
        api.fault("deleteMessage", "error", times=10_000)
        await asyncio.sleep(1.0)
        api.say("something else", chat=ANN, user=ANN)
        await here.until(lambda: _is(bool(api.called("deleteMessage"))))
        await here.kill()
        api.faults.clear()
        await here.start()
        await here.until(lambda: _is(api.texts(ANN) == ["Stopped and changed."]))


async def _is(true: bool) -> bool:
    return true


@asynccontextmanager
async def held_back(folder: Path) -> AsyncIterator[tuple[GatewayProcess, Model]]:
    """Yield a gateway after three crashed boots in the same turn; the fourth does not resume it."""
    async with Model().up() as model, gateway(folder, model) as here:

        async def rule(_asked: Any) -> Says:
            await model.hold("wait")
            return Says("Here it is.")

        model.rule = rule
        here.configure(gateway={"resume": {"attempts_max": 50}})
        await here.start()
        asking = asyncio.create_task(here.say("wait", key="k"))
        await model.reached("wait")
        asking.cancel()
        for _ in range(2):
            await here.kill()
            model.shut("wait")
            await here.start()
            await model.reached("wait")
        await here.kill()
        model.open("wait")
        await here.start()
        assert not (await here.hermes("gateway", "status", "--json"))["resumes"]
        yield here, model


async def test_c15_what_the_breaker_holds_back_goes_on_at_the_next_good_start(
    tmp_path: Path,
) -> None:
    async with held_back(tmp_path) as (here, model):
        asked = len(model.asked)
        await asyncio.sleep(0.5)
        assert len(model.asked) == asked
        await here.stop()
        await here.start()
        await here.until(lambda: _is(len(model.asked) == asked + 1))
        assert (await here.say("wait", key="k")).text == "Here it is."


async def test_c15_a_client_who_repeats_its_key_is_heard_in_spite_of_the_breaker(
    tmp_path: Path,
) -> None:
    async with held_back(tmp_path) as (here, model):
        assert (await here.say("wait", key="k")).text == "Here it is."
        assert "interrupt" in model.asked[-1].everything
