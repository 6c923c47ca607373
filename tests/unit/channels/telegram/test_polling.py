"""Polling a Bot API on a real socket: what is confirmed, what is skipped, what is begun anew."""

import asyncio
from pathlib import Path

import pytest

from hermes.core.errors import ChannelDown, Misconfigured, StoreBusy
from tests.doubles.telegram import BotApi
from tests.unit.channels.telegram.world import COMMANDS, world


async def test_a_message_is_accepted_and_its_sender_and_place_are_known(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        said = w.api.say("hello there")
        (inbound,) = await w.heard(1)
    assert inbound.text == "hello there"
    assert inbound.id == f"7:{said['message_id']}"
    assert inbound.account == inbound.address.account == f"telegram:{w.api.id}"
    assert inbound.session == "agent:main:telegram:dm:7"
    assert (inbound.sender.id, inbound.sender.name, inbound.place) == ("7", "Ada", "Ada")
    assert (inbound.address.platform, inbound.address.chat) == ("telegram", "7")


async def test_the_offset_moves_only_after_the_commit(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.troubles.append(StoreBusy("the disk is busy"))
        update = w.api.push({"message": w.api.say("one")})["update_id"]
        async with w.listening() as task:
            with pytest.raises(ChannelDown, match="the disk is busy"):
                await task
        assert w.api.confirmed == 0
        assert w.accepted == []
        async with w.listening():
            await w.until(lambda: w.api.confirmed > update)
        assert [inbound.text for inbound in w.accepted] == ["one"], "delivered again, stored once"


async def test_a_second_process_gets_what_the_first_did_not_confirm(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.say("one")
        async with w.listening():
            await w.heard(1)
        w.api.confirmed = 0
        w.api.say("one", message_id=w.accepted[0].id.partition(":")[2])
        async with w.listening():
            w.api.say("two")
            await w.heard(2)
        assert [inbound.text for inbound in w.accepted] == ["one", "two"]


async def test_messages_of_a_chat_stay_in_their_order(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        for n in range(30):
            w.api.say(f"{n}", chat=7 + n % 2, user=7 + n % 2)
        async with w.listening():
            await w.heard(30)
        for chat in ("7", "8"):
            told = [int(one.text) for one in w.accepted if one.address.chat == chat]
            assert told == sorted(told)


async def test_an_update_that_nobody_can_read_is_skipped_without_its_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as w:
        w.api.push({"message": {"message_id": "private words", "chat": "private words"}})
        w.api.push({"something_new": {"text": "private words"}})
        w.api.push({"message": {"message_id": 5, "chat": {"id": 7, "type": "private"}}})
        w.api.say("after it")
        async with w.listening():
            (inbound,) = await w.heard(1)
            await w.until(lambda: w.api.confirmed == 5)
    assert inbound.text == "after it"
    assert "an update is skipped" in caplog.text
    assert "private words" not in caplog.text


async def test_a_message_that_is_rejected_is_not_tried_for_ever(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        w.api.say("x" * 200_000)
        w.api.say("short")
        (inbound,) = await w.heard(1)
        await w.until(lambda: w.api.confirmed == 3)
        await w.until(w.api.chat)
        assert inbound.text == "short"
        assert "longer than" in w.api.texts()[0], "the sender hears why"


async def test_a_dead_poll_socket_is_noticed_and_rebuilt(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", "hang")
        async with w.listening():
            await w.until(lambda: w.api.called("getUpdates"))
            w.api.say("are you there?")
            (inbound,) = await w.heard(1)
        assert inbound.text == "are you there?"
        assert len(w.api.called("getUpdates")) >= 2


@pytest.mark.parametrize("kind", ["error", "cut", "garbage", "lost"])
async def test_a_poll_that_fails_is_made_again(tmp_path: Path, kind: str) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", kind, times=2)
        w.api.say("hello")
        async with w.listening():
            await w.heard(1)
            assert w.polls


async def test_c53_a_flood_wait_of_the_poll_is_waited_for(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", "flood", retry_after=1)
        w.api.say("hello")
        began = asyncio.get_running_loop().time()
        async with w.listening():
            await w.heard(1)
        assert asyncio.get_running_loop().time() - began >= 1


async def test_a_platform_that_stays_away_is_told_of(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", "error", times=50)
        async with w.listening() as task:
            with pytest.raises(ChannelDown, match="cannot be reached"):
                await task


async def test_a_poll_that_is_refused_is_tried_again_later(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", "refuse", status=400, description="Bad Request: odd")
        async with w.listening() as task:
            with pytest.raises(ChannelDown, match="Odd"):
                await task


async def test_another_poller_is_a_clear_problem(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("getUpdates", "refuse", status=409, description="Conflict: terminated")
        async with w.listening() as task:
            with pytest.raises(ChannelDown, match="another program polls this bot") as caught:
                await task
        assert caught.value.delay_s >= 5


@pytest.mark.parametrize(
    ("method", "status"), [("getMe", 401), ("getMe", 404), ("getUpdates", 401)]
)
async def test_a_wrong_token_is_a_wrong_setting(tmp_path: Path, status: int, method: str) -> None:
    async with world(tmp_path) as w:
        w.api.fault(method, "refuse", status=status, description="Unauthorized")
        async with w.listening() as task:
            with pytest.raises(Misconfigured) as caught:
                await task
        assert caught.value.key == "platforms.telegram.token"
        assert w.api.token not in str(caught.value)


@pytest.mark.parametrize("method", ["deleteWebhook", "getUpdates"])
async def test_a_method_that_is_unknown_there_is_no_wrong_token(
    tmp_path: Path, method: str
) -> None:
    async with world(tmp_path) as w:
        w.api.fault(method, "refuse", status=404, description="Not Found", times=9)
        async with w.listening() as task:
            with pytest.raises(ChannelDown, match=method):
                await task


async def test_a_preflight_asks_for_the_bot_and_changes_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        await w.channel.preflight(lambda _host, _port: False)
        w.api.fault("getMe", "refuse", status=401, description="Unauthorized")
        with pytest.raises(Misconfigured) as caught:
            await w.channel.preflight(lambda _host, _port: False)
        assert caught.value.key == "platforms.telegram.token"
    async with world(tmp_path, api_base="http://127.0.0.1:9") as away:
        await away.channel.preflight(lambda _host, _port: False)


async def test_a_platform_that_is_not_there_at_the_start_is_down(tmp_path: Path) -> None:
    async with world(tmp_path, api_base="http://127.0.0.1:9") as w, w.listening() as task:
        with pytest.raises(ChannelDown):
            await task
        assert not w.connected.is_set()


async def test_commands_are_registered_by_telegrams_rules(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        await w.until(lambda: w.api.commands)
        names = [command["command"] for command in w.api.commands]
        assert names == [command.name.removeprefix("/") for command in COMMANDS]
        assert w.api.commands[2]["description"] == "TEXT: Say more"


async def test_commands_that_telegram_does_not_take_do_not_matter(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.fault("setMyCommands", "refuse", description="Bad Request: BOT_COMMAND_INVALID")
        w.api.say("hello")
        async with w.listening():
            await w.heard(1)


async def test_connected_is_said_when_it_is_so_and_every_poll_is_noted(tmp_path: Path) -> None:
    async with world(tmp_path) as w, w.listening():
        async with asyncio.timeout(60):
            await w.connected.wait()
        await w.until(lambda: len(w.polls) >= 2)


async def test_a_webhook_of_before_does_not_stand_in_the_way(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.api.hook = {"url": "https://elsewhere.test"}
        w.api.say("hello")
        async with w.listening():
            await w.heard(1)


async def test_the_double_is_strict_about_its_token(tmp_path: Path) -> None:
    async with (
        BotApi() as api,
        world(tmp_path, token="1:other", api_base=api.url) as w,
        w.listening() as task,
    ):
        with pytest.raises(Misconfigured):
            await task


_PLACE = {"id": 7, "type": "private"}
_WHO = {"id": 7, "is_bot": False, "first_name": "Ada"}
_HUGE = int("9" * 300)
ODD_FIELDS: dict[str, dict[str, object]] = {
    "a huge chat": {"chat": {"id": _HUGE, "type": "private"}},
    "a huge message id": {"message_id": _HUGE},
    "a message id below zero": {"message_id": -3},
    "a huge date": {"date": _HUGE},
    "a date below zero": {"date": -(10**15)},
    "a huge sender": {"from": {"id": _HUGE, "first_name": "Ada"}},
    "a huge topic": {"message_thread_id": _HUGE, "is_topic_message": True},
    "a topic below zero": {"message_thread_id": -1, "is_topic_message": True},
    "a huge file": {"document": {"file_id": "x", "file_unique_id": "x", "file_size": _HUGE}},
    "a file without a name": {"document": {"file_id": "", "file_unique_id": ""}},
    "an empty picture": {"photo": []},
    "a huge entity": {"entities": [{"type": "mention", "offset": _HUGE, "length": _HUGE}]},
    "an entity below zero": {"entities": [{"type": "mention", "offset": -9, "length": -9}]},
    "a kind of chat that is new": {"chat": {"id": 7, "type": "planet"}},
    "no sender": {"from": None},
    "half a sign": {"text": "\ud83d"},
    "zeros": {"text": "a\x00b"},
    "a place beyond the earth": {"location": {"latitude": 1e308, "longitude": -1e308}},
}


async def test_no_odd_update_stops_those_behind_it(tmp_path: Path) -> None:
    """An update that broke the ear would come again after each restart, for ever."""
    async with world(tmp_path) as w:
        base = {"message_id": 5, "date": 1, "chat": _PLACE, "from": _WHO, "text": "x"}
        for n, more in enumerate(ODD_FIELDS.values()):
            w.api.push({"message": {**base, "message_id": 50 + n, **more}})
            w.api.push({"edited_message": {**base, "message_id": 50 + n, **more}})
            query = {"id": "q", "from": _WHO, "message": {**base, **more}, "data": "x"}
            w.api.push({"callback_query": query})
        w.api.push({"update_id": 10**6, "message": {**base, "text": "the last"}})
        async with w.listening() as task:
            await w.until(lambda: task.done() or w.api.confirmed > 10**6)
            assert not task.done(), task.exception()
        assert "the last" in [inbound.text for inbound in w.accepted]
