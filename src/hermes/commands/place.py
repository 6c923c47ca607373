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


def _sethome(order: CommandCall) -> CommandResult:
    home = HomeSet(order.inbound.address, order.at)
    return CommandResult(events=(home,), replies=(order.reply(HOME),))


async def _restart(order: CommandCall, context: CommandContext) -> CommandResult:
    """Check the settings, then ask for the restart: with invalid ones the gateway could not
    start."""
    if context.preflight is None:
        return CommandResult(replies=(order.reply(NO_GATEWAY),))
    if problem := await context.preflight():
        return CommandResult(replies=(order.reply(f"{NOT_RESTARTED} {problem}"),))
    asked = RestartAsked(ref(order.inbound), order.at)
    return CommandResult(events=(asked,), replies=(order.reply(RESTARTING),))


async def _model(
    order: CommandCall, default: str, choose: Callable[[str], str], try_model: TryModel | None
) -> CommandResult:
    """Show or change the model. It is kept only after it answered, so that a typo cannot break the
    chat."""
    chosen = order.session.facts.model
    if not order.argument:
        current = chosen or f"{default}, the default"
        how = "/model PROVIDER:MODEL changes it, /model default goes back."
        return CommandResult(replies=(order.reply(f"The model here is {current}. {how}"),))
    if order.argument.lower() == "default":
        forgotten = FactSet("model", "", order.at)
        text = f"From the next request on: {default}, the default."
        return CommandResult(events=(forgotten,), replies=(order.reply(text),))
    try:
        name = choose(order.argument)
        if try_model is not None:
            await try_model(name)
    except (Misconfigured, Rejected, ProviderFailed) as error:
        return CommandResult(replies=(order.reply(f"Nothing was changed: {error}"),))
    told = order.reply(f"From the next request on: {name}.")
    return CommandResult(events=(FactSet("model", name, order.at),), replies=(told,))


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
            run_async=lambda order, _desk: _model(order, default_model, choose, try_model),
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
