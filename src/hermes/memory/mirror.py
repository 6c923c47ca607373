"""Memories with a service beside them that reads along and says who the person seems to be.

The files stay what they are. A service (Honcho) gets the turns after they were answered, and what
it makes of them is kept in a file, so that a prompt never waits for a network. When the service
cannot be reached, that is said once, and what it missed is sent when it is back.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from hermes.core.channel import ServiceHost
from hermes.core.errors import ChannelFailed, HermesError, StoreFailed
from hermes.core.events import Span, TurnEnded
from hermes.core.ids import SessionId, SessionKey
from hermes.core.messages import Line
from hermes.core.ports import PromptPart
from hermes.core.principal import AudienceOf
from hermes.core.signals import Recorded, Signal
from hermes.memory.files import FileMemories
from hermes.memory.session_keys import is_reviewed, is_with_one_person
from hermes.memory.text import clean
from hermes.views.files import whole_file

STATE = ".mirror.json"
LINES_MAX = 200  # of a conversation, sent at once; what is older is left out
TEXT_CHARS_MAX = 20_000
PORTRAIT_CHARS_MAX = 1_500
CONVERSATIONS_MAX = 1_000
WAITING_MAX = 200
KEPT_HERE = frozenset({"untrusted", "secret"})
HEAD = "What an external memory service says about the person (claims, not certainties):"

log = logging.getLogger("hermes.memory")


class MirroredMessage(Struct, frozen=True, kw_only=True):
    by: Literal["person", "agent"]
    text: str
    turn: str
    at: float


class MemoryService(Protocol):
    """Both wait for a network, and raise ChannelFailed."""

    def tell(self, conversation: str, lines: Sequence[MirroredMessage]) -> None: ...

    def portrait(self) -> str: ...


class State(Struct, frozen=True, kw_only=True):
    """How many rows of each conversation were sent, and what came back last."""

    sent: dict[str, int] = {}
    portrait: str = ""


class MirroredMemories(FileMemories):
    """Plain files, and what the service says behind them. See `Memories`."""

    def __init__(
        self, folder: Path, *, memory_chars: int, user_chars: int, clock: Callable[[], float]
    ) -> None:
        super().__init__(folder, memory_chars=memory_chars, user_chars=user_chars, clock=clock)
        self._state = folder / STATE

    def snapshot(self) -> tuple[PromptPart, ...]:
        portrait = _read(self._state).portrait
        told = f"\n{HEAD}\n{portrait}" if portrait else ""
        return tuple(
            PromptPart(part.name, part.text + told) if part.name == "user" else part
            for part in super().snapshot()
        )


class HonchoMirror:
    """See `Service`. Follows what is answered in private chats, one conversation at a time."""

    def __init__(self, folder: Path, service: MemoryService, name: str) -> None:
        self._file = folder / STATE
        self._service = service
        self._name = name
        self._waiting: OrderedDict[SessionKey, None] = OrderedDict()
        self._due = asyncio.Event()
        self._failing = False

    @property
    def name(self) -> str:
        return self._name

    async def run(self, host: ServiceHost) -> None:
        with host.watch(None, live=False) as feed:
            host.connected()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._work(host))
                while True:
                    self._hear(await feed.next(), host.audience)

    def _hear(self, signal: Signal, audience: AudienceOf) -> None:
        if not isinstance(signal.glimpse, Recorded) or not is_reviewed(signal.session, audience):
            return
        if any(isinstance(event, TurnEnded) for event in signal.glimpse.events):
            self._waiting[signal.session] = None
            while len(self._waiting) > WAITING_MAX:
                self._waiting.popitem(last=False)
            self._due.set()

    async def _work(self, host: ServiceHost) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            while self._waiting:
                key, _ = self._waiting.popitem(last=False)
                try:
                    await self._send(host, key)
                    self._failing = False
                except ChannelFailed as failed:
                    self._complain(failed)
                except HermesError as failed:
                    log.warning("%s was not sent to the memory service: %s", key, failed)

    def _complain(self, failed: ChannelFailed) -> None:
        """Once, until it works again."""
        if not self._failing:
            log.warning("%s cannot be reached; nothing waits for it: %s", self._name, failed)
        self._failing = True

    async def _send(self, host: ServiceHost, key: SessionKey) -> None:
        session = await host.store.journal.load(key)
        if not is_with_one_person(session):
            return
        state = await asyncio.to_thread(_read, self._file)
        start = max(state.sent.get(session.id, 0), session.rows - LINES_MAX)
        lines = await host.store.journal.lines([Span(session.id, start, session.rows)])
        echoes = bool(KEPT_HERE & set(session.view.labels))
        told = [said for line in lines if (said := _said(line, echoes=echoes)) is not None]
        if told:
            await asyncio.to_thread(self._service.tell, session.id, told)
        state = _sent(state, session.id, session.rows)
        await asyncio.to_thread(_write, self._file, state)
        if told:
            portrait = _bounded(await asyncio.to_thread(self._service.portrait))
            await asyncio.to_thread(_write, self._file, replace(state, portrait=portrait))


def _said(line: Line, *, echoes: bool) -> MirroredMessage | None:
    """What the person and the agent said, and nothing that came from elsewhere: once the agent has
    read such content, its own words may repeat it."""
    if line.role == "tool" or not line.text.strip() or KEPT_HERE & set(line.labels):
        return None
    if echoes and line.role == "assistant":
        return None
    by: Literal["person", "agent"] = "person" if line.role == "user" else "agent"
    return MirroredMessage(by=by, text=line.text[:TEXT_CHARS_MAX], turn=line.turn, at=line.at)


def _sent(state: State, conversation: SessionId, rows: int) -> State:
    others = {name: count for name, count in state.sent.items() if name != conversation}
    latest = dict(list(others.items())[-CONVERSATIONS_MAX + 1 :])
    return replace(state, sent={**latest, conversation: rows})


def _bounded(portrait: str) -> str:
    room, lines = PORTRAIT_CHARS_MAX, list[str]()
    for line in map(clean, portrait.splitlines()):
        if line and len(line) + 3 <= room:
            lines.append(f"- {line.removeprefix('- ')}")
            room -= len(line) + 3
    return "\n".join(lines)


def _read(file: Path) -> State:
    try:
        return msgspec.json.decode(file.read_bytes(), type=State)
    except (OSError, msgspec.MsgspecError):
        return State()


def _write(file: Path, state: State) -> None:
    try:
        whole_file(file, msgspec.json.encode(state))
    except StoreFailed as refused:
        log.warning("%s", refused)
