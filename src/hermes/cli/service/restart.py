"""hermes gateway restart: in place, after the running turns; the same process, a new program."""

import signal

from hermes.cli.command import Nothing
from hermes.cli.errors import DONE, TRY_AGAIN
from hermes.cli.place import Place
from hermes.cli.service.lock import Running, alive, running
from hermes.cli.service.probe import standing
from hermes.cli.service.progress import wait_until
from hermes.cli.service.service import Ground, send
from hermes.cli.service.start import start


def run_restart(_given: Nothing, place: Place) -> int:
    return restart(standing(place))


def restart(ground: Ground) -> int:
    who = running(ground.home)
    if who is None:
        return start(ground)
    if not ground.in_turn:  # a turn's commands do not see the gateway's secrets
        ground.place.settings()  # with wrong ones it would not come up again
    send(who, signal.SIGUSR1)
    if ground.in_turn:
        ground.say("The gateway restarts after this turn")
        return DONE
    limit_s = ground.drain_s() + ground.patience.stop_s + ground.patience.ready_s
    progress = ground.progress("The gateway restarts after its running turns")
    if not wait_until(lambda: ground.renewed(who) or not alive(who.pid), limit_s, progress):
        ground.complain(
            f"the gateway has not restarted within {limit_s:.0f} s ({ground.named(who)}). It was "
            "asked to; see: hermes gateway status"
        )
        return TRY_AGAIN
    if ground.renewed(who):
        ground.say(f"The gateway has restarted on {ground.home}: pid {who.pid}")
        return DONE
    return _begun_anew(ground, who)


def _begun_anew(ground: Ground, who: Running) -> int:
    """It ended instead of coming back: a supervisor starts it, or we do."""
    supervisor = ground.installed()
    if supervisor is None or not supervisor.engaged():
        return start(ground)
    progress = ground.progress(f"{supervisor.kind} starts the gateway")
    if wait_until(lambda: ground.renewed(who), ground.patience.ready_s, progress):
        ground.say(f"The gateway was started anew on {ground.home} by {supervisor.kind}")
        return DONE
    ground.complain("the gateway ended and is not back yet", supervisor.last_words())
    return TRY_AGAIN
