"""Hooks beside a gateway: heard in order, said once, and never in the way."""

import asyncio
import logging
import time

import pytest

from hermes.core import events as e
from hermes.core.errors import Rejected
from hermes.core.ids import SessionId, TurnId, session_key
from hermes.core.messages import Address, Person
from hermes.core.session import ref
from hermes.core.store import Home
from hermes.hooks.backlog import Backlog, PendingHook
from hermes.hooks.declared import Hook
from hermes.hooks.occasions import OWN_LANE, Occasion
from tests.unit.hooks.world import (
    CHAT,
    KEY,
    NOTES,
    TURN,
    World,
    message,
    text_of,
    until,
    write_hook,
)

SAYS = 'print(\'{"say": "It is done."}\')'


async def test_hooks_hear_what_they_asked_for(world: World) -> None:
    write_hook(world.home, "all", "events: ['*']", python=NOTES)
    write_hook(world.home, "ends", "events: [turn:end]", python=NOTES)
    inbound = message("hello")
    async with world.listening():
        world.commit(e.MessageReceived(inbound, SessionId("c")), position=1)
        world.commit(e.TurnStarted(TURN, (ref(inbound),), 1, 2.0), position=2)
        world.commit(e.ModelAnswered(TURN, 3.0, "hi"), e.TurnEnded(TURN, "answered", 3.0))
        heard = await world.heard("all", 5)
        (end,) = await world.heard("ends", 1)
    rest = ["session:start", "turn:start", "turn:step", "turn:end"]
    assert {"event": "gateway:start", "session": "", "turn": ""}.items() <= next(
        value.items() for value in heard if not value["session"]
    )
    assert [value["event"] for value in heard if value["session"]] == rest
    assert (end["event"], end["outcome"], end["session"]) == ("turn:end", "answered", KEY)


async def test_words_from_before_the_start_are_looked_up(world: World) -> None:
    write_hook(world.home, "x", "events: [turn:start]", python=NOTES)
    accepted = await world.accept(message("from before"))
    async with world.listening():
        started = e.TurnStarted(TURN, ("telegram#1",), 1, 2.0)
        world.commit(started, position=accepted.position + 1)
        (start,) = await world.heard("x", 1)
    assert (start["text"], start["platform"]) == ("from before", "telegram")


async def test_one_hook_hears_a_session_in_order(world: World) -> None:
    write_hook(world.home, "x", "events: [turn:step]", python=f"import time, random\n{NOTES}")
    async with world.listening():
        for n in range(12):
            world.commit(e.ModelAnswered(TURN, float(n), str(n)), position=n)
        heard = await world.heard("x", 12)
    assert [value["text"] for value in heard] == [str(n) for n in range(12)]


async def test_at_most_four_run_at_once(world: World) -> None:
    count = """
        import os, sys, time
        n = os.getpid()
        open(f"run-{n}", "w").close()
        most = len([f for f in os.listdir() if f.startswith("run-")])
        time.sleep(0.15)
        os.remove(f"run-{n}")
        open("heard", "a").write('{"most": %d}\\n' % most)
    """
    write_hook(world.home, "x", "events: [turn:end]", python=count)
    async with world.listening():
        for n in range(8):
            key = session_key("telegram", "dm", str(n))
            world.commit(e.TurnEnded(TurnId(str(n)), "answered", 1.0), key=key)
        heard = await world.heard("x", 8)
    assert max(value["most"] for value in heard) <= 4


async def test_a_hook_may_say_something_in_the_chat_once(world: World) -> None:
    write_hook(world.home, "bell", "events: [turn:end]", python=SAYS)
    async with world.listening():
        world.commit(e.MessageReceived(message("hi"), SessionId("c")), position=1)
        for _ in range(2):
            world.commit(e.TurnEnded(TURN, "answered", 3.0), position=7)
        (first, fresh), (_, again) = await world.said(2)
    assert (fresh, again) == (True, False)
    assert (first.account, first.origin, first.sender) == (
        "hook:bell",
        "relay",
        Person(id="hook:bell"),
    )
    assert (first.session, first.address, first.text) == (KEY, CHAT, "It is done.")


async def test_the_address_is_that_of_the_open_turn_when_no_event_told(world: World) -> None:
    write_hook(world.home, "bell", "events: [turn:start]", python=SAYS)
    accepted = await world.accept(message("hi"))
    await world.append(e.TurnStarted(TURN, ("telegram#1",), 1, 2.0))
    async with world.listening():
        world.commit(e.TurnResumed(TURN, 2, 3.0), position=accepted.position + 2)
        said, _ = (await world.said(2))[-1]
    assert (said.session, said.address) == (KEY, CHAT)


