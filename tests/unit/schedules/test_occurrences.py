"""Which occurrences run and which do not is decided purely, and nothing is left without a fact."""

from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ids import SessionId
from hermes.core.job_events import JobSet
from hermes.core.job_rows import row_after
from hermes.core.jobs import Job, JobRow, Missed, Overlap, job_key
from hermes.core.schedule import Schedule, dues_between
from hermes.schedules.occurrences import DueDecision, OccurrenceRules, Standing, decide

T0, STEP = 1_800_000_000.0, 600.0
DAY = OccurrenceRules()


def row(missed: Missed = "once", overlap: Overlap = "skip") -> JobRow:
    schedule = Schedule(text="every 10m", kind="interval", zone="UTC", anchor=T0, step=STEP)
    job = Job(id="j", name="j", schedule=schedule, missed=missed, overlap=overlap)
    made = row_after(None, job_key("j"), JobSet(job, "owner", T0, SessionId("c")))
    assert made is not None
    return made


def covered(decision: DueDecision) -> int:
    return len(decision.run) + sum(fact.count for fact in decision.skip)


@given(
    late=st.floats(0, 40 * 86_400),
    missed=st.sampled_from(["once", "all", "skip"]),
    overlap=st.sampled_from(["skip", "queue"]),
    standing=st.sampled_from(["free", "runs", "waits", "asks"]),
    left=st.none() | st.integers(0, 3),
)
def test_every_due_occurrence_runs_or_has_a_fact(
    late: float, missed: Missed, overlap: Overlap, standing: Standing, left: int | None
) -> None:
    here, now = row(missed, overlap), T0 + STEP + late
    decision = decide(here, now, standing, left, DAY)
    dues = dues_between(here.job.schedule, T0, now, 100_000)
    assert covered(decision) == len(dues)
    assert set(decision.run) <= set(dues)
    assert all(now - due <= DAY.late_max_s + 1 for due in decision.run)
    ends = [each if isinstance(each, float) else each.last for each in decision.in_order]
    assert ends == sorted(ends), "what is written later never passes over what runs earlier"
    assert ends[-1] == dues[-1], "nothing stays due"
    if left is not None:
        assert len(decision.run) <= left
    if standing in ("asks", "waits"):
        assert decision.run == ()


def test_of_what_was_missed_the_latest_runs() -> None:
    decision = decide(row("once"), T0 + 5 * STEP + 90, "free", None, DAY)
    assert decision.run == (T0 + 5 * STEP,)
    [fact] = decision.skip
    assert (fact.first, fact.last, fact.count) == (T0 + STEP, T0 + 4 * STEP, 4)


def test_all_that_was_missed_runs_up_to_a_bound() -> None:
    decision = decide(row("all"), T0 + 100 * STEP, "free", None, DAY)
    assert decision.run == tuple(T0 + n * STEP for n in range(77, 101))


def test_what_was_missed_is_skipped_if_the_job_says_so() -> None:
    late = decide(row("skip"), T0 + 3 * STEP + 90, "free", None, DAY)
    assert late.run == ()
    on_time = decide(row("skip"), T0 + 3 * STEP + 5, "free", None, DAY)
    assert on_time.run == (T0 + 3 * STEP,)
