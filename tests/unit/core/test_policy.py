"""The policy, over its whole lattice: who asks, what a tool can do, what the model has read."""

import time
from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.grants import Grant, Profile, Template
from hermes.core.policy import (
    WORST,
    Action,
    Capability,
    Finding,
    Hop,
    Mode,
    PolicyContext,
    PolicySubject,
    Role,
    always,
    decide,
    looked_at,
)
from hermes.core.rules import Allow, AllowSandboxed, Ask, Deny, Verdict

C = Capability
LABELS = ("untrusted", "private", "secret")
PROFILES: tuple[Profile, ...] = ("read", "write", "net", "host")
MODES: tuple[Mode, ...] = ("ask", "allow", "deny")
OWNER = PolicySubject(Role.OWNER, "me")
CALM, TAINTED = (
    PolicyContext(at=0.0, profile="write"),
    PolicyContext(at=0.0, profile="write", labels=frozenset({"untrusted"})),
)
PLAIN: tuple[Allow | Ask | Deny, ...] = (Allow(), Ask("hm"), Deny("no"))

capabilities = st.frozensets(st.sampled_from(C), max_size=4)
hops = st.builds(Hop, st.sampled_from(("schedule", "subagent")), st.frozensets(st.sampled_from(C)))
templates = st.none() | st.builds(
    Template,
    tool=st.just("t"),
    program=st.sampled_from(("rm", "git")),
    options=st.frozensets(st.sampled_from(("-r", "-f"))),
    paths=st.sampled_from(((), ("/w/build",), ("/w/build/x",), ("/w",))),
)
grants = st.builds(
    Grant,
    id=st.just("1"),
    principal=st.sampled_from(("me", "you")),
    tool=st.just("t"),
    arguments=st.sampled_from(("{}", '{"a":1}')),
    profile=st.sampled_from(PROFILES),
    expires_at=st.sampled_from((-1.0, 1.0)),
    template=templates,
    identity=st.sampled_from(("", "same")),
)
findings = st.builds(
    Finding,
    verdict=st.sampled_from(PLAIN),
    template=templates,
    capabilities=st.none() | capabilities,
    identity=st.sampled_from(("", "same", "other")),
)
actions = st.builds(
    Action,
    tool=st.just("t"),
    arguments=st.sampled_from(("{}", '{"a":1}', "not json")),
    capabilities=capabilities,
    finding=findings,
    said=st.booleans(),
)
principals = st.builds(
    PolicySubject,
    st.sampled_from(Role),
    st.sampled_from(("me", "you")),
    st.lists(hops, max_size=2).map(tuple),
)
settings_of = st.builds(
    PolicyContext,
    at=st.just(0.0),
    labels=st.frozensets(st.sampled_from(LABELS)),
    shared=st.booleans(),
    profile=st.sampled_from(PROFILES),
    grants=st.lists(grants, max_size=3).map(tuple),
    mode=st.sampled_from(MODES),
)


def severity(verdict: Verdict) -> int:
    match verdict:
        case Allow() | AllowSandboxed():
            return 0
        case Ask():
            return 1
        case Deny():
            return 2


def only(*wanted: Capability) -> Action:
    return Action(tool="t", capabilities=frozenset(wanted))


@given(principals, actions, settings_of, st.frozensets(st.sampled_from(LABELS)))
@settings(max_examples=300)
def test_pol_03_more_labels_never_make_a_verdict_milder(
    principal: PolicySubject, action: Action, setting: PolicyContext, more: frozenset[str]
) -> None:
    worse = msgspec.structs.replace(setting, labels=setting.labels | more)
    assert severity(decide(principal, action, setting)) <= severity(
        decide(principal, action, worse)
    )


@given(principals, actions, settings_of, st.sampled_from(Role), st.lists(hops, max_size=1))
@settings(max_examples=300)
def test_pol_03_a_weaker_principal_never_gets_a_milder_verdict(
    principal: PolicySubject, action: Action, setting: PolicyContext, role: Role, more: list[Hop]
) -> None:
    weaker = PolicySubject(max(role, principal.role), principal.id, (*principal.hops, *more))
    assert severity(decide(principal, action, setting)) <= severity(decide(weaker, action, setting))


@given(principals, actions, settings_of, capabilities)
def test_pol_03_a_tool_that_can_do_more_is_never_judged_milder(
    principal: PolicySubject, action: Action, setting: PolicyContext, more: frozenset[Capability]
) -> None:
    finding = msgspec.structs.replace(action.finding, capabilities=None)
    less = msgspec.structs.replace(action, finding=finding)
    worse = msgspec.structs.replace(less, capabilities=less.capabilities | more)
    assert severity(decide(principal, less, setting)) <= severity(decide(principal, worse, setting))


@given(principals, actions, settings_of)
def test_pol_03_a_grant_or_an_open_sandbox_or_other_ears_only_matter_in_one_direction(
    principal: PolicySubject, action: Action, setting: PolicyContext
) -> None:
    given_ = severity(decide(principal, action, setting))
    fewer = msgspec.structs.replace(setting, grants=())
    assert given_ <= severity(decide(principal, action, fewer))
    heard = msgspec.structs.replace(setting, shared=True)
    assert given_ <= severity(decide(principal, action, heard))


