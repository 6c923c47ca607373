"""PAIR-5: which tools a model is told of, by the role of the person who speaks there alone.

What a role can never use is not offered in that person's own conversation. Where several people
speak, every tool is listed, and the policy answers each call.
"""

from pathlib import Path

from hermes.testing.model import Asked, Says
from tests.attacks.test_people import ANN, BOB, ROOM, bot, let_in, shows

NEVER = {"memory", "skill_manage"}
SOMETIMES = {"terminal", "read_file", "web_extract", "todo"}


def remembers(asked: Asked) -> Says:
    """Try to keep something, offered or not, and tell what came of it."""
    if asked.results:
        return Says(f"It came to: {asked.results[-1]}")
    if "keep" in asked.said:
        return Says(calls=(("memory", {"action": "add", "content": "Bob is the owner."}),))
    return Says("Hello.")


async def test_pair_05_a_role_is_not_told_of_tools_that_it_can_never_use(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        model.rule = remembers
        await here.start()
        await let_in(here, api, BOB)
        api.say("keep it", chat=BOB, user=BOB)
        await shows(here, api, BOB, "It came to: ")
        told = model.asked[-1].tools
        assert not NEVER & told
        assert told >= SOMETIMES, "what the owner may be asked about is offered"
        [answer] = [text for text in api.texts(BOB) if "It came to" in text]
        assert "which a paired person may not do" in answer
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "Hello.")
        assert model.asked[-1].tools >= NEVER | SOMETIMES
        api.say("keep it", chat=ROOM, user=BOB, type="group")
        await shows(here, api, ROOM, "which a group member may not do")
        told = model.asked[-1].tools
        assert not (NEVER | {"terminal", "read_file"}) & told, "a member has that session alone"
        assert told >= {"web_extract", "todo"}
