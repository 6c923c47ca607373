"""Connect a window to the engine: through the running gateway, or one in this process."""

from pathlib import Path

from msgspec.structs import replace

from hermes.app import application as app
from hermes.app.costs import pricing
from hermes.app.models import context_window
from hermes.app.windows import LearnedWindows
from hermes.cli import log_file
from hermes.cli.chat.talk import message
from hermes.cli.context import CliContext
from hermes.core.ids import SessionKey
from hermes.core.messages import Inbound
from hermes.settings import Settings
from hermes.tui.ports import EngineConnections


def connections_of(context: CliContext, settings: Settings) -> EngineConnections:
    log_file.begin(context.home, settings, context.environ)
    workdir, windows = Path.cwd(), LearnedWindows(context.home)

    def message_of(key: SessionKey, text: str) -> Inbound:
        inbound = message(context, key, text)
        if settings.terminal.workdir:
            return inbound
        return replace(inbound, workdir=str(workdir))

    return EngineConnections(
        attach=lambda: app.beside(context.home),
        open_engine=lambda: app.inside(context.home, settings, workdir=workdir),
        message=message_of,
        price=pricing(settings),
        window=lambda model: context_window(settings, model, windows),
    )
