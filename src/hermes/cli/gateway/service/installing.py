"""Install the gateway as a service, or remove it."""

from hermes.cli.errors import DONE, FAILED, TRY_AGAIN
from hermes.cli.gateway.service.errors import ServiceFailed
from hermes.cli.gateway.service.lock import RunningGateway, note, running
from hermes.cli.gateway.service.progress import wait_until
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.gateway.service.supervisor import Supervisor, supervisors
from hermes.cli.gateway.stop import stop
from hermes.cli.output.files import saved
from hermes.settings import prepare
from hermes.settings.sources import overrides


def install(ground: ServiceContext) -> int:
    ground.context.settings()
    supervisor = ground.supervisor()
    if supervisor is None:
        ground.complain(
            "there is no systemd user session or launchd here, so no service can be installed. "
            "Run it in the background: hermes gateway start"
        )
        return FAILED
    prepare(ground.home)
    engaged = supervisor.file.is_file() and supervisor.engaged()
    who = running(ground.home)
    if who is not None and not (engaged and supervisor.main_pid() == who.pid):
        ground.complain(
            f"a gateway that {supervisor.kind} did not start runs on {ground.home}: "
            f"{ground.named(who)}. Stop it first: hermes gateway stop"
        )
        return TRY_AGAIN
    changed = _write(ground, supervisor)
    if not _enable(ground, supervisor, who):
        return FAILED
    ground.say(f"The gateway of {ground.home} runs, kept by {supervisor.kind}")
    _remarks(ground, supervisor, renew=changed and engaged)
    return DONE


def uninstall(ground: ServiceContext) -> int:
    for supervisor in supervisors(ground.home, ground.context.environ, ground.platform):
        if not supervisor.file.is_file():
            continue
        if ground.in_turn:
            ground.complain("a turn cannot uninstall the gateway that runs it")
            return TRY_AGAIN
        if not supervisor.answers():
            fix = f"Try again after a real log-in, or remove it: rm {supervisor.file}"
            raise ServiceFailed(f"{supervisor.kind} does not answer. {fix}")
        if supervisor.engaged() and (status := stop(ground, force=False)) != DONE:
            return status
        supervisor.disable()
        supervisor.file.unlink(missing_ok=True)
        supervisor.forget()
        ground.say(f"{supervisor.file} is removed")
        return DONE
    ground.say(f"No service is installed for {ground.home}")
    return DONE


def _write(ground: ServiceContext, supervisor: Supervisor) -> bool:
    """Write the service file and say so. Return False when it was right already."""
    file, content = supervisor.file, supervisor.content(ground.plan())
    if file.is_symlink() and not file.is_file():  # one that is masked leads to /dev/null
        raise ServiceFailed(f"{file} is a broken link. Remove it first: rm {file}")
    if file.is_file() and file.read_bytes() == content:
        ground.say(f"{file} is up to date")
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    saved(file, content)
    ground.say(f"{file} is written")
    return True


def _enable(ground: ServiceContext, supervisor: Supervisor, who: RunningGateway | None) -> bool:
    before, ready_s = note(ground.home), ground.patience.ready_s
    progress = ground.progress(f"{supervisor.kind} starts the gateway")
    problem = f"it is not ready after {ready_s:.0f} s"
    try:
        supervisor.enable(progress.tick)
        if who is not None or wait_until(lambda: ground.renewed(before), ready_s, progress):
            return True
    except ServiceFailed as failure:
        problem = str(failure)
    finally:
        progress.clear()
    stays = "The service stays installed; to remove it: hermes gateway uninstall"
    ground.complain(f"{problem}. {stays}", supervisor.last_words())
    return False


def _remarks(ground: ServiceContext, supervisor: Supervisor, *, renew: bool) -> None:
    tell = ground.context.console.tell
    if renew:
        tell(f"The running gateway uses the old file until you run: {supervisor.renew()}")
    if remark := supervisor.remark():
        tell(remark)
    _tree, origins = overrides(ground.context.environ)
    if origins:
        names = ", ".join(sorted(origins.values()))
        tell(f"The service does not see variables of this shell: {names}. Put it into .env")
