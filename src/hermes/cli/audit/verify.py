"""hermes audit verify: check that the audit log was not changed."""

from hermes.cli.audit.printing import NONE_YET, visible_text
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option
from hermes.core.audit import FOREIGN
from hermes.text.plurals import counted
from hermes.views.audit import read_heads, verified

CHANGED = "The record was changed. Keep the home as it is, and look at a backup"
OTHER_NODES = (
    "Gateways on one database need the same HERMES_AUDIT_KEY: give it to all of them "
    "(docs/SCALING.md). What is there already can be verified on the node that wrote it. If no "
    "other node writes to this database, the record was changed"
)


async def run(options: JsonOptions, context: CliContext) -> int:
    async with open_existing_store(context) as store:
        if store is None:
            faults, heads = _lost(context), {}
        else:
            faults = list(await verified(store.audit, context.home))
            heads = dict(await store.audit.heads())
    if options.json:
        context.console.document({"sound": not faults, "faults": faults, "heads": heads})
    elif faults:
        for fault in faults:
            context.console.say(visible_text(fault))
    else:
        ends = ", ".join(f"{chain} at {head.seq}" for chain, head in heads.items())
        context.console.say(
            f"sound: {visible_text(ends)}" if ends else f"sound: {NONE_YET.lower()}"
        )
    if faults:
        context.console.tell(OTHER_NODES if all(FOREIGN in fault for fault in faults) else CHANGED)
    return FAILED if faults else DONE


def _lost(context: CliContext) -> list[str]:
    """Return the faults for a missing database whose audit heads were noted earlier."""
    noted = read_heads(context.home)
    return [
        f"{name}: the database is gone; it had {counted(head.seq, 'entry', 'entries')}"
        for name, head in noted.items()
    ]


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
    more="""Every entry is sealed over the one before it, with a key that no tool can read
(audit.key). Where the record ends is noted in audit.heads; keep a copy of both
files elsewhere. Exit status 1: something was changed; the output says what.""",
)
