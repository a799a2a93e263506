"""Every way in which a request is refused, in the order in which refusals apply."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with what was sent: where (RFC 6901, "" is the whole), and what."""

    pointer: str
    message: str


class RefusalCode(StrEnum):
    """The code of a refusal, with its HTTP status and a sentence for people.

    Of several that apply the one listed first is given; `order` is its place, from 0.
    """

    status: int
    sentence: str

    # The defaults are for type checkers only, which take a look-up by code for this call.
    def __new__(cls, code: str, status: int = 0, sentence: str = "") -> Self:
        member = str.__new__(cls, code)
        member._value_ = code
        member.status = status
        member.sentence = sentence
        return member

    UNAUTHENTICATED = (
        "unauthenticated",
        401,
        "You are not signed in, or the key you sent is not valid.",
    )
    RATE_LIMITED = ("rate_limited", 429, "Too many requests arrived in a short time.")
    TOO_LARGE = ("too_large", 413, "What you sent is larger than allowed.")
    INVALID_JSON = (
        "invalid_json",
        400,
        "What you sent is not JSON that everybody would read the same way.",
    )
    INVALID_REQUEST = (
        "invalid_request",
        422,
        "Something in the request is missing or not as it has to be.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        422,
        "This key was already used for a different request.",
    )
    NOT_FOUND = ("not_found", 404, "There is nothing here that you can see.")
    NOT_OWNER = ("not_owner", 403, "Only the owner of the run may do this.")
    NOT_PERMITTED = ("not_permitted", 403, "You do not have the right to do this.")
    SELF_APPROVAL = (
        "self_approval",
        403,
        "Somebody other than you has to approve this; you may reject it.",
    )
    SUPERSEDED = ("superseded", 409, "A newer question has taken the place of this one.")
    ALREADY_DECIDED = ("already_decided", 409, "This question has already been answered.")
    CANCELLED = ("cancelled", 409, "This was cancelled.")
    EXPIRED = ("expired", 409, "The time for answering this question is over.")
    RUN_CLOSED = ("run_closed", 409, "The run has ended and can no longer be changed.")
    OUTCOME_UNKNOWN = (
        "outcome_unknown",
        409,
        "Nobody knows yet whether an earlier action was carried out; that has to be cleared first.",
    )
    STALE_REVISION = ("stale_revision", 409, "The run has moved on since the page or data you had.")
    LEASE_HELD = ("lease_held", 409, "An executor has control of the run at the moment.")
    LEASE_LOST = ("lease_lost", 409, "You no longer have control of the run.")
    WRONG_STATE = ("wrong_state", 409, "This cannot be done as things stand now.")
    DIGEST_MISMATCH = (
        "digest_mismatch",
        409,
        "The content you named is not the content of this question.",
    )
    NOT_SHOWN = (
        "not_shown",
        409,
        "Your answer did not come from a page that showed you the whole of this question.",
    )
    TOOL_NOT_ALLOWED = ("tool_not_allowed", 403, "This tool may not be used here.")
    DECISION_NOT_ALLOWED = (
        "decision_not_allowed",
        409,
        "This kind of answer is not offered for this question.",
    )
    DUPLICATE_APPROVER = (
        "duplicate_approver",
        403,
        "Your approval is already counted; somebody else has to give the next one.",
    )
    REASON_REQUIRED = ("reason_required", 422, "This answer needs a reason.")
    INVALID_EDIT = ("invalid_edit", 422, "What you entered does not have the required form.")
    EVIDENCE_REQUIRED = (
        "evidence_required",
        422,
        "This needs evidence of what happened, or of a stronger kind.",
    )
    NOT_APPROVED = ("not_approved", 409, "This has not been approved.")
    ALREADY_DISPATCHED = ("already_dispatched", 409, "This approval has already been used.")
    APPROVAL_EXPIRED = ("approval_expired", 409, "The approval was given too long ago to be used.")
    PAGE_NOT_VERIFIED = (
        "page_not_verified",
        409,
        "The page under control has not been seen, recently enough, to be the one expected.",
    )

    @property
    def order(self) -> int:
        """The place of this code in the order in which refusals apply, from 0."""
        return _ORDER[self]


_ORDER = {code: place for place, code in enumerate(RefusalCode)}
