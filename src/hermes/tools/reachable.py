"""What the policy should know of a path that a file tool was given."""

from collections.abc import Mapping, Sequence

from hermes.core.policy import Capability, Finding
from hermes.core.rules import Ask, Deny
from hermes.tools.paths import WORKDIR, Places
from hermes.tools.shell_paths import Place, Zone, absolute, is_trap, zone_of


def file_finding(
    places: Places, facts: Mapping[str, str], path: str, *, writes: bool = False
) -> Finding:
    """By its letters only; what a link makes of it is found when it is opened."""
    cwd = absolute(facts.get(WORKDIR, "") or places.root, places.root)
    place = Place(root=places.root, cwd=cwd, home=places.home, guarded=places.guarded)
    named = places.home + path[1:] if path == "~" or path.startswith("~/") else path
    match zone_of(named, place, cwd):
        case Zone.SECRET:
            return Finding(verdict=Deny(f"{path} is a place of keys or secrets"))
        case Zone.ELSEWHERE:
            return Finding(verdict=Ask(f"{path} is outside of the workspace"))
        case Zone.SYSTEM if writes:
            return Finding(verdict=Ask(f"{path} is outside of the workspace"))
        case Zone.WORK if writes and is_trap(named, place, cwd):
            later = Ask(f"what is written to {path} may run later")
            return Finding(verdict=later, capabilities=frozenset({Capability.WRITE_SELF}))
        case _:
            return Finding()


def files_finding(places: Places, facts: Mapping[str, str], paths: Sequence[str]) -> Finding:
    """Of several that would be written: what is to be said about the worst."""
    found = [file_finding(places, facts, path, writes=True) for path in paths]
    refused = [each for each in found if isinstance(each.verdict, Deny)]
    asked = [each for each in found if isinstance(each.verdict, Ask)]
    return (*refused, *asked, Finding())[0]
