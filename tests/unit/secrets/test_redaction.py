"""No secret leaves: as it is or encoded, whole or in pieces, known or only of a known shape."""

import json
import re
import time
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.secrets.redactor import HIDDEN, Redactor, Stream
from hermes.secrets.variants import CHARS_MIN, variants
from tests.unit.secrets.canaries import CANARIES, PLACEMENTS

EVERY = [(name, placement) for name in CANARIES for placement in PLACEMENTS]
SHAPELESS = {"TWILIO_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY"}
SHAPED = [name for name in list(CANARIES)[:21] if name not in SHAPELESS]
SECRET = st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=60)
AROUND = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor(CANARIES.values())


def leaks(name: str, text: str) -> bool:
    secret = CANARIES[name]
    forms = {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], *secret.split("\n")}
    forms |= {b64encode(b"\0" * n + secret.encode())[4:-4].decode() for n in range(3)}
    return any(form in text for form in forms)


@pytest.mark.parametrize(("name", "placement"), EVERY)
def test_sec_02_no_placement_of_a_known_secret_leaks(
    redactor: Redactor, name: str, placement: str
) -> None:
    text = PLACEMENTS[placement](name, CANARIES[name])
    safe = redactor(text)
    assert not leaks(name, safe)
    assert HIDDEN in safe


@pytest.mark.parametrize("size", [1, 3, 7, 64])
def test_sec_02_a_secret_across_the_borders_of_chunks_is_hidden(
    redactor: Redactor, size: int
) -> None:
    for name, placement in EVERY[:: 2 if size > 3 else 5]:
        text = f"before {PLACEMENTS[placement](name, CANARIES[name])} after\n"
        stream = Stream(lambda: redactor)
        shown = [stream.feed(text[n : n + size]) for n in range(0, len(text), size)]
        whole = "".join((*shown, stream.close()))
        assert not leaks(name, whole), (name, placement)
        assert whole.startswith("before ")
        assert HIDDEN in whole


def test_sec_02_a_stream_holds_back_only_what_may_become_a_secret(redactor: Redactor) -> None:
    stream = Stream(lambda: redactor)
    assert stream.feed("Here are some words, and then ") == "Here are some words, and then "
    assert stream.feed("日本語の文章") == "日本語の文章"
    assert stream.feed(" end") == " "
    assert stream.close() == "end"


@pytest.mark.parametrize("name", SHAPED)
def test_sec_02_the_shape_of_a_key_is_enough(name: str) -> None:
    assert CANARIES[name] not in Redactor()(f"export X='{CANARIES[name]}' # {name}")


def test_sec_02_secrets_announced_by_what_stands_around_them() -> None:
    redactor = Redactor()
    assert redactor("postgresql://me:hunter22@db/x") == f"postgresql://me:{HIDDEN}@db/x"
    assert redactor("authorization: bearer abcdefghijklmnop0") == f"authorization: bearer {HIDDEN}"
    key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEI\n-----END EC PRIVATE KEY-----"
    assert "MHcC" not in redactor(key)


def test_ordinary_text_stays_as_it_is(redactor: Redactor) -> None:
    text = (
        "A disk-based task-runner: risk-free, 12345678:90, e.g. module.submodule.attribute, "
        "commit 4f1c9e221b7ab0c9e7f8e2f4c1d0a9b8c7d6e5f4, basic rules, a bearer of news, "
        "https://example.test:8443/a@b?c=d sk-short eyJhbGciOi 2026-11-16T06:22:11Z \udcff"
    )
    assert redactor(text) == text


def test_a_value_that_is_too_short_hides_nothing() -> None:
    assert variants("x1y2z") == frozenset()
    assert variants("hermes") == frozenset()
    assert Redactor(["", "a", "hermes"])("hermes a") == "hermes a"
    assert min(map(len, variants("ab12cd"))) >= CHARS_MIN


def test_a_redactor_tells_no_secret_about_itself(redactor: Redactor) -> None:
    shown = f"{redactor!r} {Stream(lambda: redactor)!r}"
    assert not any(secret in shown for secret in CANARIES.values())


@settings(deadline=None, max_examples=200)
@given(secret=SECRET, before=AROUND, after=AROUND, size=st.integers(1, 9))
def test_sec_02_every_form_of_any_secret_is_hidden_wherever_it_stands(
    secret: str, before: str, after: str, size: int
) -> None:
    redactor = Redactor([secret])
    for form in variants(secret):
        text = before + form + after
        safe = redactor(text)
        assert form not in safe or form in HIDDEN
        stream = Stream(lambda: redactor)
        pieces = [stream.feed(text[n : n + size]) for n in range(0, len(text), size)]
        assert form not in "".join((*pieces, stream.close()))


@settings(deadline=None, max_examples=200)
@given(text=st.text(max_size=300), size=st.integers(1, 20))
def test_a_stream_without_secrets_gives_everything_back(text: str, size: int) -> None:
    stream = Stream(lambda: Redactor(["no such secret 1"]))
    pieces = [stream.feed(text[n : n + size]) for n in range(0, len(text), size)]
    assert "".join((*pieces, stream.close())) == Redactor()(text)


def test_sec_02_hiding_costs_no_more_for_many_secrets_than_for_few() -> None:
    text = (
        "2026-11-16 GET /v1/sessions/0123456789abcdef 200 12ms id=4f1c9e22 a few words\n" * 10_000
    )
    few, many = Redactor(["one-single-secret-1"]), Redactor(CANARIES.values())
    alternation = re.compile(
        "|".join(map(re.escape, {form for each in CANARIES.values() for form in variants(each)}))
    )
    plain = _quickest(lambda: alternation.sub(HIDDEN, text))
    assert _quickest(lambda: many(text)) < 8 * _quickest(lambda: few(text))
    assert _quickest(lambda: many(text)) < plain


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "sk-", "1", "a", "://", "-----BEGIN PRIVATE KEY-----", "M.", "bearer ", "syt_a_"],
)
def test_res_08_no_text_makes_it_slow(piece: str, redactor: Redactor) -> None:
    text = piece * (200_000 // len(piece))
    assert _quickest(lambda: redactor(text), times=1) < 1.0


@pytest.mark.parametrize("piece", ["a", "a.", "-", "Bearer:", "sk-", "eyJa."])
def test_res_08_a_word_without_an_end_streams_as_quickly_as_many_words(
    piece: str, redactor: Redactor
) -> None:
    """In pieces of a few signs, as models send them: each is read a few times, not a thousand."""
    words, endless = "word " * 12_000, (piece * 60_000)[:60_000]

    def streamed(text: str) -> str:
        stream = Stream(lambda: redactor)
        shown = [stream.feed(text[n : n + 5]) for n in range(0, len(text), 5)]
        return "".join((*shown, stream.close()))

    assert streamed(words) == words
    assert len(streamed(endless)) <= len(endless)
    ordinary = _quickest(lambda: streamed(words))
    assert _quickest(lambda: streamed(endless)) < 4 * ordinary


def test_sec_02_a_secret_in_a_word_without_an_end_is_hidden(redactor: Redactor) -> None:
    secret = CANARIES["OPENAI_API_KEY"]
    text = f"{'a' * 9_000}/{secret}/{'b' * 9_000} end"
    stream = Stream(lambda: redactor)
    shown = [stream.feed(text[n : n + 7]) for n in range(0, len(text), 7)]
    whole = "".join((*shown, stream.close()))
    assert whole == text.replace(secret, HIDDEN)


def _quickest(work: object, times: int = 3) -> float:
    assert callable(work)
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return min(taken)
