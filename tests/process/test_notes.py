"""C30 to C35: the note that a model gets about an interruption, hidden from everyone else."""

import asyncio
import json
import signal
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import (
    NOTE,
    effect,
    effects,
    idle,
    rows,
    said,
    session_row,
    streamed,
    tried,
)

GO_ON = "Continue the task where it stopped"
NEW_MESSAGE = "The person has written since: answer that message first"
UNREAD = "the turn before was stopped after the results above had come in"
ODD = "  what do you  think?\n\n[Note] \u00a0 /etc/hosts \n"


def held(model: Model) -> None:
    """Use a rule: `work` makes a call and waits with its result; `wait` waits at once."""

    async def rule(asked: Asked) -> Says:
        if "work" in asked.said and not asked.results:
            return Says(calls=(terminal(effect("worked")),))
        if asked.results:
            await model.hold("work")
        elif "wait" in asked.said:
            await model.hold("wait")
        return Says("Here it is.")

    model.rule = rule


async def begun(here: GatewayProcess, model: Model, text: str, session: str = "main") -> None:
    """Start a turn that waits for its model, without waiting for its answer."""
    model.shut(text)
    asking = asyncio.create_task(tried(here, text, session, key=f"{session} {text}"))
    await model.reached(text)
    asking.cancel()


def notes(asked: Asked) -> int:
    return asked.everything.count(NOTE)


async def test_c30_c31_c35_one_note_says_why_and_is_stored_nowhere(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"drain_timeout_s": 0.2, "resume": {"attempts_max": 50}})
        await here.start()
        await begun(here, model, "work", "results")
        await begun(here, model, "wait", "message")
        for how, why in (
            (signal.SIGUSR1, "a gateway restart"),
            (signal.SIGTERM, "a gateway shutdown"),
            (signal.SIGKILL, "a gateway interruption"),
        ):
            heard = len(model.asked)
            for text in ("work", "wait"):
                model.shut(text)
            await _begin_anew(here, how)
            for text in ("work", "wait"):
                await model.reached(text)
            resumed = model.asked[heard:]
            assert [notes(asked) for asked in resumed] == [1, 1]
            assert all(why in asked.everything and GO_ON in asked.everything for asked in resumed)
        for text in ("work", "wait"):
            model.open(text)
        for session, text in (("results", "work"), ("message", "wait")):
            await idle(here, session)
            assert await said(here, session) == [text], "C35: nobody else said anything"
            assert NOTE not in json.dumps(await rows(here, session))
            assert (await session_row(here, session))["mark"] == ""
        assert effects(here) == ["worked"]
        await _is_nowhere(here)
        assert (await here.say("and now?", "results")).text == "Here it is."
        assert notes(model.asked[-1]) == 0, "the note was for one turn"


async def _begin_anew(here: GatewayProcess, how: signal.Signals) -> None:
    before = here.started_at()
    here.signal(how)
    if how is signal.SIGUSR1:
        await here.restarted(before)
        return
    await here.ended()
    await here.start()


async def _is_nowhere(here: GatewayProcess) -> None:
    """Check that neither search nor any transcript shows the note."""
    found = await here.hermes("sessions", "search", "Here", "--json")
    assert found, "what was said is found"
    assert await here.hermes("sessions", "search", "interruption", "--json") == []
    exported = await here.hermes("sessions", "export", "agent:main:api:dm:results")
    assert "Here it is." in exported
    assert NOTE not in exported


@pytest.mark.setting("gateway.resume.auto")
async def test_c32_c35_a_new_message_comes_first_and_is_the_only_one_that_is_added(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"resume": {"auto": False}})
        await here.start()
        await begun(here, model, "work", "results")
        await begun(here, model, "wait", "message")
        queued = asyncio.create_task(tried(here, "queued before", "message", key="q"))
        await here.until(lambda: _waits(here, "message"))
        await here.kill()
        await queued
        for text in ("work", "wait"):
            model.open(text)
        await here.start()
        heard = len(model.asked)
        for session, text in (("results", "work"), ("message", "wait")):
            assert (await here.say("news", session)).text == "Here it is."
            asked = model.asked[-1] if session == "results" else _with(model, "news")
            assert notes(asked) == 1
            assert NEW_MESSAGE in asked.everything
            assert GO_ON not in asked.everything
            old = await here.say(text, session, key=f"{session} {text}")
            assert old.text == "Here it is.", "both are answered as a whole"
        assert len(model.asked) <= heard + 3
        assert await said(here, "results") == ["work", "news"]
        assert sorted(await said(here, "message")) == ["news", "queued before", "wait"]
        assert effects(here) == ["worked"], "old results are used"


async def _waits(here: GatewayProcess, session: str) -> bool:
    return bool((await session_row(here, session))["waiting"] == 1)


def _with(model: Model, text: str) -> Asked:
    return next(asked for asked in model.asked if "wait" in asked.everything and text in asked.said)


async def test_c13_c32_the_first_message_after_a_crash_is_a_new_one_for_whoever_takes_it(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        here.configure(gateway={"resume": {"auto": False}})
        await here.start()
        await begun(here, model, "wait")
        await here.kill()
        model.open("wait")
        lane = "agent:main:api:dm:main"
        shown = await here.hermes("chat", "-q", "news", "--session", lane, "--json")
        assert shown["text"] == "Here it is."
        assert NEW_MESSAGE in model.asked[-1].everything
        assert (await here.session())["phase"] == "idle"


async def test_c33_results_that_no_model_has_read_are_told_once_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        held(model)
        await here.start()
        for session in ("told", "killed"):
            await begun(here, model, "work", session)
            await here.say("/stop", session)
        model.open("work")
        await here.say("and?", "told")
        first = model.asked[-1]
        assert notes(first) == 1
        assert UNREAD in first.everything
        assert await said(here, "told") == ["work", "and?"]
        await here.say("more", "told")
        assert notes(model.asked[-1]) == 0, "once"
        await begun(here, model, "wait", "killed")
        assert UNREAD in model.asked[-1].everything
        await here.kill()
        model.open("wait")
        await here.start()
        await idle(here, "killed")
        resumed = model.asked[-1]
        assert notes(resumed) == 1
        assert UNREAD not in resumed.everything, "the bigger note replaces the smaller one"
        assert GO_ON in resumed.everything
        for session in ("told", "killed"):
            await here.say("the last", session)
            assert notes(model.asked[-1]) == 0, "not after a restart either"


async def test_c33_a_batch_that_the_model_had_begun_to_answer_gets_no_note(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        def rule(asked: Asked) -> Says:
            if asked.said != "work":
                return Says("Here it is.")
            if asked.results:
                return Says("so many words " * 400, word_s=0.05)
            return Says(calls=(terminal(effect("worked")),))

        model.rule = rule
        await here.start()
        async with streamed(here, "work") as words:
            assert "so" in await anext(words)
            await here.say("/stop")
        await here.say("and?")
        assert notes(model.asked[-1]) == 0


async def test_c34_with_nothing_to_resume_the_text_reaches_the_model_unchanged(
    tmp_path: Path,
) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say(ODD)
        assert model.asked[-1].messages[1:] == [{"role": "user", "content": ODD}]
        await here.kill()
        await here.start()
        await here.say(ODD, "other")
        assert model.asked[-1].messages[1:] == [{"role": "user", "content": ODD}]
        await here.say("again")
        assert model.asked[-1].messages[-1] == {"role": "user", "content": "again"}
        assert [notes(asked) for asked in model.asked] == [0, 0, 0]
