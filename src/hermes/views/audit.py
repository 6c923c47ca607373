"""Where the audit log ended when somebody looked last: noted beside it, and compared the next time.

An end that was cut off, and a log that was sealed anew with another key, are found by this alone.
Whoever can write to the home can write here too: a copy elsewhere is worth more.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hermes.core.audit import Head
from hermes.core.errors import StoreCorrupt, StoreFailed
from hermes.core.store import Audit
from hermes.views.files import whole_file

FILE = "audit.heads"
BYTES_MAX = 1_000_000

_heads = msgspec.json.Decoder(dict[str, Head])


def read_heads(home: Path) -> Mapping[str, Head]:
    """Nothing when none were noted yet. Raises StoreFailed."""
    path = home / FILE
    try:
        with path.open("rb") as file:
            return _heads.decode(file.read(BYTES_MAX))
    except FileNotFoundError:
        return {}
    except OSError as refused:
        raise StoreFailed(f"{path} cannot be read ({refused.strerror})") from refused
    except msgspec.MsgspecError as broken:
        raise StoreCorrupt(
            f"{path} was changed and cannot be read ({broken}). If you know why, remove it; the "
            "next `hermes audit verify` begins a new one."
        ) from broken


def write_heads(home: Path, heads: Mapping[str, Head]) -> None:
    """Raises StoreFailed."""
    whole_file(home / FILE, msgspec.json.encode(heads, order="sorted") + b"\n")


async def verified(audit: Audit, home: Path) -> Sequence[str]:
    """What is wrong with the log. Where it ends now is noted only when nothing is: what was noted
    before is the proof of what was there."""
    before = read_heads(home)
    heads = await audit.heads()
    faults = await audit.check(before)
    if not faults and heads != before:
        write_heads(home, heads)
    return faults
