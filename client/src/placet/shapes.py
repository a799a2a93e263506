"""The one reading of JSON objects into frozen dataclasses: exact types, unknown members let by."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from placet.errors import UnexpectedAnswer

T = TypeVar("T")


def read_shape(shape: type[T], value: object, *, where: str = "") -> T:
    """The dataclass `shape` filled from a JSON object; raises UnexpectedAnswer.

    Members are `str`, `int`, `bool`, `datetime`, a StrEnum, `Any`, a mapping, another such
    dataclass, a tuple of one of them, or one of them or None. A member that is missing is an
    error; one that no field names is let by.
    """
    if not isinstance(value, Mapping):
        raise _unexpected(where, "an object")
    filled = {}
    for name, kind in _members(cast(Any, shape)).items():
        at = f"{where}.{name}" if where else name
        if name not in value:
            raise UnexpectedAnswer(f"The answer has no {at}.")
        filled[name] = _read(kind, value[name], at)
    return shape(**filled)


@cache
def _members(shape: type) -> dict[str, Any]:
    hints = get_type_hints(shape)
    return {field.name: hints[field.name] for field in fields(shape)}


def _read(kind: Any, value: Any, at: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        (kind,) = (each for each in inner if each is not NoneType)
        return None if value is None else _read(kind, value, at)
    if origin is tuple:
        items = _plain(list, value, at)
        return tuple(_read(inner[0], item, f"{at}.{n}") for n, item in enumerate(items))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _plain(dict, value, at)
    return value if kind is Any else _read_one(kind, value, at)


def _read_one(kind: type, value: Any, at: str) -> Any:
    if kind is datetime:
        return _instant(_plain(str, value, at), at)
    if issubclass(kind, StrEnum):
        return _member(kind, _plain(str, value, at), at)
    if kind in (str, int, bool):
        return _plain(kind, value, at)
    return read_shape(kind, value, where=at)


def _plain(kind: type[T], value: Any, at: str) -> T:
    if type(value) is not kind:  # a bool is an int to isinstance
        raise _unexpected(at, f"of the type {kind.__name__}")
    plain: T = value
    return plain


def _instant(text: str, at: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise _unexpected(at, "a time") from None
    if instant.tzinfo is None:
        raise _unexpected(at, "a time with its offset")
    return instant


def _member(kind: type[StrEnum], text: str, at: str) -> StrEnum:
    try:
        return kind(text)
    except ValueError:
        raise UnexpectedAnswer(
            f"The answer's {at} is {text!r}, which this version does not know."
        ) from None


def _unexpected(at: str, wanted: str) -> UnexpectedAnswer:
    return UnexpectedAnswer(f"The answer's {at or 'body'} is not {wanted}.")
