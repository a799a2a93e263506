"""Acting on an approval: once, exactly as approved, and with an honest word about the outcome.

Only the 201 of a dispatch permits the work. What the work raises after that leaves the outcome
unknown, unless it says itself that nothing was done.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from placet import requests
from placet.errors import (
    Failed,
    LeaseLost,
    NotExecuted,
    PlacetError,
    Refused,
    StopReason,
)
from placet.flows import PATIENCE_S, Flow, Work, call, told
from placet.models import Action, Interrupt
from placet.protocol.canonical import NotCanonical, canonical
from placet.protocol.digest import asked_sha256
from placet.protocol.limits import RESULT_BYTES, TEXT_BYTES
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import RefusalCode
from placet.requests import Request
from placet.shapes import read_shape
from placet.tenure import Tenure, reason_of

LAST_WORD_S = 5.0
"""How long the word "unknown" may keep an exception waiting; without it the server says it."""

ANOTHER_CALL = "The permission to act named another call than the approved one."
ANSWER_LOST = "The permission to act got lost on its way, so nothing was begun."


def execute(
    tenure: Tenure,
    asked: Interrupt,
    fn: Callable[..., Any],
    *,
    named: Mapping[str, Any],
    observation_id: str | None,
    refs: Any,
) -> Flow[Any]:
    """Dispatch, do the work with the approved arguments, report; gives what the work gave.

    Raises Refused where the server or a digest says no, LeaseLost where the executor has to stop,
    NotExecuted and Failed as the work does, and whatever else the work raises.
    """
    tenure.check()
    now = yield from told(Interrupt, requests.get_interrupt(asked.id))
    args = approved_args(asked, now)
    action = yield from _dispatch(tenure, now, args, observation_id=observation_id, refs=refs)
    try:
        tenure.check()
    except LeaseLost as lost:
        yield from _report(tenure, action, "not_executed", {"reason": str(lost)})
        raise
    try:
        result = yield Work(
            fn,
            dict(action.args),
            {**named, "idempotency_key": action.idempotency_key, "grant": action.grant},
        )
    except NotExecuted as not_executed:
        yield from _report(tenure, action, "not_executed", {"reason": not_executed.reason})
        raise
    except Failed as failed:
        yield from _report(tenure, action, "failed", failed.result)
        raise
    except BaseException as error:
        yield from _report_unknown(action, error)
        raise
    try:
        yield from _report(tenure, action, "succeeded", result)
    except PlacetError as error:
        error.add_note(f"The work of action {action.id} had ended well; this could not be told.")
        raise
    return result


def approved_args(asked: Interrupt, now: Interrupt) -> Mapping[str, Any]:
    """What may be done: the approved arguments, edits included, whose digest was compared.

    `now` is the question as the server has it. What is not approved is left for the server to
    refuse, which puts it on record. Raises Refused, `digest_mismatch`.
    """
    decision = now.decision
    if decision is None or decision.args is None:
        return now.args
    digest = asked_sha256(tool=asked.tool, args=decision.args, target=asked.target)
    if (now.id, now.asked_sha256) != (asked.id, asked.asked_sha256):
        raise _mismatch("This is not the question that was asked.", now.asked_sha256)
    if digest != decision.approved_sha256:
        raise _mismatch("The arguments are not those that were approved.", digest)
    return decision.args


def _mismatch(detail: str, digest: str) -> Refused:
    code = RefusalCode.DIGEST_MISMATCH
    return Refused(code, code.status, detail, {"digest": digest})


def _dispatch(
    tenure: Tenure,
    now: Interrupt,
    args: Mapping[str, Any],
    *,
    observation_id: str | None,
    refs: Any,
) -> Flow[Action]:
    """The action that this very call made, with the permission to carry it out.

    A replay permits nothing: the permission was given, and its answer got lost. The key was made
    for this call alone, so nobody else got it either, and it is certain that nothing was done.
    """
    request = requests.dispatch(
        now.run_id,
        now.id,
        args=args,
        token=tenure.fencing_token,
        observation_id=observation_id,
        refs=refs,
    )
    try:
        answer = yield from call(request)
    except Refused as refused:
        if refused.code != RefusalCode.LEASE_LOST:
            raise
        tenure.stop(StopReason.LOST)
        raise LeaseLost(StopReason.LOST) from refused
    action = read_shape(Action, answer.value())
    if answer.is_replayed or answer.status != 201:
        yield from _report(tenure, action, "not_executed", {"reason": ANSWER_LOST})
        raise NotExecuted(ANSWER_LOST)
    digest = asked_sha256(tool=now.tool, args=action.args, target=now.target)
    if action.interrupt_id != now.id or digest != asked_sha256(
        tool=now.tool, args=args, target=now.target
    ):
        yield from _report(
            tenure, action, "not_executed", {"reason": "The answer named another call."}
        )
        raise _mismatch(ANOTHER_CALL, digest)
    return action


def _report(tenure: Tenure, action: Action, outcome: str, result: Any) -> Flow[None]:
    """Tell the server; raises LeaseLost where it comes too late, `kept` then says so."""
    request = requests.give_result(
        action.id, action.fencing_token, outcome, result=_sendable(result)
    )
    try:
        yield from call(request, patience_s=max(PATIENCE_S, tenure.left_s))
    except Refused as refused:
        if not refused.kept:
            raise
        tenure.stop(reason_of(refused))
        raise LeaseLost(reason_of(refused), kept=True) from refused


def _sendable(result: Any) -> JSONValue:
    """The result, or None with a warning where it cannot travel: what was done stays done."""
    try:
        text = canonical(result)
    except NotCanonical as error:
        why = str(error)
    else:
        if len(text.encode()) <= RESULT_BYTES:
            value: JSONValue = result
            return value
        why = f"it has more than {RESULT_BYTES} bytes"
    warnings.warn(f"The result is reported without its value: {why}.", RuntimeWarning, stacklevel=2)
    return None


def _report_unknown(action: Action, error: BaseException) -> Flow[None]:
    """Say that nobody knows, briefly; silence means the same when the lease is over."""
    detail = f"{type(error).__name__} after the dispatch"
    try:
        is_hurried = not isinstance(error, Exception)  # the program or the task is to end
        yield from call(_unknown(action, detail), patience_s=0 if is_hurried else LAST_WORD_S)
    except PlacetError as silent:
        error.add_note(
            f"The action {action.id} could not be reported as unknown ({silent});"
            " it becomes so when the lease runs out."
        )


def _unknown(action: Action, detail: str) -> Request:
    short = detail.encode(errors="replace")[:TEXT_BYTES].decode(errors="ignore")
    return requests.give_unknown(action.id, action.fencing_token, detail=short, read_s=LAST_WORD_S)
