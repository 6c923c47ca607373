"""What people and models call a chat, and the chat that is meant."""

import pytest

from hermes.core.directory import listed, relay, target_of
from hermes.core.errors import Rejected
from hermes.core.ids import SessionKey
from hermes.core.messages import Address
from hermes.core.store import ChatRow, Home


def row(chat: str, name: str, thread: str = "", platform: str = "telegram") -> ChatRow:
    address = Address(platform=platform, chat=chat, thread=thread)
    return ChatRow(address=address, name=name, session=SessionKey(f"lane-{chat}"), seen_at=1.0)


CHATS = [row("1", "Ann"), row("-100", "Family"), row("-100", "Trip", "7"), row("2", "ann b")]
HOMES = [Home(address=Address(platform="telegram", chat="1"), at=2.0)]


@pytest.mark.parametrize(
    ("said", "chat", "thread", "lane"),
    [
        ("home", "1", "", "lane-1"),
        ("telegram", "1", "", "lane-1"),
        ("telegram:1", "1", "", "lane-1"),
        ("telegram:Family", "-100", "", "lane--100"),
        ("telegram:@ann", "1", "", "lane-1"),
        ("telegram:#Trip", "-100", "7", "lane--100"),
        ("telegram:-100:7", "-100", "7", "lane--100"),
        ("telegram:555", "555", "", "agent:main:telegram:dm:555"),
        (" telegram:555:9 ", "555", "9", "agent:main:telegram:dm:555:9"),
    ],
)
def test_a_chat_is_found_by_id_by_name_and_as_home(
    said: str, chat: str, thread: str, lane: str
) -> None:
    target = target_of(said, CHATS, HOMES)
    assert (target.address.chat, target.address.thread, target.session) == (chat, thread, lane)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("telegram:Nobody", "Known: telegram:1 “Ann”"),
        ("slack", "/sethome"),
        ("slack:general", "No chat is known yet"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(said: str, words: str) -> None:
    with pytest.raises(Rejected, match=words.replace("(", r"\(").replace(")", r"\)")):
        target_of(said, CHATS, HOMES)


def test_a_name_that_fits_two_chats_is_asked_about() -> None:
    with pytest.raises(Rejected, match="matches several chats"):
        target_of("telegram:Ann", [row("1", "Ann"), row("2", "ann")], [])


def test_a_chat_with_threads_is_named_exactly() -> None:
    with pytest.raises(Rejected, match="several"):
        target_of("telegram:-100", CHATS, HOMES)


def test_the_directory_can_be_read() -> None:
    text = listed(CHATS, HOMES)
    assert text.splitlines()[0] == "home: telegram:1"
    assert "telegram:-100:7  “Trip”" in text
    assert "No chat is known" in listed([], [])


def test_what_is_relayed_has_the_id_that_it_was_given() -> None:
    target = target_of("home", CHATS, HOMES)
    one = relay(target, "hi", account="tool", id_="t-1", at=1.0)
    assert (one.origin, one.session, one.id) == ("relay", "lane-1", "t-1")
