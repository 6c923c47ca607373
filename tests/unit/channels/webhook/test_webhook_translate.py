"""Signatures, delivery ids and prompts, as values."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.webhook.settings import Signature, WebhookRoute
from hermes.channels.webhook.signatures import (
    LINES_MAX,
    REMEMBERED_S,
    SIGNATURES_MAX,
    Signatures,
)
from hermes.channels.webhook.translate import (
    BODY_CHARS_MAX,
    FIELD_CHARS_MAX,
    TEXT_CHARS_MAX,
    Refusal,
    Signed,
    digest,
    inbound_of,
    prompt_text,
    signature,
    verified,
)
from hermes.core.errors import StoreFailed
from hermes.core.messages import Address

SECRET = "correct-horse"
NOW = 1_800_000_000.0
BODY = b'{"ref": "main"}'
HERE = Address(platform="webhook", chat="ci")


def route(kind: Signature = "hermes", **more: object) -> WebhookRoute:
    return WebhookRoute(name="ci", secret=SECRET, signature=kind, deliver=HERE, **more)  # type: ignore[arg-type]


def dated(at: float = NOW, body: bytes = BODY, **more: str) -> dict[str, str]:
    signed = signature(SECRET, f"{at:.0f}.".encode() + body)
    return {"x-hermes-timestamp": f"{at:.0f}", "x-hermes-signature": signed, **more}


def status(found: Signed | Refusal) -> int:
    return found.status if isinstance(found, Refusal) else 200


def test_a_known_signature_is_what_other_programs_compute() -> None:
    said = signature("It's a Secret to Everybody", b"Hello, World!")
    assert said == "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


@pytest.mark.parametrize("off", [0, 300, -300])
def test_a_dated_signature_holds_inside_its_window(off: float) -> None:
    found = verified(route(), dated(NOW + off, **{"x-hermes-delivery": "d-1"}), BODY, now=NOW)
    assert isinstance(found, Signed)
    assert found.delivery == "d-1"


@pytest.mark.parametrize("off", [301, -301, -86_400])
def test_a_dated_signature_is_refused_outside_its_window(off: float) -> None:
    assert status(verified(route(), dated(NOW + off), BODY, now=NOW)) == 401


@pytest.mark.parametrize("stamp", ["", "now", "-5", "1e9", "9" * 13, "\uff11\uff12"])
def test_a_timestamp_that_is_none_is_refused(stamp: str) -> None:
    signed = {"x-hermes-signature": signature(SECRET, f"{stamp}.".encode() + BODY)}
    assert status(verified(route(), {**signed, "x-hermes-timestamp": stamp}, BODY, now=NOW)) == 401


def test_a_sender_without_ids_is_known_by_time_and_body() -> None:
    found = verified(route(), dated(), BODY, now=NOW)
    assert isinstance(found, Signed)
    assert found.delivery == digest(b"1800000000." + BODY)
    later = verified(route(), dated(NOW + 1), BODY, now=NOW)
    assert isinstance(later, Signed)
    assert later.delivery != found.delivery


def test_github_signs_the_body_alone() -> None:
    headers = {"x-hub-signature-256": signature(SECRET, BODY), "x-github-delivery": "guid"}
    assert verified(route("github"), headers, BODY, now=NOW) == Signed(
        "guid", headers["x-hub-signature-256"]
    )
    del headers["x-github-delivery"]
    found = verified(route("github"), headers, BODY, now=NOW)
    assert isinstance(found, Signed)
    assert found.delivery == digest(BODY)


def test_a_plain_sender_must_name_its_delivery() -> None:
    headers = {"x-hermes-signature": signature(SECRET, BODY)}
    assert status(verified(route("plain"), headers, BODY, now=NOW)) == 400
    assert status(verified(route("plain"), {**headers, "x-delivery-id": "7"}, BODY, now=NOW)) == 200


@pytest.mark.parametrize("kind", ["hermes", "github", "plain"])
@pytest.mark.parametrize("wrong", ["", "sha256=", "sha256=00", "é", "sha1=x"])
def test_a_wrong_signature_is_refused(kind: Signature, wrong: str) -> None:
    headers = {
        **dated(),
        "x-hermes-signature": wrong,
        "x-hub-signature-256": wrong,
        "x-delivery-id": "1",
    }
    assert status(verified(route(kind), headers, BODY, now=NOW)) == 401


def test_every_byte_of_the_body_is_signed() -> None:
    for body in (BODY + b" ", BODY[:-1], BODY.replace(b" ", b""), b""):
        assert status(verified(route(), dated(), body, now=NOW)) == 401


@pytest.mark.parametrize("delivery", ["a b", "x" * 201, "a\n", "é"])
def test_a_delivery_id_is_short_and_plain(delivery: str) -> None:
    headers = dated(**{"x-hermes-delivery": delivery})
    assert status(verified(route(), headers, BODY, now=NOW)) == 400


async def test_one_signature_carries_one_delivery(tmp_path: Path) -> None:
    seen = Signatures(tmp_path / "seen")
    assert await seen.fits(Signed("a", "sha256=AB", dated=True), NOW)
    assert await seen.fits(Signed("a", "sha256=ab", dated=True), NOW + 1)
    assert not await seen.fits(Signed("b", "sha256=ab", dated=True), NOW + 2)
    assert await seen.fits(Signed("b", "sha256=ab", dated=False), NOW + 2)
    after = Signatures(tmp_path / "seen")
    assert await after.fits(Signed("a", "sha256=ab", dated=True), NOW + 3)
    assert not await after.fits(Signed("b", "sha256=ab", dated=True), NOW + 3)
    assert await after.fits(Signed("b", "sha256=ab", dated=True), NOW + REMEMBERED_S + 1)
    assert (tmp_path / "seen").stat().st_mode & 0o777 == 0o600


async def test_signatures_are_remembered_within_a_bound(tmp_path: Path) -> None:
    file = tmp_path / "seen"
    known = [f"{NOW:.3f} sha256={n} {n}\n" for n in range(LINES_MAX)]
    file.write_text("".join(known))
    seen = Signatures(file)
    assert not await seen.fits(Signed("x", f"sha256={LINES_MAX - 1}", dated=True), NOW)
    assert await seen.fits(Signed("x", "sha256=1", dated=True), NOW), "one of the oldest"
    assert len(file.read_text().splitlines()) == SIGNATURES_MAX


async def test_a_line_that_a_crash_has_cut_costs_no_other(tmp_path: Path) -> None:
    file = tmp_path / "seen"
    file.write_text(f"{NOW:.3f} sha256=aa a\n{NOW:.3f} sha2")
    seen = Signatures(file)
    assert await seen.fits(Signed("b", "sha256=bb", dated=True), NOW)
    after = Signatures(file)
    assert not await after.fits(Signed("x", "sha256=aa", dated=True), NOW)
    assert not await after.fits(Signed("x", "sha256=bb", dated=True), NOW)


async def test_a_signature_that_cannot_be_remembered_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    with pytest.raises(StoreFailed):
        await Signatures(tmp_path / "seen").fits(Signed("a", "sha256=aa", dated=True), NOW)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{repo.name}: {commits.0.id}", "kit: c1"),
        ("{repo}", '{"name":"kit"}'),
        ("{count} {open} {none}|{missing.path}|", "3 true ||"),
        ("{commits.9.id}{commits.x}{repo.name.deeper}", ""),
        ('{"a": 1} {} { repo } {{repo.name}}', '{"a": 1} {} { repo } {kit}'),
        ("{title}", "{repo.name} stays as it is"),
    ],
)
def test_placeholders_are_filled_from_the_event(template: str, said: str) -> None:
    event = {
        "repo": {"name": "kit"},
        "commits": [{"id": "c1"}],
        "count": 3,
        "open": True,
        "none": None,
        "title": "{repo.name} stays as it is",
    }
    assert prompt_text(template, json.dumps(event).encode()) == said


def test_the_body_is_there_whatever_it_is() -> None:
    assert prompt_text("<{body}>{x}", b"not json \xff") == "<not json �>"
    assert prompt_text("{body}", b"[" * 100_000).startswith("[[[")
    assert prompt_text("a{body}", b"\0\0") == "a"


def test_what_is_filled_in_has_a_limit() -> None:
    assert len(prompt_text("{x}", json.dumps({"x": "a" * 20_000}).encode())) == FIELD_CHARS_MAX
    assert len(prompt_text("{body}", b"a" * 900_000)) == BODY_CHARS_MAX
    assert len(prompt_text("{body}{body}", b"a" * 900_000)) == TEXT_CHARS_MAX


@given(st.binary(max_size=200), st.text(max_size=50))
def test_any_event_gives_a_sound_text(body: bytes, template: str) -> None:
    text = prompt_text(template, body)
    assert len(text) <= TEXT_CHARS_MAX
    assert "\0" not in text.encode("utf-8").decode("utf-8")


def test_an_event_is_untrusted_and_interrupts_nobody() -> None:
    inbound = inbound_of(route(), Signed("d:1", "s"), BODY, address=HERE, at=NOW)
    assert (inbound.account, inbound.id) == ("webhook:ci", "d:1")
    assert (inbound.origin, inbound.labels, inbound.waits) == ("webhook", ("untrusted",), True)
    assert inbound.sender.id == "webhook:ci"
    assert inbound.text == BODY.decode()
    assert inbound.session == "agent:main:webhook:dm:ci:d%3A1"


def test_a_route_may_have_one_lane_for_all_its_events() -> None:
    inbound = inbound_of(route(session="route"), Signed("d", "s"), BODY, address=HERE, at=NOW)
    assert inbound.session == "agent:main:webhook:dm:ci"
