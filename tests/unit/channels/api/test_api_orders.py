"""Orders by HTTP: stop a turn, answer a question; each is a message, stored before it is obeyed."""

import asyncio
from pathlib import Path

from hermes.core.messages import Call, Effect
from hermes.core.ports import Answer, ModelRequest, RawCall, Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.rules import Ask, DecisionContext, Verdict
from hermes.core.session import Session
from tests.unit.channels.api.place import Puppet, Served, served

NAMED = {"X-Hermes-Session-Id": "work"}


class Till:
    """A tool that somebody must say yes to."""

    def __init__(self) -> None:
        self.paid: list[str] = []

    def tool(self) -> Tool:
        async def run(context: ToolContext) -> ToolResult:
            self.paid.append(context.call.arguments)
            return ToolResult(text="paid")

        spec = ToolSpec(name="pay", description="pay", parameters='{"type":"object"}')
        return Tool(spec=spec, check=lambda _: "", effect=lambda _: Effect.EFFECT, run=run)


def ask_first(_session: Session, _call: Call, _moment: DecisionContext) -> Verdict:
    return Ask("Money leaves the house.")


def pay_then_tell(request: ModelRequest) -> Answer:
    if request.lines[-1].role == "tool":
        return Answer(text=f"The till says: {request.lines[-1].text}")
    return Answer(calls=(RawCall("pay", '{"amount":9}'),))


async def asked(here: Served, key: str = "k") -> tuple[str, str]:
    """A question that waits: its id, and its turn."""
    response = await here.chat("pay nine", **NAMED, **{"Idempotency-Key": key})
    assert response.headers["x-hermes-state"] == "asking"
    assert "Money leaves the house." in response.json()["choices"][0]["message"]["content"]
    [question] = (await here.http.get("/v1/approvals")).json()
    return question["id"], response.headers["x-hermes-turn-id"]


async def test_a_question_is_listed_with_what_would_run_and_why(tmp_path: Path) -> None:
    till = Till()
    async with served(tmp_path, pay_then_tell, tools=[till.tool()], verdict=ask_first) as here:
        assert (await here.http.get("/v1/approvals")).json() == []
        _, turn = await asked(here)
        [question] = (await here.http.get("/v1/approvals")).json()
    assert len(question.pop("id")) == 32, "a name that no model and no stranger can guess"
    assert question.pop("asked_at") < question.pop("expires_at")
    assert '{"amount":9}' in question.pop("preview")
    assert question == {
        "session": "agent:main:api:dm:work",
        "turn": turn,
        "tool": "pay",
        "why": "Money leaves the house.",
        "state": "pending",
        "decided_by": "",
        "decided_at": None,
    }


async def test_c63_an_answer_counts_once_and_for_that_call_only(tmp_path: Path) -> None:
    till = Till()
    async with served(tmp_path, pay_then_tell, tools=[till.tool()], verdict=ask_first) as here:
        id_, _ = await asked(here)
        path = f"/v1/approvals/{id_}"
        both = await asyncio.gather(
            *(here.http.post(path, json={"answer": "approve"}) for _ in range(3))
        )
        answer = await here.chat("pay nine", **NAMED, **{"Idempotency-Key": "k"})
        late = await here.http.post(path, json={"answer": "deny"})
        other, _ = await asked(here, "k2")
        again = await here.http.post(path, json={"answer": "approve"})
        assert len((await here.http.get("/v1/approvals")).json()) == 1, "another was meant"
        unknown = await here.http.post("/v1/approvals/nothing-1", json={"answer": "approve"})
        wrong = await here.http.post(f"/v1/approvals/{other}", json={"answer": "yes"})
        none = await here.http.post(f"/v1/approvals/{other}", content=b"")
        denied = await here.http.post(f"/v1/approvals/{other}", json={"answer": "deny"})
    assert {response.status_code for response in both} <= {200, 409}
    assert both[0].json() == {"id": id_, "state": "granted"}
    assert answer.json()["choices"][0]["message"]["content"] == "The till says: paid"
    assert (late.status_code, late.json()["error"]["code"]) == (409, "already_answered")
    assert again.status_code == 409
    assert unknown.status_code == 404
    assert (wrong.status_code, none.status_code) == (400, 400)
    assert denied.json() == {"id": other, "state": "denied"}
    assert till.paid == ['{"amount":9}']


async def test_always_is_passed_on(tmp_path: Path) -> None:
    till = Till()
    async with served(tmp_path, pay_then_tell, tools=[till.tool()], verdict=ask_first) as here:
        id_, _ = await asked(here)
        granted = await here.http.post(f"/v1/approvals/{id_}", json={"answer": "always"})
        assert granted.json() == {"id": id_, "state": "granted"}
        words = [
            event.inbound.text
            for event in await here.house.store.library.events(
                (await here.house.store.library.sessions(limit=1))[0].key
            )
            if type(event).__name__ == "MessageReceived"
        ]
    assert words == ["pay nine", f"/approve {id_} always"]


async def test_a_yes_in_the_chat_is_answered_by_the_turn_that_goes_on(tmp_path: Path) -> None:
    till = Till()
    async with served(tmp_path, pay_then_tell, tools=[till.tool()], verdict=ask_first) as here:
        _, turn = await asked(here)
        response = await here.chat("/approve", **NAMED)
    assert response.json()["choices"][0]["message"]["content"] == "The till says: paid"
    assert response.headers["x-hermes-turn-id"] == turn


async def test_a_question_whose_turn_was_stopped_is_not_open(tmp_path: Path) -> None:
    till = Till()
    async with served(tmp_path, pay_then_tell, tools=[till.tool()], verdict=ask_first) as here:
        id_, turn = await asked(here)
        stopped = await here.http.post(f"/v1/turns/{turn}/stop")
        late = await here.http.post(f"/v1/approvals/{id_}", json={"answer": "approve"})
    assert (stopped.status_code, stopped.json()) == (202, {"turn": turn, "state": "stopped"})
    assert (late.status_code, late.json()["error"]["code"]) == (409, "not_open")
    assert till.paid == []


async def test_a_running_turn_is_stopped_and_an_ended_one_keeps_its_state(tmp_path: Path) -> None:
    puppet = Puppet()
    async with served(tmp_path, puppet) as here:
        waiting = asyncio.create_task(here.chat("go", **NAMED))
        await puppet.next()
        [row] = await here.house.store.library.turns(limit=1)
        stopped = await here.http.post(f"/v1/turns/{row.id}/stop")
        assert (await waiting).json()["error"]["code"] == "turn_stopped"
        next_ = asyncio.create_task(here.chat("go on", **NAMED))
        question = await puppet.next()
        again = await here.http.post(f"/v1/turns/{row.id}/stop")
        question.end("going on")
        assert (await next_).status_code == 200, "a stop of an old turn stops no new one"
        missing = await here.http.post("/v1/turns/none/stop")
    assert (stopped.status_code, stopped.json()) == (202, {"turn": row.id, "state": "stopped"})
    assert (again.status_code, again.json()) == (200, {"turn": row.id, "state": "stopped"})
    assert missing.status_code == 404
