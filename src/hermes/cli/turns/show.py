"""hermes turns show: show what a turn did, step by step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.cli.output.times import ago, iso, took
from hermes.cli.turns.rows import document, time_taken, turn_events
from hermes.core.child_sessions import child_key
from hermes.core.errors import Rejected
from hermes.core.ids import CallId, TurnId
from hermes.core.messages import Call, Usage
from hermes.core.projection import TurnRow
from hermes.core.store import Store
from hermes.views.amounts import tokens
from hermes.views.call_line import compact, cut
from hermes.views.families import DELEGATE, TurnFamily, families_of
from hermes.views.turn_story import StepRow, story, total

if TYPE_CHECKING:
    from argparse import ArgumentParser


SCRIPT = "execute_code"  # the tool whose calls make calls
RECENT_MAX = 1_000  # turns among which the beginning of an id is looked for
WHAT_CHARS = 60


class TurnsShowOptions(JsonOptions):
    name: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("name", metavar="ID", help="a turn's id, or the first characters of it")
    json_option(parser)


async def run(options: TurnsShowOptions, context: CliContext) -> int:
    async with open_required_store(context) as store:
        turn = await _turn(store, options.name)
        steps = story(await turn_events(store, turn))
        calls = [step.call for step in steps if step.name == DELEGATE]
        families = await families_of(store, calls)
        inside = {step.call: await _inside(store, step) for step in steps if step.name == SCRIPT}
    if options.json:
        listed = [step_document(step, inside.get(step.call)) for step in steps]
        shown = {**document(turn), "steps": listed}
        shown["children"] = [family_document(family) for family in families]
        context.console.document({**shown, "usage": asdict(total(steps))})
        return DONE
    now, say = context.clock(), context.console.say
    context.console.head(f"turn {turn.id}: {turn.state}")
    say(f"session   {session_name(turn.key)}, conversation {turn.session}")
    say(f"started   {ago(turn.started_at, now)}, took {time_taken(turn)}, runs: {turn.attempts}")
    say(f"tokens    {_tokens(total(steps))}\n")
    if steps:
        cells = list(_rows(steps, inside))
        context.console.table(("", "STEP", "STATE", "EFFECT", "TOOK", "WHAT"), cells)
    else:
        say("No step has ended yet.")
    if families:
        say("\nsubagents")
        context.console.table(("TURN", "STATE", "TOOK", "TOKENS", "TASK"), list(_tree(families)))
    return DONE


async def _inside(store: Store, step: StepRow) -> tuple[StepRow, ...]:
    """Return the calls that a script made."""
    turns = await store.library.turns(limit=1, key=child_key(step.call))
    made = [story(await turn_events(store, turn)) for turn in turns]
    return tuple(each for steps in made for each in steps if each.kind == "tool")


def _rows(
    steps: Sequence[StepRow], inside: Mapping[CallId, tuple[StepRow, ...]]
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each step, the calls of a script indented below it."""
    for number, step in enumerate(steps, start=1):
        yield _cells(str(number), step)
        for n, each in enumerate(inside.get(step.call, ()), start=1):
            yield _cells(f"{number}.{n}", each, indent="└ ")


def _tree(families: Sequence[TurnFamily], depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield a row for each, those that worked for it indented below it."""
    for family in families:
        turn, indent = family.turn, f"└{'─' * (2 * depth - 1)} " if depth else ""
        spent = tokens(family.usage.input + family.usage.output)
        task = cut(family.title, WHAT_CHARS)
        yield turn.id, turn.state, time_taken(turn), spent, f"{indent}{task}"
        yield from _tree(family.children, depth + 1)


def family_document(family: TurnFamily) -> Mapping[str, object]:
    return {
        **document(family.turn),
        "call": family.call,
        "task": family.title,
        "usage": asdict(family.usage),
        "children": [family_document(child) for child in family.children],
    }


async def _turn(store: Store, name: str) -> TurnRow:
    exact = await store.library.turn(TurnId(name))
    if exact is not None:
        return exact
    recent = await store.library.turns(limit=RECENT_MAX) if name else []
    near = [turn for turn in recent if turn.id.startswith(name)]
    if len(near) == 1:
        return near[0]
    problem = f"“{name}” matches {len(near)} turns" if near else f"there is no turn “{name}”"
    raise Rejected(f"{problem}. See: hermes turns list")


def _cells(number: str, step: StepRow, indent: str = "") -> tuple[str, ...]:
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
    return (number, step.kind, state, effect, span, f"{indent}{what}")


def _tokens(usage: Usage) -> str:
    cost = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    return f"{usage.input:,} in ({usage.cached:,} cached), {usage.output:,} out{cost}"


def step_document(step: StepRow, inside: Sequence[StepRow] | None = None) -> Mapping[str, object]:
    """With the calls that a script made, for the call that ran it."""
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
        shown |= {"call": step.call, "arguments": step.arguments}
        more = {} if inside is None else {"calls": [step_document(each) for each in inside]}
        return {**shown, **more}
    return {**shown, "usage": asdict(step.usage or Usage())}


COMMAND = CliCommand(
    options=TurnsShowOptions,
    run=run,
    arguments=_arguments,
)
