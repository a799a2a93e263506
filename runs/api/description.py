"""The API's description of itself (OpenAPI), made once and right about what ninja cannot know."""

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from placet.protocol.limits import IDEMPOTENCY_KEY_MAX_CHARS
from runs.api.problem import MEDIA_TYPE

IDEMPOTENCY_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "description": "The answer to a repetition is the first one, with `Idempotency-Replayed`.",
    "schema": {"type": "string", "pattern": f"^[!-~]{{1,{IDEMPOTENCY_KEY_MAX_CHARS}}}$"},
}


class DescribedAPI(NinjaAPI):
    """An API whose refusals are described as problems and whose effects take a key."""

    _description: OpenAPISchema | None = None

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        """The OpenAPI document of all calls under this server's one prefix."""
        if self._description is None:
            self._description = super().get_openapi_schema(
                path_prefix=path_prefix, path_params=path_params
            )
            for call in self._description["paths"].values():
                for method, operation in call.items():
                    _complete(method, operation)
        return self._description


def _complete(method: str, operation: dict[str, Any]) -> None:
    for status, response in operation["responses"].items():
        if int(status) >= 400:
            response["content"] = {MEDIA_TYPE: response["content"]["application/json"]}
    for kind in operation.get("requestBody", {}).get("content", {}).values():
        if "anyOf" in kind["schema"]:  # a body may be left out, but it is never null
            kind["schema"] = kind["schema"]["anyOf"][0]
    if method == "post":
        operation["parameters"] = [*operation.get("parameters", ()), IDEMPOTENCY_KEY]
