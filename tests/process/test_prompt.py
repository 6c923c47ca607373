"""The prompt prefix of a conversation stays the same, byte for byte."""

import hashlib
import json
from pathlib import Path

from hermes.testing.model import Asked, Model, Says, text_of
from tests.process.gateway import GatewayProcess, gateway

LANE = "agent:main:api:dm:main"


def prefix(asked: Asked) -> str:
    """Return a hash of the system message and the tools, in order."""
    system = asked.messages[0]
    assert system["role"] == "system"
    told = json.dumps([system, asked.body["tools"]], ensure_ascii=False)
    return hashlib.sha256(told.encode()).hexdigest()


def system(asked: Asked) -> str:
    return text_of(asked.messages[0])


def prefixes(model: Model, since: int = 0) -> set[str]:
    return {prefix(asked) for asked in model.asked[since:]}


def write(here: GatewayProcess, word: str) -> None:
    """Change everything that a prompt is made of."""
    files = ("SOUL.md", "memories/MEMORY.md", "memories/USER.md", "workspace/AGENTS.md")
    for name in files:
        path = here.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"You know the word {word} of {path.name}.\n", encoding="utf-8")


async def test_the_prefix_stays_the_same_until_a_new_conversation(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure()
        write(here, "apple")
        await here.start()
        await here.say("hello")
        assert system(model.asked[0]).startswith("You know the word apple of SOUL.md.")
        assert "apple of AGENTS.md" in system(model.asked[0])
        assert "apple of MEMORY.md" in system(model.asked[0])
        await here.say("run echo hi")
        write(here, "pear")
        await here.say("again")
        assert len(prefixes(model)) == 1, "across turns, calls and changes on disk"
        await here.kill()
        await here.start()
        await here.say("after a crash")
        await here.stop()
        write(here, "plum")
        await here.start()
        await here.say("after a restart")
        [first] = prefixes(model)
        shown = await here.hermes("prompt", "show", "--session", LANE, "--json")
        assert shown["text"] == system(model.asked[-1])
        heard = len(model.asked)
        await here.say("/new")
        await here.say("hello")
        await here.say("and again")
        [second] = prefixes(model, heard)
        assert second != first
        assert system(model.asked[-1]).startswith("You know the word plum of SOUL.md.")
        assert "apple" not in system(model.asked[-1])


async def test_the_prefix_outlives_a_compaction(tmp_path: Path) -> None:
    noting = Model(rule=lambda _asked: Says("Noted."))
    async with noting.up() as model, gateway(tmp_path, model) as here:
        here.configure(model={"context_length": 16_000})
        await here.start()
        for n in range(6):
            await here.say(f"this is {n}: " + "words " * 800)
        heard = len(model.asked)
        write(here, "pear")
        await here.say("/compress")

        async def compacted() -> bool:
            return len(model.asked) > heard

        await here.until(compacted)
        await here.say("and now?")
        assert prefix(model.asked[-1]) == prefix(model.asked[0])
        assert len(model.asked[-1].everything) < len(model.asked[heard - 1].everything)


async def test_a_personality_makes_the_prompt_anew_and_survives_a_crash(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure(agent={"personalities": {"butler": "You are a butler of the old school."}})
        await here.start()
        await here.say("hello")
        assert "butler" in (await here.say("/personality")).text
        assert "no personality" in (await here.say("/personality dragon")).text
        await here.say("still there?")
        assert len(prefixes(model)) == 1
        await here.say("/personality butler")
        heard = len(model.asked)
        await here.say("hello")
        assert "# personality\nYou are a butler" in system(model.asked[-1])
        await here.kill()
        await here.start()
        await here.say("and now?")
        assert len(prefixes(model, heard)) == 1
        await here.say("/personality none")
        await here.say("plain")
        assert "# personality" not in system(model.asked[-1])


async def test_other_chats_have_prompts_of_their_own(tmp_path: Path) -> None:
    async with Model().up() as model, gateway(tmp_path, model) as here:
        here.configure()
        write(here, "apple")
        await here.start()
        await here.say("hello", "one")
        write(here, "pear")
        await here.say("hello", "two")
        await here.say("hello", "one")
        one, two, again = model.asked
        assert prefix(one) == prefix(again) != prefix(two)
        assert "pear of SOUL.md" in system(two)
