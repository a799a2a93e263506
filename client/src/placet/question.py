"""A question as an agent writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from placet.protocol.digest import asked_sha256
from placet.protocol.reading import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to people; what is None is left out, and the server's default holds.

    `args_schema` (JSON Schema of the arguments) is what lets people edit them. `sensitive` are
    JSON Pointers into `args` that pages mask. The server narrows, never widens, by what is given.
    """

    tool: str
    args: Mapping[str, Any]
    call_id: str
    target: Mapping[str, Any] | None = None
    kind: str | None = None
    description: str | None = None
    args_schema: Mapping[str, Any] | None = None
    response_schema: Mapping[str, Any] | None = None
    allowed_decisions: Sequence[str] | None = None
    expires_in_s: int | None = None
    observation_max_age_s: int | None = None
    sensitive: Sequence[str] | None = None
    handoff_url: str | None = None
    retry_of: str | None = None

    @property
    def sha256(self) -> str:
        """The digest of what is asked; raises NotCanonical where it has none."""
        return asked_sha256(tool=self.tool, args=self.args, target=self.target)

    def body(self) -> dict[str, JSONValue]:
        """The members that are given, as they travel."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: Any) -> JSONValue:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    plain: JSONValue = value
    return plain
