"""P3: the engine obeys what a platform's manifest says, seen on a platform that is made up."""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace
from tests.doubles.plaza import MANIFEST, Plaza
from tests.journey.test_serving import KEY, Model, gateway, until

from hermes.core.channel import ButtonLimits, Manifest
from hermes.core.errors import StoreBusy
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import TextDelta, Watch
from hermes.gateway.serve import Serving
from hermes.gateway.windows import ReplyWindows

HOUR_S = 3600.0
QUIET = replace(MANIFEST, draft_s=0.0)
BUTTONS = (("Yes", "/approve 7"), ("No", "/deny 7"), ("later", "later"))


@dataclass
class Counting(Plaza):
    """Counts drafts."""

    drafts: list[str] = field(default_factory=list)

    async def draft(self, address: Address, text: str) -> str:
        self.drafts.append(text)
        return await super().draft(address, text)


def with_facts(manifest: Manifest) -> Counting:
    plaza = Counting(manifest)
    plaza.open.set()
    return plaza


def message(id_: str, text: str, *, at: float = 0.0, **more: object) -> Inbound:
    made = Inbound(
        id=MessageId(id_),
        account="plaza",
        session=KEY,
        sender=Person(id="ann"),
        address=Address(platform="plaza", chat="1"),
        text=text,
        at=at or time.time(),
    )
    return replace(made, **more)


def relayed(text: str, **more: object) -> Inbound:
    return message("sent", text, account="send", origin="relay", **more)


def to_chat(number: int) -> Inbound:
    chat = str(number)
    key = chat_key("plaza", "dm", chat)
    there = Address(platform="plaza", chat=chat)
    return relayed("hello?", id=MessageId(chat), address=there, session=key)


async def states(serves: Serving) -> list[str]:
    rows = await serves.engine.store.outbox.rows(KEY, limit=10)
    return [row.state for row in reversed(rows)]


async def test_a_platform_without_edits_shows_no_draft(tmp_path: Path) -> None:
    plaza, model = with_facts(replace(MANIFEST, edits=False)), Model()
    model.hold()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: "1" in plaza.typed)
        model.go.set()
        await until(lambda: plaza.shows() == ["I think so: hello"])
    assert plaza.drafts == []


async def test_c95_outside_of_the_window_a_reply_waits_for_the_person_also_over_a_restart(
    tmp_path: Path,
) -> None:
    facts = replace(MANIFEST, window_s=HOUR_S)
    plaza, model = with_facts(facts), Model()
    async with gateway(tmp_path, plaza, model) as serves:
        await serves.engine.accept(message("1", "old", at=time.time() - 2 * HOUR_S))
        await serves.engine.settle(KEY)
        await serves.engine.accept(relayed("The build is done"))
        await serves.engine.settle(KEY)
        assert await states(serves) == ["pending", "pending"]
    async with gateway(tmp_path, plaza, model) as serves:
        await serves.engine.deliver(KEY)
        assert await states(serves) == ["pending", "pending"]
        assert (plaza.shows(), plaza.drafts) == ([], [])
        await plaza.say(2, "new")
        await until(lambda: len(plaza.shows()) == 3)
    old, relay, new = plaza.shows()
    assert (old, relay) == ("I think so: old", "The build is done")
    assert new.endswith("new")


async def test_c95_a_message_inside_of_the_window_is_known_after_a_restart(tmp_path: Path) -> None:
    plaza, model = with_facts(replace(MANIFEST, window_s=HOUR_S)), Model()
    async with gateway(tmp_path, plaza, model):
        await plaza.say(1, "hello")
        await until(lambda: len(plaza.shows()) == 1)
    async with gateway(tmp_path, plaza, model) as serves:
        await serves.engine.accept(relayed("The build is done"))
        await until(lambda: plaza.shows()[1:] == ["The build is done"])


