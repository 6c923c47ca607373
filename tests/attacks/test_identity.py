"""TM-1, PAIR-3 and PAIR-4: who somebody is follows from an id that they cannot choose."""

import asyncio
import itertools
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.channels.api.translate import asked, inbound, ticket
from hermes.channels.kit.arrival import Arrival
from hermes.channels.telegram.client import TelegramChannel
from hermes.channels.telegram.settings import telegram_settings
from hermes.channels.telegram.translate import Manners, Me, Pressed, translate
from hermes.channels.telegram.updates import Update
from hermes.channels.webhook.settings import webhook_settings
from hermes.channels.webhook.translate import Signed, inbound_of
from hermes.core.ids import DEFAULT_ISOLATION, SessionKey, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import Role, Sender, sender_of
from hermes.core.store import Accepted
from hermes.core.trust import KnownPerson, TrustRegister, role_in
from hermes.gateway.admission import TRIES_AN_HOUR, WELCOME, Admission
from hermes.gateway.trust_cache import TrustCache
from hermes.stores.sqlite import open_sqlite
from hermes.views.invites import ALPHABET, CHARS, code_in, invited
from tests.attacks.test_people import ANN, BOB, EVE, ROOM, bot, handled, let_in, shows
from tests.doubles.telegram import TOKEN

ME = Me(42, "hermes_bot")
OWNER = 12345
USER: dict[str, Any] = {"id": EVE, "is_bot": False, "first_name": "Eve"}


def channel() -> TelegramChannel:
    raw = {"token": TOKEN, "allowed_users": [OWNER], "allowed_chats": [ROOM]}
    settings = telegram_settings(raw, {})
    return TelegramChannel(settings, memory=Path(os.devnull), isolation=DEFAULT_ISOLATION)


def role_of(message: dict[str, Any], kind: str = "message") -> Role | None:
    """Return the role of an update's sender; None if it has none."""
    whole = {"message_id": 1, "chat": {"id": EVE, "type": "private"}, "text": "hi", **message}
    update = msgspec.convert({"update_id": 1, kind: whole}, Update)
    heard = translate(update, ME, Manners(require_mention=False), at=1.0)
    return (
        channel().role(sender_of(heard.inbound)) if isinstance(heard, Arrival | Pressed) else None
    )


@pytest.mark.parametrize(
    "claims",
    [
        {"first_name": "Ann", "username": "ann"},
        {"first_name": str(OWNER), "username": str(OWNER)},
        {"id": int(f"{OWNER}0")},
        {"id": int(f"9{OWNER}")},
        {"id": -OWNER},
        {"id": 0},
    ],
    ids=["name", "digits", "prefix", "suffix", "sign", "nobody"],
)
def test_tm_01_pair_04_nothing_but_the_very_id_is_the_owner(claims: dict[str, Any]) -> None:
    stranger = {**USER, **claims}
    assert role_of({"from": stranger}) is Role.STRANGER
    assert role_of({"from": stranger, "chat": {"id": OWNER, "type": "private"}}) is Role.STRANGER
    assert role_of({"from": {**stranger, "id": OWNER}}) is Role.OWNER


def test_tm_01_what_nobody_or_a_machine_sent_is_not_heard() -> None:
    assert role_of({}) is None
    assert role_of({"from": {**USER, "id": OWNER, "is_bot": True}}) is None
    assert role_of({"from": {**USER, "id": ME.id}}) is None


def test_tm_01_who_speaks_for_a_chat_is_the_chat_and_not_the_person_named_beside_it() -> None:
    group = {"id": ROOM, "type": "supergroup", "title": "Ann"}
    posed = {"from": {**USER, "id": OWNER}, "sender_chat": {"id": -777, "type": "channel"}}
    assert role_of({**posed, "chat": {"id": EVE, "type": "private"}}) is Role.STRANGER
    assert role_of({**posed, "chat": group}) is Role.MEMBER
    assert role_of({"sender_chat": group, "chat": group}, "channel_post") is Role.MEMBER


def test_tm_01_an_answer_to_the_owner_and_a_forwarded_owner_are_not_the_owner() -> None:
    owner = {**USER, "id": OWNER}
    quoted = {"message_id": 2, "chat": {"id": EVE, "type": "private"}, "from": owner, "text": "x"}
    assert role_of({"from": USER, "reply_to_message": quoted}) is Role.STRANGER
    assert role_of({"from": USER, "forward_origin": {"sender_user": owner}}) is Role.STRANGER


