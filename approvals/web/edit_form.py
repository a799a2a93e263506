"""The form over the JSON of the arguments, made when a page with scripts asks for it."""

from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, HttpResponse

from approvals.models import Interrupt
from approvals.models.content import schema_value
from approvals.rules.boxes import Field
from approvals.rules.fields import fields
from approvals.rules.presentation import pretty
from placet.protocol.reading import JSONValue
from runs.rules.refusal import Refusal

PLACE: Final = "fields"
"""The id of the element that holds the form."""


@dataclass(frozen=True, slots=True)
class EditForm:
    """Fields of the typed arguments, and the JSON of those asked, to tell what was changed."""

    fields: tuple[Field, ...]
    asked: str


def wants_form(request: HttpRequest) -> bool:
    """Whether the form itself is to be drawn, beyond what an edit would change."""
    return request.headers.get("HX-Target") == PLACE


def edit_form(interrupt: Interrupt, args: "JSONValue | Refusal") -> EditForm | None:
    """The form of these arguments; None where they cannot be read or have no members."""
    asked = interrupt.content["args"]
    if not isinstance(args, dict) or not isinstance(asked, dict):
        return None
    found = fields(schema_value(interrupt.args_schema) or {}, args, asked)
    return EditForm(found, pretty(asked)) if found else None


def whole(response: HttpResponse) -> HttpResponse:
    """The answer to a preview that can no longer be made: the page takes the form's place."""
    response.headers["HX-Retarget"] = "#main"
    response.headers["HX-Reswap"] = "innerHTML"
    response.headers["HX-Reselect"] = "article.question"
    return response
