"""What is sent to a URL that somebody else chose reaches only the address that was judged."""

import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from outward.addresses import Address
from outward.destinations import Destination
from outward.resolving import system_addresses
from outward.sender import Found, Reason, Sent, Unsent, find, post
from tests.outward.receiver import OK, Authority, Receiver, says

LOOPBACK = (ip_network("127.0.0.1/32"),)
HEADERS = {"Content-Type": "application/json", "webhook-id": "evt_1"}


class Names:
    """A resolver that says what it is told, answer after answer, and counts how often."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = [[ip_address(each) for each in answer] for answer in answers]
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append((host, port))
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def to_loopback(host: str, port: int) -> list[Address]:
    return [ip_address("127.0.0.1")]


def plain(receiver: Receiver, **changed: Any) -> Sent | Unsent:
    """Post over http to a receiver, under a name that leads to loopback, which is allowed."""
    how: dict[str, Any] = {
        "timeout_s": 5,
        "allow": LOOPBACK,
        "allow_http": True,
        "resolve": to_loopback,
    }
    url = f"http://hooks.example.com:{receiver.port}/in?a=1"
    return post(url, b'{"type":"test"}', HEADERS, **how | changed)


def status_and_body(outcome: Sent | Unsent) -> tuple[int, bytes]:
    assert isinstance(outcome, Sent), outcome
    return outcome.status, outcome.body_start


def test_the_bytes_given_are_the_bytes_sent() -> None:
    with Receiver(says(OK)) as receiver:
        outcome = plain(receiver)

    head, _, body = receiver.requests[0].partition(b"\r\n\r\n")
    assert status_and_body(outcome) == (200, b"done")
    assert isinstance(outcome, Sent)
    assert outcome.is_taken
    assert 0 < outcome.took_s < 5
    assert body == b'{"type":"test"}'
    assert head.split(b"\r\n") == [
        b"POST /in?a=1 HTTP/1.1",
        b"Host: hooks.example.com:%d" % receiver.port,
        b"User-Agent: Placet",
        b"Accept-Encoding: identity",
        b"Connection: close",
        b"Content-Length: 15",
        b"Content-Type: application/json",
        b"webhook-id: evt_1",
    ]


def test_a_long_body_arrives_whole() -> None:
    long = bytes(range(256)) * 4_096
    with Receiver(says(OK)) as receiver:
        outcome = post(
            f"http://127.0.0.1:{receiver.port}/",
            long,
            {},
            timeout_s=5,
            allow=LOOPBACK,
            allow_http=True,
        )

    assert status_and_body(outcome) == (200, b"done")
    assert receiver.requests[0].partition(b"\r\n\r\n")[2] == long


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://127。0。0。1/",
        "https://hooks.example.com@127.0.0.1/",
        "http://hooks.example.com/",
    ],
)
def test_a_url_that_leads_inside_is_blocked_without_a_look(url: str) -> None:
    names = Names(["8.8.8.8"])

    outcome = post(url, b"", {}, timeout_s=5, resolve=names)

    assert outcome == Unsent(Reason.BLOCKED)
    assert names.asked == []


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST.", "localhost.localdomain"])
def test_a_name_of_this_host_is_blocked_by_what_the_system_answers(name: str) -> None:
    def by_file(host: str, port: int) -> list[Address]:
        return system_addresses("localhost", port)

    outcome = post(f"https://{name}/", b"", {}, timeout_s=5, resolve=by_file)

    assert outcome == Unsent(Reason.BLOCKED)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"], ["127.0.0.1", "::ffff:10.0.0.1"]],
)
def test_one_bad_address_of_a_name_blocks_all_of_it(addresses: list[str]) -> None:
    with Receiver(says(OK)) as receiver:
        outcome = plain(receiver, resolve=Names(addresses))

    assert outcome == Unsent(Reason.BLOCKED)
    assert receiver.connections == 0


def test_a_name_that_changes_its_mind_is_asked_once_and_reached_where_it_was_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("looked up again")

    names = Names(["127.0.0.1"], ["127.0.0.2"])
    with Receiver(says(OK)) as judged, Receiver(says(OK), host="127.0.0.2") as other:
        monkeypatch.setattr(socket, "getaddrinfo", never)
        outcome = plain(judged, resolve=names)

    assert status_and_body(outcome) == (200, b"done")
    assert names.asked == [("hooks.example.com", judged.port)]
    assert (judged.connections, other.connections) == (1, 0)


def test_the_next_address_is_tried_when_one_refuses() -> None:
    with Receiver(says(OK), host="127.0.0.2") as receiver:
        outcome = plain(
            receiver,
            resolve=Names(["127.0.0.1", "127.0.0.2"]),
            allow=(ip_network("127.0.0.0/8"),),
        )

    assert status_and_body(outcome) == (200, b"done")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_an_answer_and_is_not_followed(status: int) -> None:
    with Receiver(says(OK)) as inside:
        moved = b"HTTP/1.1 %d Moved\r\nLocation: http://127.0.0.1:%d/\r\n" % (status, inside.port)
        with Receiver(says(moved + b"Content-Length: 0\r\n\r\n")) as receiver:
            outcome = plain(receiver)

    assert status_and_body(outcome) == (status, b"")
    assert (receiver.connections, inside.connections) == (1, 0)


def test_no_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver(says(OK)) as receiver, Receiver(says(OK)) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        outcome = plain(receiver)

    assert status_and_body(outcome) == (200, b"done")
    assert (receiver.connections, proxy.connections) == (1, 0)


def test_each_request_has_a_connection_of_its_own() -> None:
    keeps = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"
    with Receiver(says(keeps)) as receiver:
        for name in ("a", "a", "b"):
            url = f"http://{name}.example.com:{receiver.port}/"
            post(
                url,
                b"",
                {},
                timeout_s=5,
                allow=LOOPBACK,
                allow_http=True,
                resolve=to_loopback,
            )

    assert receiver.connections == 3
    assert [
        f"Host: {name}.example.com".encode() in request
        for name, request in zip("aab", receiver.requests, strict=True)
    ] == [True, True, True]


def test_many_threads_send_at_once() -> None:
    with Receiver(says(OK)) as receiver, ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: plain(receiver), range(40)))

    assert [status_and_body(outcome) for outcome in outcomes] == [(200, b"done")] * 40


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "User-Agent"])
def test_headers_that_frame_the_request_are_not_the_callers_to_set(name: str) -> None:
    with pytest.raises(ValueError, match="not the caller's to set"):
        post("https://hooks.example.com/", b"", {name: "x"}, timeout_s=5, resolve=to_loopback)


def test_a_header_cannot_begin_another_one() -> None:
    with Receiver(says(OK)) as receiver, pytest.raises(ValueError, match="Invalid header value"):
        post(
            f"http://127.0.0.1:{receiver.port}/",
            b"",
            {"X-A": "1\r\nX-B: 2"},
            timeout_s=5,
            allow=LOOPBACK,
            allow_http=True,
        )


# Answers without a bound of their own


def dripping(start: bytes, drop: bytes, stop: threading.Event) -> Any:
    def behave(line: socket.socket) -> None:
        line.sendall(start)
        while not stop.wait(0.02):
            line.sendall(drop)

    return behave


@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: "], ids=["none", "head", "line"]
)
def test_a_head_that_drips_is_over_in_time(start: bytes) -> None:
    stop = threading.Event()
    began = time.monotonic()
    with Receiver(dripping(start, b"a", stop)) as receiver:
        outcome = plain(receiver, timeout_s=0.3)
        stop.set()

    assert outcome == Unsent(Reason.TIMED_OUT)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("start", "drop", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", b"a", b"a"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"a", b"a"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n", b"1\r\nb\r\n", b"b"),
    ],
    ids=["sized", "unsized", "chunked"],
)
def test_of_a_body_that_drips_there_is_what_came_in_time(
    start: bytes, drop: bytes, body: bytes
) -> None:
    stop = threading.Event()
    with Receiver(dripping(start, drop, stop)) as receiver:
        outcome = plain(receiver, timeout_s=0.3)
        stop.set()

    status, told = status_and_body(outcome)
    assert status == 200
    assert 0 < len(told) < 100
    assert set(told) == set(body)
    assert isinstance(outcome, Sent)
    assert outcome.took_s < 2


def test_a_receiver_that_never_answers_is_over_in_time() -> None:
    stop = threading.Event()

    def waits(line: socket.socket) -> None:
        stop.wait(5)

    with Receiver(waits) as receiver:
        outcome = plain(receiver, timeout_s=0.2)
        stop.set()

    assert outcome == Unsent(Reason.TIMED_OUT)


def test_a_receiver_that_does_not_read_is_over_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        began = time.monotonic()
        outcome = post(
            f"http://127.0.0.1:{deaf.getsockname()[1]}/",
            bytes(64_000_000),
            {},
            timeout_s=0.3,
            allow=LOOPBACK,
            allow_http=True,
        )

    assert outcome == Unsent(Reason.TIMED_OUT)
    assert time.monotonic() - began < 2


def test_a_resolver_that_hangs_is_over_in_time() -> None:
    stop = threading.Event()

    def hangs(host: str, port: int) -> list[Address]:
        stop.wait(5)
        return []

    outcome = post("https://hooks.example.com/", b"", {}, timeout_s=0.1, resolve=hangs)
    stop.set()

    assert outcome == Unsent(Reason.TIMED_OUT)


@pytest.mark.parametrize(
    "head",
    [
        b"X-Long: " + b"a" * 70_000 + b"\r\n",
        b"".join(b"X-%d: a\r\n" % n for n in range(200)),
        b"".join(b"X-%d: %s\r\n" % (n, b"a" * 1_000) for n in range(90)),
    ],
    ids=["one long", "many", "long in all"],
)
def test_a_huge_head_is_no_answer(head: bytes) -> None:
    with Receiver(says(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n")) as receiver:
        assert plain(receiver) == Unsent(Reason.BAD_ANSWER)


def test_endless_interim_answers_are_no_answer() -> None:
    with Receiver(says(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000 + OK)) as receiver:
        assert plain(receiver) == Unsent(Reason.BAD_ANSWER)


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 9000000\r\n\r\n" + b"a" * 900_000,
        b"\r\n" + b"a" * 900_000,
        b"Transfer-Encoding: chunked\r\n\r\n" + b"1000\r\n" + b"a" * 4_096 + b"\r\n" * 900,
        b"Content-Encoding: gzip\r\n\r\n" + b"a" * 900_000,
    ],
    ids=["sized", "unsized", "chunked", "encoded"],
)
def test_of_a_huge_body_there_is_only_the_start_and_nothing_is_decoded(body: bytes) -> None:
    with Receiver(says(b"HTTP/1.1 200 OK\r\n" + body)) as receiver:
        outcome = plain(receiver, max_answer_bytes=3_000)

    assert status_and_body(outcome) == (200, b"a" * 3_000)


def test_at_most_64_kib_are_read_of_an_answer() -> None:
    with Receiver(says(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 900_000)) as receiver:
        outcome = plain(receiver)

    assert status_and_body(outcome) == (200, b"a" * 65_536)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x15\x03\x01\x00\x02\x02",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 99 x\r\n\r\n",
        b"+OK\r\n",
    ],
)
def test_what_is_not_http_is_no_answer(answer: bytes) -> None:
    with Receiver(says(answer)) as receiver:
        assert plain(receiver) == Unsent(Reason.BAD_ANSWER)


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 500 X\r\nContent-Length: 99\r\n\r\nbroken", b"broken"),
        (b"HTTP/1.1 500 X\r\nContent-Length: none\r\n\r\nbroken", b"broken"),
        (b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nbroken\r\nzz", b"broken"),
        (b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nbroken", b"broken"),
        (b"HTTP/1.1 204 X\r\n\r\nignored", b""),
        (b"HTTP/1.0 410 Gone\n\n", b""),
    ],
)
def test_a_body_that_breaks_off_takes_nothing_from_the_status(answer: bytes, body: bytes) -> None:
    with Receiver(says(answer)) as receiver:
        outcome = plain(receiver)

    assert status_and_body(outcome) == (int(answer[9:12]), body)


def test_an_early_answer_is_read_although_the_body_was_not_wanted() -> None:
    answer = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def early(listener: socket.socket) -> None:
        line, _ = listener.accept()
        with line:
            line.recv(1_000)
            line.sendall(answer)
            line.shutdown(socket.SHUT_WR)
            while line.recv(1_000_000):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=partial(early, listener))
        serving.start()
        outcome = post(
            f"http://127.0.0.1:{listener.getsockname()[1]}/",
            bytes(4_000_000),
            {},
            timeout_s=5,
            allow=LOOPBACK,
            allow_http=True,
        )
        serving.join(10)

    assert status_and_body(outcome) == (413, b"")


def test_a_closed_port_and_an_unknown_name_are_refused() -> None:
    def unknown(host: str, port: int) -> list[Address]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    closed = f"https://127.0.0.1:{port}/"

    assert post(closed, b"", {}, timeout_s=5, allow=LOOPBACK) == Unsent(Reason.REFUSED)
    for resolve in (unknown, Names([])):
        outcome = post("https://nobody.example/", b"", {}, timeout_s=5, resolve=resolve)
        assert outcome == Unsent(Reason.REFUSED)


def test_blocked_refused_and_timed_out_are_told_alike() -> None:
    alike = {reason for reason in Reason if reason.is_unreachable}

    assert alike == {Reason.BLOCKED, Reason.REFUSED, Reason.TIMED_OUT}


def test_a_url_can_be_judged_without_a_connection() -> None:
    names = Names(["2606:4700::1111", "1.1.1.1", "1.1.1.1"], ["10.0.0.1"])

    found, blocked = (
        find("https://hooks.example.com/in", timeout_s=5, resolve=names) for _ in range(2)
    )

    assert found == Found(
        Destination("https", "hooks.example.com", None, 443, "/in"),
        (ip_address("2606:4700::1111"), ip_address("1.1.1.1")),
    )
    assert blocked == Unsent(Reason.BLOCKED)


# TLS


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority.made(tmp_path)


def secure(receiver: Receiver, host: str, authority: Authority) -> Sent | Unsent:
    return post(
        f"https://{host}:{receiver.port}/",
        b"{}",
        {},
        timeout_s=5,
        allow=LOOPBACK,
        resolve=to_loopback,
        tls=authority.trusted(),
    )


def test_a_certificate_for_the_name_is_accepted(authority: Authority) -> None:
    context = authority.serving("x", "hooks.example.com", "127.0.0.1")
    with Receiver(says(OK), tls=context) as receiver:
        named = secure(receiver, "Hooks.Example.com.", authority)
        numbered = secure(receiver, "127.0.0.1", authority)

    assert status_and_body(named) == (200, b"done")
    assert status_and_body(numbered) == (200, b"done")
    assert b"Host: hooks.example.com:%d\r\n" % receiver.port in receiver.requests[0]


@pytest.mark.parametrize(
    ("names", "is_expired"),
    [
        (("x", "other.example.com"), False),
        (("x", "127.0.0.1"), False),
        (("hooks.example.com", "other.example.com"), False),
        (("x", "hooks.example.com"), True),
    ],
    ids=["other name", "the address only", "common name only", "expired"],
)
def test_a_certificate_for_anything_else_ends_it_before_a_byte_is_sent(
    authority: Authority, names: tuple[str, ...], is_expired: bool
) -> None:
    with Receiver(says(OK), tls=authority.serving(*names, is_expired=is_expired)) as receiver:
        outcome = secure(receiver, "hooks.example.com", authority)

    assert outcome == Unsent(Reason.TLS)
    assert receiver.requests in ([], [b""])


def test_an_authority_that_the_system_does_not_know_is_not_trusted(authority: Authority) -> None:
    with Receiver(says(OK), tls=authority.serving("x", "127.0.0.1")) as receiver:
        url = f"https://127.0.0.1:{receiver.port}/"
        outcome = post(url, b"", {}, timeout_s=5, allow=LOOPBACK)

    assert outcome == Unsent(Reason.TLS)


def test_a_receiver_without_tls_is_not_spoken_to_in_the_clear(authority: Authority) -> None:
    heard: list[bytes] = []

    def clear(listener: socket.socket) -> None:
        line, _ = listener.accept()
        with line:
            heard.append(line.recv(65_536))
            line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=partial(clear, listener))
        serving.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        outcome = post(url, b"secret", {}, timeout_s=5, allow=LOOPBACK, tls=authority.trusted())
        serving.join(10)

    assert outcome == Unsent(Reason.TLS)
    assert [b"POST" in each or b"secret" in each for each in heard] == [False]


def test_a_handshake_that_never_ends_is_over_in_time(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        outcome = post(
            f"https://127.0.0.1:{silent.getsockname()[1]}/",
            b"",
            {},
            timeout_s=0.2,
            allow=LOOPBACK,
            tls=authority.trusted(),
        )

    assert outcome == Unsent(Reason.TIMED_OUT)
