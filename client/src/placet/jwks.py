"""The public keys by which grants are checked: given, or fetched and kept for a while."""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from placet.errors import InvalidGrant, KeysUnavailable

FRESH_S = 60.0
"""How long a fetched set is used; so long a key that was rotated out is still taken."""

AGAIN_S = 5.0
"""How often unknown key ids, which anybody can send, make a set be fetched before its time."""

TIMEOUT_S = 5.0
MOST_BYTES = 64 * 1024

KeySet = Mapping[str, Any]


def find_key(jwks: KeySet | str, kid: str) -> Mapping[str, Any]:
    """The Ed25519 key of this id; raises InvalidGrant where there is none.

    `jwks` is a JWK Set, or the https address of one, as `<server>/.well-known/jwks.json`. Raises
    KeysUnavailable where it cannot be fetched.
    """
    if not isinstance(jwks, str):
        return _find(jwks, kid)
    try:
        return _find(_FETCHED.get(jwks), kid)
    except InvalidGrant:  # signed with a key that is newer than the set, perhaps
        return _find(_FETCHED.get(jwks, is_too_old=True), kid)


def _find(jwks: KeySet, kid: str) -> Mapping[str, Any]:
    keys = jwks.get("keys")
    found = [
        key
        for key in (keys if isinstance(keys, list | tuple) else [])
        if isinstance(key, Mapping) and key.get("kid") == kid
    ]
    if len(found) != 1 or (found[0].get("kty"), found[0].get("crv")) != ("OKP", "Ed25519"):
        raise InvalidGrant("The grant is signed with a key that the server does not publish.")
    return found[0]


class Fetched:
    """Key sets by their address; of many threads that need one, one fetches it."""

    def __init__(
        self, fetch: Callable[[str], KeySet], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, KeySet]] = {}
        self._early: dict[str, float] = {}

    def get(self, url: str, *, is_too_old: bool = False) -> KeySet:
        """The set; fetched anew where it `is_too_old`, but not often. Raises KeysUnavailable."""
        with self._lock:
            now = self._clock()
            at, keys = self._kept.get(url, (-math.inf, {}))
            is_early = is_too_old and now - self._early.get(url, -math.inf) >= AGAIN_S
            if is_early:
                self._early[url] = now
            if is_early or now - at >= FRESH_S:
                keys = self._fetch(url)
                self._kept[url] = (now, keys)
            return keys


def _fetch(url: str) -> KeySet:
    import httpx

    try:
        with (
            httpx.Client(timeout=TIMEOUT_S, follow_redirects=False) as http,
            http.stream("GET", url) as answer,
        ):
            answer.raise_for_status()
            raw = b""
            for part in answer.iter_bytes():
                raw += part
                if len(raw) > MOST_BYTES:
                    raise KeysUnavailable(f"The keys at {url} are too large.")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise KeysUnavailable(f"The keys at {url} could not be fetched: {error!r}") from error
    return _read(raw, url)


def _read(raw: bytes, url: str) -> KeySet:
    try:
        value = json.loads(raw)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("keys"), list):
        raise KeysUnavailable(f"What is at {url} is no JWK Set.")
    return value


_FETCHED = Fetched(_fetch)
