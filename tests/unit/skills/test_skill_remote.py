"""Skills from the web: the owner's address, and where somebody else's redirect would lead it."""

import ssl
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from hermes.core.errors import Rejected
from hermes.egress.addresses import Address
from hermes.egress.client import Fetcher, dialled
from hermes.egress.rules import EgressRules
from hermes.skills.fetch import fetched
from hermes.skills.remote import Remote
from hermes.wire.line import FetchConnection
from hermes.wire.origin import UrlOrigin
from tests.attacks.web import Names
from tests.unit.skills.workshop import skill_md, zipped

GIT = "info/refs?service=git-upload-pack"
PUBLIC = "93.184.216.34"


class Site:
    """What is on the web: paths to a status, a place to go on to, and a body."""

    def __init__(self, pages: Mapping[str, tuple[int, str, bytes]]) -> None:
        self.asked: list[str] = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(answer) -> None:  # noqa: N805
                self.asked.append(f"{answer.headers['host']}{answer.path}")
                status, location, body = pages.get(answer.path, (404, "", b""))
                answer.send_response(status)
                if location:
                    answer.send_header("location", location)
                answer.send_header("content-length", str(len(body)))
                answer.end_headers()
                answer.wfile.write(body)

            def log_message(answer, *_: object) -> None:  # noqa: N805
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def remote(self) -> Remote:
        """Every name of the world is served here, without TLS."""

        async def dial(server: UrlOrigin, _: Address, __: ssl.SSLContext | None) -> FetchConnection:
            place = UrlOrigin(False, server.host, self._server.server_port)
            return await dialled(place, IPv4Address("127.0.0.1"), None)

        names = Names({"inside.test": [["10.0.0.5"]]}, default=[PUBLIC])
        return Remote(Fetcher(EgressRules(), resolve=names, dial=dial))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    packed = zipped(tmp_path / "x.zip", {"good/SKILL.md": skill_md()}).read_bytes()
    made = Site(
        {
            "/good.zip": (302, "https://cdn.test/real.zip", b""),
            "/real.zip": (200, "", packed),
            "/evil.zip": (302, "https://inside.test/", b""),
            "/plain.zip": (302, "http://cdn.test/real.zip", b""),
            f"/me/moved/{GIT}": (301, f"https://git.test/me/new.git/{GIT}", b""),
            f"/me/new.git/{GIT}": (200, "", b"refs"),
            f"/me/evil/{GIT}": (301, f"https://inside.test/x/{GIT}", b""),
            f"/me/login/{GIT}": (302, "/login", b""),
            "/login": (200, "", b"who are you?"),
        }
    )
    yield made
    made.close()


def test_net_01_an_archive_comes_by_the_client_for_urls_of_others(
    site: Site, tmp_path: Path
) -> None:
    got = fetched(
        "https://site.test/good.zip",
        skill="",
        environ={},
        scratch=tmp_path,
        remote=site.remote(),
    )
    assert got.tree.keys() == {"SKILL.md"}
    assert got.origin == "https://site.test/good.zip"
    assert site.asked == ["site.test/good.zip", "cdn.test/real.zip"]


@pytest.mark.parametrize("path", ["evil.zip", "plain.zip", "missing.zip"])
def test_net_03_an_archive_that_leads_elsewhere_is_rejected(
    site: Site, tmp_path: Path, path: str
) -> None:
    with pytest.raises(Rejected, match="could not be fetched"):
        fetched(
            f"https://site.test/{path}",
            skill="",
            environ={},
            scratch=tmp_path,
            remote=site.remote(),
        )
    assert site.asked == [f"site.test/{path}"]


def test_net_03_git_is_told_where_the_redirects_end_and_to_follow_none(site: Site) -> None:
    where, settings = site.remote().repository("https://site.test/me/moved")
    assert where == "https://git.test/me/new.git"
    assert settings == (
        f"http.curloptResolve=git.test:443:{PUBLIC}",
        "http.followRedirects=false",
        "http.proxy=",
    )


def test_net_03_a_password_for_git_stays_with_its_server(site: Site) -> None:
    remote = site.remote()
    assert remote.repository("https://me:word@site.test/me/moved")[0].count("word") == 0
    assert remote.repository("https://me:word@git.test/me/new.git")[0] == (
        "https://me:word@git.test/me/new.git"
    )


@pytest.mark.parametrize("path", ["me/evil", "me/login"])
def test_net_03_a_repository_that_leads_elsewhere_is_rejected(site: Site, path: str) -> None:
    with pytest.raises(Rejected):
        site.remote().repository(f"https://site.test/{path}")
    assert not any(asked.startswith("inside.test") for asked in site.asked)
