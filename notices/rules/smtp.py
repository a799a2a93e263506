"""The operator's mail server, written as one URL."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

_FORM: Final = "smtp://user:password@host:port?tls=starttls&from=placet@example.com"


class Tls(StrEnum):
    """How the connection is protected."""

    STARTTLS = "starttls"
    SSL = "ssl"
    NONE = "none"


PORTS: Final = {Tls.STARTTLS: 587, Tls.SSL: 465, Tls.NONE: 25}


class BadSmtp(ValueError):
    """The mail server's URL cannot be meant; the message repeats no part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Smtp:
    """A mail server, and the address that messages come from."""

    host: str
    port: int
    user: str
    password: str
    tls: Tls
    sender: str


def read_smtp(url: str) -> Smtp:
    """Give the mail server of an `smtp://` URL; TLS by STARTTLS unless it says otherwise."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadSmtp(f"is not of the form {_FORM}.") from None
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.scheme != "smtp" or not parts.hostname or parts.path.strip("/") or parts.fragment:
        raise BadSmtp(f"is not of the form {_FORM}.")
    if given.keys() - {"tls", "from"}:
        raise BadSmtp("knows nothing but tls and from after the '?'.")
    tls = given.get("tls", Tls.STARTTLS.value)
    if tls not in list(Tls):
        raise BadSmtp("has a tls that is none of starttls, ssl, none.")
    sender = given.get("from", "")
    if "@" not in sender or any(char in sender for char in "\r\n,"):
        raise BadSmtp("needs from=, the address that messages come from.")
    return Smtp(
        host=parts.hostname,
        port=port or PORTS[Tls(tls)],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=Tls(tls),
        sender=sender,
    )
