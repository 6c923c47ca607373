"""Which replies a process will send itself, and which it must tell others about."""

from hermes.stores.postgres.reach import NAME_CHARS_MAX, PLATFORMS_MAX, PlatformReach


async def test_what_was_never_asked_for_is_for_others() -> None:
    reach = PlatformReach()
    assert reach.beyond({"telegram", "discord"}) == ["discord", "telegram"]
    assert not reach.hears("telegram")
    assert reach.beyond(()) == []


async def test_what_was_asked_for_as_a_whole_is_sent_here() -> None:
    reach = PlatformReach()
    reach.ask(["telegram", "discord"], whole=True)
    assert reach.beyond({"telegram", "mail"}) == ["mail"]
    assert reach.hears("telegram")
    assert not reach.hears("mail")


async def test_who_asked_for_one_session_hears_and_leaves_the_rest_to_others() -> None:
    reach = PlatformReach()
    reach.ask(["local"], whole=False)
    assert reach.hears("local")
    assert reach.beyond({"local"}) == ["local"]


async def test_names_and_their_number_are_limited() -> None:
    reach = PlatformReach()
    for number in range(PLATFORMS_MAX * 2):
        reach.ask([f"p{number}"], whole=True)
    assert reach.beyond({"p0"}) == ["p0"]
    assert reach.beyond({f"p{PLATFORMS_MAX * 2 - 1}"}) == []
    long = "x" * 10_000
    assert reach.beyond({long, "nul\0"}) == ["nul", "x" * NAME_CHARS_MAX]
    reach.ask([long], whole=True)
    assert reach.hears("x" * NAME_CHARS_MAX)
