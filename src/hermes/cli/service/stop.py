"""hermes gateway stop: the drain is the gateway's; here it is asked for, and waited for."""

import signal
from typing import Protocol

from hermes.cli.errors import DONE, TRY_AGAIN
from hermes.cli.place import Place
from hermes.cli.service.lock import Running, held, running
from hermes.cli.service.progress import wait_until
from hermes.cli.service.service import Ground, send
from hermes.cli.service.supervisor import Supervisor

KILLED_S = 5.0


class Stopping(Protocol):
    """`force`: a gateway that does not stop by itself in a few seconds is killed."""

    force: bool


def run_stop(given: Stopping, place: Place) -> int:
    return stop(Ground(place=place), force=given.force)


def stop(ground: Ground, *, force: bool) -> int:
    who = running(ground.home)
    supervisor = ground.installed()
    if supervisor is not None and not supervisor.engaged():
        supervisor = None
    if who is None and supervisor is None:
        ground.say(f"No gateway runs on {ground.home}")
        return DONE
    _ask_to_stop(who, supervisor)
    if ground.in_turn:
        ground.say("The gateway stops; this turn goes on at the next start if it is not done soon")
        return DONE
    limit_s = ground.drain_s() + ground.patience.stop_s
    if _hurried(ground, supervisor) if force else _gone(ground, supervisor, limit_s):
        ground.say("The gateway has stopped")
        return DONE
    if force:
        return _kill(ground, supervisor)
    still = running(ground.home)
    named = ground.named(still) if still is not None else "its supervisor"
    ground.complain(
        f"the gateway is still stopping after {limit_s:.0f} s ({named}). Give it more time, or end "
        "it now: hermes gateway stop --force"
    )
    return TRY_AGAIN


def _ask_to_stop(who: Running | None, supervisor: Supervisor | None) -> None:
    """A supervisor starts again what ends without its order, so it is the one to give it."""
    kept = supervisor.main_pid() if supervisor is not None else 0
    if supervisor is not None:
        supervisor.stop()
    if who is not None and who.pid != kept:
        send(who, signal.SIGTERM)


def _gone(ground: Ground, supervisor: Supervisor | None, limit_s: float) -> bool:
    def gone() -> bool:
        return not held(ground.home) and (supervisor is None or not supervisor.engaged())

    progress = ground.progress("The gateway finishes its running turns")
    return wait_until(gone, limit_s, progress)


def _hurried(ground: Ground, supervisor: Supervisor | None) -> bool:
    """Asked a second time, a gateway does not wait for its turns; they are interrupted in order."""
    if _gone(ground, supervisor, ground.patience.hurry_s):
        return True
    if (who := running(ground.home)) is not None:
        send(who, signal.SIGTERM)
    return _gone(ground, supervisor, ground.patience.force_s)


def _kill(ground: Ground, supervisor: Supervisor | None) -> int:
    who = running(ground.home)
    if who is not None:
        waited = f"{ground.patience.force_s:.0f} s"
        ground.place.console.tell(
            f"pid {who.pid} did not stop in {waited} and is killed (SIGKILL). Nothing that was "
            "said is lost; its turns go on at the next start"
        )
        send(who, signal.SIGKILL)
    if not _gone(ground, supervisor, KILLED_S):
        ground.complain("the gateway is still there, though it was killed. See: ps aux")
        return TRY_AGAIN
    ground.say("The gateway has been ended by force")
    return DONE
