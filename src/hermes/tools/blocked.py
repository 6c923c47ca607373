"""Tell that a command failed because of its sandbox, from what it printed. Pure.

A guess by well-known words: it explains a failure to the model and to the person, and decides
nothing.
"""

import re

from hermes.ports.sandbox import Profile
from hermes.views.cards import ALLOW_NETWORK

TAIL_CHARS = 4_000  # of the output that is looked at: programs say last why they gave up
_NETWORK = re.compile(
    r"could not resolve|couldn't resolve|unable to resolve host|temporary failure in name resol"
    r"|name or service not known|name resolution|nodename nor servname|no address associated with"
    r"|getaddrinfo|\bEAI_AGAIN\b|\bENOTFOUND\b|\bENETUNREACH\b|network is unreachable"
    r"|network unreachable|failed to establish a new connection|dial tcp: lookup"
    r"|could not connect to|failed to connect to|no route to host",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)
_REFUSED = re.compile(
    r"operation not permitted|permission denied|function not implemented|bad system call"
    r"|\bE(?:PERM|ACCES|NOSYS)\b",
    re.IGNORECASE,
)
# Exit statuses that mean "no network" also when the program was told to be silent.
_SILENT = {"curl": (5, 6, 7), "wget": (4,), "ping": (2,)}
_MEANINGS = {
    ("curl", 5): "could not resolve the proxy",
    ("curl", 6): "could not resolve the host",
    ("curl", 7): "could not connect to the host",
    ("curl", 22): "the server answered with an error",
    ("curl", 28): "the time was up",
    ("curl", 35): "the TLS handshake failed",
    ("curl", 60): "the server's certificate is not trusted",
    ("wget", 4): "network failure",
    ("wget", 8): "the server answered with an error",
}
_FIRST_WORD = re.compile(r"\s*([A-Za-z0-9_.+-]+)")
BLOCKED = "blocked by the sandbox: "
NO_NETWORK = f"{BLOCKED}no network. The owner can allow a host: {ALLOW_NETWORK}"
OTHER_HOSTS = f"{BLOCKED}only the hosts in terminal.allow_hosts can be reached"
READ_ONLY = f"{BLOCKED}only the workspace can be changed"
CHANGES_NOTHING = f"{BLOCKED}it was started as a command that only reads, so it can change nothing"
PERHAPS = f"perhaps {BLOCKED}it refuses some system calls, and changes outside of the workspace"


def blocked_by(profile: Profile, command: str, code: int, output: str) -> str:
    """What the sandbox did to it, in words; "" when nothing points to that."""
    if profile == "host" or code == 0:
        return ""
    tail = output[-TAIL_CHARS:]
    if _NETWORK.search(tail) or code in _SILENT.get(_program(command), ()):
        return OTHER_HOSTS if profile == "net" else NO_NETWORK
    if _READ_ONLY.search(tail):
        return CHANGES_NOTHING if profile == "read" else READ_ONLY
    return PERHAPS if _REFUSED.search(tail) else ""


def meaning_of(command: str, code: int, output: str) -> str:
    """What an exit status means that came without a word; "" when nobody knows."""
    if output.strip():
        return ""
    return _MEANINGS.get((_program(command), code), "it printed nothing")


def _program(command: str) -> str:
    found = _FIRST_WORD.match(command)
    return found[1] if found is not None else ""
