"""The bodies that executors send, as closed and strict models; unknown members are refused."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from placet.protocol import limits

TOO_LARGE = "too_large"
"""The type of pydantic's error about a text of too many bytes."""


def _within_bytes(text: str) -> str:
    if len(text.encode()) > limits.TEXT_BYTES:
        raise PydanticCustomError(TOO_LARGE, f"A text is at most {limits.TEXT_BYTES} bytes.")
    return text


Text = Annotated[str, AfterValidator(_within_bytes)]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Token = Annotated[int, Field(ge=0, le=2**31 - 1)]
Ttl = Annotated[int, Field(ge=limits.LEASE_TTL_MIN_S, le=limits.LEASE_TTL_MAX_S)]


class Body(Schema):
    """A body whose members are exactly the ones named, of exactly their types."""

    model_config = ConfigDict(strict=True, extra="forbid")


class LeaseBody(Body):
    """Who takes control of a run, and for how long."""

    holder: Name
    ttl_s: Ttl


class RenewBody(Body):
    """Keeps control; without `ttl_s` as long as was asked for at first."""

    fencing_token: Token
    ttl_s: Ttl | None = None


class ReleaseBody(Body):
    """Gives control back."""

    fencing_token: Token


class ResultBody(Body):
    """What became of an action."""

    fencing_token: Token
    outcome: Literal["succeeded", "failed", "not_executed"]
    result: Any = None


class UnknownBody(Body):
    """Nobody knows what became of an action."""

    fencing_token: Token
    detail: Text = ""
    refs: Any = None
