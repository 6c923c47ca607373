"""A command that failed because of its sandbox says so; one that failed by itself does not."""

import pytest

from hermes.ports.sandbox import Profile
from hermes.tools.blocked import NO_NETWORK, OTHER_HOSTS, PERHAPS, READ_ONLY, blocked_by, meaning_of
from hermes.views.call_line import why_failed


@pytest.mark.parametrize(
    ("profile", "command", "code", "output", "said"),
    [
        ("write", "curl x", 6, "curl: (6) Could not resolve host: x", NO_NETWORK),
        ("write", "curl -s x", 6, "", NO_NETWORK),
        ("write", "wget -q x", 4, "", NO_NETWORK),
        (
            "write",
            "pip install x",
            1,
            "[Errno -3] Temporary failure in name resolution",
            NO_NETWORK,
        ),
        ("write", "npm i", 1, "npm ERR! code EAI_AGAIN", NO_NETWORK),
        ("read", "ping x", 2, "ping: connect: Network is unreachable", NO_NETWORK),
        ("net", "curl x", 6, "curl: (6) Could not resolve host: x", OTHER_HOSTS),
        ("write", "touch /usr/x", 1, "touch: /usr/x: Read-only file system", READ_ONLY),
        ("write", "mount x", 32, "mount: operation not permitted", PERHAPS),
        ("write", "touch /etc/x", 1, "touch: /etc/x: Permission denied", PERHAPS),
        ("write", "false", 1, "", ""),
        ("write", "pytest", 1, "1 failed", ""),
        ("write", "curl x", 0, "Could not resolve host", ""),
        ("host", "curl x", 6, "Could not resolve host", ""),
    ],
)
def test_what_the_sandbox_blocked_is_told(
    profile: Profile, command: str, code: int, output: str, said: str
) -> None:
    assert blocked_by(profile, command, code, output) == said


def test_a_status_without_a_word_is_explained() -> None:
    assert meaning_of("curl -s x", 6, "") == "could not resolve the host"
    assert meaning_of("mine", 3, "") == "it printed nothing"
    assert meaning_of("mine", 3, "why\n") == ""


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("a\ncurl: (6) no host\n[exit status 6]", "curl: (6) no host"),
        (
            "curl: (6) no host\n[exit status 6; blocked by the sandbox: no network. Allow it: x]",
            "curl: (6) no host; blocked by the sandbox: no network",
        ),
        (
            "[exit status 6; could not resolve the host; blocked by the sandbox: no network. X]",
            "blocked by the sandbox: no network",
        ),
        ("[exit status 3; it printed nothing]", "it printed nothing"),
        ("boom\n[it moved; exit status 3; now in /x]", "boom"),
        ("The tool says no.", "The tool says no."),
        ("", ""),
    ],
)
def test_a_person_reads_why_in_one_line(result: str, why: str) -> None:
    assert why_failed(result) == why
