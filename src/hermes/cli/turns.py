"""hermes turns list, show: what the agent did, turn by turn and step by step."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict

from hermes.cli import turns_grammar as grammar
from hermes.cli.errors import DONE
from hermes.cli.lanes import called
from hermes.cli.names import found
from hermes.cli.place import Place
from hermes.cli.stored import events_of, looked_at, needed
from hermes.cli.times import ago, iso, took
from hermes.core.errors import Rejected
from hermes.core.events import Event, TurnEnded, TurnInterrupted
from hermes.core.ids import TurnId
from hermes.core.messages import Call, Usage
from hermes.core.projection import TurnRow
from hermes.core.store import Store
from hermes.views.call_line import compact, cut
from hermes.views.turn_story import StepRow, story, total

RECENT_MAX = 1_000  # turns among which the beginning of an id is looked for
WHAT_CHARS = 60


def run_list(given: grammar.Listing, place: Place) -> int:
    return asyncio.run(_list(given, place))


def run_show(given: grammar.Named, place: Place) -> int:
    return asyncio.run(_show(given, place))


async def turn_events(store: Store, turn: TurnRow) -> Sequence[Event]:
    """From the turn's first event to its last; those of others may stand between."""
    events: list[Event] = []
    async for event in events_of(store, turn.key, after=turn.first - 1):
        events.append(event)
        if isinstance(event, TurnEnded | TurnInterrupted) and event.turn == turn.id:
            break
    return events


async def _list(given: grammar.Listing, place: Place) -> int:
    turns: Sequence[TurnRow] = []
    async with looked_at(place) as store:
        if store is not None:
            key = (await found(store, given.session)).key if given.session else None
            turns = await store.library.turns(limit=given.limit, key=key)
    if given.json:
        place.console.document([document(turn) for turn in turns])
    elif not turns:
        place.console.tell("No turns yet. Say something: hermes chat -q hello")
    else:
        now = place.clock()
        cells = [
            (t.id, t.state, str(t.attempts), ago(t.started_at, now), _time(t), called(t.key))
            for t in turns
        ]
        place.console.table(("TURN", "STATE", "RUNS", "STARTED", "TOOK", "SESSION"), cells)
    return DONE


async def _show(given: grammar.Named, place: Place) -> int:
    async with needed(place) as store:
        turn = await _turn(store, given.name)
        steps = story(await turn_events(store, turn))
    if given.json:
        shown = {**document(turn), "steps": [step_document(step) for step in steps]}
        place.console.document({**shown, "usage": asdict(total(steps))})
        return DONE
    now, say = place.clock(), place.console.say
    place.console.head(f"turn {turn.id}: {turn.state}")
    say(f"session   {called(turn.key)}, conversation {turn.session}")
    say(f"started   {ago(turn.started_at, now)}, took {_time(turn)}, runs: {turn.attempts}")
    say(f"tokens    {_tokens(total(steps))}\n")
    if steps:
        cells = [_cells(n, step) for n, step in enumerate(steps, start=1)]
        place.console.table(("", "STEP", "STATE", "EFFECT", "TOOK", "WHAT"), cells)
    else:
        say("No step has ended yet.")
    return DONE


async def _turn(store: Store, name: str) -> TurnRow:
    exact = await store.library.turn(TurnId(name))
    if exact is not None:
        return exact
    recent = await store.library.turns(limit=RECENT_MAX) if name else []
    near = [turn for turn in recent if turn.id.startswith(name)]
    if len(near) == 1:
        return near[0]
    problem = f"“{name}” fits {len(near)} turns" if near else f"there is no turn “{name}”"
    raise Rejected(f"{problem}. See: hermes turns list")


def _cells(number: int, step: StepRow) -> tuple[str, ...]:
    outcome = step.outcome.value if step.outcome is not None else ""
    state = step.state if outcome in ("", "ok", "unknown") else f"{step.state}, {outcome}"
    if step.starts > 1:
        state += f", begun {step.starts} times"
    span = ""
    if step.started_at is not None and step.ended_at is not None:
        span = took(step.ended_at - step.started_at)
    if step.kind == "model":
        what = f"{step.name}: {_tokens(step.usage or Usage())}"
    else:
        what = cut(
            compact(Call(id=step.call, tool=step.name, arguments=step.arguments)), WHAT_CHARS
        )
    effect = step.effect.value if step.effect is not None else ""
    return (str(number), step.kind, state, effect, span, what)


def _tokens(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    return f"{usage.input:,} in ({usage.cached:,} cached), {usage.output:,} out{cost}"


def _time(turn: TurnRow) -> str:
    return took(turn.ended_at - turn.started_at) if turn.ended_at is not None else "still open"


def document(turn: TurnRow) -> Mapping[str, object]:
    return {
        "id": turn.id,
        "session": turn.key,
        "session_id": turn.session,
        "state": turn.state,
        "attempts": turn.attempts,
        "started_at": iso(turn.started_at),
        "ended_at": iso(turn.ended_at),
    }


def step_document(step: StepRow) -> Mapping[str, object]:
    shown: dict[str, object] = {
        "kind": step.kind,
        "name": step.name,
        "state": step.state,
        "effect": step.effect,
        "outcome": step.outcome,
        "starts": step.starts,
        "started_at": iso(step.started_at),
        "ended_at": iso(step.ended_at),
    }
    if step.kind == "tool":
        return {**shown, "call": step.call, "arguments": step.arguments}
    return {**shown, "usage": asdict(step.usage or Usage())}
