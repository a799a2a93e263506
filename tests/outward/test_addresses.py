"""Which addresses are public: a table of those that are not, however they are spelled."""

from ipaddress import ip_address, ip_network

import pytest

from outward.addresses import is_public, may_reach

INTERNAL = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1
127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1
192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1 198.18.0.1
198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:a9fe:a9fe ::ffff:0:8.8.8.8
::ffff:0:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::8.8.8.8 100::1
2001::1 2001:0:808:808::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808::
2620:4f:8000::1 3ffe::1 3fff::1 3fff:fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254
fe80::1 fe80::a9fe:a9fe febf::1 fec0::1 feff::1 ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
"""

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1
168.63.129.15 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255
192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2000::1 2001:200::1 2001:4860:4860::8888
2003::1 2606:4700:4700::1111 2a00:1450:4001::1 3ffd:ffff::1 ::ffff:8.8.8.8
"""


@pytest.mark.parametrize("text", INTERNAL.split())
def test_an_address_outside_the_public_internet_is_not_reached(text: str) -> None:
    assert may_reach(ip_address(text)) is False


@pytest.mark.parametrize("text", PUBLIC.split())
def test_a_public_address_is_reached(text: str) -> None:
    assert may_reach(ip_address(text)) is True


def test_a_mapped_address_is_not_public_by_itself() -> None:
    assert is_public(ip_address("::ffff:8.8.8.8")) is False


def test_a_network_that_the_operator_allows_is_reached_in_either_spelling() -> None:
    allow = (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))

    reached = [
        text
        for text in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "10.2.0.1", "::10.1.2.3", "fe80::1")
        if may_reach(ip_address(text), allow)
    ]

    assert reached == ["10.1.2.3", "::ffff:10.1.2.3", "fd00::1"]


@pytest.mark.parametrize(
    ("network", "public", "internal"),
    [
        ("64:ff9b::/96", "64:ff9b::8.8.8.8", "64:ff9b::10.0.0.1"),
        ("2002::/16", "2002:808:808::1", "2002:a00:1::1"),
        ("2001::/32", "2001:0:1:2:3:4:f7f7:f7f7", "2001:0:1:2:3:4:f5ff:fffe"),
        ("::/96", "::8.8.8.8", "::10.0.0.1"),
        ("::ffff:0:0:0/96", "::ffff:0:8.8.8.8", "::ffff:0:10.0.0.1"),
    ],
)
def test_an_allowed_tunnel_leads_only_to_what_may_be_reached(
    network: str, public: str, internal: str
) -> None:
    allow = (ip_network(network),)

    assert may_reach(ip_address(public), allow) is True
    assert may_reach(ip_address(internal), allow) is False
    assert may_reach(ip_address(internal), (*allow, ip_network("10.0.0.0/8"))) is True
