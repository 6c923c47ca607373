"""`/approve`, `/deny` and `/answer`: what a person says about exactly the call that waits (C63)."""

import re

from hermes.commands.elsewhere import by_owner, forwarded
from hermes.commands.words import quoted
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.events import QuestionAnswered
from hermes.core.people import Role, sender_of
from hermes.core.projection import QuestionRow
from hermes.core.rules import Busy
from hermes.core.session import CallState, chosen
from hermes.core.transcript import SAID_NO
from hermes.views.cards import OTHER, QUOTE, summary
from hermes.views.open_questions import wants_words
from hermes.views.session_names import short_key

NOTHING_WAITS = "No question is waiting for an answer."
NO_SUCH = "I do not know that question."
CLOSED = "That question is closed: {}."
SEVERAL = "Several questions are waiting. Name one by its id, or ask me in a private chat."
WHICH = "Several questions are waiting. Which one?"
NOT_A_YES = "I did not take that as a yes. /approve allows it once, /deny refuses it."
ONCE = "Allowed this once. “{}” is not possible for this call, so I will ask again."
ALWAYS = (
    "Allowed, now and for similar calls. `hermes approvals grants` lists what you have allowed."
)
FOR_SESSION = "Allowed, now and for similar calls in this conversation. /new ends that."
ASKED_YOU = "Nothing waits for permission. I asked you something: your next message is the answer."
NOT_ASKED = "I asked another person that. Only they can answer."
SAY_IT = "Then tell me in your own words: your next message is the answer."
ANSWERED = "That question is over: it has been answered."
OVER = "That question is over: no answer came in time, or the work was stopped."
WANTS_WORDS = "That question wants an answer, not permission: /answer {} YOUR WORDS"
WANTS_YES = "That question wants permission: /approve {0} or /deny {0}"
REASON_CHARS_MAX = 2_000
LISTED_MAX = 20
SESSIONS_MAX = 200  # sessions to look up titles for
ID = re.compile(r"[0-9a-f]{32}")  # an id of a question; `/deny covid-19 …` is a reason
FOR_FOLDER = (
    "Allowed, now and for other code in this folder, in the closed sandbox. "
    "`hermes approvals grants` lists what you have allowed."
)
YES = ("", "once", "session", "folder", "always")


async def _approve(call: CommandCall, context: CommandContext) -> CommandResult:
    id_, words = _given(call)
    asked, turn = _asked(call, id_), call.session.turn
    if words.lower() not in YES:
        return _said(call, NOT_A_YES)
    if asked is None or turn is None:
        return await _elsewhere(call, context, "/approve", id_, words)
    wanted = words.lower()
    always = asked.offer if wanted == "always" else None
    folder = asked.folder_offer if wanted == "folder" else None
    session = asked.session_offer if wanted == "session" else None
    answered = QuestionAnswered(
        turn=turn.id,
        call=asked.call.id,
        granted=True,
        epoch=call.epoch,
        at=call.at,
        by=sender_of(call.inbound).name,
        grant=always or folder,
        session_grant=session,
    )
    told = {
        "always": ALWAYS if always is not None else ONCE.format("Always"),
        "folder": FOR_FOLDER if folder is not None else ONCE.format("For this folder"),
        "session": FOR_SESSION if session is not None else ONCE.format("For this session"),
    }
    replies = (call.reply(told[wanted]),) if wanted in told else ()
    return CommandResult(events=(answered,), replies=replies)


async def _deny(call: CommandCall, context: CommandContext) -> CommandResult:
    id_, words = _given(call)
    asked, turn = _asked(call, id_), call.session.turn
    if asked is None or turn is None:
        return await _elsewhere(call, context, "/deny", id_, words)
    reason = f"{SAID_NO} Their reason: {words[:REASON_CHARS_MAX]}" if words else ""
    answered = QuestionAnswered(
        turn=turn.id,
        call=asked.call.id,
        granted=False,
        epoch=call.epoch,
        at=call.at,
        text=reason,
        by=sender_of(call.inbound).name,
    )
    return CommandResult(events=(answered,))


def _given(call: CommandCall) -> tuple[str, str]:
    """Split the argument into the id of a question, or "", and the remaining words."""
    first, *rest = call.argument.split(None, 1) or [""]
    named = first and first in [asked.question for asked in call.session.questions]
    if named or ID.fullmatch(first):
        return first, "".join(rest)
    return "", call.argument


