"""The API's documentation as a plain page: no script, nothing from elsewhere.

It is made from the same OpenAPI document that `openapi.json` serves.
"""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase


@dataclass(frozen=True, slots=True)
class Call:
    """One operation: what to send and what comes back."""

    method: str
    path: str
    summary: str
    text: str
    parameters: list[dict[str, Any]]
    body: str
    answers: list[tuple[str, str]]


class PlainDocs(DocsBase):
    """Lists every call and every shape."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The page; it tells nothing that the OpenAPI document does not."""
        schema = api.get_openapi_schema()
        shapes = schema["components"]["schemas"]
        context = {
            "title": schema["info"]["title"],
            "text": schema["info"]["description"],
            "calls": [
                _call(method, path, operation)
                for path, operations in schema["paths"].items()
                for method, operation in operations.items()
            ],
            "shapes": [(name, _members(shape)) for name, shape in sorted(shapes.items())],
        }
        return render(request, "api_docs.html", context)


def _call(method: str, path: str, operation: dict[str, Any]) -> Call:
    summary, _, text = operation.get("description", "").partition("\n")
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return Call(
        method=method.upper(),
        path=path,
        summary=summary,
        text=text.strip(),
        parameters=operation.get("parameters", []),
        body=_kind(body.get("schema", {})),
        answers=[
            (
                str(status),
                ", ".join(_kind(kind["schema"]) for kind in answer.get("content", {}).values()),
            )
            for status, answer in operation["responses"].items()
        ],
    )


def _members(shape: dict[str, Any]) -> list[tuple[str, str, bool]]:
    required = set(shape.get("required", ()))
    return [
        (name, _kind(member), name in required)
        for name, member in shape.get("properties", {}).items()
    ]


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for many in ("anyOf", "allOf"):
        if many in schema:
            return " or ".join(_kind(each) for each in schema[many])
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    return str(schema.get("type", "anything") if schema else "")
