"""The channel of the made-up loft, as a channel is written: the kit, our HTTP client, a cursor."""

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from hermes.channels.kit.arrival import Arrival
from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.kit.reception import Reception
from hermes.core.channel import ButtonLimits, ChannelHost, IsReceipt, Manifest
from hermes.core.errors import (
    ChannelBusy,
    ChannelDown,
    ChannelRefused,
    ChannelSilent,
    Misconfigured,
    StoreFailed,
)
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Address, Inbound, Media, Person, Reply
from hermes.core.people import Role, Sender
from hermes.wire.faults import HttpFailed, Unreachable
from hermes.wire.http import Client, HttpAnswer

FACTS = Manifest(
    name="pigeon",
    text_chars_max=600,
    on_doubt="same_key",
    single=True,
    buttons=ButtonLimits(rows=4, per_row=1, label_chars=20, value_bytes=200),
    file_bytes_max=1_000_000,
)
ACCOUNT, CURSOR = "pigeon:north", "news"
BYTES_MAX, CALL_S, GRACE_S = 4_000_000, 20.0, 0.5
AGAIN_S = 0.1


class LoftBird(Struct):
    number: int
    chat: str
    sender: str
    text: str
    at: float
    file: str = ""
    press: str = ""


class LoftAnswer(Struct):
    number: int = 0
    wait: float = 0.0
    why: str = ""
    birds: tuple[LoftBird, ...] = ()


class UnchangedBirds:
    """What a screen can do and the loft has no use for: nothing is changed in flight."""

    async def draft(self, address: Address, text: str) -> str:
        raise ChannelRefused("birds are not changed in flight")

    def draft_text(self, text: str) -> str:
        return text

    async def redraft(self, address: Address, receipt: str, text: str) -> None:
        raise ChannelRefused("birds are not changed in flight")

    async def change(self, reply: Reply, receipt: str, chunk: str) -> str:
        raise ChannelRefused("birds are not changed in flight")

    async def remove(self, address: Address, receipt: str) -> None:
        return None

    async def typing(self, address: Address) -> None:
        return None

    async def react(self, address: Address, message: MessageId, sign: str) -> None:
        return None


