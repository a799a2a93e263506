"""The operator's channels, and what a person may put into one: an address, never a URL.

Guards where messages go: whatever a person types, scheme, server, credentials and the other
parts of the operator's URL stay as the operator wrote them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlsplit

from placet.protocol.reading import InvalidJSON, JSONValue, read_json

PLACE: Final = "{address}"
EMAIL: Final = "email"
WEBPUSH: Final = "webpush"
ADDRESS_MAX_CHARS: Final = 200

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_ADDRESS = re.compile(rf"[A-Za-z0-9._+@#!:~-]{{1,{ADDRESS_MAX_CHARS}}}")
_DOTS = re.compile(r"\.*")
_MAIL = re.compile(
    r"[A-Za-z0-9+_-][A-Za-z0-9._+-]{0,63}@"
    r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,8}"
)


class BadChannels(ValueError):
    """The operator's channels cannot be meant; the message repeats no URL, which holds secrets."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to a person: `template` is an apprise URL with one `{address}`, None for e-mail."""

    name: str
    label: str
    template: str | None
    hint: str
    pattern: re.Pattern[str]

    def takes(self, address: str) -> bool:
        """Whether this is an address here: the operator's pattern, within what no URL minds."""
        if not _ADDRESS.fullmatch(address) or _DOTS.fullmatch(address):
            return False
        return self.pattern.fullmatch(address) is not None

    def url(self, address: str) -> str:
        """Give the URL to this address, quoted so that it is one value in its place."""
        assert self.template is not None and self.takes(address)
        return self.template.replace(PLACE, quote(address, safe=""))


EMAIL_CHANNEL: Final = Channel(EMAIL, "E-mail", None, "you@example.com", _MAIL)


def read_channels(text: str) -> dict[str, Channel]:
    """Give the channels of a JSON object by name; BadChannels says what is wrong where."""
    try:
        document = read_json(text.encode())
    except InvalidJSON as error:
        raise BadChannels(f"is not the JSON it has to be: {error.faults[0].message}") from None
    if not isinstance(document, dict):
        raise BadChannels("has to be a JSON object of channels by name.")
    return {name: _channel(name, members) for name, members in document.items()}


def _channel(name: str, members: JSONValue) -> Channel:
    if not _NAME.fullmatch(name) or name in (EMAIL, WEBPUSH):
        raise BadChannels(
            f"holds the channel {name!r}; a name is 1 to 31 of a-z, 0-9 and '-', begins with a"
            f" letter and is neither {EMAIL!r} nor {WEBPUSH!r}."
        )
    _known(name, members, {"url", "label", "address"})
    assert isinstance(members, dict)
    address = members.get("address", {})
    _known(f"{name}/address", address, {"hint", "pattern"})
    assert isinstance(address, dict)
    return Channel(
        name=name,
        label=_text(name, members, "label", default=name),
        template=_template(name, _text(name, members, "url")),
        hint=_text(f"{name}/address", address, "hint", default=""),
        pattern=_pattern(name, _text(f"{name}/address", address, "pattern", default=".+")),
    )


def _known(where: str, members: JSONValue, names: set[str]) -> None:
    if not isinstance(members, dict):
        raise BadChannels(f"has to have an object at {where!r}.")
    for name in sorted(members.keys() - names):
        raise BadChannels(f"has {name!r} at {where!r}, where nothing of this name is known.")


def _text(
    where: str, members: Mapping[str, JSONValue], name: str, *, default: str | None = None
) -> str:
    value = members.get(name, default)
    if not isinstance(value, str) or (default is None and not value):
        raise BadChannels(f"needs a text {name!r} at {where!r}.")
    return value


def _template(name: str, url: str) -> str:
    """An address may stand in the path or in the query, where it cannot name a server."""
    parts = urlsplit(url)
    if not parts.scheme or "://" not in url or not parts.netloc:
        raise BadChannels(f"has a 'url' of {name!r} without scheme:// or server.")
    if url.count(PLACE) != 1 or PLACE not in parts.path + parts.query:
        raise BadChannels(
            f"needs {PLACE} once in the 'url' of {name!r}, after the server's name and before any"
            " '#'."
        )
    return url


def _pattern(name: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.ASCII)
    except re.error:
        raise BadChannels(f"has a 'pattern' of {name!r} that is no regular expression.") from None
