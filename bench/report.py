"""Stub."""

from pathlib import Path
from typing import Any


def write(results: dict[str, Any], out: Path, document: Path) -> None:
    pass
