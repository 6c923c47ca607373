"""What “yes, for this session” covers, for whom, and where it is offered."""

import msgspec

from hermes.core.grants import Template
from hermes.core.policy import (
    Action,
    Capability,
    Finding,
    Hop,
    PolicyContext,
    PolicySubject,
    Role,
    decide,
    for_session,
)
from hermes.core.rules import AllowSandboxed, Ask, Deny

C = Capability
OWNER = PolicySubject(Role.OWNER, "me")
CALM = PolicyContext(at=0.0, profile="write")
TAINTED = PolicyContext(at=0.0, profile="write", labels=frozenset({"untrusted"}))
ASKS = Finding(
    verdict=Ask("sure?"),
    template=Template(tool="t", program="rm", shape=("-r", "…"), paths=("/w/build",)),
)
BUILDS = Action(
    tool="t",
    arguments='{"command": "make"}',
    capabilities=frozenset({C.EXECUTE}),
    finding=msgspec.structs.replace(ASKS, identity="make in /w"),
)


def session_setting(action: Action, setting: PolicyContext = CALM) -> PolicyContext:
    grant = for_session(OWNER, action, setting, "approval-1")
    assert grant is not None
    return msgspec.structs.replace(setting, grants=(grant,))


def test_pol_07_for_this_session_covers_its_template_and_after_strangers_words_only_itself() -> (
    None
):
    setting = session_setting(BUILDS)
    inner = msgspec.structs.replace(ASKS.template, paths=("/w/build/old",))
    sibling = msgspec.structs.replace(
        BUILDS, finding=Finding(verdict=Ask("sure?"), template=inner, identity="other")
    )
    assert isinstance(decide(OWNER, BUILDS, setting), AllowSandboxed)
    assert isinstance(decide(OWNER, sibling, setting), AllowSandboxed)
    tainted = msgspec.structs.replace(setting, labels=frozenset({"untrusted"}))
    assert isinstance(decide(OWNER, BUILDS, tainted), AllowSandboxed)
    assert isinstance(decide(OWNER, sibling, tainted), Ask)


def test_pol_07_a_yes_that_was_said_after_strangers_words_is_no_wider_when_they_are_trusted() -> (
    None
):
    setting = msgspec.structs.replace(session_setting(BUILDS, TAINTED), labels=frozenset())
    inner = msgspec.structs.replace(
        BUILDS, finding=Finding(verdict=Ask("sure?"), template=ASKS.template, identity="other")
    )
    assert isinstance(decide(OWNER, BUILDS, setting), AllowSandboxed)
    assert isinstance(decide(OWNER, inner, setting), Ask)


def test_pol_07_for_this_session_is_offered_to_the_owner_in_a_closed_box_and_nowhere_else() -> None:
    hop = PolicySubject(Role.OWNER, "me", (Hop("webhook", frozenset(C)),))
    for principal in (PolicySubject(Role.PAIRED, "me"), PolicySubject(Role.MEMBER, "me"), hop):
        assert for_session(principal, BUILDS, CALM, "1") is None
    for profile in ("net", "host"):
        assert for_session(OWNER, BUILDS, PolicyContext(at=0.0, profile=profile), "1") is None  # type: ignore[arg-type]
    for capability in (C.EGRESS, C.LASTING, C.WRITE_SELF, C.READ_PRIVATE):
        more = msgspec.structs.replace(BUILDS, capabilities=frozenset({C.EXECUTE, capability}))
        other = msgspec.structs.replace(BUILDS, capabilities=frozenset({capability}))
        assert for_session(OWNER, more, CALM, "1") is None
        assert for_session(OWNER, other, CALM, "1") is None
    refused = msgspec.structs.replace(BUILDS, finding=Finding(verdict=Deny("no")))
    assert for_session(OWNER, refused, CALM, "1") is None


def test_pol_07_for_this_session_counts_for_its_person_and_its_box() -> None:
    setting = session_setting(BUILDS)
    assert isinstance(decide(PolicySubject(Role.OWNER, "another"), BUILDS, setting), Ask)
    assert isinstance(decide(PolicySubject(Role.PAIRED, "me"), BUILDS, setting), Ask)
    for profile in ("read", "net", "host"):
        moved = msgspec.structs.replace(setting, profile=profile)
        assert isinstance(decide(OWNER, BUILDS, moved), Ask)