async def test_c95_rows_that_wait_for_a_person_keep_nobody_else_waiting(tmp_path: Path) -> None:
    """More of them than one look at the outbox takes."""
    plaza, model = with_facts(replace(QUIET, window_s=HOUR_S)), Model()
    async with gateway(tmp_path, plaza, model) as serves:
        await asyncio.gather(*(serves.engine.accept(to_chat(n)) for n in range(2, 230)))
        await plaza.say(1, "hello")
        await until(lambda: plaza.shows() == ["I think so: hello"])
        assert list(plaza.chats) == ["1"]


async def test_a_reply_to_a_thread_is_refused_where_there_are_none(tmp_path: Path) -> None:
    plaza = with_facts(QUIET)
    async with gateway(tmp_path, plaza, Model()) as serves:
        there = Address(platform="plaza", chat="1", thread="5")
        await serves.engine.accept(relayed("hello", address=there))
        async with asyncio.timeout(30):
            while await states(serves) != ["abandoned"]:  # noqa: ASYNC110 (of another thread)
                await asyncio.sleep(0.01)
        (row,) = await serves.engine.store.outbox.rows(KEY, limit=5)
    assert (row.state, plaza.shows()) == ("abandoned", [])
    assert row.problem == "plaza has no threads; send it to plaza:1 instead"


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        (None, "Sure?\n\nAnswer with one of these:\n- /approve 7 (Yes)\n- /deny 7 (No)\n- later"),
        (2, "Sure?\n\nAnswer with one of these:\n- later"),
        (3, "Sure?"),
    ],
)
async def test_buttons_that_a_platform_cannot_show_are_written_out(
    tmp_path: Path, limits: int | None, shown: str
) -> None:
    room = ButtonLimits(rows=limits, per_row=1, label_chars=20, value_bytes=64) if limits else None
    plaza = with_facts(replace(QUIET, buttons=room))
    async with gateway(tmp_path, plaza, Model()) as serves:
        await serves.engine.accept(relayed("Sure?", buttons=BUTTONS))
        await until(lambda: plaza.shows() == [shown])


async def test_c96_a_store_that_is_slower_than_the_platform_waits_is_a_refusal(
    tmp_path: Path,
) -> None:
    """The platform repeats the message, and it is one turn, whatever became of the first try."""
    plaza, model = with_facts(replace(QUIET, ack_s=0.2)), Model()
    async with gateway(tmp_path, plaza, model):
        other = apsw.Connection(str(tmp_path / "hermes.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match=r"within 0\.2 s"):
            await plaza.say(1, "hello")
        other.execute("ROLLBACK")
        other.close()
        async with asyncio.timeout(30):
            while True:
                try:
                    await plaza.say(1, "hello")
                    break
                except StoreBusy:
                    await asyncio.sleep(0.05)
        await until(lambda: plaza.shows() == ["I think so: hello"])
    assert len(model.asked) == 1


class Linking(Model):
    """A model that writes an address before it is held."""

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        watch(TextDelta("See https://evil.test/?q=secret "))
        return await super().ask(request, watch)


async def test_a_draft_of_an_untrusted_conversation_shows_no_address(tmp_path: Path) -> None:
    """P11: the answer shows it as text; a draft, which has no marks, does not show it at all."""
    plaza, model = with_facts(MANIFEST), Linking()
    model.hold()
    async with gateway(tmp_path, plaza, model) as serves:
        await serves.engine.accept(message("1", "hello", labels=("untrusted",)))
        await until(lambda: plaza.shows() == ["See (link) I think …"])
        model.go.set()
        await until(lambda: plaza.shows() == ["I think so: hello"])


async def test_a_platform_without_a_window_is_never_looked_at() -> None:
    """Nothing of the journal is read for it."""
    windows = ReplyWindows(journal=None, clock=time.time, windows_s={"plaza": 0.0})  # type: ignore[arg-type]
    assert await windows.is_open(Address(platform="plaza", chat="1"), KEY)
