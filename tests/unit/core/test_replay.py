"""The same journal and the same moments give the same steps: a decision reads only arguments."""

import random

import msgspec
import pytest

from hermes.core import events as e
from hermes.core.codec import decode_event, decode_session, encode
from hermes.core.fold import fold
from hermes.core.ids import SessionId
from hermes.core.people import Role
from hermes.core.rules import Allow, Ask, DecisionContext, Deny, Rules, Verdict
from hermes.core.session import Session
from hermes.core.step import next_step
from hermes.core.steps import Rest
from hermes.core.trust import KnownPerson, TrustRegister
from tests.contract.player import RULES, Player
from tests.unit.core.strategies import KEY

STEPS = 150


def register_at(number: int) -> TrustRegister:
    """People come and go, and each version says who is here."""
    role = (Role.OWNER, Role.PAIRED, Role.OWNER, Role.STRANGER)[number % 4]
    people = {("telegram", "chat"): KnownPerson(platform="telegram", id="chat", role=role)}
    return TrustRegister(version=number, people=people)


def verdict(session: Session, call: object, context: DecisionContext) -> Verdict:
    """By the register and the clock of the moment, and by nothing else."""
    if context.register.version % 7 == 0:
        return Deny("not now")
    asks = context.register.version % 3 == 0 and int(context.at) % 2 == 0
    return Ask("sure?") if asks else Allow()


def by_register(sender: object, register: TrustRegister) -> Role:
    [known] = register.people.values() or [None]
    return known.role if known is not None else Role.OWNER


def rules() -> Rules:
    return msgspec.structs.replace(RULES, verdict=verdict, role=by_register)


@pytest.mark.parametrize("seed", range(40))
def test_a_journal_that_is_replayed_with_its_moments_gives_the_same_steps(seed: int) -> None:
    dice = random.Random(seed)
    player, session = Player(dice, "chat"), Session(key=KEY)
    journal: list[bytes] = []
    seen: list[tuple[int, DecisionContext, object]] = []

    def record(*events: e.Event) -> None:
        nonlocal session
        for event in events:
            session = fold(session, event)
            journal.append(encode(event))

    for number in range(STEPS):
        context = DecisionContext(at=1_000.0 + number, epoch=1, register=register_at(number // 5))
        step = next_step(session, rules(), context)
        seen.append((len(journal), context, step))
        if isinstance(step, Rest) or dice.random() < 0.2:
            record(e.MessageReceived(player.says(), SessionId("s1")))
        else:
            record(*player.next(session, 1))
    replayed, at = Session(key=KEY), 0
    for position, context, step in seen:
        while at < position:
            replayed = fold(replayed, decode_event(journal[at]))
            at += 1
        kept = decode_session(encode(replayed))
        assert next_step(kept, rules(), context) == step, f"HERMES_SEED={seed}, at {position}"
