"""The real gateway with a model that answers oddly: other people are served, nothing is lost."""

import asyncio
from pathlib import Path

from hermes.testing.model import Asked, Model, Says, plain
from tests.process.gateway import gateway

WAIT_S_MAX = 20.0  # for another person, on a busy machine


async def test_res_08_a_long_word_in_small_pieces_holds_up_nobody_else(tmp_path: Path) -> None:
    word = "0123456789abcdef" * 6_000

    def rule(asked: Asked) -> Says:
        return Says(word, piece=8) if "long" in asked.said else plain(asked)

    async with Model(rule=rule).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        loop, slowest = asyncio.get_running_loop(), 0.0
        long = asyncio.create_task(here.say("a long word", "one", limit_s=90.0))
        while not long.done():
            began = loop.time()
            assert await here.health() == 200
            slowest = max(slowest, loop.time() - began)
        assert (await long).text == word
        assert slowest < WAIT_S_MAX
        assert (await here.say("hello", "two")).text == "You said: hello"


async def test_a_sign_that_comes_in_two_halves_is_one_sign(tmp_path: Path) -> None:
    halves = "".join(chr(0xD800 + n) for n in (0x3D, 0x600))  # no text, in two pieces

    async with Model().up() as model, gateway(tmp_path, model) as here:
        model.rule = lambda _asked: Says(f"Well done {halves}!", piece=1)
        await here.start()
        assert (await here.say("hello")).text == "Well done \N{GRINNING FACE}!"
        assert len(model.asked) == 1, "it was no failure"
