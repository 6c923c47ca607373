"""May this call be made? Who asks, what the tool can do, what the model has read: nothing else.

`decide` is pure and total. It is monotone: a weaker principal, one more label, one more capability
or one grant less never makes a verdict milder. The sandbox is the boundary; this says who is asked.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Literal

import msgspec
from msgspec import Struct

from hermes.core.errors import HermesError
from hermes.core.grants import GRANT_S, Grant, Profile, Template, canonical, granted
from hermes.core.people import Role as Role
from hermes.core.rules import Allow, AllowSandboxed, Ask, Deny, Verdict

VERSION = 1  # of the rules below; an approval that was given under another one is void
GRANTS_MAX = 500
CLOSED = frozenset({"read", "write"})  # profiles of a box without a way out
SLACK_S = 3600.0  # by which a clock may be put right
# What code that judges may run into.
FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(HermesError, msgspec.MsgspecError),
)

UNTRUSTED, PRIVATE, SECRET = "untrusted", "private", "secret"
AFTER_READING = "and this conversation has read text that others wrote"
Mode = Literal["ask", "allow", "deny"]  # what becomes of a question


class Capability(Enum):
    """What a tool can do at its worst. Its manifest declares it."""

    PURE = "C0"
    READ = "C1"  # the workspace
    READ_OWN = "C2 own"  # only what belongs to the one who asks
    READ_PRIVATE = "C2"  # memory, other conversations, files elsewhere
    READ_UNTRUSTED = "C3"  # what strangers wrote: the result is labelled
    WRITE = "C4"  # the workspace
    WRITE_RUN_LATER = "C4 later"  # what other programs obey later: a Makefile, say
    WRITE_SELF = "C5"  # memory, skills, schedules, settings
    EXECUTE = "C6"
    REPLY = "C7"  # in the same conversation
    FETCH = "C8 read"  # of a public page whose address the model made up
    EGRESS = "C8"  # to anybody else
    LASTING = "C9"  # money, deletion: nobody can undo it
    CONTROL = "C10"  # approve, pair, change the policy: never by a model


Capabilities = frozenset[Capability]
_C = Capability
WORST: Capabilities = frozenset({_C.READ_UNTRUSTED, _C.EGRESS, _C.LASTING})


class Hop(Struct, frozen=True):
    """A step between the person and the call, and the most that it may do."""

    kind: Literal["schedule", "subagent", "webhook", "review"]
    may: Capabilities


class PolicySubject(Struct, frozen=True):
    """On whose behalf, as a verdict needs it. `id` is the platform's immutable one."""

    role: Role
    id: str = ""
    hops: tuple[Hop, ...] = ()


class Finding(Struct, frozen=True, kw_only=True):
    """What a tool sees in its arguments. `capabilities`: what this very call can do at most."""

    verdict: Allow | Ask | Deny = Allow()
    template: Template | None = None
    capabilities: Capabilities | None = None
    identity: str = ""  # equal for the same call to the letter; "": its arguments are that
    code: Template | None = None  # it runs code of a folder that a closed box holds, and no more


class Action(Struct, frozen=True, kw_only=True):
    """A call, as far as it is judged."""

    tool: str
    arguments: str = "{}"
    capabilities: Capabilities = WORST
    finding: Finding = Finding()
    said: bool = False  # whom, how much, where to: it stands so in the owner's own words


class PolicyContext(Struct, frozen=True, kw_only=True):
    """Where it would happen, and what is known there."""

    at: float
    labels: frozenset[str] = frozenset()  # of all that the model has read in this conversation
    shared: bool = False  # somebody beside the owner reads the answers
    profile: Profile = "host"
    grants: tuple[Grant, ...] = ()
    mode: Mode = "ask"


