"""Whatever a Bot API answers, to any call of ours: a named failure, and the next call works."""

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram.error import TelegramError

from hermes.channels.telegram.answers import checked
from hermes.channels.telegram.failures import Garbled, TokenUnknown, failure
from hermes.core.errors import ChannelBusy, ChannelDown, ChannelFailed, ChannelRefused
from hermes.core.errors import ChannelSilent as Doubtful
from hermes.core.messages import Address, Media
from tests.unit.channels.telegram.world import World, reply, world

CHAT = Address(platform="telegram", chat="7")
FILE = Media(digest="d", media_type="application/pdf", name="f")
PICTURE = Media(digest="d", media_type="image/png", name="f")
VOICE = Media(digest="d", media_type="audio/ogg", name="f")
OK = '{"ok": true, "result": %s}'
ODD: dict[str, str] = {
    "true": OK % "true",
    "an empty object": OK % "{}",
    "null": OK % "null",
    "a list": OK % "[]",
    "a list of null": OK % "[null]",
    "a number": OK % "17",
    "a text": OK % '"done"',
    "an id that is text": OK % '{"message_id": "17", "id": "17", "file_path": 17}',
    "an id that is null": OK % '{"message_id": null, "id": null, "file_path": null}',
    "an id below zero": OK % '{"message_id": -1, "id": 0, "file_path": ""}',
    "an endless id": OK % f'{{"message_id": 1{"0" * 400}, "id": 1{"0" * 400}}}',
    "a fraction": OK % '{"message_id": 1.5, "id": 1.5}',
    "no result": '{"ok": true}',
    "a no with a good status": '{"ok": false, "error_code": 400, "description": "Bad Request"}',
    "nothing but an object": "{}",
    "nothing but null": "null",
    "nothing but a list": "[]",
    "nothing but a number": "1",
    "nothing": "",
    "half": '{"ok": true, "result": {"message_id": 1',
    "a page": "<html>hello</html>",
    "not ok, oddly": '{"ok": "yes", "result": {"message_id": 1}}',
    "deep": OK % ("[" * 5_000 + "]" * 5_000),
    "deep and open": "[" * 100_000,
    "half a sign": OK % '{"message_id": "\\ud83d", "id": "\\ud83d"}',
    "no UTF-8": '{"ok": true, "result": "\udcff\udcfe"}',
}
STATUSES = {
    "a moved chat that is none": (400, '{"ok": false, "parameters": {"migrate_to_chat_id": "x"}}'),
    "a list of parameters": (400, '{"ok": false, "parameters": []}'),
    "a wait that is text": (429, '{"ok": false, "parameters": {"retry_after": "soon"}}'),
    "a wait without an end": (429, '{"ok": false, "parameters": {"retry_after": 1e300}}'),
    "a wait that is over": (429, '{"ok": false, "parameters": {"retry_after": -5}}'),
    "a wait of nothing": (429, "no"),
    "a description that is a list": (403, '{"ok": false, "description": ["no"]}'),
    "a refusal that is a page": (403, "<html>no</html>"),
    "a bad request that is a list": (400, "[]"),
    "not found": (404, '{"ok": false, "error_code": 404, "description": "Not Found"}'),
    "not found, a page": (404, "<html>nothing here</html>"),
    "a stranger's page": (401, "<html>log in</html>"),
    "an error": (500, '{"ok": false, "description": "Internal Server Error"}'),
    "an error that says ok": (500, '{"ok": true, "result": {"message_id": 1}}'),
    "a redirect": (302, ""),
    "no content": (204, ""),
    "a status of nobody": (799, "{}"),
}
HEADERS: dict[str, Mapping[str, Any]] = {
    "gzip that is none": {"headers": {"Content-Encoding": "gzip"}},
    "a length that is none": {"headers": {"Content-Length": "x"}},
    "two lengths": {"headers": {"content-length": "3"}},
    "pieces that are none": {
        "headers": {"Transfer-Encoding": "chunked", "Content-Length": ""},
        "missing": 1,
    },
    "cut": {"missing": 20},
    "an endless header": {"headers": {"X-Long": "x" * 200_000}},
}


def faults() -> list[tuple[str, Mapping[str, Any]]]:
    good = OK % '{"message_id": 900, "id": 4242, "file_path": "a"}'
    return [
        *((name, {"status": 200, "body": body}) for name, body in ODD.items()),
        *((n, {"status": s, "body": b}) for n, (s, b) in STATUSES.items()),
        *((name, {"status": 200, "body": good, **more}) for name, more in HEADERS.items()),
    ]


async def find(w: World) -> object:
    async def known(_receipt: str) -> bool:
        return False

    return await w.channel.find(reply("x").address, ["x"], behind="3", known=known)


CALLS: dict[str, Callable[[World], Awaitable[object]]] = {
    "sendMessage": lambda w: w.channel.send(reply("x"), "x", key="k"),
    "sendDocument": lambda w: w.channel.attach(reply(""), FILE, b"x", key="k"),
    "sendPhoto": lambda w: w.channel.attach(reply(""), PICTURE, b"x", key="k"),
    "sendVoice": lambda w: w.channel.attach(reply(""), VOICE, b"x", key="k"),
    "editMessageText": lambda w: w.channel.redraft(CHAT, "5", "more"),
    "deleteMessage": lambda w: w.channel.remove(CHAT, "5"),
    "sendChatAction": lambda w: w.channel.typing(CHAT),
    "forwardMessage": find,
    "answerCallbackQuery": lambda w: w.channel._calls.answer("q1"),
    "editMessageReplyMarkup": lambda w: w.channel._calls.unbutton("7", 5),
    "getMe": lambda w: w.channel._line.me(),
    "setMyCommands": lambda w: w.channel._line.register([("help", "Help")]),
    "deleteWebhook": lambda w: w.channel._line.listen_by_poll(),
    "setWebhook": lambda w: w.channel._line.listen_by_hook("https://a.test", "s" * 16),
    "getUpdates": lambda w: w.channel._line.poll(0, timeout_s=1, silence_s=5),
    "getFile": lambda w: w.channel._calls._fetch("f"),
    "file": lambda w: w.channel._calls._fetch("f"),
}


