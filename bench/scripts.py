"""What a call costs inside a script, beside the same call made by a model.

`python -m bench.scripts [--calls N] [--runs N]` runs an engine of its own on a scripted model: one
turn that reads a file N times by N answers, and one whose script reads it N times. It prints the
CPU time of a call in this process (median of the runs), a script's call as a ratio to a plain one,
what the first call costs beside a later one, the commits of each, and the model's round trips. A
script's call may cost at most twice a plain one; more ends with an error. Times of one machine say
nothing; the ratios are within one run.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from hermes.app import application
from hermes.core.ids import MessageId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.settings.read import load

TIMES_MAX = 2.0
READ = {"tool": "read_file", "arguments": {"path": "note.txt"}}
LOOP = """
from hermes_tools import read_file
for _ in range({0}):
    read_file("note.txt")
print("done")
"""


def rules(calls: int) -> list[dict[str, object]]:
    """Return what the scripted model does: the same reads, by answers or by one script."""
    end = {"text": "done"}

    def script(count: int) -> dict[str, object]:
        code = {"tool": "execute_code", "arguments": {"code": LOOP.format(count)}}
        return {"match": f"^script {count}$", "steps": [{"calls": [code]}, end]}

    plain = {"match": "^plain", "steps": [*({"calls": [READ]} for _ in range(calls)), end]}
    return [plain, script(calls), script(1), {"match": "", "steps": [end]}]


async def measure(app: application.App, text: str, number: int) -> tuple[float, float, int]:
    """Return the CPU seconds of this process, the seconds, and the events of a turn."""
    key = session_key("local", "dm", f"{text.replace(' ', '-')}-{number}")
    said = Inbound(
        id=MessageId(f"{key}"),
        account="bench",
        session=key,
        sender=Person(id="owner"),
        address=Address(platform="local", chat="bench"),
        text=text,
        at=time.time(),
    )
    cpu, began = time.process_time(), time.perf_counter()
    await app.gateway.accept(said)
    await app.gateway.settle(key)
    spent = time.process_time() - cpu, time.perf_counter() - began
    session = await app.store.journal.load(key)
    assert session.turn is None, f"{text} has not ended"
    return *spent, session.position


async def run(folder: Path, calls: int, runs: int) -> int:
    home, work = folder / "home", folder / "work"
    home.mkdir(mode=0o700)
    work.mkdir()
    (work / "note.txt").write_text("a line\n" * 20, encoding="utf-8")
    (folder / "model").write_text(json.dumps(rules(calls)), encoding="utf-8")
    config = {
        "model": {"provider": "scripted", "name": str(folder / "model")},
        "approvals": {"mode": "allow"},
        "agent": {"steps_max": 10 * calls},
        "code": {"calls_max": calls},
    }
    (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    settings = load(home, {})
    opened = application.opened(
        home, settings, show=lambda _reply, _text: None, emit=lambda _signal: None, workdir=work
    )
    texts = ("plain", f"script {calls}", "script 1", "nothing")
    async with opened as app, app.gateway.joined():
        for text in texts:
            await measure(app, text, 0)  # what is loaded at the first use
        found = {text: [await measure(app, text, n + 1) for n in range(runs)] for text in texts}
    cpu = {text: statistics.median(each[0] for each in rows) for text, rows in found.items()}
    wall = {text: statistics.median(each[1] for each in rows) for text, rows in found.items()}
    plain = (cpu["plain"] - cpu["nothing"]) / calls
    script = (cpu[f"script {calls}"] - cpu["script 1"]) / (calls - 1)
    first = cpu["script 1"] - cpu["nothing"]
    waited = (wall[f"script {calls}"] - wall["script 1"]) / (calls - 1)
    beside = (wall["plain"] - wall["nothing"]) / calls
    print(f"CPU of a call: plain {plain * 1e3:.2f} ms, in a script {script * 1e3:.2f} ms")
    print(f"a script's call: {script / plain:.2f} times a plain one")
    print(f"the first call with the script's start: {first / script:.1f} times a later one")
    print(f"time of a call: {waited / beside:.2f} times a plain one")
    print(f"round trips to a model: {calls + 1} plain, 2 with a script")
    return 0 if script <= TIMES_MAX * plain else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(run(Path(folder), given.calls, given.runs))


if __name__ == "__main__":
    sys.exit(main())
