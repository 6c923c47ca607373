"""From where a channel's HTTP server may be reached, as settings: addresses, names, proxies, TLS.

A server that only this machine can reach needs nothing. One that others can reach needs TLS, or a
proxy that has it; otherwise it does not start.
"""

import ipaddress
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from hermes.core.errors import Misconfigured

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

KEYS: Final = ("hosts", "trusted_proxies", "tls")
SECRET_CHARS_MIN: Final = 8
SIGNS_MIN: Final = 5  # different ones, in a secret
ENTRIES_MAX: Final = 100
KNOWN_MAX: Final = 1_024  # texts that were read before: the same few come all the time
PORT_MAX: Final = 65_535
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# A text until it is needed: a start compiles nothing.
HOST: Final = r"(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9][a-z0-9._-]{0,252}))(?::([0-9]{1,5}))?"


class Tls(Struct, frozen=True):
    """Files in PEM. The certificate's may contain the key, too."""

    certificate_file: str
    key_file: str = ""


class Host(Struct, frozen=True):
    """Under which name we are asked for. No port: any."""

    name: str
    port: int | None = None


class Reach(Struct, frozen=True, kw_only=True):
    """`section` is where all of it is set."""

    section: str = ""
    host: str = "127.0.0.1"
    hosts: tuple[Host, ...] = ()
    proxies: tuple[Network, ...] = ()
    tls: Tls | None = None

    @property
    def only_proxies(self) -> bool:
        """Others can reach us, and what they send would travel in the open."""
        return self.tls is None and not is_here(self.host)

    def trusts(self, peer: Address | None) -> bool:
        return peer is not None and any(peer in network for network in self.proxies)


def reach_of(section: str, raw: Mapping[str, object], host: str) -> Reach:
    """The part of a channel's settings that is in `KEYS`. Raises Misconfigured."""
    reach = Reach(
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
    """Can only this machine reach it?"""
    address = address_of(host.strip("[]"))
    return address.is_loopback if address is not None else host.lower() == "localhost"


@lru_cache(KNOWN_MAX)
def address_of(text: str) -> Address | None:
    """None when it is no address. One of IPv4 in the clothes of IPv6 is one of IPv4."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


@lru_cache(KNOWN_MAX)
def host_of(text: str) -> Host | None:
    """What a Host header names; None for what no client of ours would write."""
    found = re.fullmatch(HOST, text.lower())
    if found is None or int(found[3] or 0) > PORT_MAX:
        return None
    if found[1] is not None and address_of(found[1]) is None:
        return None
    return Host(found[1] or found[2], int(found[3]) if found[3] else None)


def is_weak(secret: str) -> bool:
    """Would a patient program guess it?"""
    return len(secret) < SECRET_CHARS_MIN or len(set(secret)) < SIGNS_MIN


def demand_strong(key: str, secret: str, fix: str) -> None:
    if is_weak(secret):
        problem = (
            f"is easy to guess: it needs {SECRET_CHARS_MIN} characters or more, and not all alike"
        )
        raise Misconfigured(key, problem, fix)


def certified(section: str, tls: Tls | None) -> ssl.SSLContext | None:
    """What to serve with. Raises Misconfigured when nobody could be."""
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
            raise Misconfigured(f"{section}.{name}", "has an entry that is no text", _FIXES[name])
    return tuple(each.strip() for each in listed if each.strip())


def _host(section: str, text: str) -> Host:
    host = host_of(text)
    if host is None:
        raise Misconfigured(f"{section}.hosts", f"“{text[:40]}” is no host name", _FIXES["hosts"])
    return host


def _network(section: str, text: str) -> Network:
    key, fix = f"{section}.trusted_proxies", _FIXES["trusted_proxies"]
    try:
        network = ipaddress.ip_network(text)
    except ValueError as wrong:
        raise Misconfigured(key, f"“{text[:40]}” is no address or network", fix) from wrong
    if network.prefixlen == 0:
        raise Misconfigured(key, f"“{text}” is everybody", fix)
    return network


def _tls(section: str, raw: object) -> Tls | None:
    if raw is None or raw == {}:
        return None
    if not isinstance(raw, Mapping):
        raise Misconfigured(f"{section}.tls", "is not a section of keys and values", _FIXES["tls"])
    for name, value in raw.items():
        if name not in Tls.__struct_fields__:
            there = f"There are: {', '.join(Tls.__struct_fields__)}"
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