async def failed_with(call: Awaitable[object]) -> ChannelFailed | None:
    try:
        await call
    except ChannelFailed as failed:
        return failed
    return None


@pytest.mark.parametrize("method", CALLS)
async def test_every_odd_answer_to_every_call_is_a_failure_with_a_name(
    tmp_path: Path, method: str
) -> None:
    """Nothing else comes out, the token neither; and the next call is not the worse for it."""
    async with world(tmp_path) as w:
        w.api.files["f"] = b"content"
        for name, fault in faults():
            w.api.faults.clear()
            w.api.fault(method, "odd", times=99, **fault)
            failed = await failed_with(CALLS[method](w))
            assert w.api.token not in str(failed), name
            assert method == "getMe" or not isinstance(failed, TokenUnknown), name
            if isinstance(failed, ChannelDown):
                assert 0 <= failed.delay_s <= 24 * 3600, name
                assert failed.delay_s >= 1 or not isinstance(failed, ChannelBusy), name
        w.api.faults.clear()
        receipt = await w.channel.send(reply("x"), "after all", key="k")
        assert w.api.texts()[-1] == "after all"
        assert receipt == str(w.api.chats.last_message)


SENDS = ("sendMessage", "sendDocument", "sendPhoto", "sendVoice")


@pytest.mark.parametrize("method", SENDS)
async def test_a_send_whose_answer_cannot_be_read_is_in_doubt(tmp_path: Path, method: str) -> None:
    async with world(tmp_path) as w:
        for name, body in ODD.items():
            w.api.fault(method, "odd", status=200, body=body)
            with pytest.raises(Doubtful):
                print(name, await CALLS[method](w))  # noqa: T201 (what came through)


async def test_what_no_bot_api_said_loses_no_reply(tmp_path: Path) -> None:
    """A proxy's page with a 400, 401, 403, 404 or 502 is tried again, and is in doubt."""
    async with world(tmp_path) as w:
        for status in (400, 401, 403, 404, 500, 502, 503, 504):
            w.api.fault("sendMessage", "odd", status=status, body="<html>no</html>")
            with pytest.raises(Doubtful) as caught:
                await CALLS["sendMessage"](w)
            assert not isinstance(caught.value, Garbled | TokenUnknown)
        w.api.fault("sendMessage", "odd", status=413, body="<html>too large</html>")
        with pytest.raises(ChannelRefused):
            await CALLS["sendMessage"](w)


async def test_a_look_that_cannot_be_read_finds_nothing_and_looks_no_further(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        for body in ODD.values():
            before = len(w.api.called("forwardMessage"))
            w.api.fault("forwardMessage", "odd", status=200, body=body)
            assert await find(w) == ""
            if "message_id" not in body:
                assert len(w.api.called("forwardMessage")) == before + 1


async def test_a_copy_whose_words_cannot_be_read_is_taken_away_all_the_same(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        for more in ('"text": 5', '"forward_origin": 5', '"forward_origin": {"sender_user": []}'):
            body = OK % f'{{"message_id": 77, {more}}}'
            w.api.fault("forwardMessage", "odd", status=200, body=body)
            assert await find(w) == ""
            assert w.api.called("deleteMessage")[-1]["message_id"] == "77"


async def test_a_file_of_this_machine_is_not_read_for_telegram(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("private")
    async with world(tmp_path) as w:
        for path in (str(tmp_path / "secret"), "pyproject.toml"):
            w.api.fault("getFile", "odd", status=200, body=OK % json.dumps({"file_path": path}))
            assert await w.channel._calls.fetch("f") is None


async def test_an_answer_without_an_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("sendMessage", "odd", status=200, body=" " * 33_000_000)
        with pytest.raises(Doubtful):
            await CALLS["sendMessage"](w)


@pytest.mark.parametrize("body", ODD.values(), ids=ODD.keys())
async def test_an_odd_answer_at_the_start_is_no_end(tmp_path: Path, body: str) -> None:
    """To each call of the start, one after the other; then all is well."""
    async with world(tmp_path) as w:
        for method in ("getMe", "deleteWebhook", "setMyCommands", "getUpdates"):
            w.api.fault(method, "odd", status=200, body=body)
        w.api.say("hello")
        for _ in range(4):
            async with w.listening() as task:
                await w.until(lambda task=task: task.done() or w.accepted)
                if not task.done():
                    break
                assert isinstance(task.exception(), ChannelDown)
        assert [inbound.text for inbound in w.accepted] == ["hello"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["ok", "result", "message_id", "id", "description", "parameters", "retry_after",
                 "migrate_to_chat_id", "text", "forward_origin", "sender_user", "file_path"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.sampled_from(sorted(CALLS)),
    st.sampled_from([200, 201, 204, 302, 400, 401, 403, 404, 409, 413, 429, 500, 502]),
    st.binary(max_size=60) | _JSON.map(lambda value: json.dumps(value).encode()),
)
def test_any_bytes_are_an_answer_or_a_failure_with_a_name(
    method: str, status: int, body: bytes
) -> None:
    told: bytes | ChannelFailed
    try:
        told = checked(status, body, method)
    except TelegramError as error:
        told = failure(error, hide="4242:token")
    assert isinstance(told, ChannelFailed) or json.loads(told)["ok"] is True
