"""Read how a channel's HTTP server may be reached: addresses, host names, proxies, TLS.

A server on loopback needs nothing. A server that other machines can reach needs TLS, or a proxy
that has it; otherwise it does not start.
"""

import ipaddress
import math
import re
import ssl
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.core.errors import Misconfigured

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

KEYS: Final = ("hosts", "trusted_proxies", "tls")
SECRET_CHARS_MIN: Final = 8
SIGNS_MIN: Final = 5  # different ones, in a secret
BITS_MIN: Final = 56
# The most common passwords, longest first.
COMMON: Final = (
    *("administrator", "changeme", "iloveyou", "password", "passwort", "superman", "football"),
    *("baseball", "princess", "sunshine", "trustno1", "letmein", "welcome", "starwars", "asdfgh"),
    *("qwertz", "qwerty", "monkey", "dragon", "master", "secret", "shadow", "hermes", "access"),
    *("abc123", "zxcvbn", "admin", "guest", "hello", "login", "passwd", "pass", "root", "user"),
)
_LEET: Final = str.maketrans("@03$5!", "aoessi")
_ALPHABETS: Final = (("[0-9]", 10), ("[a-z]", 26), ("[A-Z]", 26), ("[^0-9A-Za-z]", 10))
ENTRIES_MAX: Final = 100
KNOWN_MAX: Final = 1_024  # texts that were read before: the same few come all the time
PORT_MAX: Final = 65_535
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# Kept as text until it is needed: no pattern is compiled at start.
HOST: Final = r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9][a-z0-9._-]{0,252}))(?::([0-9]{1,5}))?"


class Tls(Struct, frozen=True):
    """PEM files. The certificate file may contain the key, too."""

    certificate_file: str
    key_file: str = ""


class Host(Struct, frozen=True):
    """A host name by which clients reach this server. Without a port, any port is accepted."""

    name: str
    port: int | None = None


class NetworkReach(Struct, frozen=True, kw_only=True):
    """From where the server may be reached. `section` names the settings that say so."""

    section: str = ""
    host: str = "127.0.0.1"
    hosts: tuple[Host, ...] = ()
    proxies: tuple[Network, ...] = ()
    tls: Tls | None = None

    @property
    def only_proxies(self) -> bool:
        """Return True if other machines can reach this server without TLS, so that only trusted
        proxies may."""
        return self.tls is None and not is_here(self.host)

    def trusts(self, peer: Address | None) -> bool:
        return peer is not None and any(peer in network for network in self.proxies)


def reach_of(section: str, raw: Mapping[str, object], host: str) -> NetworkReach:
    """Read the settings of a channel that are in `KEYS`. Raise Misconfigured."""
    reach = NetworkReach(
        section=section,
        host=host,
        hosts=tuple(_host(section, text) for text in _texts(section, raw, "hosts")),
        proxies=tuple(_network(section, text) for text in _texts(section, raw, "trusted_proxies")),
        tls=_tls(section, raw.get("tls")),
    )
    if reach.only_proxies and not reach.proxies:
        problem = f"“{host}” can be reached from the network, and nothing would be encrypted"
        fix = (
            f"Run: hermes config set {section}.host 127.0.0.1, or give a certificate "
            f"({section}.tls) or the address of the proxy that has one ({section}.trusted_proxies)"
        )
        raise Misconfigured(f"{section}.host", problem, fix)
    return reach


def is_here(host: str) -> bool:
    """Return True if only this machine can reach the host."""
    address = address_of(host.strip("[]"))
    return address.is_loopback if address is not None else host.lower() == "localhost"


