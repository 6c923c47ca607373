"""C50 to C52 and C55: messages in transit to a platform when the process was killed."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from hermes.testing.model import Asked, Model, Says, plain
from tests.doubles.telegram import FOREVER_S, BotApi
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import NOTE

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPEAT = "(Perhaps a repeat: I was interrupted while sending this.)"
DONE, HALF, SENT = 4, 5, 6  # chats
CHUNK = "word " * 700
LONG = f"first {CHUNK}\n\nsecond {CHUNK}\n\nthird {CHUNK}"


class StuckApi(BotApi):
    """A Bot API that gives no answer for some chats, after doing the call or before."""

    def __init__(self) -> None:
        super().__init__()
        self.after: set[str] = set()  # words of messages that are accepted without an answer
        self.before: set[str] = set()
        self.stuck: list[str] = []

    async def _do(self, method: str, fields: dict[str, str], files: dict[str, Any]) -> Any:
        text = fields.get("text", "") if method == "sendMessage" else ""
        if any(word in text for word in self.before):
            await self._hang(text)
        result = await super()._do(method, fields, files)
        if any(word in text for word in self.after):
            await self._hang(text)
        return result

    async def _hang(self, text: str) -> None:
        self.stuck.append(text)
        await asyncio.sleep(FOREVER_S)


@dataclass
class Scene:
    here: GatewayProcess
    model: Model
    api: StuckApi
    at_resume: list[str] = field(default_factory=list)  # what the chat showed at that time
    sent: str = ""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """Prepare three chats: one reply delivered and one queued behind it, half of a long reply, and
    a message of `hermes send`. Then kill the gateway once."""
    folder = tmp_path_factory.mktemp("sending")
    async with StuckApi() as api, Model().up() as model, gateway(folder, model) as here:
        scene = Scene(here, model, api)
        model.rule = lambda asked: _rule(scene, asked)
        telegram = {"token": api.token, "api_base": api.url, "drafts": False, "poll_s": 1}
        here.configure(platforms={"telegram": {**telegram, "allowed_users": [DONE, HALF, SENT]}})
        api.after, api.before = {"hello"}, {"second", "parcel"}
        await here.start()
        api.say("hello", chat=DONE, user=DONE)
        api.say("long", chat=HALF, user=HALF)
        sending = asyncio.create_task(here.hermes("send", f"telegram:{SENT}", "a parcel"))
        await here.until(lambda: _is(len(api.stuck) == 3))
        api.say("quick", chat=DONE, user=DONE)
        await here.until(lambda: _is(len(model.asked) == 3))
        api.say("please wait", chat=DONE, user=DONE)
        await model.reached("wait")
        await here.kill()
        api.after, api.before = set(), set()
        model.open("wait")
        await here.start()
        await here.until(lambda: _is("Here it is." in api.texts(DONE)))
        await here.until(lambda: _is(len(api.texts(HALF)) == 3))
        scene.sent = await sending
        yield scene


async def _is(true: bool) -> bool:
    return true


async def _rule(scene: Scene, asked: Asked) -> Says:
    if asked.said.endswith("wait"):
        if NOTE in asked.everything:
            scene.at_resume = scene.api.texts(DONE)
        await scene.model.hold("wait")
        return Says("Here it is.")
    return Says(LONG) if asked.said == "long" else plain(asked)


async def test_c51_c55_what_had_arrived_is_found_and_does_not_come_again(scene: Scene) -> None:
    assert scene.api.texts(DONE)[0] == "You said: hello"
    assert sum("hello" in text for text in scene.api.texts(DONE)) == 1
    looks = [look for look in scene.api.called("forwardMessage") if look["chat_id"] == str(DONE)]
    assert looks
    assert all(look["disable_notification"] == "true" for look in looks)


async def test_c51_what_only_waited_to_be_sent_comes_plainly_and_in_order(scene: Scene) -> None:
    assert scene.api.texts(DONE)[1:] == ["You said: quick", "Here it is."]


async def test_c51_a_long_answer_goes_on_with_the_chunk_that_is_missing(scene: Scene) -> None:
    """The missing chunk was looked up and not found, so it may be lost or still on its way."""
    first, second, third = scene.api.texts(HALF)
    assert first.startswith("first")
    assert second.startswith(REPEAT)
    assert "second" in second
    assert third.startswith("third")


async def test_c52_old_replies_are_out_before_a_turn_of_their_chat_goes_on(scene: Scene) -> None:
    assert scene.at_resume == ["You said: hello", "You said: quick"]


async def test_c50_a_message_of_ours_goes_through_the_outbox_like_an_answer(scene: Scene) -> None:
    assert scene.sent == f"Sent to telegram:{SENT}.\n"
    (text,) = scene.api.texts(SENT)
    assert text.startswith(REPEAT)
    assert text.endswith("a parcel")


async def test_c51_a_kill_while_looking_shows_no_second_answer(tmp_path: Path) -> None:
    """The worst case is a copy that is marked as one."""
    async with StuckApi() as api, Model().up() as model, gateway(tmp_path, model) as here:
        telegram = {"token": api.token, "api_base": api.url, "drafts": False, "poll_s": 1}
        here.configure(platforms={"telegram": {**telegram, "allowed_users": [DONE]}})
        api.after = {"hello"}
        await here.start()
        api.say("hello", chat=DONE, user=DONE)
        await here.until(lambda: _is(len(api.stuck) == 1))
        await here.kill()
        api.fault("deleteMessage", "hang")
        await here.start()
        await here.until(lambda: _is(len(api.called("deleteMessage")) == 1))
        await here.kill()
        api.after = set()
        await here.start()
        await here.until(lambda: _is(len(api.called("deleteMessage")) == 2))
        api.say("and now?", chat=DONE, user=DONE)
        await here.until(lambda: _is("You said: and now?" in api.texts(DONE)))
        own = [shown.text for shown in api.chat(DONE) if not shown.origin]
        assert own == ["You said: hello", "You said: and now?"]
        assert [asked.said for asked in model.asked] == ["hello", "and now?"]


async def test_c26_no_model_was_asked_for_what_was_only_sent_again(scene: Scene) -> None:
    said = [asked.said.rpartition("\n\n")[2] for asked in scene.model.asked]
    assert sorted(said) == ["hello", "long", "please wait", "please wait", "quick"]
