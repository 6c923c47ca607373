"""What a call is judged by: who speaks, where others read and write along, and what came in."""

import pytest

from hermes.agent.permit import Permit
from hermes.agent.toolsets import StaticToolset
from hermes.core.events import View
from hermes.core.grants import Profile
from hermes.core.ids import CallId, Isolation, SessionKey, TurnId, chat_key
from hermes.core.messages import Address, Call, Effect
from hermes.core.people import Role
from hermes.core.policy import Capability
from hermes.core.ports import Tool, ToolContext, ToolResult, ToolSpec
from hermes.core.rules import Allow, Ask, DecisionContext
from hermes.core.session import Running, Session, Turn
from hermes.core.trust import TrustRegister

SHARED = Isolation(groups="shared", threads="shared")
CALL = Call(id=CallId("t-1"), tool="keep")


async def _never(_bench: ToolContext) -> ToolResult:
    raise AssertionError("nothing is run here")


def tool(name: str, capability: Capability) -> Tool:
    return Tool(
        spec=ToolSpec(name=name, description=name, parameters='{"type":"object"}'),
        check=lambda _: "",
        effect=lambda _: Effect.IDEMPOTENT,
        run=_never,
        capabilities=frozenset({capability}),
    )


MOMENT = DecisionContext(at=1.0, epoch=1)


def permit(profile: Profile = "write") -> Permit:
    tools = {"keep": Capability.WRITE_SELF, "run": Capability.EXECUTE, "look": Capability.READ}
    return Permit(
        tools=StaticToolset([tool(name, each) for name, each in tools.items()]),
        role_by=lambda _sender, _register: Role.OWNER,
        register=TrustRegister,
        clock=lambda: 1.0,
        profile=profile,
    )


def spoken(key: SessionKey, *, thread: str = "", labels: tuple[str, ...] = ()) -> Session:
    address = Address(platform="telegram", chat="-100", thread=thread)
    turn = Turn(id=TurnId("t"), address=address, epoch=1, started_at=0.0, sender="7")
    return Session(key=key, phase=Running(turn), view=View(labels=labels))


@pytest.mark.parametrize("thread", ["", "7"], ids=["group", "topic"])
def test_tm_02_where_all_share_a_conversation_the_others_words_count_as_strangers(
    thread: str,
) -> None:
    own = Isolation(groups="person", threads="person")
    together = chat_key("telegram", "group", "-100", thread=thread, user="7", isolation=SHARED)
    alone = chat_key("telegram", "group", "-100", thread=thread, user="7", isolation=own)
    private = chat_key("telegram", "dm", "7", thread=thread)
    assert isinstance(permit().verdict(spoken(together, thread=thread), CALL, MOMENT), Ask)
    assert permit().verdict(spoken(alone, thread=thread), CALL, MOMENT) == Allow()
    assert permit().verdict(spoken(private, thread=thread), CALL, MOMENT) == Allow()
    read = spoken(private, thread=thread, labels=("untrusted",))
    assert isinstance(permit().verdict(read, CALL, MOMENT), Ask)


@pytest.mark.parametrize(
    ("profile", "labels"),
    [("read", ()), ("write", ()), ("net", ("untrusted",)), ("host", ("untrusted",))],
)
def test_tm_02_what_comes_out_of_a_box_with_a_way_out_may_be_anybodys(
    profile: Profile, labels: tuple[str, ...]
) -> None:
    ran = Call(id=CallId("t-1"), tool="run")
    assert permit(profile).labels(ran, {}) == labels
    assert permit(profile).labels(Call(id=CallId("t-2"), tool="look"), {}) == ()


def test_tm_02_what_an_unknown_tool_says_is_untrusted() -> None:
    assert "untrusted" in permit().labels(Call(id=CallId("t-1"), tool="new"), {})
