"""The one reading of `wait_s` and `after_seq`, for the hub's route and for Django."""

import re

LONGEST_WAIT_S = 55
_DIGITS = re.compile(r"[0-9]+")
_DIGITS_READ = 3
_LONGEST_SEQ = 15  # digits; always a whole number of JSON (RFC 8785, 2^53 - 1)


def read_wait_s(text: str) -> int | None:
    """Give the seconds to wait (larger counts as 55), or None: not a wait at all."""
    if not _DIGITS.fullmatch(text):
        return None
    digits = text.lstrip("0")[:_DIGITS_READ]  # int() of endless digits is slow, then fails
    return min(int(digits or "0"), LONGEST_WAIT_S)


def read_after_seq(text: str) -> int | None:
    """Give a sequence number, or None: not one."""
    return int(text) if _DIGITS.fullmatch(text) and len(text) <= _LONGEST_SEQ else None
