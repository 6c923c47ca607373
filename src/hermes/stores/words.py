"""What a search compares: plain words, the same for the text that is kept and for the question.

Both stores index `words_of(text)`, so that they find the same rows whatever their own idea of a
word. A script without blanks between words gives a word for each character.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from hermes.core.ids import SessionKey
from hermes.core.recall import Scope, chat_of
from hermes.views.expressions import Expression

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
_WORD = Expression(rf"[^\W_{_DENSE}]+|[{_DENSE}](?<=\w)")
_DENSE_WORD = Expression(rf"[{_DENSE}]")
_NO_WORD = "\ue000"  # stands in no word of a text
_PIECE = Expression(r'-?"[^"]*"?\*?|[^\s"]+')


class Term(Struct, frozen=True):
    """Words that follow each other; of the last one perhaps only the beginning."""

    words: tuple[str, ...]
    begins: bool = False


class Question(Struct, frozen=True, kw_only=True):
    """All of `wanted`, none of `barred`. `notes` say what of it was dropped."""

    wanted: tuple[Term, ...] = ()
    barred: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()


def words_of(text: str) -> list[str]:
    """Without case and accents."""
    return _words(text[:INDEXED_CHARS_MAX])[:INDEXED_WORDS_MAX]


def asked(text: str) -> Question:
    """Pure and total: no text is a wrong question."""
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
    return Question(wanted=tuple(wanted), barred=tuple(barred), notes=tuple(dict.fromkeys(notes)))


def _longest(terms: Iterable[Term]) -> dict[Term, None]:
    """Long words are the rarer ones: they tell most, and cost least to look for."""
    kept: dict[Term, None] = {}
    left = CUT_WORDS
    for term in sorted(terms, key=lambda term: -sum(map(len, term.words))):
        left -= _weight(term)
        if left >= 0 or not kept:
            kept[term] = None
    return kept


def _weight(term: Term) -> int:
    """Three characters of a script without blanks are about a word."""
    dense = sum(bool(_DENSE_WORD.match(word)) for word in term.words)
    return len(term.words) - dense + -(-dense // 3)


def place_words(key: SessionKey) -> tuple[str, str]:
    """Words that the index has for each row of the lane, and for each of its chat."""
    return _place("l", key), _place("c", chat_of(key))


def scope_word(scope: Scope) -> str:
    """The word that all rows in the scope have; none for everything."""
    if scope.width == "all":
        return ""
    return _place("l", scope.key) if scope.width == "lane" else _place("c", chat_of(scope.key))


class Lens:
    """Looks at texts for the words of one question."""

    def __init__(self, question: Question) -> None:
        self._first = question.wanted[0]
        self._words = tuple({word: None for term in question.wanted for word in term.words})
        self._beginnings = {term.words[-1] for term in question.wanted if term.begins}
        joined = dict.fromkeys((" ".join(self._first.words), "".join(self._first.words)))
        self._together = tuple(joined)

    def excerpt(self, text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
        """The surroundings of the first match, and where in them the wanted words stand."""
        middle = self._middle(text[:INDEXED_CHARS_MAX])
        start, stop = max(0, middle - AROUND_CHARS), min(len(text), middle + AROUND_CHARS)
        cut = " ".join(text[start:stop].split())
        shown = f"{'…' if start else ''}{cut}{'…' if stop < len(text) else ''}"
        low, spots = _quick(shown), list[tuple[int, int]]()
        for word in self._words:
            spots += _spots(low, word, begins=word in self._beginnings)
        return shown, _merged(spots or _slow_spots(shown, self._words))

    def _middle(self, text: str) -> int:
        """Where the words of the first term stand together; else where one of them does."""
        low = _quick(text)
        for words in (*self._together, *self._first.words):
            if spots := _spots(low, words, begins=self._first.begins, most=1):
                return spots[0][0]
        return next((start for start, _ in _slow_spots(text, self._first.words)), 0)


def _term(piece: str) -> Term:
    """A phrase is looked for by so many of its words: hardly ever does that find more."""
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
    """Small letters, in the same places: enough for most words, without a look at each."""
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
    """Word by word, without accents; the beginning of a word will do for what is only shown."""
    for match in _WORD.finditer(text):
        if any(part.startswith(words) for part in _words(match.group())):
            yield match.span()


def _merged(spots: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """In order; those that touch are one."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(spots):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return tuple(merged)


def _place(kind: str, key: str) -> str:
    return f"{_NO_WORD}{kind}{sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
