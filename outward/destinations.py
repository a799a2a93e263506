"""Where a URL leads, read strictly: what two readers could understand differently is refused."""

import re
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import idna

from outward.addresses import Address

LONGEST_URL = 2_048
_PORTS = {"https": 443, "http": 80}

_URL = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<target>[!-~]*)", re.ASCII
)
_SPLIT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


class Flaw(StrEnum):
    """Why a URL is not taken."""

    MALFORMED = "malformed"
    SCHEME = "scheme"
    USERINFO = "userinfo"
    HOST = "host"
    PORT = "port"
    FRAGMENT = "fragment"


@dataclass(frozen=True, slots=True)
class Destination:
    """A host, a port and what to ask it for.

    `host` is a lower-case ASCII name (IDNA already applied, no dot at its end) or the usual
    spelling of an address; then `address` is that address. `target` is path and query.
    """

    scheme: str
    host: str
    address: Address | None
    port: int
    target: str

    @property
    def is_secure(self) -> bool:
        """Whether the connection is made with TLS."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """What the `Host` header says: host, and port where it is not the scheme's own."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str, *, allow_http: bool = False) -> Destination | Flaw:
    """Read a URL of at most 2,048 characters, or say the first thing that is wrong with it.

    Taken are https (http where allowed), a name or address as standards spell it, any port but
    0, a path and a query of visible ASCII. Refused are user names, fragments, backslashes, white
    space, percent-encoded hosts, zones, and numbers that only some readers take for an address.
    """
    match = _URL.fullmatch(url) if len(url) <= LONGEST_URL else None
    if match is None or "\\" in url:
        return Flaw.MALFORMED
    scheme, authority, target = match["scheme"].lower(), match["authority"], match["target"]
    if scheme != "https" and not (allow_http and scheme == "http"):
        return Flaw.SCHEME
    if "#" in target:
        return Flaw.FRAGMENT
    place = _place(authority, _PORTS[scheme])
    if isinstance(place, Flaw):
        return place
    host, port = place
    address = None if isinstance(host, str) else host
    return Destination(scheme, str(host), address, port, _rooted(target))


def _place(authority: str, default_port: int) -> tuple[Address | str, int] | Flaw:
    if "@" in authority:
        return Flaw.USERINFO
    split = _SPLIT.fullmatch(authority)
    host = (_literal(split["host"]) or _name(split["host"])) if split else None
    if split is None or host is None:
        return Flaw.HOST
    port = int(split["port"] or default_port)
    return (host, port) if 0 < port < 65_536 else Flaw.PORT


def _literal(host: str) -> Address | None:
    try:
        if host.startswith("["):
            return IPv6Address(host.strip("[]"))
        return IPv4Address(host)
    except AddressValueError:
        return None


def _name(host: str) -> Address | str | None:
    """Give the name in ASCII; an address where its other characters spelled one."""
    try:
        name = host if host.isascii() else idna.encode(host, uts46=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return _literal(name) if _NUMBER.fullmatch(labels[-1]) else name


def _rooted(target: str) -> str:
    return target if target.startswith("/") else f"/{target}"
