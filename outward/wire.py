"""One connection to an address that was checked, and what is read from it, both within bounds.

The bounds hold whatever the other side does: every single wait is for what is left of the whole
time, and bytes are counted as they come from the network, before anything parses them.
"""

import http.client
import io
import socket
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import urllib3.connection

from outward.addresses import Address
from outward.deadline import Deadline
from outward.destinations import Destination

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CONNECT_TIMEOUT_S = 5.0
LONGEST_HEAD_BYTES = 65_536
_PART_BYTES = 16_384  # one TLS record: a longer part would begin its wait anew with each record


class TooLong(http.client.HTTPException):
    """More bytes came than may be read."""


class _Checked(urllib3.connection.HTTPConnection):
    """Connects to one of the given addresses and never looks up a name."""

    addresses: Sequence[Address]
    deadline: Deadline
    _buffer: list[bytes]  # http.client's: the lines of the head

    def _new_conn(self) -> socket.socket:
        """Connect to the first address that lets us; raises the last one's OSError."""
        failed: OSError = TimeoutError()
        for address in self.addresses:
            try:
                return _connected(address, self.port, self.deadline)
            except OSError as error:
                failed = error
        raise failed

    def _send_output(self, message_body: object = None, encode_chunked: bool = False) -> None:
        """Send head and body as one: http.client makes two packets of them."""
        head = b"\r\n".join((*self._buffer, b"", b""))
        self._buffer.clear()
        self.send(head + cast(bytes, message_body))

    def send(self, data: object) -> None:
        """Send bytes in parts, each within what is left of the whole time."""
        view = memoryview(cast(bytes, data))
        for start in range(0, len(view), _PART_BYTES):
            self.sock.settimeout(self.deadline.left_s())
            self.sock.sendall(view[start : start + _PART_BYTES])


class _CheckedSecure(_Checked, urllib3.connection.HTTPSConnection):
    """The same with TLS, for the name that was looked up."""


class _Wire(io.RawIOBase):
    """The bytes of an answer as they come, at most `may_read` of them."""

    def __init__(self, sock: socket.socket, deadline: Deadline, may_read: int) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline
        self.may_read = may_read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        if self.may_read <= 0:
            raise TooLong
        self._sock.settimeout(self._deadline.left_s())
        count = self._sock.recv_into(memoryview(buffer)[: self.may_read])
        self.may_read -= count
        return count

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Be what http.client takes for a socket."""
        return io.BufferedReader(self)


def connection(
    destination: Destination,
    addresses: Sequence[Address],
    deadline: Deadline,
    tls: ssl.SSLContext,
) -> urllib3.connection.HTTPConnection:
    """Give a connection that is not yet open, for one request; whoever asked closes it."""
    made: _Checked
    if destination.is_secure:
        made = _CheckedSecure(
            destination.host,
            destination.port,
            ssl_context=tls,
            server_hostname=destination.host,
        )
    else:
        made = _Checked(destination.host, destination.port)
    made.addresses, made.deadline, made.timeout = addresses, deadline, deadline.left_s()
    return made


def read_answer(sock: socket.socket, deadline: Deadline, max_bytes: int) -> tuple[int, bytes]:
    """Read the status and the first `max_bytes` of the body, undecoded.

    Raises HTTPException for what is no answer, TimeoutError before its head is whole. A body that
    breaks off, never ends or takes too long is given as far as it came: the status has been said.
    """
    wire = _Wire(sock, deadline, LONGEST_HEAD_BYTES)
    answer = http.client.HTTPResponse(cast(socket.socket, wire), method="POST")
    try:
        answer.begin()
        wire.may_read = max_bytes + LONGEST_HEAD_BYTES
        return answer.status, _body(answer, max_bytes)
    finally:
        answer.close()


def _body(answer: http.client.HTTPResponse, max_bytes: int) -> bytes:
    body = bytearray()
    try:
        while len(body) < max_bytes and (part := answer.read1(max_bytes - len(body))):
            body += part
    except (OSError, http.client.HTTPException):
        pass
    return bytes(body[:max_bytes])


def _connected(address: Address, port: int, deadline: Deadline) -> socket.socket:
    sock = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6)
    try:
        sock.settimeout(min(CONNECT_TIMEOUT_S, deadline.left_s()))
        sock.connect((str(address), port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(deadline.left_s())
    except BaseException:
        sock.close()
        raise
    return sock
