"""What settings and plugins declared, and the context in which something is decided."""

from collections.abc import Callable, Container, Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct

from hermes.core.budget import Budgets, SpentToday, TurnLimits
from hermes.core.child_sessions import ChildLimits, Crowd, PartResult, joined_text
from hermes.core.ids import SessionKey
from hermes.core.messages import Call, Effect, Usage
from hermes.core.people import Role, Sender
from hermes.core.session import Session
from hermes.core.trust import TrustRegister


class Busy(Enum):
    """When a command may run while a turn is open."""

    NOW = "now"
    BETWEEN = "between"  # not while a model is being asked, which would not hear of it
    LATER = "later"


BusyMode = Literal["queue", "interrupt", "steer"]  # what a message does to a running turn


class Allow(Struct, frozen=True):
    """The call may run."""


class AllowSandboxed(Struct, frozen=True):
    """The call may run, in a sandbox of this profile and nowhere else."""

    profile: str


class Ask(Struct, frozen=True):
    """A person must say yes first."""

    why: str


class Deny(Struct, frozen=True):
    """The call may not run; the model is told why."""

    why: str


Verdict = Allow | AllowSandboxed | Ask | Deny


class ResumeRules(Struct, frozen=True, kw_only=True):
    """When an interrupted turn resumes by itself (C13 to C15)."""

    auto: bool = True
    freshness_s: float = 3600.0  # 0: no limit
    attempts_max: int = 3


class DecisionContext(Struct, frozen=True, kw_only=True):
    """When, under which ownership of the session, and in which process the question is asked."""

    at: float
    epoch: int
    draining: bool = False  # what runs may go on; nothing begins
    absent: frozenset[str] = frozenset()  # platforms that are not connected yet
    resumes: bool = True  # false after a chain of crashed boots (C15)
    asked: bool = False  # a person asked again for the turn, without a new message
    register: TrustRegister = TrustRegister()  # who is who, and what was granted
    ledger: SpentToday = SpentToday()
    crowd: Crowd = Crowd()
    full: bool = False  # as many jobs run in this process as may


Judge = Callable[[Session, Call, DecisionContext], Verdict]


class Rules(Struct, frozen=True, kw_only=True):
    """What settings and plugins declared, in the form that a decision needs."""

    commands: Mapping[str, Busy]
    effect: Callable[[Call], Effect]
    recovers: Container[str] = frozenset()  # tools that can look for a lost call's outcome
    parallel: Callable[[Call], bool] = lambda _call: False  # may it run beside others?
    verdict: Judge = lambda _session, _call, _context: Allow()
    may_answer: Judge = lambda _session, _reply, _context: Allow()
    limits: TurnLimits = TurnLimits()
    cost: Callable[[Mapping[str, Usage]], float | None] = lambda _usage: None  # by model
    child_limits: ChildLimits = ChildLimits()
    budgets: Budgets = Budgets()
    resume: ResumeRules = ResumeRules()
    busy: BusyMode = "queue"
    tells: frozenset[str] = frozenset()  # platforms where people are told that a message waits
    window: Callable[[Session], int] = lambda _session: 0  # tokens its model can read; 0: unknown
    full_at: float = 0.75  # share of the window
    role: Callable[[Sender, TrustRegister], Role] = lambda _sender, _register: Role.OWNER
    box: Callable[[Call], str] = lambda _call: ""  # the sandbox's profile for it
    children: Callable[[Call], tuple[SessionKey, ...]] = lambda _call: ()  # that it begins
    composed: Callable[[Call, tuple[PartResult, ...]], str] = lambda _call, parts: joined_text(
        parts
    )  # the text of a deferred call's results
