"""Typed readers of the environment: a wrong value stops the start with its name and why.

Every name can also be given as `NAME_FILE`, the path of a file that holds the value, which
is how secrets are mounted. An empty variable counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{0,6})([smhd])", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


class ConfigError(Exception):
    """The environment holds something that cannot be meant; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` within `period_s` seconds."""

    count: int
    period_s: int


@dataclass(frozen=True, slots=True)
class Env:
    """The environment, read by name and type; each reader raises ConfigError."""

    values: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        """Give the value of `name` without surrounding white space."""
        return (self._raw(name) or default).strip()

    def secret(self, name: str, *, min_length: int = 1) -> str | None:
        """Give the secret `name` or None; no message ever repeats its value."""
        value = self._raw(name)
        if value is not None and len(value) < min_length:
            raise ConfigError(f"{name} is too short: at least {min_length} characters are needed.")
        return value

    def integer(self, name: str, default: int, *, low: int, high: int) -> int:
        """Give the decimal integer `name`, from `low` to `high`."""
        value = self._raw(name)
        if value is None:
            return default
        if not _INTEGER.fullmatch(value.strip()) or not low <= int(value) <= high:
            raise ConfigError(f"{name} is {value!r}, not an integer from {low} to {high}.")
        return int(value)

    def boolean(self, name: str, default: bool) -> bool:
        """Give true for 1, true, yes, on and false for 0, false, no, off, in any case."""
        value = self._raw(name)
        if value is None:
            return default
        word = value.strip().lower()
        if word not in _TRUE | _FALSE:
            raise ConfigError(f"{name} is {value!r}, neither true nor false.")
        return word in _TRUE

    def items(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Give the comma-separated items of `name`; empty items are left out."""
        value = self._raw(name)
        if value is None:
            return default
        return tuple(item.strip() for item in value.split(",") if item.strip())

    def rate(self, name: str, default: str) -> Rate | None:
        """Give a rate such as `600/m` or `5/10m` (units s, m, h, d); None for `0`, no limit."""
        value = self.text(name, default)
        match = _RATE.fullmatch(value)
        if value == "0" or (match and int(match[1]) == 0):
            return None
        period_s = int(match[2] or 1) * _SECONDS[match[3]] if match else 0
        if match is None or period_s == 0:
            raise ConfigError(f"{name} is {value!r}, not a rate such as 600/m, or 0 for none.")
        return Rate(int(match[1]), period_s)

    def networks(self, name: str) -> tuple[IPv4Network | IPv6Network, ...]:
        """Give the comma-separated networks of `name`, in CIDR, host bits zero."""
        return tuple(_network(name, item) for item in self.items(name))

    def path(self, name: str) -> Path | None:
        """Give the absolute path `name` or None."""
        value = self._raw(name)
        if value is None:
            return None
        if not Path(value).is_absolute():
            raise ConfigError(f"{name} is {value!r}, not an absolute path.")
        return Path(value)

    def _raw(self, name: str) -> str | None:
        """Give the value of `name` or of the file `NAME_FILE`, its last line end removed."""
        value, file = self.values.get(name), self.values.get(f"{name}_FILE")
        if value and file:
            raise ConfigError(f"{name} and {name}_FILE are both set; give one of them.")
        if file:
            value = _content(name, file)
        return value or None


def _content(name: str, file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").removesuffix("\n")
    except OSError as error:
        raise ConfigError(
            f"{name}_FILE is {file!r}, which cannot be read: {error.strerror}."
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{name}_FILE is {file!r}, which is not UTF-8 text.") from None


def _network(name: str, item: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(item)
    except ValueError:
        raise ConfigError(f"{name} holds {item!r}, not a network such as 10.0.0.0/8.") from None
