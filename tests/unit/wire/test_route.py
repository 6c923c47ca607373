"""Where a URL leads, and which proxy of the environment stands between."""

import pytest

from hermes.wire.origin import BadURL, UrlOrigin, origin, target
from hermes.wire.route import is_loopback, proxy_for

API = UrlOrigin(secure=True, host="api.example.com", port=443)
PROXY = {"https": "http://proxy:3128"}


def test_a_url_names_its_server() -> None:
    assert origin("https://API.example.com/v1") == API
    assert origin("http://[::1]:8080/v1") == UrlOrigin(secure=False, host="::1", port=8080)
    assert origin("http://bücher.example").host == "xn--bcher-kva.example"


def test_the_usual_port_is_not_said_and_an_address_of_version_six_stands_in_brackets() -> None:
    assert (API.authority, API.place) == ("api.example.com", "api.example.com:443")
    assert origin("https://x:80").authority == "x:80"
    assert origin("http://[::1]/").authority == "[::1]"
    assert origin("http://[::1]:81/").authority == "[::1]:81"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "http://",
        "http://x:0",
        "http://x:70000",
        "http://x:port",
        "http://[::",
        "http://a b",
        "http://x\r\nhost: y",
        "http://name:word@x/v1",
        f"http://{'ü' * 80}.example",
        f"http://{'u' * 64}.example",
        "http://a..example",
        "http://x/\udc80",
    ],
)
def test_what_leads_nowhere_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(BadURL) as told:
        origin(url)
    assert "word@" not in str(told.value)


def test_a_target_has_no_space_and_no_line_break() -> None:
    assert target("http://x") == "/"
    assert target("http://x/my models/v1?a=b c&d=%20#e") == "/my%20models/v1?a=b%20c&d=%20"
    assert target("http://x/ü") == "/%C3%BC"
    with pytest.raises(BadURL):
        target("http://x/\r\nx: y")


def test_a_proxy_is_chosen_by_scheme_and_for_all_else() -> None:
    chosen = proxy_for(API, PROXY)
    assert chosen is not None
    assert chosen.origin == UrlOrigin(secure=False, host="proxy", port=3128)
    assert proxy_for(API, {"http": "http://proxy:3128"}) is None
    assert proxy_for(API, {"all": "proxy:1"}) is not None
    assert proxy_for(API, {}) is None


def test_a_proxys_password_is_sent_and_not_shown() -> None:
    chosen = proxy_for(API, {"https": "http://me:p%40ss@proxy:1"})
    assert chosen is not None
    assert chosen.authorization == "Basic bWU6cEBzcw=="
    assert "bWU6" not in repr(chosen)


def test_a_proxy_of_an_unknown_kind_is_said() -> None:
    with pytest.raises(BadURL, match="socks5"):
        proxy_for(API, {"all": "socks5://proxy:1"})


@pytest.mark.parametrize(
    ("entry", "host", "spared"),
    [
        ("*", "api.example.com", True),
        ("example.com", "api.example.com", True),
        ("example.com", "example.com", True),
        ("example.com", "badexample.com", False),
        (".example.com", "api.example.com", True),
        (".example.com", "example.com", False),
        ("Example.COM:443", "api.example.com", True),
        ("example.com:80", "api.example.com", False),
        ("https://example.com", "example.com", True),
        ("http://example.com", "example.com", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("fd00::/8", "fd00::1", True),
        ("[fd00::1]", "fd00::1", True),
        ("", "api.example.com", False),
        ("nonsense/[", "api.example.com", False),
    ],
)
def test_who_is_named_in_no_proxy_is_asked_directly(entry: str, host: str, spared: bool) -> None:
    server = UrlOrigin(secure=True, host=host, port=443)
    assert (proxy_for(server, {**PROXY, "no": f"other.example, {entry} "}) is None) is spared


def test_loopback_is_told_from_the_rest() -> None:
    ours = ("http://localhost:1/v1", "http://127.0.0.9/v1", "http://[::1]:8/v1")
    assert all(is_loopback(url) for url in ours)
    others = (
        "https://api.openai.com/v1",
        "http://10.0.0.1/v1",
        "http://localhost.example/v1",
        "http://[",
    )
    assert not any(is_loopback(url) for url in others)
