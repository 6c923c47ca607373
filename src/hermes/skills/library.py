"""All skills of a home: list, load and change them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from hermes.core.errors import Rejected
from hermes.ports.skills import (
    Checked,
    SkillFile,
    SkillRow,
    SkillShown,
    SkillSource,
    SkillState,
)
from hermes.skills.compare import difference
from hermes.skills.form import FILE, Form, checked_name, written
from hermes.skills.intake import SkillInstaller
from hermes.skills.pins import Pin, PinFile, PinnedSource, Pins, SkillVersion, moved, stepped_back
from hermes.skills.places import BUILTIN
from hermes.skills.proposals import ProposalFolder
from hermes.skills.remote import Remote
from hermes.skills.scan import laid_open, scanned
from hermes.skills.sources import Loaded, SkillLocation, SkillSources
from hermes.skills.tree import Tree, remove_tree, write_tree
from hermes.skills.uses import UseCounter, Uses
from hermes.views.files import unwritable

VIEW_CHARS_MAX = 40_000
PINNED: tuple[PinnedSource, ...] = ("installed", "agent")
WORDS = {
    "person": "your own",
    "installed": "installed",
    "agent": "written by the agent",
    "builtin": "built in",
}
TEMPLATE = """\
# {name}

Write here what the agent should do, step by step, as you would tell a colleague.

1. First …
2. Then …

