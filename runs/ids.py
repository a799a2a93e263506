"""Ids that sort by the time they were made: a prefix, 48 bits of milliseconds, 80 random bits."""

import re
import secrets
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case


ID = re.compile(r"[a-z]{3}_[0-9a-z]{26}")


def is_id(text: str) -> bool:
    """Whether this has the form of an id; nothing else is ever looked up."""
    return ID.fullmatch(text) is not None


def new_id(prefix: str) -> str:
    """A fresh opaque id such as `run_01k6…`, 26 characters after the prefix."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    digits = [ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5)]
    return f"{prefix}_{''.join(digits)}"
