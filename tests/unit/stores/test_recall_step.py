"""The index of an older file is made again, and a search knows when its time is over."""

from itertools import count
from pathlib import Path

import apsw
from tests.contract.places import A, Place, hits, lane
from tests.contract.test_store_library import told
from tests.unit.stores.test_gateway_step import as_first

from hermes.core.recall import EVERYTHING, scope_of
from hermes.stores.hits import SearchRequest
from hermes.stores.sqlite.search import search
from hermes.stores.words import parse_query


async def test_an_older_file_can_be_searched_as_a_new_one(tmp_path: Path) -> None:
    new = Place(str(tmp_path / "new.db"))
    store = await new.open()
    await store.nodes.join(A)
    await told(store, "x", "a snowy owl")
    assert len(await hits(store, "owl")) == 1
    await new.close()
    as_first(tmp_path / "new.db", tmp_path / "old.db")
    old = Place(str(tmp_path / "old.db"))
    store = await old.open()
    [hit] = await hits(store, '"snowy owl"', scope=scope_of(lane("x")))
    assert hit.key == lane("x")
    assert await store.upkeep.check() == []
    await old.close()


async def test_a_search_stops_when_its_time_is_over(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "hermes.db"))
    store = await place.open()
    await store.nodes.join(A)
    await told(store, "x", "a snowy owl")
    assert len(await hits(store, "owl")) == 1
    await place.close()
    db = apsw.Connection(place.name)
    wanted = SearchRequest(question=parse_query("owl"), scope=EVERYTHING, limit=5)
    found, whole = search(db.cursor(), wanted)
    assert (len(found), whole) == (1, True)
    hours = count(0, 3_600)
    assert search(db.cursor(), wanted, lambda: next(hours)) == ([], False)
    db.close()
