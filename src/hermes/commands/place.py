"""Commands about where and by what Hermes works: the home chat, the model, a restart."""

from collections.abc import Callable

from hermes.core.channel import Command, Obeyed, Order
from hermes.core.errors import Misconfigured, Rejected
from hermes.core.events import FactSet, HomeSet, RestartAsked
from hermes.core.rules import Busy
from hermes.core.session import ref

HOME = "This chat is home now: what nobody asked for in particular comes here."
RESTARTING = (
    "Restarting: I finish what is running first, and try to go on with anything that takes longer."
)


def _sethome(order: Order) -> Obeyed:
    home = HomeSet(order.inbound.address, order.at)
    return Obeyed(events=(home,), replies=(order.reply(HOME),))


def _restart(order: Order) -> Obeyed:
    asked = RestartAsked(ref(order.inbound), order.at)
    return Obeyed(events=(asked,), replies=(order.reply(RESTARTING),))


def _model(order: Order, default: str, choose: Callable[[str], str]) -> Obeyed:
    chosen = order.session.facts.get("model", "")
    if not order.argument:
        current = chosen or f"{default}, the default"
        how = "/model PROVIDER:MODEL changes it, /model default goes back."
        return Obeyed(replies=(order.reply(f"The model here is {current}. {how}"),))
    if order.argument.lower() == "default":
        forgotten = FactSet("model", "", order.at)
        text = f"From the next request on: {default}, the default."
        return Obeyed(events=(forgotten,), replies=(order.reply(text),))
    try:
        name = choose(order.argument)
    except (Misconfigured, Rejected) as error:
        return Obeyed(replies=(order.reply(f"It stays as it is: {error}"),))
    told = order.reply(f"From the next request on: {name}.")
    return Obeyed(events=(FactSet("model", name, order.at),), replies=(told,))


def place_commands(default_model: str, choose: Callable[[str], str]) -> tuple[Command, ...]:
    return (
        Command(
            name="/model",
            busy=Busy.NOW,
            summary="Show the model of this chat, or choose another one",
            run=lambda order: _model(order, default_model, choose),
            argument="[PROVIDER:MODEL]",
        ),
        Command(
            name="/sethome",
            busy=Busy.NOW,
            summary="Let this chat get what nobody asked for in particular",
            run=_sethome,
        ),
        Command(
            name="/restart",
            busy=Busy.NOW,
            summary="Restart the gateway after the running turns",
            run=_restart,
        ),
    )
