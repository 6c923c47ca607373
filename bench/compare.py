"""Hermes beside what a user would pick instead, on this machine, in one run.

    ./hermes-bench [--peers] [--only a,b] [--rows a,b] [--rounds N] [--seconds S] [--keep DIR]

Without --peers it measures Hermes alone. Peers are installed from the package registries into a
folder that is deleted at the end (--keep DIR leaves it, and the next run finds them there), and are
pointed at a model on loopback. The rounds of all programs take turns. Writes results.json, the
plots, the document and the table of the README; --report writes them again from the results that
are there. A run that was interrupted goes on where it was when the same command is given again.
"""

import argparse
import asyncio
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.kept import Kept, results
from bench.peers import OURS, PEERS
from bench.peers.base import Installed, NotHere, Peer, size_of
from bench.report import write
from bench.rows import ROWS, Field, There
from bench.running import House, run
from bench.summary import put_into

ROOT = Path(__file__).parents[1]
DOCUMENT, README = ROOT / "docs" / "BENCHMARKS.md", ROOT / "README.md"
ROUNDS, SECONDS, HISTORY_S = 3, 3.0, 360.0
INSTALL = "install"
STAMP = "installed.json"

Json = dict[str, Any]


def main(words: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # whatever was started ends, too
    out = Path(given.out)
    if given.report:
        found = results(out)
    else:
        rows = given.rows.split(",") if given.rows else [INSTALL, *ROWS]
        wrong = [row for row in rows if row not in (INSTALL, *ROWS)]
        if wrong:
            sys.exit(f"there is no row {wrong[0]}; there are: {INSTALL}, {', '.join(ROWS)}")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            kept = Path(given.keep).resolve() if given.keep else Path(folder) / "programs"
            found = _measured(given, rows, Path(folder), kept)
    write(found, out, Path(given.document))
    if Path(given.document) == DOCUMENT:
        README.write_text(put_into(README.read_text("utf-8"), found), "utf-8")
    print(f"Written: {given.document}, {given.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    words = argparse.ArgumentParser(prog="hermes-bench", description=(__doc__ or "").split("\n")[0])
    words.add_argument("--peers", action="store_true", help="install and measure the others, too")
    words.add_argument("--rows", metavar="A,B", help=f"of: {INSTALL}, {', '.join(ROWS)}")
    words.add_argument("--only", metavar="A,B", help="of the peers, only these")
    words.add_argument("--rounds", type=int, default=ROUNDS, metavar="N")
    words.add_argument("--seconds", type=float, default=SECONDS, help="of each load", metavar="S")
    words.add_argument("--history-s", type=float, default=HISTORY_S, help="at most", metavar="S")
    words.add_argument("--out", default=str(ROOT / "docs" / "benchmarks"), metavar="DIR")
    words.add_argument("--document", default=str(DOCUMENT), metavar="FILE")
    words.add_argument("--keep", metavar="DIR", help="install there, and leave it")
    words.add_argument("--report", action="store_true", help="measure nothing, write it anew")
    return words


def _measured(given: argparse.Namespace, rows: Sequence[str], folder: Path, programs: Path) -> Json:
    began, load = time.monotonic(), os.getloadavg()[0]
    named = given.only.split(",") if given.only else [peer.name for peer in PEERS]
    peers = [peer for peer in PEERS if peer.name in named] if given.peers else []
    limits = {"rounds": given.rounds, "seconds": given.seconds, "history_s": given.history_s}
    asked = {**limits, "rows": list(rows), "programs": [peer.name for peer in peers]}
    kept = Kept(Path(given.out), asked)
    print("programs", flush=True)
    there, installs = _put_there((OURS, *peers), programs)
    kept.programs({name: _described(peer, made) for name, (peer, made) in there.items()})
    if INSTALL in rows and INSTALL not in kept.rows:
        kept.row(INSTALL, installs)
    for number, row in enumerate(rows, 1):
        if row in kept.rows:
            continue
        passed = (time.monotonic() - began) / 60
        print(f"[{number} of {len(rows)}] {row}, after {passed:.1f} min", flush=True)
        kept.row(row, _row(row, Field(House(folder), there, **limits)))
    when = time.strftime("%Y-%m-%d", time.gmtime())
    loads = [round(load, 1), round(os.getloadavg()[0], 1)]
    return kept.whole({"machine": {**machine(), "load": loads}, "when": when, **limits})


def _row(row: str, field: Field) -> Json:
    house = field.house
    with tempfile.TemporaryDirectory(dir=house.folder, ignore_cleanup_errors=True) as folder:
        house.folder = Path(folder)
        try:
            asyncio.run(ROWS[row](field))  # type: ignore[arg-type]
        finally:
            house.end()
    measured: Json = {"figures": field.figures, "problems": field.problems}
    return measured | ({"fates": field.fates} if field.fates else {})


def _put_there(peers: Sequence[Peer], programs: Path) -> tuple[There, Json]:
    there: dict[str, tuple[Peer, Installed]] = {}
    installs: Json = {"figures": {}, "problems": {}}
    for peer in peers:
        print(f"  {peer.label:14} …", flush=True)
        try:
            installed, seconds = _installed(peer, programs)
        except NotHere as why:
            installs["problems"][peer.name] = str(why)
            print(f"  {peer.label:14} not run: {why}", flush=True)
            continue
        there[peer.name] = (peer, installed)
        size = installed.bytes / 1e6
        figures = {"wall_s": [seconds], "packages": [installed.packages], "mb": [size]}
        installs["figures"][peer.name] = figures
        told = f"{seconds:.0f} s, {installed.packages} packages, {size:.0f} MB"
        print(f"  {peer.label:14} {installed.version}: {told}", flush=True)
    return there, installs


def _described(peer: Peer, installed: Installed) -> Json:
    return {"label": peer.label, "version": installed.version, "how": peer.how, "set": peer.settled}


def _installed(peer: Peer, programs: Path) -> tuple[Installed, float]:
    """As it was put there before, or anew. What its chats need is added behind the clock."""
    folder = programs / peer.name
    stamp = folder / STAMP
    if stamp.exists() and peer is not OURS:  # ours may have been changed since
        known = json.loads(stamp.read_text(encoding="utf-8"))
        seconds = float(known.pop("wall_s"))
        program, where = tuple(known.pop("program")), Path(known.pop("folder"))
        return Installed(where, program, **known), seconds
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted run has left
    folder.mkdir(parents=True)
    peer.prepare(folder)
    began = time.monotonic()
    found = peer.install(folder)
    seconds = time.monotonic() - began
    size = size_of(found.folder)
    said = run(peer.version(found), folder).said
    version = next((w for w in said.split() if any(c.isdigit() for c in w)), "").strip("v,()")
    made = Installed(found.folder, found.program, version, found.packages, size)
    peer.equip(made)
    known = {"program": made.program, "folder": str(made.folder), "version": version}
    known |= {"packages": made.packages, "bytes": size, "wall_s": seconds}
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


if __name__ == "__main__":
    sys.exit(main())
