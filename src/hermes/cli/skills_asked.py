"""The owner's yes to a skill: to a digest, in answer to a question or written down beforehand."""

from hermes.cli.console import Console
from hermes.cli.errors import Usage
from hermes.cli.skills_grammar import Given
from hermes.core.errors import Rejected
from hermes.views.skills import Candidate


def consented(console: Console, candidate: Candidate, given: Given) -> bool:
    """Raises Usage when nobody can be asked, and Rejected for a yes to other bytes."""
    if given.sha256 and given.sha256.lower() != candidate.digest:
        raise Rejected(
            f"these are other bytes than you said yes to: {candidate.digest}. Nothing was installed"
        )
    if given.yes and given.sha256:
        return True
    how = f"--yes --sha256 {candidate.digest}"
    if given.yes:
        raise Usage(f"a yes is to exact bytes. When you have looked at them: {how}")
    if given.json or not console.stdin.isatty():
        raise Usage(f"nobody is there to ask. When you have looked at it: {how}")
    grave = sum(finding.grave for finding in candidate.findings)
    question = f"Use {candidate.name} with these bytes"
    if grave:
        question += f", in spite of {grave} finding{'s' * (grave > 1)} marked !"
    console.stderr.write(f"{question}? [y/N] ")
    console.stderr.flush()
    return console.stdin.readline().strip().lower() in ("y", "yes")
