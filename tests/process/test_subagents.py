"""Subagents of the real gateway: what they see, what they bring home, and what kills do to them."""

import asyncio
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.process.delegating import Boss
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import UNASKED

GOAL = "count the files"


async def listed(here: GatewayProcess) -> list[Any]:
    """The children's turns."""
    rows = await here.hermes("turns", "list", "--json")
    return [row for row in rows if ":child:" in row["session"]]


async def test_b01_b02_a_single_task_sees_its_goal_alone_and_its_answer_is_the_result(
    tmp_path: Path,
) -> None:
    boss = Boss(
        {"goal": GOAL, "context": "in the folder src", "toolsets": ["file"]},
        lambda asked: Says("There are 12."),
    )
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.home.mkdir(mode=0o700, exist_ok=True)
        (here.home / "SOUL.md").write_text("You are a pirate called Bess.", encoding="utf-8")
        await here.start()
        said = (await here.say("my secret word is plum, then go", "quiet")).text
        said = (await here.say("go with the pear", "main")).text
    assert "There are 12." in said
    assert "completed" in said
    assert "report of another model" in said
    [asked] = boss.children
    assert GOAL in asked.said
    assert "in the folder src" in asked.said
    assert "Bess" not in asked.everything, "no SOUL"
    assert "plum" not in asked.everything
    assert "pear" not in asked.everything
    assert asked.tools == {"read_file", "write_file", "patch", "search_files"}
    assert asked.faults == []
    assert boss.parent[-1].faults == []


