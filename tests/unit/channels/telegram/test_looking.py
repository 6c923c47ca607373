"""C51 where Telegram is in the way: was it taken, or was it not? Looked up, and never guessed."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.telegram.numbers import LOOKS_MAX, LOOKS_OWN_MAX, UpdateNumbers, next_numbers
from hermes.channels.telegram.render import render, shows
from hermes.core.errors import ChannelDown
from hermes.core.messages import Media, Reply
from tests.doubles.telegram_markdown import parse_markdown_v2
from tests.unit.channels.telegram.world import World, reply, world

REPORT = Media(digest="d", media_type="text/plain", name="report.txt")
VOICE = Media(digest="d", media_type="audio/ogg", name="word.ogg")
GROUP = -1_001_234_567_890
TEXT = (
    "**Done.** See [the page](https://example.test/a_b) and `a_b`:\n\n```sh\nls -l\n```\n> so be it"
)


async def unknown(_receipt: str) -> bool:
    return False


async def lost(w: World, one: Reply) -> tuple[str, str]:
    """It is sent, and nobody hears of it. Where the chat ended before, and the message's number."""
    behind = w.channel.end_of(one.address)
    (chunk,) = w.channel.render(one.text)
    w.api.fault("sendMessage", "lost")
    with pytest.raises(ChannelDown):
        await w.channel.send(one, chunk, key="k")
    return behind, str(w.api.chats.last_message)


async def heard(w: World, text: str, chat: int = 7) -> None:
    """Somebody writes, and the channel knows that."""
    count = len(w.polls)
    number = w.api.say(text, chat=chat, user=7)["message_id"]
    address = reply("x", chat=chat).address
    await w.until(lambda: w.channel.end_of(address) >= str(number) and len(w.polls) > count)


@pytest.mark.parametrize("unreadable", [False, True])
async def test_what_arrived_is_found_and_its_copy_is_taken_away(
    tmp_path: Path, *, unreadable: bool
) -> None:
    one = reply(TEXT)
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        if unreadable:  # it went out as plain text
            w.api.fault("sendMessage", "unreadable")
        behind, number = await lost(w, one)
        before = w.api.texts()
        found = await w.channel.find(one.address, render(TEXT), behind=behind, known=unknown)
        assert found == number
        assert w.api.texts() == before
        assert w.channel.end_of(one.address) == number


async def test_others_words_and_other_chats_are_passed_over(tmp_path: Path) -> None:
    one = reply("Done.")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind = w.channel.end_of(one.address)
        w.api.say("Done.", chat=7, user=7)  # the person's words, not ours
        w.api.chats.send({"chat_id": "8", "text": "Done."})  # ours, in another chat
        w.api.chats.send({"chat_id": "7", "text": "Something else."})
        _, number = await lost(w, one)
        assert (
            await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) == number
        )


async def test_what_is_not_there_is_not_found_and_nothing_is_left(tmp_path: Path) -> None:
    one = reply("Done.")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind = w.channel.end_of(one.address)
        w.api.say("Are you there?", chat=7, user=7)
        assert await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) == ""
        assert w.api.texts() == []
        assert len(w.api.called("forwardMessage")) == LOOKS_MAX


async def test_another_reply_with_the_same_words_is_not_taken_for_this_one(tmp_path: Path) -> None:
    one = reply("Done.")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind = w.channel.end_of(one.address)
        theirs = await w.channel.send(reply("Done."), "Done\\.", key="other")
        assert await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) == ""
        w.channel._numbers._sent.clear()  # another process sent it, and its receipt is stored
        seen: list[str] = []

        async def known(receipt: str) -> bool:
            seen.append(receipt)
            return True

        assert await w.channel.find(one.address, ["Done\\."], behind=behind, known=known) == ""
        assert seen == [theirs]


async def test_two_in_doubt_do_not_find_the_same_message(tmp_path: Path) -> None:
    one = reply("Done.")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind, number = await lost(w, one)
        looks = [
            w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) for _ in range(2)
        ]
        assert sorted(await asyncio.gather(*looks)) == ["", number]


