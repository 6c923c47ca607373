"""hermes at a terminal: the window on a session. Without a model, one is offered first."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hermes.cli.errors import DONE
from hermes.cli.greeting import greeting
from hermes.cli.lanes import called, lane
from hermes.cli.place import Place
from hermes.cli.window_grammar import Window
from hermes.settings import Settings, prepare
from hermes.settings.home import DATABASE
from hermes.tui.app import run as opened
from hermes.tui.colours import Depth
from hermes.tui.ports import Drawer, Opening, Ways
from hermes.tui.skins import Skin
from hermes.views.sandbox import profile_of

MAIN = "main"
BOXES = {"write": "sandboxed", "net": "sandboxed, net", "host": "no sandbox", "read": "read-only"}


@dataclass(frozen=True, kw_only=True)
class Loads:
    """What costs time to load and is not needed for the first paint."""

    ready: Callable[[Place], bool]  # is there a model? It offers one; False: the person leaves
    ways: Callable[[Place, Settings], Ways]
    pen: Callable[[Skin, Depth], Drawer]
    keep_skin: Callable[[Path, str], None]


def run(given: Window, place: Place, loads: Loads) -> int:
    settings = place.settings()
    if not settings.model.provider:
        if not loads.ready(place):
            return DONE
        settings = place.settings()
    prepare(place.home)
    opening = _opening(given, place, settings, loads)
    opened(opening, place.environ, ways=lambda: loads.ways(place, settings), pen=loads.pen)
    return DONE


def _opening(given: Window, place: Place, settings: Settings, loads: Loads) -> Opening:
    name = "" if given.latest else MAIN
    if given.session is not None:
        lane(given.session)  # or it is refused at once
        name = given.session
    model = settings.model
    return Opening(
        home=place.home,
        cwd=Path.cwd(),
        session=name,
        lane=lane,
        called=called,
        model=f"{model.provider}:{model.name}".rstrip(":"),
        sandbox=BOXES[profile_of(settings.terminal.sandbox, settings.terminal.allow_hosts)],
        mode=settings.gateway.busy,
        skin=settings.display.skin,
        plain=given.plain or settings.display.plain or place.environ.get("TERM", "") == "dumb",
        greeting=greeting(settings) if not (place.home / DATABASE).exists() else (),
        clock=place.clock,
        keep_skin=lambda name: loads.keep_skin(place.home, name),
    )
