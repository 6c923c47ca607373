"""Search: what a question means, who may find what, what is hidden, and its limits."""

import asyncio
import random
from importlib import resources

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes.core import events as e
from hermes.core.ids import SessionId, SessionKey, TurnId, chat_key, session_key
from hermes.core.recall import EVERYTHING, Scope, scope_of
from hermes.core.store import Fence, Found, Store
from hermes.stores.hits import STOPPED
from tests.contract.places import (
    A,
    Owner,
    Place,
    PostgresPlace,
    begin,
    conversation,
    hits,
    lane,
    message,
    own,
)
from tests.contract.test_store_library import told

DM, OTHER = chat_key("telegram", "dm", "1"), chat_key("telegram", "dm", "12")
TOPIC = chat_key("telegram", "dm", "1", thread="7")
GROUP = chat_key("telegram", "group", "-1", thread="3")
GROUP_ANN = chat_key("telegram", "group", "-1", user="ann")
API, LOCAL = session_key("api", "dm", "1"), session_key("local", "dm", "main")
SCOPES = [EVERYTHING, scope_of(lane("x")), Scope("lane", lane("x"))]

PLAIN = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)
MEAN = st.lists(
    st.sampled_from(
        ['"', "-", "*", "AND", "OR", "NOT", "NEAR(", ")", ":", "^", "&", "|", "!", "<->", "'", "\\",
         "{text}", "owl", "nes", "東京", "é", "\0", "@l", "%s", "a", " "]
    ),
    max_size=12,
).map("".join)  # fmt: skip


async def answer(store: Store, question: str, scope: Scope = EVERYTHING) -> Found:
    return await store.library.search(question, scope=scope, limit=20)


async def chats_of(store: Store, question: str, scope: Scope = EVERYTHING) -> set[SessionKey]:
    return {hit.key for hit in await hits(store, question, scope=scope)}


async def test_a_phrase_an_exclusion_and_a_beginning_mean_what_they_say(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "the snowy owl nests on the tundra")
    await told(store, "y", "an owl in snowy woods", "nesting")
    assert await chats_of(store, "snowy owl") == {lane("x"), lane("y")}
    assert await chats_of(store, '"snowy owl"') == {lane("x")}
    assert await chats_of(store, 'owl -"snowy owl"') == {lane("y")}
    assert await chats_of(store, "owl -woods") == {lane("x")}
    assert await chats_of(store, "nest") == set()
    assert await chats_of(store, "nest*") == {lane("x"), lane("y")}
    assert await chats_of(store, '"owl nes"*') == {lane("x")}
    assert await chats_of(store, "OWL NOT snowy") == set(), "NOT is a word like any other"


async def test_scripts_without_blanks_are_found_by_a_part(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "ja", "昨日は東京タワーに行きました。")
    await told(store, "ko", "어제 서울에서 만났어요")
    await told(store, "de", "Die Straße führt über die Brücke")
    [hit] = await hits(store, "東京")
    assert hit.key == lane("ja")
    assert [hit.excerpt[start:stop] for start, stop in hit.marks] == ["東京"]
    assert await chats_of(store, "京東") == set()
    assert await chats_of(store, "서울") == {lane("ko")}
    assert await chats_of(store, "STRASSE uber") == {lane("de")}


async def test_the_excerpt_shows_where_the_words_stand(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "filler " * 60 + "a Snowy\nowl " + "more " * 60)
    [hit] = await hits(store, '"snowy owl"')
    assert [hit.excerpt[start:stop] for start, stop in hit.marks] == ["Snowy", "owl"]
    assert hit.excerpt.startswith("…")
    assert hit.excerpt.endswith("…")
    assert len(hit.excerpt) < 200
    assert hit.sender == "ann"


async def test_what_is_about_the_words_comes_first_and_the_latest_among_equals(
    store: Store,
) -> None:
    await store.nodes.join(A)
    await told(store, "much", "owl owl owl", at=2.0)
    await told(store, "old", "an owl was seen here", at=10.0)
    await told(store, "new", "an owl was seen here", at=20.0)
    await told(store, "long", "an owl " + "and many other things " * 50, at=30.0)
    found = await hits(store, "owl")
    assert [hit.key for hit in found] == [lane("much"), lane("new"), lane("old"), lane("long")]


async def said_in(store: Store, key: SessionKey, text: str) -> None:
    inbound = replace(message(0, key, text), session=key)
    await store.journal.accept(inbound, opens=SessionId(f"conversation-{key}"))
    [claim] = await store.journal.claim(A, limit=1, only=key)
    owner = Owner(store, Fence(A, claim.epoch), await store.journal.load(key))
    names = (f"{inbound.account}#{inbound.id}",)
    await owner.write(e.TurnStarted(TurnId(f"turn-{key}"), names, claim.epoch, 2.0))


@pytest.fixture
async def town(store: Store) -> Store:
    await store.nodes.join(A)
    for key in (DM, TOPIC, OTHER, GROUP, GROUP_ANN, API, LOCAL):
        await said_in(store, key, f"the owl of {key}")
    return store


