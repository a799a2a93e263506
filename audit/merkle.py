"""The Merkle Tree Hash of RFC 6962, section 2.1: one value for many, in their order."""

from collections.abc import Sequence
from hashlib import sha256


def merkle_root(leaves: Sequence[bytes]) -> str:
    """Give the root over these leaves, in lower-case hex; leaves and nodes cannot be confused.

    Pairing each level and carrying an odd last node up gives the tree of the RFC, which splits
    at the largest power of two.
    """
    level = [sha256(b"\x00" + leaf).digest() for leaf in leaves]
    if not level:
        return sha256(b"").hexdigest()
    while len(level) > 1:
        pairs = [level[place : place + 2] for place in range(0, len(level), 2)]
        level = [
            sha256(b"\x01" + b"".join(pair)).digest() if len(pair) == 2 else pair[0]
            for pair in pairs
        ]
    return level[0].hex()
