"""The tree of RFC 6962: against the recursion as the RFC words it, and known roots."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.merkle import merkle_root


def by_the_rfc(leaves: list[bytes]) -> bytes:
    """MTH of section 2.1, word by word."""
    if not leaves:
        return sha256(b"").digest()
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0]).digest()
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return sha256(b"\x01" + by_the_rfc(leaves[:split]) + by_the_rfc(leaves[split:])).digest()


@given(st.lists(st.binary(max_size=8), max_size=40))
def test_the_root_is_that_of_the_rfc(leaves: list[bytes]) -> None:
    assert merkle_root(leaves) == by_the_rfc(leaves).hex()


@pytest.mark.parametrize(
    ("count", "root"),
    [
        (1, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"),
        (3, "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77"),
        (7, "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c"),
        (8, "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"),
    ],
)
def test_known_trees_have_their_published_roots(count: int, root: str) -> None:
    """Those that implementations of certificate transparency are tried with."""
    leaves = [
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    ]

    assert merkle_root([bytes.fromhex(leaf) for leaf in leaves[:count]]) == root


def test_a_leaf_is_no_node() -> None:
    left, right = (sha256(b"\x00" + leaf).digest() for leaf in (b"a", b"b"))

    assert merkle_root([b"a", b"b"]) != merkle_root([left + right])