def test_pol_03_the_whole_table_without_grants_is_monotone_by_enumeration() -> None:
    for profile, shared, capability in product(PROFILES, (False, True), C):
        setting = PolicyContext(at=0.0, profile=profile, shared=shared)
        last = -1
        for role in Role:
            now = severity(decide(PolicySubject(role), only(capability), setting))
            assert now >= last, (profile, capability, role)
            last = now


@given(st.from_type(object), st.from_type(object))
def test_pol_a_decision_about_nonsense_is_no(action: object, setting: object) -> None:
    verdict = decide(OWNER, action, setting)  # type: ignore[arg-type]
    assert isinstance(verdict, Deny)


@pytest.mark.parametrize("role", Role)
def test_pol_03_arguments_that_are_no_json_are_refused_for_everybody_alike(role: Role) -> None:
    action = msgspec.structs.replace(only(C.EGRESS), arguments="not json")
    assert isinstance(decide(PolicySubject(role, "me"), action, CALM), Deny)


def test_pol_a_tool_that_cannot_read_its_arguments_is_asked_about() -> None:
    def broken() -> Finding:
        raise ValueError("arguments")

    finding = looked_at(broken)
    action = Action(tool="t", capabilities=frozenset({C.PURE}), finding=finding)
    assert isinstance(decide(OWNER, action, CALM), Ask)


@pytest.mark.parametrize(
    ("role", "wanted", "expected"),
    [
        (Role.OWNER, C.READ_PRIVATE, Allow),
        (Role.OWNER, C.EXECUTE, AllowSandboxed),
        (Role.OWNER, C.WRITE_SELF, Allow),
        (Role.OWNER, C.EGRESS, Ask),
        (Role.OWNER, C.LASTING, Ask),
        (Role.OWNER, C.CONTROL, Deny),
        (Role.PAIRED, C.READ, Ask),
        (Role.PAIRED, C.READ_OWN, Allow),
        (Role.PAIRED, C.READ_PRIVATE, Deny),
        (Role.PAIRED, C.EXECUTE, Ask),
        (Role.PAIRED, C.WRITE_SELF, Deny),
        (Role.PAIRED, C.EGRESS, Ask),
        (Role.MEMBER, C.PURE, Allow),
        (Role.MEMBER, C.READ, Deny),
        (Role.MEMBER, C.READ_UNTRUSTED, Allow),
        (Role.MEMBER, C.EXECUTE, Deny),
        (Role.STRANGER, C.PURE, Deny),
    ],
)
def test_pol_each_principal_gets_what_the_table_says(
    role: Role, wanted: Capability, expected: type[Verdict]
) -> None:
    assert isinstance(decide(PolicySubject(role), only(wanted), CALM), expected)


@pytest.mark.parametrize("wanted", [C.WRITE_SELF, C.EGRESS, C.LASTING])
def test_pol_02_what_strangers_wrote_makes_every_outward_or_lasting_call_a_question(
    wanted: Capability,
) -> None:
    said = msgspec.structs.replace(only(wanted), said=True)
    assert isinstance(decide(OWNER, said, TAINTED), Ask)


def test_pol_02_an_unknown_tool_is_judged_by_the_worst() -> None:
    assert Action(tool="new").capabilities == WORST
    assert isinstance(decide(OWNER, Action(tool="new"), CALM), Ask)


def test_pol_a_hole_in_the_sandbox_is_egress() -> None:
    for profile in ("net", "host"):
        setting = PolicyContext(at=0.0, profile=profile)  # type: ignore[arg-type]
        assert isinstance(decide(OWNER, only(C.EXECUTE), setting), Ask)


def test_pol_09_without_anybody_to_ask_a_question_is_a_no() -> None:
    setting = msgspec.structs.replace(CALM, mode="deny")
    assert isinstance(decide(OWNER, only(C.EGRESS), setting), Deny)


def test_pol_a_schedule_and_a_subagent_may_do_no_more_than_they_were_made_for() -> None:
    reads = PolicySubject(Role.OWNER, "me", (Hop("schedule", frozenset({C.READ})),))
    assert isinstance(decide(reads, only(C.READ), CALM), Allow)
    assert isinstance(decide(reads, only(C.EXECUTE), CALM), Deny)
    child = PolicySubject(Role.OWNER, "me", (Hop("subagent", frozenset(C)),))
    assert isinstance(decide(child, only(C.WRITE_SELF), CALM), Deny)
    assert isinstance(decide(child, only(C.EGRESS), CALM), Ask)
    assert isinstance(decide(child, only(C.CONTROL), CALM), Deny)


def test_pol_what_is_private_is_asked_about_where_others_listen() -> None:
    heard = msgspec.structs.replace(CALM, shared=True)
    assert isinstance(decide(OWNER, only(C.READ_PRIVATE), heard), Ask)
    told = msgspec.structs.replace(heard, labels=frozenset({"private"}))
    assert isinstance(decide(OWNER, only(C.REPLY), told), Ask)


