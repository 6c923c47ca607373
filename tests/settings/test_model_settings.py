"""`model.…`: who is asked, with which words around the question, and how long it may take."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hermes.testing.model import Asked, Model, Says
from tests.settings.chats import chat


@pytest.mark.setting(
    "model.base_url", "model.name", "model.api_key", "model.headers", "model.extra_body"
)
async def test_a_request_goes_where_and_looks_as_the_settings_say(tmp_path: Path) -> None:
    async with Model().up() as model, Model().up() as other:
        changed = {
            "base_url": other.url,
            "name": "another-model",
            "api_key": "sk-another-key",
            "headers": {"X-Team": "garden"},
            "extra_body": {"top_k": 7},
        }
        done = await chat(tmp_path, model, model=changed).ask("hello")
        assert done.status == 0, done.err
        assert model.asked == []
        [asked] = other.asked
        assert asked.body["model"] == "another-model"
        assert asked.body["top_k"] == 7
        assert asked.headers["authorization"] == "Bearer sk-another-key"
        assert asked.headers["x-team"] == "garden"


@pytest.mark.setting("model.provider")
async def test_another_provider_answers_and_the_first_hears_nothing(tmp_path: Path) -> None:
    async with Model().up() as model:
        done = await chat(tmp_path, model, model={"provider": "scripted", "name": ""}).ask("hi")
        assert "scripted demo" in done.out
        assert model.asked == []


@pytest.mark.setting("model.fallbacks")
async def test_a_model_that_refuses_is_followed_by_the_fallback(tmp_path: Path) -> None:
    def rule(asked: Asked) -> Says:
        name = asked.body["model"]
        return Says("no", status=401) if name == "double" else Says(f"{name} answers")

    async with Model(rule).up() as model:
        second = {"provider": "custom", "base_url": model.url, "name": "second", "api_key": "x"}
        done = await chat(tmp_path, model, model={"fallbacks": [second]}).ask("hello")
        assert done.out == "second answers\n"


@pytest.mark.setting("model.timeouts.first_token_s")
async def test_a_model_that_does_not_begin_in_time_is_asked_again(tmp_path: Path) -> None:
    async with Model().up() as model:

        async def rule(_asked: Asked) -> Says:
            if len(model.asked) == 1:
                await model.hold("never")
            return Says("the second time")

        model.rule = rule
        waits = {"timeouts": {"first_token_s": 1.0}}
        done = await chat(tmp_path, model, model=waits).ask("hello")
        assert done.out == "the second time\n"


@pytest.mark.setting("model.timeouts.silence_s")
async def test_a_model_that_stops_in_the_middle_is_asked_again(tmp_path: Path) -> None:
    async with Model().up() as model:

        def rule(_asked: Asked) -> Says:
            pause = 3600.0 if len(model.asked) == 1 else 0.0
            return Says("word by word", word_s=pause)

        model.rule = rule
        waits = {"timeouts": {"silence_s": 1.0}}
        done = await chat(tmp_path, model, model=waits).ask("hello")
        assert done.out.endswith("word by word\n")
        assert len(model.asked) >= 2


@contextmanager
def black_hole() -> Iterator[str]:
    """A port that takes no connection and refuses none: its queue is full."""
    with ExitStack() as open_:
        server = open_.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = open_.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


@pytest.mark.setting("model.timeouts.connect_s")
async def test_a_server_that_takes_no_connection_is_given_up_in_time(tmp_path: Path) -> None:
    async with Model().up() as model:
        with black_hole() as url:
            waits = {"base_url": url, "timeouts": {"connect_s": 0.25}}
            here = chat(tmp_path, model, model=waits)
            here.configure()
            done = await here.run("model", "list")
        assert "within 0.25 s" in done.err, done
