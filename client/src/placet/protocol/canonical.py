"""The one spelling of a JSON value that is digested, stored, shown and sent."""

import rfc8785

from placet.protocol.reading import JSONValue


class NotCanonical(ValueError):
    """A value that has no canonical form; the message says why and contains nothing of it."""


def canonical(value: JSONValue) -> str:
    """The RFC 8785 canonical form of a value.

    Raises NotCanonical for whatever has none: integers beyond ±(2^53 - 1), NaN and infinity,
    lone surrogates, names that are not text, values of other types, and values that contain
    themselves or nest too deeply.
    """
    try:
        return rfc8785.dumps(value).decode()
    except (ValueError, RecursionError) as error:
        raise NotCanonical(_why(error)) from None


def _why(error: ValueError | RecursionError) -> str:
    match error:
        case rfc8785.FloatDomainError():
            return "NaN and infinity are no JSON numbers"
        case RecursionError():
            return "the value contains itself or nests too deeply"
        case UnicodeEncodeError():
            return "a member name holds a lone surrogate"
        case rfc8785.CanonicalizationError() if not isinstance(error, rfc8785.IntegerDomainError):
            return str(error)
        case _:  # an IntegerDomainError, or Python's refusal to print so large a number
            return "an integer is beyond ±(2^53 - 1)"
