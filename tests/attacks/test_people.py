"""Who may talk to Hermes, from outside: a real gateway, a Bot API, strangers (PAIR-1 to PAIR-8)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from hermes.channels.kit.reception import NOT_YOURS
from hermes.testing.model import Asked, Model, Says, plain, terminal
from tests.attacks.test_approvals import works
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import effects

ANN, BOB, EVE = 7, 8, 9
ROOM = -100
WELCOME = "Welcome."


@asynccontextmanager
async def bot(
    folder: Path, strangers: str = "invite"
) -> AsyncIterator[tuple[GatewayProcess, BotApi, Model]]:
    async with Model().up() as model, BotApi() as api, gateway(folder, model) as here:
        telegram = {
            "token": TOKEN,
            "api_base": api.url,
            "allowed_users": [ANN],
            "allowed_chats": [ROOM],
            "require_mention": False,
        }
        here.configure(platforms={"telegram": telegram}, people={"strangers": strangers})
        yield here, api, model


async def shows(here: GatewayProcess, api: BotApi, chat: int, text: str) -> None:
    async def there() -> bool:
        return any(text in shown for shown in api.texts(chat))

    try:
        await here.until(there)
    except AssertionError as error:
        raise AssertionError(f"{text} not in {api.texts(chat)}: {error}") from error


async def let_in(here: GatewayProcess, api: BotApi, who: int) -> None:
    code = str(await here.hermes("pairing", "invite")).strip()
    api.say(f"/start {code}", chat=who, user=who)
    await shows(here, api, who, WELCOME)


def press(api: BotApi, label: str) -> None:
    """Press the button with that label as the owner."""
    for shown in api.chat(ANN):
        for row in shown.buttons:
            for button in row:
                if label in button["text"]:
                    api.press(ANN, shown.message_id, button["callback_data"], user=ANN)
                    return
    raise AssertionError(f"there is no button {label}")


async def handled(here: GatewayProcess, api: BotApi) -> None:
    async def confirmed() -> bool:
        return not api.updates

    await here.until(confirmed, 120.0)


async def test_pair_01_strangers_cost_nothing(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        for n in range(3_000):
            who = 10_000 + n % 300
            api.say(f"hello {n}", chat=who, user=who)
        await handled(here, api)
        assert model.asked == []
        told = [call for call in api.calls if call.method == "sendMessage"]
        assert len(told) <= 100, "a few are told once, the others nothing"
        assert not [call for call in api.calls if call.method == "getFile"]
        assert await here.hermes("sessions", "list", "--json") == []
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: hello")


async def test_pair_02_an_invite_lets_one_person_in_once(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        code = str(await here.hermes("pairing", "invite")).strip()
        for n in range(200):  # whatever strangers do, it stays open
            api.say(f"/start {n:026d}", chat=5_000 + n, user=5_000 + n)
        api.say(code, chat=BOB, user=BOB)
        await shows(here, api, BOB, WELCOME)
        api.say("hello", chat=BOB, user=BOB)
        await shows(here, api, BOB, "You said: hello")
        api.say(code, chat=EVE, user=EVE)
        await handled(here, api)
        assert not any(WELCOME in text for text in api.texts(EVE))
        people = (await here.hermes("pairing", "list", "--json"))["people"]
        assert [(each["id"], each["role"]) for each in people] == [(str(BOB), "paired")]
        assert len(model.asked) == 1


async def test_pair_05_who_was_let_in_alone_is_nobody_in_a_room(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        await let_in(here, api, BOB)
        api.say("hello", chat=-555, user=BOB, type="group")
        await handled(here, api)
        assert model.asked == []
        works(model)
        api.say("work", chat=ROOM, user=BOB, type="group")
        await shows(here, api, ROOM, "a group member may not do")
        assert effects(here) == []


async def test_pair_06_whoever_is_sent_away_is_gone_at_once(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):

        async def rule(asked: Asked) -> Says:
            if "work" in asked.said:
                await model.hold("work")
                return Says("This is for Bob.")
            return plain(asked)

        model.rule = rule
        await here.start()
        await let_in(here, api, BOB)
        model.shut("work")
        api.say("work", chat=BOB, user=BOB)
        await model.reached("work")
        api.say("and this waits", chat=BOB, user=BOB)
        await handled(here, api)
        await here.hermes("pairing", "revoke", f"telegram:{BOB}")

        async def stopped() -> bool:
            [row] = await here.hermes("sessions", "list", "--json")
            return bool(row["phase"] == "idle" and row["waiting"] == 0)

        await here.until(stopped)
        model.open("work")
        api.say("hello?", chat=BOB, user=BOB)
        await handled(here, api)
        await here.kill()
        await here.start()
        api.say("hello again", chat=BOB, user=BOB)
        await handled(here, api)
        assert not any("Bob" in text or "You said" in text for text in api.texts(BOB))
        assert len(model.asked) == 1


async def test_pair_07_a_code_is_nowhere_but_in_the_chat(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        code = str(await here.hermes("pairing", "invite")).strip()
        api.say(code, chat=BOB, user=BOB)
        await shows(here, api, BOB, WELCOME)
        api.say("hello", chat=BOB, user=BOB)
        await shows(here, api, BOB, "You said")
        assert code not in model.asked[0].everything
        await here.stop()
        kept = [file for file in here.folder.rglob("*") if file.is_file()]
        assert [file for file in kept if code.encode() in file.read_bytes()] == []


@pytest.mark.setting("people.strangers")
async def test_request_mode_asks_the_owner_and_the_button_lets_in(tmp_path: Path) -> None:
    async with bot(tmp_path, "request") as (here, api, model):
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)
        await shows(here, api, ANN, "home")
        api.say("hi, it is\u202e Bob\x1b[2K", chat=BOB, user=BOB)
        await shows(here, api, ANN, "would like to talk to me")
        card = next(text for text in api.texts(ANN) if "would like to talk" in text)
        assert "RIGHT-TO-LEFT OVERRIDE" in card
        assert model.asked == []
        [request] = (await here.hermes("pairing", "list", "--json"))["requests"]
        press(api, "Let in")
        await shows(here, api, ANN, "may talk to me now")
        assert request["person"] == str(BOB)
        api.say("hello", chat=BOB, user=BOB)
        await shows(here, api, BOB, "You said: hello")


async def test_pol_05_what_a_guest_wants_is_asked_of_the_owner(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        works(model, "echo done >> effects")
        await here.start()
        api.say("/sethome", chat=ANN, user=ANN)
        await shows(here, api, ANN, "home")
        await let_in(here, api, BOB)
        api.say("work", chat=BOB, user=BOB)
        await shows(here, api, ANN, "Run this command?")
        await shows(here, api, BOB, "My owner has to allow that")
        [question] = await here.get("/v1/approvals")
        for text in (f"/approve {question['id']}", "/approve", "yes"):
            api.say(text, chat=BOB, user=BOB)
        await shows(here, api, BOB, "Only my owner can use /approve")
        assert effects(here) == []
        api.say(f"/approve {question['id']}", chat=ANN, user=ANN)
        await shows(here, api, BOB, "It came to")
        assert effects(here) == ["done"]


async def test_pol_05_without_a_home_chat_the_owner_still_sees_what_to_approve(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, model):
        works(model, "echo done >> effects")
        await here.start()
        await let_in(here, api, BOB)
        api.say("work", chat=BOB, user=BOB)
        await shows(here, api, BOB, "My owner has to allow that, with hermes approvals list")
        assert not any("effects" in text for text in api.texts(BOB))
        [question] = await here.get("/v1/approvals")
        assert "Run this command?\n\n│ echo done >> effects\n" in question["preview"]
        assert f"Requested by: telegram:{BOB}, a person you let in" in question["preview"]
        assert "session" not in question["preview"].lower()
        listed = await here.hermes("approvals", "list")
        assert "│ echo done >> effects" in listed
        await here.hermes("approvals", "answer", question["id"], "session")
        await shows(here, api, BOB, "It came to")
        assert effects(here) == ["done"]
        api.say("work", chat=BOB, user=BOB)

        async def asks_again() -> bool:
            return len(await here.get("/v1/approvals")) == 1

        await here.until(asks_again)
        assert effects(here) == ["done"], "what a guest wants is never allowed for a session"


async def test_one_person_finds_nothing_of_another(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):

        def rule(asked: Asked) -> Says:
            if asked.said.endswith("look") and not asked.results:
                return Says(calls=(("session_search", {"query": "pineapple"}),))
            return Says(f"It came to: {asked.results[-1]}" if asked.results else "Noted.")

        model.rule = rule
        await here.start()
        api.say("my secret fruit is pineapple", chat=ANN, user=ANN)
        await shows(here, api, ANN, "Noted.")
        await let_in(here, api, BOB)
        api.say("look", chat=BOB, user=BOB)
        await shows(here, api, BOB, "It came to")
        assert not any("secret fruit" in text for text in api.texts(BOB))
        api.say("/sessions", chat=BOB, user=BOB)
        await handled(here, api)
        await asyncio.sleep(0)
        assert not any("secret fruit" in text for text in api.texts(BOB))


async def test_the_model_cannot_approve_by_itself(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):

        def rule(asked: Asked) -> Says:
            if "work" in asked.said and not asked.results:
                call = ("send_message", {"target": f"telegram:{ANN}", "text": "/approve"})
                return Says("/approve", calls=(call, terminal("sh ./evil.sh")))
            return Says("done")

        model.rule = rule
        await here.start()
        api.say("work", chat=ANN, user=ANN)
        await shows(here, api, ANN, "Requested by: you")
        rows = await here.get("/v1/approvals")
        assert len(rows) == 1
        await asyncio.sleep(0.3)
        assert [row["state"] for row in await here.get("/v1/approvals")] == ["pending"]


async def test_pol_05_a_member_cannot_take_the_owners_buttons_away(tmp_path: Path) -> None:
    """The buttons go when the question is closed, wherever that happened."""
    async with bot(tmp_path) as (here, api, model):
        here.configure(sessions={"groups": "shared"})
        works(model)
        await here.start()
        api.say("work", chat=ROOM, user=ANN, type="group")
        await shows(here, api, ROOM, "Run this command?")
        [card] = [shown for shown in api.chat(ROOM) if shown.buttons]
        says = [button["callback_data"] for row in card.buttons for button in row]
        for pressed in says:
            api.press(ROOM, card.message_id, pressed, user=EVE, type="group")
        await handled(here, api)
        assert set(api.answered.values()) == {NOT_YOURS}
        assert [len(row) for row in card.buttons if row], "the owner can still answer"
        [question] = await here.get("/v1/approvals")
        assert question["state"] == "pending"
        await here.kill()
        await here.start()
        await here.post(f"/v1/approvals/{question['id']}", answer="deny")

        async def bare() -> bool:
            return not any(shown.buttons for shown in api.chat(ROOM))

        await here.until(bare)


async def test_tm_01_what_another_bot_wrote_is_not_obeyed_as_the_owners(tmp_path: Path) -> None:
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        gif = {"id": 99, "is_bot": True, "first_name": "gifs", "username": "gif_bot"}
        for field in ("via_bot", "sender_business_bot"):
            said = f"/invite {field}"
            api.say(said, chat=ANN, user=ANN, **{field: gif})
            await shows(here, api, ANN, f'You said: (Sent through the bot "gifs".)\n{said}')
        assert len(model.asked) == 2
        assert (await here.hermes("pairing", "list", "--json"))["people"] == []
        assert not any("code" in text.lower() for text in api.texts(ANN))


async def test_pol_06_a_card_names_the_address_and_a_renamed_chat_is_another_one(
    tmp_path: Path,
) -> None:
    """Anybody may call a chat “Mum”. The yes is about the chat that was shown."""
    async with bot(tmp_path) as (here, api, model):

        def rule(asked: Asked) -> Says:
            if asked.said == "tell mum" and not asked.results:
                call = {"target": "telegram:Mum", "text": "the door code is 1234"}
                return Says(calls=(("send_message", call),))
            return Says(f"It came to: {asked.results[-1] if asked.results else asked.said}")

        model.rule = rule
        await here.start()
        api.say("hello", chat=ROOM, user=EVE, type="group", title="Mum")
        await shows(here, api, ROOM, "It came to")
        api.say("tell mum", chat=ANN, user=ANN)
        await shows(here, api, ANN, f"It goes to telegram:{ROOM}")
        api.say("hello again", chat=ROOM, user=EVE, type="group", title="Room")
        await handled(here, api)
        press(api, "Yes")
        await shows(here, api, ANN, "not what the person said yes to")
        assert not any("1234" in text for text in api.texts(ROOM))
