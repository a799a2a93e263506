"""URLs are read strictly: every spelling that two readers could take differently is refused."""

from ipaddress import ip_address

import pytest

from outward.destinations import Destination, Flaw, parse

REFUSED = [
    ("", Flaw.MALFORMED),
    ("hooks.example.com/x", Flaw.MALFORMED),
    ("//hooks.example.com/", Flaw.MALFORMED),
    (" https://hooks.example.com/", Flaw.MALFORMED),
    ("https://hooks.example.com/a b", Flaw.MALFORMED),
    ("https://hooks.example.com/\r\nHost: x", Flaw.MALFORMED),
    ("https://hooks.example.com/\n", Flaw.MALFORMED),
    ("https://hooks.example.com/ä", Flaw.MALFORMED),
    ("https:\\\\hooks.example.com\\", Flaw.MALFORMED),
    ("https://hooks.example.com\\@127.0.0.1/", Flaw.MALFORMED),
    ("https:/hooks.example.com/", Flaw.MALFORMED),
    ("https://hooks.example.com/" + "a" * 2_048, Flaw.MALFORMED),
    ("http://hooks.example.com/", Flaw.SCHEME),
    ("ftp://hooks.example.com/", Flaw.SCHEME),
    ("gopher://127.0.0.1:6379/_x", Flaw.SCHEME),
    ("file:///etc/passwd", Flaw.SCHEME),
    ("https+unix://x/", Flaw.SCHEME),
    ("https://me@hooks.example.com/", Flaw.USERINFO),
    ("https://me:secret@hooks.example.com/", Flaw.USERINFO),
    ("https://@127.0.0.1/", Flaw.USERINFO),
    ("https://hooks.example.com@127.0.0.1/", Flaw.USERINFO),
    ("https://hooks.example.com%40@127.0.0.1/", Flaw.USERINFO),
    ("https://hooks.example.com/#here", Flaw.FRAGMENT),
    ("https://", Flaw.HOST),
    ("https:///path", Flaw.HOST),
    ("https://:443/", Flaw.HOST),
    ("https://./", Flaw.HOST),
    ("https://a..example.com/", Flaw.HOST),
    ("https://hooks.example.com../", Flaw.HOST),
    ("https://-a.example.com/", Flaw.HOST),
    ("https://a b.example.com/", Flaw.HOST),
    ("https://a\x00.example.com/", Flaw.HOST),
    ("https://a\t.example.com/", Flaw.HOST),
    ("https://%31%32%37.0.0.1/", Flaw.HOST),
    ("https://hooks%2eexample.com/", Flaw.HOST),
    ("https://" + "a" * 64 + ".example.com/", Flaw.HOST),
    ("https://" + "a." * 127 + "example/", Flaw.HOST),
    ("https://2130706433/", Flaw.HOST),
    ("https://0x7f000001/", Flaw.HOST),
    ("https://0X7F.1/", Flaw.HOST),
    ("https://017700000001/", Flaw.HOST),
    ("https://0177.0.0.1/", Flaw.HOST),
    ("https://127.0.0.01/", Flaw.HOST),
    ("https://127.1/", Flaw.HOST),
    ("https://127.0.1/", Flaw.HOST),
    ("https://127.0.0.0x1/", Flaw.HOST),
    ("https://127.0.0.0x/", Flaw.HOST),
    ("https://0/", Flaw.HOST),
    ("https://256.0.0.1/", Flaw.HOST),
    ("https://1.2.3.4.5/", Flaw.HOST),
    ("https://::1/", Flaw.HOST),
    ("https://[::1/", Flaw.HOST),
    ("https://[]/", Flaw.HOST),
    ("https://[127.0.0.1]/", Flaw.HOST),
    ("https://[fe80::1%eth0]/", Flaw.HOST),
    ("https://[fe80::1%25eth0]/", Flaw.HOST),
    ("https://[::1]x/", Flaw.HOST),
    ("https://[v1.x]/", Flaw.HOST),
    ("https://\u202eexample.com/", Flaw.HOST),
    ("https://a\u2024b.example/", Flaw.HOST),
    ("https://\u2480.example/", Flaw.HOST),
    ("https://hooks.example.com:/", Flaw.HOST),
    ("https://hooks.example.com:x/", Flaw.HOST),
    ("https://hooks.example.com:-1/", Flaw.HOST),
    ("https://hooks.example.com:443:80/", Flaw.HOST),
    ("https://hooks.example.com:４４３/", Flaw.HOST),
    ("https://hooks.example.com:0/", Flaw.PORT),
    ("https://hooks.example.com:65536/", Flaw.PORT),
    ("https://hooks.example.com:99999/", Flaw.PORT),
]

ADDRESSES = [
    ("https://127.0.0.1/", "127.0.0.1"),
    ("https://127.0.0.1./", "127.0.0.1"),
    ("https://１２７.０.０.１/", "127.0.0.1"),
    ("https://127。0。0。1/", "127.0.0.1"),
    ("https://①②⑦.⓪.⓪.①/", "127.0.0.1"),
    ("https://[::1]/", "::1"),
    ("https://[0:0:0:0:0:0:0:1]/", "::1"),
    ("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"),
    ("https://[::FFFF:7F00:1]/", "::ffff:127.0.0.1"),
]


@pytest.mark.parametrize(("url", "flaw"), REFUSED)
def test_a_url_that_is_not_strictly_one_is_refused(url: str, flaw: Flaw) -> None:
    assert parse(url) is flaw


@pytest.mark.parametrize(("url", "address"), ADDRESSES)
def test_an_address_is_seen_as_one_however_it_is_written(url: str, address: str) -> None:
    read = parse(url)

    assert isinstance(read, Destination)
    assert read.address == ip_address(address)


@pytest.mark.parametrize(
    ("url", "expected", "authority"),
    [
        (
            "https://Hooks.Example.COM",
            Destination("https", "hooks.example.com", None, 443, "/"),
            "hooks.example.com",
        ),
        (
            "HTTPS://hooks.example.com.:8443/a/../b?c=%0a&d",
            Destination("https", "hooks.example.com", None, 8443, "/a/../b?c=%0a&d"),
            "hooks.example.com:8443",
        ),
        (
            "https://hooks.example.com?x",
            Destination("https", "hooks.example.com", None, 443, "/?x"),
            "hooks.example.com",
        ),
        (
            "https://bücher。example/",
            Destination("https", "xn--bcher-kva.example", None, 443, "/"),
            "xn--bcher-kva.example",
        ),
        (
            "https://a_b.example/",
            Destination("https", "a_b.example", None, 443, "/"),
            "a_b.example",
        ),
        (
            "https://[2606:4700::1111]:8443/",
            Destination("https", "2606:4700::1111", ip_address("2606:4700::1111"), 8443, "/"),
            "[2606:4700::1111]:8443",
        ),
    ],
)
def test_a_url_gives_its_parts(url: str, expected: Destination, authority: str) -> None:
    read = parse(url)

    assert read == expected
    assert expected.authority == authority


def test_http_is_taken_only_where_it_is_allowed() -> None:
    read = parse("http://hooks.example.com/", allow_http=True)

    assert read == Destination("http", "hooks.example.com", None, 80, "/")
    assert not read.is_secure
    assert parse("ftp://hooks.example.com/", allow_http=True) is Flaw.SCHEME
