"""The bodies that executors send, as closed and strict models; unknown members are refused."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

from placet.protocol import limits

Text = Annotated[str, Field(max_length=limits.TEXT_BYTES)]
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
