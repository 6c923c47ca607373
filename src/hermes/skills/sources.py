"""Where skills stand, and which of two with the same name comes first.

People's own win over installed ones, those over what the agent wrote, that over what came with
Hermes. A name is taken by the first that has it, even when that one cannot be loaded: nothing may
slip in behind a skill that is broken.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.core.errors import Rejected
from hermes.skills.form import NAME, Form
from hermes.skills.pins import Lock, PinnedSource, Pins
from hermes.skills.places import BUILTIN
from hermes.skills.tree import Tree, digest_of, form_of, read_tree
from hermes.views.skills import SkillSource

OWN_MAX = 500
ORDER: tuple[SkillSource, ...] = ("person", "installed", "agent", "builtin")


class Place(Struct, frozen=True, kw_only=True):
    """A skill that should be there."""

    name: str
    source: SkillSource
    folder: Path
    pinned: str = ""  # the digest that was approved


class Loaded(Struct, frozen=True, kw_only=True):
    tree: Tree
    form: Form
    digest: str


class Sources:
    """Reads; changes nothing."""

    def __init__(self, folder: Path, pins: Pins, builtin: Path = BUILTIN) -> None:
        self._folder = folder
        self._pins = pins
        self._builtin = builtin
        self._shipped: dict[str, Loaded] = {}  # part of the program: read once

    def places(self, lock: Lock) -> list[Place]:
        """By name, and of the same name the first one first."""
        found = [
            *self._folders("person", self._folder),
            *self._pinned("installed", lock),
            *self._pinned("agent", lock),
            *self._folders("builtin", self._builtin),
        ]
        return sorted(found, key=lambda place: (place.name, ORDER.index(place.source)))

    def first(self, lock: Lock) -> Mapping[str, Place]:
        found: dict[str, Place] = {}
        for place in self.places(lock):
            found.setdefault(place.name, place)
        return found

    def loaded(self, place: Place) -> Loaded:
        """Raises Rejected. Of a pinned skill, exactly the bytes that were approved."""
        if place.source == "builtin" and place.name in self._shipped:
            return self._shipped[place.name]
        loaded = self._read(place)
        if place.source == "builtin":
            self._shipped[place.name] = loaded
        return loaded

    def _read(self, place: Place) -> Loaded:
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

    def _folders(self, source: SkillSource, folder: Path) -> Iterator[Place]:
        if not folder.is_dir():
            return
        names = sorted(p.name for p in folder.iterdir() if not p.name.startswith((".", "_")))
        for name in names[:OWN_MAX]:
            place = folder / name
            if NAME.fullmatch(name) and (place.is_dir() or place.is_symlink()):
                yield Place(name=name, source=source, folder=place)

    def _pinned(self, source: PinnedSource, lock: Lock) -> Iterator[Place]:
        for name, pin in lock.of(source).items():
            digest = pin.now.sha256
            if digest and NAME.fullmatch(name):
                folder = self._pins.folder_of(name, digest)
                yield Place(name=name, source=source, folder=folder, pinned=digest)
