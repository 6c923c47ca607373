"""hermes pairing list: show who may talk to Hermes, and open requests."""

from collections.abc import Mapping, Sequence

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option
from hermes.cli.output.times import ago, iso
from hermes.cli.pairing.people import configured_owners, person_document, role_name
from hermes.core.trust import AdmissionRequest, KnownPerson
from hermes.text.visible_text import visible_text


class PairingListOptions(JsonOptions):
    """hermes pairing list"""


async def run(options: PairingListOptions, context: CliContext) -> int:
    settings = context.settings()
    people: tuple[KnownPerson, ...] = ()
    requests: Sequence[AdmissionRequest] = ()
    async with open_existing_store(context) as store:
        if store is not None:
            people = tuple((await store.trust.register()).people.values())
            requests = await store.trust.requests()
    configured = configured_owners(settings)
    if options.json:
        context.console.document(
            {
                "people": [person_document(each) for each in people],
                "configured": [{"platform": p, "id": i, "role": "owner"} for p, i in configured],
                "requests": [_request_document(each) for each in requests],
            }
        )
        return DONE
    now = context.clock()
    rows = [
        (f"{p}:{i}", "owner", "", "", "config.yaml")
        for p, i in configured
        if not any((each.platform, each.id) == (p, i) for each in people)
    ]
    rows += [
        (
            f"{e.platform}:{e.id}",
            role_name(e.role),
            visible_text(e.name),
            ago(e.since, now),
            visible_text(e.by),
        )
        for e in people
    ]
    if not rows and not requests:
        context.console.advise(
            "Only you, on this machine. To invite a person: hermes pairing invite"
        )
    if rows:
        context.console.table(("WHO", "ROLE", "NAME", "SINCE", "BY"), rows)
    for request in requests:
        context.console.head(f"{request.id[:10]}  asked {ago(request.at, now)}")
        name, text = visible_text(request.name), visible_text(request.text)
        context.console.say(f"{request.platform}:{request.person} ({name}) wrote: {text}")
    if requests:
        context.console.advise("\nLet in with: hermes pairing approve ID")
    return DONE


def _request_document(request: AdmissionRequest) -> Mapping[str, object]:
    return {
        "id": request.id,
        "platform": request.platform,
        "person": request.person,
        "name": request.name,
        "text": request.text,
        "at": iso(request.at),
    }


COMMAND = CliCommand(
    options=PairingListOptions,
    run=run,
    arguments=json_option,
    more="People in allowed_users (config.yaml) are owners too; they are listed there.",
)