@lru_cache(KNOWN_MAX)
def address_of(text: str) -> Address | None:
    """Parse an IP address; None for other text. An IPv4-mapped IPv6 address becomes IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


@lru_cache(KNOWN_MAX)
def host_of(text: str) -> Host | None:
    """Parse a Host header; None for a malformed one."""
    found = re.fullmatch(HOST, text.lower())
    if found is None or int(found[3] or 0) > PORT_MAX:
        return None
    if found[1] is not None and address_of(found[1]) is None:
        return None
    return Host(found[1] or found[2], int(found[3]) if found[3] else None)


def is_weak(secret: str) -> bool:
    """Return True if a program could guess the secret."""
    few = len(secret) < SECRET_CHARS_MIN or len(set(secret)) < SIGNS_MIN
    return few or entropy_bits(secret) < BITS_MIN


def entropy_bits(secret: str) -> float:
    """Estimate the entropy: each character counts by its alphabet, but a well-known password, a run
    like 1234 and a repeat count as one character."""
    rest, read, signs = secret.lower(), secret.lower().translate(_LEET), 0
    for word in COMMON:
        while (at := read.find(word)) >= 0:
            gone = "\0" * len(word)
            rest, read = (text[:at] + gone + text[at + len(word) :] for text in (rest, read))
            signs += 1
    steps = [ord(b) - ord(a) for a, b in pairwise(rest)]
    kept = [n for n, char in enumerate(rest) if char != "\0" and not _continues(n, steps)]
    alphabet = sum(size for kind, size in _ALPHABETS if re.search(kind, secret))
    return (len(kept) + signs) * math.log2(max(alphabet, 2))


def _continues(n: int, steps: Sequence[int]) -> bool:
    """Return True if the character continues a run, or repeats the one before."""
    return n > 0 and (steps[n - 1] == 0 or (n > 1 and steps[n - 1] == steps[n - 2] in (1, -1)))


def demand_strong(key: str, secret: str, fix: str) -> None:
    if is_weak(secret):
        problem = (
            "is easy to guess: it needs 16 random characters or more, not a word with a number"
        )
        raise Misconfigured(key, problem, fix)


def certified(section: str, tls: Tls | None) -> ssl.SSLContext | None:
    """Return the TLS context to serve with; None without TLS. Raise Misconfigured for unusable
    files."""
    if tls is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(tls.certificate_file, tls.key_file or None, password=lambda: "")
    except OSError as error:
        key = f"{section}.tls.certificate_file"
        problem = f"cannot be used ({error.strerror or error})"
        fix = f"Give a certificate in PEM, and its key without a password as {section}.tls.key_file"
        raise Misconfigured(key, problem, fix) from error
    return context


def _texts(section: str, raw: Mapping[str, object], name: str) -> tuple[str, ...]:
    given = raw.get(name)
    if given is None:
        return ()
    listed = re.split(r"[,\s]+", given.strip()) if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or len(listed) > ENTRIES_MAX:
        problem = f"is not a list of up to {ENTRIES_MAX} texts"
        raise Misconfigured(f"{section}.{name}", problem, _FIXES[name])
    for each in listed:
        if not isinstance(each, str):
            raise Misconfigured(f"{section}.{name}", "has an entry that is not text", _FIXES[name])
    return tuple(each.strip() for each in listed if each.strip())


def _host(section: str, text: str) -> Host:
    host = host_of(text)
    if host is None:
        raise Misconfigured(
            f"{section}.hosts", f"“{text[:40]}” is not a host name", _FIXES["hosts"]
        )
    return host


def _network(section: str, text: str) -> Network:
    key, fix = f"{section}.trusted_proxies", _FIXES["trusted_proxies"]
    try:
        network = ipaddress.ip_network(text)
    except ValueError as wrong:
        raise Misconfigured(key, f"“{text[:40]}” is not an address or a network", fix) from wrong
    if network.prefixlen == 0:
        raise Misconfigured(key, f"“{text}” means every address", fix)
    return network


def _tls(section: str, raw: object) -> Tls | None:
    if raw is None or raw == {}:
        return None
    if not isinstance(raw, Mapping):
        raise Misconfigured(f"{section}.tls", "is not a section of keys and values", _FIXES["tls"])
    for name, value in raw.items():
        if name not in Tls.__struct_fields__:
            there = f"Known settings: {', '.join(Tls.__struct_fields__)}"
            raise Misconfigured(f"{section}.tls.{name}", "there is no such setting", there)
        if not isinstance(value, str):
            raise Misconfigured(f"{section}.tls.{name}", "is not the name of a file", _FIXES["tls"])
    paths = {name: str(Path(value).expanduser()) for name, value in raw.items() if value.strip()}
    if "certificate_file" not in paths:
        raise Misconfigured(f"{section}.tls.certificate_file", "is needed", _FIXES["tls"])
    return Tls(**paths)


_FIXES: Final = {
    "hosts": "List the names that people use: [hermes.example.org]",
    "trusted_proxies": "List addresses or networks: [10.0.0.2, 172.18.0.0/16]",
    "tls": "Write {certificate_file: /path/of/fullchain.pem, key_file: /path/of/key.pem}",
}
