"""C64, B03: whatever a tree of delegations looks like, rights in it only shrink."""

import asyncio
from types import SimpleNamespace
from typing import cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.channel import CommandContext
from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import NO_TOOLS, Address, Call, Inbound
from hermes.core.policy import PRIVATE, UNTRUSTED
from hermes.core.ports import ToolContext, ToolSpec
from hermes.core.principal import Person, Principal, Role
from hermes.tools.delegation.tool import NAME, NEVER, DelegationRules, delegate_tool

TOOLS = ("terminal", "read_file", "web_extract", "memory", "send_message", "clarify", NAME)
SETS = {"terminal": "terminal", "read_file": "files", "web_extract": "web"}
RULES = DelegationRules(
    toolset_of=lambda tool: SETS.get(tool, tool),
    known_toolsets=("terminal", "files", "web", "memory", "sending", "questions"),
    tokens_max=1_000,
)
toolsets = st.none() | st.lists(st.sampled_from(["terminal", "file", "web", "memory"]))
levels = st.lists(
    st.tuples(toolsets, st.sampled_from(["leaf", "orchestrator"]), st.integers(1, 3)),
    min_size=1,
    max_size=4,
)


class Texts:
    """The list of tools that a conversation was told of."""

    def __init__(self, tools: tuple[str, ...]) -> None:
        specs = [ToolSpec(name=tool, description="", parameters="{}") for tool in tools]
        self.kept = msgspec.json.encode(specs).decode()

    async def text(self, _digest: str) -> str:
        return self.kept


def begun(
    principal: Principal, tools: tuple[str, ...], arguments: dict[str, object], used: int
) -> list[Inbound]:
    taken: list[Inbound] = []

    async def accept(message: Inbound) -> None:
        taken.append(message)

    host = SimpleNamespace(
        store=SimpleNamespace(texts=Texts(tools)), accept=accept, clock=lambda: 1.0
    )
    call = Call(id=CallId("t-1"), tool=NAME, arguments=msgspec.json.encode(arguments).decode())
    context = ToolContext(
        session=SessionKey("agent:main:test:dm:1"),
        turn=TurnId("t"),
        call=call,
        facts={"tools": "all"},
        labels=frozenset(),
        watch=lambda _glimpse: None,
        host=cast("CommandContext", host),
        principal=principal,
        tokens=used,
    )
    asyncio.run(_run(context))
    return taken


async def _run(context: ToolContext) -> None:
    await delegate_tool(RULES).run(context)


@given(levels, st.sampled_from(list(Role)[:3]), st.sets(st.sampled_from([PRIVATE, UNTRUSTED])))
def test_c64_rights_tools_labels_and_budgets_only_shrink_down_a_tree(
    tree: list[tuple[list[str] | None, str, int]], ceiling: Role, labels: set[str]
) -> None:
    spoke = Address(platform="test", chat="1")
    person = Person(id="ann")
    principal = Principal(person=person, spoke=spoke, ceiling=ceiling, labels=tuple(sorted(labels)))
    tools, budget = TOOLS, RULES.tokens_max
    for depth, (wanted, role, count) in enumerate(tree):
        tasks = [{"goal": f"part {n}", "toolsets": wanted} for n in range(count)]
        try:
            messages = begun(principal, tools, {"tasks": tasks, "role": role}, used=0)
        except ToolFailed:
            assert depth >= RULES.depth, "only a tree that is too deep is refused"
            return
        assert len(messages) == count
        assert depth < RULES.depth
        for message in messages:
            carried, options = message.principal, message.options
            assert carried is not None
            assert options is not None
            assert carried.person == person
            assert carried.ceiling >= principal.ceiling
            assert {*carried.labels} >= {*principal.labels}
            assert carried.ask == spoke, "questions go where the person is"
            assert message.address.platform == "call"
            given_ = {*options.tools} - {*NO_TOOLS}
            assert given_ <= {*tools}
            assert not given_ & NEVER
            assert options.tools, "no tools in common means none, not all"
            assert options.tokens_max * count <= budget
            if NAME in given_:
                assert role == "orchestrator"
                assert depth + 1 < RULES.depth
        principal = messages[0].principal or principal
        offered = {*(messages[0].options.tools if messages[0].options else ())} - {*NO_TOOLS}
        tools = tuple(tool for tool in TOOLS if tool in offered)
