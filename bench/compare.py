"""Hermes beside what a user would pick instead, on this machine, in one run.

    ./hermes-bench [--peers] [--rows a,b] [--rounds N] [--seconds S] [--out DIR] [--keep DIR]

Without --peers it measures Hermes alone. Peers are installed from the package registries into a
folder that is deleted at the end (--keep DIR leaves it, and the next run finds them there), and are
pointed at a model on loopback. The rounds of all programs take turns. Writes results.json, the
plots and the document; --report writes them again from the results that are there.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers import OURS, PEERS
from bench.peers.base import Installed, NotHere, Peer, size_of
from bench.report import write
from bench.rows import ROWS, Field
from bench.running import House, run

ROOT = Path(__file__).parents[1]
ROUNDS, SECONDS, HISTORY_S = 3, 5.0, 600.0
STAMP = "installed.json"

Json = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(words)
    out = Path(given.out)
    results: Json = _read(out / "results.json")
    if not given.report:
        rows = given.rows.split(",") if given.rows else ["install", *ROWS]
        wrong = [row for row in rows if row not in ("install", *ROWS)]
        if wrong:
            sys.exit(f"there is no row {wrong[0]}; there are: install, {', '.join(ROWS)}")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            kept = Path(given.keep).resolve() if given.keep else Path(folder) / "programs"
            results = _measured(given, rows, Path(folder), kept, results)
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(results, indent=1, sort_keys=True)
        (out / "results.json").write_text(text + "\n", encoding="utf-8")
    write(results, out, Path(given.document))
    print(f"Written: {given.document}, {given.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="hermes-bench", description=(__doc__ or "").split("\n")[0])
    words.add_argument("--peers", action="store_true", help="install and measure the others, too")
    words.add_argument("--rows", metavar="A,B", help=f"of: install, {', '.join(ROWS)}")
    words.add_argument("--only", metavar="A,B", help="of the peers, only these")
    words.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    words.add_argument("--seconds", type=float, default=SECONDS, help="of each load", metavar="S")
    words.add_argument("--history-s", type=float, default=HISTORY_S, help="at most", metavar="S")
    words.add_argument("--out", default=str(ROOT / "docs" / "benchmarks"), metavar="DIR")
    words.add_argument("--document", default=str(ROOT / "docs" / "BENCHMARKS.md"), metavar="FILE")
    words.add_argument("--keep", metavar="DIR", help="install there, and leave it")
    words.add_argument("--report", action="store_true", help="measure nothing, write it anew")
    return words


def _measured(
    given: argparse.Namespace, rows: Sequence[str], folder: Path, kept: Path, old: Json
) -> Json:
    named = given.only.split(",") if given.only else [peer.name for peer in PEERS]
    peers = [peer for peer in PEERS if peer.name in named] if given.peers else []
    there: dict[str, tuple[Peer, Installed]] = {}
    results: Json = {
        "machine": machine(),
        "when": time.strftime("%Y-%m-%d", time.gmtime()),
        "rounds": given.rounds,
        "seconds": given.seconds,
        "programs": dict(old.get("programs", {})),
        "rows": dict(old.get("rows", {})),
        "crash": dict(old.get("crash", {})),
    }
    installs: Json = {"figures": {}, "problems": {}}
    for peer in (OURS, *peers):
        try:
            installed, seconds = _installed(peer, kept)
        except NotHere as why:
            installs["problems"][peer.name] = str(why)
            print(f"  {peer.name:14} not run: {why}", flush=True)
            continue
        there[peer.name] = (peer, installed)
        sizes = {"packages": [installed.packages], "mb": [installed.bytes / 1e6]}
        installs["figures"][peer.name] = {"wall_s": seconds, **sizes}
        results["programs"][peer.name] = {
            "label": peer.label,
            "version": installed.version,
            "how": peer.how,
        }
    if "install" in rows:
        results["rows"]["install"] = installs
    load_before = os.getloadavg()
    for row in rows:
        if row in ROWS:
            print(row, flush=True)
            _row(given, row, there, folder, results)
    results["machine"]["load"] = [
        round(value, 1) for value in (*load_before[:1], os.getloadavg()[0])
    ]
    return results


def _row(
    given: argparse.Namespace,
    row: str,
    there: Mapping[str, tuple[Peer, Installed]],
    folder: Path,
    results: Json,
) -> None:
    house = House(Path(tempfile.mkdtemp(dir=folder)))
    field = Field(house, there, given.rounds, given.seconds, given.history_s)
    try:
        asyncio.run(ROWS[row](field))  # type: ignore[arg-type]
    finally:
        house.end()
    results["rows"][row] = {"figures": field.figures, "problems": field.problems}
    results["crash"].update(field.fates)


def _installed(peer: Peer, kept: Path) -> tuple[Installed, list[float]]:
    """As it was put there before, or anew. What its chats need is added behind the clock."""
    folder = kept / peer.name
    stamp = folder / STAMP
    if stamp.exists():
        known = json.loads(stamp.read_text(encoding="utf-8"))
        seconds = known.pop("seconds")
        program, where = tuple(known.pop("program")), Path(known.pop("folder"))
        return Installed(where, program, **known), seconds
    folder.mkdir(parents=True)
    print(f"  {peer.name:14} is installed", flush=True)
    began = time.monotonic()
    found = peer.install(folder)
    seconds = [time.monotonic() - began]
    said = run(peer.version(found), folder).said
    size = size_of(found.folder)
    peer.equip(found)
    version = next((w for w in said.split() if any(c.isdigit() for c in w)), "").strip("v,()")
    made = Installed(found.folder, found.program, version, found.packages, size)
    known = {"program": made.program, "folder": str(made.folder), "version": version}
    known |= {"packages": made.packages, "bytes": size, "seconds": seconds}
    stamp.write_text(json.dumps(known), encoding="utf-8")
    return made, seconds


def machine() -> Json:
    """What matters, and nothing that names it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    model = ""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "memory_gb": round(memory / 1e9),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def _read(file: Path) -> Json:
    if not file.exists():
        return {}
    found: Json = json.loads(file.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
