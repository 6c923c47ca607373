"""`/agents`: the subagents that work for this chat; look at one, or stop it."""

from collections.abc import Sequence

from hermes.commands.elsewhere import LANES_MAX, forwarded, may_decide
from hermes.commands.words import counted, first_words, lasting
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.child_sessions import CALL, CHILD
from hermes.core.ids import SessionKey, platform_of
from hermes.core.messages import Line
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Session, Turn
from hermes.views.amounts import tokens
from hermes.views.call_line import compact
from hermes.views.families import short_id

NOTHING = "No subagents are working for this chat."
USAGE = "/agents lists them. /agents tail ID shows the latest of one, /agents stop ID|all ends it."
UNKNOWN = "I do not know the subagent “{}”. /agents lists those that are running."
TAIL_LINES = 6
TAIL_CHARS = 200


async def _agents(order: CommandCall, context: CommandContext) -> CommandResult:
    word, _, name = order.argument.partition(" ")
    at_work = await _at_work(order.session.key, context)
    match word.lower():
        case "":
            text = _listed(at_work, order.at)
        case "tail" if name.strip():
            text = await _tail(_named(at_work, name.strip()), name.strip(), context)
        case "stop" if name.strip():
            return await _stopped(order, context, at_work, name.strip())
        case _:
            text = USAGE
    return CommandResult(replies=(order.reply(text),))


async def _at_work(key: SessionKey, context: CommandContext) -> list[tuple[int, Session, Turn]]:
    """All that work for this session, directly or for one of those; each with its depth."""
    library, journal = context.store.library, context.store.journal
    rows = [
        *await library.in_phase("running", limit=LANES_MAX),
        *await library.in_phase("asking", limit=LANES_MAX),
    ]
    keys = [row.key for row in rows if platform_of(row.key) == CHILD]
    children = [await journal.load(key) for key in keys]
    return _below(key, [s for s in children if s.turn is not None], 0)


def _below(
    key: SessionKey, every: Sequence[Session], depth: int
) -> list[tuple[int, Session, Turn]]:
    found: list[tuple[int, Session, Turn]] = []
    for session in sorted(every, key=lambda each: each.key):
        turn = session.turn
        if turn is not None and (turn.address.platform, turn.address.chat) == (CALL, key):
            found.append((depth, session, turn))
            found += _below(session.key, every, depth + 1)
    return found


def _listed(at_work: Sequence[tuple[int, Session, Turn]], now: float) -> str:
    if not at_work:
        return NOTHING
    lines = [_line(depth, session, turn, now) for depth, session, turn in at_work]
    return "\n".join([f"{counted(len(lines), 'subagent')} running:", *lines, USAGE])


def _line(depth: int, session: Session, turn: Turn, now: float) -> str:
    doing = "waits for an answer" if session.questions else _doing(session, turn)
    behind = " (background)" if turn.options.report_to is not None else ""
    about = first_words(turn.options.title) or "a task"
    spent = f"{lasting(now - turn.started_at)}, {tokens(turn.tokens)} tokens"
    return f"{'  ' * depth}- {short_id(session.key)} {about}{behind}: {doing}, {spent}"


def _doing(session: Session, turn: Turn) -> str:
    if session.children:
        return f"waits for {counted(len(session.children), 'subagent')}"
    calls = [track.call for track in turn.call_states if track.stage.value != "ended"]
    return compact(calls[0], TAIL_CHARS // 4) if calls else "thinks"


def _named(at_work: Sequence[tuple[int, Session, Turn]], name: str) -> list[tuple[Session, Turn]]:
    """Those whose name ends so; all of them for `all`."""
    return [(s, turn) for _, s, turn in at_work if name == "all" or s.key.endswith(name)]


async def _tail(found: list[tuple[Session, Turn]], name: str, context: CommandContext) -> str:
    if not found:
        return UNKNOWN.format(name)
    session, turn = found[0]
    lines = await context.store.journal.lines(session.view.spans)
    shown = [_told(line) for line in lines[-TAIL_LINES:]]
    return "\n".join([f"{short_id(session.key)} {turn.options.title}", *filter(None, shown)])


def _told(line: Line) -> str:
    calls = "; ".join(compact(call, TAIL_CHARS // 2) for call in line.calls)
    text = first_words(line.text, TAIL_CHARS) if line.text else calls
    return f"{line.role}: {text}" if text else ""


async def _stopped(
    order: CommandCall,
    context: CommandContext,
    at_work: Sequence[tuple[int, Session, Turn]],
    name: str,
) -> CommandResult:
    mine = [(s, turn) for s, turn in _named(at_work, name) if may_decide(order, turn)]
    if not mine:
        text = UNKNOWN.format(name) if name != "all" else NOTHING
        return CommandResult(replies=(order.reply(text),))
    for session, turn in mine:
        await context.accept(forwarded(order, session.key, f"/stop {turn.id}"))
    return CommandResult(replies=(order.reply(f"Stopping {counted(len(mine), 'subagent')}."),))


AGENTS_COMMAND = Command(
    name="/agents",
    least=Role.PAIRED,
    busy=Busy.NOW,
    summary="List the running subagents of this chat; look at one, or stop it",
    run_async=_agents,
    argument="[stop ID|all, tail ID]",
)
