"""What people see of subagents: questions, lines, trees, and the way to stop them."""

import asyncio
import json
from pathlib import Path

from hermes.testing.model import Asked, Model, Says
from tests.doubles.telegram import TOKEN, BotApi
from tests.process.delegating import DELEGATE, Boss
from tests.process.gateway import KEY, GatewayProcess, client, gateway
from tests.process.looks import UNASKED

ANN = 7


async def test_b11_a_childs_question_is_asked_where_its_parent_is(tmp_path: Path) -> None:
    def child(asked: Asked) -> Says:
        if asked.results:
            return Says(f"it said {asked.results[-1]}")
        return Says(calls=(("terminal", {"command": "touch /etc/x; curl example.com"}),))

    boss = Boss({"goal": "risky work"}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model) as here:
        here.configure()
        await here.hermes("chat", "-q", "go", "--session", "here")
        [row] = await here.hermes("approvals", "list", "--json")
        assert "a subagent for “risky work”" in row["preview"]
        await here.hermes("approvals", "answer", row["id"], "deny")
        assert "heard: hello" in await here.hermes("chat", "-q", "hello", "--session", "here")
    told = [asked.results for asked in boss.parent if asked.results]
    assert ["The person said no" in results[0] for results in told] == [True]


async def test_b11_a_childs_question_comes_to_the_chat_of_its_parent_with_buttons(
    tmp_path: Path,
) -> None:
    def child(asked: Asked) -> Says:
        if asked.results:
            return Says(f"it said {asked.results[-1]}")
        return Says(calls=(("terminal", {"command": "touch /etc/x; curl example.com"}),))

    boss = Boss({"goal": "risky work"}, child)
    async with Model(rule=boss).up() as model, BotApi() as api, gateway(tmp_path, model) as here:
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram})
        await here.start()
        await here.hermes("pairing", "owner", f"telegram:{ANN}")
        api.say("go", chat=ANN, user=ANN)

        async def asked() -> bool:
            return any("Run this command?" in text for text in api.texts(ANN))

        await here.until(asked, 60.0)
        [card] = [text for text in api.texts(ANN) if "Run this command?" in text]
        assert "risky work" in card
        [row] = await here.hermes("approvals", "list", "--json")
        api.say(f"/deny {row['id']}", chat=ANN, user=ANN)

        async def answered() -> bool:
            return any("it said" in text for text in api.texts(ANN))

        await here.until(answered, 60.0)


async def test_b05_a_tree_is_two_deep_and_what_finds_no_room_waits_for_its_turn(
    tmp_path: Path,
) -> None:
    """Orchestrators split their task; their own children may not. One at a time finds room."""
    at_once = most = 0

    async def child(asked: Asked) -> Says:
        nonlocal at_once, most
        if asked.said.startswith("branch") and not asked.results:
            leaves = [{"goal": f"leaf of {asked.said[:8]} {n}"} for n in (1, 2)]
            return Says(calls=((DELEGATE, {"tasks": leaves, "role": "orchestrator"}),))
        if asked.said.startswith("branch"):
            return Says("both leaves are here" if asked.results[0].count("fell") == 2 else "?")
        assert DELEGATE not in asked.tools, "nothing below the second level"
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.1)
        at_once -= 1
        return Says("it fell")

    tasks = [{"goal": f"branch {n}"} for n in (1, 2)]
    boss = Boss({"tasks": tasks, "role": "orchestrator"}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        here.configure(delegation={"max_parallel": 1})
        await here.start()
        got = await here.say("go", limit_s=60.0)
        said = json.loads(got.text)
        assert [entry["summary"] for entry in said["results"]] == ["both leaves are here"] * 2
        shown = await here.hermes("turns", "show", got.turn, "--json")
        text = await here.hermes("turns", "show", got.turn)
        rows = await here.hermes("sessions", "list", "--json")
        every = await here.hermes("sessions", "list", "--children", "--json")
    assert [len(branch["children"]) for branch in shown["children"]] == [2, 2]
    assert "└─ leaf of branch 1 1" in text
    assert most <= 2, "one for each branch"
    assert (len(rows), len(every)) == (1, 7)


async def test_b14_agents_lists_shows_and_stops_what_works_for_a_chat(tmp_path: Path) -> None:
    async def child(asked: Asked) -> Says:
        if not asked.results:
            return Says(calls=(("terminal", {"command": "sleep 0.1"}),))
        await asyncio.sleep(60)
        return Says("too late")

    boss = Boss({"tasks": [{"goal": "dig a hole"}, {"goal": "fill it"}], "background": True}, child)
    async with Model(rule=boss).up() as model, gateway(tmp_path, model, **UNASKED) as here:
        await here.start()
        assert (await here.say("/agents")).text == "No subagents are working for this chat."
        await here.say("go")

        async def both() -> bool:
            return len(boss.children) == 4

        await here.until(both, 60.0)
        listed = (await here.say("/agents")).text
        assert "dig a hole (background)" in listed
        name = listed.splitlines()[1].split()[1]
        tail = (await here.say(f"/agents tail {name}")).text
        assert "dig a hole" in tail
        await here.say("/stop")
        assert "2 subagents" in (await here.say("/agents")).text, "a stop spares the background"
        assert "1 subagent" in (await here.say(f"/agents stop {name}")).text

        async def reported() -> bool:
            return any("has stopped" in asked.said for asked in boss.parent)

        await here.until(reported, 60.0)
        assert "I do not know" in (await here.say("/agents stop nobody")).text
        await here.say("/agents stop all")

        async def over() -> bool:
            return "No subagents" in (await here.say("/agents")).text

        await here.until(over, 60.0)


async def test_b14_a_chat_shows_one_line_a_child_and_then_the_answer_in_its_place(
    tmp_path: Path,
) -> None:
    held = asyncio.Event()

    async def child(asked: Asked) -> Says:
        if "dig" in asked.said and not asked.results:
            return Says(calls=(("terminal", {"command": "sleep 0.2"}),))
        await held.wait()
        return Says("done")

    boss = Boss({"tasks": [{"goal": "dig a hole"}, {"goal": "fill it"}]}, child)
    async with (
        Model(rule=boss).up() as model,
        BotApi() as api,
        gateway(tmp_path, model, **UNASKED) as here,
    ):
        telegram = {"token": TOKEN, "api_base": api.url, "allowed_users": [ANN]}
        here.configure(platforms={"telegram": telegram})
        await here.start()
        seen: list[bytes] = []
        listening = asyncio.create_task(listen(here, seen))
        api.say("go", chat=ANN, user=ANN)

        async def shown() -> bool:
            return any("dig a hole" in text and "fill it" in text for text in api.texts(ANN))

        await here.until(shown, 60.0)
        held.set()

        async def answered() -> bool:
            return any("results" in text for text in api.texts(ANN))

        await here.until(answered, 60.0)
        listening.cancel()
    assert len(api.texts(ANN)) == 1, "the answer took the place of the lines"
    told = b"".join(seen).decode()
    assert '"replaces":true' in told
    assert '"parent_call":' in told


async def listen(here: GatewayProcess, seen: list[bytes]) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    url = f"http://127.0.0.1:{here.port}/v1/events"
    async with client(60.0) as http, http.stream("GET", url, headers=headers) as got:
        async for piece in got.aiter_bytes():
            seen += [piece]