async def test_nobody_finds_what_the_place_may_not_see(town: Store) -> None:
    everything = {DM, TOPIC, OTHER, GROUP, GROUP_ANN, API, LOCAL}
    expected = {
        LOCAL: everything,
        API: everything,
        DM: {DM, TOPIC},
        TOPIC: {DM, TOPIC},
        OTHER: {OTHER},
        GROUP: {GROUP},
        GROUP_ANN: {GROUP_ANN},
        session_key("background", "dm", "abc"): set[SessionKey](),
        SessionKey("odd"): set[SessionKey](),
    }
    for key, seen in expected.items():
        scope = scope_of(key, "owner" if key in (LOCAL, API) else "people")
        assert await chats_of(town, "owl", scope) == seen, key
        assert await chats_of(town, "owl -nothing", scope) == seen, key


async def test_a_narrow_scope_is_not_crowded_out_by_others(town: Store) -> None:
    for number in range(130):
        await begin(town, A, f"crowd{number}", "owl owl owl")
        await (await own(town, A, f"crowd{number}")).start(f"crowd{number}")
    assert await chats_of(town, "owl", scope_of(OTHER)) == {OTHER}
    assert len(await hits(town, "owl", limit=10)) == 10


async def test_hidden_rows_are_not_found_and_do_not_use_up_the_limit(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "the owl came", "an owl again")
    await told(store, "y", "one more owl", at=50.0)

    async def shown(*spans: e.Span) -> list[tuple[str, int]]:
        found = await store.library.search("owl", scope=EVERYTHING, limit=1, hidden=spans)
        return [(hit.id, hit.ordinal) for hit in found.hits]

    y, x = conversation("y"), conversation("x")
    assert await shown(e.Span(x)) == [(y, 0)]
    assert await shown(e.Span(y), e.Span(x, 1)) == [(x, 0)]
    assert await shown(e.Span(y), e.Span(x, 0, 1)) == [(x, 1)]
    assert await shown(e.Span(y), e.Span(x)) == []


async def test_rows_that_a_view_no_longer_shows_are_found(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "the owl came")
    owner = await own(store, A, "x")
    view = e.View((e.Span(conversation("x"), 1),), "They talked about birds.")
    await owner.write(e.ViewChanged(view, "compacted", 9.0))
    assert await chats_of(store, "owl") == {lane("x")}
    assert await chats_of(store, "birds") == set(), "a summary is no row"


async def test_a_hostile_question_is_cut_and_says_so(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "owl " + " ".join(f"w{number}" for number in range(20)))
    async with asyncio.timeout(60):
        many = await answer(store, " OR ".join(f"w{number}" for number in range(500)))
        long = await answer(store, " ".join(f"w{number}" for number in range(20)))
    assert "only its 2 longest words" in " ".join(many.notes)
    assert [hit.key for hit in long.hits] == [lane("x")]
    assert len(long.notes) == 1
    assert (await answer(store, "owl")).notes == ()
    assert "names no word" in (await answer(store, "-owl *")).notes[0]
    assert "at least 2 letters" in (await answer(store, "o*")).notes[0]


async def test_any_text_is_a_safe_question(store: Store) -> None:
    await store.nodes.join(A)
    await told(store, "x", "hello owl 東京 nest")

    @settings(
        max_examples=60,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(question=st.one_of(PLAIN, MEAN))
    def ask(question: str) -> None:
        questions.append(question)

    questions: list[str] = []
    ask()
    for question in questions:
        found = await answer(store, question, random.Random(len(question)).choice(SCOPES))
        assert len(found.hits) <= 2, question
    assert len(await hits(store, "owl")) == 1


async def test_words_are_ready_again_after_a_rebuild_and_after_a_deletion(place: Place) -> None:
    store = await place.open()
    await store.nodes.join(A)
    for chat in ("x", "y", "z"):
        await told(store, chat, f"the owl of {chat}")
    before = await answer(store, "owl of")
    await store.library.rebuild()
    again = await answer(store, "owl of")
    assert sorted(map(str, again.hits)) == sorted(map(str, before.hits))
    assert await store.library.delete(lane("z"))
    assert await chats_of(store, "owl") == {lane("x"), lane("y")}
    await told(store, "w", "the owl of w")
    assert await chats_of(store, "owl") == {lane("w"), lane("x"), lane("y")}
    assert await store.upkeep.check() == []
    other = await place.open()
    assert await chats_of(other, '"owl of w"') == {lane("w")}


async def test_a_question_that_takes_too_long_is_given_up(database: str) -> None:
    place = PostgresPlace(database)
    store = await place.open()
    await store.nodes.join(A)
    await told(store, "x", "an owl")
    assert await chats_of(store, "owl") == {lane("x")}
    with psycopg.connect(database) as other:
        other.execute("lock table hermes.words in access exclusive mode")
        async with asyncio.timeout(60):
            found = await answer(store, "owl")
        other.rollback()
    assert found == Found(notes=(STOPPED,))
    assert await chats_of(store, "owl") == {lane("x")}
    await place.close()


async def test_what_an_older_schema_had_read_is_read_again(database: str) -> None:
    place = PostgresPlace(database)
    store = await place.open()
    await store.nodes.join(A)
    await told(store, "x", "an owl")
    assert await chats_of(store, "owl") == {lane("x")}
    folder = resources.files("hermes.stores.postgres") / "sql" / "migrations"
    with psycopg.connect(database) as other:
        other.execute("set search_path = hermes")
        other.execute((folder / "0004_recall.sql").read_text(encoding="utf-8").encode())
    assert await chats_of(store, "owl", scope_of(lane("x"))) == {lane("x")}
    await place.close()
