"""C65 from outside: a turn that goes in circles is told so and ends, also over a kill.

An announcement without a call gets one nudge.
"""

import asyncio
from pathlib import Path

from hermes.testing.model import Asked, Model, Says, terminal
from tests.process.gateway import gateway
from tests.process.looks import UNASKED, idle, rows, tried

AGAIN, FAILING = "the same call with the same result", "read_file has failed 5 times in a row"
LOOKS = 6


def circles(asked: Asked) -> Says:
    """By the person's word: the same call for ever, failures, a look at what runs, a nudge."""
    done = len(asked.results)
    match asked.said.rpartition("\n")[2]:  # a note may stand before it
        case "circle":
            return Says(calls=(terminal("echo once more"),))
        case "fail" if done <= 5:
            return Says(calls=(("read_file", {"path": f"missing-{done}.txt"}),))
        case "look" if done == 0:
            return Says(calls=(("terminal", {"command": "sleep 600", "background": True}),))
        case "look" if done <= LOOKS:
            return Says(calls=(("process", {"action": "wait", "id": _id(asked), "timeout": 0}),))
        case "announce":
            return Says("Sure! Let me check the file." if not done else "Let me check the file.")
        case word if "you announced an act" in word:
            return Says(calls=(terminal("echo found it"),))
        case "ask":
            return Says("It is 4. Shall I check it?")
        case _:
            return Says("Done.")


def _id(asked: Asked) -> str:
    calls = [call for message in asked.messages for call in message.get("tool_calls") or ()]
    return next(call["id"] for call in calls)


async def test_c65_a_turn_that_goes_in_circles_is_told_and_ends(tmp_path: Path) -> None:
    async with Model(rule=circles).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        answer = (await here.say("circle")).text
        assert "the same call of terminal 4 times" in answer
        assert "“continue”" in answer
        assert len(model.asked) == 4
        assert AGAIN not in model.asked[1].results[-1]
        assert AGAIN in model.asked[2].results[-1]
        assert model.asked[3].results[:2] == model.asked[2].results, "the same bytes from then on"
        await here.say("circle")
        assert len(model.asked) == 8, "another turn counts for itself"
        assert (await here.say("fail", "failing")).text == "Done."
        told = [FAILING in result for result in model.asked[-1].results]
        assert told == [False, False, False, False, True, False]
        assert (await here.say("look", "looking")).text == "Done.", "what runs may be looked at"


async def test_c65_a_kill_does_not_begin_the_count_again(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:

        async def rule(asked: Asked) -> Says:
            if sum(message["role"] == "tool" for message in asked.messages) == 2:
                await model.hold("third")
            return Says(calls=(terminal("echo once more"),))

        model.rule = rule
        await here.start()
        saying = asyncio.create_task(tried(here, "circle"))
        await model.reached("third")
        await here.kill()
        await saying
        model.open("third")
        await here.start()
        await idle(here)
        results = [row for row in await rows(here) if row["role"] == "tool"]
        assert len(results) == 4
        assert sum(AGAIN in row["text"] for row in results) == 2


async def test_an_announced_act_without_a_call_gets_one_nudge_a_turn(tmp_path: Path) -> None:
    async with Model(rule=circles).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        assert (await here.say("announce")).text == "Let me check the file."
        assert len(model.asked) == 3, "once a turn"
        assert not any("Note by Hermes" in row["text"] for row in await rows(here))
        assert (await here.say("ask", "other")).text == "It is 4. Shall I check it?"
        assert len(model.asked) == 4, "an answer is an answer"
