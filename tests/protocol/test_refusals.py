"""The codes, statuses and their order are the contract's."""

from dataclasses import FrozenInstanceError

import pytest

from placet.protocol.refusals import Fault, RefusalCode

CONTRACT = """
unauthenticated 401, rate_limited 429, too_large 413, invalid_json 400, invalid_request 422,
idempotency_key_reused 422, not_found 404, not_owner 403, not_permitted 403, self_approval 403,
superseded 409, already_decided 409, cancelled 409, expired 409, run_closed 409,
outcome_unknown 409, stale_revision 409, lease_held 409, lease_lost 409, wrong_state 409,
digest_mismatch 409, not_shown 409, tool_not_allowed 403, decision_not_allowed 409,
duplicate_approver 403, reason_required 422, invalid_edit 422, evidence_required 422,
not_approved 409, already_dispatched 409, approval_expired 409, page_not_verified 409
"""


def test_every_code_has_its_status_in_the_order_in_which_they_apply() -> None:
    in_order = sorted(RefusalCode, key=lambda code: code.order)

    assert [f"{code} {code.status}" for code in in_order] == [
        line.strip() for line in CONTRACT.replace("\n", " ").split(",")
    ]


def test_every_code_says_what_happened_in_one_plain_sentence_of_its_own() -> None:
    sentences = [code.sentence for code in RefusalCode]

    assert len(set(sentences)) == len(RefusalCode)
    assert all(text[0].isupper() and text.endswith(".") and "_" not in text for text in sentences)


def test_a_code_is_found_by_its_spelling_and_prints_as_it() -> None:
    assert RefusalCode("lease_lost") is RefusalCode.LEASE_LOST
    assert f"{RefusalCode.LEASE_LOST}" == "lease_lost"
    with pytest.raises(ValueError, match="no_such_code"):
        RefusalCode("no_such_code")


def test_a_fault_is_equal_by_value_and_cannot_change() -> None:
    fault = Fault("/a", "Missing.")

    assert fault == Fault("/a", "Missing.")
    with pytest.raises(FrozenInstanceError):
        fault.pointer = "/b"  # type: ignore[misc]
