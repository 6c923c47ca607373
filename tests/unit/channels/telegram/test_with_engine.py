"""A message in, an answer out: the channel with the real engine between it and the journal."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.settings import telegram_settings
from hermes.core.ids import session_key
from hermes.core.messages import Effect
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.rules import Ask
from hermes.testing.house import House, Rule, echo, house
from tests.doubles.telegram import BotApi
from tests.unit.channels.telegram.world import QUICK, WAIT_S

LANE = session_key("telegram", "dm", "7")
LONG = "\n\n".join(f"Paragraph {n}. " + "word " * 150 for n in range(12))


@asynccontextmanager
async def bot(home: Path) -> AsyncIterator[tuple[BotApi, TelegramChannel]]:
    async with BotApi() as api:
        raw = {"token": api.token, "api_base": api.url, "poll_s": 1, "allowed_users": [7]}
        channel = TelegramChannel(telegram_settings(raw), memory=home / "telegram", patience=QUICK)
        try:
            yield api, channel
        finally:
            await channel.aclose()


@asynccontextmanager
async def telegram(
    home: Path, rule: Rule = echo
) -> AsyncIterator[tuple[BotApi, TelegramChannel, House]]:
    async with bot(home) as (api, channel), house(home, channel, rule, role=channel.role) as inside:
        yield api, channel, inside


async def until(true: Callable[[], object], inside: House) -> None:
    """Deliver until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not true():
            await inside.gateway.deliver(LANE)
            await asyncio.sleep(0.02)


async def test_what_is_asked_is_answered_in_the_same_chat(tmp_path: Path) -> None:
    async with (
        bot(tmp_path) as (api, channel),
        house(tmp_path, channel, role=channel.role) as inside,
    ):
        api.say("hello *there*")
        await until(api.chat, inside)
        assert api.texts() == ["You said: hello *there*".replace("*", "")]


async def test_a_command_is_obeyed(tmp_path: Path) -> None:
    async with (
        bot(tmp_path) as (api, channel),
        house(tmp_path, channel, role=channel.role) as inside,
    ):
        api.say("/stop")
        await until(api.chat, inside)
        assert "running" in api.texts()[0]


async def test_c53_a_flood_wait_holds_the_chat_and_nothing_is_lost(tmp_path: Path) -> None:
    async with (
        bot(tmp_path) as (api, channel),
        house(tmp_path, channel, role=channel.role) as inside,
    ):
        api.fault("sendMessage", "flood", retry_after=1)
        api.say("hello")
        await until(lambda: api.called("sendMessage"), inside)
        began = asyncio.get_running_loop().time()
        waits = await inside.store.outbox.waits(now=inside.door.clock())
        assert list(waits) == [("telegram", "7")]
        await until(api.chat, inside)
        assert asyncio.get_running_loop().time() - began > 0.5
        assert api.texts() == ["You said: hello"]


async def test_a_long_answer_goes_on_at_the_chunk_that_is_missing(tmp_path: Path) -> None:
    def tell(_request: ModelRequest) -> Answer:
        return Answer(text=LONG)

    async with (
        bot(tmp_path) as (api, channel),
        house(tmp_path, channel, tell, role=channel.role) as inside,
    ):
        whole = len(channel.render(LONG))
        assert whole > 2
        api.say("tell me all")
        api.fault("sendMessage", "error")
        await until(lambda: len(api.chat()) == whole, inside)
        told = "".join(" ".join(api.texts()).split())
        assert told == "".join(LONG.split())


async def test_a_question_is_answered_by_its_button(tmp_path: Path) -> None:
    paid: list[str] = []

    async def pay(context: ToolContext) -> ToolResult:
        paid.append(context.call.id)
        return ToolResult(text="paid")

    def rule(request: ModelRequest) -> Answer:
        done = any(line.role == "tool" for line in request.lines)
        return Answer(text="It is paid.") if done else Answer(calls=(RawCall("pay", "{}"),))

    spec = ToolSpec(name="pay", description="pay", parameters='{"type":"object"}')
    tool = Tool(spec=spec, check=lambda _: "", effect=lambda _: Effect.EFFECT, run=pay)
    async with (
        bot(tmp_path) as (api, channel),
        house(
            tmp_path, channel, rule, tools=(tool,), verdict=lambda _s, _c, _m: Ask("sure?")
        ) as inside,
    ):
        api.say("pay the rent")
        await until(api.chat, inside)
        (asked,) = api.chat()
        codes = {b["text"]: b["callback_data"] for row in asked.buttons for b in row}
        assert paid == []
        api.press(7, asked.message_id, codes["✅ Yes"])
        await until(lambda: "It is paid." in api.texts(), inside)
        assert len(paid) == 1
        assert api.chat()[0].buttons == []
