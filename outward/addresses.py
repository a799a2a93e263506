"""Whether an address lies in the public internet: a closed list, pure.

Guards that nobody outside can make this server speak to its own network. `is_global` of
`ipaddress` is not asked: it takes several ranges below for public, and its answer changes
between patch releases of Python.
"""

from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
)

Address = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

NOT_PUBLIC_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers; metadata of some clouds
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # public by its number, answered by the host of a cloud
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112, answered by whoever is near
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved; broadcast
    )
)

PUBLIC_V6 = IPv6Network("2000::/3")
"""The only part of IPv6 that is given out as global unicast.

Outside of it lie loopback, `::/96`, `::ffff:0:0/96`, NAT64 (`64:ff9b::/96`,
`64:ff9b:1::/48`), discard-only, `5f00::/16`, unique local, link-local, site-local
(`fec0::/10`) and multicast.
"""

NOT_PUBLIC_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
)

_COMPATIBLE = IPv6Network("::/96")
_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_LAST_32_BITS = (_COMPATIBLE, _TRANSLATED, _NAT64)


def may_reach(address: Address, allow: Networks = ()) -> bool:
    """Tell whether to connect to `address`: public, or in a network that the operator allows.

    An IPv4-mapped address is judged as the IPv4 address that the system would connect to. One
    that carries an IPv4 address otherwise (compatible, translated, NAT64, 6to4, Teredo) is never
    public; where the operator allows its network, what it carries must be allowed or public too.
    """
    seen = _unmapped(address)
    if not (is_public(seen) or _in_any(seen, allow)):
        return False
    carried = _carried(seen)
    return carried is None or is_public(carried) or _in_any(carried, allow)


def is_public(address: Address) -> bool:
    """Tell whether the internet at large would take this address for one host of its own."""
    if isinstance(address, IPv4Address):
        return not _in_any(address, NOT_PUBLIC_V4)
    return address in PUBLIC_V6 and not _in_any(address, NOT_PUBLIC_V6)


def _unmapped(address: Address) -> Address:
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _carried(address: Address) -> IPv4Address | None:
    """Give the IPv4 address that a tunnel or translator would send on to, if there is one."""
    if isinstance(address, IPv4Address):
        return None
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if _in_any(address, _LAST_32_BITS) and int(address) > 1:  # :: and ::1 are no IPv4 addresses
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _in_any(address: Address, networks: Networks) -> bool:
    return any(address in network for network in networks)
