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
SLACK_S = 3600.0  # by which a clock may be put right
# What code that judges may run into.
FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError),
    *(HermesError, msgspec.MsgspecError),
)

UNTRUSTED, PRIVATE, SECRET = "untrusted", "private", "secret"
Mode = Literal["ask", "allow", "deny"]  # what becomes of a question


class Capability(Enum):
    """What a tool can do at its worst. Its manifest declares it."""

    PURE = "C0"
    READ = "C1"  # the workspace
    READ_OWN = "C2 own"  # only what belongs to the one who asks
    READ_PRIVATE = "C2"  # memory, other conversations, files elsewhere
    READ_UNTRUSTED = "C3"  # what strangers wrote: the result is labelled
    WRITE = "C4"  # the workspace
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
    """What stands between the person and the call, and the most that it may do."""

    kind: Literal["schedule", "subagent", "webhook", "review"]
    may: Capabilities


class Principal(Struct, frozen=True):
    """On whose behalf. `id` is the platform's immutable one."""

    role: Role
    id: str = ""
    hops: tuple[Hop, ...] = ()


class Finding(Struct, frozen=True, kw_only=True):
    """What a tool sees in its arguments. `capabilities`: what this very call can do at most."""

    verdict: Allow | Ask | Deny = Allow()
    template: Template | None = None
    capabilities: Capabilities | None = None


class Action(Struct, frozen=True, kw_only=True):
    """A call, as far as it is judged."""

    tool: str
    arguments: str = "{}"
    capabilities: Capabilities = WORST
    finding: Finding = Finding()
    said: bool = False  # whom, how much, where to: it stands so in the owner's own words


class Setting(Struct, frozen=True, kw_only=True):
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
    _C.READ_PRIVATE: _DENY,
    _C.WRITE: _ASK,
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
_TAINTED = frozenset({_C.WRITE_SELF, _C.FETCH, _C.EGRESS, _C.LASTING})
_OUTWARD = frozenset({_C.EGRESS, _C.LASTING})


def decide(principal: Principal, action: Action, setting: Setting) -> Verdict:
    """Whatever is wrong with what it is given, it answers; and then with no."""
    try:
        return _decided(principal, action, setting)
    except FAULTS:
        return Deny("the policy could not judge it")


def _decided(principal: Principal, action: Action, setting: Setting) -> Verdict:
    wanted = _wanted(action, setting)
    found, arguments = action.finding.verdict, canonical(action.arguments)
    if refused := _refusal(principal, wanted):
        return Deny(refused)
    if isinstance(found, Deny):
        return found
    grants = _granted(principal, action, setting, arguments)
    questions = _questions(principal, action, setting, wanted, grants)
    if not questions or setting.mode == "allow":
        boxed = _C.EXECUTE in wanted and setting.profile != "host"
        return AllowSandboxed(setting.profile) if boxed else Allow()
    if setting.mode == "deny":
        return Deny(f"{questions[0]}, and nobody may be asked (approvals.mode)")
    return Ask("; ".join(questions))


def _wanted(action: Action, setting: Setting) -> Capabilities:
    own = action.finding.capabilities
    wanted = action.capabilities if own is None else own
    return wanted | _HOLES[setting.profile] if _C.EXECUTE in wanted else wanted


def _refusal(principal: Principal, wanted: Capabilities) -> str:
    cells = _CELLS[principal.role]
    for capability in sorted(wanted, key=lambda each: each.name):
        if cells[capability] == _DENY:
            return f"{_named(capability)}: not for {principal.role.name.lower()}"
        for hop in principal.hops:
            own = capability is _C.WRITE_SELF and hop.kind == "subagent"
            if own or capability not in hop.may:
                return f"{_named(capability)}: not for this {hop.kind}"
    return ""


def _questions(
    principal: Principal,
    action: Action,
    setting: Setting,
    wanted: Capabilities,
    grants: tuple[bool, bool],
) -> list[str]:
    """Every reason to ask that no grant has answered."""
    labels, cells, (exact, patterned) = setting.labels, _CELLS[principal.role], grants
    tainted, known = UNTRUSTED in labels, action.said or exact
    questions: list[str] = []
    for capability in sorted(wanted, key=lambda each: each.name):
        if capability in _TAINTED and tainted and not (capability is _C.FETCH and action.said):
            questions.append(f"{_named(capability)}, after reading what strangers wrote")
        elif cells[capability] == _ASK:
            outward = capability in _OUTWARD
            free = known if outward else exact or patterned
            if not free or principal.role is not Role.OWNER or (outward and SECRET in labels):
                questions.append(_named(capability))
    if setting.shared and wanted & {_C.READ_PRIVATE, _C.READ_OWN}:
        questions.append("what is private would be read where others listen")
    if setting.shared and _C.REPLY in wanted and labels & {PRIVATE, SECRET}:
        questions.append("it would tell others what was read in private")
    found = action.finding.verdict
    if isinstance(found, Ask) and not (exact or patterned):
        questions.append(found.why)
    return questions


def _granted(
    principal: Principal, action: Action, setting: Setting, arguments: str
) -> tuple[bool, bool]:
    """To the letter, and by a pattern. All are the owner's; strangers' words suspend patterns."""
    if principal.role is not Role.OWNER or not setting.grants:
        return False, False
    template = action.finding.template if UNTRUSTED not in setting.labels else None
    mine = (principal.id, action.tool, setting.profile)
    last = setting.at + GRANT_S + SLACK_S  # what ends later was given before a clock was set back
    valid = [
        grant
        for grant in setting.grants[:GRANTS_MAX]
        if (grant.principal, grant.tool, grant.profile) == mine
        and setting.at < grant.expires_at <= last
    ]
    return granted(valid, arguments, template)


def always(principal: Principal, action: Action, setting: Setting, approval: str) -> Grant | None:
    """What "always" would mean for this call; None where it may mean nothing."""
    wanted, template = _wanted(action, setting), action.finding.template
    unfit = UNTRUSTED in setting.labels or wanted & _OUTWARD or template is None
    if unfit or principal.role is not Role.OWNER or isinstance(action.finding.verdict, Deny):
        return None
    return Grant(
        id=approval,
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
        return Finding(verdict=Ask("its arguments could not be understood"))


def _named(capability: Capability) -> str:
    return f"{capability.name.lower().replace('_', ' ')} ({capability.value})"
