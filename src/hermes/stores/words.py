"""Normalise text into search words, the same way for stored text and for queries.

Both stores index `words_of(text)`, so that they find the same rows whatever their own tokenizer
does. In a script without spaces each character is a word.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from hermes.core.ids import SessionKey
from hermes.core.recall import Scope, chat_of
from hermes.lazy import LazyPattern

QUESTION_CHARS_MAX = 200
WORDS_MAX = 5  # of one question, phrases counted by their words
CUT_WORDS = 2  # of one that has more
PHRASE_WORDS_MAX = 5  # of one phrase
BEGINNING_CHARS_MIN = 2  # fewer letters begin too many words
WORD_CHARS_MAX = 64
INDEXED_CHARS_MAX = 16_000  # of one row; what stands behind is kept, and not found by its words
INDEXED_WORDS_MAX = 16_000  # a tsvector counts positions to 16,383
AROUND_CHARS = 80
SPOTS_MAX = 50

LONG = f"The question is too long: only its {CUT_WORDS} longest words were looked for."
SHORT = f"A beginning* has at least {BEGINNING_CHARS_MIN} letters; a shorter one is a word."
NOTHING = "The question names no word to look for."

# Han, kana, hangul, Thai, Lao, Burmese, Khmer: written without blanks, or with particles attached.
_DENSE = (
    r"\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_WORD = LazyPattern(rf"[^\W_{_DENSE}]+|[{_DENSE}](?<=\w)")
_DENSE_WORD = LazyPattern(rf"[{_DENSE}]")
_NO_WORD = "\ue000"  # stands in no word of a text
_PIECE = LazyPattern(r'-?"[^"]*"?\*?|[^\s"]+')


class Term(Struct, frozen=True):
    """Words that follow each other. The last one may be a prefix."""

    words: tuple[str, ...]
    begins: bool = False


class SearchQuery(Struct, frozen=True, kw_only=True):
    """A parsed query: all of `wanted`, none of `barred`. `notes` say what was dropped."""

    wanted: tuple[Term, ...] = ()
    barred: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case and accents."""
    return _words(text[:INDEXED_CHARS_MAX])[:INDEXED_WORDS_MAX]


def parse_query(text: str) -> SearchQuery:
    """Parse a query. Pure and total: every text is valid."""
    wanted, barred = dict[Term, None](), dict[Term, None]()
    notes: list[str] = []
    for piece in _PIECE.findall(text[:QUESTION_CHARS_MAX]):
        term = _term(piece)
        if not term.words:
            continue
        if piece.endswith("*") and not term.begins and not _DENSE_WORD.match(term.words[-1]):
            notes.append(SHORT)
        (barred if piece.startswith("-") else wanted)[term] = None
    long = len(text) > QUESTION_CHARS_MAX or sum(map(_weight, wanted)) > WORDS_MAX
    if long or sum(map(_weight, barred)) > WORDS_MAX:
        notes.append(LONG)
        wanted, barred = _longest(wanted), _longest(barred)
    if not wanted:
        notes.append(NOTHING)
    return SearchQuery(
        wanted=tuple(wanted), barred=tuple(barred), notes=tuple(dict.fromkeys(notes))
    )


def _longest(terms: Iterable[Term]) -> dict[Term, None]:
    """Keep the longest terms. Long words are rarer, so they tell most and cost least to look up."""
    kept: dict[Term, None] = {}
    left = CUT_WORDS
    for term in sorted(terms, key=lambda term: -sum(map(len, term.words))):
        left -= _weight(term)
        if left >= 0 or not kept:
            kept[term] = None
    return kept


def _weight(term: Term) -> int:
    """Return a term's weight. Three characters of a script without spaces count about as a word."""
    dense = sum(bool(_DENSE_WORD.match(word)) for word in term.words)
    return len(term.words) - dense + -(-dense // 3)


def place_words(key: SessionKey) -> tuple[str, str]:
    """Return the words that the index has for each row of the lane, and for each row of its
    chat."""
    return _place("l", key), _place("c", chat_of(key))


def scope_word(scope: Scope) -> str:
    """Return the word that all rows in the scope have; empty for all sessions."""
    if scope.width == "all":
        return ""
    return _place("l", scope.key) if scope.width == "lane" else _place("c", chat_of(scope.key))


class Lens:
    """Find the words of one query in texts."""

    def __init__(self, question: SearchQuery) -> None:
        self._first = question.wanted[0]
        self._words = tuple({word: None for term in question.wanted for word in term.words})
        self._beginnings = {term.words[-1] for term in question.wanted if term.begins}
        joined = dict.fromkeys((" ".join(self._first.words), "".join(self._first.words)))
        self._together = tuple(joined)

    def excerpt(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """Return the surroundings of the first match, and the positions of the wanted words in
        them."""
        middle = self._middle(text[:INDEXED_CHARS_MAX])
        start, stop = max(0, middle - AROUND_CHARS), min(len(text), middle + AROUND_CHARS)
        cut = " ".join(text[start:stop].split())
        shown = f"{'…' if start else ''}{cut}{'…' if stop < len(text) else ''}"
        low, spots = _quick(shown), list[tuple[int, int]]()
        for word in self._words:
            spots += _spots(low, word, begins=word in self._beginnings)
        return shown, _merge(spots or _slow_spots(shown, self._words))

    def _middle(self, text: str) -> int:
        """Return where the words of the first term stand together, else where one of them does."""
        low = _quick(text)
        for words in (*self._together, *self._first.words):
            if spots := _spots(low, words, begins=self._first.begins, most=1):
                return spots[0][0]
        return next((start for start, _ in _slow_spots(text, self._first.words)), 0)


def _term(piece: str) -> Term:
    """Return the term for a phrase. A long phrase is searched by its first words, which hardly ever
    finds more."""
    words = tuple(_words(piece))
    long = 0 < len(words) <= PHRASE_WORDS_MAX and len(words[-1]) >= BEGINNING_CHARS_MIN
    return Term(words[:PHRASE_WORDS_MAX], piece.endswith("*") and long)


def _words(text: str) -> list[str]:
    return [word[:WORD_CHARS_MAX] for word in _WORD.findall(_folded(text))]


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in apart if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare).casefold()


def _quick(text: str) -> str:
    """Lower-case a text without moving characters: enough for most words, and fast."""
    low = text.lower()
    return low if len(low) == len(text) else text


def _spots(low: str, word: str, *, begins: bool, most: int = SPOTS_MAX) -> list[tuple[int, int]]:
    spots: list[tuple[int, int]] = []
    start = low.find(word)
    while start >= 0 and len(spots) < most:
        stop = start + len(word)
        while begins and low[stop : stop + 1].isalnum():
            stop += 1
        alone = not low[start - 1 : start].isalnum() and not low[stop : stop + 1].isalnum()
        if alone or _DENSE_WORD.match(word):
            spots.append((start, stop))
        start = low.find(word, stop)
    return spots


def _slow_spots(text: str, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield matches word by word, without accents. A prefix match is enough for highlighting."""
    for match in _WORD.finditer(text):
        if any(part.startswith(words) for part in _words(match.group())):
            yield match.span()


def _merge(spots: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the spans in order, with touching ones joined."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(spots):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return tuple(merged)


def _place(kind: str, key: str) -> str:
    return f"{_NO_WORD}{kind}{sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
