"""hermes gateway stop: ask the gateway to drain, and wait for it."""

import signal
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, TRY_AGAIN
from hermes.cli.gateway.service.lock import RunningGateway, held, running
from hermes.cli.gateway.service.progress import wait_until
from hermes.cli.gateway.service.service import ServiceContext, send
from hermes.cli.gateway.service.supervisor import Supervisor

if TYPE_CHECKING:
    from argparse import ArgumentParser


KILLED_S = 5.0


class GatewayStopOptions:
    force: bool


def _arguments(parser: "ArgumentParser") -> None:
    more = "do not wait for running turns; kill it after another 10 s"
    parser.add_argument("--force", action="store_true", help=more)


def run(options: GatewayStopOptions, context: CliContext) -> int:
    return stop(ServiceContext(context=context), force=options.force)


def stop(ground: ServiceContext, *, force: bool) -> int:
    who = running(ground.home)
    supervisor = ground.installed()
    if supervisor is not None and not supervisor.engaged():
        supervisor = None
    if who is None and supervisor is None:
        ground.say(f"No gateway runs on {ground.home}")
        return DONE
    _ask_to_stop(who, supervisor)
    if ground.in_turn:
        ground.say(
            "The gateway is stopping; if this turn is not done soon, the next start resumes it"
        )
        return DONE
    limit_s = ground.drain_s() + ground.patience.stop_s
    if _hurry(ground, supervisor) if force else _gone(ground, supervisor, limit_s):
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


def _ask_to_stop(who: RunningGateway | None, supervisor: Supervisor | None) -> None:
    """Ask the supervisor to stop it if there is one: it would restart a gateway that ends by
    itself."""
    kept = supervisor.main_pid() if supervisor is not None else 0
    if supervisor is not None:
        supervisor.stop()
    if who is not None and who.pid != kept:
        send(who, signal.SIGTERM)


def _gone(ground: ServiceContext, supervisor: Supervisor | None, limit_s: float) -> bool:
    def gone() -> bool:
        return not held(ground.home) and (supervisor is None or not supervisor.engaged())

    progress = ground.progress("The gateway finishes its running turns")
    return wait_until(gone, limit_s, progress)


def _hurry(ground: ServiceContext, supervisor: Supervisor | None) -> bool:
    """Ask a second time: the gateway then interrupts its turns in order instead of waiting for
    them."""
    if _gone(ground, supervisor, ground.patience.hurry_s):
        return True
    if (who := running(ground.home)) is not None:
        send(who, signal.SIGTERM)
    return _gone(ground, supervisor, ground.patience.force_s)


def _kill(ground: ServiceContext, supervisor: Supervisor | None) -> int:
    who = running(ground.home)
    if who is not None:
        waited = f"{ground.patience.force_s:.0f} s"
        ground.context.console.tell(
            f"pid {who.pid} did not stop in {waited} and is killed (SIGKILL). No message "
            "is lost; its turns resume at the next start"
        )
        send(who, signal.SIGKILL)
    if not _gone(ground, supervisor, KILLED_S):
        ground.complain("the gateway is still there, though it was killed. See: ps aux")
        return TRY_AGAIN
    ground.say("The gateway was killed")
    return DONE


COMMAND = CliCommand(
    options=GatewayStopOptions,
    run=run,
    arguments=_arguments,
)