_ALLOW, _ASK, _DENY = 0, 1, 2
_OWNER = dict.fromkeys(Capability, _ALLOW) | {_C.EGRESS: _ASK, _C.LASTING: _ASK, _C.CONTROL: _DENY}
_PAIRED = _OWNER | {
    _C.READ: _ASK,  # the workspace is the owner's
    _C.READ_PRIVATE: _DENY,
    _C.WRITE: _ASK,
    _C.WRITE_RUN_LATER: _ASK,
    _C.EXECUTE: _ASK,
    _C.WRITE_SELF: _DENY,
}
_MEMBER = dict.fromkeys(Capability, _DENY) | {
    _C.PURE: _ALLOW,
    _C.READ_UNTRUSTED: _ALLOW,
    _C.FETCH: _ALLOW,
    _C.REPLY: _ALLOW,
}
_CELLS: Mapping[Role, Mapping[Capability, int]] = {
    Role.OWNER: _OWNER,
    Role.PAIRED: _PAIRED,
    Role.MEMBER: _MEMBER,
    Role.STRANGER: dict.fromkeys(Capability, _DENY),
}
# What a sandbox with a hole in it adds to running something.
_HOLES: Mapping[Profile, Capabilities] = {
    "read": frozenset(),
    "write": frozenset(),
    "net": frozenset({_C.EGRESS}),
    "host": frozenset({_C.EGRESS, _C.LASTING}),
}
_TAINTED = frozenset({_C.WRITE_RUN_LATER, _C.WRITE_SELF, _C.FETCH, _C.EGRESS, _C.LASTING})
_OUTWARD = frozenset({_C.EGRESS, _C.LASTING})
# What a capability means, behind "it …" on a card.
_MEANS: Mapping[Capability, str] = {
    _C.PURE: "only computes",
    _C.READ: "reads files of the workspace",
    _C.READ_OWN: "reads what belongs to the person who asks",
    _C.READ_PRIVATE: "reads private things: memory, other conversations, files elsewhere",
    _C.READ_UNTRUSTED: "reads text that others wrote",
    _C.WRITE: "changes files of the workspace",
    _C.WRITE_RUN_LATER: "changes a file that other programs obey later",
    _C.WRITE_SELF: "changes my memory, skills, schedules or settings",
    _C.EXECUTE: "runs a command",
    _C.REPLY: "replies in this chat",
    _C.FETCH: "opens a web address that you did not name",
    _C.EGRESS: "can send something out of this machine",
    _C.LASTING: "cannot be undone",
    _C.CONTROL: "decides about permissions",
}
_WHO = {
    Role.OWNER: "the owner",
    Role.PAIRED: "a paired person",
    Role.MEMBER: "a group member",
    Role.STRANGER: "a stranger",
}


def decide(principal: PolicySubject, action: Action, setting: PolicyContext) -> Verdict:
    """Decide about a call. Total: invalid input is answered with a denial."""
    try:
        return _decided(principal, action, setting)
    except FAULTS:
        return Deny("the policy could not judge it")


def _decided(principal: PolicySubject, action: Action, setting: PolicyContext) -> Verdict:
    wanted = _wanted(action, setting)
    found, arguments = action.finding.verdict, canonical(action.arguments)
    if refused := _refusal(principal, wanted):
        return Deny(refused)
    if isinstance(found, Deny):
        return found
    grants = _granted(principal, action, setting, action.finding.identity or arguments)
    questions = _questions(principal, action, setting, wanted, grants)
    if not questions or setting.mode == "allow":
        boxed = _C.EXECUTE in wanted and setting.profile != "host"
        return AllowSandboxed(setting.profile) if boxed else Allow()
    if setting.mode == "deny":
        return Deny(f"{questions[0]}, and approvals.mode is deny, so I may not ask")
    return Ask("; ".join(questions))


def _wanted(action: Action, setting: PolicyContext) -> Capabilities:
    own = action.finding.capabilities
    wanted = action.capabilities if own is None else own
    return wanted | _HOLES[setting.profile] if _C.EXECUTE in wanted else wanted


def barred(principal: PolicySubject, ways: tuple[Capabilities, ...]) -> str:
    """Why none of these ways is ever open to that role; empty if one is."""
    refusals = [_refusal(PolicySubject(principal.role), way) for way in ways]
    return refusals[0] if refusals and all(refusals) else ""


def _refusal(principal: PolicySubject, wanted: Capabilities) -> str:
    cells = _CELLS[principal.role]
    for capability in sorted(wanted, key=lambda each: each.name):
        if cells[capability] == _DENY:
            return f"it {_MEANS[capability]}, which {_WHO[principal.role]} may not do"
        for hop in principal.hops:
            own = capability is _C.WRITE_SELF and hop.kind == "subagent"
            if own or capability not in hop.may:
                return f"it {_MEANS[capability]}, which this {hop.kind} may not do"
    return ""


