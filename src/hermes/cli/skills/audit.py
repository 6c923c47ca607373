"""hermes skills audit: check every digest and scan all skills again."""

from msgspec.structs import asdict

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.options import json_option
from hermes.cli.skills.opening import with_skills
from hermes.cli.skills.printing import (
    print_findings,
    stated,
)
from hermes.ports.skills import Skills


def run(options: JsonOptions, context: CliContext, library: Skills) -> int:
    checked = library.audit()
    tampered = [each for each in checked if each.state == "tampered"]
    if options.json:
        documents = [
            {**asdict(each), "findings": [asdict(finding) for finding in each.findings]}
            for each in checked
        ]
        context.console.document({"ok": not tampered, "skills": documents})
        return FAILED if tampered else DONE
    for each in checked:
        detail = f": {each.detail}" if each.detail else ""
        context.console.say(f"{stated(context.console, each.state)}  {each.name}{detail}")
        print_findings(context.console, [f for f in each.findings if f.grave])
    if tampered:
        names = ", ".join(each.name for each in tampered)
        context.console.tell(
            f"hermes: changed after you approved them, so they are not used: {names}"
        )
    return FAILED if tampered else DONE


COMMAND = CliCommand(
    options=JsonOptions,
    run=with_skills(run),
    arguments=json_option,
    more="The exit status is 1 if a skill was changed after it was approved.",
)
