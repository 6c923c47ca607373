"""C51 and C55 for files in transit to a platform when the process was killed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from hermes.testing.model import Model
from tests.doubles.telegram import FOREVER_S, BotApi
from tests.process.gateway import gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

REPEAT = "(Perhaps a repeat: I was interrupted while sending this.)"
TAKEN, LOST, PICTURE, VOICE = 4, 5, 6, 7  # chats
FILES = {TAKEN: "report.txt", LOST: "lost.txt", PICTURE: "shot.png", VOICE: "word.ogg"}
KINDS = {TAKEN: "document", LOST: "document", PICTURE: "photo", VOICE: "voice"}


class SilentApi(BotApi):
    """A Bot API that gives no answer for a file, after accepting it or before."""

    def __init__(self) -> None:
        super().__init__()
        self.silent = True
        self.stuck: set[int] = set()

    async def _do(self, method: str, fields: dict[str, str], files: dict[str, Any]) -> Any:
        silent = self.silent and method in ("sendDocument", "sendPhoto", "sendVoice")
        chat = int(fields.get("chat_id", 0))
        if silent and chat == LOST:
            await self._hang(chat)
        result = await super()._do(method, fields, files)
        if silent:
            await self._hang(chat)
        return result

    async def _hang(self, chat: int) -> None:
        self.stuck.add(chat)
        await asyncio.sleep(FOREVER_S)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def api(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SilentApi]:
    """Send a file to each of four chats, then kill and restart the gateway."""
    folder = tmp_path_factory.mktemp("files")
    async with SilentApi() as api, Model().up() as model, gateway(folder, model) as here:
        telegram = {"token": api.token, "api_base": api.url, "drafts": False, "poll_s": 1}
        here.configure(platforms={"telegram": {**telegram, "allowed_users": list(FILES)}})
        await here.start()
        for chat in FILES:
            api.say("hello", chat=chat, user=chat)
            await here.until(lambda chat=chat: _is(api.texts(chat) == ["You said: hello"]))
        sending = []
        for chat, name in FILES.items():
            (folder / name).write_bytes(f"the bytes of {name}".encode())
            words = ("send", f"telegram:{chat}", "--file", str(folder / name))
            sending.append(asyncio.create_task(here.hermes(*words)))
        await here.until(lambda: _is(api.stuck == set(FILES)))
        await here.kill()
        api.silent = False
        await here.start()
        told = await asyncio.gather(*sending)
        assert told == [f"Sent to telegram:{chat}.\n" for chat in FILES]
        yield api


async def _is(true: bool) -> bool:
    return true


def sent(api: SilentApi, chat: int) -> list[tuple[str, str]]:
    """Return the kind and caption of each file in the chat."""
    assert all(shown.origin == 0 for shown in api.chat(chat)), "a copy was left"
    return [(shown.media, shown.text) for shown in api.chat(chat) if shown.media]


@pytest.mark.parametrize("chat", [TAKEN, VOICE])
async def test_c51_c55_a_file_that_had_arrived_is_found_and_does_not_come_again(
    api: SilentApi, chat: int
) -> None:
    assert sent(api, chat) == [(KINDS[chat], "")]


async def test_c51_a_file_that_is_not_found_comes_with_words_that_say_so(api: SilentApi) -> None:
    assert sent(api, LOST) == [("document", REPEAT)]
    [again] = [shown for shown in api.chat(LOST) if shown.media]
    assert again.file is not None
    assert (again.file.name, again.file.content) == ("lost.txt", b"the bytes of lost.txt")


async def test_c51_a_picture_cannot_be_told_from_another_and_says_that_it_may_be_a_repeat(
    api: SilentApi,
) -> None:
    assert sent(api, PICTURE) == [("photo", ""), ("photo", REPEAT)]
