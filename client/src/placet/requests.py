"""Every request of the contract (§6) as a value, and the reading of every answer.

Nothing here sends: the client for threads and the one for asyncio send the same values.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote
from uuid import uuid4

from placet.errors import Refused, UnexpectedAnswer
from placet.protocol.canonical import canonical
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode
from placet.question import Question

PREFIX = "/api/v1"
READ_S = 10.0
"""How long an answer may keep a client waiting that did not ask to wait."""

SLACK_S = 15.0
"""How much longer than its own wait a long poll may keep a client waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, which may be sent again: a GET, or a POST under a key made for it alone."""

    method: Literal["GET", "POST"]
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    idempotency_key: str | None = None
    read_s: float = READ_S

    def headers(self) -> dict[str, str]:
        """The headers that belong to this request."""
        if self.idempotency_key is None:
            return {}
        return {"Content-Type": "application/json", "Idempotency-Key": self.idempotency_key}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One whole HTTP answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_replayed(self) -> bool:
        """Whether it repeats an earlier answer; for dispatch it then permits nothing."""
        return "idempotency-replayed" in self.headers

    @property
    def retry_after_s(self) -> float | None:
        """How long the server asks to be left alone."""
        try:
            return max(0.0, float(self.headers.get("retry-after", "")))
        except ValueError:
            return None

    def value(self) -> Any:
        """The JSON value of a success; raises Refused or UnexpectedAnswer."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if self.status in (200, 201) and value is not None:
            return value
        if isinstance(value, dict) and isinstance(value.get("code"), str):
            raise _refused(value, self)
        raise UnexpectedAnswer(f"The server answered with status {self.status} and no Placet text.")


def _refused(problem: Mapping[str, Any], answer: Answer) -> Refused:
    code = problem["code"]
    known = {each.value: each for each in RefusalCode}.get(code)
    current = problem.get("current")
    faults = problem.get("errors")
    return Refused(
        code if known is None else known,
        answer.status,
        str(problem.get("detail") or problem.get("title") or ""),
        current if isinstance(current, dict) else None,
        retry_after_s=answer.retry_after_s,
        kept=problem.get("kept") is True,
        faults=tuple(
            Fault(str(fault.get("pointer", "")), str(fault.get("message", "")))
            for fault in (faults if isinstance(faults, list) else [])
            if isinstance(fault, dict)
        ),
    )


def get(path: str, *, read_s: float = READ_S, **query: Any) -> Request:
    """A GET; parameters that are None are left out."""
    given = {name: str(value) for name, value in query.items() if value is not None}
    return Request(method="GET", path=PREFIX + path, query=given, read_s=read_s)


def post(path: str, *, read_s: float = READ_S, **members: Any) -> Request:
    """A POST under a fresh key; members that are None are left out.

    Raises NotCanonical for what has no canonical form: it would be refused.
    """
    body: JSONValue = {name: value for name, value in members.items() if value is not None}
    return Request(
        method="POST",
        path=PREFIX + path,
        body=canonical(body).encode(),
        idempotency_key=f"py-{uuid4().hex}",
        read_s=read_s,
    )


def me() -> Request:
    """Who the key is."""
    return get("/me")


def begin_run(
    *,
    title: str,
    owner: str,
    external_id: str | None,
    parent: str | None,
    context: Any,
    allowed_tools: Sequence[str] | None,
    labels: Mapping[str, Any] | None,
) -> Request:
    """Begin a run, or get the one of this `external_id`."""
    return post(
        "/runs",
        title=title,
        owner=owner,
        external_id=external_id,
        parent=parent,
        context=context,
        allowed_tools=None if allowed_tools is None else list(allowed_tools),
        labels=None if labels is None else dict(labels),
    )


def get_run(run_id: str, *, is_all: bool = False) -> Request:
    """Look at a run."""
    return get(f"/runs/{_segment(run_id)}", all="1" if is_all else None)


def find_runs(*, external_id: str | None, state: str | None, after: str | None) -> Request:
    """A page of the agent's runs, newest first."""
    return get("/runs", external_id=external_id, state=state, after=after)


def get_interrupt(interrupt_id: str, *, wait_s: int = 0) -> Request:
    """Look at a question; with `wait_s` until it is no longer PENDING."""
    path = f"/interrupts/{_segment(interrupt_id)}"
    if not wait_s:
        return get(path)
    return get(path, wait_s=wait_s, read_s=wait_s + SLACK_S)


