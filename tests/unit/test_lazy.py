"""What is imported, made or compiled at its first use, and once."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from hermes.lazy import Lazy, LazyMapping, LazyModule, LazyPattern, LazySequence


@pytest.fixture
def unimported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "imported_late.py").write_text('"""Says it."""\nLOADS = []\n', encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "imported_late"


def test_a_module_is_imported_by_the_first_use_of_a_name_in_it(unimported: str) -> None:
    module = LazyModule(unimported)
    assert unimported not in sys.modules
    assert module.LOADS == []
    assert isinstance(sys.modules.pop(unimported), ModuleType)
    assert module.LOADS is module.LOADS


def test_a_name_that_a_module_does_not_have_is_an_attribute_error(unimported: str) -> None:
    with pytest.raises(AttributeError, match="imported_late has no MISSING"):
        _ = LazyModule(unimported).MISSING
    sys.modules.pop(unimported)


def test_a_module_that_is_missing_is_tried_again_at_the_next_use(tmp_path: Path) -> None:
    module = LazyModule("hermes.does_not_exist")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            _ = module.anything


def test_a_value_is_made_by_the_first_call_and_kept() -> None:
    made: list[int] = []
    value = Lazy(lambda: made.append(1) or list(made))
    assert (value.is_made, made) == (False, [])
    assert value() is value()
    assert (value.is_made, made) == (True, [1])


def test_collections_are_made_when_they_are_first_read() -> None:
    made: list[str] = []
    mapping = LazyMapping(lambda: made.append("mapping") or {"a": 1})
    sequence = LazySequence(lambda: made.append("sequence") or (1, 2, 3))
    assert made == []
    assert (dict(mapping), len(mapping), mapping["a"]) == ({"a": 1}, 1, 1)
    assert (list(sequence), sequence[1:], len(sequence)) == ([1, 2, 3], (2, 3), 3)
    assert made == ["mapping", "sequence"]


def test_a_pattern_is_compiled_at_its_first_match() -> None:
    pattern = LazyPattern(r"(\d)x")
    assert "compiled" not in pattern.__dict__
    assert pattern.findall("1x 2x") == ["1", "2"]
    assert pattern.sub(r"\1", "1x") == "1"
    assert "compiled" in pattern.__dict__
