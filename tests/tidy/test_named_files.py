"""Check the pages for developers against the tree and pyproject.toml: they name what exists.

A page is CONTRIBUTING, AGENTS, the glossary, the architecture or the README of a folder. A name in
backticks that looks like a path must exist: next to the page, in the repository, in the package or
in the tests. Capitals stand for any name (`channels/NAME/`).
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "hermes"
BUILT_IN_SKILLS = PACKAGE / "skills" / "builtin"

# Files of a home or of a project that the agent works on. They are not part of this repository.
NOT_OURS = {"BOOT.md", "CLAUDE.md", "HERMES.md", "HOOK.yaml", "HERMES_HOME"}

# Words that names and documents no longer use, and what they are called now.
OLD_WORDS = {
    r"ears?": "receiver",
    r"doors?": "ChannelHost",
    r"desks?": "CommandContext",
    r"lanes?": "session",
    r"porters?": "admission",
    r"purses?": "spending",
    r"hearing": "receivers",
    r"equipment": "agent set-up",
    r"errands?": "async command, hook run",
    r"shel(f|ves)": "library, store",
    r"flown": "run",
}


@cache
def pages() -> tuple[Path, ...]:
    named = [ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md", ROOT / "bench" / "README.md"]
    named += [ROOT / "docs" / "GLOSSARY.md", ROOT / "docs" / "ARCHITECTURE.md"]
    folders = (p for p in PACKAGE.rglob("README.md") if BUILT_IN_SKILLS not in p.parents)
    return (*named, *sorted(folders))


def path_of(name: str) -> str:
    """Return the name as a glob if it looks like a path of ours, else an empty string."""
    folder = re.fullmatch(r"[\w*-][\w.*-]*(/[\w.*-]+)*/[\w.*-]*", name)
    file = re.fullmatch(r"[\w*-]+\.(py|md|toml|sql|txt|jsonl?|md\.in)", name)
    if not (folder or file) or name.partition("/")[0] in NOT_OURS:
        return ""
    return re.sub(r"(?<![A-Za-z])[A-Z]{4,}(?!\.md|[A-Za-z])|(?<=_)what\b|(?<=0)N(?=_)", "*", name)


def exists(name: str, *bases: Path) -> bool:
    places = (*bases, ROOT, PACKAGE, ROOT / "tests")
    return any(True for base in places for _ in base.glob(name.rstrip("/")))


def named_in(page: Path) -> Iterator[tuple[str, Path]]:
    """Each name in backticks, and where it is looked for first: a row of a table that begins with
    a folder of the package is about that folder, everything else is about the page's own."""
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for line in prose.splitlines():
        row = re.match(r"\| `(\w+)/`", line)
        folder = PACKAGE / row[1] if row else page.parent
        for name in re.findall(r"`([^`]+)`", line):
            yield name, folder


@cache
def layers() -> tuple[frozenset[str], ...]:
    """The layers of import-linter from the top, with those parts of them that exist."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["id"] == "layers")
    split = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    there = {path.stem for path in PACKAGE.glob("*.py")}
    there |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    found = (frozenset(layer) & there for layer in split)
    return tuple(layer for layer in found if layer)


def first_block(page: str) -> list[str]:
    found = re.search(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].splitlines()


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = ((path_of(name), folder) for name, folder in named_in(page))
    assert [name for name, folder in named if name and not exists(name, folder)] == []


def test_every_source_file_that_a_document_names_exists() -> None:
    """The other documents also name files of a home, so only names of Python files count there."""
    missing = [
        f"{page.relative_to(ROOT)}: {name}"
        for page in sorted(set(documents()) - set(pages()))
        for name, folder in named_in(page)
        if "/" in name and path_of(name) and name.endswith(".py") and "FOLDER" not in name
        if not exists(path_of(name), folder)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("core/channel.py", "core/channel.py"),
        ("pyproject.toml", "pyproject.toml"),
        ("channels/NAME/", "channels/*/"),
        ("sql/migrations/000N_what.sql", "sql/migrations/000*_*.sql"),
        ("docs/TELEGRAM.md", "docs/TELEGRAM.md"),
        ("HERMES_HOME/hooks", ""),
        ("/approve", ""),
        ("hermes send", ""),
        ("core.step", ""),
    ],
)
def test_paths_are_told_from_other_names(name: str, path: str) -> None:
    assert path_of(name) == path


def test_contributing_lists_the_layers_of_import_linter() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Layers\n")[2]
    listed = [re.split(r"\s{2,}", line)[0] for line in first_block(page)]
    assert [frozenset(re.findall(r"\w+", names)) for names in listed] == list(layers())


def test_the_picture_of_the_architecture_shows_each_layer_above_those_it_may_import() -> None:
    page = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    lines: dict[str, int] = {}
    for number, line in enumerate(first_block(page)):
        for name in re.findall(r"(?<![\w/])(\w+)(?:/|\.py)(?=\s|$)", line):
            lines.setdefault(name, number)
    assert set(lines) == frozenset().union(*layers())
    wrong = [
        (sorted(above), sorted(below))
        for above, below in pairwise(layers())
        if max(lines[name] for name in above) >= min(lines[name] for name in below)
    ]
    assert wrong == []


@pytest.mark.parametrize("package", ["agent", "core", "gateway"])
def test_the_architecture_names_every_module_of_the_engine(package: str) -> None:
    page = ROOT / "docs" / "ARCHITECTURE.md"
    there = {path.name for path in (PACKAGE / package).glob("[!_]*.py")}
    named = {name for name, folder in named_in(page) if folder == PACKAGE / package}
    assert sorted(there - named) == [], f"add to the table of modules in {page.name}"


def test_every_name_in_the_code_that_the_glossary_gives_exists() -> None:
    page = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\|.*\|([^|]*)\|$", page, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    known = defined()
    wrong = [name for name in sorted(named) if not (exists(name) if "/" in name else name in known)]
    assert named
    assert wrong == []


def defined() -> set[str]:
    """Every class, function and name that is assigned in the package."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign):
                found.update(t.id for t in node.targets if isinstance(t, ast.Name))
    return found


def test_the_words_of_the_glossary_are_in_order_and_occur_once() -> None:
    page = (ROOT / "docs" / "GLOSSARY.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z][^|]*?) \|", page, re.MULTILINE)[1:]
    assert words == sorted(set(words))


@cache
def documents() -> tuple[Path, ...]:
    return (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *pages())


def test_documents_do_not_use_words_that_were_renamed() -> None:
    said = re.compile(rf"\b({'|'.join(OLD_WORDS)})\b", re.IGNORECASE)
    found = [
        f"{page.relative_to(ROOT)}:{number}: {hit[0]}"
        for page in sorted(set(documents()))
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for hit in said.finditer(line)
    ]
    assert found == [], f"today's words: {OLD_WORDS}"
