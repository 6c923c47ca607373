"""The locked requirements: whole, current with pyproject.toml, told apart by their first line."""

import ast
import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = {"local", "dojo"}  # on top of the others, without what they say they need
# What a package is imported as, where that is not its own name.
IMPORTED_AS = {
    "honcho-ai": "honcho",
    "pillow": "PIL",
    "python-telegram-bot": "telegram",
    "pyyaml": "yaml",
    "ruamel-yaml": "ruamel",
    "tzdata": "zoneinfo",  # the zones that it falls back to where the system has none
}
FILES = sorted((ROOT / "requirements").glob("*.txt"))


def locked(file: Path) -> dict[str, str]:
    found = re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==(\S+)", file.read_text("utf-8"), re.M)
    return dict(found)


def declared(*extras: str) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    needs = project["dependencies"] + [need for extra in extras for need in optional[extra]]
    names = (re.split(r"[\[<>=;~ ]", need)[0] for need in needs)
    return {re.sub(r"[-_.]+", "-", name).lower() for name in names} - {"hermes-durable"}


def imported() -> set[str]:
    """The first part of every name that the program imports, wherever in a file."""
    found: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_first_line_names_the_set_and_the_digest_of_the_rest(file: Path) -> None:
    first, _, rest = file.read_text("utf-8").partition("\n")
    assert first == f"# {file.stem} {hashlib.sha256(rest.encode()).hexdigest()[:32]}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_sup_07_every_pin_has_hashes_and_no_file_names_an_index(file: Path) -> None:
    text = file.read_text("utf-8")
    pins = re.split(r"\n(?=[a-z0-9])", text)[1:]
    assert pins
    assert [pin.partition("==")[0] for pin in pins if "--hash=sha256:" not in pin] == []
    assert "://" not in text


def test_sup_07_what_is_installed_is_hashed_and_runs_no_code_of_its_own() -> None:
    """Wheels only: nothing is built, so nothing of a package runs while it is installed."""
    environment = (ROOT / "setup" / "environment.py").read_text("utf-8")
    assert 'LOCKED = ("--require-hashes", "--only-binary", ":all:")' in environment
    assert "recipe[-1] += [*LOCKED, *pins]" in environment, "of every recipe"


@pytest.mark.parametrize(
    ("name", "extras"),
    [("run", ()), ("postgres", ("postgres",)), ("test", ("postgres", "lint", "test"))],
)
def test_every_declared_dependency_is_locked(name: str, extras: tuple[str, ...]) -> None:
    assert declared(*extras) - locked(ROOT / "requirements" / f"{name}.txt").keys() == set()


def test_nothing_is_installed_that_the_program_does_not_import() -> None:
    needs = declared("postgres", "telegram", "honcho", "prices", "pictures", "websocket")
    named = {need: IMPORTED_AS.get(need, need.replace("-", "_")) for need in needs}
    found = imported()
    assert {need for need, name in named.items() if name not in found} == set()
    assert IMPORTED_AS.keys() - needs == set(), "these are no needs of ours any more"


def test_all_sets_agree_on_versions() -> None:
    whole = locked(ROOT / "requirements" / "test.txt")
    for file in FILES:
        pins = locked(file)
        if file.stem in ALONE:
            assert pins.keys() & whole.keys() == set()
        else:
            assert pins.items() <= whole.items()
