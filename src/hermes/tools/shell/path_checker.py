"""Check the paths that a command's words name: from which folder, by which variables."""

from collections.abc import Sequence

from msgspec import Struct

from hermes.core.grants import is_beneath
from hermes.tools.shell.overwrites import Overwrites
from hermes.tools.shell.paths import (
    LISTED,
    CommandPlace,
    Zone,
    absolute,
    is_skill,
    is_trap,
    may_be_private,
    moved,
    names_secret,
    worst_zone,
)
from hermes.tools.shell.programs import Kind
from hermes.tools.shell.reasons import Reasons
from hermes.tools.shell.words import GLOB, HOLE, SPLITS, Word
from hermes.views.cards import named

SHOWN_CHARS = 60


class _Items(Struct, frozen=True, kw_only=True):
    """What is known of a loop variable's values, all of which are paths in reach."""

    splits: bool = False  # without quotes, one may become several words
    dashes: bool = False  # one may begin with a dash


class PathChecker:
    """Follow one command line: its working folder, its loop variables, and each path it names."""

    def __init__(self, place: CommandPlace, reasons: Reasons) -> None:
        self.place = place
        self.reasons = reasons
        self.cwds = [place.cwd]  # where it may be by now; empty: nobody knows
        self.loops = 0  # around the present word
        self.overwrites = Overwrites(reasons)
        self._items: dict[str, _Items] = {}  # of loop variables
        self._spoiled: set[str] = set()  # variables that may have any value at some time
        self._used: set[str] = set()  # variables that were trusted

    def finish(self) -> None:
        """What comes later in a loop also comes before: trust in a variable is all or nothing."""
        if self._used & self._spoiled:
            self.reasons.ask("it uses a path that is only known when it runs")

    def loop_over(self, name: str, words: Sequence[Word]) -> None:
        """Its values are trusted as paths when all are in reach, and none looks like an option."""
        for word in words:
            self.refuse_secret(word)
        dashes = any(word.may_be_option for word in words)
        if any(
            HOLE in w.shape or w.shape.startswith("-") or not self.has("read", w) for w in words
        ):
            self._spoiled.add(name)
        else:
            splits = any(word.glob or SPLITS.search(word.shape) for word in words)
            old = self._items.get(name, _Items())
            self._items[name] = _Items(splits=splits or old.splits, dashes=dashes or old.dashes)

    def spoil(self, names: Sequence[str]) -> None:
        """They may have any value from now on."""
        self._spoiled.update(names)

    def is_item(self, word: Word) -> bool:
        items = self._items.get(word.variable)
        if items is None or (items.splits and not word.quoted):
            return False
        self._used.add(word.variable)
        return True

    def may_be_option(self, word: Word) -> bool:
        items = self._items.get(word.variable)
        return word.may_be_option and not (self.is_item(word) and items and not items.dashes)

    def refuse_secret(self, word: Word) -> None:
        shape = word.shape
        if word.text is not None and any(
            is_skill(absolute(shape, cwd), self.place) for cwd in self.cwds
        ):
            return
        if names_secret(shape) or shape.startswith(("/proc/" + HOLE, "/dev/" + HOLE)):
            self.reasons.refuse("it names a place of keys or secrets")
        elif word.text is not None and "/" in shape:
            zone = worst_zone(shape.partition("=")[2] or shape, self.place, self.cwds)
            if zone is Zone.SECRET:
                self.reasons.refuse(f"{short(shape)} is a place of keys or secrets")

    def path(self, kind: Kind, word: Word, what: str) -> None:
        """A word that is used as a path, or as mere text."""
        if kind == "data":
            if word.glob and not self.has("names", word):
                self.reasons.ask(f"{what} shows names outside of the workspace")
            return
        if HOLE in word.shape:
            self.refuse_secret(word)
            if kind == "write" or not (word.found or self.is_item(word)):
                self.reasons.ask(f"{what} uses a path that is only known when it runs")
            return
        if not self.has(kind, word):
            where = "outside of the workspace" if kind != "write" else "not for writing"
            self.reasons.ask(f"{what}: {short(word.shape)} is {where}")
        if kind == "write":
            self.reasons.writes = True

    def overwrite(self, word: Word, what: str, *, any_kind: bool = False) -> None:
        """A path whose content would be another, if there is any."""
        self.path("write", word, what)
        if word.text is not None and word.text != "/dev/null":
            self.overwrites.add(word.text, self.cwds, loops=self.loops, any_kind=any_kind)

    def has(self, kind: Kind, word: Word) -> bool:
        path = word.shape
        if word.glob:
            parts = path.split("/")
            first = next(n for n, part in enumerate(parts) if GLOB.search(part))
            if any(part.startswith(".") for part in parts[first:]):
                return False
            stem = "/".join(parts[:first]) or ("/" if path.startswith("/") else ".")
            if stem == "/" or kind == "write" or (kind == "read" and may_be_private(path)):
                return False
            self.refuse_secret(Word(shape=path.replace("*", "")))
            path = stem
        zone = worst_zone(path, self.place, self.cwds)
        if zone is Zone.SECRET:
            self.reasons.refuse(f"{short(path)} is a place of keys or secrets")
            return False
        if kind == "write":
            traps = any(is_trap(path, self.place, cwd) for cwd in self.cwds)
            return zone is Zone.WORK and not traps
        full = [absolute(path, cwd) for cwd in self.cwds]
        above = (self.place.home, *self.place.guarded)
        if (
            kind == "read"
            and not word.glob
            and any(is_beneath(private, each) for private in above for each in full)
        ):
            return False
        listed = kind == "names" and absolute(path, self.place.cwd) in LISTED
        return zone in (Zone.WORK, Zone.SYSTEM) or (listed and path.startswith("/"))

    def go(self, words: Sequence[Word]) -> None:
        target = words[0] if len(words) == 1 else None
        if target is None or target.text is None or target.text.startswith("-") or self.loops:
            self.reasons.ask("`cd` goes outside of the workspace, or to an unknown folder")
            self.cwds = []
            return
        self.path("names", target, "cd")
        self.cwds = moved(target.text, self.cwds)


def short(text: str) -> str:
    """A word of a command in a reason: not too long, and with no power over a chat's markup."""
    shown = text.replace(HOLE, "…")
    return named(shown if len(shown) <= SHOWN_CHARS else f"{shown[: SHOWN_CHARS - 1]}…")