def ask(
    run_id: str,
    questions: Sequence[Question],
    *,
    expected_revision: int | None,
    fencing_token: int | None,
) -> Request:
    """Ask, all or nothing."""
    return post(
        f"/runs/{_segment(run_id)}/interrupts",
        interrupts=[question.body() for question in questions],
        expected_revision=expected_revision,
        fencing_token=fencing_token,
    )


def cancel_interrupt(interrupt_id: str, *, fencing_token: int | None) -> Request:
    """Take a question back."""
    return post(f"/interrupts/{_segment(interrupt_id)}/cancel", fencing_token=fencing_token)


def cancel_run(run_id: str, *, reason: str | None) -> Request:
    """Stop a run."""
    return post(f"/runs/{_segment(run_id)}/cancel", reason=reason)


def finish_run(run_id: str, outcome: str, *, fencing_token: int | None) -> Request:
    """End a run."""
    return post(f"/runs/{_segment(run_id)}/finish", outcome=outcome, fencing_token=fencing_token)


def take_lease(run_id: str, *, holder: str, ttl_s: int) -> Request:
    """Take control of a run."""
    return post(f"/runs/{_segment(run_id)}/lease", holder=holder, ttl_s=ttl_s)


def renew_lease(run_id: str, token: int, *, ttl_s: int, read_s: float) -> Request:
    """Keep control."""
    path = f"/runs/{_segment(run_id)}/lease/renew"
    return post(path, fencing_token=token, ttl_s=ttl_s, read_s=read_s)


def release_lease(run_id: str, token: int) -> Request:
    """Give control back."""
    return post(f"/runs/{_segment(run_id)}/lease/release", fencing_token=token)


def dispatch(
    run_id: str,
    interrupt_id: str,
    *,
    args: Mapping[str, Any],
    token: int,
    observation_id: str | None,
    refs: Any,
) -> Request:
    """Use an approval up for exactly these arguments."""
    return post(
        f"/runs/{_segment(run_id)}/dispatch",
        interrupt_id=interrupt_id,
        args=dict(args),
        fencing_token=token,
        observation_id=observation_id,
        refs=refs,
    )


def get_action(action_id: str) -> Request:
    """Look at an action."""
    return get(f"/actions/{_segment(action_id)}")


def give_result(action_id: str, token: int, outcome: str, *, result: JSONValue) -> Request:
    """Say what became of an action."""
    path = f"/actions/{_segment(action_id)}/result"
    return post(path, fencing_token=token, outcome=outcome, result=result)


def give_unknown(action_id: str, token: int, *, detail: str, read_s: float) -> Request:
    """Say that nobody knows what became of an action."""
    path = f"/actions/{_segment(action_id)}/unknown"
    return post(path, fencing_token=token, detail=detail, read_s=read_s)


def reconcile(action_id: str, outcome: str, *, evidence: Mapping[str, str] | None) -> Request:
    """Say what was found out about an action of which nobody knew."""
    return post(
        f"/actions/{_segment(action_id)}/reconcile",
        outcome=outcome,
        evidence=None if evidence is None else dict(evidence),
    )


def observe(
    run_id: str,
    *,
    token: int,
    interrupt_id: str | None,
    handback: int | None,
    seen: Mapping[str, Any],
    snapshot_sha256: str,
    observed_at: datetime,
) -> Request:
    """Say what was seen on the controlled page, after a hand-back where an interrupt is named."""
    about = f"/runs/{_segment(run_id)}"
    if interrupt_id is not None:
        about = f"/interrupts/{_segment(interrupt_id)}"
    return post(
        f"{about}/observations",
        fencing_token=token,
        handback=handback,
        snapshot_sha256=snapshot_sha256,
        observed_at=observed_at.isoformat(),
        **{name: text for name, text in seen.items() if text is not None},
    )


def get_events(*, after: int, run: str | None, limit: int, wait_s: int) -> Request:
    """A page of events behind a number; with `wait_s` as soon as there is one."""
    read_s = wait_s + SLACK_S
    return get("/events", after=after, run=run, limit=limit, wait_s=wait_s, read_s=read_s)


def _segment(text: str) -> str:
    return quote(text, safe="")
