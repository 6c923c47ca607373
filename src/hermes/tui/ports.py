"""What the window needs from its caller: connections to the engine, and its settings."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound, Reply
from hermes.core.signals import Signal
from hermes.core.store import Accepted, ConversationRow, MediaStore
from hermes.tui.skins import Skin
from hermes.tui.transcript_items import TranscriptItem
from hermes.views.insights import Cost
from hermes.views.scene import Offered, Scene

LOCAL = ":local:dm:"  # in the key of a session of a terminal
LOOKED_AT = 50
Mode = Literal["queue", "steer", "interrupt"]  # what a message does to a turn that runs


class EngineConnection(Protocol):
    """A connection to an engine. Every method raises ChannelDown when it is lost."""

    media: MediaStore

    async def say(self, inbound: Inbound) -> Accepted: ...

    async def follow(self, key: SessionKey, after: int | None, *, live: bool) -> int: ...

    async def next(self) -> Signal | tuple[str, Reply]: ...

    async def shown(self, key: str) -> None: ...

    async def scene(self, key: SessionKey, *, recent: int = 0) -> Scene | None: ...

    async def commands(self) -> Sequence[Offered]: ...

    async def conversations(
        self, key: SessionKey | None, *, limit: int
    ) -> Sequence[ConversationRow]: ...

    async def close(self) -> None: ...


class Drawer(Protocol):
    """Draws what stays on the screen. It is loaded when there is something to draw."""

    skin: Skin

    def draw(self, items: Iterable[TranscriptItem], width: int, now: float) -> str: ...

    def live(self, text: str, width: int, rows: int) -> Sequence[str]: ...


Attach = Callable[[], Awaitable[EngineConnection | None]]


@dataclass(frozen=True, kw_only=True)
class EngineConnections:
    """How to reach the engine: `attach` connects to a running gateway, `open_engine` opens an
    engine in this process. `message` makes a message from a person's text."""

    attach: Attach
    open_engine: Callable[[], AbstractAsyncContextManager[Attach]]
    message: Callable[[SessionKey, str], Inbound]
    price: Cost
    window: Callable[[str], int]  # tokens that a model can read; "": the one of the settings


@dataclass(frozen=True, kw_only=True)
class WindowSettings:
    """Which session is opened, and how it is shown."""

    home: Path
    cwd: Path
    session: str  # its name; "": the one that was used last
    lane: Callable[[str], SessionKey]
    called: Callable[[SessionKey], str]
    model: str
    sandbox: str
    mode: Mode
    skin: str  # "": by what the terminal says of itself
    plain: bool
    greeting: tuple[str, ...]
    clock: Callable[[], float]
    keep_skin: Callable[[str], None]


async def latest(opening: WindowSettings, line: EngineConnection) -> SessionKey:
    """Return the session to open: the named one, else the terminal session used last."""
    if opening.session:
        return opening.lane(opening.session)
    rows = await line.conversations(None, limit=LOOKED_AT)
    local = [row.key for row in rows if LOCAL in row.key]
    return local[0] if local else opening.lane("main")
