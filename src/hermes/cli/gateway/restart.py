"""hermes gateway restart: restart in place after the running turns; same process, new program."""

import signal
import time

from hermes.cli.command import CliCommand, NoOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import CONFIGURATION, DONE, TRY_AGAIN
from hermes.cli.gateway.service.lock import (
    RestartCheck,
    RunningGateway,
    alive,
    restart_check,
    running,
)
from hermes.cli.gateway.service.probe import standing
from hermes.cli.gateway.service.progress import wait_until
from hermes.cli.gateway.service.service import ServiceContext, send
from hermes.cli.gateway.start import start


def run(_options: NoOptions, context: CliContext) -> int:
    return restart(standing(context))


def restart(ground: ServiceContext) -> int:
    who = running(ground.home)
    if who is None:
        return start(ground)
    if not ground.in_turn:  # a turn's commands do not see the gateway's secrets
        ground.context.settings()  # with wrong ones it would not come up again
    asked_at = time.monotonic()
    send(who, signal.SIGUSR1)
    return _in_turn(ground, who, asked_at) if ground.in_turn else _wait(ground, who, asked_at)


def _in_turn(ground: ServiceContext, who: RunningGateway, asked_at: float) -> int:
    """Wait for the gateway's check of the settings, but not for the turn that this command is part
    of."""

    def decided() -> bool:
        return restart_check(ground.home, asked_at) is not None or ground.renewed(who)

    wait_s = ground.patience.ready_s
    if not wait_until(decided, wait_s, ground.progress("The gateway checks its settings")):
        ground.complain(
            f"the gateway has not answered within {wait_s:.0f} s. The restart was requested; "
            "see: hermes gateway status"
        )
        return TRY_AGAIN
    if (checked := restart_check(ground.home, asked_at)) is not None and checked.problem:
        return _report_refusal(ground, checked)
    ground.say("The gateway restarts after this turn")
    return DONE


def _wait(ground: ServiceContext, who: RunningGateway, asked_at: float) -> int:
    limit_s = ground.drain_s() + ground.patience.stop_s + ground.patience.ready_s
    progress = ground.progress("The gateway restarts after its running turns")

    def decided() -> bool:
        checked = restart_check(ground.home, asked_at)
        refused = checked is not None and bool(checked.problem)
        return refused or ground.renewed(who) or not alive(who.pid)

    if not wait_until(decided, limit_s, progress):
        ground.complain(
            f"the gateway has not restarted within {limit_s:.0f} s ({ground.named(who)}). The "
            "restart was requested; see: hermes gateway status"
        )
        return TRY_AGAIN
    checked = restart_check(ground.home, asked_at)
    if checked is not None and checked.problem:
        return _report_refusal(ground, checked)
    if ground.renewed(who):
        ground.say(f"The gateway has restarted on {ground.home}: pid {who.pid}")
        return DONE
    return _start_again(ground, who)


def _report_refusal(ground: ServiceContext, checked: RestartCheck) -> int:
    ground.complain(f"the gateway keeps running as it is: {checked.problem}")
    return CONFIGURATION


def _start_again(ground: ServiceContext, who: RunningGateway) -> int:
    """Handle a gateway that ended instead of restarting: its supervisor starts it, or this command
    does."""
    supervisor = ground.installed()
    if supervisor is None or not supervisor.engaged():
        return start(ground)
    progress = ground.progress(f"{supervisor.kind} starts the gateway")
    if wait_until(lambda: ground.renewed(who), ground.patience.ready_s, progress):
        ground.say(f"The gateway was restarted on {ground.home} by {supervisor.kind}")
        return DONE
    ground.complain("the gateway ended and is not back yet", supervisor.last_words())
    return TRY_AGAIN


COMMAND = CliCommand(
    options=NoOptions,
    run=run,
)
