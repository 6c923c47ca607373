"""May this call be made? Puts together what the policy decides by: who, what, where.

Whose turn it is and what was granted is looked up at the moment of the decision.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from hermes.core.grants import Grant, Profile
from hermes.core.messages import Call, Origin
from hermes.core.people import Role, Sender, is_alone, is_private
from hermes.core.policy import (
    FAULTS,
    PRIVATE,
    UNTRUSTED,
    WORST,
    Action,
    Capabilities,
    Capability,
    Finding,
    Hop,
    Mode,
    Principal,
    Setting,
    always,
    decide,
    looked_at,
)
from hermes.core.ports import Tool
from hermes.core.recall import OWNED
from hermes.core.rules import Ask, Deny, Verdict
from hermes.core.session import Session, Turn, speaker

_C = Capability
_ALL = frozenset(Capability) - {_C.CONTROL}
_LOOKING_BACK = frozenset({_C.PURE, _C.READ, _C.READ_OWN, _C.READ_PRIVATE, _C.WRITE_SELF})
_HOPS: Mapping[Origin, Hop] = {
    "schedule": Hop("schedule", _ALL),
    "boot": Hop("schedule", _ALL),
    "webhook": Hop("webhook", _ALL - {_C.WRITE_SELF}),
    "parent": Hop("subagent", _ALL - {_C.WRITE_SELF}),
    "review": Hop("review", _LOOKING_BACK),
}
_OPEN = ("net", "host")  # boxes into which anybody's words may come
AIM_CHARS_MIN = 3  # what is shorter stands in every text


class Permit(Struct, frozen=True, kw_only=True):
    tools: Mapping[str, Tool]
    role: Callable[[Sender], Role]
    grants: Callable[[], tuple[Grant, ...]]
    clock: Callable[[], float]
    profile: Profile = "host"  # of the box that commands run in
    mode: Mode = "ask"

    def verdict(self, session: Session, call: Call) -> Verdict:
        turn = session.turn
        if turn is None:
            return Deny("no turn is open")
        action = self._action(session, turn, call)
        found = decide(self.principal(session, turn), action, self._setting(session, turn))
        if isinstance(found, Ask) and turn.origin == "review":
            return Deny(f"{found.why}, and nobody is there to be asked")
        return found

    def offer(self, session: Session, turn: Turn, call: Call, question: str) -> Grant | None:
        """What "always" would mean as an answer to this question."""
        action, setting = self._action(session, turn, call), self._setting(session, turn)
        return always(self.principal(session, turn), action, setting, question)

    def box(self, call: Call) -> str:
        tool = self.tools.get(call.tool)
        boxed = tool is not None and Capability.EXECUTE in tool.capabilities
        return self.profile if boxed else ""

    def principal(self, session: Session, turn: Turn) -> Principal:
        sender = speaker(session, turn)
        hop = _HOPS.get(turn.origin)
        return Principal(self.role(sender), sender.name, (hop,) if hop is not None else ())

    def is_owners(self, session: Session) -> bool:
        """Nobody but the owner speaks and reads here."""
        turn = session.turn
        if turn is None:
            return False
        return self.role(speaker(session, turn)) is Role.OWNER and not _is_shared(session, turn)

    def labels(self, call: Call, facts: Mapping[str, str]) -> tuple[str, ...]:
        """What the result of a call is, by what the call can read."""
        read = self._capabilities(call, facts)
        private = read & {_C.READ_PRIVATE, _C.READ_OWN}
        foreign = _C.READ_UNTRUSTED in read or self.box(call) in _OPEN
        return (*((UNTRUSTED,) if foreign else ()), *((PRIVATE,) if private else ()))

    def _capabilities(self, call: Call, facts: Mapping[str, str]) -> Capabilities:
        tool = self.tools.get(call.tool)
        if tool is None:
            return WORST
        found = looked_at(lambda: tool.judge(call.arguments, facts)).capabilities
        return tool.capabilities if found is None else found

    def _action(self, session: Session, turn: Turn, call: Call) -> Action:
        tool = self.tools.get(call.tool)
        if tool is None:
            return Action(tool=call.tool, arguments=call.arguments)
        finding: Finding = looked_at(lambda: tool.judge(call.arguments, session.facts))
        return Action(
            tool=call.tool,
            arguments=call.arguments,
            capabilities=tool.capabilities,
            finding=finding,
            said=is_said(tool.aims, call.arguments, turn.words),
        )

    def _setting(self, session: Session, turn: Turn) -> Setting:
        return Setting(
            at=self.clock(),
            labels=frozenset(session.view.labels) | _overheard(session, turn),
            shared=_is_shared(session, turn),
            profile=self.profile,
            grants=self.grants(),
            mode=self.mode,
        )


def _is_shared(session: Session, turn: Turn) -> bool:
    """Somebody beside the owner may read the answers."""
    return not is_private(session.key) and turn.address.platform not in OWNED


def _overheard(session: Session, turn: Turn) -> frozenset[str]:
    """Where everybody writes into one conversation, each reads what strangers to them wrote."""
    others = _is_shared(session, turn) and not is_alone(speaker(session, turn))
    return frozenset({UNTRUSTED} if others and turn.origin == "person" else ())


def is_said(aims: tuple[str, ...], arguments: str, words: str) -> bool:
    """Does it stand so in the person's own words where this goes to?"""
    if not aims or not words:
        return False
    try:
        given = msgspec.json.decode(arguments, type=dict[str, object])
    except FAULTS:
        return False
    wanted = [text for aim in aims for text in _texts(given.get(aim))]
    return bool(wanted) and all(len(t) >= AIM_CHARS_MIN and t in words for t in wanted)


def _texts(value: object) -> list[str]:
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [] if value is None else [str(value)]