class PigeonChannel(UnchangedBirds):
    """Both sides of the channel, and its screen."""

    def __init__(
        self,
        url: str,
        ring: str,
        memory: Path,
        *,
        people: frozenset[str] = frozenset(),
        manifest: Manifest = FACTS,
        wait_s: float = 1.0,
    ) -> None:
        self._manifest, self._people, self._wait_s = manifest, people, wait_s
        self._memory = ChannelMemory(memory)
        headers = {"authorization": f"Ring {ring}"}
        self._http = Client(url, headers, proxies={}, connect_s=5.0, write_s=10.0)

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    def role(self, sender: Sender) -> Role:
        return Role.OWNER if sender.id in self._people else Role.STRANGER

    async def aclose(self) -> None:
        self._http.close()

    def render(self, text: str) -> Sequence[str]:
        """Plain pieces. A wide @ is read like any other, and notifies no one."""
        plain, most = text.replace("@", "\uff20"), self._manifest.text_chars_max // 2
        pieces = [plain[at : at + most] for at in range(0, len(plain), most)]
        return [piece for piece in pieces if piece.strip()]

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        last = self.render(reply.text)[-1:] if reply.buttons else ()
        shown = [list(each) for each in reply.buttons] if chunk in last else []
        return await self._send(reply.address.chat, chunk, key, {"buttons": shown})

    async def attach(
        self, reply: Reply, media: Media, content: bytes, *, key: str, caption: str = ""
    ) -> str:
        whole = {"file": media.name, "content": base64.b64encode(content).decode()}
        return await self._send(reply.address.chat, caption, key, whole)

    async def listen(self, host: ChannelHost) -> None:
        try:
            await self._ask("GET", "/whoami")
        except RingUnknown as unknown:
            fix = "Look at its left leg again"
            raise Misconfigured("platforms.pigeon.ring", str(unknown), fix) from None
        host.connected()
        reception = Reception(title="the loft", host=host, courier=self, memory=self._memory)
        while True:
            after = await host.cursor(ACCOUNT, CURSOR) or "0"
            path = f"/news?after={after}&wait={self._wait_s:g}"
            answer = await self._ask("GET", path, limit_s=self._wait_s + GRACE_S)
            host.polled()
            for bird in answer.birds:
                await self._take(reception, bird, host)
                await host.move_cursor(ACCOUNT, CURSOR, str(bird.number))

    async def fetch(self, _file_id: str) -> bytes | None:
        return None

    async def tell(self, inbound: Inbound, text: str) -> None:
        await self._send(inbound.address.chat, text, f"tell {inbound.id}", {})

    async def _take(self, reception: Reception, bird: LoftBird, host: ChannelHost) -> None:
        inbound = Inbound(
            id=MessageId(str(bird.number)),
            account=ACCOUNT,
            session=session_key("pigeon", "dm", bird.chat),
            sender=Person(id=bird.sender),
            address=Address(platform="pigeon", chat=bird.chat),
            text=bird.press or bird.text,
            at=bird.at,
            place=f"Loft {bird.chat}",
            direct=True,
        )
        try:
            if bird.press:
                await reception.press(inbound)
            else:
                await reception.take(Arrival(inbound=inbound, private=True, body=bird.text))
        except StoreFailed as failed:
            raise ChannelDown(f"a bird could not be kept: {failed}", delay_s=AGAIN_S) from failed

    async def _send(self, chat: str, text: str, key: str, more: Mapping[str, object]) -> str:
        body = msgspec.json.encode({"chat": chat, "text": text, "key": key, **more})
        return str((await self._ask("POST", "/send", body)).number)

    async def _ask(
        self, method: str, path: str, body: bytes = b"", *, limit_s: float = CALL_S
    ) -> LoftAnswer:
        try:
            said = await self._http.request(
                method, path, body, limit_s=limit_s, bytes_max=BYTES_MAX
            )
        except Unreachable as away:
            raise ChannelDown(f"the loft cannot be reached: {away}", delay_s=AGAIN_S) from away
        except HttpFailed as failed:
            raise ChannelSilent(f"the loft did not answer: {failed}", delay_s=AGAIN_S) from failed
        return _read(said)

    def end_of(self, address: Address) -> str:
        return "0"

    async def find(
        self, address: Address, chunks: Sequence[str], *, behind: str, known: IsReceipt
    ) -> str:
        return await self._seen(address, behind, known, lambda bird: bird.text in chunks)

    async def find_file(
        self, address: Address, media: Media, size: int, *, key: str, behind: str, known: IsReceipt
    ) -> str:
        return await self._seen(address, behind, known, lambda bird: bird.file == media.name)

    async def _seen(
        self,
        address: Address,
        behind: str,
        known: IsReceipt,
        fits: Callable[[LoftBird], bool],
    ) -> str:
        birds = (await self._ask("GET", f"/chat?chat={quote(address.chat)}")).birds
        for bird in birds:
            if bird.number > int(behind) and fits(bird) and not await known(str(bird.number)):
                return str(bird.number)
        return ""


def _read(said: HttpAnswer) -> LoftAnswer:
    try:
        answer = msgspec.json.decode(said.body, type=LoftAnswer)
    except msgspec.MsgspecError as odd:
        raise ChannelSilent(f"the loft says something odd: {odd}", delay_s=AGAIN_S) from odd
    match said.status:
        case 200:
            return answer
        case 429:
            raise ChannelBusy("the loft is full", delay_s=answer.wait)
        case 401:
            raise RingUnknown(answer.why, delay_s=AGAIN_S)
        case status if status >= 500:
            raise ChannelDown(answer.why, delay_s=AGAIN_S)
        case _:
            raise ChannelRefused(answer.why)


class RingUnknown(ChannelDown):
    """The loft does not know the ring, or not any more."""
