"""Cache what an event only refers to and a hook needs: a message's text, a tool's name."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeVar

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import CallId, SessionKey
from hermes.core.messages import Address, Inbound
from hermes.core.session import ref
from hermes.core.signals import Recorded, Signal
from hermes.hooks.occasions import Occasion, bounded, worded

REMEMBERED_MAX = 1_000

K = TypeVar("K")
V = TypeVar("V")


class Recent:
    """A bounded cache. What was evicted is looked up in the journal or left out."""

    def __init__(self) -> None:
        self._messages: OrderedDict[tuple[SessionKey, str], Inbound] = OrderedDict()
        self._addresses: OrderedDict[SessionKey, Address] = OrderedDict()
        self._tools: OrderedDict[CallId, str] = OrderedDict()

    def note(self, signal: Signal) -> None:
        if not isinstance(signal.glimpse, Recorded):
            return
        for event in signal.glimpse.events:
            match event:
                case e.MessageReceived(inbound=inbound) if inbound.origin != "relay":
                    kept = replace(inbound, text=bounded(inbound.text), before=(), media=())
                    _keep(self._messages, (signal.session, ref(inbound)), kept)
                    _keep(self._addresses, signal.session, inbound.address)
                case e.ModelAnswered(calls=calls):
                    for call in calls:
                        _keep(self._tools, call.id, call.tool)
                case _:
                    pass

    def completed(self, occasion: Occasion) -> Occasion:
        """Return the event with everything in the cache; what is missing stays in `messages`."""
        known = [self._messages.get((occasion.session, name)) for name in occasion.messages]
        inbounds = [inbound for inbound in known if inbound is not None]
        if len(inbounds) == len(occasion.messages):
            occasion = replace(worded(occasion, inbounds), messages=())
        if occasion.call:
            tool = self._tools.get(occasion.call, "")
            occasion = replace(occasion, payload={**occasion.payload, "tool": tool})
        address = occasion.address or self._addresses.get(occasion.session)
        return replace(occasion, address=address)


def found_in(events: Sequence[e.Event], occasion: Occasion) -> Occasion:
    """Return the event with the texts found in these journal events."""
    received = [event.inbound for event in events if isinstance(event, e.MessageReceived)]
    return worded(occasion, [one for one in received if ref(one) in occasion.messages])


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > REMEMBERED_MAX:
        kept.popitem(last=False)
