"""This server's identity towards push services (RFC 8292): a key of the curve P-256."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notices.rules.base64url import decoded, encoded

SCALAR_BYTES: Final = 32
TOKEN_VALID_S: Final = 12 * 3600


class BadKey(ValueError):
    """The text is no private key; the message does not repeat it."""


@dataclass(frozen=True, slots=True)
class VapidKey:
    """The private key; browsers get `public` when they subscribe."""

    private: ec.EllipticCurvePrivateKey

    @classmethod
    def read(cls, text: str) -> "VapidKey":
        """Read what `webpush_key` printed; BadKey where it is something else."""
        try:
            scalar = decoded(text)
            if len(scalar) != SCALAR_BYTES:
                raise ValueError
            return cls(ec.derive_private_key(int.from_bytes(scalar), ec.SECP256R1()))
        except ValueError:
            raise BadKey("is no key as the command webpush_key prints it.") from None

    @property
    def public(self) -> str:
        """The public key as browsers want it: the uncompressed point, base64url."""
        point = self.private.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        return encoded(point)

    def authorization(self, endpoint: str, *, subject: str, now_s: int) -> str:
        """Give the `Authorization` header for one push service (RFC 8292 §3)."""
        parts = urlsplit(endpoint)
        claims = {
            "aud": f"{parts.scheme}://{parts.netloc}",
            "exp": now_s + TOKEN_VALID_S,
            "sub": subject,
        }
        token = jwt.encode(claims, self.private, algorithm="ES256")
        return f"vapid t={token}, k={self.public}"


def new_key() -> str:
    """Make a private key: the 32 bytes of its number, base64url."""
    private = ec.generate_private_key(ec.SECP256R1())
    return encoded(private.private_numbers().private_value.to_bytes(SCALAR_BYTES))
