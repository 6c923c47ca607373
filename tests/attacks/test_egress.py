"""NET-1 and NET-2: one client for URLs of others, and no way for them into a house or a cloud."""

import ast
import json
from pathlib import Path

import pytest

from hermes.core.errors import Misconfigured
from hermes.egress.rules import EgressRules, openings
from hermes.wire.faults import Blocked, HttpFailed, Unreachable
from tests.attacks.web import Names, is_forbidden, sockets_seen, walled

PACKAGE = Path(__file__).parents[2] / "src" / "hermes"
HOSTILE = Path(__file__).with_name("urls.jsonl")
PLACES = json.loads(Path(__file__).with_name("places.json").read_text("utf-8"))

CLIENTS = {"httpx", "httpx2", "httpcore", "httpcore2", "aiohttp", "requests", "urllib3"}
CLIENTS |= {"urllib.request", "http.client", "ftplib", "smtplib", "telnetlib", "xmlrpc.client"}
CALLS = {"create_connection", "open_connection", "urlopen", "sock_connect", "connect_ex"}
WHY = {
    "egress/client.py": "the place: every URL that comes from content",
    "wire/dial.py": "models and platforms, at the addresses that the owner set",
    "wire/route.py": "reads the environment's proxies; opens nothing",
    "channels/telegram/wire.py": "the bot's own API, at a fixed host or the owner's",
    "channels/telegram/failures.py": "names what that client raises; opens nothing",
    "channels/local/sockets.py": "a socket in the home, by its path",
    "terminals/sandbox/proxy.py": "the way out of a box: the owner's hosts, addresses judged",
}


def dials(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            if CLIENTS & {each.name for each in node.names}:
                return True
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{each.name}" for each in node.names}
            if CLIENTS & (full | {node.module or ""}) or CALLS & {e.name for e in node.names}:
                return True
        elif isinstance(node, ast.Attribute) and node.attr in CALLS:
            return True
    return False


def test_net_01_only_the_declared_places_can_open_a_connection() -> None:
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if dials(ast.parse(file.read_text("utf-8")))
    }
    assert found - WHY.keys() == set(), "take hermes.egress.client, or declare the place and why"
    assert WHY.keys() - found == set(), "these connect to nothing any more"


def test_net_01_the_check_sees_every_way_to_dial() -> None:
    ways = (
        "import httpx",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import socket\nsocket.create_connection(x)",
        "from asyncio import open_connection",
        "loop.sock_connect(a, b)",
        "import http.client",
    )
    assert [way for way in ways if not dials(ast.parse(way))] == []
    assert not dials(ast.parse("from urllib.parse import urlsplit\nimport socket"))


def hostile() -> list[dict[str, object]]:
    return [json.loads(line) for line in HOSTILE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", hostile(), ids=lambda case: str(case["id"]))
async def test_net_02_a_hostile_url_opens_no_socket_to_what_is_not_public(
    case: dict[str, object],
) -> None:
    url, rows = str(case["url"]), case.get("dns")
    client, wall = walled(Names({"rebind.test": rows} if isinstance(rows, list) else {}))
    with sockets_seen() as seen, pytest.raises(HttpFailed) as failed:
        await client.fetch(url)
    assert seen == []
    assert [address for address in wall.addresses if is_forbidden(address)] == []
    assert isinstance(rows, list) or isinstance(failed.value, Blocked)


@pytest.mark.parametrize("address", PLACES["never"])
async def test_net_02_a_name_is_refused_when_one_of_its_answers_is_not_public(address: str) -> None:
    names = Names({"mixed.test": [["93.184.216.34", address]], "host.test": [[address]]})
    spelled = f"[{address}]" if ":" in address else address
    client, wall = walled(names)
    for url in ("http://mixed.test/", "https://host.test:8443/", f"http://{spelled}/"):
        with pytest.raises(Blocked):
            await client.fetch(url)
    assert wall.addresses == []


@pytest.mark.parametrize("address", PLACES["world"])
def test_net_02_what_is_public_may_be_connected_to(address: str) -> None:
    rules = EgressRules()
    found = rules.reachable(rules.server("https://host.test/"), [address])
    assert [str(each) for each in found] == [address]


async def test_net_02_the_address_that_was_judged_is_the_one_that_is_connected_to() -> None:
    names = Names({"rebind.test": [["93.184.216.34"], ["127.0.0.1"]]})
    client, wall = walled(names)
    with pytest.raises(Unreachable):
        await client.fetch("http://rebind.test/")
    assert names.asked == ["rebind.test"]
    assert wall.addresses == ["93.184.216.34"]


@pytest.mark.parametrize("url", PLACES["odd"])
async def test_net_02_a_url_with_an_odd_spelling_is_not_even_looked_up(url: str) -> None:
    names = Names(default=["93.184.216.34"])
    client, wall = walled(names)
    with pytest.raises(Blocked):
        await client.fetch(url)
    assert (names.asked, wall.addresses) == ([], [])


def test_net_02_a_trailing_dot_and_capitals_are_the_same_host() -> None:
    assert EgressRules().server("HTTPS://Example.COM./x").host == "example.com"
    assert EgressRules().server("http://b\u00fccher.example/").host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("allowed", "url", "answers", "fine"),
    [
        ("wiki.lan", "http://wiki.lan/", ["10.0.0.5"], True),
        ("wiki.lan", "http://other.lan/", ["10.0.0.5"], False),
        ("wiki.lan", "http://wiki.lan/", ["10.0.0.5", "169.254.169.254"], False),
        ("wiki.lan", "http://wiki.lan:3000/", ["10.0.0.5"], False),
        ("wiki.lan:3000", "http://wiki.lan:3000/", ["10.0.0.5"], True),
        ("wiki.lan:3000", "http://wiki.lan/", ["10.0.0.5"], False),
        ("10.0.0.0/24", "http://10.0.0.5/", ["10.0.0.5"], True),
        ("10.0.0.0/24", "http://10.0.1.5/", ["10.0.1.5"], False),
        ("10.0.0.0/24", "http://evil.test/", ["10.0.0.5"], False),
        ("10.0.0.5", "http://[::ffff:10.0.0.5]/", ["::ffff:10.0.0.5"], False),
        ("0.0.0.0/0", "http://169.254.169.254/", ["169.254.169.254"], False),
        ("198.18.0.0/15", "http://any.test/", ["198.18.3.4"], True),
        ("198.18.0.0/15", "http://any.test/", ["198.18.3.4", "10.0.0.1"], False),
        ("64:ff9b::/96", "http://any.test/", ["64:ff9b::808:808"], True),
        ("64:ff9b::/96", "http://any.test/", ["64:ff9b::a00:1"], False),
        ("[fd00::5]:3000", "http://[fd00::5]:3000/", ["fd00::5"], True),
    ],
)
def test_net_02_an_exception_is_as_narrow_as_it_is_written(
    allowed: str, url: str, answers: list[str], fine: bool
) -> None:
    rules = EgressRules(openings([allowed]))
    try:
        rules.reachable(rules.server(url), answers)
    except Blocked:
        assert not fine
    else:
        assert fine


@pytest.mark.parametrize("entry", ["", "a b", "10.0.0.5/24", "http://x", "x:99999", "*.lan", "1.2"])
def test_an_exception_that_means_nothing_stops_the_start(entry: str) -> None:
    with pytest.raises(Misconfigured):
        openings([entry])
