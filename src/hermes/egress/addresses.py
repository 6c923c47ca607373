"""Classify IP addresses: public internet, private network, cloud metadata. Pure.

Python's `is_global` follows a registry of routes. It accepts addresses that embed another one
(6to4, NAT64, ISATAP) and a cloud's own servers behind public addresses, so the ranges are listed
here. Of IPv6 only the ranges allocated today are public: a new range is refused until it is listed.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _networks(ranges: Iterable[str]) -> tuple[Network, ...]:
    return tuple(ip_network(each) for each in ranges)


# This machine, a home or company network: where the owner's own servers are.
PRIVATE: Final = _networks(
    (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "100.64.0.0/10"),
        *("198.18.0.0/15", "fc00::/7", "::1/128"),
    )
)
# Cloud metadata services. An allowed name never opens them.
CLOUD: Final = _networks(
    (
        *("169.254.0.0/16", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32"),
        *("fe80::/10", "fd00:ec2::/32", "fd20:ce::/32"),
    )
)
_NO_WORLD: Final = _networks(
    (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.168.0.0/16", "192.0.0.0/24", "198.18.0.0/15"),
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),  # for documentation
        *("192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24"),  # anycast
        *("224.0.0.0/4", "240.0.0.0/4"),  # groups, reserved, broadcast
        "168.63.129.16/32",  # a cloud's own server, on a public number
        "2001::/23",  # Teredo, ORCHID, benchmarks and other protocols
        *("2001:db8::/32", "3fff::/20"),  # for documentation
        "2002::/16",  # 6to4
        *("2620:4f:8000::/48", "3ffe::/16"),  # anycast, and the first test of IPv6
    )
)
_HANDED_OUT: Final = IPv6Network("2000::/3")
_ISATAP: Final = frozenset({0x00005EFE, 0x02005EFE})  # before an IPv4 address, in the lower half
# Ranges of synthetic addresses that a resolver returns for public names (fake IP).
MADE_UP: Final = _networks(("198.18.0.0/15", "64:ff9b::/96"))
_NAT64: Final = IPv6Network("64:ff9b::/96")


def is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address.version == each.version and address in each for each in networks)


def is_of_the_world(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        isatap = (int(address) >> 32) & 0xFFFFFFFF in _ISATAP
        if address.scope_id is not None or address not in _HANDED_OUT or isatap:
            return False
    return not is_in(address, _NO_WORLD)


def carried(address: Address) -> Address:
    """Return the IPv4 address that is embedded in a NAT64 address, because packets go there; else
    the address itself."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
