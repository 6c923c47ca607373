"""The mutants are run by hand; that each still breaks a line that is there is checked here."""

import pytest
from tests.mutants.run import MUTANTS, Mutant
from tests.tidy.test_tidy import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_changes_a_line_that_exists(mutant: Mutant) -> None:
    text = (ROOT / "src" / "hermes" / mutant.file).read_text("utf-8")
    assert mutant.old in text, f"the line has moved or changed: {mutant.file}"
    assert mutant.new != mutant.old
