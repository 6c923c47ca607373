"""What a conversation is told of tools, and what its model makes of that: calls."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Struct

from hermes.agent.permit import Permit
from hermes.core.messages import Call, TurnOptions, sound
from hermes.core.ports import RawCall, Toolset, ToolSpec
from hermes.core.session import Session, Turn, call_id
from hermes.core.store import TextStore


class ToolOffer(Struct, frozen=True, kw_only=True):
    tools: Toolset
    permit: Permit
    texts: TextStore
    repaired: Callable[[RawCall, Mapping[str, ToolSpec]], tuple[str, str, str]]

    async def tools_for(self, session: Session, turn: Turn) -> tuple[ToolSpec, ...]:
        """What a conversation that begins there now is told."""
        tools = await self.tools.tools_for(self.permit.scope(session, turn))
        return tuple(tool.spec for tool in tools)

    async def keep(self, specs: tuple[ToolSpec, ...]) -> str:
        """Make the list durable and return its digest. Raises StoreFailed."""
        return await self.texts.keep(sound(msgspec.json.encode(specs).decode()))

    async def kept(self, session: Session, turn: Turn) -> tuple[ToolSpec, ...]:
        """The tools that this conversation was told of when it began, byte by byte; today's where
        that was not written down."""
        text = await self.texts.text(session.facts.tools)
        if text is None:
            return await self.tools_for(session, turn)
        return msgspec.json.decode(text, type=tuple[ToolSpec, ...])

    def calls(
        self, session: Session, turn: Turn, raws: Sequence[RawCall], specs: Sequence[ToolSpec]
    ) -> tuple[Call, ...]:
        """Each under an id of ours, with what is wrong with it, if anything is."""
        known = {spec.name: spec for spec in specs}
        calls: list[Call] = []
        for n, raw in enumerate(raws, start=1):
            name, arguments, fault = self.repaired(raw, known)
            tool = self.tools.find(name)
            if tool is not None or name in known:
                fault = self.permit.refusal(session, name) or fault
            if tool is not None and not fault:
                fault = raw.fault or tool.check(arguments)
            id_ = call_id(turn, n)
            calls.append(
                Call(id=id_, tool=name, arguments=arguments, fault=fault, origin=raw.origin)
            )
        return tuple(calls)


def model_of(session: Session) -> str:
    """Return the model that the turn or session was told to use. Empty: that of the settings."""
    options = session.turn.options if session.turn is not None else TurnOptions()
    return options.model or session.facts.model