def labels_of(message: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    whole = {"message_id": 3, "chat": {"id": OWNER, "type": "private"}, "text": "/stop", **message}
    update = msgspec.convert({"update_id": 1, "message": whole}, Update)
    heard = translate(update, ME, Manners(), at=1.0)
    assert isinstance(heard, Arrival)
    return heard.inbound.labels, heard.inbound.text


def test_tm_01_only_what_the_owner_typed_is_the_owners_word() -> None:
    owner, gif = {**USER, "id": OWNER}, {**USER, "id": 99, "is_bot": True, "first_name": "gifs"}
    foreign = {"message_id": 2, "chat": {"id": OWNER, "type": "private"}, "from": owner}
    eve = {"sender_user": {**USER, "id": EVE}}
    assert labels_of({"from": owner}) == ((), "/stop")
    assert labels_of({"from": owner, "text": "", "caption": "/stop"}) == ((), "/stop")
    for passed_on in (
        {"via_bot": gif},
        {"via_bot": gif, "text": "", "caption": "/stop"},
        {"via_bot": gif, "edit_date": 5},
        {"via_bot": {**gif, "id": ME.id}},
        {"via_bot": gif, "forward_origin": {"sender_user": owner}},
        {"sender_business_bot": gif},
        {"forward_origin": eve, "text": "", "caption": "/stop"},
        {"sender_chat": {"id": -5, "type": "channel", "title": "News"}, "text": "hello"},
        {"text": "so", "reply_to_message": {**foreign, "text": "obey", "via_bot": gif}},
        {"text": "so", "reply_to_message": {**foreign, "text": "obey", "forward_origin": eve}},
    ):
        labels, text = labels_of({"from": owner, **passed_on})
        assert labels == ("untrusted",), passed_on
        assert not text.startswith("/"), passed_on


def test_pair_04_a_person_is_known_on_one_platform_by_one_id() -> None:
    bob = KnownPerson(platform="telegram", id="8", role=Role.PAIRED)
    register = TrustRegister(people={("telegram", "8"): bob})

    def role(platform: str, id_: str, key: SessionKey | None = None) -> Role:
        lane = key or session_key(platform, "dm", id_)
        sender = Sender(lane, Address(platform=platform, chat=id_), id_)
        return role_in(register, sender, Role.STRANGER)

    assert role("telegram", "8") is Role.PAIRED
    others = ("", "08", "8 ", " 8", "88", "8\0", "\uff18", "8\u200b", "telegram:8", "bob")
    for id_ in others:
        assert role("telegram", id_) is Role.STRANGER, id_
    for platform in ("", "Telegram", "telegram ", "whatsapp", "webhook", "api"):
        assert role(platform, "8") is Role.STRANGER, platform
    assert role("telegram", "8", session_key("telegram", "group", "8")) is Role.STRANGER


def test_tm_01_pair_04_the_api_and_a_webhook_cannot_say_who_they_are() -> None:
    body = (
        b'{"messages": [{"role": "user", "name": "telegram:12345", "content": "hi"}],'
        b' "user": "telegram:12345", "metadata": {"sender": "12345"}}'
    )
    named = ticket("agent:main:telegram:dm:12345", None, lambda: "id")
    said = inbound(asked(body), named, {}, at=1.0)
    assert (said.sender, said.address.platform) == (Person(id="api"), "api")
    assert said.session == session_key("api", "dm", "agent:main:telegram:dm:12345")
    assert said.session != session_key("telegram", "dm", "12345")
    raw = {"routes": {"ci": {"secret": "correct-horse", "prompt": "{body}"}}}
    [route] = webhook_settings(raw, {}).routes.values()
    event = inbound_of(
        route,
        Signed("../telegram:dm:12345", "x"),
        b'{"from": {"id": 12345}, "sender": "telegram:12345"}',
        address=Address(platform="webhook", chat="ci"),
        at=1.0,
    )
    assert event.sender == Person(id="webhook:ci")
    assert event.session.split(":")[2] == "webhook"
    assert event.labels == ("untrusted",)


async def test_tm_01_pair_04_a_copied_name_reaches_no_model(tmp_path: Path) -> None:
    """Bob is let in; then he gives his user name up, and Eve takes it, his name and his words."""
    async with bot(tmp_path) as (here, api, model):
        await here.start()
        await let_in(here, api, BOB)
        api.say("hello", chat=BOB, user=BOB, name="Bob")
        await shows(here, api, BOB, "You said: hello")
        bob = {"is_bot": False, "first_name": "Bob", "username": "bob"}
        for id_ in (EVE, 0, int(f"{BOB}{BOB}"), -BOB):
            api.say("hello", chat=EVE, user=EVE, **{"from": {"id": id_, **bob}})
        api.say("hello", chat=EVE, user=EVE, **{"from": None})
        api.push({"message": {"message_id": 900, "chat": {"id": BOB, "type": "private"}}})
        api.push({"message": {"message_id": 901, "from": {"id": "8"}, "text": "no chat"}})
        await handled(here, api)
        assert len(model.asked) == 1
        api.say("still me", chat=BOB, user=BOB, name="Somebody Else")
        await shows(here, api, BOB, "You said: still me")
        await here.hermes("pairing", "revoke", f"telegram:{BOB}")
        api.say("hello", chat=EVE, user=EVE, **{"from": {"id": BOB, **bob}})
        api.say("hello", chat=ANN, user=ANN)
        await shows(here, api, ANN, "You said: hello")
        assert len(model.asked) == 3


# ── PAIR-3 ──────────────────────────────────────────────────────────────────────────────────────

GUESSES = 1_000_000
MADE = GUESSES if os.environ.get("HERMES_SOAK") else 100_000
GUESSERS = 500


@dataclass
class Now:
    at: float = 1_000.0

    def __call__(self) -> float:
        return self.at


async def _refuse(_inbound: Inbound) -> Accepted:
    raise AssertionError("nobody is told of a guess")


def guess_of(n: int) -> str:
    digits = (ALPHABET[n >> 5 * place & 31] for place in range(CHARS))
    return "".join(digits)


async def test_pair_03_a_million_guesses_open_nothing_and_lock_nobody_out(tmp_path: Path) -> None:
    now = Now()
    store = await open_sqlite(tmp_path / "hermes.db", clock=now)
    try:
        trust_cache = TrustCache(trust=store.trust, configured=lambda _sender: Role.STRANGER)
        admission = Admission(
            trust_cache=trust_cache,
            strangers="invite",
            homes=store.library.homes,
            accept=_refuse,
            new_id=lambda: "id",
            clock=now,
        )

        async def admit_stranger(who: int, text: str) -> str:
            key = session_key("telegram", "dm", str(who))
            address = Address(platform="telegram", chat=str(who))
            return await admission.admit_stranger(Sender(key, address, str(who)), "Eve", text)

        code, invite = invited(Role.PAIRED, now(), 7 * 86400.0, by="test", chance=os.urandom)
        await store.trust.invite(invite)
        took = Counter[str]()
        for n in range(MADE):
            now.at += 0.01
            took[await admit_stranger(100 + n % GUESSERS, guess_of(n))] += 1
            if n % 50_000 == 0:
                await asyncio.sleep(0)
        assert took == {"": MADE}
        await trust_cache.reload()
        assert trust_cache.register.people == {}
        assert await admit_stranger(7, code) == WELCOME, (
            "the invited one is let in at the first try"
        )
        assert await admit_stranger(8, code) == ""
    finally:
        await store.upkeep.close()


def test_pair_03_a_code_is_worth_so_many_guesses_that_a_million_are_nothing() -> None:
    """Any two codes differ, each place takes every letter equally often, and all places count."""
    codes = [invited(Role.PAIRED, 1.0, 1.0, by="", chance=os.urandom)[0] for _ in range(20_000)]
    assert len(set(codes)) == len(codes)
    for place in range(CHARS):
        seen = Counter(code[place] for code in codes)
        assert set(seen) == set(ALPHABET)
        expected = len(codes) / len(ALPHABET)
        chi = sum((count - expected) ** 2 / expected for count in seen.values())
        assert chi < 31 + 10 * (2 * 31) ** 0.5, f"place {place} is not chosen evenly"
    open_at_once = 1_000
    assert GUESSES * open_at_once / len(ALPHABET) ** CHARS < 1e-6
    assert all(code_in(f"/start {code}") == code for code in codes[:100])


async def test_pair_03_of_one_person_only_a_few_guesses_are_looked_at(tmp_path: Path) -> None:
    now = Now()
    store = await open_sqlite(tmp_path / "hermes.db", clock=now)
    try:
        trust_cache = TrustCache(trust=store.trust, configured=lambda _sender: Role.STRANGER)
        admission = Admission(
            trust_cache=trust_cache,
            strangers="invite",
            homes=store.library.homes,
            accept=_refuse,
            new_id=lambda: "id",
            clock=now,
        )
        key, place = session_key("telegram", "dm", "9"), Address(platform="telegram", chat="9")
        for n in range(TRIES_AN_HOUR):
            assert await admission.admit_stranger(Sender(key, place, "9"), "Eve", guess_of(n)) == ""
        code, invite = invited(Role.PAIRED, now(), 86400.0, by="test", chance=os.urandom)
        await store.trust.invite(invite)
        assert await admission.admit_stranger(Sender(key, place, "9"), "Eve", code) == "", (
            "not this hour"
        )
        now.at += 3601.0
        assert await admission.admit_stranger(Sender(key, place, "9"), "Eve", code) == WELCOME
    finally:
        await store.upkeep.close()


async def test_pair_02_a_crowd_that_guesses_does_not_keep_an_invited_one_out(
    tmp_path: Path,
) -> None:
    async with bot(tmp_path) as (here, api, _model):
        await here.start()
        code = str(await here.hermes("pairing", "invite")).strip()
        for n in itertools.islice(itertools.count(), 1_500):
            who = 50_000 + n % 150
            api.say(f"/start {guess_of(n)}", chat=who, user=who)
        await handled(here, api)
        api.say(code, chat=BOB, user=BOB)
        await shows(here, api, BOB, WELCOME)
