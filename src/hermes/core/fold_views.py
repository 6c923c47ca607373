"""How events change what a model reads of a session: another view, or a summary. Part of `fold`."""

from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.errors import Refused
from hermes.core.messages import Spent
from hermes.core.provenance import labelled
from hermes.core.session import Compaction, Session


def view_changed(session: Session, event: e.ViewChanged) -> Session:
    at = session.position + 1
    return replace(session, view=event.view, viewed_at=at, filled=0, compaction=Compaction())


def compaction_asked(session: Session, event: e.CompactionAsked) -> Session:
    overflows = session.compaction.overflows + (event.address is None)
    compaction = replace(session.compaction, wanted=event, overflows=overflows)
    return replace(session, compaction=compaction)


def compacted(session: Session, event: e.Compacted) -> Session:
    demand(session.viewed_at == event.of, "another view was summed up")
    return replace(
        session,
        view=labelled(event.view, session.view.labels),
        viewed_at=session.position + 1,
        filled=event.tokens,
        used=session.used + cost(event.spent),
        compaction=Compaction(overflows=session.compaction.overflows),
    )


def compaction_failed(session: Session, event: e.CompactionFailed) -> Session:
    demand(session.viewed_at == event.of, "another view was summed up")
    failed = Compaction(
        failures=session.compaction.failures + 1,
        not_before=event.not_before,
        overflows=session.compaction.overflows,
    )
    return replace(session, compaction=failed, used=session.used + cost(event.spent))


def cost(spent: tuple[Spent, ...]) -> int:
    return sum(each.usage.input + each.usage.output for each in spent)


def demand(holds: bool, else_: str) -> None:
    if not holds:
        raise Refused(else_)
