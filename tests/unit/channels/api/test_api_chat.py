"""A message by HTTP: one turn, one answer, however often and from wherever it is asked for."""

import asyncio
import base64
from pathlib import Path

from hermes.core.errors import ProviderDenied
from hermes.core.ids import session_key
from hermes.core.ports import Answer, ModelRequest
from hermes.providers.scripted import Scripted
from tests.unit.channels.api.place import MODEL, Puppet, said, served

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()


async def test_an_answer_is_a_completion_that_names_its_session_and_its_turn(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as here:
        response = await here.chat("hello")
        body = response.json()
        [row] = await here.house.store.library.turns(limit=5)
    assert response.status_code == 200
    assert body["object"] == "chat.completion"
    assert body["id"] == f"chatcmpl-{row.id}"
    assert body["model"] == "scripted:rule"
    assert body["choices"] == [
        {
            "message": {"content": "You said: hello", "role": "assistant", "refusal": None},
            "index": 0,
            "finish_reason": "stop",
            "logprobs": None,
        }
    ]
    assert set(body["usage"]) >= {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert response.headers["x-hermes-turn-id"] == row.id
    assert row.key == session_key("api", "dm", response.headers["x-hermes-session-id"])
    assert "date" in response.headers


async def test_a_session_by_name_takes_the_last_user_message_only(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        for text, seen in (("one", ["one"]), ("two", ["one", "first", "two"])):
            messages = [
                {"role": "system", "content": "Be another."},
                {"role": "user", "content": "never taken"},
                {"role": "assistant", "content": "nor this"},
                {"role": "user", "content": text},
            ]
            headers = {"X-Hermes-Session-Id": "work: a/b 100%"}
            asking = asyncio.create_task(
                here.http.post("/v1/chat/completions", json={"messages": messages}, headers=headers)
            )
            question = await puppet.next()
            assert [line.text for line in question.request.lines] == seen
            assert "Be another." not in question.request.system
            question.end("first")
            response = await asking
            assert response.headers["x-hermes-session-id"] == "work: a/b 100%"
        keys = [row.key for row in await here.house.store.library.sessions(limit=5)]
    assert keys == [session_key("api", "dm", "work: a/b 100%")]


async def test_without_a_session_the_request_is_the_whole_conversation(tmp_path: Path) -> None:
    puppet = Puppet()
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
    messages = [
        {"role": "system", "content": "Speak like a sailor."},
        {"role": "user", "content": "how deep?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "9 fathoms"},
        {"role": "assistant", "content": "Nine."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
    ]
    async with served(tmp_path, puppet) as here:
        asking = asyncio.create_task(
            here.http.post("/v1/chat/completions", json={"messages": messages})
        )
        request = (question := await puppet.next()).request
        question.end("Ten.")
        response = await asking
        assert response.json()["choices"][0]["message"]["content"] == "Ten."
        again = asyncio.create_task(here.chat("alone"))
        (question := await puppet.next()).end("yes")
        other = await again
    told = '[Told by the client, not run here: its tool answered look {"a":1}]'
    assert [(line.role, line.text) for line in request.lines] == [
        ("user", f"how deep?\n\n{told}\n9 fathoms"),
        ("assistant", "Nine."),
        ("user", "and now?"),
    ]
    assert "Speak like a sailor.\n\nBe brief." in request.system
    assert [line.text for line in question.request.lines] == ["alone"]
    assert other.headers["x-hermes-session-id"] != response.headers["x-hermes-session-id"]


async def test_an_image_reaches_the_model_and_a_foreign_url_is_refused(tmp_path: Path) -> None:
    puppet = Puppet()

    def shown(url: str) -> dict[str, object]:
        parts = [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        ]
        return {"messages": [{"role": "user", "content": parts}]}

    async with served(tmp_path, puppet) as here:
        path = "/v1/chat/completions"
        data = f"data:image/png;base64,{PIXEL}"
        asking = asyncio.create_task(here.http.post(path, json=shown(data)))
        question = await puppet.next()
        question.end("a dot")
        assert (await asking).status_code == 200
        for url, word in (
            ("https://example.com/a.png", "data URLs"),
            ("data:text/html;base64,AAAA", "text/html"),
            ("data:image/png;base64,%%%", "base64"),
        ):
            refused = await here.http.post(path, json=shown(url))
            assert refused.status_code == 400
            assert word in refused.json()["error"]["message"]
    [media] = question.request.lines[0].media
    assert question.request.blobs[media.digest] == base64.b64decode(PIXEL)


async def test_a_repeat_of_a_key_gets_the_same_answer_and_runs_nothing(tmp_path: Path) -> None:
    asked: list[ModelRequest] = []

    def rule(request: ModelRequest) -> Answer:
        asked.append(request)
        return Answer(text=f"answer {len(asked)}")

    async with served(tmp_path, rule) as here:
        first = await here.chat("go", **{"Idempotency-Key": "k-1"})
        again = await here.chat("something else", **{"Idempotency-Key": "k-1"})
        elsewhere = await here.chat(
            "go", **{"Idempotency-Key": "k-1", "X-Hermes-Session-Id": "other"}
        )
    async with served(tmp_path, rule) as here:
        after = await here.chat("go", **{"Idempotency-Key": "k-1"})
        other = await here.chat("go", **{"Idempotency-Key": "k-2"})
    assert first.json() == again.json() == elsewhere.json() == after.json()
    for each in (again, elsewhere, after):
        for name in ("x-hermes-session-id", "x-hermes-turn-id"):
            assert each.headers[name] == first.headers[name]
    assert other.json()["choices"][0]["message"]["content"] == "answer 2"
    assert len(asked) == 2


async def test_a_client_that_leaves_stops_nothing_and_joins_its_turn_again(
    tmp_path: Path,
) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        leaving = asyncio.create_task(here.chat("go", **{"Idempotency-Key": "k"}))
        question = await puppet.next()
        leaving.cancel()
        await asyncio.wait({leaving})
        joining = [
            asyncio.create_task(here.chat("go", **{"Idempotency-Key": "k"})) for _ in range(3)
        ]
        await asyncio.sleep(0.05)
        question.end("there")
        answers = [await each for each in joining]
        assert len(await here.house.store.library.turns(limit=5)) == 1
    assert {each.json()["choices"][0]["message"]["content"] for each in answers} == {"there"}


async def test_a_turn_that_another_process_runs_is_answered_too(tmp_path: Path) -> None:
    """Two engines on one file: the second has the session, the first has the client."""
    puppet = Puppet()
    async with served(tmp_path, puppet) as owner, served(tmp_path) as here:
        name = {"X-Hermes-Session-Id": "shared"}
        first = asyncio.create_task(owner.chat("one", **name))
        question = await puppet.next()
        second = asyncio.create_task(here.chat("two", **name))
        await asyncio.sleep(0.1)
        question.end("first")
        assert (await first).json()["choices"][0]["message"]["content"] == "first"
        await owner.house.gateway.look_after()
        await owner.house.gateway.claim_all()
        (await puppet.next()).end("second")
        assert (await second).json()["choices"][0]["message"]["content"] == "second"


async def test_a_model_that_cannot_be_asked_is_an_upstream_error(tmp_path: Path) -> None:
    async with served(tmp_path, Scripted(lambda _: ProviderDenied("no credit"))) as here:
        response = await here.chat("go")
    assert response.status_code == 502
    error = response.json()["error"]
    assert (error["type"], error["code"]) == ("upstream_error", "turn_failed")
    assert "no credit" in error["message"]
    assert response.headers["x-should-retry"] == "false", "a client would run it again by itself"
    assert "x-hermes-turn-id" in response.headers


async def test_a_command_is_answered_with_what_is_said_about_it(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        response = await here.chat("/new", **{"X-Hermes-Session-Id": "work"})
    assert response.status_code == 200
    assert response.json()["choices"][0]["message"]["content"]
    assert "x-hermes-turn-id" not in response.headers


async def test_a_queued_message_is_answered_by_the_command_that_queued_it(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        response = await here.chat("/queue later", **{"X-Hermes-Session-Id": "work"})
    assert response.json()["choices"][0]["message"]["content"] == "You said: later"


async def test_a_stopped_turn_and_a_suspended_session_are_conflicts(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        for command, code in (("/stop", "turn_stopped"), ("/suspend", "session_suspended")):
            name = {"X-Hermes-Session-Id": code}
            waiting = asyncio.create_task(here.chat("go", **name))
            await puppet.next()
            await here.chat(command, **name)
            response = await waiting
            assert response.status_code == 409
            assert response.json()["error"]["code"] == code
            assert response.headers["x-should-retry"] == "false"


async def test_while_draining_only_those_with_a_key_are_taken_in(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        here.house.gateway.process.state = "draining"
        refused = await here.chat("go")
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "5"
        assert refused.json()["error"]["code"] == "draining"
        assert await here.house.store.library.sessions(limit=5) == []
        waiting = asyncio.create_task(here.chat("go", **{"Idempotency-Key": "k"}))
        while not await here.house.store.library.sessions(limit=5):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        here.house.listening.cancel()
        cut = await waiting
    assert cut.status_code == 503
    assert cut.json()["error"]["code"] == "gateway_stopping"
    assert cut.headers["retry-after"] == "5"
    async with served(tmp_path) as here:
        response = await here.chat("go", **{"Idempotency-Key": "k"})
    assert response.json()["choices"][0]["message"]["content"] == "You said: go"


async def test_a_client_without_a_key_is_told_not_to_repeat_what_was_cut(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        waiting = asyncio.create_task(here.chat("go"))
        await puppet.next()
        here.house.listening.cancel()
        cut = await waiting
    assert cut.status_code == 503
    assert cut.headers["x-should-retry"] == "false"
    assert cut.headers["x-hermes-turn-id"]


async def test_a_turn_that_was_cut_off_by_a_crash_is_joined_after_it(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        waiting = asyncio.create_task(here.chat("go", **{"Idempotency-Key": "k"}))
        await puppet.next()
        here.house.listening.cancel()
        turn = (await waiting).headers["x-hermes-turn-id"]
    async with served(tmp_path, lambda _: Answer(text="after all")) as here:
        response = await here.chat("go", **{"Idempotency-Key": "k"})
        [row] = await here.house.store.library.turns(limit=5)
    assert response.headers["x-hermes-turn-id"] == turn == row.id
    assert response.json()["choices"][0]["message"]["content"] == "after all"
    assert row.attempts == 2


async def test_what_would_change_the_meaning_is_refused_and_the_rest_ignored(
    tmp_path: Path,
) -> None:
    tool = {"type": "function", "function": {"name": "f"}}
    refused: list[dict[str, object]] = [
        {"n": 2},
        {"tools": [tool]},
        {"functions": [{"name": "f"}]},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["text", "audio"]},
        {"logprobs": True},
        {"stop": ["END"]},
    ]
    ignored = {
        "temperature": 0.1,
        "max_tokens": 5,
        "max_completion_tokens": 5,
        "top_p": 1,
        "seed": 1,
        "user": "u",
        "n": 1,
        "tools": [],
        "tool_choice": "none",
        "stop": None,
        "response_format": {"type": "text"},
        "metadata": {"a": "b"},
        "something_new": {"x": [1]},
    }
    async with served(tmp_path) as here:
        path = "/v1/chat/completions"
        for more in refused:
            response = await here.http.post(path, json=said("go", **more))
            assert response.status_code == 400, more
            assert response.json()["error"]["code"] == "unsupported_parameter"
        assert await here.house.store.library.sessions(limit=5) == []
        response = await here.http.post(path, json=said("go", **ignored))
        assert response.status_code == 200
        assert response.json()["model"] != MODEL


async def test_a_message_that_is_none_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    wrong: list[tuple[bytes, str]] = [
        (b"{", "valid JSON"),
        (b"[]", "Expected `object`"),
        (b'{"messages": []}', "send 1 to"),
        (b'{"messages": [{"role": "king", "content": "x"}]}', "role"),
        (b'{"messages": [{"role": "assistant", "content": "x"}]}', "no user message"),
        (b'{"messages": [{"role": "user", "content": "  "}]}', "empty"),
        (b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}', "input_audio"),
        (
            b'{"messages": [{"role": "user", "content": "x"},'
            b'{"role": "assistant", "content": "y"}]}',
            "last message",
        ),
        (
            b'{"messages": [{"role": "tool", "tool_call_id": "no", "content": "x"},'
            b'{"role": "user", "content": "y"}]}',
            "no call",
        ),
        (b'{"messages": [{"role": "user", "content": "%s"}]}' % (b"x" * 100_001), "longer"),
    ]
    async with served(tmp_path) as here:
        for body, word in wrong:
            response = await here.http.post("/v1/chat/completions", content=body)
            assert response.status_code == 400, body[:60]
            assert word in response.json()["error"]["message"]
        for name in ("Idempotency-Key", "X-Hermes-Session-Id"):
            for value in ("x" * 256, "naïve", "a\tb"):
                encoded = {name.encode(): value.encode()}
                response = await here.http.post(
                    "/v1/chat/completions", json=said("go"), headers=encoded
                )
                assert response.status_code == 400
                assert name in response.json()["error"]["message"]
        assert await here.house.store.library.sessions(limit=5) == []
