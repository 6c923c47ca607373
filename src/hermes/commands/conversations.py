"""Commands about conversations: start, name, list, search and resume them."""

from collections.abc import Sequence

from hermes.commands.past import last_view
from hermes.commands.turns import interrupted, last_words
from hermes.commands.words import ago, counted, first_words, quoted
from hermes.core.budget import tokens_of, tokens_of_line
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.events import Event, FactSet, SessionReset
from hermes.core.ids import platform_of
from hermes.core.people import Role, sender_of
from hermes.core.recall import Scope, marked, scope_of
from hermes.core.rules import Busy
from hermes.core.session import Suspended
from hermes.core.store import ConversationRow, Hit, SessionRow
from hermes.views.session_names import short_key

LISTED_MAX = 10
SEARCHED_MAX = 100
TITLE_CHARS_MAX = 80
EXCERPT_CHARS_MAX = 240
NEW = "A new conversation."
NONE_BEFORE = "There is no earlier conversation here."
HOW_TO_SEARCH = (
    "/sessions lists the conversations. /sessions search WORDS finds messages with all the words; "
    '"a phrase", -without and begin* are understood.'
)
HOW_TO_PICK = "Use /resume with its number, its title or the start of its id."


def _new(call: CommandCall) -> CommandResult:
    reset = SessionReset(call.new_session(), "asked for by /new", call.at)
    return CommandResult(events=(*interrupted(call, "reset"), reset), replies=last_words(call, NEW))


async def _resume(call: CommandCall, context: CommandContext) -> CommandResult:
    rows = await _earlier(call, context)
    if not rows:
        return _said(call, NONE_BEFORE)
    numbered = list(enumerate(rows, 1))
    if not call.argument:
        shown = _numbered(numbered[:LISTED_MAX], call.at)
        return _said(call, f"Earlier conversations here:\n{shown}\n{HOW_TO_PICK}")
    meant = _meant(rows, call.argument)
    if len(meant) == 1:
        return await _brought_back(call, context, meant[0])
    if not meant:
        shown = _numbered(numbered[:LISTED_MAX], call.at)
        return _said(
            call, f"There is no conversation called {quoted(call.argument)}. There are:\n{shown}"
        )
    several = [(number, row) for number, row in numbered if row in meant]
    shown = _numbered(several[:LISTED_MAX], call.at)
    return _said(
        call, f"{quoted(call.argument)} matches several conversations:\n{shown}\n{HOW_TO_PICK}"
    )


async def _earlier(call: CommandCall, context: CommandContext) -> list[ConversationRow]:
    """Return earlier conversations, the latest first, including the suspended one: the next message
    leaves it."""
    session = call.session
    rows = await context.store.library.conversations(session.key, limit=SEARCHED_MAX)
    parked = isinstance(session.phase, Suspended)
    first = [row for row in rows if row.id == session.id and parked]
    return [*first, *(row for row in rows if row.id != session.id)]


def _meant(rows: Sequence[ConversationRow], name: str) -> list[ConversationRow]:
    """Return the matches by number, then by id or title, then by prefix, then by a word of a
    title."""
    word = name.casefold()
    numbers = {str(number): row for number, row in enumerate(rows, 1)}
    if name in numbers:
        return [numbers[name]]
    ways = (
        lambda row: word in (row.id.casefold(), row.title.casefold()),
        lambda row: row.id.casefold().startswith(word) or row.title.casefold().startswith(word),
        lambda row: word in row.title.casefold(),
    )
    found = ([row for row in rows if fits(row)] for fits in ways)
    return next((some for some in found if some), [])


async def _brought_back(
    call: CommandCall, context: CommandContext, row: ConversationRow
) -> CommandResult:
    view = await last_view(call.session, row, context)
    why = f"{row.id} was brought back by /resume"
    lines = await context.store.journal.lines(view.spans)
    filled = tokens_of(view.summary) + sum(tokens_of_line(line) for line in lines)
    reset = SessionReset(call.new_session(), why, call.at, view, filled=filled)
    titled: tuple[Event, ...] = (FactSet("title", row.title, call.at),) if row.title else ()
    text = f"Back in {_name(row)} ({counted(row.rows, 'message')})."
    events = (*interrupted(call, "reset"), reset, *titled)
    return CommandResult(events=events, replies=last_words(call, text))


