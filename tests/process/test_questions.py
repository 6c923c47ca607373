"""C85: a question of the agent, whose answer is a call's result, across kills and strangers."""

from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import steps
from tests.settings.chats import chat

ANN, BOB, GROUP = 7, 8, -100
COLOUR = {"question": "Which colour?", "choices": ["Red", "Blue"]}


def curious(asked: Asked) -> Says:
    """Ask for a colour first, then say what was answered."""
    if "words" in asked.said and not asked.results:
        return Says(calls=(("clarify", {"question": "In which words?"}),))
    if not asked.results:
        return Says(calls=(("clarify", COLOUR),))
    return Says(f"It is {asked.results[-1]}.")


def insistent(asked: Asked) -> Says:
    """Ask again and again, until that is refused."""
    refused = any("the limit" in text for text in asked.results)
    return Says("I give up.") if refused else Says(calls=(("clarify", COLOUR),))


async def shows(here: GatewayProcess, api: BotApi, text: str, chat_id: int = ANN) -> Any:
    async def there() -> bool:
        return any(text in shown.text for shown in api.chat(chat_id))

    await here.until(there, 60.0)
    return next(shown for shown in reversed(api.chat(chat_id)) if text in shown.text)


async def test_c85_a_question_with_buttons_outlives_a_kill_and_a_late_tap_says_that_it_is_over(
    tmp_path: Path,
) -> None:
    async with Model(curious).up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram})
        await here.start()
        api.say("paint it", chat=ANN, user=ANN)
        card = await shows(here, api, "Which colour?")
        assert "1. Red" not in card.text, "buttons show the choices"
        red, blue, other = [button for row in card.buttons for button in row]
        assert [red["text"], blue["text"], other["text"]] == ["Red", "Blue", "Something else"]
        await here.kill()
        await here.start()
        api.press(ANN, card.message_id, other["callback_data"], user=ANN)
        await shows(here, api, "in your own words")
        api.press(ANN, card.message_id, blue["callback_data"], user=ANN)
        await shows(here, api, "It is Blue.")
        api.press(ANN, card.message_id, red["callback_data"], user=ANN)
        await shows(here, api, "That question is over")
        assert len(model.asked) == 2, "the late tap began nothing"
        assert [row["state"] for row in await here.hermes("turns", "list", "--json")] == [
            "answered"
        ]


async def test_c85_over_http_the_next_message_is_the_answer_or_the_route_for_approvals_takes_it(
    tmp_path: Path,
) -> None:
    async with Model(curious).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        first = await here.say("paint it", "one")
        assert first.text == (
            "Which colour?\n\n1. Red\n2. Blue\n\nReply with a number, or in your own words."
        )
        await here.say("some words", "two")
        await here.kill()
        await here.start()
        assert (await here.say("/model", "one")).status == 200, "it changes nothing"
        second = await here.say("2", "one")
        assert (second.text, second.turn) == ("It is Blue.", first.turn)
        made = [(step["name"], step["outcome"]) for step in await steps(here, first.turn)]
        assert ("clarify", "ok") in made
        [row] = await here.get("/v1/approvals")
        assert (row["tool"], row["preview"]) == ("clarify", "In which words?")
        await here.post(f"/v1/approvals/{row['id']}", answer="kind ones")

        async def answered() -> bool:
            turn = await here.get(f"/v1/turns/{row['turn']}")
            return bool(turn["state"] == "answered")

        await here.until(answered, 60.0)
        assert model.asked[-1].results == ["kind ones"]
        assert all(asked.faults == [] for asked in model.asked)


@pytest.mark.setting("clarify.wait")
async def test_c85_a_question_without_an_answer_is_over_after_that_time(tmp_path: Path) -> None:
    wait = {"wait": 1.0}
    async with Model(curious).up() as model, gateway(tmp_path, model, clarify=wait) as here:
        await here.start()
        await here.say("paint it", "one")

        async def gone_on() -> bool:
            return len(model.asked) == 2

        await here.until(gone_on, 60.0)
        assert model.asked[-1].results[0].startswith("no answer:")
        assert await here.get("/v1/approvals") == []


async def test_c85_without_a_terminal_a_question_is_status_75_and_chat_q_answers_it(
    tmp_path: Path,
) -> None:
    async with Model(curious).up() as model:
        here = chat(tmp_path, model)
        first = await here.ask("paint it", "--session", "s")
        assert first.status == 75
        assert "Which colour?" in first.err
        assert "1. Red" in first.err
        assert 'chat -q "YOUR ANSWER" --session s' in first.err
        second = await here.ask("2", "--session", "s")
        assert (second.status, second.out) == (0, "It is Blue.\n")


async def test_c85_a_turn_asks_three_questions_and_no_fourth(tmp_path: Path) -> None:
    async with Model(insistent).up() as model:
        here = chat(tmp_path, model)
        done = [await here.ask(text, "--session", "s") for text in ("paint it", "1", "2", "red")]
        assert [each.status for each in done] == [75, 75, 75, 0]
        assert model.asked[-1].results[:3] == ["Red", "Blue", "red"]
        assert "You have asked 3 questions" in model.asked[-1].results[3]
