"""Find out how many colours the terminal supports, from its environment. Pure."""

from collections.abc import Mapping
from typing import Literal

Depth = Literal[1, 4, 8, 24]  # bits


def depth_of(environ: Mapping[str, str]) -> Depth:
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term in ("", "dumb", "vt100", "vt220"):
        return 1
    if environ.get("COLORTERM", "") in ("truecolor", "24bit") or "direct" in term:
        return 24
    return 8 if "256" in term else 4
