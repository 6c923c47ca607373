"""Who is let in by name, page and proxy, without a socket."""

import pytest

from hermes.httpd.head import Ends, RequestHead
from hermes.httpd.origin_check import Turned, Visitor, visit
from hermes.httpd.reach import NetworkReach, reach_of

HERE = NetworkReach(section="platforms.api")
OPEN = reach_of(
    "platforms.api",
    {
        "hosts": ["hermes.example.org", "pinned.example.org:8443"],
        "trusted_proxies": ["192.0.2.1", "10.0.0.0/8", "fd00::/64"],
    },
    "0.0.0.0",  # noqa: S104
)


def asked(
    reach: NetworkReach = HERE,
    *,
    peer: str = "127.0.0.1",
    method: str = "POST",
    server: str = "127.0.0.1",
    **headers: str,
) -> Visitor | Turned:
    given = {"host": "127.0.0.1:8642", **headers}
    raw = [(name.replace("_", "-").encode(), text.encode()) for name, text in given.items()]
    return visit(reach, RequestHead(method, "/", raw, Ends(peer, (server, 8642))))


def status(found: Visitor | Turned) -> int:
    return found.status if isinstance(found, Turned) else 200


def name(found: Visitor | Turned) -> str:
    assert isinstance(found, Visitor), found
    return found.name


@pytest.mark.parametrize("host", ["localhost:8642", "LOCALHOST", "[::1]:8642", "127.0.0.1"])
def test_this_machine_has_its_names(host: str) -> None:
    assert asked(host=host) == Visitor("127.0.0.1", near=True)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("hermes.example.org", 200),
        ("Hermes.Example.org:443", 200),
        ("pinned.example.org:8443", 200),
        ("pinned.example.org", 421),
        ("pinned.example.org:1", 421),
        ("evil.hermes.example.org", 421),
        ("hermes.example.org.", 421),
        ("203.0.113.9:8642", 200),  # the address that this connection came to
        ("203.0.113.9:80", 421),
        ("203.0.113.10:8642", 421),
        ("0.0.0.0:8642", 200),
    ],
)
def test_more_names_are_those_that_were_set(host: str, expected: int) -> None:
    assert status(asked(OPEN, peer="192.0.2.1", server="203.0.113.9", host=host)) == expected


def test_in_the_open_only_proxies_and_this_machine_are_heard() -> None:
    for peer, expected in (("192.0.2.1", 200), ("10.9.9.9", 200), ("fd00::7", 200)):
        assert status(asked(OPEN, peer=peer)) == expected
    for peer in ("192.0.2.2", "11.0.0.1", "fd00:0:0:1::7", "not-an-address"):
        assert status(asked(OPEN, peer=peer)) == 403
    assert status(asked(OPEN, peer="::ffff:10.9.9.9")) == 200
    assert status(asked(OPEN, peer="127.0.0.1")) == 200


def test_who_comes_by_a_proxy_is_known_by_what_the_proxy_says() -> None:
    def client(hops: str, peer: str = "192.0.2.1") -> str:
        return name(asked(OPEN, peer=peer, x_forwarded_for=hops))

    assert client("198.51.100.7") == "198.51.100.7"
    assert client("1.1.1.1, 198.51.100.7") == "198.51.100.7", "the first is hearsay"
    assert client("198.51.100.7, 10.0.0.4") == "198.51.100.7", "a proxy behind a proxy"
    assert client("nonsense") == "192.0.2.1"
    assert client("2001:db8::1:2") == client("2001:db8::9:9"), "one person has a whole network"
    assert client("2001:db8::1") != client("2001:db8:0:1::1")
    assert client("198.51.100.7", peer="127.0.0.1") == "127.0.0.1, forwarded"


def test_near_is_only_a_program_of_this_machine() -> None:
    def near(**headers: str) -> bool:
        found = asked(**headers)
        assert isinstance(found, Visitor)
        return found.near

    assert near()
    assert not near(origin="http://127.0.0.1:8642")
    assert not near(x_forwarded_for="127.0.0.1")
    assert not near(forwarded="for=127.0.0.1")
    found = asked(OPEN, peer="192.0.2.1", x_forwarded_for="127.0.0.1")
    assert isinstance(found, Visitor)
    assert not found.near


def test_behind_tls_of_a_proxy_the_page_is_one_of_https() -> None:
    def page(origin: str, **more: str) -> int:
        host = {"host": "hermes.example.org", "x_forwarded_proto": "https", **more}
        return status(asked(OPEN, peer="192.0.2.1", origin=origin, **host))

    assert page("https://hermes.example.org") == 200
    assert page("https://hermes.example.org:443") == 200
    assert page("http://hermes.example.org") == 403
    outer = {"host": "127.0.0.1:8642", "x_forwarded_host": "hermes.example.org"}
    assert page("https://hermes.example.org", **outer) == 200
    assert page("https://127.0.0.1:8642", **outer) == 403
    assert page("https://evil.test", x_forwarded_host="evil.test") == 421


@pytest.mark.parametrize(
    ("site", "method", "expected"),
    [
        ("same-origin", "POST", 200),
        ("none", "GET", 200),
        ("none", "POST", 403),
        ("same-site", "GET", 403),
        ("cross-site", "GET", 403),
        ("cross-site", "POST", 403),
    ],
)
def test_what_the_browser_says_of_the_page_counts(site: str, method: str, expected: int) -> None:
    assert status(asked(method=method, sec_fetch_site=site)) == expected