Say when it is done, and what to do when something goes wrong.
"""


class SkillLibrary:
    """Implement `Skills`. Reads files on every call, so an edit takes effect at once."""

    def __init__(
        self,
        folder: Path,
        *,
        environ: Mapping[str, str],
        clock: Callable[[], float],
        disabled: Collection[str] = (),
        builtin: Path = BUILTIN,
        remote: Remote | None = None,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._disabled = frozenset(disabled)
        self._pins = Pins(folder)
        self.vouch = self._pins.vouch
        self._sources = SkillSources(folder, self._pins, builtin)
        self._uses = UseCounter(folder)
        self.intake = SkillInstaller(
            folder, self._pins, self._sources, environ=environ, clock=clock, remote=remote
        )
        self.proposals = ProposalFolder(folder, self._pins, self._sources, clock=clock)

    def rows(self) -> Sequence[SkillRow]:
        lock, uses = self._lock(), self._uses.counted()
        rows: list[SkillRow] = []
        taken: set[str] = set()
        for place in self._sources.places(lock):
            state: SkillState = "hidden" if place.name in taken else "on"
            taken.add(place.name)
            rows.append(self._row(place, state, lock, uses))
        return rows

    def names(self) -> frozenset[str]:
        lock = self._lock()
        return frozenset(name for name in self._sources.first(lock) if not self._off(name, lock))

    def shown(self, name: str) -> SkillShown:
        lock = self._lock()
        place = self._place(name, lock)
        loaded = self._sources.loaded(place)
        files = [SkillFile(path, len(content)) for path, content in sorted(loaded.tree.items())]
        return SkillShown(
            row=self._row(place, "on", lock, self._uses.counted()),
            folder=str(place.folder),
            license=loaded.form.license,
            compatibility=loaded.form.compatibility,
            metadata=loaded.form.metadata,
            allowed_tools=loaded.form.allowed_tools,
            body=laid_open(loaded.form.body),
            files=tuple(files),
            findings=() if place.source == "builtin" else scanned(loaded.tree),
        )

    def text(self, name: str, file: str = "") -> str:
        return self.read(name, file)[0]

    def read(self, name: str, file: str = "") -> tuple[str, SkillSource]:
        place, loaded = self._usable(name)
        if file and file != FILE:
            return _one_file(place, loaded.tree, file), place.source
        return _instructions(place, loaded), place.source

    def used(self, name: str, by: str) -> None:
        self._uses.note(name, by, self._clock())

    def create(self, name: str, description: str) -> Path:
        checked_name(name)
        place = self._folder / name
        if place.exists() or place.is_symlink():
            raise Rejected(f"{place} exists already")
        form = Form(name=name, description=description, body=TEMPLATE.format(name=name))
        try:
            write_tree({FILE: written(form)}, place, sealed=False)
        except OSError as refused:
            remove_tree(place)
            raise unwritable(place, refused) from refused
        return place

    def remove(self, name: str) -> None:
        with self._pins.changing() as lock:
            place = self._place(name, lock)
            if place.source == "person":
                raise Rejected(f"{name} is your own; remove its folder {place.folder}")
            if place.source == "builtin":
                raise Rejected(f"{name} is built in. Run: hermes skills disable {name}")
            gone = SkillVersion(sha256="", at=self._clock(), why="removed")
            pin = moved(lock.of(place.source).get(name), gone)
            self._pins.write(lock.pinned(place.source, name, pin))

    def switch(self, name: str, *, on: bool) -> None:
        if on and name in self._disabled:
            raise Rejected(f"{name} is disabled by the setting skills.disabled; take it out there")
        with self._pins.changing() as lock:
            self._place(name, lock)
            others = {each for each in lock.disabled if each != name}
            disabled = tuple(sorted(others if on else {*others, name}))
            self._pins.write(replace(lock, disabled=disabled))

    def undo(self, name: str, by: str) -> str:
        with self._pins.changing() as lock:
            source, pin = _latest(lock, name)
            back = stepped_back(pin, by)
            if back.now.sha256:
                self._pins.tree(name, back.now.sha256)
            self._pins.write(lock.pinned(source, name, back))
        if not back.now.sha256:
            return f"{name} is removed: it has no earlier version"
        return f"{name} is at {back.now.sha256[:12]} again"

    def difference(self, name: str) -> str:
        lock = self._lock()
        _source, pin = _latest(lock, name)
        before = pin.past[-1].sha256 if pin.past else ""
        return difference(self._kept(name, before), self._kept(name, pin.now.sha256))

    def audit(self) -> Sequence[Checked]:
        lock = self._pins.read()
        return [self._checked(place) for place in self._sources.places(lock)]

    def _checked(self, place: SkillLocation) -> Checked:
        try:
            loaded = self._sources.loaded(place)
        except Rejected as refused:
            return Checked(
                name=place.name,
                source=place.source,
                state="tampered" if place.pinned else "broken",
                detail=str(refused),
            )
        found = () if place.source == "builtin" else scanned(loaded.tree)
        grave = [finding for finding in found if finding.grave]
        return Checked(
            name=place.name,
            source=place.source,
            state="look" if grave else "ok",
            detail=f"{len(grave)} to check" if grave else "",
            findings=found,
        )

    def _lock(self) -> PinFile:
        """Return the lock file. If it cannot be read, return an empty one: no pinned skill is
        loaded."""
        with suppress(Rejected):
            return self._pins.read()
        return PinFile()

    def _off(self, name: str, lock: PinFile) -> bool:
        return name in self._disabled or name in lock.disabled

    def _place(self, name: str, lock: PinFile) -> SkillLocation:
        place = self._sources.first(lock).get(name)
        if place is None:
            raise Rejected(f"there is no skill {name[:64]}. See: hermes skills list")
        return place

    def _usable(self, name: str) -> tuple[SkillLocation, Loaded]:
        lock = self._pins.read()
        place = self._place(name, lock)
        if self._off(name, lock):
            raise Rejected(f"the skill {name} is disabled")
        return place, self._sources.loaded(place)

    def _row(
        self, place: SkillLocation, state: SkillState, lock: PinFile, uses: Mapping[str, Uses]
    ) -> SkillRow:
        description = digest = problem = ""
        try:
            loaded = self._sources.loaded(place)
            description, digest = loaded.form.description, loaded.digest
        except Rejected as refused:
            problem = str(refused)
            state = "refused" if state == "on" else state
        if state == "on" and self._off(place.name, lock):
            state = "disabled"
        counted = uses.get(place.name, Uses()) if state != "hidden" else Uses()
        return SkillRow(
            name=place.name,
            description=description,
            source=place.source,
            state=state,
            digest=digest,
            uses=counted.count,
            last_used_at=counted.last_at or None,
            problem=problem,
        )

    def _kept(self, name: str, digest: str) -> Tree:
        return self._pins.tree(name, digest) if digest else {}


def _latest(lock: PinFile, name: str) -> tuple[PinnedSource, Pin]:
    """Return the pin of this name that changed last, and its source. Raise Rejected."""
    found = [(source, lock.of(source)[name]) for source in PINNED if name in lock.of(source)]
    if not found:
        raise Rejected(
            f"{name[:64]} has no versions: they are kept of installed skills and of the agent's"
        )
    return max(found, key=lambda each: each[1].now.at)


def _instructions(place: SkillLocation, loaded: Loaded) -> str:
    form, files = loaded.form, [path for path in sorted(loaded.tree) if path != FILE]
    lines = [f"Skill {form.name} ({WORDS[place.source]}): {form.description}"]
    if files:
        lines += [f"Its folder, FOLDER below: {place.folder}", f"Its files: {', '.join(files)}"]
        lines.append("Read a file of it with skill_view {name, file}.")
    if form.compatibility:
        lines.append(f"It needs: {form.compatibility}")
    return "\n".join([*lines, "", form.body])


def _one_file(place: SkillLocation, tree: Tree, file: str) -> str:
    if file not in tree:
        known = ", ".join(sorted(tree))[:1_000]
        raise Rejected(f"{place.name} has no file {file[:100]}; it has {known}")
    try:
        text = tree[file].decode("utf-8")
    except UnicodeDecodeError:
        return f"{file} is not a text file: {len(tree[file]):,} bytes, at {place.folder / file}"
    if len(text) > VIEW_CHARS_MAX:
        cut = f"\n… cut after {VIEW_CHARS_MAX:,} characters; all of it: {place.folder / file}"
        return text[:VIEW_CHARS_MAX] + cut
    return text
