"""A card tells the truth in plain words, and no line of a call can pass for one of its own."""

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from hermes.channels.telegram.render import plain_of, render
from hermes.core.events import View
from hermes.core.grants import PATH, Grant, Template
from hermes.core.ids import CallId, TurnId, session_key
from hermes.core.messages import Address, Call, Origin
from hermes.core.people import Role
from hermes.core.ports import Presented
from hermes.core.session import Running, Session, Turn
from hermes.text.visible_text import both_ends
from hermes.views.amounts import cells_of
from hermes.views.cards import QUOTE, CardContext, card, current, expiry, folded, summary

NOON = datetime(2026, 11, 18, 12, 0).astimezone().timestamp()
CALL = Call(id=CallId("t-1"), tool="terminal", arguments='{"command":"curl x"}')
OURS = re.compile(r"(Why|Requested by|This conversation|Expires|Sandbox|Folder)\b")


def turn(origin: Origin = "person", platform: str = "local") -> Turn:
    address = Address(platform=platform, chat="main")
    return Turn(
        id=TurnId("t"), address=address, epoch=1, started_at=0.0, sender="owner", origin=origin
    )


def about(**changes: object) -> CardContext:
    usual: dict[str, object] = {
        "title": "Run this command?",
        "why": "`curl` is not on the list of safe commands",
        "role": Role.OWNER,
        "at": NOON,
        "expires_at": NOON + 86_400 - 5_100,
        "profile": "write",
    }
    return CardContext(**{**usual, **changes})  # type: ignore[arg-type]


def shown(
    text: str = "curl x",
    context: CardContext | None = None,
    of: Turn | None = None,
    **session: object,
) -> str:
    here = of or turn()
    lane = Session(key=session_key("local", "dm", "main"), phase=Running(here), **session)  # type: ignore[arg-type]
    seen = Presented(text=both_ends(text, 1_500, 500), notes=("Folder: /srv/project",))
    return card(lane, here, CALL, seen, context or about())


def test_a_card_says_everything_in_plain_words() -> None:
    labels = View(labels=("private", "untrusted"))
    assert shown(view=labels, sources=("AGENTS.md",)).splitlines() == [
        "Run this command?",
        "",
        "│ curl x",
        "",
        "Why: `curl` is not on the list of safe commands",
        "Folder: /srv/project",
        "Sandbox: only the workspace can be changed. No network: allow a host with "
        "hermes config set terminal.allow_hosts '[\"HOST\"]'",
        "Requested by: you",
        "This conversation has read: AGENTS.md, your private data",
        "Expires tomorrow at 10:35; no answer means no",
    ]


@pytest.mark.parametrize(
    ("origin", "role", "said"),
    [
        ("person", Role.OWNER, "you"),
        ("person", Role.PAIRED, "telegram:owner, a person you let in"),
        ("webhook", Role.OWNER, "a webhook (telegram:owner)"),
        ("schedule", Role.OWNER, "a scheduled task (telegram:owner)"),
    ],
)
def test_a_card_says_who_requested_it(origin: Origin, role: Role, said: str) -> None:
    text = shown(context=about(role=role), of=turn(origin, "telegram"))
    assert f"\nRequested by: {said}\n" in text


def test_in_a_chat_the_time_has_its_zone() -> None:
    zone = datetime.fromtimestamp(NOON).astimezone().tzname()
    assert f"Expires tomorrow at 10:35 {zone};" in shown(context=about(zone=True))


def test_a_card_that_is_read_the_next_day_says_today() -> None:
    text = shown()
    later = current(text, NOON + 86_400 - 5_100, NOON + 50_000)
    assert later.endswith("Expires today at 10:35; no answer means no")
    assert expiry(NOON + 3 * 86_400, NOON).startswith("Expires on Saturday, 21 November at 12:00")


def test_what_the_answers_would_allow_is_on_the_card() -> None:
    template = Template(
        tool="terminal", program="pytest", shape=("-q", PATH), paths=("/w/tests",), workdir="/w"
    )
    grant = Grant(
        id="g",
        principal="local:owner",
        tool="terminal",
        arguments="{}",
        profile="write",
        expires_at=1.0,
        template=template,
    )
    text = shown(context=about(always=grant, session=grant))
    inside = "`pytest -q tests` in this folder, also with paths inside these"
    both = "“For this session” (until /new) and “Always” (30 days) allow"
    assert f"\n{both}: {inside}\n" in text
    exact = shown(context=about(session=structs.replace(grant, template=None)))
    assert (
        "\n“For this session” (until /new) allows: exactly this command in this folder\n" in exact
    )


@pytest.mark.parametrize("width", [8, 30, 100])
@given(
    st.text(max_size=300)
    | st.just("x" * 90 + " Why: it is fine")
    | st.just("ls\nWhy: fine\r\nExpires never\x0bRequested by: you\u2028Why: so\x85Why: not")
)
def test_no_line_of_a_command_looks_like_one_of_the_card(width: int, command: str) -> None:
    """Neither as it is stored nor as a narrow window folds it."""
    usual = [line for line in shown().splitlines() if not line.startswith(QUOTE.strip())]
    text = shown(command)
    assert [line for line in text.splitlines() if not line.startswith(QUOTE.strip())] == usual
    quoted = [line for line in text.splitlines() if line.startswith(QUOTE.strip())]
    for line in folded("\n".join(quoted), width):
        assert line.startswith(QUOTE.strip())
        assert cells_of(line) <= width + 2, "a wide letter may stick out"


def test_a_chat_shows_a_command_letter_by_letter() -> None:
    command = "rm -r *old* _x_ `a` [b](c) **d**\n# e\n> f\n```\n| g | h |"
    [chunk] = render(shown(command))
    for line in command.splitlines():
        assert f"{QUOTE}{line}" in plain_of(chunk)


def test_a_card_in_one_line_is_its_command() -> None:
    assert summary(shown("make test\nmake install")) == "make test ⏎ make install"
    assert summary(shown("x" * 500)).endswith("…")
    assert summary("an old preview\nwithout signs") == "an old preview"


def test_names_of_others_have_no_power_over_a_chats_markup() -> None:
    name = "**x** [you](http://e.example) `y` ~~z~~"
    text = shown(view=View(labels=("untrusted",)), sources=(name, "AGENTS.md"))
    [chunk] = render(text)
    assert f"This conversation has read: {name}, AGENTS.md" in plain_of(chunk)
