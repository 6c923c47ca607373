"""C51 for files: what happens to a file that the platform accepted without an answer."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.doubles.plaza import MANIFEST, Plaza
from tests.journey.test_serving import KEY, Model, gateway, until

from hermes.core.errors import ChannelSilent
from hermes.core.ids import MessageId
from hermes.core.messages import Address, Inbound, Media, Person, Reply
from hermes.gateway.delivery import REPEAT
from hermes.gateway.serve import Serving


@dataclass
class Silent(Plaza):
    """`taken`: this many files are accepted without an answer; `lost`: this many get lost."""

    taken: int = 0
    lost: int = 0
    keys: list[str] = field(default_factory=list)

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        self.keys.append(key)
        if self.lost:
            self.lost -= 1
            raise ChannelSilent("no answer", delay_s=0.0)
        receipt = await super().attach(reply, media, content, key=key, caption=caption)
        if self.taken:
            self.taken -= 1
            raise ChannelSilent("no answer", delay_s=0.0)
        return receipt


def silent(on_doubt: str, *, taken: int = 0, lost: int = 0) -> Silent:
    plaza = Silent(replace(MANIFEST, on_doubt=on_doubt, draft_s=0.0), taken=taken, lost=lost)
    plaza.open.set()
    return plaza


async def send(serves: Serving, *names: str, text: str = "") -> None:
    shelf = serves.engine.media
    files = [await shelf.put(f"of {name}".encode(), "text/plain", name) for name in names]
    await serves.engine.accept(
        Inbound(
            id=MessageId("1"),
            account="send",
            session=KEY,
            sender=Person(id="ann"),
            address=Address(platform="plaza", chat="1"),
            text=text,
            at=1.0,
            origin="relay",
            media=tuple(files),
        )
    )


async def shown(
    tmp_path: Path, plaza: Silent, *names: str, text: str = "", count: int
) -> list[str]:
    async with gateway(tmp_path, plaza, Model()) as serves:
        await send(serves, *names, text=text)
        outbox = serves.engine.store.outbox

        async def delivered() -> bool:
            rows = await outbox.rows(KEY, limit=1)
            return bool(rows) and rows[0].state == "delivered"

        await until(lambda: len(plaza.keys) >= count)
        while not await delivered():
            serves.engine.outgoing.set()
            await serves.engine.store.nodes.wake(0.05)
    return plaza.shows()


async def test_a_file_that_arrived_is_found_and_does_not_come_again(tmp_path: Path) -> None:
    plaza = silent("look", taken=1)
    assert await shown(tmp_path, plaza, "a.txt", count=1) == ["[a.txt: of a.txt]"]
    assert len(plaza.keys) == 1


async def test_a_file_that_is_not_found_comes_again_and_says_so(tmp_path: Path) -> None:
    plaza = silent("look", lost=1)
    plaza.chats["1"] = {"1": "[b.txt: of b.txt]"}  # another file
    want = ["[b.txt: of b.txt]", f"[a.txt: of a.txt] {REPEAT}"]
    plaza._numbers = iter(range(2, 99))
    assert await shown(tmp_path, plaza, "a.txt", count=2) == want


async def test_where_nobody_can_look_a_file_comes_again_and_says_so(tmp_path: Path) -> None:
    plaza = silent("mark_repeat", taken=1)
    want = ["[a.txt: of a.txt]", f"[a.txt: of a.txt] {REPEAT}"]
    assert await shown(tmp_path, plaza, "a.txt", count=2) == want


async def test_a_platform_with_keys_gets_the_same_key_and_no_words(tmp_path: Path) -> None:
    plaza = silent("same_key", lost=1)
    assert await shown(tmp_path, plaza, "a.txt", count=2) == ["[a.txt: of a.txt]"]
    assert len(plaza.keys) == 2
    assert len(set(plaza.keys)) == 1


@pytest.mark.parametrize("on_doubt", ["look", "mark_repeat"])
async def test_only_the_file_in_doubt_says_that_it_may_be_a_repeat(
    tmp_path: Path, on_doubt: str
) -> None:
    plaza = silent(on_doubt, lost=1)
    want = ["words", f"[a.txt: of a.txt] {REPEAT}", "[b.txt: of b.txt]"]
    assert await shown(tmp_path, plaza, "a.txt", "b.txt", text="words", count=3) == want
