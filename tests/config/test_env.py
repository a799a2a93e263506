"""The environment is read by type, and a wrong value is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from config.env import ConfigError, Env, Rate


def test_an_absent_or_empty_variable_gives_the_default() -> None:
    env = Env({"EMPTY": "", "EMPTY_FILE": ""})

    for name in ("EMPTY", "ABSENT"):
        assert env.text(name, "x") == "x"
        assert env.secret(name) is None
        assert env.integer(name, 7, low=0, high=9) == 7
        assert env.boolean(name, True) is True
        assert env.items(name, ("a",)) == ("a",)
        assert env.rate(name, "5/s") == Rate(5, 1)
        assert env.networks(name) == ()
        assert env.path(name) is None


def test_values_are_given_by_their_type() -> None:
    env = Env(
        {
            "TEXT": " words of it ",
            "INTEGER": "42",
            "YES": "True",
            "NO": "off",
            "ITEMS": "a, b,,c ",
            "NETWORKS": "10.0.0.0/8, fd00::/8",
            "PATH_": "/srv/placet",
            "SECRET": " kept as it is ",
        }
    )

    assert env.text("TEXT") == "words of it"
    assert env.integer("INTEGER", 0, low=42, high=42) == 42
    assert env.boolean("YES", False) is True
    assert env.boolean("NO", True) is False
    assert env.items("ITEMS") == ("a", "b", "c")
    assert env.networks("NETWORKS") == (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    assert env.path("PATH_") == Path("/srv/placet")
    assert env.secret("SECRET") == " kept as it is "


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("600/m", Rate(600, 60)),
        ("5/10m", Rate(5, 600)),
        ("1/s", Rate(1, 1)),
        ("100/2h", Rate(100, 7200)),
        ("9/d", Rate(9, 86_400)),
        ("0", None),
        ("0/m", None),
    ],
)
def test_a_rate_is_a_count_and_a_period_and_zero_is_none(text: str, rate: Rate | None) -> None:
    assert Env({"RATE": text}).rate("RATE", "1/s") == rate


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("many", lambda env: env.integer("NAME", 0, low=0, high=9)),
        ("10", lambda env: env.integer("NAME", 0, low=0, high=9)),
        ("-1", lambda env: env.integer("NAME", 0, low=0, high=9)),
        ("٣", lambda env: env.integer("NAME", 0, low=0, high=9)),
        ("1.0", lambda env: env.integer("NAME", 0, low=0, high=9)),
        ("perhaps", lambda env: env.boolean("NAME", False)),
        ("600", lambda env: env.rate("NAME", "1/s")),
        ("600/w", lambda env: env.rate("NAME", "1/s")),
        ("5/0m", lambda env: env.rate("NAME", "1/s")),
        ("-5/m", lambda env: env.rate("NAME", "1/s")),
        ("10.0.0.1/8", lambda env: env.networks("NAME")),
        ("localhost", lambda env: env.networks("NAME")),
        ("placet/data", lambda env: env.path("NAME")),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_itself(
    value: str, read: Callable[[Env], Any]
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(Env({"NAME": value}))

    assert str(refused.value).startswith("NAME ")
    assert repr(value) in str(refused.value)


def test_a_short_secret_is_refused_without_being_repeated() -> None:
    with pytest.raises(ConfigError) as refused:
        Env({"KEY": "hunter2"}).secret("KEY", min_length=32)

    assert str(refused.value) == "KEY is too short: at least 32 characters are needed."


def test_every_reader_takes_a_file_and_loses_one_line_end(tmp_path: Path) -> None:
    secret, number = tmp_path / "secret", tmp_path / "number"
    secret.write_bytes(b"two\nlines\n\n")
    number.write_bytes(b"8\r\n")
    env = Env({"SECRET_FILE": str(secret), "NUMBER_FILE": str(number)})

    assert env.secret("SECRET") == "two\nlines\n"
    assert env.integer("NUMBER", 0, low=0, high=9) == 8


def test_a_value_beside_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="KEY and KEY_FILE are both set"):
        Env({"KEY": "a", "KEY_FILE": str(tmp_path / "key")}).secret("KEY")


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")

    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        Env({"KEY_FILE": str(tmp_path / "absent")}).secret("KEY")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        Env({"KEY_FILE": str(binary)}).secret("KEY")
