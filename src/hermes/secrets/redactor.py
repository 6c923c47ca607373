"""Take known secrets, and what looks like one, out of a text, whole or as it comes in pieces.

Known ones are found by their bytes: of each form, the eight grams at its first eight places are
known, and one of them stands at a place of the text that is divisible by eight. So the cost does
not grow with the number of secrets, and a text without any is read once.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from hermes.secrets.shapes import RUN_MAX, shapes_in
from hermes.secrets.variants import variants
from hermes.views.expressions import Expression

HIDDEN = "•••"
_HIDDEN = HIDDEN.encode()
GRAM = 8
LONG = 2 * GRAM - 1  # a form of so many bytes contains a whole gram at such a place
# What a key is made of, at the end of a text, perhaps behind the word that announces one.
_RUN = Expression(
    rf"(?:(?:bearer|basic)[ :]{{1,4}})?[a-z0-9_.:~+/=@-]{{0,{RUN_MAX}}}\Z", re.ASCII | re.IGNORECASE
)
_WORD_CHARS = 16  # of that word
Span = tuple[int, int]


class Redactor:
    """Knows some secrets. Calling it gives the text without them."""

    def __init__(self, values: Iterable[str] = ()) -> None:
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
        shapes = list(shapes_in(text))
        return _masked(text, shapes) if shapes else text

    def spans(self, text: str) -> list[Span]:
        """Where secrets stand in the text, in order and apart."""
        raw = text.encode("utf-8", "surrogatepass")
        known = [
            (_chars(raw[:start]), _chars(raw[:stop])) for start, stop in _apart(self._known(raw))
        ]
        return _apart((*known, *shapes_in(text)))

    def begun(self, text: str) -> int:
        """How many characters at the end may be the beginning of a known secret."""
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
    """A text in pieces. What may be the beginning of a secret is held back until it is none.

    `redactor` is asked for each piece: a secret that becomes known meanwhile is hidden, too.
    """

    def __init__(self, redactor: Callable[[], Redactor]) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be shown of it now."""
        text = self._held + piece
        redactor = self._redactor()
        run = _RUN.search(text, max(0, len(text) - RUN_MAX - _WORD_CHARS))
        held = max(redactor.begun(text), len(run[0]) if run is not None else 0)
        cut = len(text) - held
        spans = redactor.spans(text)
        # A secret that ends in what is held back is kept whole: it may yet turn out longer.
        cut = min((start for start, stop in spans if start < cut < stop), default=cut)
        self._held = text[cut:]
        return _masked(text[:cut], [span for span in spans if span[1] <= cut])

    def close(self) -> str:
        """The rest."""
        text, self._held = self._held, ""
        return self._redactor()(text)


def _apart(spans: Iterable[Span]) -> list[Span]:
    """In order; those that touch are one."""
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
