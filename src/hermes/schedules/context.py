"""The last answers of other jobs, which a run reads in front of its own prompt."""

from hermes.core.events import Span
from hermes.core.ids import SessionKey
from hermes.core.jobs import Job
from hermes.core.store import Store
from hermes.schedules.occurrence_messages import EarlierAnswer

TURNS_LOOKED_AT = 20


async def earlier_answers(store: Store, job: Job) -> list[EarlierAnswer]:
    """Return an answer for each job that is named and has one. A job that is gone has none."""
    found: list[EarlierAnswer] = []
    for id_ in job.context_from:
        row = await store.jobs.job(id_)
        answer = await _last_answer(store, row.job.name, row.key) if row is not None else None
        found += [answer] if answer is not None else []
    return found


async def _last_answer(store: Store, name: str, key: SessionKey) -> EarlierAnswer | None:
    for turn in await store.library.turns(limit=TURNS_LOOKED_AT, key=key):
        if turn.state != "answered":
            continue
        lines = await store.journal.lines([Span(turn.session)])
        said = [line for line in lines if line.turn == turn.id and line.role == "assistant"]
        if said and said[-1].text.strip():
            labels = {label for line in lines for label in line.labels}
            return EarlierAnswer(name, said[-1].text, tuple(sorted(labels)))
    return None
