"""Look for a message of ours whose receipt was lost (C51): it has one of the next numbers."""

import logging
from collections.abc import Callable

from msgspec import Struct

from hermes.channels.telegram.calls import BotApi, SeenMessage
from hermes.channels.telegram.failures import Garbled
from hermes.channels.telegram.numbers import UpdateNumbers, next_numbers
from hermes.core.channel import IsReceipt
from hermes.core.messages import Address

log = logging.getLogger("hermes.channels.telegram")


class Looking(Struct, frozen=True):
    calls: BotApi
    numbers: UpdateNumbers
    bot: int

    async def behind(
        self, address: Address, behind: str, known: IsReceipt, fits: Callable[[SeenMessage], bool]
    ) -> str:
        """Return the receipt of the first message that matches, is the bot's and belongs to no
        other reply."""
        for message in next_numbers(address.chat, behind):
            if self.numbers.is_sent(address.chat, message):
                continue
            try:
                seen = await self.calls.look(address, message)
            except Garbled as garbled:
                log.warning("what was sent is not looked for any further: %s", garbled)
                break  # each look leaves a copy that nobody can take away
            if seen is None or seen.sender != self.bot:
                continue
            if not fits(seen) or await known(str(message)):
                continue
            if self.numbers.is_sent(address.chat, message):
                continue  # another reply in doubt has found it meanwhile
            self.numbers.sent(address.chat, message)
            log.info("what was sent behind message %s had arrived: it is %d", behind, message)
            return str(message)
        log.info("what was sent behind message %s was not found", behind)
        return ""
