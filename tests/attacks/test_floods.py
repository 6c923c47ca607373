"""RES-4 and RES-5 from outside: a real gateway, a Bot API, and people who send too much."""

import os
import time
from pathlib import Path

import pytest

from hermes.testing.model import Says
from tests.attacks.test_people import ANN, BOB, bot, handled, let_in, shows
from tests.doubles.telegram import BotApi
from tests.process.gateway import GatewayProcess

SERVED_S = 10.0  # what a second is on a machine with better things to do
GROWTH_BYTES_MAX = 60_000_000
A_MINUTE = 30


def memory(here: GatewayProcess) -> int:
    pages = (Path("/proc") / str(here.pid) / "statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def disk(here: GatewayProcess) -> int:
    return sum(file.stat().st_size for file in here.home.rglob("*") if file.is_file())


async def served(here: GatewayProcess, api: BotApi, text: str) -> float:
    """Return how long the owner waits for an answer now."""
    began = time.monotonic()
    api.say(text, chat=ANN, user=ANN)

    async def answered() -> bool:
        return any(f"You said: {text}" in shown for shown in api.texts(ANN))

    await here.until(answered, 12 * SERVED_S)
    return time.monotonic() - began


async def test_res_05_ten_thousand_messages_of_strangers_cost_nobody_anything(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        await served(here, api, "first")
        before, kept = memory(here), disk(here)
        for n in range(10_000):
            who = 10_000 + n % 1_000
            api.say(f"hello {n} {'x' * 500}", chat=who, user=who)
        await served(here, api, "in between")
        await handled(here, api)
        assert await served(here, api, "afterwards") < SERVED_S
        assert len(model.asked) == 3
        assert memory(here) - before < GROWTH_BYTES_MAX
        assert disk(here) - kept < 2_000_000


async def test_res_05_one_guest_who_floods_is_told_once_and_the_owner_is_served(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        await let_in(here, api, BOB)
        before, kept = memory(here), disk(here)
        for n in range(3_000):
            api.say(f"again {n} {'x' * 1_000}", chat=BOB, user=BOB)
        await served(here, api, "hello")
        await handled(here, api)
        assert await served(here, api, "and now") < SERVED_S
        told = [text for text in api.texts(BOB) if "messages too quickly" in text]
        assert len(told) == 1
        heard = [asked for asked in model.asked if "again" in asked.said]
        assert 0 < len(heard) <= 2 * A_MINUTE
        assert memory(here) - before < GROWTH_BYTES_MAX
        assert disk(here) - kept < 5_000_000


async def test_res_05_two_agents_that_answer_each_other_are_slowed_down(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        here.configure(people={"messages_per_minute": 6})
        await here.start()
        await let_in(here, api, BOB)
        model.rule = lambda asked: Says("And you?")
        api.say("How are you?", chat=BOB, user=BOB)
        answers = 0
        while not any("messages too quickly" in text for text in api.texts(BOB)):
            assert answers <= A_MINUTE
            await shows_more(here, api, answers)
            answers += 1
            api.say("And you?", chat=BOB, user=BOB)
        asked = len(model.asked)
        api.say("And you?", chat=BOB, user=BOB)
        await handled(here, api)
        assert len(model.asked) <= asked + 1


async def shows_more(here: GatewayProcess, api: BotApi, answers: int) -> None:
    async def more() -> bool:
        said = [text for text in api.texts(BOB) if "And you?" in text or "too quickly" in text]
        return len(said) > answers

    await here.until(more)


async def test_res_04_what_is_too_large_is_refused_or_not_even_fetched(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        api.say("x" * 100_001, chat=ANN, user=ANN)
        await shows(here, api, ANN, "longer than 100,000 characters")
        api.files["big"] = b"x" * 1_000
        huge = {"file_id": "big", "file_unique_id": "u", "file_size": 1_000_000_000}
        for n in range(10):
            api.say(chat=ANN, user=ANN, document={**huge, "file_name": f"{n}.iso"})
            api.say(chat=BOB, user=BOB, document={**huge, "file_size": 10})
        await handled(here, api)
        assert [call for call in api.calls if call.method == "getFile"] == []
        assert list((here.home / "media").glob("*")) == []
        assert "20 MB" in model.asked[-1].everything


@pytest.mark.setting("people.messages_per_minute")
async def test_res_04_a_guest_who_floods_with_files_costs_no_download(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, _model):
        here.configure(people={"messages_per_minute": 3})
        await here.start()
        await let_in(here, api, BOB)
        for n in range(100):
            api.files[f"f{n}"] = b"x" * 1_000
            file = {"file_id": f"f{n}", "file_unique_id": f"u{n}", "file_size": 1_000}
            api.say(chat=BOB, user=BOB, document={**file, "file_name": f"{n}.txt"})
        await handled(here, api)
        assert len([call for call in api.calls if call.method == "getFile"]) <= 6
