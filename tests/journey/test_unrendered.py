"""A reply that its channel cannot render is dropped, and the others are sent."""

from collections.abc import Sequence
from pathlib import Path

from tests.doubles.plaza import Plaza
from tests.journey.test_serving import KEY, Model, gateway, until


async def test_a_reply_that_cannot_be_rendered_is_given_up_once_and_holds_up_no_other(
    tmp_path: Path,
) -> None:
    class Picky(Plaza):
        rendered = 0

        def render(self, text: str) -> Sequence[str]:
            self.rendered += 1
            if "odd" in text:
                raise KeyError(text)
            return super().render(text)

    plaza, model = Picky(), Model()
    plaza.open.set()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "odd")
        await until(lambda: plaza.rendered > 0)
        await plaza.say(2, "hello")
        await until(lambda: plaza.shows() == ["I think so: hello"])
    async with gateway(tmp_path, plaza, model) as serves:
        rows = await serves.engine.store.outbox.rows(KEY, limit=5)
        assert [row.state for row in rows] == ["delivered", "abandoned"]
