"""`/status` and `/platforms`: every number and every state, in words."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.channel import ChannelStatus, GatewayStatus
from hermes.core.ids import NodeId
from tests.unit.commands.chats import QUIET, Chat, Town

NOW = 1_000_000.0
TELEGRAM = ChannelStatus(
    name="telegram",
    state="connected",
    since=NOW - 7_200,
    last_inbound_at=NOW - 180,
    last_poll_at=NOW - 4,
)
API = ChannelStatus(name="api", state="down", since=NOW - 60, problem="the port is taken")
WAITING = ChannelStatus(name="other", state="waiting", since=NOW - 1)
STATUS = GatewayStatus(
    state="ready",
    version="1.2.3",
    pid=1,
    node=NodeId("n"),
    started_at=NOW - 7_300,
    resumes=True,
    store="sqlite",
    channels=(TELEGRAM, API),
    running=1,
    counts=QUIET,
    memory_bytes=1,
)


async def chat_with(status: GatewayStatus = STATUS) -> Chat:
    return await Town(now=NOW, status=status).chat()


async def test_status_of_a_quiet_chat() -> None:
    chat = await chat_with()
    [told] = await chat.say("/status")
    assert told.splitlines() == [
        "Hermes 1.2.3 is ready, up for 2 hours.",
        "This conversation has 0 messages; nothing is running.",
        "Model: custom:small",
        "Everywhere: 1 turn running, 0 messages queued.",
        "Waiting to be sent: 0 replies.",
        "telegram: connected",
        "api: down (the port is taken)",
    ]


async def test_status_of_a_busy_chat() -> None:
    counts = replace(
        QUIET,
        queued=1,
        asking=2,
        marks={"restart_timeout": 1, "restart_interrupted": 2},
        outbox={"pending": 2, "failed": 1, "abandoned": 4},
        outbox_oldest_at=NOW - 30,
    )
    chat = await chat_with(replace(STATUS, state="draining", resumes=False, counts=counts))
    await chat.say("/title Trip")
    await chat.say("/model other:big")
    await chat.say("hello")
    await chat.say("and this")
    await chat.go(e.TurnMarked(chat.turn.id, "restart_timeout", NOW - 5))
    chat.town.now += 61
    [told] = await chat.say("/status")
    assert told.splitlines()[1:11] == [
        "After several crashes, interrupted turns are not resumed automatically. "
        "Write in a chat to continue there.",
        "This conversation, “Trip”, has 1 message; "
        f"turn {chat.turn.id} has been running for 1 minute.",
        "1 message waits here.",
        "Its turn was interrupted by a restart 1 minute ago.",
        "Model: other:big",
        "Everywhere: 1 turn running, 1 message queued.",
        "2 questions open.",
        "3 turns interrupted, to be resumed.",
        "Waiting to be sent: 3 replies, the oldest since 1 minute.",
        "Given up: 4.",
    ]


async def test_status_of_a_chat_that_waits_and_of_one_that_is_parked() -> None:
    chat = await chat_with()
    await chat.say("buy it")
    await chat.answer("", "pay")
    [told] = await chat.say("/status")
    assert f"turn {chat.turn.id} has been waiting for an answer for a moment." in told
    await chat.say("/suspend")
    [told] = await chat.say("/status")
    assert "it is suspended: its owner suspended it." in told


async def test_platforms_tell_how_each_is() -> None:
    chat = await chat_with(replace(STATUS, channels=(TELEGRAM, API, WAITING)))
    [told] = await chat.say("/platforms")
    assert told.splitlines() == [
        "telegram: connected for 2 hours, last message 3 minutes ago, last poll 4 seconds ago",
        "api: down for 1 minute, no message yet (the port is taken)",
        "other: waiting for 1 second, another node holds the connection, no message yet",
    ]


async def test_a_long_problem_is_cut() -> None:
    chat = await chat_with(replace(STATUS, channels=(replace(API, problem="x" * 10_000),)))
    [told] = await chat.say("/platforms")
    assert len(told) < 300


async def test_without_platforms_that_is_said() -> None:
    chat = await chat_with(replace(STATUS, channels=()))
    assert await chat.say("/platforms") == ["No platform is connected here."]
