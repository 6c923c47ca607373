"""The end of a channel's set-up: where people find it, and a test message.

Link, QR code and message come from the platform's plugin; the wizard knows no platform by name.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.app.platforms import ChannelPlugin, SetupCheck, setup_check
from hermes.cli.context import CliContext
from hermes.cli.output import qr
from hermes.cli.output.questions import Questions
from hermes.core.directory import place_of
from hermes.core.errors import HermesError, Misconfigured
from hermes.lazy import LazyModule
from hermes.settings import survey

if TYPE_CHECKING:
    from hermes.cli.chat import send
else:
    send = LazyModule("hermes.cli.chat.send")

SCAN = "Scan this with your phone, or open the link:"
START = "Start the chat there first. "
ASK = "Send a test message to {} now?"
LATER = 'The test message did not arrive ({}). Start the chat, then run: hermes send {} "hello"'
WAITS = "it will be sent when the platform can be reached"


def welcome(context: CliContext, questions: Questions, plugin: ChannelPlugin) -> None:
    """Show where people find the agent. If a person is asked, offer to send a test message."""
    settings, _problems = survey(context.home, context.environ)
    section = settings.platforms.get(plugin.name, {})
    found = _checked(plugin, section, settings.secrets)
    linked = found is not None and bool(found.link)
    if found is not None and linked:
        _show_link(context, questions, found)
    chat = plugin.owner_chat(section)
    if chat is None or not plugin.test_message or questions.silent:
        return
    to = place_of(chat)
    if questions.agreed(f"{START if linked else ''}{ASK.format(to)}", default=True):
        _send_test(context, to, plugin.test_message)


def _checked(
    plugin: ChannelPlugin, section: Mapping[str, object], secrets: Mapping[str, str]
) -> SetupCheck | None:
    try:
        return asyncio.run(setup_check(plugin.name, section, secrets))
    except Misconfigured:
        return None


def _show_link(context: CliContext, questions: Questions, found: SetupCheck) -> None:
    """A person at a terminal gets a QR code; a script gets the link alone."""
    console = context.console
    lines = () if questions.silent or not console.stderr.isatty() else qr.qr_lines(found.link)
    if qr.fits(lines, console.width(console.stderr), context.environ):
        console.tell(SCAN)
        console.stderr.write(qr.coloured(lines))
        console.tell(found.link)
    else:
        console.tell(f"{found.name or 'The agent'} is at {found.link}")


def _send_test(context: CliContext, to: str, text: str) -> None:
    """A test message that does not arrive is no failed set-up: the next one may."""
    try:
        _target, row = asyncio.run(send.send_text(context, to, text))
    except HermesError as error:
        context.console.tell(LATER.format(error, to))
        return
    if row is not None and row.state == "delivered":
        context.console.tell(f"The test message is in {to}.")
    else:
        why = row.problem if row is not None and row.state == "abandoned" else WAITS
        context.console.tell(LATER.format(why, to))
