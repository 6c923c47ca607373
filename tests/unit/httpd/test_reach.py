"""From where a server may be reached: what may be set, and what is said when it is wrong."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hermes.core.errors import Misconfigured
from hermes.httpd.reach import Host, NetworkReach, Tls, certified, is_here, is_weak, reach_of

SECTION = "platforms.api"
ALL = "0.0.0.0"  # noqa: S104


def problem(raw: dict[str, object], host: str = "127.0.0.1") -> Misconfigured:
    with pytest.raises(Misconfigured) as caught:
        reach_of(SECTION, raw, host)
    return caught.value


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"])
def test_this_machine_needs_nothing(host: str) -> None:
    assert is_here(host)
    assert reach_of(SECTION, {}, host) == NetworkReach(section=SECTION, host=host)


@pytest.mark.parametrize(
    "host", ["::", "192.168.1.5", "my-machine", "localhost.evil.test", "127.0.0.1.x", ALL]
)
def test_others_can_reach_it_only_with_tls_or_by_a_proxy(host: str) -> None:
    wrong = problem({}, host)
    assert wrong.key == "platforms.api.host"
    for fix in ("host 127.0.0.1", "platforms.api.tls", "platforms.api.trusted_proxies"):
        assert fix in str(wrong)
    assert reach_of(SECTION, {"trusted_proxies": ["10.0.0.2"]}, host).only_proxies
    tls = {"certificate_file": "/x/cert.pem", "key_file": "/x/key.pem"}
    made = reach_of(SECTION, {"tls": tls}, host)
    assert made.tls == Tls("/x/cert.pem", "/x/key.pem")
    assert not made.only_proxies


def test_lists_may_be_written_as_one_text() -> None:
    raw = {"hosts": "a.example.org, b.example.org:80", "trusted_proxies": "10.0.0.2 fd00::/64"}
    made = reach_of(SECTION, raw, "127.0.0.1")
    assert made.hosts == (Host("a.example.org"), Host("b.example.org", 80))
    assert [str(each) for each in made.proxies] == ["10.0.0.2/32", "fd00::/64"]


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        ({"hosts": 5}, "platforms.api.hosts"),
        ({"hosts": [5]}, "platforms.api.hosts"),
        ({"hosts": ["https://a.example.org"]}, "platforms.api.hosts"),
        ({"hosts": ["*"]}, "platforms.api.hosts"),
        ({"hosts": ["a.example.org:99999"]}, "platforms.api.hosts"),
        ({"hosts": ["a"] * 101}, "platforms.api.hosts"),
        ({"trusted_proxies": ["proxy.example.org"]}, "platforms.api.trusted_proxies"),
        ({"trusted_proxies": ["0.0.0.0/0"]}, "platforms.api.trusted_proxies"),
        ({"trusted_proxies": ["::/0"]}, "platforms.api.trusted_proxies"),
        ({"trusted_proxies": ["10.0.0.2/8"]}, "platforms.api.trusted_proxies"),
        ({"tls": "yes"}, "platforms.api.tls"),
        ({"tls": {"cert": "x"}}, "platforms.api.tls.cert"),
        ({"tls": {"certificate_file": 5}}, "platforms.api.tls.certificate_file"),
        ({"tls": {"key_file": "x"}}, "platforms.api.tls.certificate_file"),
    ],
)
def test_what_is_wrong_is_named_with_its_fix(raw: dict[str, object], key: str) -> None:
    wrong = problem(raw)
    assert wrong.key == key
    assert str(wrong).count(". ") >= 1


@pytest.mark.parametrize(
    "secret",
    [
        *("", "short12", "aaaaaaaaaaaa", "abababababab", "password1", "P@ssw0rd2024", "qwertyuiop"),
        *("1234567890abcdef", "admin-admin-admin", "letmein-letmein", "0123456789876543210"),
    ],
)
def test_what_is_easy_to_guess_is_weak(secret: str) -> None:
    assert is_weak(secret)
    for strong in ("a-key-for-tests", "a3f9c27be1044d18", "correct-horse", "Zk4-tT9_xW2q"):
        assert not is_weak(strong)


def test_a_certificate_that_nobody_could_be_served_with_is_a_wrong_setting(tmp_path: Path) -> None:
    def refused(tls: Tls) -> str:
        with pytest.raises(Misconfigured) as caught:
            certified(SECTION, tls)
        return str(caught.value)

    (tmp_path / "none.pem").write_text("no certificate")
    for file in ("missing.pem", "none.pem"):
        said = refused(Tls(str(tmp_path / file)))
        assert said.startswith("platforms.api.tls.certificate_file: cannot be used")
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here")
    words = [program, "req", "-x509", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=x"]
    words += ["-passout", "pass:secret", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    refused(Tls(str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")))