async def test_b01_a_batch_runs_at_once_and_one_that_fails_fails_only_its_entry(
    tmp_path: Path,
) -> None:
    together = asyncio.Event()

    async def child(asked: Asked) -> Says:
        if len({each.said for each in boss.children}) == 3:
            together.set()
        await asyncio.wait_for(together.wait(), 30.0)
        return Says(status=400) if "two" in asked.said else Says(f"done {asked.said[:5]}")

    tasks = [{"goal": "one   "}, {"goal": "two   "}, {"goal": "three "}]
    boss = Boss({"tasks": json.dumps(tasks)}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        said = json.loads((await here.say("go", limit_s=60.0)).text)
    results = said["results"]
    assert [entry["status"] for entry in results] == ["completed", "failed", "completed"]
    assert [entry["summary"] for entry in results][::2] == ["done one", "done three"]
    assert set(results[0]) >= {"status", "summary", "model", "tokens", "cost", "turn"}
    assert results[0]["tokens"] > 0
    assert len({entry["turn"] for entry in results}) == 3


@pytest.mark.parametrize("arguments", [{}, {"goal": "a", "tasks": [{"goal": "b"}]}, {"goal": " "}])
async def test_b15_bad_input_begins_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    boss = Boss(arguments, lambda asked: Says("never"))
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        said = (await here.say("go")).text
    assert "Nothing was begun" in said
    assert boss.children == []


async def test_b04_an_unknown_model_or_toolset_is_refused_with_the_list(tmp_path: Path) -> None:
    boss = Boss({"goal": GOAL, "model": "nobody:nothing"}, lambda asked: Says("never"))
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        assert "custom:double" in (await here.say("go", "one")).text
        boss.arguments = {"goal": GOAL, "toolsets": ["flying"]}
        said = (await here.say("go", "two")).text
        assert "flying" in said
        assert "terminal" in said
        boss.arguments = {"goal": GOAL, "toolsets": []}
        boss.child = lambda asked: Says("without hands")
        assert "without hands" in (await here.say("go", "three")).text
    assert [asked.tools for asked in boss.children] == [set()]


async def test_b07_a_kill_while_children_work_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """One child is killed while its model thinks, the other one behind a command with an effect."""
    held = asyncio.Event()
    mark = tmp_path / "mark"

    async def child(asked: Asked) -> Says:
        if "think" in asked.said and not held.is_set():
            await held.wait()
        if "act" in asked.said and not asked.results:
            return Says(calls=(("terminal", {"command": f"echo x >> {mark}"}),))
        if "act" in asked.said:
            await held.wait()
        return Says("acted" if "act" in asked.said else "thought")

    boss = Boss({"tasks": [{"goal": "think"}, {"goal": "act"}]}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.configure(terminal={"workdir": str(tmp_path), "sandbox": "none"})
        await here.start()
        asking = asyncio.create_task(here.say("go", key="one", limit_s=60.0))

        async def at_work() -> bool:
            return len(boss.children) >= 3 and mark.exists()

        await here.until(at_work, 60.0)
        for _ in range(2):
            await here.kill()
            await asyncio.gather(asking, return_exceptions=True)
            await here.start()
            await here.until(at_work, 60.0)
        parent = await here.session()
        assert parent["runs"] <= 1, "a run that only waited is not charged"
        held.set()
        said = json.loads((await here.say("go", key="one", limit_s=60.0)).text)
    assert [entry["summary"] for entry in said["results"]] == ["thought", "acted"]
    assert mark.read_text(encoding="utf-8") == "x\n", "the effect happened once"
    assert all(asked.faults == [] for asked in (*boss.children, *boss.parent))


async def test_b09_stopping_the_parent_stops_its_children_and_a_childs_stop_is_told(
    tmp_path: Path,
) -> None:
    async def child(asked: Asked) -> Says:
        await asyncio.sleep(60)
        return Says("too late")

    boss = Boss({"tasks": [{"goal": "first"}, {"goal": "second"}]}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        asking = asyncio.create_task(here.say("go", limit_s=60.0))

        async def both() -> bool:
            return len(boss.children) == 2

        await here.until(both, 60.0)
        await here.post(f"/v1/turns/{(await listed(here))[0]['id']}/stop")
        one = next(row for row in await listed(here) if row["state"] != "running")
        assert one["state"] == "stopped"
        assert not asking.done(), "the other one goes on"
        await here.say("/stop")

        async def over() -> bool:
            return all(row["state"] == "stopped" for row in await listed(here))

        await here.until(over, 60.0)
        await asyncio.gather(asking, return_exceptions=True)
        boss.arguments = {"goal": "third"}
        asking = asyncio.create_task(here.say("go", "other", limit_s=60.0))

        async def third() -> bool:
            return len(boss.children) == 3

        await here.until(third, 60.0)
        running = next(row for row in await listed(here) if row["state"] == "running")
        await here.post(f"/v1/turns/{running['id']}/stop")
        assert "Subagent stopped" in (await asking).text


async def test_b08_a_report_from_the_background_comes_once_and_later_only_to_the_person(
    tmp_path: Path,
) -> None:
    held = asyncio.Event()

    async def child(asked: Asked) -> Says:
        await held.wait()
        return Says("the long work is done")

    boss = Boss({"goal": "long work", "background": True}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        assert "Begun in the background" in (await here.say("go")).text
        assert "Begun in the background" in (await here.say("go", "other")).text

        async def both() -> bool:
            return len(boss.children) >= 2

        await here.until(both, 60.0)
        await here.say("/new", "other")
        await here.kill()
        held.set()
        await here.start()

        async def reported() -> bool:
            return any("long work is done" in asked.said for asked in boss.parent)

        await here.until(reported, 60.0)

        async def told() -> bool:
            rows = await here.get("/v1/sessions")
            return all(row["phase"] == "idle" and not row["waiting"] for row in rows)

        await here.until(told, 60.0)
        await here.say("hello", "other")
        [read] = [asked for asked in boss.parent if "long work is done" in asked.said]
        assert "A report of another model" in read.said
        assert "long work is done" not in boss.parent[-1].everything, "another conversation by now"
        key = "agent:main:api:dm:other"
        events = await here.hermes("sessions", "export", key, "--events", "--format", "jsonl")
        said = [row for row in events.splitlines() if "command_run" in row]
        assert sum("long work is done" in row for row in said) == 1, "the person is told once"


async def test_b01_a_chat_without_a_gateway_waits_for_its_children(tmp_path: Path) -> None:
    tasks = [{"goal": f"part {n}"} for n in range(12)]
    boss = Boss({"tasks": tasks}, lambda asked: Says(f"did {asked.said}"))
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.configure()
        said = json.loads(await here.hermes("chat", "-q", "go"))
    assert [entry["summary"] for entry in said["results"]] == [f"did part {n}" for n in range(12)]


@pytest.mark.parametrize("versioned", [True, False])
async def test_b06_an_isolated_child_changes_a_copy_and_its_diff_is_part_of_the_result(
    tmp_path: Path, versioned: bool
) -> None:
    work = tmp_path / "work"
    await asyncio.to_thread(prepare_folder, work, versioned)

    def child(asked: Asked) -> Says:
        if asked.results:
            return Says("I changed it.")
        assert f"{work}/.subagents/copies/" in asked.system, "it starts in its copy"
        write = {"path": "a.txt", "content": "two\n"}
        return Says(calls=(("write_file", write), ("terminal", {"command": "echo new > b.txt"})))

    boss = Boss({"goal": "change it", "isolate": True}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.configure(terminal={"workdir": str(work)})
        await here.start()
        said = (await here.say("go", limit_s=60.0)).text
    assert "-one" in said
    assert "+two" in said
    assert "+new" in said
    assert kept(work) == "one\n", "the folder itself is as it was"


def prepare_folder(work: Path, versioned: bool) -> None:
    work.mkdir()
    (work / "a.txt").write_text("one\n", encoding="utf-8")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]) if versioned else ():
        subprocess.run([*git, *words], cwd=work, check=True)


def kept(work: Path) -> str:
    assert not (work / "b.txt").exists()
    return (work / "a.txt").read_text(encoding="utf-8")


async def test_b09_a_deleted_session_ends_what_works_for_it_in_the_background(
    tmp_path: Path,
) -> None:
    async def child(asked: Asked) -> Says:
        await asyncio.sleep(60)
        return Says("too late")

    boss = Boss({"goal": "long work", "background": True}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        await here.say("go")

        async def working() -> bool:
            return len(boss.children) == 1

        await here.until(working, 60.0)
        assert "Deleted" in await here.hermes("sessions", "delete", "api:dm:main", "--yes")

        async def over() -> bool:
            return [row["state"] for row in await listed(here)] == ["stopped"]

        await here.until(over, 60.0)


@pytest.mark.skipif(os.environ.get("HERMES_SOAK") != "1", reason="HERMES_SOAK=1")
async def test_b07_killed_at_many_instants_each_batch_has_one_result(tmp_path: Path) -> None:
    """A long sweep: the gateway dies at random instants of many batches, some in the background."""
    chance = random.Random(7)
    mark = tmp_path / "mark"

    async def child(asked: Asked) -> Says:
        await asyncio.sleep(chance.random() / 5)
        if not asked.results:
            return Says(calls=(("terminal", {"command": f"echo {asked.said[-5:]} >> {mark}"}),))
        return Says(f"did {asked.said[-5:]}")

    boss = Boss({}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.configure(
            terminal={"workdir": str(tmp_path), "sandbox": "none"},
            gateway={"resume": {"attempts_max": 100}},
        )
        await here.start()
        for n in range(100):
            boss.arguments = {"tasks": [{"goal": f"part {n:03}-{k}"} for k in range(4)]}
            asking = asyncio.create_task(here.say("go", f"s{n}", key=f"k{n}", limit_s=60.0))
            for _ in range(chance.randint(1, 3)):
                await asyncio.sleep(chance.random() / 2)
                await here.kill()
                await asyncio.gather(asking, return_exceptions=True)
                await here.start()
            text = (await here.say("go", f"s{n}", key=f"k{n}", limit_s=60.0)).text
            said, _note = json.JSONDecoder().raw_decode(text)
            found = [entry["summary"][-5:] for entry in said["results"]]
            assert found == [f"{n:03}-{k}" for k in range(4)]
    words = written(mark)
    assert len(words) == len(set(words)), "no effect happened twice"


def written(mark: Path) -> list[str]:
    return mark.read_text(encoding="utf-8").split()
