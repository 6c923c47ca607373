"""Ten failures a minute, then a wait that grows."""

from hermes.httpd.auth_backoff import FAILURES_MAX, VISITORS_MAX, WAIT_S_MAX, WINDOW_S, AuthBackoff


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def fails(strikes: AuthBackoff, times: int, who: str = "a") -> list[bool]:
    return [strikes.failed(who) for _ in range(times)]


def test_ten_failures_in_a_minute_begin_a_wait() -> None:
    clock = Clock()
    strikes = AuthBackoff(clock)
    assert fails(strikes, FAILURES_MAX) == [False] * (FAILURES_MAX - 1) + [True]
    assert strikes.wait_s("a") == WINDOW_S
    assert strikes.wait_s("b") == 0
    clock.now += WINDOW_S
    assert strikes.wait_s("a") == 0


def test_failures_that_are_far_apart_are_forgiven() -> None:
    clock = Clock()
    strikes = AuthBackoff(clock)
    for _ in range(50):
        fails(strikes, FAILURES_MAX - 1)
        clock.now += WINDOW_S + 1
    assert strikes.wait_s("a") == 0


def test_each_wait_is_twice_as_long_up_to_an_hour_and_an_hour_of_peace_ends_it() -> None:
    clock = Clock()
    strikes = AuthBackoff(clock)
    waits = []
    for _ in range(8):
        fails(strikes, FAILURES_MAX)
        waits.append(strikes.wait_s("a"))
        clock.now += waits[-1]
    assert waits == [60, 120, 240, 480, 960, 1920, WAIT_S_MAX, WAIT_S_MAX]
    clock.now += WAIT_S_MAX + 1
    fails(strikes, FAILURES_MAX)
    assert strikes.wait_s("a") == WINDOW_S


def test_so_many_are_remembered_and_no_more() -> None:
    strikes = AuthBackoff(Clock())
    fails(strikes, FAILURES_MAX, "first")
    for n in range(VISITORS_MAX):
        strikes.failed(f"v{n}")
    assert strikes.wait_s("first") == 0
