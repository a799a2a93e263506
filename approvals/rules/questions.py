"""What a well-typed question must still be, before anything is looked up."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from approvals.rules.observing import target_faults
from approvals.rules.schema import schema_faults
from placet.protocol import limits
from placet.protocol.canonical import NotCanonical
from placet.protocol.digest import canonical_asked
from placet.protocol.pointers import parse_pointer
from placet.protocol.reading import JSONValue
from placet.protocol.refusals import Fault, RefusalCode
from runs.rules.refusal import Refusal

Question = Mapping[str, JSONValue]


def questions_refusal(questions: Sequence[Question]) -> Refusal | None:
    """Why these questions cannot be asked as they are written; pointers are into the body."""
    for question in questions:
        if refusal := _size_refusal(question):
            return refusal
    faults = tuple(_faults(questions))
    if not faults:
        return None
    return Refusal(code=RefusalCode.INVALID_REQUEST, detail=faults[0].message, faults=faults)


def text_refusal(*texts: str | None) -> Refusal | None:
    """The refusal of a text that is too long, in bytes of UTF-8."""
    if any(text is not None and len(text.encode()) > limits.TEXT_BYTES for text in texts):
        return Refusal(
            code=RefusalCode.TOO_LARGE, detail=f"A text is at most {limits.TEXT_BYTES} bytes."
        )
    return None


def _size_refusal(question: Question) -> Refusal | None:
    args, target = question["args"], question["target"]
    assert isinstance(args, dict) and (target is None or isinstance(target, dict))
    try:
        asked = canonical_asked(tool=str(question["tool"]), args=args, target=target)
    except NotCanonical:
        return None
    if len(asked.encode()) > limits.ASKED_BYTES:
        return Refusal(
            code=RefusalCode.TOO_LARGE,
            detail=f"tool, args and target are at most {limits.ASKED_BYTES} bytes together.",
        )
    return None


def _faults(questions: Sequence[Question]) -> Iterator[Fault]:
    used = Counter(str(question["call_id"]) for question in questions)
    for index, question in enumerate(questions):
        at = f"/interrupts/{index}"
        if used[str(question["call_id"])] > 1:
            yield Fault(f"{at}/call_id", "The same call_id stands twice in this request.")
        for name in ("args_schema", "response_schema"):
            if (schema := question[name]) is not None:
                for fault in schema_faults(schema):
                    yield Fault(f"{at}/{name}{fault.pointer}", fault.message)
        yield from _sensitive_faults(question, at)
        yield from _kind_faults(question, at)


def _sensitive_faults(question: Question, at: str) -> Iterator[Fault]:
    pointers = question["sensitive"]
    assert isinstance(pointers, list)
    for place, text in enumerate(pointers):
        try:
            parse_pointer(str(text))
        except ValueError:
            yield Fault(f"{at}/sensitive/{place}", "This is no JSON Pointer (RFC 6901).")


def _kind_faults(question: Question, at: str) -> Iterator[Fault]:
    if question["kind"] == "handoff":
        yield from target_faults(question["target"], f"{at}/target")
        if question["args_schema"] is not None:
            yield Fault(f"{at}/args_schema", "The arguments of a handoff are not edited.")
    if question["handoff_url"] is not None and question["kind"] != "handoff":
        yield Fault(f"{at}/handoff_url", "Only a handoff has a handoff_url.")
    if question["kind"] == "question" and question["args_schema"] is not None:
        yield Fault(f"{at}/args_schema", "The arguments of a question are not edited.")
