"""Short words for what people are asked, for grants and for who may come in."""

from hermes.core import events as e
from hermes.core.grants import Grant, Template
from hermes.core.ids import CallId
from hermes.core.messages import Call, Effect, Outcome
from hermes.core.people import Role
from hermes.core.session import call_id
from hermes.core.trust import AdmissionRequest, Invite, KnownPerson
from tests.contract.places import Owner, reply, turn

DAY_S = 86_400.0
FAR = 10_000_000_000.0  # no clock of a test gets there


def grant(name: str, *, expires_at: float = FAR) -> Grant:
    template = Template(tool="terminal", program="/bin/ls", options=frozenset({"-l"}))
    return Grant(
        id=name,
        principal="ann",
        tool="terminal",
        arguments='{"command":"ls -l"}',
        profile="write",
        expires_at=expires_at,
        template=template,
    )


async def call(owner: Owner, chat: str, tool: str = "pay", at: float = 3.0) -> CallId:
    """A running turn whose model wants this."""
    if owner.session.turn is None:
        await owner.start(chat)
    assert owner.session.turn is not None
    made = Call(id=call_id(owner.session.turn, 1), tool=tool, arguments='{"sum":3}')
    await owner.write(e.ModelAnswered(turn=turn(chat), at=at, calls=(made,)))
    return made.id


async def ask(
    owner: Owner, chat: str, name: str, *, at: float = 3.0, expires_at: float = 100.0
) -> CallId:
    """The model wants to pay, and a person is asked."""
    wanted = await call(owner, chat, at=at)
    await owner.write(
        e.QuestionAsked(
            turn(chat),
            wanted,
            reply(chat, text=f"Pay {name}?"),
            at,
            id=name,
            why="it costs money",
            digest="d",
            expires_at=expires_at,
        )
    )
    return wanted


async def answer(
    owner: Owner,
    chat: str,
    wanted: CallId,
    granted: bool,
    *,
    by: str = "telegram:ann",
    always: Grant | None = None,
) -> None:
    epoch = owner.fence.epoch
    await owner.write(
        e.QuestionAnswered(turn(chat), wanted, granted, epoch, 5.0, by=by, grant=always)
    )


async def run(owner: Owner, chat: str, wanted: CallId) -> None:
    epoch = owner.fence.epoch
    await owner.write(e.CallStarted(turn(chat), wanted, Effect.EFFECT, epoch, 6.0))
    await owner.write(e.CallEnded(turn(chat), wanted, Outcome.OK, "paid", 7.0))


def known(
    person: str, role: Role = Role.PAIRED, *, at: float = 10.0, chat: str = ""
) -> KnownPerson:
    return KnownPerson(
        platform="telegram", id=person, role=role, name=person.title(), chat=chat, since=at, by="me"
    )


def invite(digest: str, *, at: float = 1.0, until: float = 100.0) -> Invite:
    return Invite(digest=digest, role=Role.PAIRED, made_at=at, expires_at=until, by="terminal")


def request(person: str, *, at: float = 1.0) -> AdmissionRequest:
    return AdmissionRequest(
        id=f"r-{person}",
        platform="telegram",
        person=person,
        chat=f"chat-{person}",
        name=person.title(),
        text="let me in",
        at=at,
    )
