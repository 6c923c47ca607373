"""One person's conversations, questions and figures are invisible to another, whatever they ask."""

import asyncio
import json
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core.channel import ChannelStatus, GatewayStatus
from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey, TurnId, chat_key
from hermes.core.messages import Address, Call
from hermes.core.people import Role
from hermes.core.ports import ToolContext
from hermes.stores.sqlite import open_sqlite
from hermes.tools.recall import recall_tool
from tests.quick import quick_folder
from tests.unit.commands.chats import NODE, QUIET, Chat, Town

STATUS = GatewayStatus(
    state="ready",
    version="1",
    store="sqlite",
    node=NODE,
    pid=1,
    memory_bytes=1,
    started_at=1.0,
    running=1,
    counts=replace(QUIET, asking=3, queued=4),
    channels=(ChannelStatus(name="telegram", state="connected", since=1.0),),
    resumes=True,
)
# Who speaks where: chats of two, own lanes in a group, a topic that all share.
PLACES = (
    ("ann", chat_key("telegram", "dm", "1"), Address(platform="telegram", chat="1")),
    ("bob", chat_key("telegram", "dm", "11"), Address(platform="telegram", chat="11")),
    ("eve", chat_key("telegram", "dm", "111"), Address(platform="telegram", chat="111")),
    ("bob", chat_key("telegram", "group", "7", user="11"), Address(platform="telegram", chat="7")),
    ("eve", chat_key("telegram", "group", "7", user="111"), Address(platform="telegram", chat="7")),
)
ROLES = {"ann": Role.OWNER, "bob": Role.PAIRED, "eve": Role.PAIRED}
SECRET = re.compile(r"secret(\d)")
TOOL = recall_tool()

actions = st.tuples(
    st.integers(0, len(PLACES) - 1),
    st.sampled_from(["say", "say", "pay", "/new", "title", "look"]),
)


def looks(other: int) -> list[str]:
    return [
        "/sessions",
        f"/sessions search secret{other}",
        "/sessions search secret*",
        "/resume",
        "/resume 1",
        f"/resume secret{other}",
        "/status",
        "/background",
        "/approve",
        "/deny",
    ]


async def chat_at(town: Town, place: int) -> tuple[str, Chat]:
    who, key, address = PLACES[place]
    return who, await town.chat(key, address)


async def recalled(town: Town, here: SessionKey, **arguments: object) -> str:
    context = ToolContext(
        session=here,
        turn=TurnId("t"),
        call=Call(id=CallId("c"), tool="session_search", arguments=json.dumps(arguments)),
        facts={},
        labels=frozenset(),
        watch=lambda _: None,
        host=town.context,
    )
    try:
        return (await TOOL.run(context)).text
    except ToolFailed as failed:
        return str(failed)


async def act(town: Town, place: int, action: str) -> None:
    who, chat = await chat_at(town, place)
    waits = chat.session.turn is not None
    match action:
        case "say" if not waits:
            await chat.exchange(f"keep secret{place} for me", f"kept secret{place}", by=who)
        case "pay" if not waits:
            await chat.say(f"pay for secret{place}", by=who)
            await chat.answer("", "pay")
        case "/new" if not waits:
            await chat.say("/new", by=who)
        case "title":
            await chat.say(f"/title about secret{place}", by=who)
        case _:
            pass


async def look(town: Town, place: int) -> None:
    """Everything that somebody can ask for there, and what it says of others."""
    who, chat = await chat_at(town, place)
    for other in range(len(PLACES)):
        told: list[str] = []
        for text in looks(other):
            if PLACES[place][0] == "ann" and text in ("/approve", "/deny"):
                continue  # all questions are the owner's to answer
            told += await chat.say(text, by=who)
        told.append(await recalled(town, chat.session.key, query="secret*"))
        told.append(await recalled(town, chat.session.key, query=f"secret{other}"))
        lane = PLACES[other][1]
        told.append(await recalled(town, chat.session.key, query="secret*", session=lane))
        for text in told:
            own = re.sub(r"(is called|search|no|conversation called) “[^”]*”", "", text)
            own = own.replace(f"“secret{other}”", "")  # what was asked is said back
            seen = {int(found) for found in SECRET.findall(own)}
            assert seen <= {place}, f"{who} in {chat.session.key} reads: {text}"
            if ROLES[who] is not Role.OWNER:
                assert "everywhere" not in text.lower(), text
                assert "question" not in text.lower() or "Only my owner" in text, text


async def lived(folder: Path, history: list[tuple[int, str]]) -> None:
    town = Town(status=STATUS, roles=dict(ROLES))
    town.store = await open_sqlite(folder / "hermes.db", clock=lambda: town.now)
    try:
        await town.store.nodes.join(NODE)
        for place, action in history:
            town.now += 10.0
            if action == "look":
                await look(town, place)
            else:
                await act(town, place, action)
        for place in range(len(PLACES)):
            await look(town, place)
    finally:
        await town.store.upkeep.close()


@given(st.lists(actions, min_size=3, max_size=14))
@settings(max_examples=12, deadline=None)
def test_one_persons_sessions_search_and_questions_are_invisible_to_another(
    history: list[tuple[int, str]],
) -> None:
    with quick_folder() as folder:
        asyncio.run(lived(folder, history))


def test_whoever_has_said_something_finds_it_again() -> None:
    """The same looks do find what is one's own, or the law above would say nothing."""

    async def live(folder: Path) -> None:
        town = Town(status=STATUS, roles=dict(ROLES))
        town.store = await open_sqlite(folder / "hermes.db", clock=lambda: town.now)
        try:
            await town.store.nodes.join(NODE)
            for place in range(len(PLACES)):
                await act(town, place, "say")
                await act(town, place, "/new")
            for place in range(len(PLACES)):
                who, chat = await chat_at(town, place)
                told = await chat.say(f"/sessions search secret{place}", by=who)
                assert f"secret{place}" in str(told)
                found = await recalled(town, chat.session.key, query=f"secret{place}")
                assert f"kept secret{place}" in found
        finally:
            await town.store.upkeep.close()

    with quick_folder() as folder:
        asyncio.run(live(folder))
