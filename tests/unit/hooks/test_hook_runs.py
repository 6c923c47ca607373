"""One run of a hook's program, with real programs."""

import asyncio
import os
import sys
import time
from pathlib import Path

from hermes.hooks.declared import Hook
from hermes.hooks.run import ERROR_BYTES_MAX, Failure, HookOutput, environment, run, started
from tests.unit.hooks.world import text_of, until

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/tmp", "API_KEY": "hunter2"}


def hook(folder: Path, *command: str, timeout_s: float = 10.0) -> Hook:
    return Hook(
        name="h", folder=str(folder), command=command, events=frozenset(), timeout_s=timeout_s
    )


def shell(folder: Path, script: str, timeout_s: float = 10.0) -> Hook:
    return hook(folder, "sh", "-c", script, timeout_s=timeout_s)


async def ran(made: Hook, value: bytes = b"{}\n") -> HookOutput | Failure:
    return await run(made, value, started(made, environment(ENVIRON, made.folder), None))


async def failure(made: Hook) -> Failure:
    outcome = await ran(made)
    assert isinstance(outcome, Failure)
    return outcome


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def ended(noted: Path) -> None:
    pid = int(text_of(noted))
    await until(lambda: not alive(pid))


async def test_a_value_goes_in_and_a_value_comes_out(tmp_path: Path) -> None:
    script = "import json, sys; print(json.dumps({'say': json.load(sys.stdin)['text'].upper()}))"
    outcome = await ran(hook(tmp_path, sys.executable, "-c", script), b'{"text": "hi"}\n')
    assert outcome == HookOutput(say="HI")


async def test_silence_is_an_answer(tmp_path: Path) -> None:
    for script in ("true", "echo", "echo null", "echo '{}'"):
        assert await ran(shell(tmp_path, script)) == HookOutput()


async def test_a_program_need_not_read(tmp_path: Path) -> None:
    made = shell(tmp_path, 'exec <&-; echo \'{"log": "x"}\'')
    assert await ran(made, b"a" * 1_000_000) == HookOutput(log="x")


async def test_it_runs_in_its_folder_with_nothing_of_ours(tmp_path: Path) -> None:
    (tmp_path / "where-i-am").write_text("here", encoding="utf-8")
    await ran(shell(tmp_path, "cp where-i-am there; env > env"))
    assert text_of(tmp_path / "there") == "here"
    lines = text_of(tmp_path / "env").splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG", "HERMES_HOME"}
    assert f"HERMES_HOME={tmp_path}" in lines


async def test_it_is_the_first_of_its_own_group(tmp_path: Path) -> None:
    script = 'import os; print(\'{"log": "%s"}\' % (os.getpgid(0) == os.getpid()))'
    assert await ran(hook(tmp_path, sys.executable, "-c", script)) == HookOutput(log="True")


async def test_a_failure_is_told_with_the_end_of_its_words(tmp_path: Path) -> None:
    found = await failure(shell(tmp_path, "seq 1 100000 >&2; echo broken >&2; exit 3"))
    assert found.problem == "ended with status 3"
    assert found.error.endswith("broken")
    assert len(found.error) <= ERROR_BYTES_MAX


async def test_what_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    assert "could not be started" in (await failure(hook(tmp_path, "/nowhere/at-all"))).problem
    assert "could not be started" in (await failure(hook(tmp_path, "a\0b"))).problem
    assert "could not be started" in (await failure(hook(tmp_path / "none", "true"))).problem


async def test_words_that_are_no_value_are_a_failure(tmp_path: Path) -> None:
    for text in ("hello", "[1]", '{"say": 1}', '{"says": "x"}', '"say"', '{"say": "\\ud8"}', "é"):
        found = await failure(hook(tmp_path, "printf", "%s", text))
        assert found.problem.startswith("did not print"), text


async def test_too_many_words_end_it(tmp_path: Path) -> None:
    began = time.monotonic()
    found = await failure(shell(tmp_path, "echo $$ > pid; exec yes"))
    assert found.problem == "printed more than 64,000 bytes"
    assert time.monotonic() - began < 25
    await ended(tmp_path / "pid")


async def test_one_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    script = "sleep 60 & echo $! > child; trap '' TERM; echo going >&2; wait; sleep 60"
    found = await failure(shell(tmp_path, script, timeout_s=0.3))
    assert found == Failure("took longer than 0.3 s", "going")
    await ended(tmp_path / "child")


async def test_a_child_that_keeps_the_pipes_is_not_waited_for(tmp_path: Path) -> None:
    began = time.monotonic()
    outcome = await ran(shell(tmp_path, 'setsid sleep 30 & echo $! > pid; echo \'{"log": "x"}\''))
    assert outcome == HookOutput(log="x")
    assert time.monotonic() - began < 25
    os.kill(int(text_of(tmp_path / "pid")), 9)


async def test_when_we_stop_it_stops(tmp_path: Path) -> None:
    task = asyncio.create_task(ran(shell(tmp_path, "echo $$ > pid; sleep 60; true")))
    await until(lambda: bool(text_of(tmp_path / "pid").strip()))
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    await ended(tmp_path / "pid")


async def test_when_we_stop_at_any_moment_nothing_is_left_behind(tmp_path: Path) -> None:
    began = time.monotonic()
    for n in range(20):
        made = shell(tmp_path, f"echo $$ > pid-{n}; sleep 60; true")
        task = asyncio.create_task(ran(made))
        await asyncio.sleep(n * 0.001)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
    assert time.monotonic() - began < 10
    for noted in (tmp_path / f"pid-{n}" for n in range(20)):
        if text_of(noted):
            await ended(noted)


def test_a_home_without_a_path_or_a_language_gets_them() -> None:
    made = environment({}, "/h")
    assert made == {"PATH": os.defpath, "LANG": "C.UTF-8", "HERMES_HOME": "/h"}
