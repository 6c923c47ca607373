"""Is the suite worth anything? Break the engine in a dozen ways; each must be caught.

    .venv/bin/python -m tests.mutants.run [NAME …]

Every mutant is one replacement in a copy of the tree. The tests that should notice it are run
there. The table it prints is the one in docs/DURABILITY.md.
"""

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_S = 400
KILLS = "tests/crash/test_kills.py"
SCHEDULES = "tests/simulation/test_schedules.py"
CORE = "tests/unit/core"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """`old` stands exactly once in the file; `tests` are pytest's arguments."""

    name: str
    breaks: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = (KILLS,)


MUTANTS = (
    Mutant(
        name="an effect is run again after a crash",
        breaks="C23",
        file="core/step_calls.py",
        old="if call_state.stage is Stage.STARTED and call_state.effect is Effect.EFFECT:",
        new="if False:",
    ),
    Mutant(
        name="a call runs before its start is durable",
        breaks="start, C23",
        file="gateway/worker.py",
        old="        before = active.session.turn\n",
        new="        before = active.session.turn\n"
        "        for launch in plan.launches:\n"
        "            assert isinstance(launch, Launch)\n"
        "            self._launch(active, launch, host)\n"
        "        await asyncio.sleep(0.001)\n"
        "        plan = msgspec.structs.replace(plan, launches=())\n",
    ),
    Mutant(
        name="a read that was lost is given up instead of repeated",
        breaks="C22",
        file="core/step_calls.py",
        old="if call_state.stage is Stage.STARTED and call_state.effect is Effect.EFFECT:",
        new="if call_state.stage is Stage.STARTED:",
    ),
    Mutant(
        name="a message that is delivered twice is taken twice",
        breaks="admit",
        file="stores/sqlite/journal.py",
        old="        return Accepted(fresh=False, key=SessionKey(key), position=position)\n",
        new='        db.execute("DELETE FROM inbox WHERE account = ? AND message = ?", name)\n',
        tests=(SCHEDULES,),
    ),
    Mutant(
        name="an append asks for no fence",
        breaks="C62",
        file="stores/sqlite/journal.py",
        old="FROM sessions WHERE key = ? AND owner = ? AND epoch = ?\n",
        new="FROM sessions WHERE key = ? AND (1 OR owner = ? OR epoch = ?)\n",
        tests=("tests/contract", "-k", "sqlite and (fence or c62)"),
    ),
    Mutant(
        name="a buried process may go on writing",
        breaks="C62",
        file="stores/sqlite/nodes.py",
        old='    db.execute("UPDATE sessions SET owner = NULL WHERE owner = ?", (node,))\n',
        new="",
        tests=("tests/contract", "-k", "sqlite and (buried or c62)"),
    ),
    Mutant(
        name="the recovery note is stored",
        breaks="C30",
        file="core/transcript.py",
        old="            return tuple(line for inbound in taken "
        "for line in _said(inbound, turn))\n",
        new="            lines = tuple(line for inbound in taken "
        "for line in _said(inbound, turn))\n"
        "            now = session.turn\n"
        "            text = '[Note by Hermes: resumed]'\n"
        "            return (*lines, Line(role='user', text=text, turn=turn)) if now else lines\n",
    ),
    Mutant(
        name="a resumed turn gets no note",
        breaks="C30, C31",
        file="core/transcript.py",
        old="    if turn is not None and turn.resumed is not None:\n"
        "        return recovery_note(turn)\n",
        new="",
        tests=(CORE, "tests/journey"),
    ),
    Mutant(
        name="the answer and its outbox row are two commits",
        breaks="finish, C26",
        file="stores/sqlite/journal.py",
        old="    for reply in commit.replies:\n",
        new="    for reply in commit.replies if commit.summary.rows % 2 else ():\n",
    ),
    Mutant(
        name="a repeat is sent without its mark",
        breaks="C51",
        file="gateway/delivery.py",
        old="return _in_doubt(row) and n == row.chunks_sent and unknown",
        new="return False",
        tests=(KILLS, "-k", "keyless"),
    ),
    Mutant(
        name="a session rests on a plan made before a message slipped in",
        breaks="C60",
        file="gateway/worker.py",
        old="        if active.in_flight or not alone or isinstance(plan.then, More):\n",
        new="        if active.in_flight or isinstance(plan.then, More):\n",
        tests=(SCHEDULES,),
    ),
    Mutant(
        name="a call without a result is sent to the model as it is",
        breaks="C25",
        file="core/transcript.py",
        old="            self._put(result or none)\n",
        new="            if result:\n                self._put(result)\n",
        tests=(CORE,),
    ),
    Mutant(
        name="a run is not charged",
        breaks="C14",
        file="core/fold.py",
        old="        runs=1 if retried else session.runs + 1,\n",
        new="",
        tests=(CORE,),
    ),
    Mutant(
        name="commits are not flushed",
        breaks="durability of every commit",
        file="stores/sqlite/open.py",
        old='db.execute("PRAGMA synchronous = FULL")',
        new='db.execute("PRAGMA synchronous = NORMAL")',
        tests=("tests/unit/stores",),
    ),
    Mutant(
        name="a script's call repeated",
        breaks="C87",
        file="tools/code/script.py",
        old="        made, results = calls_made(lines), results_of(lines)\n        began",
        new="        made, results = calls_made(lines)[:-1], results_of(lines)\n        began",
        tests=("tests/unit/tools/code", "-k", "c87"),
    ),
    Mutant(
        name="a question is answered by any person",
        breaks="C85",
        file="core/step.py",
        old='    return spoken and later and call_state.asked in ("", sender_of(inbound).name)\n',
        new="    return spoken and later\n",
        tests=(CORE,),
    ),
    Mutant(
        name="an occurrence is named without its due time",
        breaks="C73",
        file="core/jobs.py",
        old="    return MessageId(f\"{job}@{at.strftime('%Y-%m-%dT%H:%M:%SZ')}\")",
        new='    return MessageId(f"{job}@{at:%Y}")',
        tests=("tests/crash/test_jobs.py",),
    ),
    Mutant(
        name="a job's rights are not frozen",
        breaks="C75",
        file="schedules/occurrence_messages.py",
        old="ask=asked_at), ceiling=job.principal.ceiling)",
        new="ask=asked_at, ceiling=type(job.principal.ceiling).OWNER))",
        tests=("tests/unit/schedules/test_rights.py",),
    ),
    Mutant(
        name="occurrences are skipped without a fact",
        breaks="C74",
        file="schedules/occurrences.py",
        old="len(dues), why, now),) if dues else ()",
        new="len(dues), why, now),) if not dues else ()",
        tests=("tests/unit/schedules/test_occurrences.py",),
    ),
    Mutant(
        name="the end of a child settles nothing",
        breaks="C27, C72, C80",
        file="core/child_sessions.py",
        old="    return replace(reply, ends=report)\n",
        new='    return replace(reply, kind="notice")\n',
        tests=("tests/unit/core/test_child_sessions.py",),
    ),
    Mutant(
        name="a turn that is over leaves its children alone",
        breaks="C81",
        file="core/child_sessions.py",
        old="    for state in filter(works, turn.call_states):\n",
        new="    for state in ():\n",
        tests=("tests/unit/core/test_child_sessions.py",),
    ),
)


