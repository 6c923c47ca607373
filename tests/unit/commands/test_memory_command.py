"""`/memory` in a chat: shown to its person only, and obeyed once."""

from pathlib import Path
from typing import cast

import pytest

from hermes.commands.memory import NOT_HERE, USAGE, memory_command
from hermes.core.channel import CommandCall, CommandContext
from hermes.core.ids import MessageId, SessionId, SessionKey
from hermes.core.messages import Address, Inbound, Person
from hermes.core.session import Session
from hermes.memory.files import FileMemories
from hermes.ports.memory import By, MemoryChange, MemoryClaim

DM = "agent:main:telegram:dm:1"
STRANGER = By(author="agent", turn="t1", trust="untrusted")


class Chat:
    def __init__(self, folder: Path) -> None:
        self.memories = FileMemories(
            folder, memory_chars=4_000, user_chars=2_500, clock=lambda: 1_000.0
        )
        self.count = 0

    async def say(self, argument: str, *, key: str = DM, again: bool = False) -> str:
        self.count += not again
        inbound = Inbound(
            id=MessageId(str(self.count)),
            account="telegram",
            session=SessionKey(key),
            sender=Person(id="7"),
            address=Address(platform="telegram", chat="1"),
            text=f"/memory {argument}",
            at=1_060.0,
        )
        call = CommandCall(
            session=Session(key=SessionKey(key)),
            inbound=inbound,
            argument=argument,
            at=1_060.0,
            epoch=1,
            reached=False,
            new_session=lambda: SessionId("s"),
        )
        look = memory_command(self.memories).run_async
        assert look is not None
        (reply,) = (await look(call, NO_DESK)).replies
        return reply.text


NO_DESK = cast("CommandContext", None)  # it is not looked at


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    return Chat(tmp_path / "memories")


async def test_what_is_kept_is_shown_and_taken_back(chat: Chat) -> None:
    assert await chat.say("") == "Nothing has been kept yet."
    assert await chat.say("add Likes tea.") == (
        "Applied as version 1: add by you: + e1: Likes tea."
    )
    assert await chat.say("") == "Memory (0% full):\ne1: Likes tea."
    assert "1: 1 minute ago, add by you: + e1: Likes tea." in await chat.say("history")
    assert await chat.say("undo") == "Undone. undo of 1 by you: - e1: Likes tea."
    assert "Applied" in await chat.say("add Likes coffee.")
    assert "- e2: Likes coffee." in await chat.say("remove e2")


async def test_a_command_that_is_run_again_after_a_crash_changes_nothing_more(chat: Chat) -> None:
    await chat.say("add A.")
    await chat.say("add B.")
    first = await chat.say("undo")
    assert await chat.say("undo", again=True) == first
    assert [entry.text for entry in chat.memories.entries("memory")] == ["A."]


async def test_proposals_wait_for_the_person(chat: Chat) -> None:
    for text in ("One.", "Two."):
        change = MemoryChange(action="add", target="user", new=(MemoryClaim(text),))
        chat.memories.change(change, STRANGER)
    assert "2 proposals wait: /memory proposals" in await chat.say("")
    shown = await chat.say("proposals")
    assert "p1: add “One.” to about you (from turn t1). Why it waits: it comes from" in shown
    assert await chat.say("approve p1") == ("Applied as version 1: add by Hermes: + e1: One.")
    assert "Applied as version 1" in await chat.say("approve P1", again=True)
    assert await chat.say("reject p2") == "Dropped: add “Two.” to about you (from turn t1)."
    assert await chat.say("proposals") == "There are no proposals."


async def test_nobody_else_sees_or_changes_it(chat: Chat) -> None:
    await chat.say("add A.")
    assert await chat.say("", key="agent:main:telegram:group:1:7") == NOT_HERE
    assert await chat.say("undo", key="agent:main:telegram:group:1:7") == NOT_HERE


async def test_what_makes_no_sense_is_answered(chat: Chat) -> None:
    assert await chat.say("forget everything") == USAGE
    assert "“x” is not a version" in await chat.say("undo x")
    assert (await chat.say("undo")).startswith("Nothing was changed: there is nothing to undo")
    assert "no text to keep" in await chat.say("add")
    assert "no entry matches “e9”" in await chat.say("remove e9")
