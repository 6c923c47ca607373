"""Commands about conversations: begin one, name it, list them, go back to one."""

from collections.abc import Sequence

from hermes.commands.past import last_view
from hermes.commands.turns import interrupted, last_words
from hermes.commands.words import ago, counted, first_words, quoted
from hermes.core.channel import Command, Desk, Obeyed, Order
from hermes.core.events import Event, FactSet, SessionReset
from hermes.core.ids import MAIN_AGENT
from hermes.core.people import Role
from hermes.core.recall import marked, scope_of
from hermes.core.rules import Busy
from hermes.core.session import Suspended
from hermes.core.store import ConversationRow, Hit, SessionRow

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
HOW_TO_PICK = "/resume and its number brings one back; so does its title, or the start of its id."


def _new(order: Order) -> Obeyed:
    reset = SessionReset(order.new_session(), "asked for by /new", order.at)
    return Obeyed(events=(*interrupted(order, "reset"), reset), replies=last_words(order, NEW))


async def _resume(order: Order, desk: Desk) -> Obeyed:
    rows = await _earlier(order, desk)
    if not rows:
        return _said(order, NONE_BEFORE)
    numbered = list(enumerate(rows, 1))
    if not order.argument:
        shown = _numbered(numbered[:LISTED_MAX], order.at)
        return _said(order, f"Earlier conversations here:\n{shown}\n{HOW_TO_PICK}")
    meant = _meant(rows, order.argument)
    if len(meant) == 1:
        return await _brought_back(order, desk, meant[0])
    if not meant:
        shown = _numbered(numbered[:LISTED_MAX], order.at)
        return _said(order, f"None is called {quoted(order.argument)}. There are:\n{shown}")
    several = [(number, row) for number, row in numbered if row in meant]
    shown = _numbered(several[:LISTED_MAX], order.at)
    return _said(order, f"{quoted(order.argument)} could be one of these:\n{shown}\n{HOW_TO_PICK}")


async def _earlier(order: Order, desk: Desk) -> list[ConversationRow]:
    """The latest first. A parked one counts as earlier: the next message leaves it."""
    session = order.session
    rows = await desk.store.library.conversations(session.key, limit=SEARCHED_MAX)
    parked = isinstance(session.phase, Suspended)
    first = [row for row in rows if row.id == session.id and parked]
    return [*first, *(row for row in rows if row.id != session.id)]


def _meant(rows: Sequence[ConversationRow], name: str) -> list[ConversationRow]:
    """By number, then by id or title, then by the beginning of one, then by a word of a title."""
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


async def _brought_back(order: Order, desk: Desk, row: ConversationRow) -> Obeyed:
    view = await last_view(order.session, row, desk)
    why = f"{row.id} was brought back by /resume"
    reset = SessionReset(order.new_session(), why, order.at, view)
    titled: tuple[Event, ...] = (FactSet("title", row.title, order.at),) if row.title else ()
    text = f"Back in {_name(row)} ({counted(row.rows, 'message')})."
    events = (*interrupted(order, "reset"), reset, *titled)
    return Obeyed(events=events, replies=last_words(order, text))


def _numbered(rows: Sequence[tuple[int, ConversationRow]], now: float) -> str:
    return "\n".join(f"{number}. {_described(row, now)}" for number, row in rows)


def _described(row: ConversationRow, now: float) -> str:
    return f"{_name(row)} ({counted(row.rows, 'message')}, {ago(row.at, now)})"


def _name(row: ConversationRow) -> str:
    return quoted(row.title or row.opening or row.id)


async def _sessions(order: Order, desk: Desk) -> Obeyed:
    """Lanes of other chats are the owner's to see."""
    if order.argument:
        return await _searched(order, desk)
    rows = await desk.store.library.conversations(order.session.key, limit=LISTED_MAX)
    here = [f"- {_described(row, order.at)}{_place(order, row)}" for row in rows]
    parts = ["Conversations here:", *(here or ["- none yet"])]
    if scope_of(order.session.key).width == "all":
        lanes = await desk.store.library.sessions(limit=LISTED_MAX)
        parts += ["Sessions everywhere:", *(f"- {_lane(lane, order.at)}" for lane in lanes)]
    return _said(order, "\n".join([*parts, "/resume goes back to an earlier conversation."]))


async def _searched(order: Order, desk: Desk) -> Obeyed:
    word, _, question = order.argument.partition(" ")
    if word.lower() != "search" or not question.strip():
        return _said(order, HOW_TO_SEARCH)
    scope = scope_of(order.session.key)
    found = await desk.store.library.search(question, scope=scope, limit=LISTED_MAX)
    lines = [_hit(hit, order.at) for hit in found.hits]
    if not lines:
        lines = [f"{quoted(question)} was not found."]
    elif any(hit.key == order.session.key for hit in found.hits):
        lines.append("/resume and an id goes back to a conversation of this chat.")
    return _said(order, "\n".join([*lines, *found.notes]))


def _hit(hit: Hit, now: float) -> str:
    lane, who = hit.key.removeprefix(f"agent:{MAIN_AGENT}:"), hit.sender or hit.role
    shown = first_words(marked(hit.excerpt, hit.marks), EXCERPT_CHARS_MAX)
    return f"- {who}, {ago(hit.at, now)}, {lane}, {hit.id}: {shown}"


def _place(order: Order, row: ConversationRow) -> str:
    return ", this one" if row.id == order.session.id else ""


def _lane(row: SessionRow, now: float) -> str:
    name = row.key.removeprefix(f"agent:{MAIN_AGENT}:")
    title = f" {quoted(row.title)}" if row.title else ""
    return f"{name}{title}: {row.phase}, {counted(row.rows, 'message')}, {ago(row.updated_at, now)}"


def _title(order: Order) -> Obeyed:
    title = " ".join("".join(c if c.isprintable() else " " for c in order.argument).split())
    if len(title) > TITLE_CHARS_MAX:
        limit = f"A title has at most {TITLE_CHARS_MAX} characters; this one has {len(title)}."
        return _said(order, limit)
    if title:
        named = FactSet("title", title, order.at)
        return Obeyed(events=(named,), replies=(order.reply(f"Its title is “{title}” now."),))
    current = order.session.facts.get("title", "")
    if not current:
        return _said(order, "This conversation has no title. /title TEXT gives it one.")
    return _said(order, f"This conversation is called “{current}”. /title TEXT changes that.")


def _said(order: Order, text: str) -> Obeyed:
    return Obeyed(replies=(order.reply(text),))


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
        summary="Go back to an earlier conversation; alone it lists them",
        look=_resume,
        argument="[NAME]",
    ),
    Command(
        name="/sessions",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="List the conversations, or search them",
        look=_sessions,
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