def _questions(
    principal: PolicySubject,
    action: Action,
    setting: PolicyContext,
    wanted: Capabilities,
    grants: tuple[bool, bool],
) -> list[str]:
    """Every reason to ask that no grant has answered."""
    labels, cells, (exact, patterned) = setting.labels, _CELLS[principal.role], grants
    tainted, known = UNTRUSTED in labels, action.said or exact
    questions: list[str] = []
    for capability in sorted(wanted, key=lambda each: each.name):
        if capability in _TAINTED and tainted and not (capability is _C.FETCH and action.said):
            questions.append(f"it {_MEANS[capability]}, {AFTER_READING}")
        elif cells[capability] == _ASK:
            outward = capability in _OUTWARD
            free = known if outward else exact or patterned
            if not free or principal.role is not Role.OWNER or (outward and SECRET in labels):
                questions.append(f"it {_MEANS[capability]}")
    if setting.shared and wanted & {_C.READ_PRIVATE, _C.READ_OWN}:
        questions.append("it reads private things in a chat where others read along")
    if setting.shared and _C.REPLY in wanted and labels & {PRIVATE, SECRET}:
        questions.append("it could tell others what I read in private")
    found = action.finding.verdict
    if isinstance(found, Ask) and not (exact or patterned):
        questions.append(found.why)
    return questions


def _granted(
    principal: PolicySubject, action: Action, setting: PolicyContext, identity: str
) -> tuple[bool, bool]:
    """To the letter, and by a pattern. All are the owner's; strangers' words suspend patterns."""
    if principal.role is not Role.OWNER or not setting.grants:
        return False, False
    trusted = UNTRUSTED not in setting.labels
    template = action.finding.template if trusted else None
    code = action.finding.code if trusted and setting.profile in CLOSED else None
    mine = (principal.id, action.tool, setting.profile)
    last = setting.at + GRANT_S + SLACK_S  # what ends later was given before a clock was set back
    valid = [
        grant
        for grant in setting.grants[:GRANTS_MAX]
        if (grant.principal, grant.tool, grant.profile) == mine
        and setting.at < grant.expires_at <= last
    ]
    exact, patterned = granted(valid, identity, template)
    return exact, patterned or (code is not None and granted(valid, "", code)[1])


def only_by_folder(principal: PolicySubject, action: Action, setting: PolicyContext) -> bool:
    """Return True if the call is allowed because all code of its folder is, and for nothing else:
    then nobody has looked at this very call."""
    if setting.mode == "allow" or action.finding.code is None:
        return False
    narrow = msgspec.structs.replace(action.finding, code=None)
    one = msgspec.structs.replace(action, finding=narrow)
    return not isinstance(decide(principal, action, setting), Ask | Deny) and isinstance(
        decide(principal, one, setting), Ask | Deny
    )


def for_folder(
    principal: PolicySubject, action: Action, setting: PolicyContext, approval: str
) -> Grant | None:
    """What "for this folder" would mean: all code of the folder, in its closed box. None where
    strangers' words were read, and for everybody but the owner in person."""
    closed = _wanted(action, setting) == {_C.EXECUTE} and setting.profile in CLOSED
    own = principal.role is Role.OWNER and not principal.hops
    code = action.finding.code if UNTRUSTED not in setting.labels else None
    if not closed or not own or code is None or isinstance(action.finding.verdict, Deny):
        return None
    return _grant(principal, action, setting, approval, code)


def always(
    principal: PolicySubject, action: Action, setting: PolicyContext, approval: str
) -> Grant | None:
    """What "always" would mean for this call; None where it may mean nothing."""
    wanted, template = _wanted(action, setting), action.finding.template
    unfit = UNTRUSTED in setting.labels or wanted & _OUTWARD or template is None
    if unfit or principal.role is not Role.OWNER or isinstance(action.finding.verdict, Deny):
        return None
    return _grant(principal, action, setting, approval, template)


def for_session(
    principal: PolicySubject, action: Action, setting: PolicyContext, approval: str
) -> Grant | None:
    """What "for this session" would mean: this very command in its closed box, and where no
    stranger's words were read, others of the same template. None outside of a closed box, and for
    everybody but the owner in person."""
    closed = _wanted(action, setting) == {_C.EXECUTE}  # a box with a way out wants more
    own = principal.role is Role.OWNER and not principal.hops
    if not closed or not own or isinstance(action.finding.verdict, Deny):
        return None
    template = action.finding.template if UNTRUSTED not in setting.labels else None
    grant = _grant(principal, action, setting, approval, template)
    return msgspec.structs.replace(grant, identity=action.finding.identity or grant.arguments)


def _grant(
    principal: PolicySubject,
    action: Action,
    setting: PolicyContext,
    id_: str,
    template: Template | None,
) -> Grant:
    return Grant(
        id=id_,
        principal=principal.id,
        tool=action.tool,
        arguments=canonical(action.arguments),
        profile=setting.profile,
        expires_at=setting.at + GRANT_S,
        template=template,
    )


def looked_at(judge: Callable[[], Finding]) -> Finding:
    """What a tool finds in its arguments; when it cannot even read them, a person shall."""
    try:
        return judge()
    except FAULTS:
        return Finding(verdict=Ask("I could not understand its arguments"))
