"""What people do in chats, over a real socket: files, stickers, buttons, strangers."""

from pathlib import Path
from typing import Any

import pytest

from hermes.channels.kit.reception import NOT_YOURS
from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.receive import OLD_BUTTON
from hermes.core.errors import StoreBusy
from hermes.core.ids import session_key
from hermes.core.people import Role, Sender
from tests.unit.channels.telegram.world import SPENT, World, reply, world

STICKER = {
    "file_id": "webp-1",
    "file_unique_id": "unique-1",
    "emoji": "🐱",
    "set_name": "Cats",
    "width": 512,
    "height": 512,
    "is_animated": False,
    "is_video": False,
}


def file(name: str, **more: Any) -> dict[str, Any]:
    return {"file_id": name, "file_unique_id": f"u-{name}", **more}


async def content(w: World, n: int = 0) -> bytes | None:
    return await w.door.media.get(w.accepted[n].media[0])


async def test_a_photo_comes_in_its_largest_size_with_its_caption(tmp_path: Path) -> None:
    sizes = [file("small", width=90, height=90), file("large", width=1280, height=960)]
    async with world(tmp_path) as w, w.listening():
        w.api.files["large"] = b"large picture"
        w.api.say(caption="look!", photo=sizes)
        (inbound,) = await w.heard(1)
        assert inbound.text == "look!"
        assert inbound.media[0].media_type == "image/jpeg"
        assert await content(w) == b"large picture"


@pytest.mark.parametrize(
    ("field", "more", "media_type", "text"),
    [
        ("voice", {}, "audio/ogg", "(a voice message)"),
        ("audio", {"mime_type": "audio/mp4"}, "audio/mp4", "(a piece of audio)"),
        ("video_note", {}, "video/mp4", "(a video message)"),
        ("document", {"mime_type": "text/csv", "file_name": "a/b.csv"}, "text/csv", "(a file)"),
    ],
)
async def test_other_files_come_as_what_they_are(
    tmp_path: Path, field: str, more: dict[str, str], media_type: str, text: str
) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.files["f"] = b"bytes"
        w.api.say(**{field: file("f", **more)})
        (inbound,) = await w.heard(1)
        assert (inbound.text, inbound.media[0].media_type) == (text, media_type)
        assert "/" not in inbound.media[0].name
        assert await content(w) == b"bytes"


async def test_a_file_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.say(
            caption="the film", document=file("f", file_name="film.mkv", file_size=31_000_000)
        )
        (inbound,) = await w.heard(1)
        assert inbound.media == ()
        assert inbound.text.startswith('the film\n(A file, "film.mkv", of 31 MB came with this')
        assert w.api.called("getFile") == []


