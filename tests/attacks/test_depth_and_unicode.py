"""RES-7: text that is deep, half, invisible or grows when it is normalised, at every door."""

import json
from pathlib import Path

import pytest

from hermes.channels.telegram.receive import parsed
from hermes.core.errors import Misconfigured, Rejected
from hermes.settings.sources import read_config
from hermes.skills.form import parsed as skill_parsed
from hermes.testing.model import Asked, Model, Says
from tests.attacks.wire import asked as http
from tests.process.gateway import KEY, gateway

DEEP = 100_000
CHAT = "/v1/chat/completions"
TEXTS = {
    "grows eighteenfold": "\ufdfa" * 99_000,
    "marks upon one letter": "a" + "\u0301" * 90_000,
    "half of a pair": "one \ud800 two \udfff",
    "no character": "nul \0 and \x1b[2J",
    "the other way round": "\u202eevil\u202c " * 500,
    "joined": "\U0001f468\u200d" * 5_000 + "\U0001f468",
}


def heard(asked: Asked) -> Says:
    return Says(f"heard {len(asked.said)}")


def deep(left: str = "[", right: str = "]") -> str:
    return left * DEEP + right * DEEP


async def test_res_07_odd_text_is_stored_answered_and_found_again(tmp_path: Path) -> None:
    async with Model(heard).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        for n, (name, text) in enumerate(TEXTS.items()):
            body = {"messages": [{"role": "user", "content": f"needle{n} {text}"}]}
            head = {
                "authorization": f"Bearer {KEY}",
                "content-type": "application/json",
                "x-hermes-session-id": f"odd-{n}",
            }
            got = await http(here.port, "POST", CHAT, body=json.dumps(body).encode(), headers=head)
            assert got.status in (200, 400), name
            if got.status == 200:
                model.asked[-1].everything.encode()  # nothing half is left in it
        assert (await here.say("and now")).text.startswith("heard")
        found = await here.hermes("sessions", "search", "needle1", "--json")
        assert len(found) == 1
        assert await here.health() == 200


async def test_res_07_arguments_of_a_model_may_be_as_deep_as_they_like(tmp_path: Path) -> None:
    odd = (
        deep(),
        '{"command": ' + deep() + "}",
        '{"command": "ls", "more": ' + deep('{"a":', "}").replace(":}", ":1}", 1) + "}",
        deep('{"command":', "}"),
        '{"command": "\\ud800"}',
        '{"command": "' + "a" * 2_000_000 + '"}',
        "[" * DEEP,
    )

    def rule(asked: Asked) -> Says:
        if len(asked.results) < len(odd) and asked.said == "go":
            return Says(calls=(("terminal", odd[len(asked.results)]),))
        return Says("done")

    async with Model(rule).up() as model, gateway(tmp_path, model) as here:
        await here.start()
        await here.say("go", limit_s=120.0)
        assert (await here.say("hello", "other")).text == "done"
        assert await here.health() == 200


def test_res_07_settings_skills_and_updates_may_be_as_deep_as_they_like(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    for text in (deep(), deep("{a: ", "}"), "a: " + deep(), "- " * DEEP, "? " * DEEP):
        file.write_text(text)
        with pytest.raises(Misconfigured):
            read_config(file)
        front = text[:15_000]
        with pytest.raises(Rejected):
            skill_parsed(f"---\nname: a\ndescription: {front}\n---\nx\n".encode())
        with pytest.raises(Rejected):
            skill_parsed(f"---\n{front}\n---\nx\n".encode())
    assert parsed(deep().encode()) is None
    assert (
        parsed(b'{"update_id": 1, "message": ' + deep('{"reply_to_message":', "}").encode()) is None
    )
