"""Fetch weights from the first place that has them, check the whole, and give them their name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from hermes.core.errors import Rejected
from hermes.providers.weights.catalogue import Weights
from hermes.providers.weights.folder import PartialFile, WeightsFolder
from hermes.providers.weights.places import FetchPlace, PlaceFailed
from hermes.providers.weights.watch import FetchWatch

BROKEN_OFF_MAX: Final = 5  # so often one place may break off and go on; it must bring some bytes
WRONG: Final = "what it sent is not {title} (its sha256 is another one)"


async def fetch_weights(
    weights: Weights,
    folder: WeightsFolder,
    places: Callable[[FetchWatch], Sequence[FetchPlace]],
    watch: FetchWatch,
) -> Path:
    """Return the file, fetched if it is not here. Raise Rejected with the reason of every place,
    or StoreFull; what was fetched stays for the next time."""
    with folder.partial(weights, watch.wait) as partial:
        if (there := folder.file_of(weights)) is not None:
            return there
        if partial.size == weights.bytes:  # it was killed before it could check them
            watch.check()
            if partial.is_right():
                return partial.keep()
            partial.clear()
        whys = []
        for place in places(watch):
            why = await _from_place(place, weights, partial, watch)
            if not why:
                return partial.keep()
            watch.failed(place.name, why)
            whys.append(f"{place.name}: {why}")
    raise Rejected(
        f"{weights.title} could not be fetched ({'; '.join(whys) or 'no place is known'}). "
        "What is here is kept: try again when that is fixed, or name a file that you have: "
        f"hermes model fetch {weights.name} --from FILE"
    )


async def _from_place(
    place: FetchPlace, weights: Weights, partial: PartialFile, watch: FetchWatch
) -> str:
    """Fetch the rest from one place and compare the whole. Return why that failed, or "".

    If the beginning came from elsewhere, the place is asked for the whole file once more before it
    is blamed.
    """
    for _attempt in range(2):
        from_elsewhere = partial.size > 0
        partial.demand_room(place.needs)
        watch.begin(place.name, partial.size)
        if why := await _copy(place, weights, partial, watch):
            return why
        watch.check()
        if partial.is_right():
            return ""
        partial.clear()
        if not from_elsewhere:
            break
    return WRONG.format(title=weights.title)


async def _copy(
    place: FetchPlace, weights: Weights, partial: PartialFile, watch: FetchWatch
) -> str:
    """Append what is missing. A place that breaks off is asked again while it brings bytes."""
    why = "it has not all of the file"
    for _attempt in range(BROKEN_OFF_MAX):
        before = partial.size
        try:
            async for piece in place.pieces(partial.size):
                partial.add(piece[: weights.bytes - partial.size])
                watch.progress(partial.size)
        except PlaceFailed as failed:
            why = str(failed)
        if partial.size == weights.bytes:
            return ""
        if partial.size == before:
            return why
    return why
