"""Long polling. The offset moves only after every update of a batch was stored. I/O."""

import asyncio
import logging
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from hermes.channels.telegram.failures import PolledElsewhere, TokenUnknown
from hermes.channels.telegram.line import BotConnection
from hermes.channels.telegram.receive import TelegramReceiver, parsed
from hermes.channels.telegram.updates import UpdateHead
from hermes.core.errors import ChannelBusy, ChannelDown, StoreFailed

FAILURES_MAX = 5  # in a row; then it is more than a hiccup
DOWN_S = 15.0
STORE_S = 5.0
NOTHING_NEW_S = 0.5

log = logging.getLogger("hermes.channels.telegram")


class PollTimeouts(Struct, frozen=True, kw_only=True):
    """How long Telegram may be silent beyond the time-out, and the first pause after a failure."""

    silence_s: float = 10.0
    pause_s: float = 1.0


async def poll_for_ever(
    line: BotConnection, receiver: TelegramReceiver, *, timeout_s: float, patience: PollTimeouts
) -> None:
    """Poll until cancelled. Raise ChannelDown when the connection must be opened again."""
    offset = failures = 0
    loop = asyncio.get_running_loop()
    while True:
        asked_at = loop.time()
        try:
            batch = await line.poll(offset, timeout_s=timeout_s, silence_s=patience.silence_s)
        except (TokenUnknown, PolledElsewhere):
            raise
        except ChannelDown as down:
            failures += 1
            if failures >= FAILURES_MAX:
                raise ChannelDown(str(down), delay_s=max(down.delay_s, DOWN_S)) from None
            await _recover(line, down, patience.pause_s * 2 ** (failures - 1))
            continue
        failures = 0
        receiver.host.polled()
        before, offset = offset, await _taken(receiver, batch) if batch else offset
        if offset == before and loop.time() - asked_at < NOTHING_NEW_S:
            await asyncio.sleep(NOTHING_NEW_S)  # a server that does not wait is not asked at once


async def _recover(line: BotConnection, down: ChannelDown, pause_s: float) -> None:
    if isinstance(down, ChannelBusy):
        await asyncio.sleep(down.delay_s)
        return
    log.info("polling resumes in %g s with a new connection: %s", pause_s, down)
    await line.rebuild_poll()
    await asyncio.sleep(pause_s)


async def _taken(receiver: TelegramReceiver, batch: Sequence[Raw]) -> int:
    """Return the next offset. Nothing is confirmed if one update could not be stored."""
    last = max((head.update_id for raw in batch if (head := _head(raw))), default=None)
    if last is None:
        raise ChannelDown("Telegram sends updates without an id", delay_s=DOWN_S)
    updates = [update for raw in batch if (update := parsed(raw)) is not None]
    try:
        await receiver.take_all(updates)
    except StoreFailed as failed:
        raise ChannelDown(f"a message could not be stored: {failed}", delay_s=STORE_S) from failed
    return last + 1


def _head(raw: Raw) -> UpdateHead | None:
    try:
        return msgspec.json.decode(raw, type=UpdateHead)
    except msgspec.MsgspecError:
        return None
