"""hermes memory …: what is kept between conversations, every change of it, and what waits."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import assert_never

from hermes.cli import memory_grammar as grammar
from hermes.cli.errors import DONE
from hermes.cli.place import Place
from hermes.cli.times import ago, iso
from hermes.core.errors import Rejected
from hermes.settings import Settings
from hermes.views.memory import (
    TARGETS,
    By,
    Change,
    Claim,
    Entry,
    Memories,
    Proposal,
    Same,
    Target,
    Version,
)

ME = By(author="person")
TITLES: Mapping[Target, str] = {
    "memory": "The world and the work",
    "user": "The person",
    "person": "Portrait of the person",
}
NOTHING = "Nothing is kept yet. Begin: hermes memory add TEXT"
NO_CHANGES = "Nothing has been changed yet"
NO_PROPOSALS = "No proposal waits"
GREEN, RED, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


def run(given: grammar.Given, place: Place, opened: Callable[[Path, Settings], Memories]) -> int:
    """Any of these commands, told apart by what was given."""
    memories = opened(place.home, place.settings())
    match given:
        case grammar.Show():
            return _show(given, place, memories)
        case grammar.Add():
            return _add(given, place, memories)
        case grammar.Replace():
            return _replace(given, place, memories)
        case grammar.Remove():
            return _remove(given, place, memories)
        case grammar.History():
            return _history(given, place, memories)
        case grammar.Diff():
            return _diff(given, place, memories)
        case grammar.Undo():
            return _undo(given, place, memories)
        case grammar.Proposals():
            return _proposals(given, place, memories)
        case grammar.Approve():
            return _approve(given, place, memories)
        case grammar.Reject():
            return _reject(given, place, memories)
        case _:
            assert_never(given)


def _show(given: grammar.Show, place: Place, memories: Memories) -> int:
    targets = [target for target in TARGETS if given.target in (None, target)]
    if given.json:
        place.console.document({target: _file(memories, target) for target in targets})
        return DONE
    shown = [_page(memories, target, place) for target in targets]
    if not any(shown):
        place.console.tell(NOTHING)
    waiting = len(memories.proposals())
    if waiting:
        place.console.tell(f"{waiting} proposals wait: hermes memory proposals")
    return DONE


def _add(given: grammar.Add, place: Place, memories: Memories) -> int:
    target = _target(given.target)
    return _change(
        place, memories, Change(action="add", target=target, new=(Claim(" ".join(given.text)),))
    )


def _replace(given: grammar.Replace, place: Place, memories: Memories) -> int:
    new = (Claim(" ".join(given.text)),)
    target = _home_of(memories, given.entry)
    return _change(
        place, memories, Change(action="replace", target=target, new=new, old=(given.entry,))
    )


def _remove(given: grammar.Remove, place: Place, memories: Memories) -> int:
    for name in given.entry:
        _change(
            place, memories, Change(action="remove", target=_home_of(memories, name), old=(name,))
        )
    return DONE


def _history(given: grammar.History, place: Place, memories: Memories) -> int:
    target = _target(given.target) if given.target is not None else None
    versions = memories.versions(limit=given.limit, target=target)
    if given.json:
        place.console.document([_version(version) for version in versions])
    elif not versions:
        place.console.tell(NO_CHANGES)
    else:
        now = place.clock()
        rows = [
            (str(v.number), ago(v.at, now), v.target, v.by.author, _why(v), _words(v))
            for v in versions
        ]
        place.console.table(("VERSION", "WHEN", "FILE", "BY", "WHY", "CHANGE"), rows)
    return DONE


def _diff(given: grammar.Diff, place: Place, memories: Memories) -> int:
    diff = memories.diff(given.version)
    if given.json:
        place.console.document({"version": given.version, "diff": diff})
    elif diff:
        _print_diff(diff, place)
    else:
        place.console.tell("That version changed nothing in the file")
    return DONE


def _undo(given: grammar.Undo, place: Place, memories: Memories) -> int:
    version = memories.undo(given.version, ME)
    place.console.say(f"Version {version.number} takes back version {version.undoes}")
    _print_diff(memories.diff(version.number), place)
    return DONE


def _proposals(given: grammar.Proposals, place: Place, memories: Memories) -> int:
    proposals = memories.proposals()
    if given.json:
        place.console.document([_proposal(each) for each in proposals])
    elif not proposals:
        place.console.tell(NO_PROPOSALS)
    else:
        now = place.clock()
        for each in proposals:
            source = f", turn {each.by.turn}" if each.by.turn else ""
            head = f"{each.id}  {each.change.action} in {each.change.target}, {ago(each.at, now)}"
            place.console.head(f"{head}, by {each.by.author}{source}")
            for entry in each.old:
                place.console.say(f"  - {entry.id} {entry.text}")
            for claim in each.change.new:
                place.console.say(f"  + {claim.text}")
            place.console.say(f"  It waits because {each.why}")
        place.console.tell("Decide: hermes memory approve ID, or hermes memory reject ID")
    return DONE


def _approve(given: grammar.Approve, place: Place, memories: Memories) -> int:
    for name in given.proposal:
        _say(memories.approve(name, ME), place)
    return DONE


def _reject(given: grammar.Reject, place: Place, memories: Memories) -> int:
    for name in given.proposal:
        place.console.say(f"Dropped {memories.reject(name, ME).id}")
    return DONE


def _change(place: Place, memories: Memories, change: Change) -> int:
    made = memories.change(change, ME)
    _say(made, place)
    fill = memories.fill(change.target)
    if fill.chars > fill.most:
        more = f"{fill.chars:,} of {fill.most:,} characters: a prompt leaves out what is used least"
        place.console.tell(f"{memories.place(change.target)} has {more}")
    return DONE


def _say(made: Version | Proposal | Same, place: Place) -> None:
    match made:
        case Same(entry=entry):
            place.console.say(f"Kept already, as {entry.id}")
        case Proposal(id=id_, why=why):
            place.console.say(f"Proposal {id_}: {why}")
        case Version(number=number):
            place.console.say(f"Version {number}: {_words(made)}")


def _home_of(memories: Memories, name: str) -> Target:
    """The file that has the entry; one that is in none is looked for in MEMORY.md."""
    wanted = name.lower()
    fitting = [
        target
        for target in TARGETS
        for entry in memories.entries(target)
        if entry.id == wanted or wanted in entry.text.lower()
    ]
    by_id = [t for t in TARGETS for entry in memories.entries(t) if entry.id == wanted]
    return (by_id or fitting or ["memory"])[0]


def _target(name: str) -> Target:
    for target in TARGETS:
        if target == name:
            return target
    raise Rejected(f"there is no file “{name}”")


def _page(memories: Memories, target: Target, place: Place) -> bool:
    entries, fill = memories.entries(target), memories.fill(target)
    if not entries:
        return False
    head = f"{TITLES[target]}: {fill.chars:,} of {fill.most:,} characters ({fill.percent}%)"
    place.console.head(head)
    place.console.tell(memories.place(target))
    now = place.clock()
    rows = [
        (each.id, each.author, ago(each.created, now), _used(each, now), each.trust, each.text)
        for each in entries
    ]
    place.console.table(("ENTRY", "BY", "CREATED", "USED", "TRUST", "TEXT"), rows)
    place.console.say("")
    return True


def _used(entry: Entry, now: float) -> str:
    return ago(entry.used, now) if entry.used else "-"


def _why(version: Version) -> str:
    return f"undo {version.undoes}" if version.undoes else version.why


def _words(version: Version) -> str:
    gone = [f"-{entry.id} {entry.text}" for entry in version.removed]
    new = [f"+{entry.id} {entry.text}" for entry in version.added]
    return "; ".join([*gone, *new]) or "only the layout"


def _print_diff(diff: str, place: Place) -> None:
    colours = place.console.colours(place.console.stdout)
    for line in diff.splitlines():
        colour = {"+": GREEN, "-": RED}.get(line[:1], "") if colours else ""
        if colour:
            place.console.stdout.write(colour)
        place.console.write(line)
        place.console.stdout.write(f"{PLAIN if colour else ''}\n")


def _file(memories: Memories, target: Target) -> Mapping[str, object]:
    fill = memories.fill(target)
    return {
        "file": memories.place(target),
        "chars": fill.chars,
        "chars_max": fill.most,
        "entries": [_entry(entry) for entry in memories.entries(target)],
    }


def _entry(entry: Entry) -> Mapping[str, object]:
    return {
        "id": entry.id,
        "text": entry.text,
        "author": entry.author,
        "trust": entry.trust,
        "created": iso(entry.created),
        "last_used": iso(entry.used or None),
        "turn": entry.turn or None,
        "supersedes": list(entry.supersedes),
        "evidence": list(entry.evidence),
    }


def _version(version: Version) -> Mapping[str, object]:
    return {
        "version": version.number,
        "at": iso(version.at),
        "target": version.target,
        "why": version.why,
        "author": version.by.author,
        "turn": version.by.turn or None,
        "undoes": version.undoes or None,
        "proposal": version.proposal or None,
        "removed": [_entry(entry) for entry in version.removed],
        "added": [_entry(entry) for entry in version.added],
    }


def _proposal(proposal: Proposal) -> Mapping[str, object]:
    change = proposal.change
    return {
        "id": proposal.id,
        "at": iso(proposal.at),
        "action": change.action,
        "target": change.target,
        "new": [claim.text for claim in change.new],
        "old": [_entry(entry) for entry in proposal.old],
        "why": proposal.why,
        "author": proposal.by.author,
        "trust": proposal.by.trust,
        "turn": proposal.by.turn or None,
    }
