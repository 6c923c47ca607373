"""Leave in order: mark what runs, let it end if it can, keep the rest (C01 to C08)."""

import asyncio
import logging
from typing import Literal

from msgspec import Struct

from hermes.core.channel import Manifest
from hermes.core.events import TurnMarked
from hermes.core.ids import ReplyId
from hermes.core.messages import Reply
from hermes.core.session import Running, Turn
from hermes.gateway.session_cache import ActiveSession

Leaving = Literal["shutdown_timeout", "restart_timeout"]

STOP_MARGIN_S = 5.0  # what the supervisor's limit must leave us after the drain
TOLD_LOOKS_MAX, TOLD_LOOK_S = 100, 0.01
WORDS: dict[Leaving, str] = {
    "shutdown_timeout": "I am shutting down. My work so far is saved; I will try to resume it when "
    "I am back.",
    "restart_timeout": "I am restarting. I will try to resume this as soon as I am back.",
}

log = logging.getLogger("hermes.gateway")


class Drain(Struct, frozen=True, kw_only=True):
    reason: Leaving
    limit_s: float

    def mark(self, active: ActiveSession, manifest: Manifest | None, at: float) -> bool:
        """Mark the session's turn `resume_pending` with its next commit, and tell its person.
        Return False if no turn runs in this process."""
        phase = active.session.phase
        if not isinstance(phase, Running) or phase.turn.epoch != active.epoch:
            return False
        told = manifest is not None and manifest.banner
        replies = (self._banner(active, phase.turn, at),) if told else ()
        active.tell(TurnMarked(phase.turn.id, self.reason, at, replies))
        return True

    def _banner(self, active: ActiveSession, turn: Turn, at: float) -> Reply:
        return Reply(
            id=ReplyId(f"{turn.id}/banner-{at:.3f}"),
            session=active.session.key,
            address=turn.address,
            text=WORDS[self.reason],
            kind="notice",
        )


def drain_limit(wanted_s: float, supervisor_s: float | None) -> float:
    """Return the drain time that fits into the supervisor's stop limit (C08)."""
    if supervisor_s is None:
        return wanted_s
    return max(0.0, min(wanted_s, supervisor_s - STOP_MARGIN_S))


async def ended(sessions: list[ActiveSession], hurry: asyncio.Event, limit_s: float) -> None:
    """Wait for these lanes to have nothing to do, but not for ever."""
    tasks = {active.task for active in sessions if active.task is not None}
    if not tasks:
        return
    impatient = asyncio.create_task(hurry.wait())
    everything = asyncio.ensure_future(asyncio.wait(tasks))
    await asyncio.wait({impatient, everything}, timeout=limit_s, return_when="FIRST_COMPLETED")
    impatient.cancel()
    everything.cancel()


async def interrupt(sessions: list[ActiveSession]) -> None:
    """Interrupt these sessions. Finished steps are stored already, and detached commands continue
    (C03). The last draft is recorded first (C54)."""
    for _ in range(TOLD_LOOKS_MAX):
        if not any(active.told and active.busy for active in sessions):
            break
        await asyncio.sleep(TOLD_LOOK_S)
    tasks = [active.task for active in sessions if active.task is not None]
    for task in tasks:
        task.cancel()
    if tasks:
        log.warning("%d turns are interrupted; they go on after the start", len(tasks))
        await asyncio.wait(tasks)
