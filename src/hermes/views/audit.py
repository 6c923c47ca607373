"""Remember where the audit log ended at the last check, and compare the next time.

Only this detects a truncated log, or one that was signed again with another key. Any program that
can write to the home can also change this file, so a copy on another machine is safer.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hermes.core.audit import AuditHead
from hermes.core.errors import StoreCorrupt, StoreFailed
from hermes.core.store import Audit
from hermes.views.files import whole_file

FILE = "audit.heads"
BYTES_MAX = 1_000_000

_heads = msgspec.json.Decoder(dict[str, AuditHead])


def read_heads(home: Path) -> Mapping[str, AuditHead]:
    """Return the remembered ends of the log; empty before the first check. Raise StoreFailed."""
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


def write_heads(home: Path, heads: Mapping[str, AuditHead]) -> None:
    """Store the ends of the log. Raise StoreFailed."""
    whole_file(home / FILE, msgspec.json.encode(heads, order="sorted") + b"\n")


async def verified(audit: Audit, home: Path) -> Sequence[str]:
    """Return the problems of the log. Store its end only if there are none: the earlier end is the
    evidence of what was there."""
    before = read_heads(home)
    heads = await audit.heads()
    faults = await audit.check(before)
    if not faults and heads != before:
        write_heads(home, heads)
    return faults
