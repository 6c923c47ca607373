"""Render the approval card that asks the owner about a call.

A card is text for every surface: the window, a plain terminal, a chat, the API. What the call
brings stands behind a sign at the beginning of each line, so no line of it can pass for ours.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from hermes.core.grants import CODE, PATH, Grant, Profile, Template
from hermes.core.messages import Call
from hermes.core.people import Role
from hermes.core.policy import UNTRUSTED
from hermes.core.ports import Presented
from hermes.core.session import Session, Turn, speaker
from hermes.text.visible_text import visible_text
from hermes.views.amounts import cells_of

QUOTE = "│ "
EXPIRES = "Expires "
OTHER = "Something else"  # than the choices of a question
FOR_SESSION, ALWAYS = "“For this session” (until /new)", "“Always” (30 days)"
FOR_FOLDER = "“For this folder” (30 days)"
ALL_CODE = "any code there, in the closed sandbox, which hides private files"
SUMMARY_CHARS_MAX = 100
ALLOW_NETWORK = "hermes config set terminal.allow_hosts '[\"HOST\"]'"
_BOXES: dict[str, str] = {
    "read": "Sandbox: no network, and no file can be changed.",
    "write": "Sandbox: only the workspace can be changed. No network: allow a host with "
    f"{ALLOW_NETWORK}",
    "net": "Sandbox: network only to the hosts in terminal.allow_hosts; only the workspace can be "
    "changed.",
    "host": "No sandbox: this runs with your rights (terminal.sandbox: none).",
}
_ORIGINS = {
    "schedule": "a scheduled task",
    "boot": "the start of the gateway",
    "webhook": "a webhook",
    "parent": "a subagent",
    "background": "a background task",
    "review": "a review of a conversation",
}
_ROLES = {
    Role.OWNER: "you",
    Role.PAIRED: "a person you let in",
    Role.MEMBER: "a member of the group",
    Role.STRANGER: "a stranger",
}
_BACKTICKS = re.compile(r"`+")
_PLAIN = re.compile(r"(?:[A-Za-z0-9/.:@,=+ -]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9]))+")


class CardContext(Struct, frozen=True, kw_only=True):
    """What a card shows in addition to the call itself."""

    title: str  # "Run this command?"; "": derived from the tool's name
    why: str
    role: Role  # role of the person who started the turn
    at: float
    expires_at: float
    profile: Profile | str = ""  # the sandbox profile; "": the call needs none
    always: Grant | None = None
    session: Grant | None = None
    folder: Grant | None = None
    zone: bool = False  # it may be read in another time zone


def card(session: Session, turn: Turn, call: Call, seen: Presented, about: CardContext) -> str:
    """Render everything that a person needs to know before they approve a call."""
    lines = [about.title or f"Use the tool {code(call.tool)}?", "", *quoted(seen.text), ""]
    lines.append(f"Why: {_line(about.why)}")
    lines += [_line(note) for note in seen.notes]
    if about.profile:
        lines.append(_BOXES[about.profile])
    lines.append(f"Requested by: {_requested_by(session, turn, about.role)}")
    if read := _has_read(session):
        lines.append(f"This conversation has read: {read}")
    lines += _offers(about)
    lines.append(expiry(about.expires_at, about.at, zone=about.zone))
    return "\n".join(lines)


def quoted(text: str) -> list[str]:
    """Prefix each line with the quote sign. Call `visible_text` on the text first."""
    return [f"{QUOTE}{line}".rstrip() for line in text.splitlines() or [""]]


def summary(preview: str) -> str:
    """Return the subject of a card on one line: the command, or its beginning."""
    sign = QUOTE.rstrip()
    lines = (line.removeprefix(sign).strip() for line in preview.splitlines() if line[:1] == sign)
    text = " ⏎ ".join(line for line in lines if line) or preview.partition("\n")[0]
    return text if len(text) <= SUMMARY_CHARS_MAX else f"{text[: SUMMARY_CHARS_MAX - 1]}…"


def current(preview: str, expires_at: float, now: float) -> str:
    """Return the card with its expiry relative to now: "tomorrow" may have become today."""
    lines = preview.splitlines()
    return "\n".join(
        expiry(expires_at, now) if line.startswith(EXPIRES) and expires_at else line
        for line in lines
    )


def folded(text: str, width: int) -> list[str]:
    """Wrap the text to this width. Each part of a quoted line keeps the quote sign."""
    return [part for line in text.splitlines() for part in _folded(line, max(width, 8))]


def expiry(expires_at: float, now: float, *, zone: bool = False) -> str:
    then, today = (datetime.fromtimestamp(each).astimezone() for each in (expires_at, now))
    days = (then.date() - today.date()).days
    day = {0: "today", 1: "tomorrow"}.get(days) or then.strftime("on %A, %d %B")
    named = f" {then.tzname()}" if zone else ""
    return f"{EXPIRES}{day} at {then:%H:%M}{named}; no answer means no"


def code(text: str) -> str:
    """Return the text as inline code on one line, safe if it contains backticks."""
    shown = _line(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence, gap = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{gap}{shown}{gap}{fence}"


def named(text: str) -> str:
    """Return an untrusted name, as code if a chat would interpret marks in it."""
    return _line(text) if _PLAIN.fullmatch(text) else code(text)


def described(template: Template) -> str:
    """Return the command of a pattern, with paths relative to its folder."""
    if template.program == CODE:
        return "any code"
    paths = [path.removeprefix(f"{template.workdir}/") for path in template.paths]
    words = [paths.pop(0) if word == PATH and paths else word for word in template.shape]
    if not template.shape:  # made by an earlier version
        words = [template.subcommand, *sorted(template.options), *template.operands, *paths]
    return visible_text(" ".join(word for word in (template.program, *words) if word))


def _requested_by(session: Session, turn: Turn, role: Role) -> str:
    if turn.origin == "person" and role is Role.OWNER:
        return "you"
    name = named(speaker(session, turn).name)
    if turn.origin == "person":
        return f"{name}, {_ROLES[role]}"
    about = f" for “{_line(turn.options.title)}”" if turn.options.title else ""
    return f"{_ORIGINS.get(turn.origin, turn.origin)}{about} ({name})"


def _has_read(session: Session) -> str:
    labels, read = session.view.labels, list[str]()
    if UNTRUSTED in labels:
        read += map(named, session.sources) if session.sources else ["text that others wrote"]
    if "private" in labels:
        read.append("your private data")
    if "secret" in labels:
        read.append("a secret")
    return ", ".join(read)


def _offers(about: CardContext) -> Iterator[str]:
    """Yield one line for each pattern that an answer could allow."""
    named: dict[str, list[str]] = {}
    for grant, answer in ((about.session, FOR_SESSION), (about.always, ALWAYS)):
        if grant is not None:
            named.setdefault(_covered(grant.template), []).append(answer)
    for what, answers in named.items():
        yield f"{' and '.join(answers)} {'allow' if answers[1:] else 'allows'}: {what}"
    if about.folder is not None and about.folder.template is not None:
        yield f"{FOR_FOLDER} allows: {ALL_CODE} ({code(about.folder.template.workdir)})"


def _covered(template: Template | None) -> str:
    if template is None:
        return "exactly this command in this folder"
    inside = ", also with paths inside these" if template.paths else ""
    return f"{code(described(template))} in this folder{inside}"


def _line(text: str) -> str:
    return visible_text(text).replace("\n", " ⏎ ")


def _folded(line: str, width: int) -> Iterator[str]:
    sign = QUOTE if line.startswith(QUOTE) else ""
    rest = line.removeprefix(sign)
    if not rest:
        yield line
    while rest:
        taken = _fitting(rest, width - len(sign))
        yield f"{sign}{rest[:taken]}"
        rest = rest[taken:]


def _fitting(text: str, width: int) -> int:
    """Return how many characters fit in the width; prefer to break at a blank."""
    used = count = 0
    for char in text:
        used += cells_of(char)
        if used > width:
            break
        count += 1
    if count < len(text):
        blank = text.rfind(" ", 0, count) + 1
        count = blank if blank * 2 > count else count
    return max(count, 1)