async def test_while_telegram_is_away_it_stays_in_doubt(tmp_path: Path) -> None:
    one = reply("Done.")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind, number = await lost(w, one)
        w.api.fault("forwardMessage", "cut")
        with pytest.raises(ChannelDown):
            await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown)
        w.api.fault("deleteMessage", "flood", retry_after=1)
        assert (
            await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) == number
        )
        assert w.api.texts() == ["Done."], "the copy went at the second try"


async def test_who_knows_no_number_looks_for_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        one = reply("Done.")
        assert w.channel.end_of(one.address) == ""
        for behind in ("", "x", "-3", "²"):
            assert (
                await w.channel.find(one.address, ["Done\\."], behind=behind, known=unknown) == ""
            )
        assert w.api.calls == []


def test_large_groups_count_for_themselves_and_the_rest_together() -> None:
    numbers = UpdateNumbers()
    numbers.seen("7", 12)
    numbers.seen("-88", 10)
    numbers.seen(str(GROUP), 900)
    assert (numbers.last("8"), numbers.last("-88"), numbers.last(str(GROUP))) == (12, 12, 900)
    assert (numbers.last("-1001234567891"), numbers.last("@channel")) == (0, 0)
    assert next_numbers("7", "12") == range(13, 13 + LOOKS_MAX)
    assert next_numbers(str(GROUP), "900") == range(901, 901 + LOOKS_OWN_MAX)


_WORDS = st.lists(
    st.sampled_from(
        ["one", "**two**", "_three_", "`a*b`", "[x](http://y.test/z)", "~~no~~", "\n\n", "\n- it ",
         "\n# Head\n", "\n> quote\n", "\n```py\nx = 1\n```\n", "3.5!", "(a)", "a_b", "||s||"]
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


@given(_WORDS)
def test_what_telegram_makes_of_a_chunk_is_recognised(words: list[str]) -> None:
    for chunk in render(" ".join(words)):
        text, _ = parse_markdown_v2(chunk)
        assert shows(text.strip(), chunk)
        assert not shows(f"{text} more", chunk)


# ── files ───────────────────────────────────────────────────────────────────────────────────────


async def lost_file(w: World, media: Media, content: bytes) -> tuple[str, str]:
    behind = w.channel.end_of(reply("").address)
    for method in ("sendDocument", "sendPhoto", "sendVoice"):
        w.api.fault(method, "lost")
    with pytest.raises(ChannelDown):
        await w.channel.attach(reply(""), media, content, key="k")
    w.api.faults.clear()
    return behind, str(w.api.chats.last_message)


async def found(w: World, media: Media, size: int, behind: str) -> str:
    address = reply("").address
    return await w.channel.find_file(address, media, size, key="k", behind=behind, known=unknown)


@pytest.mark.parametrize("media", [REPORT, VOICE], ids=["document", "voice"])
async def test_a_file_that_arrived_is_found_by_its_name_and_size(
    tmp_path: Path, media: Media
) -> None:
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind, number = await lost_file(w, media, b"12345")
        assert await found(w, media, 5, behind) == number
        assert len(w.api.chat()) == 1, "no copy is left"
        assert await found(w, media, 5, behind) == "", "it is another reply's now"


async def test_another_file_is_not_taken_for_the_one_in_doubt(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind, _ = await lost_file(w, REPORT, b"12345")
        other = Media(digest="d", media_type="text/plain", name="other.txt")
        assert await found(w, REPORT, 6, behind) == ""
        assert await found(w, other, 5, behind) == ""


async def test_a_picture_is_not_looked_for_since_none_can_be_told_from_another(
    tmp_path: Path,
) -> None:
    picture = Media(digest="d", media_type="image/png", name="shot.png")
    async with world(tmp_path) as w, w.listening():
        await heard(w, "hello")
        behind, _ = await lost_file(w, picture, b"12345")
        assert await found(w, picture, 5, behind) == ""
        assert w.api.called("forwardMessage") == []
        again = await w.channel.attach(reply(""), picture, b"12345", key="k", caption="again")
        assert [shown.text for shown in w.api.chat()] == ["", "again"]
        assert str(w.api.chat()[1].message_id) == again
