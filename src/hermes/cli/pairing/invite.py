"""hermes pairing invite: make a code that lets one person in, once."""

import os
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.options import json_option
from hermes.cli.output.times import iso
from hermes.cli.pairing.people import ROLES, open_new_store, role_argument
from hermes.text.plurals import counted
from hermes.views.invites import TERMINAL, invited

if TYPE_CHECKING:
    from argparse import ArgumentParser


MINUTES_MAX = 7 * 24 * 60


class PairingInviteOptions(JsonOptions):
    role: str
    minutes: int


def _arguments(parser: "ArgumentParser") -> None:
    role_argument(parser)
    parser.add_argument("--minutes", type=int, default=10, help="how long the code is valid (10)")
    json_option(parser)


async def run(options: PairingInviteOptions, context: CliContext) -> int:
    if not 1 <= options.minutes <= MINUTES_MAX:
        raise UsageError(f"--minutes: between 1 and {MINUTES_MAX}")
    async with open_new_store(context) as store:
        code, invite = invited(
            ROLES[options.role],
            context.clock(),
            options.minutes * 60.0,
            by=TERMINAL,
            chance=os.urandom,
        )
        await store.trust.invite(invite)
    if options.json:
        document = {"code": code, "role": options.role, "expires_at": iso(invite.expires_at)}
        context.console.document(document)
        return DONE
    context.console.say(code)
    within = counted(options.minutes, "minute")
    context.console.tell(
        f"For one person, once, within {within}: they send it to the bot, in a chat with it alone. "
        "It is not shown again."
    )
    return DONE


COMMAND = CliCommand(
    options=PairingInviteOptions,
    run=run,
    arguments=_arguments,
    more="They send it to the bot in a private chat. It is shown once.",
)
