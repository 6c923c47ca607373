"""Sending to a Bot API on a real socket: marks, buttons, drafts, files, and every way to fail."""

import time
from pathlib import Path

import pytest

from hermes.core.errors import ChannelBusy, ChannelDown, ChannelRefused
from hermes.core.ids import session_key
from hermes.core.messages import Address, Media
from tests.unit.channels.telegram.world import World, reply, world

CHAT = Address(platform="telegram", chat="7")


async def send(w: World, text: str, **more: object) -> list[str]:
    """As the engine does: rendered, chunk by chunk."""
    one = reply(text, **more)
    chunks = w.channel.render(text)
    return [await w.channel.send(one, c, key=f"k.{n}") for n, c in enumerate(chunks)]


async def test_marks_arrive_as_marks_and_the_receipt_is_the_message_id(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        (receipt,) = await send(w, "**Done.** See `a_b`!")
        (shown,) = w.api.chat()
    assert (str(shown.message_id), shown.text) == (receipt, "Done. See a_b!")
    assert shown.entities == ["bold:Done.", "code:a_b"]


async def test_a_chunk_that_telegram_cannot_read_goes_out_as_plain_text(tmp_path: Path) -> None:
    text = "**one** " * 700 + "\n\n**two** " * 400
    async with world(tmp_path) as w:
        assert len(w.channel.render(text)) > 1
        w.api.fault("sendMessage", "unreadable")
        await send(w, text)
        first, *others = w.api.chat()
    assert not first.marked
    assert "one one" in first.text
    assert "\\" not in first.text
    assert all(shown.marked for shown in others), "one chunk's trouble is not the others'"


async def test_words_before_a_chunk_that_nobody_escaped_are_sent_all_the_same(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        await w.channel.send(reply("x"), "(The file a.b is gone.)", key="k")
        assert w.api.texts() == ["(The file a.b is gone.)"]


async def test_an_answer_goes_to_the_topic_that_was_asked_in(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await send(w, "here", chat=-100, thread="5")
        await w.channel.typing(Address(platform="telegram", chat="-100", thread="5"))
        (shown,) = w.api.chat(-100)
        assert shown.thread == 5
        assert w.api.called("sendChatAction")[0]["message_thread_id"] == "5"


async def test_a_topic_that_is_gone_does_not_swallow_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.chats.threads_gone.add(5)
        await send(w, "here", chat=-100, thread="5")
        (shown,) = w.api.chat(-100)
        assert (shown.text, shown.thread) == ("here", None)


async def test_c53_a_flood_wait_is_told_with_its_length(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        for act in (
            lambda: send(w, "x"),
            lambda: w.channel.draft(CHAT, "x"),
            lambda: w.channel.redraft(CHAT, "101", "x"),
            lambda: w.channel.typing(CHAT),
        ):
            w.api.fault("*", "flood", retry_after=17)
            with pytest.raises(ChannelBusy) as caught:
                await act()
            assert caught.value.delay_s == 17


@pytest.mark.parametrize("kind", ["error", "cut", "garbage", "lost"])
async def test_what_may_pass_is_worth_another_try(tmp_path: Path, kind: str) -> None:
    async with world(tmp_path) as w:
        w.api.fault("sendMessage", kind)
        with pytest.raises(ChannelDown) as caught:
            await send(w, "x")
        assert not isinstance(caught.value, ChannelBusy)
        assert 0 < caught.value.delay_s < 60
        assert w.api.token not in str(caught.value)
        await send(w, "x")
        assert w.api.texts()[-1] == "x"


async def test_nobody_at_the_other_end_is_worth_another_try(tmp_path: Path) -> None:
    async with world(tmp_path, api_base="http://127.0.0.1:9") as w:
        with pytest.raises(ChannelDown) as caught:
            await send(w, "x")
        assert w.api.token not in repr(caught.value)


@pytest.mark.parametrize(
    ("status", "words"),
    [(403, "Forbidden: bot was blocked by the user"), (400, "Bad Request: chat not found")],
)
async def test_what_will_never_pass_is_refused(tmp_path: Path, status: int, words: str) -> None:
    async with world(tmp_path) as w:
        w.api.fault("sendMessage", "refuse", status=status, description=words)
        with pytest.raises(ChannelRefused, match=r"(?i)blocked|not found"):
            await send(w, "x")


async def test_a_draft_grows_and_the_answer_takes_its_place(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        receipt = await w.channel.draft(CHAT, "So *far")
        assert w.api.texts() == ["So *far …"]
        await w.channel.redraft(CHAT, receipt, "So *far* so good")
        await w.channel.redraft(CHAT, receipt, "So *far* so good")  # nothing new: no error
        answer = reply("So **far** so good.", replaces=receipt)
        (chunk,) = w.channel.render(answer.text)
        assert await w.channel.change(answer, receipt, chunk) == receipt
        assert await w.channel.change(answer, receipt, chunk) == receipt, "twice is once"
        (shown,) = w.api.chat()
        assert (shown.text, shown.entities) == ("So far so good.", ["bold:far"])


async def test_a_change_that_telegram_cannot_read_is_made_in_plain_text(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        receipt = await w.channel.draft(CHAT, "x")
        w.api.fault("editMessageText", "unreadable")
        await w.channel.change(reply("**y**"), receipt, "*y*")
        assert w.api.texts() == ["y"]


async def test_a_draft_that_is_gone_is_told_apart(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        for receipt in ("999", "not-a-number"):
            with pytest.raises(ChannelRefused):
                await w.channel.change(reply("y"), receipt, "y")
            await w.channel.remove(CHAT, receipt)  # gone already is no error


async def test_a_draft_can_be_taken_away(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        receipt = await w.channel.draft(CHAT, "x")
        await w.channel.remove(CHAT, receipt)
        assert w.api.chat() == []


async def test_buttons_stand_under_the_last_chunk(tmp_path: Path) -> None:
    buttons = (("Approve", "/approve call-1"), ("Deny", "/deny call-1"))
    async with world(tmp_path) as w:
        await send(w, "word. " * 1200 + "So?", buttons=buttons, kind="question")
        *before, last = w.api.chat()
        assert before
        assert [shown.buttons for shown in before] == [[]] * len(before)
        ((yes, no),) = last.buttons
        assert (yes["text"], yes["callback_data"]) == ("✅ Approve", "/approve call-1")
        assert (no["text"], no["callback_data"]) == ("❌ Deny", "/deny call-1")


async def test_a_long_button_stays_short_there(tmp_path: Path) -> None:
    says = "Yes, please go on with the third plan: " + "more " * 30
    async with world(tmp_path) as w:
        await send(w, "Which?", buttons=((says, says), ("No", "no")))
        ((long,), (short,)) = w.api.chat()[0].buttons
        assert len(long["callback_data"].encode()) <= 64
        assert short["callback_data"] == "no"


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [("image/png", "photo"), ("audio/ogg", "voice"), ("application/pdf", "document")],
)
async def test_a_file_is_sent_as_what_it_is(tmp_path: Path, media_type: str, kind: str) -> None:
    media = Media(digest="d", media_type=media_type, name="my file")
    async with world(tmp_path) as w:
        receipt = await w.channel.attach(reply("", thread="4"), media, b"bytes", key="k")
        (shown,) = w.api.chat()
        assert (shown.media, str(shown.message_id), shown.thread) == (kind, receipt, 4)
        assert shown.file is not None
        assert (shown.file.name, shown.file.content) == ("my file", b"bytes")


async def test_a_picture_that_telegram_cannot_show_goes_as_a_file(tmp_path: Path) -> None:
    media = Media(digest="d", media_type="image/png", name="odd.png")
    async with world(tmp_path) as w:
        w.api.fault("sendPhoto", "refuse", description="Bad Request: PHOTO_INVALID_DIMENSIONS")
        await w.channel.attach(reply(""), media, b"bytes", key="k")
        assert [shown.media for shown in w.api.chat()] == ["document"]


async def test_a_file_beyond_the_limit_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    media = Media(digest="d", media_type="application/zip", name="big")
    async with world(tmp_path) as w:
        with pytest.raises(ChannelRefused, match="50 MB"):
            await w.channel.attach(reply(""), media, bytes(50_000_001), key="k")
        assert w.api.calls == []


async def test_a_group_that_grew_gets_its_answers_under_its_new_number(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.moved[-5] = -1005
        await send(w, "hello", chat=-5, session=session_key("telegram", "group", "-5"))
        assert w.api.texts(-1005) == ["hello"]


async def test_the_manifest_says_what_the_settings_say(tmp_path: Path) -> None:
    async with world(tmp_path, drafts=False, banner=False) as w:
        manifest = w.channel.manifest
        assert (manifest.name, manifest.text_chars_max) == ("telegram", 4096)
        assert (manifest.draft_s, manifest.banner, manifest.single) == (0.0, False, True)
    async with world(tmp_path) as w:
        assert w.channel.manifest.draft_s > 1
        assert w.channel.manifest.banner


async def test_sending_a_long_answer_does_not_hold_up_the_process(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        began = time.process_time()
        w.channel.render("**word** and `code`, a [link](https://x.test).\n\n" * 2_000)
        assert time.process_time() - began < 3
