"""`session_search`: hits with their surroundings, only what may be seen, with the labels it had."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from hermes.core import channel
from hermes.core import events as e
from hermes.core.channel import Considered
from hermes.core.errors import ProviderBusy, ToolFailed
from hermes.core.ids import (
    CallId,
    MessageId,
    NodeId,
    SessionId,
    SessionKey,
    TurnId,
    chat_key,
    session_key,
)
from hermes.core.messages import Address, Call, Effect, Inbound, Line, Person, Spent, Usage
from hermes.core.ports import ToolContext, ToolResult
from hermes.core.projection import commit_of
from hermes.core.session import ref
from hermes.core.store import Fence, Store
from hermes.stores.sqlite import open_sqlite
from hermes.testing.hosts import FakeContext
from hermes.tools.recall import OUTPUT_CHARS_MAX, recall_tool

NODE = NodeId("node")
ANN, BOB = chat_key("telegram", "dm", "1"), chat_key("telegram", "dm", "2")
OWNER = session_key("local", "dm", "main")
TOOL = recall_tool()
SPENT = Spent(purpose="recall", model="small", usage=Usage(input=7, output=3))


@dataclass
class Room:
    """A store, and a helper model that answers or fails."""

    store: Store
    fails: bool = False
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    async def tell(self, key: SessionKey, *lines: Line, opens: str = "", at: float = 1e9) -> None:
        """All lines but the last came with the message that is the last."""
        *before, said = lines
        inbound = Inbound(
            id=MessageId(f"{key}-{opens}-{at}"),
            account="test",
            session=key,
            sender=Person(id="ann"),
            address=Address(platform="telegram", chat="1"),
            text=said.text,
            at=at,
            labels=said.labels,
            before=tuple(replace(line, at=at) for line in before),
        )
        await self.store.journal.accept(inbound, opens=SessionId(opens or f"conversation-{key}"))
        [claim] = await self.store.journal.claim(NODE, limit=1, only=key)
        turn = TurnId(f"turn-{inbound.id}")
        await self.write(
            key,
            e.TurnStarted(turn, (ref(inbound),), claim.epoch, at),
            e.TurnEnded(turn, "answered", at),
        )

    async def write(self, key: SessionKey, *events: e.Event) -> None:
        [claim] = await self.store.journal.claim(NODE, limit=1, only=key)
        commit = commit_of(await self.store.journal.load(key), events)
        await self.store.journal.append(commit, fence=Fence(NODE, claim.epoch))

    async def search(self, here: SessionKey, query: str, **more: object) -> ToolResult:
        arguments = json.dumps({"query": query, **more})
        assert TOOL.check(arguments) == ""
        assert TOOL.effect(arguments) is Effect.READ
        return await TOOL.run(self.context(here, arguments))

    def context(self, here: SessionKey, arguments: str) -> ToolContext:
        host = FakeContext(
            store=self.store,
            media=cast("channel.MediaStore", None),
            accept=cast("object", None),  # type: ignore[arg-type]
            status=cast("object", None),  # type: ignore[arg-type]
            consider=self.consider,
            clock=lambda: 2e9,
            audience=lambda platform: "owner" if platform == "local" else "people",
        )
        return ToolContext(
            session=here,
            turn=TurnId("turn"),
            call=Call(id=CallId("turn-1"), tool="session_search", arguments=arguments),
            facts={},
            labels=frozenset(),
            watch=lambda _: None,
            host=host,
        )

    async def consider(self, purpose: str, task: str, text: str) -> Considered:
        self.asked.append((purpose, task, text))
        if self.fails:
            raise ProviderBusy("the model is overloaded")
        return Considered(text="They saw an owl.", spent=SPENT)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    store = await open_sqlite(tmp_path / "hermes.db", clock=lambda: 1e9)
    await store.nodes.join(NODE)
    yield Room(store)
    await store.upkeep.close()


def user(text: str, *labels: str) -> Line:
    return Line(role="user", text=text, sender="ann", labels=labels)


def assistant(text: str) -> Line:
    return Line(role="assistant", text=text)


async def test_a_hit_comes_with_its_neighbours_its_time_and_who_said_it(room: Room) -> None:
    lines = [user("zero"), assistant("one"), user("two"), assistant("a snowy owl"), user("four")]
    await room.tell(ANN, *lines, assistant("five"), user("six"))
    await room.write(ANN, e.SessionReset(SessionId("now"), "asked", 2e9))
    result = await room.search(ANN, "owl")
    assert result.text.splitlines() == [
        f"Conversation conversation-{ANN} in telegram:dm:1:",
        "  2001-09-09 01:46 you: one",
        "  2001-09-09 01:46 ann: two",
        "→ 2001-09-09 01:46 you: a snowy owl",
        "  2001-09-09 01:46 ann: four",
        "  2001-09-09 01:46 you: five",
    ]
    assert (result.labels, result.spent) == ((), ())


async def test_what_the_model_reads_anyway_is_no_hit_unless_asked_for(room: Room) -> None:
    await room.tell(ANN, assistant("an owl long ago"), user("the owl is here"))
    assert (await room.search(ANN, "owl")).text == "Nothing was found."
    assert "→" in (await room.search(ANN, "owl", session=ANN)).text
    assert "→" in (await room.search(ANN, "owl", session="telegram:dm:1")).text
    view = e.View((e.Span(SessionId(f"conversation-{ANN}"), 1),), "A summary.")
    await room.write(ANN, e.ViewChanged(view, "compacted", 2e9))
    found = (await room.search(ANN, "owl")).text
    assert "→ 2001-09-09 01:46 you: an owl long ago" in found
    assert "→ 2001-09-09 01:46 ann" not in found


async def test_nobody_recalls_what_another_chat_said(room: Room) -> None:
    await room.tell(BOB, user("the owl of bob"))
    await room.tell(ANN, user("hello"))
    assert (await room.search(ANN, "owl")).text == "Nothing was found."
    assert "the owl of bob" in (await room.search(OWNER, "owl")).text
    for name in (BOB, f"conversation-{BOB}", "telegram:dm:2", "nobody"):
        with pytest.raises(ToolFailed, match="there is no"):
            await room.search(ANN, "owl", session=name)


async def test_a_recalled_text_keeps_its_labels(room: Room) -> None:
    await room.tell(BOB, user("the owl from a web page", "untrusted", "relayed"))
    await room.tell(ANN, user("plain owl talk"))
    assert (await room.search(OWNER, "owl web")).labels == ("private", "untrusted")
    assert (await room.search(OWNER, "plain")).labels == ("private",)
    assert (await room.search(ANN, "plain")).labels == ()
    summed = await room.search(OWNER, "owl", summarise=True)
    assert summed.labels == ("private", "untrusted")


async def test_a_summary_names_its_sources_and_is_accounted(room: Room) -> None:
    await room.tell(BOB, user("the owl of bob"))
    result = await room.search(OWNER, "owl", summarise=True)
    assert result.text.splitlines() == [
        "They saw an owl.",
        "",
        "From:",
        f"- conversation conversation-{BOB} in telegram:dm:2, 2001-09-09 01:46: the [owl] of bob",
    ]
    assert result.spent == (SPENT,)
    [(purpose, task, text)] = room.asked
    assert purpose == "recall"
    assert task.endswith("The question: owl")
    assert "the owl of bob" in text


async def test_without_the_model_the_hits_are_given_plainly(room: Room) -> None:
    room.fails = True
    await room.tell(BOB, user("the owl of bob"))
    result = await room.search(OWNER, "owl", summarise=True)
    assert result.text.startswith("Not summed up, because the model failed (the model is overload")
    assert "the owl of bob" in result.text
    assert result.spent == ()
    room.asked.clear()
    assert (await room.search(OWNER, "unicorn", summarise=True)).text == "Nothing was found."
    assert room.asked == [], "there is nothing to sum up"


async def test_the_output_is_bounded_and_grouped_by_conversation(room: Room) -> None:
    long = "word " * 2_000
    lines = [user(f"{long} owl {long}") for _ in range(30)]
    await room.tell(ANN, *lines)
    await room.tell(
        BOB, user("an owl"), assistant("a"), user("b"), user("c"), user("d"), user("owl")
    )
    result = await room.search(OWNER, "owl", limit=20)
    assert len(result.text) < OUTPUT_CHARS_MAX + 1_000
    assert result.text.count("Conversation ") == 2
    few = await room.search(OWNER, "owl", limit=2, session=BOB)
    assert few.text.count("→") == 2
    cut = await room.search(OWNER, " ".join(f"owl{n}" for n in range(50)))
    assert cut.text.startswith("Nothing was found.\nThe question is too long")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "query"),
        ({"query": " "}, "query: "),
        ({"query": "x" * 2_000}, "query: longer"),
        ({"query": "x", "limit": 0}, "limit: "),
        ({"query": "x", "limit": 21}, "limit: "),
        ({"query": "x", "all": True}, "all"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], said: str) -> None:
    assert said in TOOL.check(json.dumps(arguments))
