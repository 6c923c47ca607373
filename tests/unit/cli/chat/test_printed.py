"""Each reply is shown once, in its place, by whichever way it comes."""

import json
from dataclasses import replace

from hermes.cli.chat.answer import MessageOutcome, ReplyTracker
from hermes.cli.chat.open_question import OpenQuestion
from hermes.cli.chat.printed import ReplyPrinter
from hermes.cli.output.console import Console
from hermes.core import events as e
from hermes.core.ids import MessageId, ReplyId, SessionId, SessionKey, TurnId
from hermes.core.messages import Address, Inbound, Person, Reply, ReplyKind
from hermes.core.projection import TurnRow, TurnState
from unit.cli.stage import Stage, stage

KEY, T = SessionKey("agent:main:local:dm:main"), TurnId("t")
HERE = Address(platform="local", chat="main")
BEGUN = e.TurnStarted(T, ("local#m",), 1, 1.0)


def reply(id_: str, text: str, kind: ReplyKind = "answer") -> Reply:
    return Reply(id=ReplyId(id_), session=KEY, address=HERE, text=text, kind=kind)


def tale(*events: e.Event) -> ReplyTracker:
    sender = Person(id="owner")
    told = ReplyTracker(
        Inbound(
            id=MessageId("m"),
            account="local",
            session=KEY,
            sender=sender,
            address=HERE,
            text="hello",
            at=1.0,
        )
    )
    told.take(events)
    return told


def outcome(told: ReplyTracker, state: TurnState = "answered") -> MessageOutcome:
    row = TurnRow(
        id=T,
        key=KEY,
        session=SessionId("s"),
        state=state,
        attempts=1,
        started_at=1.0,
        ended_at=2.0,
        first=1,
    )
    return MessageOutcome(
        key=KEY, session_id=SessionId("s"), turn=row, steps=(), replies=tuple(told.replies)
    )


def printed(console: Console, told: ReplyTracker, *, json_: bool = False) -> ReplyPrinter:
    shows = ReplyPrinter(console, told, document=MessageOutcome.document if json_ else None)
    shows.early = False
    shows.outcome = outcome(told)
    return shows


def seen(console: Stage) -> tuple[str, str]:
    return console.stdout.getvalue(), console.stderr.getvalue()


def test_an_answer_that_comes_twice_is_printed_once() -> None:
    console, told = stage(), tale(BEGUN, e.TurnEnded(T, "answered", 1.0, (reply("t/0", "yes"),)))
    shows = printed(console, told)
    assert not shows.complete
    shows.show(reply("t/0", "yes"))
    shows.show(reply("t/0", "yes"))
    shows.rest()
    assert seen(console) == ("yes\n", "")
    assert shows.complete


def test_an_answer_that_somebody_else_delivered_is_printed_all_the_same() -> None:
    console, told = stage(), tale(BEGUN, e.TurnEnded(T, "answered", 1.0, (reply("t/0", "yes"),)))
    printed(console, told).rest()
    assert seen(console) == ("yes\n", "")


def test_what_is_not_the_answer_stands_beside_it() -> None:
    console, told = stage(), tale(BEGUN, e.TurnEnded(T, "answered", 1.0, (reply("t/0", "yes"),)))
    shows = printed(console, told)
    shows.early = True
    shows.show(reply("x/0", "an old answer"))
    shows.show(reply("y/0", "another"))
    shows.early = False
    shows.show(reply("z/0", "somebody's answer"))
    shows.show(reply("t/0", "(The file a.png cannot be sent here.)"))
    shows.rest()
    beside = "From before:\nan old answer\nanother\nsomebody's answer\n(The file a.png cannot be"
    assert seen(console) == ("yes\n", f"{beside} sent here.)\n")


def test_a_document_is_told_once_and_with_the_last_reply() -> None:
    ended = e.TurnEnded(T, "answered", 1.0, (reply("t/0", "yes"), reply("t/1", "and no")))
    console, told = stage(), tale(BEGUN, ended)
    shows = printed(console, told, json_=True)
    shows.show(reply("t/0", "yes"))
    assert seen(console) == ("", "")
    shows.show(reply("z/0", "a notice"))
    shows.show(reply("t/1", "and no"))
    shows.rest()
    document = json.loads(seen(console)[0])
    assert (document["text"], document["notices"]) == ("yes\n\nand no", ["a notice"])


def test_a_turn_that_has_not_ended_comes_with_a_hint() -> None:
    console, told = stage(), tale(BEGUN)
    shows = printed(console, told)
    shows.outcome = outcome(told, "running")
    shows.rest()
    assert "-q continue --session main" in seen(console)[1]


def test_a_question_comes_with_its_card_and_the_command_that_answers_it() -> None:
    console, told = stage(), tale(BEGUN)
    shows = printed(console, told)
    question = OpenQuestion(
        id="q1",
        key=KEY,
        tool="terminal",
        why="because",
        asked_at=1.0,
        expires_at=2.0,
        card=reply("t/question-1", "May I?", "question"),
    )
    shows.outcome = replace(outcome(told, "asking"), question=question)
    shows.rest()
    shows.card(question.card)
    err = seen(console)[1]
    assert err.count("May I?") == 1
    assert "hermes approvals answer q1 approve" in err
