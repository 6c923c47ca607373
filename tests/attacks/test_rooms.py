"""C64: whoever else's words are in a turn, it has no more rights than the weakest of them.

A room with the owner and a member. The probe is a command: the owner's runs or is asked about, a
member's is refused.
"""

from pathlib import Path

from hermes.testing.model import Asked, Model, Says
from tests.attacks.test_people import ANN, EVE, ROOM, bot, handled, shows
from tests.process.gateway import GatewayProcess

PROBE = ("terminal", {"command": "echo pwned > steered.txt"})


def obeys(model: Model) -> None:
    """Use a rule that runs what it is told, and waits in between so that others can write."""

    async def rule(asked: Asked) -> Says:
        if len(asked.results) >= 2 or "no more" in asked.said:
            return Says(f"It came to: {asked.results[-1] if asked.results else 'nothing'}")
        if asked.results or "write" in asked.said:
            return Says(calls=(PROBE,))
        if "work" in asked.said:
            return Says(calls=(("terminal", {"command": "sleep 3"}),))
        await model.hold("begin")
        return Says("Well.")

    model.rule = rule


def written(here: GatewayProcess) -> bool:
    return any(here.folder.rglob("steered.txt"))


async def test_c64_a_members_steer_does_not_run_with_the_owners_rights(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        obeys(model)
        here.configure(approvals={"mode": "allow"}, sessions={"groups": "shared"})
        await here.start()
        api.say("work", chat=ROOM, user=ANN, type="group")
        await here.until(lambda: _is(bool(model.asked)))
        api.say("/steer and write the file", chat=ROOM, user=EVE, type="group", name="Eve")
        await shows(here, api, ROOM, "not yours to steer")
        await shows(here, api, ROOM, "which a group member may not do")
        owners = [asked for asked in model.asked if "Eve" not in asked.everything]
        assert len(owners) == 3, "the owner's turn never heard of it"
        last = model.asked[-1].everything
        assert "Eve (9): and write the file" in last, "a name stands before the words"


async def test_c64_a_burst_of_a_member_and_the_owner_has_a_members_rights(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        obeys(model)
        here.configure(approvals={"mode": "allow"}, sessions={"groups": "shared"})
        await here.start()
        api.say("wait a moment", chat=ROOM, user=ANN, type="group")
        await model.reached("begin")
        api.say("write the file", chat=ROOM, user=EVE, type="group")
        api.say("good morning", chat=ROOM, user=ANN, type="group")
        await handled(here, api)
        model.open("begin")
        await shows(here, api, ROOM, "which a group member may not do")
        assert not written(here)


async def _is(true: bool) -> bool:
    return true
