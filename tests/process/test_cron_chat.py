"""`/cron` in a chat: words and buttons, in a real gateway on a Bot API."""

from pathlib import Path

from hermes.testing.model import Asked, Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway
from tests.process.jobs import until_run

ANN = 7
INBOX = "/cron create every weekday at seven, look at my inbox --name inbox --tz Europe/Paris"


def reports(asked: Asked) -> Says:
    return Says("Two letters." if "look at my inbox" in asked.said else f"You said: {asked.said}")


async def shows(here: GatewayProcess, api: BotApi, text: str, *, chat: int = ANN) -> None:
    async def there() -> bool:
        return any(text in shown for shown in api.texts(chat))

    try:
        await here.until(there, 60.0)
    except AssertionError as error:
        raise AssertionError(f"{text!r} is not in {api.texts(chat)}: {error}") from error


async def press(here: GatewayProcess, api: BotApi, label: str, then: str) -> None:
    """Press the latest button with this label, and wait for what is said."""
    found = [
        (shown.message_id, button["callback_data"])
        for shown in api.chat(ANN)
        for row in shown.buttons
        for button in row
        if label in button["text"]
    ]
    api.press(ANN, *found[-1], user=ANN)
    await shows(here, api, then)


async def test_a_job_is_made_seen_paused_run_and_removed_in_a_chat(tmp_path: Path) -> None:
    async with Model(rule=reports).up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram})
        await here.start()
        api.say("/cron", chat=ANN, user=ANN)
        await shows(here, api, "There are no scheduled jobs.")
        api.say(INBOX, chat=ANN, user=ANN)
        await shows(here, api, "every weekday at 07:00 (Europe/Paris)")
        (job,) = [each for each in await here.get("/v1/jobs") if each["kind"] == "job"]
        assert (job["name"], job["prompt"]) == ("inbox", "look at my inbox")
        assert job["deliver"] == [f"telegram:{ANN}"], "where it was asked for"
        made = next(text for text in api.texts(ANN) if "07:00 (Europe/Paris)" in text)
        assert "Next: " in made
        assert made.count(" 07:00") >= 4, made

        await press(here, api, "Pause", "inbox is paused.")
        assert (await here.get(f"/v1/jobs/{job['id']}"))["state"] == "paused"
        await press(here, api, "Resume", "inbox runs again.")
        await press(here, api, "Run now", "Two letters.")
        (run,) = await until_run(here, job["id"])
        assert run["state"] == "done"
        api.say("/cron history inbox", chat=ANN, user=ANN)
        await shows(here, api, "The latest runs of inbox:")

        await press(here, api, "Remove", "Remove inbox?")
        assert (await here.get(f"/v1/jobs/{job['id']}"))["state"] == "active", "it asks first"
        await press(here, api, "Remove", "inbox is removed.")
        assert (await here.get(f"/v1/jobs/{job['id']}"))["state"] == "removed"

        api.say("/cron create monday at 9, look", chat=ANN, user=ANN)
        await shows(here, api, "Once or every week?")
        api.say("/cron create when the moon is full, howl", chat=ANN, user=ANN)
        await shows(here, api, "Make a scheduled job from these words, and ask")
