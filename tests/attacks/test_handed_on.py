"""Work that is handed on has the rights of the person who asked for it, over kills as well."""

from pathlib import Path

from tests.attacks.test_approvals import works
from tests.attacks.test_people import ANN, BOB, bot, let_in, shows
from tests.process.looks import effects

CARD = "Run this command?"


async def test_pair_09_background_work_of_a_guest_asks_the_owner_also_after_a_kill(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        works(model, "echo done >> effects")
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)
        await shows(here, api, ANN, "home")
        await let_in(here, api, BOB)
        api.say("/background work", chat=BOB, user=BOB)
        await shows(here, api, ANN, CARD)
        await shows(here, api, BOB, "My owner has to allow that")
        await here.kill()
        await here.start()
        [question] = await here.get("/v1/approvals")
        assert f"Requested by: a background task (telegram:{BOB})" in question["preview"]
        api.say(f"/approve {question['id']}", chat=BOB, user=BOB)
        await shows(here, api, BOB, "Only my owner can use /approve")
        assert effects(here) == []
        assert not any(CARD in text for text in api.texts(BOB)), "the card is the owner's"
        api.say(f"/approve {question['id']}", chat=ANN, user=ANN)
        await shows(here, api, BOB, "It came to")
        assert effects(here) == ["done"]
        assert not any("It came to" in text for text in api.texts(ANN)), "the answer is Bob's"


async def test_pair_09_background_work_of_a_guest_ends_when_they_are_sent_away(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        works(model, "echo done >> effects")
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)
        await shows(here, api, ANN, "home")
        await let_in(here, api, BOB)
        api.say("/background work", chat=BOB, user=BOB)
        await shows(here, api, ANN, CARD)
        await here.kill()
        await here.hermes("pairing", "revoke", f"telegram:{BOB}")
        await here.start()
        [question] = await here.get("/v1/approvals")
        api.say(f"/approve {question['id']}", chat=ANN, user=ANN)

        async def over() -> bool:
            rows = await here.hermes("sessions", "list", "--json")
            return all(row["phase"] == "idle" for row in rows)

        await here.until(over, 60.0)
        assert effects(here) == []
        assert not any("It came to" in text for text in api.texts(BOB))
