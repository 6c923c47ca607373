"""Texts that many sessions share: kept once, by the digest of their bytes, whoever keeps them."""

from hashlib import sha256
from pathlib import Path

from hermes.core.store import Store
from hermes.stores.postgres import copies
from tests.contract.places import Place, PostgresPlace, SqlitePlace
from tests.contract.server import fresh_database


async def test_a_text_is_kept_under_the_digest_of_its_bytes(store: Store) -> None:
    digest = await store.texts.keep("You are Hermes. Grüße ✓")
    assert digest == sha256("You are Hermes. Grüße ✓".encode()).hexdigest()
    assert await store.texts.text(digest) == "You are Hermes. Grüße ✓"


async def test_a_text_that_is_kept_again_is_the_same_one(place: Place) -> None:
    ours, other = await place.open(), await place.open()
    first = await ours.texts.keep("x" * 100_000)
    assert await ours.texts.keep("x" * 100_000) == first
    assert await other.texts.keep("x" * 100_000) == first
    assert await other.texts.text(first) == "x" * 100_000


async def test_a_digest_that_nobody_kept_gives_nothing(store: Store) -> None:
    assert await store.texts.text("no such \0 digest") is None


async def test_what_no_store_can_keep_is_left_out_of_a_text(store: Store) -> None:
    digest = await store.texts.keep("a\0b\ud800c")
    assert await store.texts.text(digest) == "ab?c"


async def test_a_text_is_there_after_closing_and_after_a_rebuild(place: Place) -> None:
    store = await place.open()
    digest = await store.texts.keep("a prompt")
    await store.library.rebuild()
    await place.close()
    again = await place.open()
    assert await again.texts.text(digest) == "a prompt"


async def test_a_copy_holds_the_texts(place: Place, tmp_path: Path, postgres_server: str) -> None:
    store = await place.open()
    digest = await store.texts.keep("a prompt")
    target = tmp_path / "copy"
    await store.upkeep.backup(str(target))
    await place.close()
    if isinstance(place, PostgresPlace):
        with fresh_database(postgres_server) as url:
            await copies.restore(url, target)
            await _holds(PostgresPlace(url), digest)
    else:
        await _holds(SqlitePlace(str(target)), digest)


async def _holds(place: Place, digest: str) -> None:
    store = await place.open()
    assert await store.texts.text(digest) == "a prompt"
    await place.close()
