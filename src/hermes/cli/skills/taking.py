"""Take in a skill from elsewhere: show it first, install it after consent to its digest."""

from msgspec.structs import asdict

from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.skills.consent import ConsentOptions, consented
from hermes.cli.skills.printing import print_candidate
from hermes.ports.skills import Candidate, Skills


def take(
    library: Skills, candidate: Candidate, options: ConsentOptions, context: CliContext
) -> int:
    """Show the skill, and install it after consent to this digest."""
    if not options.json:
        print_candidate(context.console, candidate)
    try:
        agreed = consented(context.console, candidate, options)
        row = library.intake.install(candidate) if agreed else None
    finally:
        library.intake.discard(candidate)
    if options.json:
        document = {
            **asdict(candidate),
            "installed": row is not None,
            "files": [asdict(file) for file in candidate.files],
            "findings": [asdict(finding) for finding in candidate.findings],
        }
        context.console.document(document)
    elif row is None:
        context.console.tell("Nothing was installed")
    else:
        context.console.say(f"Installed {row.name}@{row.digest}")
    return DONE if row is not None else FAILED
