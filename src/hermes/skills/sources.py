"""Find skills on disk, and decide which of two with the same name is used.

A person's own skill comes first, then an installed one, then one that the agent wrote, then a
built-in one. The first skill of a name takes it even if it cannot be loaded: otherwise a broken
skill could be replaced unnoticed by a lower-ranked one.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.ports.skills import SkillSource
from hermes.skills.form import NAME, Form
from hermes.skills.pins import PinFile, PinnedSource, Pins
from hermes.skills.places import BUILTIN
from hermes.skills.tree import Tree, digest_of, form_of, read_tree

OWN_MAX = 500
ORDER: tuple[SkillSource, ...] = ("person", "installed", "agent", "builtin")


class SkillLocation(Struct, frozen=True, kw_only=True):
    """The location of a skill; its files may be missing or damaged."""

    name: str
    source: SkillSource
    folder: Path
    pinned: str = ""  # the approved digest


class Loaded(Struct, frozen=True, kw_only=True):
    tree: Tree
    form: Form
    digest: str


class SkillSources:
    """Read skills from all sources; never write."""

    def __init__(self, folder: Path, pins: Pins, builtin: Path = BUILTIN) -> None:
        self._folder = folder
        self._pins = pins
        self._builtin = builtin
        self._shipped: dict[str, Loaded] = {}  # part of the program, so read once

    def places(self, lock: PinFile) -> list[SkillLocation]:
        """Return all locations by name; of the same name, in order of precedence."""
        found = [
            *self._folders("person", self._folder),
            *self._pinned("installed", lock),
            *self._pinned("agent", lock),
            *self._folders("builtin", self._builtin),
        ]
        return sorted(found, key=lambda place: (place.name, ORDER.index(place.source)))

    def first(self, lock: PinFile) -> Mapping[str, SkillLocation]:
        found: dict[str, SkillLocation] = {}
        for place in self.places(lock):
            found.setdefault(place.name, place)
        return found

    def loaded(self, place: SkillLocation) -> Loaded:
        """Load a skill. Raise Rejected. For a pinned skill, return exactly the approved bytes."""
        if place.source == "builtin" and place.name in self._shipped:
            return self._shipped[place.name]
        loaded = self._read(place)
        if place.source == "builtin":
            self._shipped[place.name] = loaded
        return loaded

    def _read(self, place: SkillLocation) -> Loaded:
        if place.pinned:
            tree = self._pins.tree(place.name, place.pinned)
        else:
            tree = read_tree(place.folder)
        form = form_of(tree)
        if form.name != place.name:
            raise Rejected(
                f"its name is {form.name} and its folder is {place.name}; make them the same"
            )
        return Loaded(tree=tree, form=form, digest=place.pinned or digest_of(tree))

    def _folders(self, source: SkillSource, folder: Path) -> Iterator[SkillLocation]:
        if not folder.is_dir():
            return
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith((".", "_")))
        for name in names[:OWN_MAX]:
            place = folder / name
            if NAME.fullmatch(name) and (place.is_dir() or place.is_symlink()):
                yield SkillLocation(name=name, source=source, folder=place)

    def _pinned(self, source: PinnedSource, lock: PinFile) -> Iterator[SkillLocation]:
        for name, pin in lock.of(source).items():
            digest = pin.now.sha256
            if digest and NAME.fullmatch(name):
                folder = self._pins.folder_of(name, digest)
                yield SkillLocation(name=name, source=source, folder=folder, pinned=digest)
