"""From an update to an accepted message: fetch files, answer strangers and buttons. I/O.

An update that returned from here may be confirmed to Telegram.
"""

import contextlib
import logging
from collections.abc import Iterable

from msgspec import Raw
from msgspec.structs import replace

from hermes.channels.kit.arrival import Arrival
from hermes.channels.kit.order import ChatLocks, take_in_order
from hermes.channels.kit.reception import NOT_YOURS, Reception
from hermes.channels.telegram.answers import UNREADABLE, decoded
from hermes.channels.telegram.buttons import digest_of
from hermes.channels.telegram.calls import BotApi, letter_to
from hermes.channels.telegram.cards import OpenCards
from hermes.channels.telegram.manifest import NAME
from hermes.channels.telegram.numbers import UpdateNumbers
from hermes.channels.telegram.translate import Manners, Me, Pressed, translate
from hermes.channels.telegram.updates import Update, chat_of, message_of
from hermes.core.channel import ChannelHost
from hermes.core.errors import ChannelFailed
from hermes.core.messages import Inbound

OLD_BUTTON = "This button is too old."
CARDS_MAX = 200  # of a chat, in which a button is looked for

log = logging.getLogger("hermes.channels.telegram")


class TelegramCourier:
    """See `Courier`."""

    def __init__(self, calls: BotApi) -> None:
        self._calls = calls

    async def fetch(self, file_id: str) -> bytes | None:
        return await self._calls.fetch(file_id)

    async def tell(self, inbound: Inbound, text: str) -> None:
        await self._calls.say(letter_to(inbound.address, text))


class TelegramReceiver:
    """The receiver of one connection."""

    def __init__(
        self,
        *,
        me: Me,
        host: ChannelHost,
        calls: BotApi,
        numbers: UpdateNumbers,
        cards: OpenCards,
        manners: Manners,
        reception: Reception,
    ) -> None:
        self.host = host
        self.locks = ChatLocks()
        self._me, self._manners = me, manners
        self._calls, self._numbers, self._cards = calls, numbers, cards
        self._reception = reception

    async def take_all(self, updates: Iterable[Update]) -> None:
        """Take a batch. Raise the error that kept an update from being stored."""
        await take_in_order(updates, chat_of, self.take)

    async def take(self, update: Update) -> None:
        if (told := message_of(update)) is not None:
            self._numbers.seen(str(told.chat.id), told.message_id)
        meant = translate(update, self._me, self._manners, at=self.host.clock())
        match meant:
            case Arrival():
                await self._reception.take(meant)
            case Pressed():
                await self._press(meant)
            case None:
                pass

    async def _press(self, pressed: Pressed) -> None:
        press, inbound = pressed.press, pressed.inbound
        text = press.text or await self._kept(inbound.address.chat, press.digest)
        if not text or not press.is_for(inbound.session):
            return await self._answer(pressed, NOT_YOURS if text else OLD_BUTTON)
        refused = await self._reception.press(replace(inbound, text=text))
        await self._answer(pressed, refused or "")
        if refused is None:
            await self._cards.pressed(inbound.address.chat, pressed.message, text)
        return None

    async def _kept(self, chat: str, digest: str) -> str:
        """Return what a long button says. Its card is in the outbox, whichever process sent it."""
        cards = await self.host.store.outbox.cards(NAME, chat, limit=CARDS_MAX)
        says = (says for card in cards for _label, says in card.buttons)
        return next((text for text in says if digest_of(text) == digest), "")

    async def _answer(self, pressed: Pressed, words: str = "") -> None:
        with contextlib.suppress(ChannelFailed):
            await self._calls.answer(pressed.query, words)


def parsed(raw: Raw | bytes) -> Update | None:
    """Decode an update; None for one that cannot be read, which is logged without its text and
    skipped."""
    try:
        return decoded(bytes(raw), Update)
    except UNREADABLE as wrong:
        log.warning("an update is skipped, it cannot be read: %s", wrong)
        return None
