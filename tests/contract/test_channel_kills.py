"""P9 with real processes: the laws that every channel keeps when kill -9 comes at that point.

Which laws a channel has is decided by the facts of its manifest. Each life is a whole gateway in a
process of its own; the platform's side is here and outlives them all.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from hermes.core.channel import Manifest
from hermes.gateway.delivery import REPEAT
from tests.contract.channels import PATIENCE_S, SendingAdapter, until
from tests.contract.lives import AFTER_COMMIT, AFTER_FILE, AFTER_SEND, BEFORE_COMMIT, notes
from tests.contract.nursery import Nursery, Scene, nursery
from tests.contract.sending_channels import ADAPTERS, named

pytestmark = pytest.mark.asyncio(loop_scope="module")

Applies = Callable[[Manifest], bool]


def sends(facts: Manifest) -> bool:
    """Replies are sent there; elsewhere people come for them."""
    return not facts.fetched and not facts.attended


def every(*applies: Applies) -> pytest.MarkDecorator:
    """Run the law on every channel to whose facts it applies."""
    found = [each for each in ADAPTERS if all(true(each.facts) for true in applies)]
    return pytest.mark.parametrize("scene", found, ids=named, indirect=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def processes() -> AsyncIterator[Nursery]:
    async with nursery() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def scene(
    request: pytest.FixtureRequest, tmp_path: Path, processes: Nursery
) -> AsyncIterator[Scene]:
    adapter = request.param(tmp_path)
    async with adapter.up():
        yield Scene(adapter, processes, named(request.param))
        for life in processes.lives.values():
            if life.is_alive:
                await life.kill()


def chat(scene: Scene) -> SendingAdapter:
    assert isinstance(scene.adapter, SendingAdapter)
    return scene.adapter


@every()
async def test_killed_before_the_commit_nothing_is_acknowledged_and_it_comes_again(
    scene: Scene,
) -> None:
    life = await scene.start(BEFORE_COMMIT)
    assert not await scene.adapter.deliver("1", "hello")
    await life.killed()
    assert await scene.said() == []
    await scene.start()
    if not scene.adapter.redelivers:
        assert await scene.adapter.deliver("1", "hello")
    await scene.until_answered()
    assert (len(await scene.said()), await scene.turns(), len(scene.asked)) == (1, 1, 1)


@every()
async def test_killed_between_commit_and_acknowledgement_it_is_one_turn(scene: Scene) -> None:
    life = await scene.start(AFTER_COMMIT)
    await scene.adapter.deliver("1", "hello")
    await life.killed()
    assert len(await scene.said()) == 1
    last = await scene.start()
    assert await scene.adapter.deliver("1", "hello")
    await scene.until_answered()
    await last.kill()
    await scene.start()
    assert await scene.adapter.deliver("1", "hello"), "delivered again after another kill"
    assert (len(await scene.said()), await scene.turns()) == (1, 1)


@every(sends)
async def test_killed_between_send_and_receipt_one_answer_is_seen(scene: Scene) -> None:
    life = await scene.start(AFTER_SEND)
    chat(scene).say("hello")
    await life.killed()
    assert chat(scene).shown() == ["You said: hello"]
    await scene.start()
    await scene.until_sent()
    assert chat(scene).shown() == ["You said: hello"]
    assert len(scene.asked) == 1


@every(sends)
async def test_a_file_in_doubt_after_a_kill_is_seen_once_or_says_that_it_may_be_a_repeat(
    scene: Scene,
) -> None:
    facts = scene.adapter.facts
    life = await scene.start(AFTER_FILE)
    chat(scene).say("hello")
    await until(lambda: chat(scene).shown() == ["You said: hello"])
    await scene.until_sent()
    await scene.send_file("report.txt")
    await life.killed()
    await scene.start()
    await scene.until_sent()
    files = chat(scene).shown()[1:]
    repeated = ["[report.txt]", f"[report.txt] {REPEAT}"]
    certain = facts.on_doubt in ("same_key", "look")
    assert files == (["[report.txt]"] if certain else repeated)


@every(sends)
async def test_a_pause_that_the_platform_asked_for_outlives_a_kill(scene: Scene) -> None:
    life = await scene.start()
    chat(scene).fail_send("flood", wait_s=3600)
    chat(scene).say("hello")
    await until(lambda: chat(scene).sends() == 1)
    async with scene.store() as store:
        paused: list[tuple[str, str]] = []
        async with asyncio.timeout(PATIENCE_S):
            while not paused:
                await asyncio.sleep(0.02)
                paused = list(await store.outbox.waits(now=time.time()))
    await life.kill()
    chat(scene).say("and again")
    await scene.start()
    await scene.until_answered(2)
    assert paused == [(scene.channel, "7")]
    assert (chat(scene).sends(), chat(scene).shown()) == (1, [])


@every(sends, lambda facts: facts.buttons is not None)
async def test_a_button_of_a_killed_process_works_and_a_second_press_changes_nothing(
    scene: Scene,
) -> None:
    life = await scene.start()
    chat(scene).say("pay")
    await until(lambda: any("pay" in text for text in chat(scene).shown()))
    await scene.until_sent()
    await life.kill()
    for _ in range(2):
        chat(scene).press("Yes")
    await scene.start()
    await scene.until_answered()
    await until(lambda: "It is paid." in chat(scene).shown())
    assert len(notes(scene.home / "paid")) == 1


@every(sends)
async def test_what_came_in_an_hour_of_absence_is_taken_once_oldest_first(scene: Scene) -> None:
    life = await scene.start()
    chat(scene).say("before", ago_s=3700)
    await scene.until_answered()
    await life.kill()
    for n in range(30):
        chat(scene).say(f"number {n}", ago_s=3600 - n)
    await scene.start()
    await scene.until_said(31)
    assert await scene.said() == ["before", *(f"number {n}" for n in range(30))]


@every(lambda facts: facts.single, sends)
async def test_of_two_processes_one_has_the_connection_and_the_other_takes_over(
    scene: Scene,
) -> None:
    first = await scene.start()
    second = await scene.start(ready=False)
    chat(scene).say("hello")
    await until(lambda: chat(scene).shown() == ["You said: hello"])
    await scene.ready(second)
    assert len(await scene.said()) == 1
    await first.kill()
    chat(scene).say("still there?")
    await until(lambda: len(chat(scene).shown()) == 2)
    assert (len(await scene.said()), len(scene.asked)) == (2, 2)
