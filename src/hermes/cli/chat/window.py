"""hermes at a terminal: the window on a session. Without a model, it first offers one."""

from pathlib import Path
from typing import TYPE_CHECKING

from hermes.cli.chat.greeting import greeting
from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import parse_session_key, session_name
from hermes.lazy import LazyModule
from hermes.ports.sandbox import profile_of
from hermes.settings import Settings, prepare
from hermes.settings.home import CONFIG, DATABASE
from hermes.tui.app import run as open_window
from hermes.tui.colours import Depth
from hermes.tui.ports import Drawer, WindowSettings
from hermes.tui.skins import Skin

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.cli.chat import connections, folder_trust
    from hermes.cli.config import file as config_file
    from hermes.cli.gateway import setup as gateway_setup
    from hermes.cli.setup import first_minute
    from hermes.tui import pen
else:  # what costs time to load and is not needed for the first paint
    connections = LazyModule("hermes.cli.chat.connections")
    folder_trust = LazyModule("hermes.cli.chat.folder_trust")
    config_file = LazyModule("hermes.cli.config.file")
    gateway_setup = LazyModule("hermes.cli.gateway.setup")
    first_minute = LazyModule("hermes.cli.setup.first_minute")
    pen = LazyModule("hermes.tui.pen")


MAIN = "main"
BOXES = {"write": "sandboxed", "net": "sandboxed, net", "host": "no sandbox", "read": "read-only"}


class WindowOptions:
    session: str | None
    latest: bool
    plain: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--session", default=None, metavar="NAME", help="which conversation (default: main)"
    )
    parser.add_argument(
        "-c",
        "--continue",
        dest="latest",
        action="store_true",
        help="continue the latest conversation of this terminal",
    )
    parser.add_argument("--plain", action="store_true", help="plain lines, for a screen reader")


def run(options: WindowOptions, context: CliContext) -> int:
    settings = context.settings()
    if not settings.model.provider or _is_first(context, settings):
        if not first_minute.ready(context, gateway_setup.questions_of(context, asks=True)):
            return DONE
        settings = context.settings()
    prepare(context.home)
    folder_trust.ask_about_folder(context, settings)
    open_window(
        _window_settings(options, context, settings),
        context.environ,
        connections=lambda: connections.connections_of(context, settings),
        pen=_pen,
    )
    return DONE


def _pen(skin: Skin, depth: Depth) -> Drawer:
    return pen.Pen(skin, depth)


def _is_first(context: CliContext, settings: Settings) -> bool:
    return settings.store.url == "sqlite" and not (context.home / DATABASE).exists()


def _window_settings(
    options: WindowOptions, context: CliContext, settings: Settings
) -> WindowSettings:
    name = "" if options.latest else MAIN
    if options.session is not None:
        parse_session_key(options.session)  # or it is refused at once
        name = options.session
    model = settings.model
    return WindowSettings(
        home=context.home,
        cwd=Path.cwd(),
        session=name,
        lane=parse_session_key,
        called=session_name,
        model=f"{model.provider}:{model.name}".rstrip(":"),
        sandbox=BOXES[profile_of(settings.terminal.sandbox, settings.terminal.allow_hosts)],
        mode=settings.gateway.busy,
        skin=settings.display.skin,
        plain=options.plain or settings.display.plain or context.environ.get("TERM", "") == "dumb",
        greeting=greeting(settings) if not (context.home / DATABASE).exists() else (),
        clock=context.clock,
        keep_skin=lambda name: config_file.save_setting(
            context.home / CONFIG, ("display", "skin"), name
        ),
    )


COMMAND = CliCommand(
    options=WindowOptions,
    run=run,
    arguments=_arguments,
    more="docs/TERMINAL.md has the keys; so has /keys in the window.",
)
