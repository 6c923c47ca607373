"""Commands about where Hermes works: the home chat, the model, a restart."""

from collections.abc import Awaitable, Callable

from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.errors import Misconfigured, ProviderFailed, Rejected
from hermes.core.events import FactSet, HomeSet, RestartAsked
from hermes.core.rules import Busy
from hermes.core.session import ref

HOME = "This is now the home chat: I send reports and background results here."
RESTARTING = (
    "I am restarting. I finish what is running first, and will try to resume what takes longer."
)
NOT_RESTARTED = (
    "I did not restart and keep working as before. With the current settings I could not start:"
)
NO_GATEWAY = (
    "No gateway runs here, so there is nothing to restart. Start one with: hermes gateway start"
)

TryModel = Callable[[str], Awaitable[None]]


def _sethome(call: CommandCall) -> CommandResult:
    home = HomeSet(call.inbound.address, call.at)
    return CommandResult(events=(home,), replies=(call.reply(HOME),))


async def _restart(call: CommandCall, context: CommandContext) -> CommandResult:
    """Check the settings, then ask for the restart: with invalid ones the gateway could not
    start."""
    if context.preflight is None:
        return CommandResult(replies=(call.reply(NO_GATEWAY),))
    if problem := await context.preflight():
        return CommandResult(replies=(call.reply(f"{NOT_RESTARTED} {problem}"),))
    asked = RestartAsked(ref(call.inbound), call.at)
    return CommandResult(events=(asked,), replies=(call.reply(RESTARTING),))


async def _model(
    call: CommandCall, default: str, choose: Callable[[str], str], try_model: TryModel | None
) -> CommandResult:
    """Show or change the model. It is kept only after it answered, so that a typo cannot break the
    chat."""
    chosen = call.session.facts.model
    if not call.argument:
        current = chosen or f"{default}, the default"
        how = "/model PROVIDER:MODEL changes it, /model default goes back."
        return CommandResult(replies=(call.reply(f"The model here is {current}. {how}"),))
    if call.argument.lower() == "default":
        forgotten = FactSet("model", "", call.at)
        text = f"From the next request on: {default}, the default."
        return CommandResult(events=(forgotten,), replies=(call.reply(text),))
    try:
        name = choose(call.argument)
        if try_model is not None:
            await try_model(name)
    except (Misconfigured, Rejected, ProviderFailed) as error:
        return CommandResult(replies=(call.reply(f"Nothing was changed: {error}"),))
    told = call.reply(f"From the next request on: {name}.")
    return CommandResult(events=(FactSet("model", name, call.at),), replies=(told,))


def place_commands(
    default_model: str,
    choose: Callable[[str], str],
    *,
    try_model: TryModel | None = None,
) -> tuple[Command, ...]:
    return (
        Command(
            name="/model",
            busy=Busy.NOW,
            summary="Show the model of this chat, or choose another one",
            run_async=lambda call, _context: _model(call, default_model, choose, try_model),
            argument="[PROVIDER:MODEL]",
        ),
        Command(
            name="/sethome",
            busy=Busy.NOW,
            summary="Make this the home chat for reports and background results",
            run=_sethome,
        ),
        Command(
            name="/restart",
            busy=Busy.NOW,
            summary="Restart the gateway after the running turns",
            run_async=_restart,
        ),
    )
