"""C40 to C42 on the real process: a long conversation is summed up, whatever happens meanwhile."""

import asyncio
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import NOTE, idle, rows, session_row, tried

SUMS_UP = "You sum up a conversation"
SUMMED_UP = "The conversation so far, summed up by Hermes"
NOTES = "## Finished: not to be done again\n- the garden was watered"
WINDOW = 10_000
LONG = "long words " * 300


def sums_up(asked: Asked) -> bool:
    return asked.messages[0]["content"].startswith(SUMS_UP)


def read(asked: Asked) -> int:
    return len(asked.everything) // 4


def talks(asked: Asked) -> Says:
    """Answer with a token count of the request, as a provider does."""
    if sums_up(asked):
        return Says(NOTES, read=read(asked))
    return Says(f"Yes: {LONG}", read=read(asked))


async def talk(here: GatewayProcess, times: int, first: int = 0) -> None:
    for n in range(first, first + times):
        got = await here.say(f"water garden {n}, never touch the roses", key=f"k{n}")
        assert got.status == 200, got.body


def summaries(model: Model) -> list[Asked]:
    return [asked for asked in model.asked if sums_up(asked)]


def reads_a_summary(asked: Asked) -> bool:
    return SUMMED_UP in str(asked.messages[1]["content"])


@pytest.mark.setting("model.context_length")
async def test_c40_c42_a_long_conversation_is_summed_up_and_goes_on(tmp_path: Path) -> None:
    async with Model(talks).up() as model, gateway(tmp_path, model) as here:
        here.configure(model={"context_length": WINDOW})
        await here.start()
        before = None
        for n in range(9):
            await talk(here, 1, n)
            row = await session_row(here)
            before = before or row["id"]
            assert row["id"] == before, "C40: the session's id does not change"
        asked = summaries(model)
        assert asked, "the provider's own counts trigger it"
        assert all(NOTE not in one.everything for one in asked), "C42"
        assert reads_a_summary(model.asked[-1])
        told = str(model.asked[-1].messages[1]["content"])
        assert "the garden was watered" in told
        assert "> water garden 0, never touch the roses" in told, "in the person's own words"
        assert max(read(one) for one in model.asked) < WINDOW
        said = [row["text"] for row in await rows(here) if row["role"] == "user"]
        assert said == [f"water garden {n}, never touch the roses" for n in range(9)]


async def test_c41_killed_while_it_is_summed_up_nothing_is_lost_and_it_is_done_again(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if sums_up(asked):
                await model.hold("summary")
            return talks(asked)

        model.rule = rule
        resume = {"attempts_max": 50}
        here.configure(model={"context_length": WINDOW}, gateway={"resume": resume})
        await here.start()
        asking = asyncio.create_task(talk_until_cut(here))
        for _ in range(2):  # a third in a row would be a storm (C15)
            await model.reached("summary")
            await here.kill()
            model.shut("summary")
            await here.start()
        await model.reached("summary")
        model.open("summary")
        await asking
        await idle(here)
        assert reads_a_summary(model.asked[-1])
        said = [row["text"] for row in await rows(here) if row["role"] == "user"]
        assert said == [f"water garden {n}, never touch the roses" for n in range(len(said))]
        answers = [row for row in await rows(here) if row["role"] == "assistant"]
        assert len(answers) == len(said), "each is answered once"


async def talk_until_cut(here: GatewayProcess) -> None:
    """Repeat a message under the same key until it is answered, across any number of crashes."""
    for n in range(9):
        text, key = f"water garden {n}, never touch the roses", f"k{n}"
        await here.until(lambda text=text, key=key: answered(here, text, key), 60.0)


async def answered(here: GatewayProcess, text: str, key: str) -> bool:
    got = await tried(here, text, key=key)
    return got is not None and got.status == 200


async def test_an_overflow_is_answered_after_a_summary(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if not sums_up(asked) and read(asked) > WINDOW:
            return Says("maximum context length exceeded: context_length_exceeded", status=400)
        return talks(asked)

    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        await here.start()  # the size of the model's window is unknown
        await talk(here, 12)
        assert summaries(model)
        assert reads_a_summary(model.asked[-1])


async def test_a_summary_that_fails_keeps_everything_and_is_tried_again_later(
    tmp_path: Path,
) -> None:
    def rule(asked: Asked) -> Says:
        return Says("not today", status=400) if sums_up(asked) else talks(asked)

    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        here.configure(model={"context_length": WINDOW})
        await here.start()
        await talk(here, 7)
        tries = len(summaries(model))
        assert tries == 1, "it waits before it tries again"
        await here.kill()
        await here.start()
        await talk(here, 1, 7)
        assert len(summaries(model)) == tries, "also after a restart"
        assert not reads_a_summary(model.asked[-1])
        assert "water garden 0" in model.asked[-1].everything


async def test_compress_works_between_turns_with_a_focus_and_can_be_stopped(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held = asyncio.Event()

        async def rule(asked: Asked) -> Says:
            if sums_up(asked) and not held.is_set():
                held.set()
                await model.hold("summary")
            return talks(asked)

        model.rule = rule
        here.configure(model={"context_length": 20_000})
        await here.start()
        await talk(here, 6)
        got = await here.say("/compress the roses", key="c1")
        assert "compress" in got.text
        await model.reached("summary")
        assert "the roses" in summaries(model)[0].everything
        other = await here.say("hello", "other")
        assert other.status == 200, "another session is not held up"
        await here.say("/stop", key="s1")
        await talk(here, 1, 6)
        assert not reads_a_summary(model.asked[-1])
        await here.say("/compress", key="c2")
        await idle(here)
        await talk(here, 1, 7)
        assert reads_a_summary(model.asked[-1])


async def test_a_turn_with_many_results_is_summed_up_in_the_middle(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        if sums_up(asked):
            return Says(NOTES, read=read(asked))
        done = sum(one.body["messages"] != asked.body["messages"] for one in turns)
        turns.append(asked)
        if done >= 25:
            return Says("All done.", read=read(asked))
        return Says(calls=(terminal(f"echo {done}; seq 1 300"),), read=read(asked))

    turns: list[Asked] = []
    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        here.configure(model={"context_length": WINDOW})
        await here.start()
        got = await here.say("count to 25, one at a time")
        assert got.text == "All done."
        assert "count to 25, one at a time" in model.asked[-1].everything
        assert max(read(one) for one in turns) < 1.5 * WINDOW
