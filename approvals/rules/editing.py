"""What a person typed: edited arguments and responses, held to the schema that was stored.

Types are kept because the text of the form is read by the same strict reader as every body.
"""

from collections.abc import Mapping

from approvals.rules.schema import value_faults
from placet.protocol import limits
from placet.protocol.canonical import NotCanonical, canonical
from placet.protocol.digest import canonical_asked
from placet.protocol.reading import InvalidJSON, JSONValue, read_json
from placet.protocol.refusals import Fault, RefusalCode
from runs.rules.refusal import Refusal

Schema = dict[str, JSONValue]

ARGS, RESPONSE = "/args", "/response"


def edited_asked(
    content: Mapping[str, JSONValue], args: JSONValue, schema: Schema | None
) -> str | Refusal:
    """The canonical text of the same tool and target with these arguments, or what is wrong.

    Pointers begin above the arguments: "/args/…", as pages name them. The tool is never taken
    from the form: another tool is another question.
    """
    if args is None:
        return _invalid((Fault(ARGS, "The edited arguments are missing."),))
    if not isinstance(args, dict):
        return _invalid((Fault(ARGS, "The arguments have to be an object, { … }."),))
    if schema is not None and (faults := value_faults(schema, args)):
        return _invalid(_inside(ARGS, faults))
    target = content["target"]
    assert target is None or isinstance(target, dict)
    try:
        text = canonical_asked(tool=str(content["tool"]), args=args, target=target)
    except NotCanonical as error:
        return _invalid((Fault(ARGS, str(error)),))
    if len(text.encode()) > limits.ASKED_BYTES:
        return Refusal(
            code=RefusalCode.TOO_LARGE,
            detail=f"The arguments are larger than {limits.ASKED_BYTES} bytes.",
        )
    return text


def unheeded_edit(content: Mapping[str, JSONValue], args: JSONValue) -> Refusal | None:
    """The refusal of a plain approval that comes with other arguments than those asked.

    Whoever changed them and then approved would approve something else than they believe.
    """
    if args is None or canonical(args) == canonical(content["args"]):
        return None
    return Refusal(
        code=RefusalCode.INVALID_EDIT,
        detail="The arguments in the form are not those asked.",
        faults=(Fault(ARGS, "Edit approves your arguments; restore them to approve those asked."),),
    )


def response_fault(response: JSONValue, schema: Schema | None) -> Refusal | None:
    """What is wrong with a response, by its schema and size."""
    if response is None or response == "":
        return _invalid((Fault(RESPONSE, "Write a response."),))
    if len(canonical(response).encode()) > limits.RESULT_BYTES:
        return Refusal(code=RefusalCode.TOO_LARGE)
    if schema is not None and (faults := value_faults(schema, response)):
        return _invalid(_inside(RESPONSE, faults))
    return None


def typed_response(text: str, schema: Schema | None) -> JSONValue:
    """The value of what a person typed as a response.

    Objects and lists are JSON. With a schema, JSON that fits it is JSON. All else is text, so
    that “42” typed as prose stays what was typed.
    """
    try:
        value = read_json(text.encode())
    except (InvalidJSON, UnicodeEncodeError):
        return text
    if schema is not None:
        return text if value_faults(schema, value) and not value_faults(schema, text) else value
    return value if isinstance(value, dict | list) else text


def _inside(where: str, faults: tuple[Fault, ...]) -> tuple[Fault, ...]:
    return tuple(Fault(where + fault.pointer, fault.message) for fault in faults)


def _invalid(faults: tuple[Fault, ...]) -> Refusal:
    return Refusal(code=RefusalCode.INVALID_EDIT, faults=faults)
