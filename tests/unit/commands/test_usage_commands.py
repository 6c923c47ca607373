"""`/usage` and `/insights`: what was taken, in words and in a picture."""

import xml.etree.ElementTree as ET
from pathlib import Path

from hermes.commands.usage import usage_commands
from hermes.core import events as e
from hermes.core.channel import CommandCall, CommandResult
from hermes.core.ids import MessageId, SessionId
from hermes.core.messages import Inbound, Person, Usage
from hermes.core.people import Role
from hermes.stores.media import FileMediaStore
from hermes.testing.hosts import FakeContext
from hermes.views.chart import Sheet
from hermes.views.svg import svg
from tests.unit.commands.chats import GROUP, GROUP_ADDRESS, Chat, Town

NOW = 1_790_000_000.0
TOKENS = Usage(input=1_000, output=100, cached=600, cache_written=50, reasoning=40)


def cost(model: str, usage: Usage, _calls: int) -> float | None:
    return None if "small" in model else usage.input / 1_000


def drawn(sheet: Sheet) -> tuple[bytes, str, str]:
    return svg(sheet).encode(), "image/svg+xml", "insights.svg"


async def spend(chat: Chat, model: str = "custom:big", usage: Usage = TOKENS) -> None:
    await chat.say("hi")
    answer = e.ModelAnswered(chat.turn.id, chat.town.now, text="fine", usage=usage, model=model)
    await chat.go(answer)


async def told(
    chat: Chat, text: str, shelf: FileMediaStore, *, by: str = "ann", role: Role = Role.OWNER
) -> CommandResult:
    name, _, argument = text.partition(" ")
    commands = usage_commands(cost, drawn, lambda _session: 10_000)
    look = next(command.run_async for command in commands if command.name == name)
    assert look is not None
    inbound = Inbound(
        id=MessageId("x"),
        account="a",
        session=chat.session.key,
        sender=Person(id=by),
        address=chat.address,
        text=text,
        at=chat.town.now,
    )
    call = CommandCall(
        session=chat.session,
        inbound=inbound,
        argument=argument,
        at=chat.town.now,
        epoch=1,
        reached=False,
        new_session=lambda: SessionId("new"),
        role=role,
    )
    context = chat.town.context
    with_shelf = FakeContext(
        store=context.store,
        media=shelf,
        accept=context.accept,
        status=context.status,
        consider=context.consider,
        clock=context.clock,
    )
    return await look(call, with_shelf)


async def test_usage_tells_nobody_but_the_owner_alone_what_others_have_taken(
    town: Town, tmp_path: Path
) -> None:
    town.now = NOW
    chat, group = await town.chat(), await town.chat(GROUP, GROUP_ADDRESS)
    await spend(chat)
    for where, role in ((chat, Role.PAIRED), (group, Role.OWNER), (group, Role.MEMBER)):
        [reply] = (await told(where, "/usage", FileMediaStore(tmp_path), role=role)).replies
        assert reply.text.startswith("This conversation: ")
        assert "everywhere" not in reply.text


async def test_usage_tells_of_this_conversation_and_of_today(town: Town, tmp_path: Path) -> None:
    town.now = NOW
    chat = await town.chat()
    await spend(chat)
    await spend(await town.chat(GROUP, GROUP_ADDRESS), "custom:small")
    [reply] = (await told(chat, "/usage", FileMediaStore(tmp_path))).replies
    assert reply.text.splitlines() == [
        "This conversation: 1 model call, $1.00.",
        "Tokens: 1,000 in, 600 of them cached (60%), 50 written to the cache, 100 out, "
        "40 of them reasoning.",
        "Today, everywhere: 2 model calls, $1.00 + price unknown.",
        "Tokens: 2,000 in, 1,200 of them cached (60%), 100 written to the cache, 200 out, "
        "80 of them reasoning.",
        "No price is known for custom:small: see `prices`.",
        f"This conversation fills about {chat.session.filled:,} of 10,000 tokens (11%) of the "
        "model's context.",
    ]


async def test_usage_of_a_new_conversation(town: Town, tmp_path: Path) -> None:
    [reply] = (await told(await town.chat(), "/usage", FileMediaStore(tmp_path))).replies
    assert reply.text.splitlines() == [
        "This conversation: no model calls.",
        "Today, everywhere: no model calls.",
    ]


async def test_insights_come_with_a_picture(town: Town, tmp_path: Path) -> None:
    town.now = NOW
    chat = await town.chat()
    await spend(chat)
    shelf = FileMediaStore(tmp_path)
    [reply] = (await told(chat, "/insights 3", shelf)).replies
    assert reply.text.splitlines()[0] == "The last 3 days: 1 model call, 1.1k tokens, $1.00."
    [picture] = reply.media
    content = await shelf.get(picture)
    assert content is not None
    assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314


async def test_a_chat_hears_nothing_of_who_else_there_is(town: Town, tmp_path: Path) -> None:
    town.now = NOW
    chat, group = await town.chat(), await town.chat(GROUP, GROUP_ADDRESS)
    await spend(chat)
    await spend(group)
    shelf = FileMediaStore(tmp_path)
    for here, hidden in ((group, True), (chat, False)):
        [reply] = (await told(here, "/insights", shelf)).replies
        content = await shelf.get(reply.media[0])
        assert content is not None
        assert ("telegram:dm:1" not in f"{reply.text}{content.decode()}") is hidden
        assert ("other chats" in reply.text) is hidden


async def test_wrong_days_and_empty_times_are_said(town: Town, tmp_path: Path) -> None:
    shelf, chat = FileMediaStore(tmp_path), await town.chat()
    for wrong in ("0", "-1", "many", "99999", "²"):
        [reply] = (await told(chat, f"/insights {wrong}", shelf)).replies
        assert reply.text == "Say how many days, from 1 to 3660: /insights 30"
    [reply] = (await told(chat, "/insights", shelf)).replies
    assert reply.text == "No model calls in that time."
    assert reply.media == ()
