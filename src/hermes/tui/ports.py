"""What the window asks of those who open it: a way to the engine, and what it must know at once."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound, Reply
from hermes.core.signals import Signal
from hermes.core.store import Accepted, ConversationRow, MediaShelf
from hermes.tui.shown import Shown
from hermes.tui.skins import Skin
from hermes.views.insights import Cost
from hermes.views.scene import Offered, Scene

LOCAL = ":local:dm:"  # in the key of a session of a terminal
LOOKED_AT = 50
Mode = Literal["queue", "steer", "interrupt"]  # what a message does to a turn that runs


class Line(Protocol):
    """A way into an engine. Everything raises ChannelDown when that is gone."""

    media: MediaShelf

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
    """Draws what goes onto the screen for good. Loaded when there is something to draw."""

    skin: Skin

    def draw(self, items: Iterable[Shown], width: int, now: float) -> str: ...

    def live(self, text: str, width: int, rows: int) -> Sequence[str]: ...


Attach = Callable[[], Awaitable[Line | None]]


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How the engine is reached: `beside` gives a gateway that runs, `inside` opens an engine of
    our own. `message` makes what a person says in a session into a message."""

    beside: Attach
    inside: Callable[[], AbstractAsyncContextManager[Attach]]
    message: Callable[[SessionKey, str], Inbound]
    price: Cost
    window: Callable[[str], int]  # tokens that a model can read; "": the one of the settings


@dataclass(frozen=True, kw_only=True)
class Opening:
    """Which session is opened, and how it is to be shown."""

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


async def latest(opening: Opening, line: Line) -> SessionKey:
    """The session that is to be opened; without a name, the one of a terminal used last."""
    if opening.session:
        return opening.lane(opening.session)
    rows = await line.conversations(None, limit=LOOKED_AT)
    local = [row.key for row in rows if LOCAL in row.key]
    return local[0] if local else opening.lane("main")
