"""How a window reaches the engine: the gateway that runs on this home, or one of its own."""

from pathlib import Path

from msgspec.structs import replace

from hermes import app
from hermes.cli import logs
from hermes.cli.place import Place
from hermes.cli.talk import message
from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound
from hermes.costs import pricing
from hermes.models import window_of
from hermes.settings import Settings
from hermes.tui.ports import Ways


def ways_of(place: Place, settings: Settings) -> Ways:
    logs.begin(place.home, settings, place.environ)
    workdir = Path.cwd()

    def said(key: SessionKey, text: str) -> Inbound:
        inbound = message(place, key, text)
        if settings.terminal.workdir:
            return inbound
        return replace(inbound, workdir=str(workdir))

    return Ways(
        beside=lambda: app.beside(place.home),
        inside=lambda: app.inside(place.home, settings, workdir=workdir),
        message=said,
        price=pricing(settings),
        window=lambda model: window_of(settings, model),
    )
