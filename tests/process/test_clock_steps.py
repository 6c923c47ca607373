"""The machine's clock is set forward and back by days while the gateway runs."""

from pathlib import Path

from hermes.testing.model import Model
from tests.process.faked_clock import faked_clock
from tests.process.gateway import gateway

DAY = 86_400.0


async def test_a_step_of_the_clock_loses_no_message_and_doubles_none(tmp_path: Path) -> None:
    clock = faked_clock(tmp_path)
    clock.set("2027-03-28T01:59:58+01:00")
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.extra = clock.environ
        await here.start()
        first = await here.say("before", key="1")
        clock.set(clock.now() + 3 * DAY)
        second = await here.say("ahead", key="2")
        clock.set(clock.now() - 6 * DAY)
        third = await here.say("back", key="3")
        await here.kill()
        clock.set(clock.now() + DAY)
        await here.start()
        again = [await here.say("?", key=key) for key in ("1", "2", "3")]
        assert [one.text for one in again] == [first.text, second.text, third.text]
        assert [one.turn for one in again] == [first.turn, second.turn, third.turn]
        assert len(model.asked) == 3
