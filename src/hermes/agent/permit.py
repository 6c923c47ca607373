"""May this call be made? Puts together what the policy decides by: who, what, where.

Whose turn it is and what was granted is looked up at the moment of the decision.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.child_sessions import CALL
from hermes.core.grants import Grant, Profile
from hermes.core.ids import name_of, platform_of
from hermes.core.jobs import SCHEDULE
from hermes.core.messages import REPLY, Address, Call, Origin
from hermes.core.people import Role, Sender, principal_of
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
    PolicyContext,
    PolicySubject,
    always,
    decide,
    for_folder,
    for_session,
    looked_at,
    only_by_folder,
)
from hermes.core.ports import ToolScope, Toolset
from hermes.core.principal import NOBODY, AudienceOf, Principal
from hermes.core.rules import Allow, Ask, DecisionContext, Deny, Verdict
from hermes.core.session import Session, Turn, speaker, speakers
from hermes.core.trust import TrustRegister
from hermes.ports.sandbox import OPEN

_C = Capability
_ALL = frozenset(Capability) - {_C.CONTROL}
_LOOKING_BACK = frozenset({_C.PURE, _C.READ, _C.READ_OWN, _C.READ_PRIVATE, _C.WRITE_SELF})
_HOPS: Mapping[Origin, Hop] = {
    "schedule": Hop("schedule", _ALL),
    "boot": Hop("schedule", _ALL),
    "webhook": Hop("webhook", _ALL - {_C.WRITE_SELF, _C.READ_PRIVATE, _C.READ_OWN}),
    "parent": Hop("subagent", _ALL - {_C.WRITE_SELF}),
    "review": Hop("review", _LOOKING_BACK),
}
_REPLIES = frozenset({_C.REPLY})
SHARES = "shares_private"  # a fact: the owner let something private be read in this conversation
AIM_CHARS_MIN = 3  # what is shorter stands in every text


class Permit(Struct, frozen=True, kw_only=True):
    tools: Toolset
    role_by: Callable[[Sender, TrustRegister], Role]
    register: Callable[[], TrustRegister]
    clock: Callable[[], float]
    profile: Profile = "host"  # of the box that commands run in
    mode: Mode = "ask"
    audience: AudienceOf = lambda _platform: "people"

    def role(self, sender: Sender) -> Role:
        return self.role_by(sender, self.register())

    def verdict(self, session: Session, call: Call, context: DecisionContext) -> Verdict:
        """Decide by what the moment holds, so that the same moment gives the same verdict."""
        then = replace(self, register=lambda: context.register, clock=lambda: context.at)
        return then.judge(session, call)

    def judge(self, session: Session, call: Call) -> Verdict:
        turn = session.turn
        if turn is None:
            return Deny("no turn is open")
        if call.tool == REPLY and turn.address.platform == CALL:
            return Allow()  # who reads it has its labels, and is asked before it goes further
        if call.tool != REPLY and (why := self.refusal(session, call.tool)):
            return Deny(why)
        subject = self.subject(session, turn)
        action, setting = self._action(session, turn, call), self._setting(session, turn, subject)
        if call.tool == REPLY and session.facts.shares_private:
            setting = replace(setting, labels=setting.labels - {PRIVATE})
        found = decide(subject, action, setting)
        if isinstance(found, Ask) and any(hop.kind == "review" for hop in subject.hops):
            return Deny(f"{found.why}, and a look back at a conversation may not ask")
        return found

    def refusal(self, session: Session, tool: str) -> str:
        """Why no call of this tool may begin now, whatever its arguments are. Empty: one may."""
        if self.tools.find(tool) is None:
            return gone(tool)
        turn = session.turn
        return self.tools.withheld(tool, self.scope(session, turn)) if turn is not None else ""

    def scope_of(self, session: Session) -> ToolScope | None:
        return self.scope(session, session.turn) if session.turn is not None else None

    def scope(self, session: Session, turn: Turn) -> ToolScope:
        """For whom tools are asked there. What is off where it came from or where it answers is
        off."""
        return ToolScope(
            session=session.key,
            platforms=frozenset(
                {platform_of(session.key), *(address.platform for address in places(turn))}
            ),
            subject=self.subject(session, turn),
            only=turn.options.tools,
            model=turn.options.model or session.facts.model,
            alone=all(_is_alone(each, self.role(each)) for each in speakers(session, turn)),
        )

    def offers(
        self, session: Session, turn: Turn, call: Call, question: str
    ) -> tuple[Grant | None, Grant | None, Grant | None]:
        """What "always", "for this session" and "for this folder" would mean as answers to this
        question."""
        subject = self.subject(session, turn)
        action, setting = self._action(session, turn, call), self._setting(session, turn, subject)
        return (
            always(subject, action, setting, question),
            for_session(subject, action, setting, question),
            for_folder(subject, action, setting, question),
        )

    def is_by_folder(self, session: Session, call: Call) -> bool:
        """Is the call allowed only because all code of its folder is?"""
        turn = session.turn
        if turn is None or call.tool == REPLY:
            return False
        subject = self.subject(session, turn)
        setting = self._setting(session, turn, subject)
        if not setting.grants:
            return False
        return only_by_folder(subject, self._action(session, turn, call), setting)

    def box(self, call: Call) -> str:
        tool = self.tools.find(call.tool)
        boxed = tool is not None and Capability.EXECUTE in tool.capabilities
        return self.profile if boxed else ""

    def subject(self, session: Session, turn: Turn) -> PolicySubject:
        """The weakest of all whose words are in the turn (C64), behind all that handed them on."""
        said = speakers(session, turn)
        sender = max(said, key=self.role)
        via = dict.fromkeys(origin for each in said for origin in principal_of(each).via)
        hops = tuple(_HOPS[origin] for origin in via if origin in _HOPS)
        own = turn.options.run is not None  # what was allowed for a job is allowed for it alone
        return PolicySubject(self.role(sender), session.key if own else sender.name, hops)

    def principal(self, session: Session) -> Principal:
        """On whose behalf the open turn may cause something elsewhere: of all whose words are in
        it the weakest, with the role that they have now as a ceiling for good, and behind all
        hops of the others."""
        turn = session.turn
        if turn is None:
            return NOBODY
        said = speakers(session, turn)
        sender = max(said, key=self.role)
        carried = principal_of(sender, tuple(self.read(session)))
        others = dict.fromkeys(origin for each in said for origin in principal_of(each).via)
        via = (*carried.via, *(origin for origin in others if origin not in carried.via))
        return replace(carried, ceiling=max(carried.ceiling, self.role(sender)), via=via)

    def ask_at(self, session: Session, turn: Turn) -> Address:
        """Where the owner of the turn is: not always where its answer goes."""
        return principal_of(speaker(session, turn)).ask or turn.address

    def is_owners(self, session: Session) -> bool:
        """Nobody but the owner speaks and reads here."""
        turn = session.turn
        if turn is None:
            return False
        mine = self.subject(session, turn).role is Role.OWNER
        return mine and not self.is_shared(session, turn)

    def read(self, session: Session) -> frozenset[str]:
        """Labels of all that the model has read in this conversation."""
        turn = session.turn
        heard = self._overheard(session, turn) if turn is not None else frozenset()
        return frozenset(session.view.labels) | heard

    def labels(self, call: Call, facts: Mapping[str, str]) -> tuple[str, ...]:
        """What the result of a call is, by what the call can read."""
        read = self._capabilities(call, facts)
        private = read & {_C.READ_PRIVATE, _C.READ_OWN}
        foreign = _C.READ_UNTRUSTED in read or self.box(call) in OPEN
        return (*((UNTRUSTED,) if foreign else ()), *((PRIVATE,) if private else ()))

    def is_shared(self, session: Session, turn: Turn, at: Address | None = None) -> bool:
        """Does anybody read the answers, or what is said `at` another address, who is neither the
        one who speaks nor the owner? The address decides: an event's answer may go to a room."""
        if at is None and turn.options.run is not None:
            targets = (each for each in places(turn) if each.platform != SCHEDULE)
            return any(self.is_shared(session, turn, each) for each in targets)
        address, said = at or turn.address, speaker(session, turn)
        if address.platform == CALL:  # it is read where the session is that waits for it
            address = principal_of(said).ask or address
        if self.audience(address.platform) == "owner":
            return False
        if said.origin == "person" and said.address == address:
            return not said.is_direct
        carried = principal_of(said)
        if carried.direct and carried.spoke == address and self.role(said) is Role.OWNER:
            return False
        return self.role(Sender(session.key, address, address.chat, direct=True)) is not Role.OWNER

    def _overheard(self, session: Session, turn: Turn) -> frozenset[str]:
        """Where everybody writes into one conversation, each reads what strangers to them wrote."""
        others = self.is_shared(session, turn) and not speaker(session, turn).is_alone
        return frozenset({UNTRUSTED} if others and turn.origin == "person" else ())

    def _capabilities(self, call: Call, facts: Mapping[str, str]) -> Capabilities:
        tool = self.tools.find(call.tool)
        if tool is None:
            return WORST
        found = looked_at(lambda: tool.judge(call.arguments, facts)).capabilities
        return tool.capabilities if found is None else found

    def _action(self, session: Session, turn: Turn, call: Call) -> Action:
        if call.tool == REPLY:
            return Action(tool=REPLY, arguments=call.arguments, capabilities=_REPLIES)
        tool = self.tools.find(call.tool)
        if tool is None:
            return Action(tool=call.tool, arguments=call.arguments)
        finding: Finding = looked_at(lambda: tool.judge(call.arguments, session.remembered))
        return Action(
            tool=call.tool,
            arguments=call.arguments,
            capabilities=tool.capabilities,
            finding=finding,
            said=is_said(tool.aims, call.arguments, turn.words) or _is_given(turn, call),
        )

    def _setting(self, session: Session, turn: Turn, subject: PolicySubject) -> PolicyContext:
        own = session.grants if not subject.hops else ()
        return PolicyContext(
            at=self.clock(),
            labels=self.read(session),
            shared=self.is_shared(session, turn),
            profile=self.profile,
            grants=(*own, *self.register().grants),
            mode=self.mode,
        )


def _is_alone(sender: Sender, role: Role) -> bool:
    """Is no one else ever heard in this session? It bears the person's id, or is the private chat
    of a person who was let in there."""
    name = name_of(sender.key)
    own = name is not None and sender.id in name.rest
    return own or (role is Role.PAIRED and sender.is_direct)


def places(turn: Turn) -> tuple[Address, ...]:
    """Return where the turn's answer is read: a job's goes to its targets."""
    run = turn.options.run
    return (turn.address, *(run.targets if run is not None else ()))


def gone(tool: str) -> str:
    return (
        f"The tool “{tool}” is no longer there: it was removed since this conversation began. "
        "Nothing was run. Do it in another way, or tell the person what is missing."
    )


def _is_given(turn: Turn, call: Call) -> bool:
    """A call that came with the message was written by its author, not by a model."""
    given = ((each.tool, each.arguments) for each in turn.options.calls)
    return turn.steps == 1 and (call.tool, call.arguments) in given


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
