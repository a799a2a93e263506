"""A receiver on loopback whose every byte a test chooses, with TLS where it gives certificates."""

import datetime
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone"

Behavior = Callable[[socket.socket], None]


def says(answer: bytes) -> Behavior:
    """Read the request, then answer with these bytes and hang up."""
    return lambda line: line.sendall(answer)


@dataclass
class Receiver:
    """Serves one connection after another; keeps what it was sent."""

    behavior: Behavior
    tls: ssl.SSLContext | None = None
    host: str = "127.0.0.1"
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0

    def __enter__(self) -> "Receiver":
        self._listener = socket.create_server((self.host, 0))
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with suppress(OSError), plain:
                plain.settimeout(10)
                line = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
                with line:
                    self.requests.append(_request(line))
                    self.behavior(line)


def _request(line: socket.socket) -> bytes:
    read = b""
    while b"\r\n\r\n" not in read:
        if not (part := line.recv(65_536)):
            return read
        read += part
    head, _, body = read.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += line.recv(65_536)
    return head + b"\r\n\r\n" + body


@dataclass(frozen=True)
class Authority:
    """A certificate authority of a test, and contexts of both sides that know it."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def made(cls, folder: Path) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        certificate = (
            _builder(name, name, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(folder, key, certificate)

    def trusted(self) -> ssl.SSLContext:
        """Give a client's context that trusts this authority alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        context.load_verify_locations(cadata=pem)
        return context

    def serving(self, *names: str, is_expired: bool = False) -> ssl.SSLContext:
        """Give a server's context with a certificate for these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        certificate = (
            _builder(subject, self.certificate.subject, key, is_expired=is_expired)
            .add_extension(
                x509.SubjectAlternativeName([_alternative(name) for name in names[1:]]),
                critical=False,
            )
            .sign(self.key, hashes.SHA256())
        )
        path = self.folder / f"{names[-1]}.pem".replace(":", "_")
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    is_expired: bool = False,
) -> x509.CertificateBuilder:
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 3 * day)
        .not_valid_after(now - day if is_expired else now + day)
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