def _asked(call: CommandCall, id_: str, *, words: bool = False) -> CallState | None:
    """Return the named question of this session; the oldest one if none is named. One that wants
    `words` is another kind than one that wants a yes."""
    asked = [each for each in call.session.questions if each.wants_text is words]
    return next((each for each in asked if id_ in ("", each.question)), None)


async def _answer(call: CommandCall, context: CommandContext) -> CommandResult:
    """Give the words that a call waits for. Only the person who was asked may; the owner is the
    same person wherever they speak."""
    id_, words = _given(call)
    asked, turn = _asked(call, id_, words=True), call.session.turn
    if asked is None or turn is None:
        return await _elsewhere(call, context, "/answer", id_, words)
    by = sender_of(call.inbound).name
    owners = call.role is Role.OWNER and call.role_of_turn is Role.OWNER
    if by != asked.asked and not owners:
        return _said(call, NOT_ASKED)
    if not words or words.lower() == OTHER.lower():
        return _said(call, SAY_IT)
    told = chosen(asked, words)
    answered = QuestionAnswered(turn.id, asked.call.id, True, call.epoch, call.at, told, by)
    return CommandResult(events=(answered,))


async def _elsewhere(
    call: CommandCall, context: CommandContext, name: str, id_: str, words: str
) -> CommandResult:
    """Answer a question of another session, or say that there is none."""
    library, kind = context.store.library, name == "/answer"
    if id_:
        row = await library.question(id_)
        waits = [row] if row is not None and row.state == "pending" else []
        if not waits:
            return _said(call, NO_SUCH if row is None else _over(row, wanted=kind))
        if await wants_words(context.store.journal, waits[0]) is not kind:
            return _said(call, WANTS_WORDS.format(id_) if not kind else WANTS_YES.format(id_))
    else:
        rows = await library.questions(limit=LISTED_MAX, pending=True)
        waits = [r for r in rows if await wants_words(context.store.journal, r) is kind]
    if not waits:
        own = any(asked.wants_text for asked in call.session.questions)
        return _said(call, ASKED_YOU if own else NOTHING_WAITS)
    if len(waits) > 1 and not by_owner(call):
        return _said(call, SEVERAL)
    if len(waits) > 1:
        titles = {row.key: row.title for row in await library.sessions(limit=SESSIONS_MAX)}
        lines = [_choice(name, row, titles.get(row.key, "")) for row in waits]
        return _said(call, "\n".join([WHICH, *lines]))
    [row] = waits
    if row.key == call.session.key:  # it was replaced a moment ago
        return _said(call, CLOSED.format("another question replaced it"))
    await context.accept(forwarded(call, row.key, f"{name} {row.id} {words}".strip()))
    return CommandResult()


def _over(row: QuestionRow, *, wanted: bool) -> str:
    if not wanted:
        return CLOSED.format(_ending(row))
    return ANSWERED if row.state in ("approved", "used") else OVER


def _choice(name: str, row: QuestionRow, title: str) -> str:
    """Describe a question: its command, its session, and what to type to answer it."""
    where = short_key(row.key).replace(":", " ")
    where = f"{quoted(title)} ({where})" if title else where
    return f"\n{QUOTE}{summary(row.preview)}\nSession: {where}\n{name} {row.id}"


def _ending(row: QuestionRow) -> str:
    by = f" by {row.decided_by}" if row.decided_by else ""
    return f"{row.state}{by}"


def _said(call: CommandCall, text: str) -> CommandResult:
    return CommandResult(replies=(call.reply(text),))


QUESTION_COMMANDS = (
    Command(
        name="/approve",
        busy=Busy.NOW,
        summary="Allow the waiting call, or the one you name; add session or always to allow "
        "similar calls too",
        run_async=_approve,
        argument="[ID] [session|always]",
    ),
    Command(
        name="/deny",
        busy=Busy.NOW,
        summary="Refuse the waiting call, with a reason if you like",
        run_async=_deny,
        argument="[ID] [REASON]",
    ),
    Command(
        name="/answer",
        busy=Busy.NOW,
        summary="Answer the question that waits, by the number of a choice or in your own words",
        run_async=_answer,
        argument="[ID] TEXT",
        least=Role.MEMBER,
    ),
)
