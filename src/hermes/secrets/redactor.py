"""Redact known secrets, and text that looks like one, in whole texts and in streams.

Known secrets are found with an n-gram index: of each form, the 8-grams at its first eight offsets
are indexed, and one of them must occur at a multiple of eight in the text. So the cost does not
grow with the number of secrets, and a text is read once.
"""

import re
import string
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from hermes.lazy import LazyPattern
from hermes.secrets.dumps import dump_forms, views, whole_pattern
from hermes.secrets.shapes import RUN_MAX, shapes_in
from hermes.secrets.variants import variants

HIDDEN = "•••"
_HIDDEN = HIDDEN.encode()
DUMP_CHARS_MAX = 1_000_000  # longer than any text for a model or a person
GRAM = 8
LONG = 2 * GRAM - 1  # a form of this many bytes always covers one aligned 8-gram
# The characters of a key at the end of a text, perhaps after the word that introduces it.
_RUN_SIGNS = string.ascii_letters + string.digits + "_.:~+/=@-"
_NO_RUN = LazyPattern(r"[^A-Za-z0-9_.:~+/=@-]")
_ANNOUNCED = LazyPattern(r"(?:bearer|basic)[ :]{1,4}\Z", re.ASCII | re.IGNORECASE)
_WORD_CHARS = 16  # characters of that word
RUN_READ_AT_ONCE = 256  # characters of a long word that are searched again with each piece
Span = tuple[int, int]


class Redactor:
    """Hold a set of secrets. Calling it returns the text without them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        values = list(values)
        self._values = values
        forms = {form.encode("utf-8", "replace") for value in values for form in variants(value)}
        self._sorted = sorted(forms)
        self._heads = frozenset(form[:2] for form in forms)
        self._short = [form for form in self._sorted if len(form) < LONG]
        self._grams: dict[int, list[tuple[int, bytes]]] = {}
        for form in self._sorted:
            if len(form) >= LONG:
                for place in range(GRAM):
                    [gram] = memoryview(form[place : place + GRAM]).cast("Q")
                    self._grams.setdefault(gram, []).append((place, form))
        self._keys = self._grams.keys()
        self.longest = max(map(len, forms), default=0)

    def __repr__(self) -> str:
        return f"Redactor({len(self._sorted)} forms)"

    def __call__(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        spans = list(self._known(raw))
        if spans:
            text = _without(raw, spans).decode("utf-8", "surrogatepass")
        shapes = [*shapes_in(text), *self._dumped(text)]
        return _masked(text, shapes) if shapes else text

    def spans(self, text: str) -> list[Span]:
        """Return where secrets are in the text: sorted, without overlaps."""
        raw = text.encode("utf-8", "surrogatepass")
        known, chars, at = list[Span](), 0, 0
        for start, stop in _apart(self._known(raw)):
            begin = chars + _chars(raw[at:start])
            chars, at = begin + _chars(raw[start:stop]), stop
            known.append((begin, chars))
        return _apart((*known, *shapes_in(text), *self._dumped(text)))

    @cached_property
    def _in_dumps(self) -> re.Pattern[str] | None:
        """Return the pattern for dumps, built on first use: most texts are not dumps."""
        return whole_pattern(frozenset(form for each in self._values for form in dump_forms(each)))

    def _dumped(self, text: str) -> Iterator[Span]:
        if not self._values or len(text) > DUMP_CHARS_MAX:
            return
        for view, places in views(text):
            if self._in_dumps is not None:
                for found in self._in_dumps.finditer(view):
                    yield places[found.start()], places[found.end() - 1] + 1

    def begun(self, text: str) -> int:
        """Return how many characters at the end may be the start of a known secret."""
        raw = text[-self.longest :].encode("utf-8", "surrogatepass") if self.longest else b""
        for start in range(len(raw)):
            if (raw[start : start + 2] in self._heads or start == len(raw) - 1) and (
                self._is_beginning(raw[start:])
            ):
                return _chars(raw[start:])
        return 0

    def _known(self, raw: bytes) -> Iterator[Span]:
        for form in self._short:
            at = raw.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = raw.find(form, at + 1)
        whole = memoryview(raw)[: len(raw) // GRAM * GRAM].cast("Q")
        if self._keys.isdisjoint(whole):
            return
        for number, gram in enumerate(whole):
            for place, form in self._grams.get(gram, ()):
                at = number * GRAM - place
                if at >= 0 and raw.startswith(form, at):
                    yield at, at + len(form)

    def _is_beginning(self, raw: bytes) -> bool:
        at = bisect_left(self._sorted, raw)
        return at < len(self._sorted) and self._sorted[at].startswith(raw)


class Stream:
    """Redact a text that arrives in pieces. A possible start of a secret is held back.

    `redactor` is asked for each piece: a secret that becomes known meanwhile is hidden, too.
    """

    def __init__(self, redactor: Callable[[], Redactor]) -> None:
        self._redactor = redactor
        self._held = ""
        self._waiting: list[str] = []  # pieces of a word that continues
        self._waiting_chars = 0
        self._in_run = False  # inside a long word

    def feed(self, piece: str) -> str:
        """Return the redacted text that can be shown now. A long word is searched again only after
        it has doubled, so the total cost stays linear."""
        self._waiting.append(piece)
        self._waiting_chars += len(piece)
        if self._in_run and self._waiting_chars < RUN_MAX and _NO_RUN.search(piece) is None:
            return ""
        text = self._held + "".join(self._waiting)
        self._waiting, self._waiting_chars = [], 0
        redactor = self._redactor()
        held = max(redactor.begun(text), _run_chars(text))
        cut = len(text) - held
        spans = redactor.spans(text)
        # Hold back a secret that ends in the held part as a whole: it may turn out to be longer.
        cut = min((start for start, stop in spans if start < cut < stop), default=cut)
        self._held = text[cut:]
        self._in_run = len(self._held) >= RUN_READ_AT_ONCE
        return _masked(text[:cut], [span for span in spans if span[1] <= cut])

    def close(self) -> str:
        """Return the rest, redacted."""
        text = self._held + "".join(self._waiting)
        self._held, self._waiting, self._waiting_chars, self._in_run = "", [], 0, False
        return self._redactor()(text)


def _run_chars(text: str) -> int:
    """Return how many characters at the end may be the start of a key."""
    tail = text[-RUN_MAX:]
    run = len(tail) - len(tail.rstrip(_RUN_SIGNS))
    before = text[: len(text) - run][-_WORD_CHARS:]
    announced = _ANNOUNCED.search(before)
    return run + (len(announced[0]) if announced is not None else 0)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """Sort the spans and merge those that touch."""
    whole: list[Span] = []
    for start, stop in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(stop, whole[-1][1]))
        else:
            whole.append((start, stop))
    return whole


def _without(raw: bytes, spans: Iterable[Span]) -> bytes:
    parts, at = list[bytes](), 0
    for start, stop in _apart(spans):
        parts += (raw[at:start], _HIDDEN)
        at = stop
    return b"".join((*parts, raw[at:]))


def _masked(text: str, spans: Iterable[Span]) -> str:
    parts, at = list[str](), 0
    for start, stop in _apart(spans):
        parts += (text[at:start], HIDDEN)
        at = stop
    return "".join((*parts, text[at:]))


def _chars(raw: bytes) -> int:
    return len(raw.decode("utf-8", "surrogatepass"))