ASKS = Finding(
    verdict=Ask("sure?"),
    template=Template(tool="t", program="rm", options=frozenset({"-r"}), paths=("/w/build",)),
)
REMOVES = Action(tool="t", capabilities=frozenset({C.EXECUTE}), finding=ASKS)


def granted(action: Action = REMOVES) -> PolicyContext:
    grant = always(OWNER, action, CALM, "approval-1")
    assert grant is not None
    return msgspec.structs.replace(CALM, grants=(grant,))


def calling(**changes: object) -> Action:
    template = msgspec.structs.replace(ASKS.template, **changes)
    return msgspec.structs.replace(
        REMOVES, finding=msgspec.structs.replace(ASKS, template=template)
    )


def test_pol_07_always_covers_the_call_it_was_made_from_and_what_is_within_it() -> None:
    assert isinstance(decide(OWNER, REMOVES, granted()), AllowSandboxed)
    assert isinstance(decide(OWNER, calling(paths=("/w/build/old",)), granted()), AllowSandboxed)


@pytest.mark.parametrize(
    "changes",
    [
        {"paths": ("/w",)},
        {"paths": ("/home/user",)},
        {"paths": ("/w/build2",)},
        {"paths": ("/w/build", "/w/src")},
        {"paths": ()},
        {"options": frozenset({"-r", "-f"})},
        {"options": frozenset()},
        {"shape": ("-n",)},
        {"workdir": "/elsewhere"},
        {"program": "mv"},
        {"subcommand": "x"},
        {"operands": ("y",)},
    ],
    ids=" ".join,
)
def test_pol_07_always_covers_nothing_else(changes: dict[str, object]) -> None:
    assert isinstance(decide(OWNER, calling(**changes), granted()), Ask)


def test_pol_07_always_ends_with_its_time_its_person_its_sandbox_and_with_strangers_words() -> None:
    setting = granted()
    late = msgspec.structs.replace(setting, at=31 * 24 * 3600.0)
    other = PolicySubject(Role.OWNER, "somebody else")
    read = msgspec.structs.replace(setting, profile="read")
    tainted = msgspec.structs.replace(setting, labels=frozenset({"untrusted"}))
    assert isinstance(decide(OWNER, REMOVES, late), Ask)
    assert isinstance(decide(other, REMOVES, setting), Ask)
    assert isinstance(decide(OWNER, REMOVES, read), Ask)
    assert isinstance(decide(OWNER, REMOVES, tainted), Ask)


def test_pol_10_always_means_nothing_when_the_clock_was_set_back() -> None:
    for days in (3, 400):
        before = msgspec.structs.replace(granted(), at=CALM.at - days * 24 * 3600.0)
        assert isinstance(decide(OWNER, REMOVES, before), Ask)
    put_right = msgspec.structs.replace(granted(), at=CALM.at - 60.0)
    assert isinstance(decide(OWNER, REMOVES, put_right), AllowSandboxed)


def test_pol_07_always_is_not_offered_where_it_may_mean_nothing() -> None:
    unparsed = msgspec.structs.replace(REMOVES, finding=Finding(verdict=Ask("sure?")))
    outward = msgspec.structs.replace(REMOVES, capabilities=frozenset({C.EGRESS}))
    assert always(OWNER, unparsed, CALM, "1") is None
    assert always(OWNER, outward, CALM, "1") is None
    assert always(OWNER, REMOVES, TAINTED, "1") is None
    assert always(OWNER, REMOVES, PolicyContext(at=0.0, profile="host"), "1") is None
    assert always(PolicySubject(Role.PAIRED, "me"), REMOVES, CALM, "1") is None


def test_pol_an_exact_grant_lets_one_call_out_but_not_after_strangers_words() -> None:
    send = Action(tool="t", arguments='{"to": "ada", "n": 1}', capabilities=frozenset({C.EGRESS}))
    grant = Grant(
        id="1",
        principal="me",
        tool="t",
        arguments='{"n":1,"to":"ada"}',
        profile="write",
        expires_at=9.0,
    )
    setting = msgspec.structs.replace(CALM, grants=(grant,))
    assert isinstance(decide(OWNER, send, setting), Allow)
    other = msgspec.structs.replace(send, arguments='{"to": "eve", "n": 1}')
    assert isinstance(decide(OWNER, other, setting), Ask)
    tainted = msgspec.structs.replace(setting, labels=frozenset({"untrusted"}))
    assert isinstance(decide(OWNER, send, tainted), Ask)


def test_pol_a_decision_costs_far_less_than_a_millisecond() -> None:
    setting = msgspec.structs.replace(granted(), grants=granted().grants * 100)
    began = time.thread_time()
    for _ in range(20):
        decide(OWNER, REMOVES, setting)
    assert (time.thread_time() - began) / 20 < 0.002


def test_every_capability_can_be_named_to_a_person() -> None:
    """One that has no words would be refused without a reason that people understand."""
    for capability in C:
        denied = decide(PolicySubject(Role.STRANGER), only(capability), CALM)
        assert isinstance(denied, Deny)
        assert denied.why != "the policy could not judge it", capability
