"""Who is asked again, after how long, and who is asked instead."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.errors import (
    ContextOverflow,
    ProviderBusy,
    ProviderDenied,
    ProviderFailed,
    ProviderGarbled,
    ProviderRefused,
    ProviderSilent,
)
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Glimpse, Retrying, TextDelta
from hermes.providers.chain import ProviderChain
from hermes.providers.scripted import Scripted
from hermes.providers.settings import RetryLimits
from tests.unit.providers.asking import asked, settings
from tests.unit.providers.recordings import HELLO, OPENAI, data, delta
from tests.unit.providers.servers import Server, chunked, plain

Outcome = Answer | ProviderFailed
GOOD = Answer(text="hi")


class World:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        self.asked: list[str] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def link(self, name: str, *outcomes: Outcome) -> Scripted:
        left = list(outcomes)

        def rule(_: ModelRequest) -> Outcome:
            self.asked.append(name)
            return left.pop(0) if len(left) > 1 else left[0]

        return Scripted(rule, name=name)

    def chain(
        self, *links: Scripted, draw: Callable[[], float] = lambda: 1.0, **patience: float
    ) -> ProviderChain:
        rules = RetryLimits(**patience)  # type: ignore[arg-type]
        return ProviderChain(links, rules, sleep=self.sleep, draw=draw, clock=lambda: self.now)


async def test_a_passing_failure_is_asked_again_after_a_growing_wait() -> None:
    world = World()
    busy = ProviderBusy("busy")
    chain = world.chain(world.link("a:m", busy, ProviderSilent("x"), ProviderGarbled("y"), GOOD))
    seen: list[Glimpse] = []
    answer = await chain.ask(HELLO, seen.append)
    assert (answer.text, answer.model) == ("hi", "a:m")
    assert world.slept == [1.0, 2.0, 4.0]
    assert seen[:3] == [Retrying("busy", 1.0), Retrying("x", 2.0), Retrying("y", 4.0)]


@given(st.floats(0, 1), st.integers(0, 60))
def test_a_wait_is_a_random_part_of_its_limit_and_the_limit_is_bounded(
    drawn: float, attempt: int
) -> None:
    chain = World().chain(draw=lambda: drawn, attempts_max=100, backoff_max_s=30.0)
    delay = chain._delay(ProviderBusy("x"), attempt, until=1e9)
    assert delay is not None
    assert 0 <= delay <= min(30.0, 2.0**attempt)


async def test_a_wished_delay_is_honoured_and_never_undercut() -> None:
    world = World()
    chain = world.chain(world.link("a:m", ProviderBusy("x", delay_s=17.0), GOOD), draw=lambda: 0.0)
    await chain.ask(HELLO, lambda _: None)
    assert world.slept == [17.0]


async def test_a_wished_delay_beyond_reason_means_the_next_one() -> None:
    world = World()
    later = ProviderBusy("come back tomorrow", delay_s=86_400)
    chain = world.chain(world.link("a:m", later), world.link("b:m", GOOD))
    answer = await chain.ask(HELLO, lambda _: None)
    assert (answer.model, world.slept, world.asked) == ("b:m", [], ["a:m", "b:m"])


@pytest.mark.parametrize("failure", [ProviderDenied("no key"), ProviderRefused("bad request")])
async def test_what_stays_wrong_is_not_asked_again(failure: ProviderFailed) -> None:
    world = World()
    chain = world.chain(world.link("a:m", failure), world.link("b:m", GOOD))
    seen: list[Glimpse] = []
    answer = await chain.ask(HELLO, seen.append)
    assert (answer.model, world.asked, world.slept) == ("b:m", ["a:m", "b:m"], [])
    assert seen[0] == Retrying(str(failure), 0.0)
    assert chain.name == "a:m"


async def test_a_conversation_that_is_too_long_is_the_callers_business() -> None:
    world = World()
    chain = world.chain(world.link("a:m", ContextOverflow("long")), world.link("b:m", GOOD))
    with pytest.raises(ContextOverflow):
        await chain.ask(HELLO, lambda _: None)
    assert world.asked == ["a:m"]


async def test_attempts_are_bounded_and_the_last_error_lists_them_all() -> None:
    world = World()
    chain = world.chain(
        world.link("a:m", ProviderBusy("a is busy")),
        world.link("b:m", ProviderDenied("b has no key")),
        world.link("c:m", ProviderGarbled("c cut", delay_s=3.0)),
        attempts_max=3,
    )
    with pytest.raises(ProviderGarbled) as told:
        await chain.ask(HELLO, lambda _: None)
    assert world.asked == ["a:m"] * 3 + ["b:m"] + ["c:m"] * 3
    assert "after 7 attempts" in str(told.value)
    for words in ("a is busy (3 times)", "b has no key", "c cut (3 times)"):
        assert words in str(told.value)
    assert told.value.delay_s == 3.0


async def test_a_single_failure_is_raised_as_it_is() -> None:
    world = World()
    denied = ProviderDenied("no key")
    with pytest.raises(ProviderDenied) as told:
        await world.chain(world.link("a:m", denied)).ask(HELLO, lambda _: None)
    assert told.value is denied


async def test_the_time_of_all_attempts_together_is_bounded() -> None:
    world = World()
    chain = world.chain(world.link("a:m", ProviderBusy("x", delay_s=50)), total_s=120.0)
    with pytest.raises(ProviderBusy):
        await chain.ask(HELLO, lambda _: None)
    assert world.now <= 120


@pytest.mark.parametrize("patience", [{"attempts_max": 0}, {"total_s": 0.0}])
async def test_everybody_is_asked_once_whatever_the_patience(patience: dict[str, float]) -> None:
    world = World()
    links = world.link("a:m", ProviderBusy("x")), world.link("b:m", GOOD)
    answer = await world.chain(*links, **patience).ask(HELLO, lambda _: None)
    assert answer.model == "b:m"


async def test_a_stream_that_was_cut_is_asked_again_and_its_pieces_are_void() -> None:
    """Over sockets: three faults, one answer, and a mark between what counts and what does not."""
    half = chunked(data(delta({"content": "I am h"})))
    busy = plain({"error": "busy"}, status=429, retry_after="0")
    plays = [[half], [busy], [plain(b"<html>")], [chunked(OPENAI)]]
    seen: list[Glimpse] = []
    quick = RetryLimits(base_s=0.01)
    async with asked(*plays, patience=quick) as (chain, server):
        answer = await chain.ask(HELLO, seen.append)
    assert len(server.taken) == 4
    marks = [at for at, one in enumerate(seen) if isinstance(one, Retrying)]
    assert len(marks) == 3
    valid = [one.text for one in seen[marks[-1] :] if isinstance(one, TextDelta)]
    assert "".join(valid) == answer.text
    assert TextDelta("I am h") in seen[: marks[0]]


async def test_another_server_answers_when_the_first_one_will_not() -> None:
    async with Server([[plain({"error": "no"}, status=401)]]) as first:
        fallback = settings(first, name="never")
        async with asked([chunked(OPENAI)]) as (_, second):
            spare = settings(second, name="spare")
            async with asked([plain({}, status=404)], fallback=(fallback, spare)) as (chain, _):
                answer = await chain.ask(HELLO, lambda _: None)
    assert (chain.name, answer.model) == ("custom:m", "custom:spare")
    assert [len(server.taken) for server in (first, second)] == [1, 1]
