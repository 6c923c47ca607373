"""Small parts of the stores that a whole store hardly shows: named SQL, leases, arrays."""

from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes.stores.postgres.arrays import Blobs, Flags, NumberArray, TextArray, Times, register
from hermes.stores.postgres.nodes import Watch
from hermes.stores.postgres.statements import BATCH
from hermes.stores.queries import named

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def test_statements_are_found_by_their_names() -> None:
    text = "About the file.\n\n-- name: one\nselect 1;\n\n-- name: two\n-- why\nselect\n  2\n"
    assert named(text) == {"one": "select 1", "two": "-- why\nselect\n  2"}
    with pytest.raises(ValueError, match="two statements"):
        named("-- name: a\nselect 1\n-- name: a\nselect 2")


def test_a_parameter_that_is_used_twice_has_one_number() -> None:
    assert len(set(BATCH["append"].names)) == len(BATCH["append"].names)
    assert b"%(" not in BATCH["append"].text


def test_a_node_is_silent_only_after_the_whole_lease() -> None:
    watch = Watch(lease_s=10)
    seen = {at: watch.look(at, [("a", 7), ("b", int(at))]) for at in (0.0, 4.0, 8.0, 9.9, 10.0)}
    assert [bool(silent) for silent in seen.values()] == [False, False, False, False, True]
    assert seen[10.0] == {"a": 7}


def test_a_beat_begins_the_lease_anew() -> None:
    watch = Watch(lease_s=10)
    for at, beats in ((0.0, 1), (4.0, 1), (8.0, 2), (12.0, 2), (17.0, 2)):
        assert watch.look(at, [("a", beats)]) == {}
    assert watch.look(18.0, [("a", 2)]) == {"a": 2}


def test_a_watcher_that_slept_itself_buries_nobody_for_that() -> None:
    watch = Watch(lease_s=10)
    watch.look(0.0, [("a", 1)])
    assert watch.look(500_000.0, [("a", 1)]) == {}
    assert watch.look(500_001.0, [("a", 2)]) == {}
    assert watch.look(500_009.0, [("a", 2)]) == {}


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.none() | TEXT),
    blobs=st.lists(st.none() | st.binary()),
    numbers=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)),
    times=st.lists(st.none() | st.floats(allow_nan=False)),
    flags=st.lists(st.booleans()),
)
def test_an_array_arrives_as_it_was_sent(
    connection: psycopg.Connection[tuple[object, ...]],
    texts: list[str | None],
    blobs: list[bytes | None],
    numbers: list[int | None],
    times: list[float | None],
    flags: list[bool],
) -> None:
    sent = [
        TextArray.of(texts),
        Blobs.of(blobs),
        NumberArray.of(numbers),
        Times.of(times),
        Flags.of(flags),
    ]
    row = connection.execute("select %s, %s, %s, %s, %s", sent, binary=True).fetchone()
    assert row == (texts, blobs, numbers, times, flags)


@pytest.fixture(scope="module")
def connection(postgres_server: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(postgres_server.format("postgres"), autocommit=True) as made:
        register(made.adapters)
        yield made