def main() -> int:
    wanted = sys.argv[1:]
    chosen = [m for m in MUTANTS if not wanted or any(w in m.name for w in wanted)]
    alive = 0
    say("| mutant | breaks | caught by |\n| --- | --- | --- |")
    for mutant in chosen:
        caught = caught_by(mutant)
        alive += not caught
        say(f"| {mutant.name} | {mutant.breaks} | {caught or '**nobody**'} |")
    say(f"\n{len(chosen) - alive} of {len(chosen)} mutants were caught.")
    return 1 if alive else 0


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def caught_by(mutant: Mutant) -> str:
    """The first test that fails; empty when all of them pass."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        for part in ("src", "tests", "pyproject.toml"):
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, tree / part)
        file = tree / "src" / "hermes" / mutant.file
        text = file.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            raise SystemExit(f"{mutant.name}: {mutant.file} has changed; mend the mutant")
        broken = text.replace(mutant.old, mutant.new)
        if "msgspec." in mutant.new:
            broken = broken.replace("import asyncio\n", "import asyncio\nimport msgspec\n", 1)
        file.write_text(broken, encoding="utf-8")
        return first_failure(tree, mutant.tests)


def first_failure(tree: Path, tests: tuple[str, ...]) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command, cwd=tree, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "a test that does not end"
    lines = [
        line for line in run.stdout.splitlines() if line.startswith(("FAILED tests", "ERROR tests"))
    ]
    if run.returncode not in (0, 1) and not lines:
        raise SystemExit(run.stdout + run.stderr)
    return lines[0].split("::", 1)[-1].split(" - ")[0].split("[")[0] if lines else ""


if __name__ == "__main__":
    raise SystemExit(main())