async def test_a_session_that_nobody_knows_has_no_chat_to_speak_in(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    write_hook(world.home, "bell", "events: [turn:start]", python=SAYS)
    async with world.listening():
        world.commit(e.TurnResumed(TURN, 2, 1.0), position=2)
        await logged(caplog, "hook bell has a message for turn:start, but no chat to send it to")
    assert world.accepted == []


async def test_a_start_is_told_once_and_answered_at_home(world: World) -> None:
    write_hook(world.home, "bell", "events: [gateway:start]", python=SAYS)
    home = Address(platform="telegram", chat="home")
    world.homes.append(Home(address=home, at=1.0))
    hooks, door = world.hooks(), world.door()
    for _ in range(2):  # a connection that is begun anew is no start of the gateway
        ear = asyncio.create_task(hooks.run(door))
        await world.said(1)
        await asyncio.sleep(0.05)
        ear.cancel()
        await asyncio.wait({ear})
    ((said, fresh),) = world.accepted
    assert fresh
    assert (said.session, said.address, said.id) == (OWN_LANE, home, "boot-1")


async def test_without_a_home_a_start_has_nowhere_to_speak(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    write_hook(world.home, "bell", "events: [gateway:start]", python=SAYS)
    async with world.listening():
        await logged(caplog, "no chat")
    assert world.accepted == []


async def test_a_hook_may_write_into_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hermes.hooks")
    write_hook(world.home, "x", "events: [command]", python='print(\'{"log": "noted"}\')')
    async with world.listening():
        world.commit(e.CommandRun("telegram#1", 1.0))
        await logged(caplog, "hook x: noted")


async def test_words_that_are_refused_are_only_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    write_hook(world.home, "bell", "events: [turn:end]", python=SAYS)
    world.refuse = Rejected("hook:bell is not known here")
    async with world.listening():
        world.commit(e.MessageReceived(message("hi"), SessionId("c")), position=1)
        world.commit(e.TurnEnded(TURN, "answered", 3.0))
        await logged(
            caplog, "the message of hook bell could not be stored: hook:bell is not known here"
        )


async def test_a_hook_that_keeps_failing_is_left_alone(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    broken = "echo ran >> heard; echo oh no >&2; exit 1"
    write_hook(world.home, "x", f"{{events: [turn:end], command: [sh, -c, '{broken}']}}")
    write_hook(world.home, "y", "events: [turn:end]", python=NOTES)
    async with world.listening():
        for n in range(9):
            world.commit(e.TurnEnded(TURN, "answered", 3.0), position=n)
        await world.heard("y", 9)
        await logged(caplog, "is disabled until")
    runs = text_of(world.home / "hooks/x/heard").count("ran")
    assert runs == 5
    assert caplog.text.count("is disabled until") == 1
    assert "hook x at turn:end ended with status 1; its last words: oh no" in caplog.text


async def test_a_success_forgives_failures(world: World, caplog: pytest.LogCaptureFixture) -> None:
    # Every third run succeeds.
    odd = "echo ran >> heard; test $(($(wc -l < heard) % 3)) = 0"
    write_hook(world.home, "x", f"{{events: [turn:end], command: [sh, -c, '{odd}']}}")
    write_hook(world.home, "y", "events: [turn:end]", python=NOTES)
    async with world.listening():
        for n in range(12):
            world.commit(e.TurnEnded(TURN, "answered", 3.0), position=n)
        await until(lambda: text_of(world.home / "hooks/x/heard").count("ran") >= 12)
    assert "is disabled until" not in caplog.text


async def test_a_hook_that_hangs_delays_nobody(world: World) -> None:
    write_hook(world.home, "hang", "{events: [turn:end], command: [sleep, '60'], timeout_s: 60}")
    write_hook(world.home, "x", "events: [turn:end]", python=NOTES)
    began = time.monotonic()
    async with world.listening():
        for n in range(3):
            world.commit(e.TurnEnded(TURN, "answered", 3.0), position=n)
        await world.heard("x", 3)
    assert time.monotonic() - began < 10


async def test_a_bad_file_does_not_stop_the_others(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    write_hook(world.home, "bad", "events: what", python=NOTES)
    write_hook(world.home, "x", "events: [gateway:start]", python=NOTES)
    async with world.listening():
        await world.heard("x", 1)
    assert "a hook is ignored" in caplog.text


async def test_a_home_without_hooks_watches_nothing(world: World) -> None:
    async with world.listening():
        await asyncio.sleep(0.01)
        assert world.hub._feeds == {}


async def test_a_full_backlog_drops_the_oldest_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backlog = Backlog(errands_max=3)
    for n in range(6):
        backlog.put(errand("h", n))
    taken = []
    for _ in range(3):
        taken.append(one := await backlog.take())
        backlog.done(one)
    assert [one.occasion.position for one in taken] == [3, 4, 5]
    assert caplog.text.count("dropped") == 1


async def test_a_hook_at_work_in_a_session_gets_the_next_of_it_later() -> None:
    backlog = Backlog()
    for name, n in (("h", 1), ("h", 2), ("other", 3)):
        backlog.put(errand(name, n))
    first, second = await backlog.take(), await backlog.take()
    assert (first.occasion.position, second.occasion.position) == (1, 3)
    waiting = asyncio.create_task(backlog.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    backlog.done(first)
    assert (await waiting).occasion.position == 2


def errand(name: str, position: int) -> PendingHook:
    hook = Hook(name=name, folder="/", command=("true",), events=frozenset(), timeout_s=1)
    return PendingHook(hook, Occasion(event="turn:end", at=1.0, session=KEY, position=position))


async def logged(caplog: pytest.LogCaptureFixture, words: str) -> None:
    await until(lambda: words in caplog.text)
