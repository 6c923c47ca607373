"""hermes gateway start: by its supervisor, or in the background."""

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import CONFIGURATION, DONE, FAILED, TRY_AGAIN
from hermes.cli.gateway.service.background import OUTPUT, GatewayChild, spawn
from hermes.cli.gateway.service.errors import ServiceFailed
from hermes.cli.gateway.service.lock import RunningGateway, note, running
from hermes.cli.gateway.service.probe import standing
from hermes.cli.gateway.service.progress import wait_until
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.gateway.service.supervisor import Supervisor
from hermes.settings import prepare

LINES = 12
_LOG = "See logs/hermes.log in the home, or run: hermes gateway status"


def run(_options: NoOptions, context: CliContext) -> int:
    return start(standing(context))


def start(ground: ServiceContext) -> int:
    before = note(ground.home)
    if (who := running(ground.home)) is not None:
        ground.complain(f"a gateway is already running on {ground.home}: {ground.named(who)}")
        return TRY_AGAIN
    ground.context.settings()
    prepare(ground.home)
    supervisor = ground.installed()
    if supervisor is not None:
        return _start_supervised(ground, supervisor, before)
    return _alone(ground)


def _start_supervised(
    ground: ServiceContext, supervisor: Supervisor, before: RunningGateway | None
) -> int:
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


def _alone(ground: ServiceContext) -> int:
    ready_s = ground.patience.ready_s
    child = spawn(ground.command, ground.home, ground.context.environ)
    try:
        progress = ground.progress("The gateway starts")
        wait_until(lambda: child.status() is not None or _up(ground, child), ready_s, progress)
        status = child.status()
        if status is not None:
            return _report_death(ground, child, status)
        if not _up(ground, child):
            ground.complain(f"pid {child.pid} is not ready after {ready_s:.0f} s. {_LOG}")
            return FAILED
    finally:
        child.let_go()
    ground.say(f"The gateway runs on {ground.home}: pid {child.pid}, in the background")
    return DONE


def _up(ground: ServiceContext, child: GatewayChild) -> bool:
    noted = note(ground.home)
    return noted is not None and noted.pid == child.pid and ground.ready()


def _report_death(ground: ServiceContext, child: GatewayChild, status: int) -> int:
    ended = f"with status {status}" if status >= 0 else f"by signal {-status}"
    words = child.last_words(LINES)
    ground.complain(f"the gateway ended at once, {ended}. See {ground.home / OUTPUT}", words)
    return status if status in (TRY_AGAIN, CONFIGURATION) else FAILED


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
)
