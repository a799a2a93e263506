"""What a long poll asks and what a reader answers: the values between hub and API."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Headers = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """One request that would rather wait than hear what it knows.

    `object_id` comes from the path (or is the kind, for a route without an id) and is
    the id that wakes it. `after_seq` is how far its client has read. `query` holds the other
    parameters as sent, in order, unchecked.
    """

    token: str
    kind: str
    object_id: str
    after_seq: int | None = None
    query: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole HTTP answer; `is_final` False means "nothing new yet, keep waiting".

    The body is right in both cases: it is what is sent when the time is up. `onward` is what is
    left to wait for where that is less than before, or is woken by another id.
    """

    status: int
    body: bytes
    headers: Headers
    is_final: bool
    onward: Wait | None = None


class Reader(Protocol):
    """Reads what waiting requests ask, many at once; runs in the hub's own thread."""

    def answer(self, waits: Sequence[Wait]) -> Sequence[Answer]:
        """Authenticate, check permission, read and shape; answers in the order of `waits`."""

    def ripe(self, waits: Sequence[Wait]) -> Sequence[bool]:
        """Say in one cheap query which of these differ by now; in the order of `waits`.

        It only decides who is read next, so it needs no permission and may err either way.
        """


def _problem(status: int, title: str, detail: str, *headers: tuple[bytes, bytes]) -> Answer:
    body = f'{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}'
    return Answer(
        status=status,
        body=body.encode(),
        headers=((b"content-type", b"application/problem+json"), *headers),
        is_final=True,
    )


UNAVAILABLE = _problem(
    503,
    "Service Unavailable",
    "The state cannot be read just now. Nothing was changed; ask again.",
    (b"retry-after", b"2"),
)
FAILED = _problem(500, "Internal Server Error", "This could not be read. Nothing was changed.")
