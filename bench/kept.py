"""Results, kept row by row: an interrupted run loses nothing, and the same command goes on.

`results.part.json` holds the rows of a run that is not over; when it is, they are laid over those
of `results.json`. A run that asks for something else begins anew.
"""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WHOLE, PART = "results.json", "results.part.json"

Json = dict[str, Any]


class Kept:
    def __init__(self, folder: Path, asked: Mapping[str, object]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        begun = _read(folder / PART)
        same = begun.get("asked") == dict(asked)
        new: Json = {"asked": dict(asked), "rows": {}, "programs": {}, "run": uuid.uuid4().hex[:8]}
        self._run: Json = begun if same else new

    @property
    def rows(self) -> Mapping[str, Json]:
        """Those that this run has measured already."""
        rows: Json = self._run["rows"]
        return rows

    def programs(self, found: Mapping[str, Json]) -> None:
        self._run["programs"] = dict(found)

    def row(self, name: str, measured: Json) -> None:
        """With the run's name: who reads the results can tell what was measured together."""
        self._run["rows"][name] = {**measured, "run": self._run["run"]}
        _write(self._folder / PART, self._run)

    def whole(self, about: Json) -> Json:
        """The run is over: what it measured replaces what was there."""
        before = results(self._folder)
        made: Json = {
            **before,
            **about,
            "programs": {**before.get("programs", {}), **self._run["programs"]},
            "rows": {**before.get("rows", {}), **self._run["rows"]},
        }
        _write(self._folder / WHOLE, made)
        (self._folder / PART).unlink(missing_ok=True)
        return made


def results(folder: Path) -> Json:
    return _read(folder / WHOLE)


def _read(file: Path) -> Json:
    if not file.exists():
        return {}
    found: Json = json.loads(file.read_text(encoding="utf-8"))
    return found


def _write(file: Path, value: Json) -> None:
    aside = file.with_suffix(".new")
    aside.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    aside.replace(file)