async def test_a_file_that_telegram_does_not_hand_out_does_not_block_the_rest(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.say(caption="see", photo=[file("nowhere")])
        w.api.say("next")
        first, second = await w.heard(2)
        assert "did not hand it out" in first.text
        assert second.text == "next"


async def test_a_file_is_asked_for_again_when_the_line_breaks(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.files["f"] = b"bytes"
        w.api.fault("getFile", "cut")
        w.api.say(photo=[file("f")])
        await w.heard(1)
        assert await content(w) == b"bytes"


async def test_a_sticker_is_described_once_and_remembered(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.files["webp-1"] = b"picture of a cat"
        w.api.say(sticker=STICKER)
        async with w.listening():
            await w.heard(1)
    async with world(tmp_path, words="something else") as again, again.listening():
        again.api.files["webp-1"] = b"picture of a cat"
        again.api.say(sticker={**STICKER, "file_id": "webp-2"}, message_id=900)
        await again.heard(1)
    texts = [w.accepted[0].text, again.accepted[0].text]
    assert texts == ["(a sticker: a cat in a hat)"] * 2
    assert (len(w.described), len(again.described)) == (1, 0)
    assert w.accepted[0].spent == (SPENT,), "it is accounted with the message"
    assert again.api.called("getFile") == []


async def test_a_sticker_that_nobody_can_describe_is_named(tmp_path: Path) -> None:
    async with world(tmp_path, words="") as w, w.listening():
        w.api.files["webp-1"] = b"picture"
        w.api.say(sticker=STICKER)
        w.api.say(sticker={**STICKER, "file_unique_id": "u2", "is_animated": True})
        first, second = await w.heard(2)
        assert first.text == second.text == '(a sticker: 🐱 from the set "Cats")'
        assert len(w.described) == 1, "an animation has no still picture"


async def test_a_stranger_is_told_once_a_day_how_to_get_in(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        async with w.listening():
            w.api.say("let me in", chat=66, user=66)
            w.api.say("please", chat=66, user=66, photo=[file("f")])
            w.api.say("mine", chat=7)
            await w.heard(1)
            await w.until(lambda: w.api.confirmed == 4)
        assert [inbound.text for inbound in w.accepted] == ["mine"]
        (told,) = w.api.texts(66)
        assert "Your id is 66" in told
        assert w.api.called("getFile") == [], "what a stranger sends is not even fetched"
    async with world(tmp_path) as after, after.listening():  # a restart does not forget
        after.api.say("and now?", chat=66, user=66)
        after.api.say("mine", chat=7, message_id=900)
        await after.heard(1)
        await after.until(lambda: after.api.confirmed == 3)
        assert after.api.chat(66) == []


async def test_a_stranger_in_a_group_gets_no_word(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.say("@hermes_bot hi", chat=-5, user=66, type="group", title="Friends")
        w.api.say("mine")
        await w.heard(1)
        await w.until(lambda: w.api.confirmed == 3)
        assert [inbound.text for inbound in w.accepted] == ["mine"]
        assert w.api.chat(-5) == []


async def test_a_chat_can_be_let_in_as_a_whole_and_lets_nobody_in_elsewhere(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, allowed_chats=[-5], allowed_users=[]) as w, w.listening():
        w.api.say("@hermes_bot hi", chat=-5, user=66, type="group", title="Friends")
        w.api.say("hi", chat=66, user=66)
        (inbound,) = await w.heard(1)
        await w.until(lambda: w.api.confirmed == 3)
        assert (inbound.sender.id, inbound.place) == ("66", "Friends")
        assert len(w.accepted) == 1


async def test_who_may_come_in_is_decided_by_ids(tmp_path: Path) -> None:
    async with world(tmp_path, allowed_users=["7"], allowed_chats=[-100]) as w:
        channel: TelegramChannel = w.channel
        lane = session_key("telegram", "group", "1")
        allowed = reply("", chat=-100).address
        other = reply("", chat=-1).address
        assert channel.role(Sender(lane, other, "7")) is Role.OWNER
        assert channel.role(Sender(lane, allowed, "66")) is Role.MEMBER
        assert channel.role(Sender(lane, other, "66")) is Role.STRANGER
        assert channel.role(Sender(lane, other, "")) is Role.STRANGER


async def test_with_nobody_let_in_the_log_says_how(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path, allowed_users=[]) as w, w.listening():
        await w.until(lambda: w.polls)
    assert "hermes config set platforms.telegram.allowed_users" in caplog.text


async def test_a_pressed_button_says_its_words_and_goes_away(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        asked = reply("May I?", buttons=(("Yes", "/approve c-1"), ("No", "/deny c-1")))
        receipt = await w.channel.send(asked, w.channel.render("May I?")[0], key="k")
        (button, _), *_ = w.api.chat()[0].buttons
        async with w.listening():
            pressed = w.api.press(7, int(receipt), button["callback_data"])
            (inbound,) = await w.heard(1)
            query = pressed["callback_query"]["id"]
            await w.until(lambda: query in w.api.answered)
            await w.until(lambda: w.api.chat()[0].buttons == [])
        assert (inbound.text, inbound.id) == ("/approve c-1", f"cb:{query}")
        assert inbound.session == "agent:main:telegram:dm:7"
        assert w.api.texts() == ["May I?"]


async def test_a_press_is_answered_only_after_the_commit(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.troubles.append(StoreBusy("not now"))
        w.api.press(7, 1, "/approve c-1")
        async with w.listening() as task:
            await w.until(task.done)
        assert w.api.answered == {}


async def test_a_question_in_a_group_is_answered_by_who_was_asked(tmp_path: Path) -> None:
    lane = session_key("telegram", "group", "-5", "7")
    async with world(tmp_path) as w:
        asked = reply("May I?", chat=-5, session=lane, buttons=(("Yes", "/approve c-1"),))
        receipt = int(await w.channel.send(asked, "May I?", key="k"))
        ((button,),) = w.api.chat(-5)[0].buttons
        code = button["callback_data"]
        assert len(code.encode()) <= 64
        async with w.listening():
            w.api.press(-5, receipt, code, user=8, type="group")
            await w.until(lambda: NOT_YOURS in w.api.answered.values())
            assert w.accepted == []
            w.api.press(-5, receipt, code, user=7, type="group")
            (inbound,) = await w.heard(1)
        assert (inbound.text, inbound.session) == ("/approve c-1", lane)


async def test_a_button_that_nobody_remembers_is_said_to_be_old(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.press(7, 1, "#0123456789abcdef")
        await w.until(lambda: OLD_BUTTON in w.api.answered.values())
        assert w.accepted == []


async def test_a_stranger_presses_in_vain(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.press(66, 1, "/approve c-1", user=66)
        await w.until(lambda: w.api.answered)
        assert w.accepted == []


async def test_an_album_comes_as_messages_in_order(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        for n in range(3):
            w.api.files[f"p{n}"] = bytes([n])
            w.api.say(photo=[file(f"p{n}")], media_group_id="album")
        await w.heard(3)
        assert [await content(w, n) for n in range(3)] == [b"\0", b"\1", b"\2"]
