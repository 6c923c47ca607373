"""hermes gateway start: by the supervisor that keeps it, or in the background."""

from hermes.cli.command import Nothing
from hermes.cli.errors import CONFIGURATION, DONE, FAILED, TRY_AGAIN
from hermes.cli.place import Place
from hermes.cli.service.background import OUTPUT, Child, spawn
from hermes.cli.service.errors import ServiceFailed
from hermes.cli.service.lock import Running, note, running
from hermes.cli.service.probe import standing
from hermes.cli.service.progress import wait_until
from hermes.cli.service.service import Ground
from hermes.cli.service.supervisor import Supervisor
from hermes.settings import prepare

LINES = 12
_LOG = "What it does is in logs/hermes.log in the home; hermes gateway status asks it"


def run_start(_given: Nothing, place: Place) -> int:
    return start(standing(place))


def start(ground: Ground) -> int:
    before = note(ground.home)
    if (who := running(ground.home)) is not None:
        ground.complain(f"a gateway runs on {ground.home} already: {ground.named(who)}")
        return TRY_AGAIN
    ground.place.settings()
    prepare(ground.home)
    supervisor = ground.installed()
    if supervisor is not None:
        return _supervised(ground, supervisor, before)
    return _alone(ground)


def _supervised(ground: Ground, supervisor: Supervisor, before: Running | None) -> int:
    ready_s = ground.patience.ready_s
    progress = ground.progress(f"{supervisor.kind} starts the gateway")
    try:
        supervisor.start(progress.tick)
    except ServiceFailed as failure:
        ground.complain(str(failure), supervisor.last_words())
        return FAILED
    finally:
        progress.clear()
    if not wait_until(lambda: ground.renewed(before), ready_s, progress):
        ground.complain(f"it is not ready after {ready_s:.0f} s. {_LOG}", supervisor.last_words())
        return FAILED
    pid = supervisor.main_pid()
    ground.say(f"The gateway runs on {ground.home}: pid {pid}, kept by {supervisor.kind}")
    return DONE


def _alone(ground: Ground) -> int:
    ready_s = ground.patience.ready_s
    child = spawn(ground.command, ground.home, ground.place.environ)
    try:
        progress = ground.progress("The gateway starts")
        wait_until(lambda: child.status() is not None or _up(ground, child), ready_s, progress)
        status = child.status()
        if status is not None:
            return _died(ground, child, status)
        if not _up(ground, child):
            ground.complain(f"pid {child.pid} is not ready after {ready_s:.0f} s. {_LOG}")
            return FAILED
    finally:
        child.let_go()
    ground.say(f"The gateway runs on {ground.home}: pid {child.pid}, in the background")
    return DONE


def _up(ground: Ground, child: Child) -> bool:
    noted = note(ground.home)
    return noted is not None and noted.pid == child.pid and ground.ready()


def _died(ground: Ground, child: Child, status: int) -> int:
    ended = f"with status {status}" if status >= 0 else f"by signal {-status}"
    words = child.last_words(LINES)
    ground.complain(f"the gateway ended at once, {ended}. See {ground.home / OUTPUT}", words)
    return status if status in (TRY_AGAIN, CONFIGURATION) else FAILED
