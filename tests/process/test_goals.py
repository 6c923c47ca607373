"""H16 to H18: a goal is worked on turn after turn, within limits, until a person speaks."""

import asyncio
from pathlib import Path

from hermes.testing.model import Asked, Model, Says
from tests.process.gateway import GatewayProcess, gateway
from tests.process.looks import UNASKED

JUDGE = "You judge whether an assistant has reached a goal"


class Climber:
    """A model that climbs a step a turn, and a judge that says when the top is reached."""

    def __init__(self, top: int, verdict: str = "") -> None:
        self.top = top
        self.verdict = verdict
        self.turns: list[Asked] = []
        self.judged: list[Asked] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, asked: Asked) -> Says:
        if JUDGE in asked.system:
            self.judged.append(asked)
            await self.gate.wait()
            if self.verdict:
                return Says(self.verdict)
            return Says("DONE: the top" if len(self.turns) >= self.top else "GO ON: climb higher")
        if "goal" not in asked.said:
            return Says(f"heard: {asked.said}")
        self.turns.append(asked)
        return Says(f"I stand on step {len(self.turns)}.")


async def said(here: GatewayProcess, words: str) -> str:
    """Wait until `/goal` or the journal says so."""
    key = "agent:main:api:dm:main"

    async def found() -> bool:
        nonlocal text
        text = await here.hermes("sessions", "export", key, "--events", "--format", "jsonl")
        return words in text

    text = ""
    await here.until(found, 60.0)
    return text


async def test_h16_a_goal_goes_on_over_a_kill_until_the_judge_sees_that_it_is_reached(
    tmp_path: Path,
) -> None:
    climber = Climber(top=4)
    async with Model(rule=climber).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        climber.gate.clear()
        begun = (await here.say("/goal stand on the goal's top --turns 9")).text
        assert "at most 9 turns" in begun

        async def judged() -> bool:
            return len(climber.judged) == 1

        await here.until(judged, 60.0)
        assert "1 turn of 9" in (await here.say("/goal")).text
        await here.kill()
        climber.gate.set()
        await here.start()
        events = await said(here, "The goal is reached: the top. It took 4 turns")
        assert (await here.say("/goal")).text.startswith("There is no goal")
    assert len(climber.turns) == 4, "no turn was lost or doubled"
    assert events.count('"turn_started') + events.count("turn_started.1") >= 4
    assert "climb higher" in climber.turns[1].said
    assert "Answer:\nI stand on step 1." in climber.judged[0].said
    assert all(asked.faults == [] for asked in climber.turns)
    assert "the person" in climber.turns[1].said, "it is no invented message of the person"


async def test_h17_a_goal_stops_at_its_limits(tmp_path: Path) -> None:
    climber = Climber(top=99)
    async with Model(rule=climber).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        await here.say("/goal climb, goal one --turns 2")
        await said(here, "the limit of 2 turns is reached")
        climber.verdict = "perhaps"
        await here.say("/goal climb, goal two")
        await said(here, "it could not be judged, 2 times in a row")
        assert len(climber.turns) == 3, "a judge that fails never means: go on"
        climber.verdict = "BLOCKED: a rope is missing"
        await here.say("/goal climb, goal three")
        await said(here, "without you (a rope is missing)")
        climber.verdict = ""
        await here.say("/goal climb, goal four --budget 2$")
        await said(here, "its budget cannot be counted")
        assert "--turns: give a whole number" in (await here.say("/goal x --turns many")).text
        assert "--budget: give an amount" in (await here.say("/goal x --budget lots")).text


async def test_h17_equal_answers_and_words_of_a_person_stop_a_goal(tmp_path: Path) -> None:
    climber = Climber(top=99)

    async def stuck(asked: Asked) -> Says:
        found = await climber(asked)
        return Says("I am done.") if "step" in found.text else found

    async with Model(rule=stuck).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        await here.say("/goal climb, goal one")
        await said(here, "two answers in a row were the same")
        assert len(climber.turns) == 2
        climber.gate.clear()
        await here.say("/goal climb, goal two")

        async def judged() -> bool:
            return len(climber.judged) >= 3

        await here.until(judged, 60.0)
        assert (await here.say("wait a minute")).text == "heard: wait a minute"
        climber.gate.set()
        await said(here, "I stopped working on the goal: you wrote")
        assert "Paused: you wrote" in (await here.say("/goal")).text
        assert len(climber.turns) == 3
        await here.say("/goal clear")
        assert "There is no goal" in (await here.say("/goal")).text
