"""The bench's own laws: nothing measured is lost, and the document says what was measured."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import report
from bench.kept import PART, WHOLE, Kept, results
from bench.matrix import Fate, as_json, fault
from bench.measures import Figure, Measure, ahead, times, told
from bench.summary import put_into

ROOT = Path(__file__).parents[3]
ASKED = {"rounds": 3, "rows": ["version", "ask"]}
ROW = {"figures": {"hermes": {"wall_s": [0.02, 0.03, 0.025]}}, "problems": {}}
ABOUT = {
    "machine": {"cores": 2, "processor": "P", "memory_gb": 8, "system": "Linux", "python": "3"}
    | {"load": [0.1, 0.2]},
    "when": "2026-01-01",
    "rounds": 3,
    "seconds": 4.0,
}


def test_a_run_that_was_cut_off_goes_on_with_the_rows_that_are_missing(tmp_path: Path) -> None:
    Kept(tmp_path, ASKED).row("version", ROW)
    again = Kept(tmp_path, ASKED)
    assert again.rows["version"]["figures"] == ROW["figures"]
    again.row("ask", ROW)
    assert again.rows["version"]["run"] == again.rows["ask"]["run"], "it is one run all the same"
    assert dict(Kept(tmp_path, {**ASKED, "rounds": 1}).rows) == {}, "it was asked something else"


def test_a_run_that_is_over_replaces_its_rows_and_keeps_the_others(tmp_path: Path) -> None:
    for rows in (["version", "ask"], ["ask"]):
        kept = Kept(tmp_path, {"rows": rows})
        for row in rows:
            kept.row(row, {**ROW, "of": rows})
        kept.whole({"when": "now"})
    found = results(tmp_path)["rows"]
    assert (found["version"]["of"], found["ask"]["of"]) == (["version", "ask"], ["ask"])
    assert [path.name for path in tmp_path.iterdir()] == [WHOLE]
    assert not (tmp_path / PART).exists()


def test_rows_of_several_runs_are_not_called_one_run(tmp_path: Path) -> None:
    for row in ("version", "ask"):
        kept = Kept(tmp_path, {"rows": [row]})
        kept.row(row, ROW)
        found = kept.whole(ABOUT)
        report.write(found, tmp_path, tmp_path / "document.md")
        said = (tmp_path / "document.md").read_text(encoding="utf-8")
        assert ("machine, in one run" in said) is (row == "version")
    assert "in 2 separate runs" in said


@pytest.mark.parametrize(("more", "expected"), [(False, 4.0), (True, 0.25)])
def test_a_ratio_says_how_many_times_better_ours_is(more: bool, expected: float) -> None:
    ours, theirs = Figure(0.5, 0.4, 0.6, 3), Figure(2.0, 1.0, 3.0, 3)
    assert ahead(ours, theirs, Measure("row", "key", "label", more=more)) == expected
    assert ahead(ours, None, Measure("row", "key", "label")) is None


def test_figures_are_told_with_three_digits_in_a_unit_that_people_read() -> None:
    assert [told(0.0204, "s"), told(1.5, "s"), told(226.27, "MB"), told(12_950, "tokens")] == [
        *("20.4 ms", "1.50 s", "226 MB", "12,950")
    ]
    assert [times(0.5)[:-1], times(2.04)[:-1], times(41.2)[:-1]] == ["0.50", "2.0", "41"]


def test_what_a_provider_would_refuse_is_a_fault_of_the_history() -> None:
    asked = {"role": "user", "content": "Please do it"}
    call = {"role": "assistant", "tool_calls": [{"id": "a"}]}
    result = {"role": "tool", "tool_call_id": "a", "content": "done"}
    again = {"role": "user", "content": "again"}
    assert fault([asked, call, result, again], "again") == ""
    assert fault([asked, call, again], "again") == "a call without its result"
    assert fault([asked, result, again], "again") == "a result without its call"
    assert fault([again], "again") == "the message is not in it"


def test_a_kill_that_went_wrong_once_is_not_faultless(tmp_path: Path) -> None:
    went_well = {"reached": True, "itself": True, "known": True, "valid": True, "answers": 1}
    good, bad = (as_json(Fate("began", **went_well, effects=times)) for times in (1, 2))
    kept = Kept(tmp_path, ASKED)
    kept.programs({"hermes": {"label": "Hermes", "version": "1", "how": "h", "set": "s"}})
    kept.row("crash", {"figures": {}, "problems": {}, "fates": {"hermes": [good, bad, good]}})
    report.write(kept.whole(ABOUT), tmp_path, tmp_path / "document.md")
    text = (tmp_path / "document.md").read_text(encoding="utf-8")
    assert "| 2 of 3 faultless, else answers: 1, effects: 2 |" in text
    assert "Each kill was done 3 times" in text
    assert "Hermes: 0 of 1" in (tmp_path / "crash.svg").read_text(encoding="utf-8")


def test_a_document_can_be_made_from_any_part_of_the_results(tmp_path: Path) -> None:
    kept = Kept(tmp_path, ASKED)
    kept.programs({"hermes": {"label": "Hermes", "version": "1", "how": "h", "set": "s"}})
    kept.row("version", ROW)
    report.write(kept.whole(ABOUT), tmp_path, tmp_path / "document.md")
    text = (tmp_path / "document.md").read_text(encoding="utf-8")
    assert "25.0 ms (20.0 ms to 30.0 ms)" in text
    assert "{" not in text
    pictures = list(tmp_path.glob("*.svg"))
    assert len(pictures) == len(report.PICTURES) + 1
    for picture in pictures:
        ElementTree.fromstring(picture.read_text(encoding="utf-8"))  # noqa: S314 (ours)


def test_the_document_is_what_its_results_and_its_words_make(tmp_path: Path) -> None:
    docs = ROOT / "docs"
    report.write(results(docs / "benchmarks"), tmp_path / "benchmarks", tmp_path / "made.md")
    made = (tmp_path / "made.md").read_text(encoding="utf-8")
    assert made == (docs / "BENCHMARKS.md").read_text(encoding="utf-8"), "./hermes-bench --report"
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert put_into(page, results(docs / "benchmarks")) == page, "./hermes-bench --report"
