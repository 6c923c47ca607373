"""Each setting has a test from outside that changes it and sees what that does."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Their tests start the real program: nothing else sees whether a setting is wired.
OUTSIDE = ("attacks", "journey", "process", "settings", "terminal")
# A ratchet: settings that have no effect yet, and what will give it to them. None may be added.
NOT_YET = {
    "tools.disabled": "it changes the listing alone until tools are asked for by conversation",
    "tools.platforms": "the same",
}


def documented() -> set[str]:
    """Every setting, by the tables of the documentation, which other tests hold to the code."""
    text = (ROOT / "docs" / "CONFIGURATION.md").read_text("utf-8")
    tables = text.partition("\n## Settings\n")[2].partition("\n## When something")[0]
    cells = re.findall(r"^\| (`[^|]+`) \|", tables, re.M)
    found = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    return found - {"platforms"}  # what is in it is listed below it


def seen() -> Iterator[tuple[str, str]]:
    """Each setting that a test claims to see, and where."""
    for folder in OUTSIDE:
        for path in (ROOT / "tests" / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.setting":
                    for key in node.args:
                        yield ast.literal_eval(key), f"{path.relative_to(ROOT)}:{node.lineno}"


def test_every_setting_is_seen_from_outside_by_a_test() -> None:
    """Mark the test that changes it and sees the request, the reply or the process change:
    `@pytest.mark.setting("gateway.busy")`."""
    assert documented() - {key for key, _ in seen()} - NOT_YET.keys() == set()


def test_what_a_test_claims_to_see_is_a_setting_that_is_not_on_the_list_of_the_others() -> None:
    known = documented()
    assert [(key, place) for key, place in seen() if key not in known] == []
    assert NOT_YET.keys() - known == set()
    assert [(key, place) for key, place in seen() if key in NOT_YET] == [], "strike it off the list"
