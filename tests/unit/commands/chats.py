"""A chat that is led by a real planner, in memory or on a real store, for tests of its commands."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from msgspec import structs

from hermes.commands.chat import chat_commands
from hermes.commands.unknown import checked_busy, checked_commands
from hermes.core import events as e
from hermes.core import step as s
from hermes.core.channel import (
    AudienceOf,
    Command,
    CommandContext,
    CommandResult,
    Considered,
    GatewayStatus,
)
from hermes.core.errors import HermesError, ProviderFailed, Rejected
from hermes.core.grants import Grant
from hermes.core.ids import MessageId, NodeId, SessionId, SessionKey, session_key
from hermes.core.messages import (
    Address,
    Call,
    Effect,
    Inbound,
    Line,
    Media,
    Outcome,
    Person,
    Reply,
    Spent,
    Usage,
)
from hermes.core.people import Role
from hermes.core.projection import commit_of, replies_of
from hermes.core.rules import Allow, Ask, BusyMode, DecisionContext, Rules, Verdict
from hermes.core.session import Session, Turn, call_id
from hermes.core.store import Accepted, Counts, Fence, MediaStore, Store
from hermes.gateway.plan import AsyncCommand, Plan, Planner, record_result
from hermes.gateway.process_state import ProcessState
from hermes.testing.hosts import FakeContext
from tests.unit.core.life import asked
from tests.unit.core.strict import request_lines

KEY = session_key("telegram", "dm", "1")
ADDRESS = Address(platform="telegram", chat="1")
GROUP = session_key("telegram", "group", "7")
GROUP_ADDRESS = Address(platform="telegram", chat="7")
DEFAULT_MODEL = "custom:small"
EFFECTS = {"look": Effect.READ, "pay": Effect.EFFECT}
NODE = NodeId("node")
QUIET = Counts(
    sessions=1,
    running=0,
    asking=0,
    suspended=0,
    queued=0,
    marks={},
    outbox={},
    outbox_oldest_at=None,
)


def choose(name: str) -> str:
    if ":" not in name:
        raise Rejected(f"{name} names no provider")
    return name.lower()


def asks_before_paying(_session: Session, call: Call, _context: DecisionContext) -> Verdict:
    return Ask("Sure?") if call.tool == "pay" else Allow()


@dataclass
class Town:
    """What all chats of a test share."""

    store: Store | None = None
    now: float = 1_000.0
    on_stop: Literal["keep", "reset"] = "keep"
    busy: BusyMode = "queue"
    tells: frozenset[str] = frozenset()
    status: GatewayStatus | None = None
    roles: dict[str, Role] = field(default_factory=dict)  # who is not named is an owner
    audience: AudienceOf = lambda platform: "owner" if platform == "local" else "people"
    offer: Grant | None = None  # what an "always" would mean
    session_offer: Grant | None = None  # what a "for this session" would mean
    wrong: str | None = ""  # what keeps a gateway from starting again; None: there is none
    dead_models: frozenset[str] = frozenset()  # those that do not answer
    ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    chats: dict[SessionKey, "Chat"] = field(default_factory=dict)

    def new_id(self) -> str:
        return f"id{next(self.ids)}"

    @property
    def commands(self) -> dict[str, Command]:
        made = chat_commands(
            on_stop=self.on_stop,
            default_model=DEFAULT_MODEL,
            choose=choose,
            try_model=self.try_model,
        )
        return {command.name: command for command in made}

    async def try_model(self, name: str) -> None:
        if name in self.dead_models:
            raise ProviderFailed(f"{name} does not answer")

    @property
    def planner(self) -> Planner:
        commands = checked_commands(self.commands)
        rules = Rules(
            commands=checked_busy({name: command.busy for name, command in commands.items()}),
            effect=lambda call: EFFECTS[call.tool],
            verdict=asks_before_paying,
            role=lambda sender, _register: self.roles.get(sender.id, Role.OWNER),
            busy=self.busy,
            tells=self.tells,
        )
        process = ProcessState(lambda: self.now, "1", "sqlite", NodeId("n"))
        return Planner(rules=rules, commands=commands, process=process, new_id=self.new_id)

    async def accept(self, inbound: Inbound) -> Accepted:
        assert self.store is not None, "messages to other chats need a store"
        return await self.store.journal.accept(inbound, opens=SessionId(self.new_id()))

    async def _status(self) -> GatewayStatus:
        assert self.status is not None, "the test says what the status is"
        return self.status

    async def _preflight(self) -> str:
        return self.wrong or ""

    async def _consider(self, purpose: str, _task: str, text: str) -> Considered:
        spent = Spent(purpose=purpose, model="m", usage=Usage())
        return Considered(text=f"about {text}", spent=spent)

    @property
    def context(self) -> CommandContext:
        """A command that needs the store is tested on one; none needs the shelf."""
        return FakeContext(
            store=cast("Store", self.store),
            media=cast("MediaStore", None),
            accept=self.accept,
            status=self._status,
            consider=self._consider,
            clock=lambda: self.now,
            audience=self.audience,
            preflight=self._preflight if self.wrong is not None else None,
        )

    async def chat(self, key: SessionKey = KEY, address: Address = ADDRESS) -> "Chat":
        if key not in self.chats:
            self.chats[key] = Chat(town=self, session=Session(key=key), address=address)
        chat = self.chats[key]
        await chat.refresh()
        return chat


@dataclass
class Chat:
    """One lane. Everything that happens goes through commits, as it does in a worker."""

    town: Town
    session: Session
    address: Address
    epoch: int = 1
    replies: list[Reply] = field(default_factory=list)
    events: list[e.Event] = field(default_factory=list)
    rows: list[Line] = field(default_factory=list)
    then: object = None

    @property
    def turn(self) -> Turn:
        assert self.session.turn is not None
        return self.session.turn

    @property
    def texts(self) -> list[str]:
        return [reply.text for reply in self.replies]

    async def say(
        self,
        text: str,
        *,
        by: str = "ann",
        media: tuple[Media, ...] = (),
        at: Address | None = None,
    ) -> list[str]:
        """What is answered at once by Hermes itself."""
        inbound = Inbound(
            id=MessageId(f"m{next(self.town.ids)}"),
            account="telegram:bot",
            session=self.session.key,
            sender=Person(id=by),
            address=at or self.address,
            text=text,
            at=self.town.now,
            media=media,
        )
        before = len(self.replies)
        await self.get(inbound)
        return self.texts[before:]

    async def get(self, inbound: Inbound) -> None:
        if self.town.store is None:
            self._take(e.MessageReceived(inbound, SessionId(self.town.new_id())))
        else:
            await self.town.accept(inbound)
        await self.go()

    async def go(self, *arrived: e.Event) -> Plan:
        """As far as it can by itself."""
        await self.refresh()
        while True:
            plan = self.town.planner.plan(self.session, arrived, epoch=self.epoch, reached=False)
            await self.record(*plan.events)
            self.then = plan.then
            if isinstance(plan.then, s.Prepare):
                arrived = (e.PromptMade("prompt", self.town.now),)
                continue
            if isinstance(plan.then, s.AskPerson):
                question = asked(self.session, plan.then, self.town.now)
                offers = {"offer": self.town.offer, "session_offer": self.town.session_offer}
                arrived = (structs.replace(question, **offers),)
                continue
            errands = [launch for launch in plan.launches if isinstance(launch, AsyncCommand)]
            if not errands:
                return plan
            arrived = await self._run(errands[0])

    async def _run(self, errand: AsyncCommand) -> tuple[e.Event, ...]:
        look = errand.command.run_async
        assert look is not None
        try:
            return record_result(errand.call, await look(errand.call, self.town.context))
        except HermesError as error:
            return record_result(
                errand.call, CommandResult(replies=(errand.call.reply(str(error)),))
            )

    async def refresh(self) -> None:
        """Own the lane, and see what others have written to it."""
        store, key = self.town.store, self.session.key
        if store is None:
            return
        for claim in await store.journal.claim(NODE, limit=1, only=key):
            self.epoch = claim.epoch
        for event in await store.journal.since(key, self.session.position):
            self._take(event)

    async def record(self, *events: e.Event) -> None:
        if not events:
            return
        commit = commit_of(self.session, events)
        if self.town.store is not None:
            fence = Fence(NODE, self.epoch)
            await self.town.store.journal.append(commit, fence=fence)
        for event in events:
            self._take(event)

    def _take(self, event: e.Event) -> None:
        commit = commit_of(self.session, (event,))
        self.rows += (row.line for row in commit.rows)
        self.replies += replies_of(event)
        self.events.append(event)
        self.session = commit.after

    async def answer(self, text: str = "", *tools: str) -> Plan:
        calls = tuple(Call(id=call_id(self.turn, n), tool=x) for n, x in enumerate(tools, 1))
        return await self.go(e.ModelAnswered(self.turn.id, self.town.now, text=text, calls=calls))

    async def result(self, text: str = "done") -> Plan:
        """The first open call of the latest answer ends well."""
        call = next(t.call for t in self.turn.call_states if t.stage.value == "started")
        return await self.go(e.CallEnded(self.turn.id, call.id, Outcome.OK, text, self.town.now))

    async def exchange(self, text: str, answer: str = "fine", *tools: str, by: str = "ann") -> None:
        await self.say(text, by=by)
        if tools:
            await self.answer("", *tools)
            for _ in tools:
                await self.result()
        await self.answer(answer)

    async def read(self) -> Sequence[Line]:
        """What a model would read now."""
        assert self.town.store is not None
        lines = await self.town.store.journal.lines(self.session.view.spans)
        return request_lines(self.session, lines)

    def kinds(self) -> list[str]:
        return [type(event).__name__ for event in self.events]
