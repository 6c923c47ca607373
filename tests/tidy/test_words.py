"""Keep odd phrases out of what people read: the documents and the strings of the package.

Each phrase was in our own texts once and made newcomers stumble; its value says what a friendly
colleague would write instead. The test reads the pages at the top of the repository, docs/*.md,
the READMEs of folders and every string constant that has a blank in it. It skips docstrings and
the code between the braces of an f-string.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PHRASES = {
    # Say what something is.
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|\|)": "is not a …",
    r"(?<!there )\b(is|are) none\b|\bthere is none\b": "is not set, is not a …, there are no …",
    r"\b(no|none) of (Telegram|the web)'s\b|\bis not one of its\b": "does not belong to …",
    r"\bNone is called\b": "no conversation is called …",
    # Name the subject.
    r"\bnobody\b": "name who, or say what does not happen",
    r"\bsomebody\b": "a person, another program, the owner",
    r"\bwho(m?ever|m)\b(?!\()": "name who it is",
    r"\bwho (answers|there is)\b": "the model, the provider",
    r"\bin the same breath\b": "also",
    r"\bthe how-manieth\b": "which",
    # Old or private words.
    r"\banew\b": "again, new, restart",
    r"\bupon which\b": "then",
    r"\bin vain\b": "and it did not happen",
    r"\bunasked\b": "without asking",
    r"\b(re)?mend(s|ed|ing)?\b": "fix",
    r"\bbeside\b": "next to, in addition to, compared with",
    r"\bfor good\b": "permanently",
    r"\bin mid-\w": "in the middle of",
    r"\bin force\b": "active",
    r"\bis whole\b": "is intact",
    r"\ball is well\b": "no problems found",
    r"\bat work\b": "running",
    r"\b(is|was) void\b": "does not count",
    r"\bpark(ed|s)?\b": "suspend",
    r"\b(put|kept) aside\b": "saved as, moved to",
    r"\bsent? (\w+ )?away\b": "remove, disconnect",
    r"\b(take|taken|took) for\b|\btake that for\b": "count as, declared",
    r"\btak(e|en|es|ing) up\b": "resume",
    r"\btak(e|en|es|ing) back\b|\btake \w+ back\b": "undo",
    r"\btak(e|en|es|ing) away\b": "remove",
    r"\b(goes|going|went) on\b|\bgo on with\b": "continue, keep running",
    r"\bstands? (above|below|before|between|there|so|in (?!the way))\b": "is",
    r"\bhears?\b": "receive, be told",
    r"\b(stands?|put|one) behind\b": "after",
    r"\bat its worst\b": "the worst that it can do",
    r"\bmisled\b": "tricked",
    r"\bgraver?\b": "serious",
    r"\bends? the matter\b": "is refused",
    r"\bwash(es|ed)? \w+ off\b|\bwashed off\b": "remove",
    r"\bcollector of garbage\b": "garbage collector",
    r"\bin good order\b": "orderly",
    r"\bof unknown fate\b": "with an unknown outcome",
    r"\breads? along\b": "watch",
    r"\basked for news\b": "polled",
    # These are not English.
    r"\bbelongs? into\b": "belongs in, goes into",
    r"\b(that|characters) are too many\b": "too many …",
    r"\bThere are: ": "Choose one of: …",
    r"\bKnown are\b": "the known ones are",
    r"\bso many in all\b": "in total",
    r"\bbehind that of\b": "after",
    r"\bwaits? no more\b": "no longer waits",
    r"\bnot begun\b": "not started",
    r"\bdo(es)? not fit\b|\bfits? (several|nothing|\{)|\bof these fits\b": "match, be valid",
    r"\b[Ww]orth another try\b": "try again",
    # Asking and answering.
    r"\byour word\b|\bown word\b": "your answer, your approval",
    r"\bit is a no\b|\bis a no\b": "no answer means no",
    r"\b[Ww]hy I ask\b|\bwanted by\b": "Why: …, Requested by: …",
    r"\bnot known to be harmless\b": "not on the list of safe commands",
    r"\bstrangers wrote\b|\b(strangers'|else's) (words|text)\b": "untrusted text",
    r"\btexts? of strangers\b": "untrusted text",
    r"\bnothing was said\b|\b[Ss]ay --": "the message is empty; use --…",
    r"\bthat (one )?wins\b|\bwins? over\b|\bthe setting wins\b": "overrides",
    r"\bneeds? you: |\bchecks need you\b": "… failed",
}
ODD = {re.compile(phrase, re.I): better for phrase, better in PHRASES.items()}

# How many are still there. A number only ever goes down; a file that is not here has none.
RATCHET: dict[str, int] = {
    "docs/COMMANDS.md": 1,
    "src/hermes/core/policy.py": 1,
}


def strings_of(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each string that a person may read; f-strings with {} for their code."""
    seen: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            seen.add(id(node.value))  # a docstring
        elif isinstance(node, ast.JoinedStr):
            parts = [part for part in node.values if isinstance(part, ast.Constant)]
            seen.update(id(part) for part in parts)
            shown = (str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
            yield node.lineno, "".join(shown)
        elif isinstance(node, ast.Constant) and id(node) not in seen and _is_text(node.value):
            yield node.lineno, str(node.value)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and " " in value.strip()


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from strings_of(ast.parse(text))
    else:
        yield from enumerate(text.split("\n"), 1)


@cache
def read() -> tuple[Path, ...]:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").glob("*.md*")]
    documents += (ROOT / "src").rglob("README.md")
    return (*documents, *(ROOT / "src").rglob("*.py"), *(ROOT / "setup").glob("*.py"))


@cache
def findings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(read()):
        name = str(path.relative_to(ROOT))
        for line, said in sentences(path):
            for phrase, better in ODD.items():
                found.setdefault(name, []).extend(
                    f"{name}:{line}: “{hit[0]}” (better: {better}) in: {said.strip()[:160]}"
                    for hit in phrase.finditer(said)
                )
    return {name: places for name, places in found.items() if places}


def test_phrases_that_strangers_stumbled_over_do_not_come_back() -> None:
    over = {n: places for n, places in findings().items() if len(places) > RATCHET.get(n, 0)}
    assert not over, "\n".join(place for places in over.values() for place in places)


@pytest.mark.parametrize(
    "said",
    [
        "that is no address: write http://…",
        "an address that is none",
        "nobody was there to compare",
        "what nobody asked for in particular",
        "that are too many messages at once",
        "whoever answers there is understood",
        "start the gateway anew",
        "in the same breath, a real one",
    ],
)
def test_the_list_finds_what_was_said_before(said: str) -> None:
    assert any(phrase.search(said) for phrase in ODD)


@pytest.mark.parametrize(
    "said",
    [
        "There is no gateway on this home.",
        "Hermes no longer waits for an answer; it is no longer stored.",
        "You are sending messages too quickly. I'll ignore new ones for the next minute.",
        "Expires tomorrow at 10:35; no answer means no",
    ],
)
def test_the_list_leaves_plain_english_alone(said: str) -> None:
    assert not any(phrase.search(said) for phrase in ODD)


def test_docstrings_and_code_in_f_strings_are_left_out() -> None:
    tree = ast.parse('"""Nobody."""\nx = f"a {nobody} b"\ny = "that is no" " text"\n')
    assert [said for _, said in strings_of(tree)] == ["a {} b", "that is no text"]
