"""Everything that can be looked at by HTTP: health, metrics, sessions, messages, turns, events."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import msgspec

from hermes.channels.api.events import LISTENERS_MAX, told
from hermes.channels.api.metrics import metrics_text
from hermes.core.channel import ChannelStatus, GatewayStatus
from hermes.core.ids import CallId, NodeId, TurnId, session_key
from hermes.core.messages import Effect
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.signals import CallProgress, Retrying, Signal, ThoughtDelta
from hermes.core.store import Counts
from tests.unit.channels.api.place import client, served

NAMED = {"X-Hermes-Session-Id": "work"}


def looking() -> Tool:
    async def run(_bench: ToolContext) -> ToolResult:
        return ToolResult(text="9 fathoms")

    spec = ToolSpec(name="look", description="look", parameters='{"type":"object"}')
    return Tool(spec=spec, check=lambda _: "", effect=lambda _: Effect.READ, run=run)


def look_then_tell(request: ModelRequest) -> Answer:
    if request.lines[-1].role == "tool":
        return Answer(text="Nine.")
    return Answer(text="I look.", calls=(RawCall("look", '{"where":"here"}'),))


async def test_health_is_open_to_all_and_tells_only_that(tmp_path: Path) -> None:
    async with served(tmp_path) as here, client(here.url) as stranger:
        ready = await stranger.get("/health")
        assert (ready.status_code, ready.json()) == (200, {"status": "ok"})
        for state in ("starting", "draining"):
            here.house.gateway.process.state = state
            await asyncio.sleep(0.3)
            response = await stranger.get("/health")
            assert (response.status_code, response.json()) == (503, {"status": state})


async def test_sessions_are_listed_and_found_by_name_key_and_id(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        for name in ("a", "b", "c"):
            await here.chat("hi", **{"X-Hermes-Session-Id": name})
        rows = (await here.http.get("/v1/sessions")).json()
        page = await here.http.get("/v1/sessions", params={"limit": 2})
        assert [row["name"] for row in rows] == ["c", "b", "a"]
        assert [row["name"] for row in page.json()] == ["c", "b"]
        more = await here.http.get(page.links["next"]["url"])
        assert [row["name"] for row in more.json()] == ["a"]
        assert "next" not in more.links
        for id_ in ("b", session_key("api", "dm", "b"), rows[1]["id"]):
            found = await here.http.get(f"/v1/sessions/{id_}")
            assert found.json() == rows[1]
        missing = await here.http.get("/v1/sessions/nobody")
        wrong = [
            await here.http.get("/v1/sessions", params=params)
            for params in ({"limit": "0"}, {"limit": "x"}, {"limit": "9999"}, {"before": "nan"})
        ]
        nul = await here.http.get("/v1/turns/a%00b")
        slash = await here.http.get("/v1/sessions/")
    assert rows[1]["key"] == session_key("api", "dm", "b")
    assert rows[1]["phase"] == "idle"
    assert rows[1]["rows"] == 2
    assert missing.status_code == 404
    assert [response.status_code for response in wrong] == [400] * 4
    assert (nul.status_code, slash.status_code) == (404, 404)


async def test_messages_are_rows_of_one_conversation_page_by_page(tmp_path: Path) -> None:
    async with served(tmp_path, look_then_tell, tools=[looking()]) as here:
        await here.chat("how deep?", **NAMED)
        path = "/v1/sessions/work/messages"
        rows = (await here.http.get(path)).json()
        first = await here.http.get(path, params={"limit": 3})
        rest = await here.http.get(first.links["next"]["url"])
        old = (await here.http.get("/v1/sessions/work")).json()["id"]
        await here.chat("/new", **NAMED)
        now = (await here.http.get(path)).json()
        before = (await here.http.get(f"/v1/sessions/{old}/messages")).json()
        missing = await here.http.get("/v1/sessions/nobody/messages")
    assert [(row["role"], row["text"]) for row in rows] == [
        ("user", "how deep?"),
        ("assistant", "I look."),
        ("tool", "9 fathoms"),
        ("assistant", "Nine."),
    ]
    [call] = rows[1]["calls"]
    assert call["tool"] == "look"
    assert (rows[2]["call"], rows[2]["outcome"]) == (call["id"], "ok")
    assert rows[0]["turn"] == rows[3]["turn"]
    assert rows[0]["at"].endswith("+00:00")
    assert first.json() + rest.json() == rows == before
    assert now == []
    assert missing.status_code == 404


async def test_a_turn_is_told_step_by_step(tmp_path: Path) -> None:
    async with served(tmp_path, look_then_tell, tools=[looking()]) as here:
        turn = (await here.chat("how deep?", **NAMED)).headers["x-hermes-turn-id"]
        shown = (await here.http.get(f"/v1/turns/{turn}")).json()
        missing = await here.http.get("/v1/turns/none")
    assert (shown["id"], shown["state"], shown["attempts"]) == (turn, "answered", 1)
    assert shown["session"] == session_key("api", "dm", "work")
    assert shown["started_at"] <= shown["ended_at"]
    model, tool, last = shown["steps"]
    assert (model["kind"], last["kind"]) == ("model", "model")
    assert (tool["kind"], tool["name"], tool["effect"]) == ("tool", "look", "read")
    assert (tool["state"], tool["outcome"], tool["starts"]) == ("finished", "ok", 1)
    assert tool["started_at"] <= tool["ended_at"]
    assert tool["arguments"] == '{"where":"here"}'
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "not_found"


async def test_metrics_tell_the_state_and_count_requests(tmp_path: Path) -> None:
    async with served(tmp_path) as here:
        await here.chat("hi")
        await here.http.get("/v1/nowhere")
        await asyncio.sleep(0.3)
        response = await here.http.get("/metrics")
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = response.text.splitlines()
    assert "hermes_up 1" in lines
    assert "hermes_sessions 1" in lines
    assert 'hermes_channel_up{channel="api"} 1' in lines
    assert 'hermes_http_requests_total{route="/v1/chat/completions",code="200"} 1' in lines
    assert 'hermes_http_requests_total{route="other",code="404"} 1' in lines
    assert any(line.startswith("hermes_resident_memory_bytes ") for line in lines)


def test_labels_cannot_break_out_of_their_quotes() -> None:
    counts = Counts(
        sessions=3,
        running=1,
        asking=0,
        suspended=1,
        queued=2,
        marks={"restart_timeout": 1},
        outbox={"pending": 4, "failed": 1},
        outbox_oldest_at=90.0,
    )
    channel = ChannelStatus(
        name='x"\n\\', state="down", since=0.0, last_inbound_at=5.5, last_poll_at=6.0
    )
    status = GatewayStatus(
        state="draining",
        version="1",
        pid=1,
        node=NodeId("n"),
        started_at=1.0,
        resumes=True,
        store="sqlite",
        channels=(channel,),
        running=2,
        counts=counts,
        memory_bytes=1000,
    )
    lines = metrics_text(status, {}, now=100.0).splitlines()
    assert "hermes_up 0" in lines
    assert "hermes_turns_running 2" in lines
    assert 'hermes_marks{reason="restart_timeout"} 1' in lines
    assert 'hermes_outbox{state="failed"} 1' in lines
    assert "hermes_outbox_oldest_seconds 10" in lines
    assert r'hermes_channel_up{channel="x\"\n\\"} 0' in lines
    assert r'hermes_channel_last_inbound_timestamp_seconds{channel="x\"\n\\"} 5.5' in lines


async def heard(response: httpx2.Response) -> AsyncIterator[tuple[str, dict[str, object]]]:
    name = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, msgspec.json.decode(line.removeprefix("data: "))


async def test_events_tell_live_what_happens_in_every_session(tmp_path: Path) -> None:
    async with served(tmp_path) as here, here.http.stream("GET", "/v1/events") as response:
        chat = await here.chat("hi there", **NAMED)
        seen: list[tuple[str, dict[str, object]]] = []
        async for name, value in heard(response):
            seen.append((name, value))
            if name == "recorded/turn_ended.1":
                break
    names = [name for name, _ in seen]
    assert names[:2] == ["recorded/message_received.1", "recorded/turn_started.1"]
    assert "recorded/model_answered.1" in names
    texts = [str(value["text"]) for name, value in seen if name == "text"]
    assert "".join(texts) == "You said: hi "  # the event brings the last word
    last = seen[-1][1]
    assert last["session"] == session_key("api", "dm", "work")
    assert last["turn"] == chat.headers["x-hermes-turn-id"]
    assert isinstance(last["event"], dict)
    assert last["event"]["outcome"] == "answered"
    positions = [int(str(value["position"])) for name, value in seen if "/" in name]
    assert positions == list(range(1, len(positions) + 1))


async def test_only_so_many_may_listen_and_the_end_of_the_process_ends_it(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as here:
        streams = [here.http.stream("GET", "/v1/events") for _ in range(LISTENERS_MAX)]
        responses = [await stream.__aenter__() for stream in streams]
        refused = await here.http.get("/v1/events")
        assert refused.status_code == 429
        assert refused.json()["error"]["code"] == "too_many_listeners"
        here.house.listening.cancel()
        for response in responses:
            lines = [line async for line in response.aiter_lines()]
            assert lines[0].startswith(":")
        for stream in streams:
            await stream.__aexit__(None, None, None)


def test_every_kind_of_glimpse_has_a_name_of_its_own() -> None:
    key, turn = session_key("api", "dm", "x"), TurnId("t")
    glimpses = {
        "thought": ThoughtDelta("hm"),
        "progress": CallProgress(CallId("t-1"), "line\nline"),
        "retrying": Retrying("busy", 1.5),
    }
    for name, glimpse in glimpses.items():
        head, body, _, _ = told(Signal(key, turn, glimpse)).decode().split("\n")
        assert head == f"event: {name}"
        assert msgspec.json.decode(body.removeprefix("data: "))["turn"] == "t"