def _numbered(rows: Sequence[tuple[int, ConversationRow]], now: float) -> str:
    return "\n".join(f"{number}. {_described(row, now)}" for number, row in rows)


def _described(row: ConversationRow, now: float) -> str:
    return f"{_name(row)} ({counted(row.rows, 'message')}, {ago(row.at, now)})"


def _name(row: ConversationRow) -> str:
    return quoted(row.title or row.opening or row.id)


async def _sessions(call: CommandCall, context: CommandContext) -> CommandResult:
    """List or search conversations. Only the owner sees those of other chats."""
    if call.argument:
        return await _searched(call, context)
    rows = await context.store.library.conversations(call.session.key, limit=LISTED_MAX)
    here = [f"- {_described(row, call.at)}{_place(call, row)}" for row in rows]
    parts = ["Conversations here:", *(here or ["- none yet"])]
    if _scope(call, context).width == "all":
        lanes = await context.store.library.sessions(limit=LISTED_MAX)
        parts += ["Sessions everywhere:", *(f"- {_lane(lane, call.at)}" for lane in lanes)]
    return _said(call, "\n".join([*parts, "/resume opens an earlier conversation."]))


async def _searched(call: CommandCall, context: CommandContext) -> CommandResult:
    word, _, question = call.argument.partition(" ")
    if word.lower() != "search" or not question.strip():
        return _said(call, HOW_TO_SEARCH)
    scope = _scope(call, context)
    found = await context.store.library.search(question, scope=scope, limit=LISTED_MAX)
    lines = [_hit(hit, call.at) for hit in found.hits]
    if not lines:
        lines = [f"{quoted(question)} was not found."]
    elif any(hit.key == call.session.key for hit in found.hits):
        lines.append("Use /resume with an id to open a conversation of this chat.")
    return _said(call, "\n".join([*lines, *found.notes]))


def _scope(call: CommandCall, context: CommandContext) -> Scope:
    key = call.session.key
    audience = context.audience(platform_of(key))
    return scope_of(key, audience, sender_of(call.inbound).is_direct)


def _hit(hit: Hit, now: float) -> str:
    lane, who = short_key(hit.key), hit.sender or hit.role
    shown = first_words(marked(hit.excerpt, hit.marks), EXCERPT_CHARS_MAX)
    return f"- {who}, {ago(hit.at, now)}, {lane}, {hit.id}: {shown}"


def _place(call: CommandCall, row: ConversationRow) -> str:
    return ", this one" if row.id == call.session.id else ""


def _lane(row: SessionRow, now: float) -> str:
    name = short_key(row.key)
    title = f" {quoted(row.title)}" if row.title else ""
    return f"{name}{title}: {row.phase}, {counted(row.rows, 'message')}, {ago(row.updated_at, now)}"


def _title(call: CommandCall) -> CommandResult:
    title = " ".join("".join(c if c.isprintable() else " " for c in call.argument).split())
    if len(title) > TITLE_CHARS_MAX:
        limit = f"A title has at most {TITLE_CHARS_MAX} characters; this one has {len(title)}."
        return _said(call, limit)
    if title:
        named = FactSet("title", title, call.at)
        return CommandResult(events=(named,), replies=(call.reply(f"The title is now “{title}”."),))
    current = call.session.facts.title
    if not current:
        return _said(call, "This conversation has no title. /title TEXT gives it one.")
    return _said(call, f"This conversation is called “{current}”. /title TEXT changes that.")


def _said(call: CommandCall, text: str) -> CommandResult:
    return CommandResult(replies=(call.reply(text),))


CONVERSATION_COMMANDS = (
    Command(
        name="/new",
        least=Role.MEMBER,
        busy=Busy.NOW,
        summary="Begin a new conversation",
        run=_new,
    ),
    Command(name="/reset", least=Role.MEMBER, busy=Busy.NOW, summary="The same as /new", run=_new),
    Command(
        name="/resume",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="Open an earlier conversation; alone it lists them",
        run_async=_resume,
        argument="[NAME]",
    ),
    Command(
        name="/sessions",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="List the conversations, or search them",
        run_async=_sessions,
        argument="[search WORDS]",
    ),
    Command(
        name="/title",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="Show the title of this conversation, or set it",
        run=_title,
        argument="[TEXT]",
    ),
)
