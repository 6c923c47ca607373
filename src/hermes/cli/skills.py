"""hermes skills …: what there is, what comes in, and what the owner decides about it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import asdict

from hermes.cli.errors import DONE, FAILED
from hermes.cli.place import Place
from hermes.cli.skills_asked import consented
from hermes.cli.skills_grammar import Given
from hermes.cli.skills_shown import (
    print_candidate,
    print_diff,
    print_findings,
    print_skill,
    stated,
    table,
)
from hermes.cli.times import ago, iso
from hermes.core.errors import Rejected
from hermes.settings import Settings
from hermes.views.skills import Candidate, Proposal, SkillRow, SkillShelf

ShelfOf = Callable[[Path, Settings, Mapping[str, str]], SkillShelf]
NONE_YET = "No skills yet. Begin one: hermes skills create NAME"
NOTHING_WAITS = "The agent proposes nothing at the moment"
SOURCES = {"person": "yours", "installed": "installed", "agent": "agent", "builtin": "built in"}
DIGEST_CHARS = 12


def run(given: Given, place: Place, shelf_of: ShelfOf) -> int:
    """Raises Rejected with the line for the person."""
    shelf = shelf_of(place.home, place.settings(), place.environ)
    return RUNS[given.word](shelf, given, place)


def _list(shelf: SkillShelf, given: Given, place: Place) -> int:
    rows = shelf.rows()
    if given.json:
        place.console.document([_document(row) for row in rows])
        return DONE
    now = place.clock()
    cells = [
        (
            row.name,
            SOURCES[row.source],
            row.state,
            str(row.uses) if row.uses else "-",
            ago(row.last_used_at, now) if row.last_used_at else "-",
            row.problem or row.description,
        )
        for row in rows
    ]
    if not cells:
        place.console.tell(NONE_YET)
        return DONE
    table(place.console, ("NAME", "FROM", "STATE", "USES", "LAST", "WHAT FOR"), cells)
    waiting = len(shelf.proposals.waiting())
    if waiting:
        place.console.tell(f"{waiting} of the agent's proposals wait. See: hermes skills proposals")
    return DONE


def _view(shelf: SkillShelf, given: Given, place: Place) -> int:
    if given.file:
        place.console.write(shelf.text(given.name, given.file))
        return DONE
    shown = shelf.shown(given.name)
    if given.json:
        document = {**asdict(shown), "row": _document(shown.row)}
        document["files"] = [asdict(file) for file in shown.files]
        document["findings"] = [asdict(finding) for finding in shown.findings]
        place.console.document(document)
        return DONE
    print_skill(place.console, shown, SOURCES[shown.row.source])
    return DONE


def _create(shelf: SkillShelf, given: Given, place: Place) -> int:
    description = (
        given.description.strip() or f"Say here what {given.name} is for and when to use it"
    )
    folder = shelf.create(given.name, description)
    place.console.say(f"{folder / 'SKILL.md'}")
    place.console.tell(f"Write what to do into it; then it is /{given.name} in every chat")
    return DONE


def _install(shelf: SkillShelf, given: Given, place: Place) -> int:
    return _take(shelf, shelf.intake.fetch(given.source, skill=given.skill), given, place)


def _update(shelf: SkillShelf, given: Given, place: Place) -> int:
    candidate = shelf.intake.again(given.name)
    if candidate.digest == candidate.before:
        shelf.intake.discard(candidate)
        place.console.say(f"{given.name} is what it was: {candidate.digest[:DIGEST_CHARS]}")
        return DONE
    return _take(shelf, candidate, given, place)


def _take(shelf: SkillShelf, candidate: Candidate, given: Given, place: Place) -> int:
    """Shown first; used only after a yes to this digest."""
    if not given.json:
        print_candidate(place.console, candidate)
    try:
        agreed = consented(place.console, candidate, given)
        row = shelf.intake.install(candidate) if agreed else None
    finally:
        shelf.intake.discard(candidate)
    if given.json:
        document = {
            **asdict(candidate),
            "installed": row is not None,
            "files": [asdict(file) for file in candidate.files],
            "findings": [asdict(finding) for finding in candidate.findings],
        }
        place.console.document(document)
    elif row is None:
        place.console.tell("Nothing was installed")
    else:
        place.console.say(f"Installed {row.name}@{row.digest}")
    return DONE if row is not None else FAILED


def _remove(shelf: SkillShelf, given: Given, place: Place) -> int:
    shelf.remove(given.name)
    place.console.say(f"Removed {given.name}. It is kept: hermes skills undo {given.name}")
    return DONE


def _switch(shelf: SkillShelf, given: Given, place: Place, *, on: bool) -> int:
    shelf.switch(given.name, on=on)
    place.console.say(f"{given.name} is {'enabled' if on else 'disabled'}")
    return DONE


def _proposals(shelf: SkillShelf, given: Given, place: Place) -> int:
    waiting = shelf.proposals.waiting()
    if given.json:
        place.console.document([_proposal(each) for each in waiting])
    elif not waiting:
        place.console.tell(NOTHING_WAITS)
    else:
        now = place.clock()
        cells = [
            (p.id, p.name, p.action, "untrusted" if p.untrusted else "-", ago(p.at, now), p.why)
            for p in waiting
        ]
        table(place.console, ("ID", "SKILL", "WANTS TO", "MARK", "WHEN", "WHY"), cells)
    return DONE


def _diff(shelf: SkillShelf, given: Given, place: Place) -> int:
    try:
        proposal = shelf.proposals.found(given.name)
    except Rejected:
        proposal = None
    if proposal is None:
        diff = shelf.difference(given.name)
        if given.json:
            place.console.document({"name": given.name, "diff": diff})
        else:
            print_diff(place.console, diff)
        return DONE
    diff, advice = shelf.proposals.difference(proposal), shelf.proposals.advice(proposal)
    if given.json:
        found = [asdict(finding) for finding in advice]
        place.console.document({**_proposal(proposal), "diff": diff, "findings": found})
        return DONE
    place.console.head(f"{proposal.id}: {proposal.action} {proposal.name} ({proposal.state})")
    place.console.say(f"Why: {proposal.why}")
    if proposal.untrusted:
        place.console.say("It was written after reading somebody else's words: look closely.")
    print_findings(place.console, advice)
    print_diff(place.console, diff)
    if proposal.state == "waiting":
        place.console.tell(f"hermes skills approve {proposal.id}, or reject {proposal.id}")
    return DONE


def _approve(shelf: SkillShelf, given: Given, place: Place) -> int:
    made = shelf.proposals.approve(given.name)
    place.console.say(f"{made.name} is in force: {made.digest[:DIGEST_CHARS]}")
    return DONE


def _reject(shelf: SkillShelf, given: Given, place: Place) -> int:
    place.console.say(f"Rejected {shelf.proposals.reject(given.name).id}")
    return DONE


def _undo(shelf: SkillShelf, given: Given, place: Place) -> int:
    place.console.say(shelf.undo(given.name, ""))
    return DONE


def _audit(shelf: SkillShelf, given: Given, place: Place) -> int:
    checked = shelf.audit()
    tampered = [each for each in checked if each.state == "tampered"]
    if given.json:
        documents = [
            {**asdict(each), "findings": [asdict(finding) for finding in each.findings]}
            for each in checked
        ]
        place.console.document({"ok": not tampered, "skills": documents})
        return FAILED if tampered else DONE
    for each in checked:
        detail = f": {each.detail}" if each.detail else ""
        place.console.say(f"{stated(place.console, each.state)}  {each.name}{detail}")
        print_findings(place.console, [f for f in each.findings if f.grave])
    if tampered:
        names = ", ".join(each.name for each in tampered)
        place.console.tell(f"hermes: changed after they were approved, and not used: {names}")
    return FAILED if tampered else DONE


def _document(row: SkillRow) -> Mapping[str, object]:
    return {**asdict(row), "last_used_at": iso(row.last_used_at)}


def _proposal(proposal: Proposal) -> Mapping[str, object]:
    return {**asdict(proposal), "at": iso(proposal.at)}


RUNS: Mapping[str, Callable[[SkillShelf, Given, Place], int]] = {
    "list": _list,
    "view": _view,
    "create": _create,
    "install": _install,
    "update": _update,
    "remove": _remove,
    "enable": lambda shelf, given, place: _switch(shelf, given, place, on=True),
    "disable": lambda shelf, given, place: _switch(shelf, given, place, on=False),
    "proposals": _proposals,
    "diff": _diff,
    "approve": _approve,
    "reject": _reject,
    "undo": _undo,
    "audit": _audit,
}
