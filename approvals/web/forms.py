"""What a person posted, read as strictly as any body; nothing is guessed or filled in."""

import re

from django.http import QueryDict

from approvals.models.content import schema_value
from approvals.models.interrupt import Interrupt
from approvals.models.reconciling import Found
from approvals.rules.answering import Answer
from approvals.rules.editing import typed_response
from approvals.rules.questions import text_refusal
from approvals.web.view_token import shown_by
from placet.protocol import limits
from placet.protocol.canonical import canonical
from placet.protocol.pointers import pointer
from placet.protocol.reading import InvalidJSON, JSONValue, read_json
from placet.protocol.refusals import Fault, RefusalCode
from placet.protocol.states import DecisionKind
from runs.rules.evidence import Evidence, EvidenceKind, Finding
from runs.rules.refusal import Refusal, invalid

REVISION = re.compile(r"[0-9]{1,9}")
DIGEST = re.compile(r"[!-~]{1,64}")
WITH_ARGS = frozenset({DecisionKind.APPROVE, DecisionKind.EDIT})
WITHOUT_EVIDENCE = frozenset({Finding.STILL_UNKNOWN, Finding.RESEND})


class _Wrong(Exception):
    """Carries a refusal out of the reading of one field."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def read_answer(post: QueryDict, interrupt: Interrupt) -> Answer | Refusal:
    """The answer that a form of the question's page holds, or why it is none."""
    try:
        decision = _decision(post)
        args = _json(post, "args") if decision in WITH_ARGS else None
        response = _response(post, interrupt) if decision is DecisionKind.RESPOND else None
        return Answer(
            decision=decision,
            revision=int(_matching(post, "revision", REVISION)),
            asked_sha256=_matching(post, "asked_sha256", DIGEST),
            shown=shown_by(post.get("view", "")),
            reason=read_text(post, "reason"),
            args=args,
            response=response,
        )
    except _Wrong as wrong:
        return wrong.refusal


def read_reason(post: QueryDict) -> str | Refusal:
    """The reason given, "" where there is none."""
    try:
        return read_text(post, "reason")
    except _Wrong as wrong:
        return wrong.refusal


def read_found(post: QueryDict) -> Found | Refusal:
    """What a person says became of an action, and what it rests on.

    Words without a kind are their own statement where no evidence is asked for, else nothing.
    """
    try:
        name = post.get("outcome", "")
        if name not in list(Finding):
            raise _Wrong(invalid("/outcome", "Say what became of it."))
        finding = Finding(name)
        reference, told = read_text(post, "reference"), read_text(post, "note")
        kind = post.get("kind", "")
        if not kind and finding in WITHOUT_EVIDENCE and (reference or told):
            kind = EvidenceKind.HUMAN_STATEMENT.value
        if not kind:
            return Found(finding)
        if kind not in list(EvidenceKind):
            raise _Wrong(invalid("/kind", "This is no kind of evidence."))
        return Found(finding, Evidence(EvidenceKind(kind), reference, told))
    except _Wrong as wrong:
        return wrong.refusal


def read_text(post: QueryDict, name: str) -> str:
    """A text that a person typed, with the line ends that they saw; raises _Wrong."""
    text = post.get(name, "").replace("\r\n", "\n").strip()
    if refusal := text_refusal(text):
        raise _Wrong(refusal)
    return _storable(text, name)


def read_args(post: QueryDict) -> "JSONValue | Refusal":
    """The edited arguments as JSON of any kind; None where the box was left empty."""
    try:
        return _json(post, "args")
    except _Wrong as wrong:
        return wrong.refusal


def _decision(post: QueryDict) -> DecisionKind:
    name = post.get("decision", "")
    if name not in list(DecisionKind):
        raise _Wrong(invalid("/decision", "This is no decision."))
    return DecisionKind(name)


def _matching(post: QueryDict, name: str, form: re.Pattern[str]) -> str:
    value = post.get(name, "")
    if not form.fullmatch(value):
        raise _Wrong(invalid(pointer([name]), f"The form's {name} is missing or has no such form."))
    return value


def _json(post: QueryDict, name: str) -> JSONValue:
    raw = post.get(name, "").encode()
    if not raw.strip():
        return None
    if len(raw) > limits.BODY_BYTES:
        raise _Wrong(Refusal(code=RefusalCode.TOO_LARGE))
    try:
        value = read_json(raw)
    except InvalidJSON as error:
        raise _Wrong(_unreadable(error, name)) from None
    if len(canonical(value).encode()) > limits.ASKED_BYTES:
        raise _Wrong(Refusal(code=RefusalCode.TOO_LARGE))
    return value


def _response(post: QueryDict, interrupt: Interrupt) -> JSONValue:
    text = post.get("response", "").replace("\r\n", "\n").strip()
    if len(text.encode()) > limits.RESULT_BYTES:
        raise _Wrong(Refusal(code=RefusalCode.TOO_LARGE))
    return typed_response(_storable(text, "response"), schema_value(interrupt.response_schema))


def _storable(text: str, name: str) -> str:
    """The text, where whoever reads the record later can read it: no U+0000, no noncharacter."""
    try:
        read_json(canonical(text).encode())
    except InvalidJSON as error:
        raise _Wrong(invalid(pointer([name]), error.faults[0].message)) from None
    return text


def _unreadable(error: InvalidJSON, name: str) -> Refusal:
    faults = tuple(Fault(pointer([name]) + fault.pointer, fault.message) for fault in error.faults)
    return Refusal(code=RefusalCode.INVALID_JSON, detail=faults[0].message, faults=faults)
