"""Any life of a file, by hand and by agent: the history always says what the file says."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes.core.errors import Rejected
from tests.unit.memory.shelf import AGENT, BACKGROUND, PERSON, STRANGER, Shelf

TEXTS = st.sampled_from(["Tea is good.", "Tea is bad.", "Omega.", "A long line about the server."])
FILES = st.lists(
    st.sampled_from(
        ["- Tea is good.", "* Omega", "", "# Head", "A paragraph.", "<!-- c -->", "1. x"]
    ),
    max_size=6,
).map("\n".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), TEXTS),
        st.tuples(st.just("replace"), TEXTS),
        st.tuples(st.just("remove"), TEXTS),
        st.tuples(st.just("stranger"), TEXTS),
        st.tuples(st.just("hand"), FILES),
        st.tuples(st.just("undo"), st.just("")),
        st.tuples(st.just("undo first"), st.just("")),
        st.tuples(st.just("approve"), st.just("")),
    ),
    max_size=8,
)


def step(shelf: Shelf, what: str, text: str) -> None:
    entries = shelf.memories.entries("memory")
    first = entries[0].id if entries else "none"
    match what:
        case "add":
            shelf.add(text, AGENT)
        case "replace":
            shelf.replace(first, text, BACKGROUND)
        case "remove":
            shelf.remove(first, AGENT)
        case "stranger":
            shelf.add(text, STRANGER)
        case "hand":
            shelf.write(text)
        case "approve":
            shelf.memories.approve("p1", PERSON)
        case "undo":
            shelf.memories.undo(None, PERSON)
        case _:
            shelf.memories.undo(1, PERSON)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_the_history_says_what_the_file_says_and_forgets_nothing(
    steps: list[tuple[str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf, seen = Shelf(Path(folder) / "memories"), set[str]()
        for what, text in steps:
            try:
                step(shelf, what, text)
            except Rejected:
                continue
            seen |= set(shelf.texts())
        fresh = Shelf(shelf.folder)
        assert fresh.texts() == shelf.texts()
        versions = fresh.memories.versions(limit=1_000)
        assert [v.number for v in versions] == list(range(len(versions), 0, -1))
        kept = {entry.text for v in versions for entry in v.added}
        assert seen <= kept, "every text that ever was there can be read in the history"
        if versions:
            assert [e.id for e in fresh.memories.entries("memory")] == list(versions[0].order)
        for version in versions:
            assert bool(fresh.memories.diff(version.number)) == (version.before != version.after)
