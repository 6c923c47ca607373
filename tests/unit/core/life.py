"""A session that is led through its life by a planner, for tests of the laws."""

import asyncio
import hashlib
import itertools
from collections.abc import Awaitable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Literal, cast

from msgspec.structs import replace

from hermes.commands.chat import chat_commands
from hermes.core import events as e
from hermes.core import step as s
from hermes.core.channel import CommandContext, CommandResult
from hermes.core.ids import NodeId, ReplyId, SessionId
from hermes.core.messages import Call, Effect, Line, Outcome, Reply
from hermes.core.projection import commit_of
from hermes.core.rules import Allow, BusyMode, Judge, ResumeRules, Rules
from hermes.core.session import Session, Turn, call_id
from hermes.gateway.plan import AsyncCommand, Plan, Planner, record_result
from hermes.gateway.process_state import ProcessState
from tests.unit.core.strategies import KEY, inbound
from tests.unit.core.strict import request_lines


class _NobodyElse:
    """A library of one lane: the one that asks."""

    async def questions(self, *, limit: int, pending: bool) -> tuple[()]:
        return ()

    async def question(self, id_: str) -> None:
        return None


NOBODY = cast("CommandContext", SimpleNamespace(store=SimpleNamespace(library=_NobodyElse())))
ANSWER_S = 3600.0
EFFECTS = {"look": Effect.READ, "tidy": Effect.IDEMPOTENT, "pay": Effect.EFFECT}


@dataclass
class Life:
    """Everything that happens goes through commits, as it does in a worker."""

    epoch: int = 1
    now: float = 1_000.0
    busy: BusyMode = "queue"
    on_stop: Literal["keep", "reset"] = "keep"
    resume: ResumeRules = field(default_factory=ResumeRules)
    verdict: Judge = lambda _session, _call, _moment: Allow()
    recovers: frozenset[str] = frozenset()
    session: Session = field(default_factory=lambda: Session(key=KEY))
    lines: list[Line] = field(default_factory=list)
    events: list[e.Event] = field(default_factory=list)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def turn(self) -> Turn:
        assert self.session.turn is not None
        return self.session.turn

    @property
    def planner(self) -> Planner:
        commands = {
            command.name: command
            for command in chat_commands(on_stop=self.on_stop, default_model="m", choose=str)
        }
        rules = Rules(
            commands={name: command.busy for name, command in commands.items()},
            effect=lambda call: EFFECTS[call.tool],
            parallel=lambda call: EFFECTS[call.tool] is Effect.READ,
            recovers=self.recovers,
            verdict=self.verdict,
            resume=self.resume,
            busy=self.busy,
        )
        return Planner(
            rules=rules,
            commands=commands,
            process=ProcessState(lambda: self.now, "0", "memory", NodeId("")),
            new_id=lambda: f"id{next(self.numbers)}",
        )

    def record(self, *events: e.Event) -> None:
        commit = commit_of(self.session, events)
        self.events += events
        self.lines += (row.line for row in commit.rows)
        self.session = commit.after

    def say(self, number: int, text: str = "hello") -> Plan:
        self.record(e.MessageReceived(inbound(number, text, self.now), SessionId("s1")))
        return self.go()

    def go(self, *arrived: e.Event) -> Plan:
        """Let the session move as far as it can by itself."""
        plan = self.planner.plan(self.session, arrived, epoch=self.epoch, reached=False)
        if plan.events:
            self.record(*plan.events)
        errands = [launch for launch in plan.launches if isinstance(launch, AsyncCommand)]
        for errand in errands:
            assert errand.command.run_async is not None
            found = asyncio.run(_looked(errand.command.run_async(errand.call, NOBODY)))
            plan = self.go(*record_result(errand.call, found))
        if isinstance(plan.then, s.AskPerson):
            self.record(asked(self.session, plan.then, self.now))
            then = self.planner.plan(self.session, (), epoch=self.epoch, reached=False).then
            plan = replace(plan, then=then)
        if isinstance(plan.then, s.Prepare):  # that is no law of its own
            self.record(e.PromptMade("prompt", self.now))
            then = self.planner.plan(self.session, (), epoch=self.epoch, reached=False).then
            plan = replace(plan, then=then)
        return plan

    def answer(self, text: str = "", *tools: str) -> Plan:
        calls = tuple(Call(id=call_id(self.turn, n), tool=x) for n, x in enumerate(tools, 1))
        return self.go(e.ModelAnswered(self.turn.id, self.now, text=text, calls=calls))

    def ended(self, n: int, text: str = "done") -> Plan:
        """The n-th call of the latest answer ends well."""
        call = self.turn.call_states[n].call.id
        return self.go(e.CallEnded(self.turn.id, call, Outcome.OK, text, self.now))

    def crash(self, *, down_s: float = 1.0) -> Plan:
        """The process is gone; another one owns the session, and looks."""
        self.epoch += 1
        self.now += down_s
        return self.go()

    def request(self) -> tuple[Line, ...]:
        return request_lines(self.session, self.lines)

    def kinds(self) -> list[str]:
        """What happened, but for the prompt, which is no part of any law but its own."""
        events = [event for event in self.events if not isinstance(event, e.PromptMade)]
        return [type(event).__name__ for event in events]


def asked(session: Session, step: s.AskPerson, now: float) -> e.QuestionAsked:
    """As an agent would ask, without a look at the disk."""
    assert session.turn is not None
    name = f"{step.call.id}@{session.position}"
    id_ = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    reply = Reply(
        id=ReplyId(f"{id_}/question"),
        session=session.key,
        address=session.turn.address,
        text=f"{step.call.tool}: {step.why}",
        kind="question",
    )
    return e.QuestionAsked(
        step.turn, step.call.id, reply, now, id_, step.why, f"digest of {id_}", now + ANSWER_S
    )


async def _looked(look: Awaitable[CommandResult]) -> CommandResult:
    return await look
