"""Plays a lane's life at random: whatever `next_step` may ask for, some worker does.

Every event that core knows is written sooner or later, and each fits the session it is written to,
because the session itself says what may come next.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core import steps as s
from hermes.core.ids import CallId, MessageId, ReplyId, SessionId, TurnId
from hermes.core.messages import Call, Effect, Inbound, Outcome, Reply, Spent, Usage
from hermes.core.rules import Allow, Ask, Busy, DecisionContext, Rules
from hermes.core.session import Running, Session, Stage, Turn, Waiting, call_id, waits
from hermes.core.step import next_step
from tests.contract.places import message

TOOLS = {"look": Effect.READ, "tidy": Effect.IDEMPOTENT, "pay": Effect.EFFECT, "ask": Effect.READ}
WORDS = ("owl", "nest", "Über", "tundra", "🦉", "\0", "0", "'quote'", "a_b", "https://x.org/y?z=1")
RULES = Rules(
    commands={"/new": Busy.LATER, "/stop": Busy.NOW},
    effect=lambda call: TOOLS[call.tool],
    parallel=lambda call: TOOLS[call.tool] is Effect.READ,
    verdict=lambda _session, call, _moment: Ask("sure?") if call.tool == "ask" else Allow(),
)


@dataclass
class Player:
    """What would happen next in a lane, decided by dice."""

    dice: random.Random
    chat: str

    def __post_init__(self) -> None:
        self._numbers = count(1)

    def says(self) -> Inbound:
        """The person writes something: words, seldom a command."""
        text = self.dice.choice(("/new", "/stop", *[self._text()] * 8))
        return message(next(self._numbers), self.chat, text, at=self._time())

    def next(self, session: Session, epoch: int) -> Sequence[e.Event]:
        """The events of the next step; none when the lane rests."""
        at = self._time()
        if isinstance(session.phase, Waiting) and self.dice.random() < 0.5:
            return (self._settled(session.phase.turn, epoch, at),)
        if self.dice.random() < 0.1:
            return self._aside(session, at)
        return self._perform(
            next_step(session, RULES, DecisionContext(at=at, epoch=epoch)), session, epoch
        )

    def _perform(self, step: s.Step, session: Session, epoch: int) -> Sequence[e.Event]:
        at = self._time()
        match step:
            case s.RunCommand(name=name, inbound=inbound):
                return self._command(name, inbound, session, at)
            case s.Reopen(why=why):
                return (e.SessionReset(self._conversation(), why, at),)
            case s.StartTurn(messages=messages):
                return (e.TurnStarted(TurnId(self._id("turn")), messages, epoch, at),)
            case s.MarkTurn(turn=turn):
                return (e.TurnMarked(turn, "restart_interrupted", at),)
            case s.ResumeTurn(turn=turn, messages=messages):
                return (e.TurnResumed(turn, epoch, at, messages),)
            case s.Suspend(why=why):
                return (e.SessionSuspended(why, at, (self._reply(session),)),)
            case s.Finish(turn=turn):
                replies = tuple(self._reply(session) for _ in range(self.dice.randint(0, 2)))
                return (e.TurnEnded(turn, "answered", at, replies),)
            case s.Rest():
                return ()
            case _:
                return self._call(step, session, epoch, at)

    def _call(self, step: s.Step, session: Session, epoch: int, at: float) -> Sequence[e.Event]:
        match step:
            case s.Prepare():
                labels = self.dice.choice(((), ("untrusted",)))
                return (e.PromptMade("prompt", at, labels),)
            case s.Compact(of=of):
                told = (self._reply(session),)
                failed = e.CompactionFailed(of, "no", at, at, self._spent(), told)
                view = e.View((e.Span(session.id, session.rows),), self._text())
                done = e.Compacted(of, view, 10, at, self._spent(), told)
                return (self.dice.choice((done, failed)),)
            case s.AskModel(turn=turn):
                return (self._answered(session, turn, at),)
            case s.AskPerson(turn=turn, call=call):
                name = self.dice.choice(("", self._id("question")))
                asked = self._reply(session)
                until = self.dice.choice((0.0, at + 1))
                question = e.QuestionAsked(
                    turn, call.id, asked, at, name, self._text(), expires_at=until
                )
                return (question,)
            case s.RunCalls(turn=turn, calls=calls):
                effects = ((call, TOOLS[call.tool]) for call in calls)
                return tuple(e.CallStarted(turn, c.id, effect, epoch, at) for c, effect in effects)
            case s.SettleCall(turn=turn, call=call) | s.RecoverCall(turn=turn, call=call):
                return (self._ended(turn, call.id, Outcome.UNKNOWN, at),)
            case s.LetExpire(turn=turn, call=id_):
                if id_ in [asked.call.id for asked in session.questions]:
                    return (e.QuestionAnswered(turn, id_, False, epoch, at),)
                return (replace(self._ended(turn, id_, Outcome.FAILED, at), epoch=epoch),)
            case s.RefuseCall(turn=turn, call=call):
                return (self._ended(turn, call.id, Outcome.DENIED, at),)
            case s.Wait():
                assert isinstance(session.phase, Running)
                open_ = session.phase.turn
                flying = [t.call.id for t in open_.call_states if t.stage is Stage.STARTED]
                landed = self.dice.choice(flying)
                if self.dice.random() < 0.3:
                    until = self.dice.choice((0.0, at + 1))
                    return (e.CallDeferred(open_.id, landed, at, until, self._text()),)
                return (self._ended(open_.id, landed, Outcome.OK, at),)
            case _:
                raise AssertionError(step)

    def _aside(self, session: Session, at: float) -> Sequence[e.Event]:
        """What comes from outside the turn."""
        fact = e.FactSet(self.dice.choice(("title", "cwd")), self._text(), at)
        view = e.ViewChanged(e.View((e.Span(session.id),), self._text()), "compacted", at)
        asked = e.CompactionAsked(at, self._text(), self._reply(session).address)
        events: list[e.Event] = [fact, view, asked]
        if isinstance(session.phase, Running | Waiting):
            events.append(e.TurnInterrupted(session.phase.turn.id, "interrupted", at))
        if isinstance(session.phase, Running) and session.waiting:
            first = session.waiting[0]
            name = f"{first.account}#{first.id}"
            events.append(e.TurnSteered(session.phase.turn.id, name, first.text, at))
        return (self.dice.choice(events),)

    def _command(
        self, name: str, inbound: Inbound, session: Session, at: float
    ) -> Sequence[e.Event]:
        run = e.CommandRun(f"{inbound.account}#{inbound.id}", at, (self._reply(session),))
        if name == "/new":
            return run, e.SessionReset(self._conversation(), "asked", at)
        if isinstance(session.phase, Running | Waiting):
            return run, e.TurnInterrupted(session.phase.turn.id, "stopped", at)
        return (run,)

    def _answered(self, session: Session, turn: TurnId, at: float) -> e.ModelAnswered:
        assert session.turn is not None
        tools = enumerate(self.dice.choices(tuple(TOOLS), k=self.dice.choice((0, 1, 3))), start=1)
        calls = tuple(Call(id=call_id(session.turn, n), tool=tool) for n, tool in tools)
        usage = Usage(input=10, output=2)
        return e.ModelAnswered(turn=turn, at=at, text=self._text(), calls=calls, usage=usage)

    def _spent(self) -> tuple[Spent, ...]:
        usage = Usage(input=self.dice.randint(0, 99), output=3)
        return (Spent(purpose="compaction", model="m", usage=usage),) * self.dice.randint(0, 2)

    def _settled(self, turn: Turn, epoch: int, at: float) -> e.Event:
        """Something from outside ends a call that waits."""
        call_state = self.dice.choice(
            [call_state for call_state in turn.call_states if waits(call_state)]
        )
        if call_state.stage is Stage.DEFERRED:
            ended = self._ended(turn.id, call_state.call.id, Outcome.OK, at)
            return replace(ended, epoch=epoch)
        granted = self.dice.random() < 0.5
        text = self.dice.choice(("", self._text()))
        by = self.dice.choice(("", "telegram:ann\0"))
        return e.QuestionAnswered(turn.id, call_state.call.id, granted, epoch, at, text, by)

    def _ended(self, turn: TurnId, call: CallId, outcome: Outcome, at: float) -> e.CallEnded:
        facts = self.dice.choice(({}, {"cwd": self._text()}))
        return e.CallEnded(turn, call, outcome, self._text(), at, facts)

    def _reply(self, session: Session) -> Reply:
        address = message(0, self.chat).address
        name = ReplyId(self._id("reply"))
        return Reply(id=name, session=session.key, address=address, text=self._text())

    def _conversation(self) -> SessionId:
        return SessionId(self._id("conversation"))

    def _id(self, kind: str) -> MessageId:
        return MessageId(f"{kind}-{self.chat}-{next(self._numbers)}")

    def _text(self) -> str:
        return " ".join(self.dice.choices(WORDS, k=self.dice.randint(1, 6)))

    def _time(self) -> float:
        return round(self.dice.uniform(0, 1e6), 3)
