"""An agent's HTTP, through Django's test client and with the strict bytes it would send."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.cast import PAYMENT


@dataclass
class AgentHTTP:
    """Speaks to the API with one key."""

    key: str
    client: Client = field(default_factory=Client)

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(f"/api/v1{path}", headers=self._headers(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """POST a value as JSON, or bytes as they are."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        return self.client.post(
            f"/api/v1{path}",
            data=raw,
            content_type="application/json",
            headers=self._headers(headers),
        )

    def run(self, **members: Any) -> dict[str, Any]:
        """A new run that Alice owns."""
        response = self.post("/runs", {"title": "Pay the vendor", "owner": "alice", **members})
        assert response.status_code in (200, 201), response.content
        return response.json()

    def _headers(self, more: dict[str, str]) -> dict[str, str]:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return {"Authorization": f"Bearer {self.key}", **named}


def ask_body(**members: Any) -> dict[str, Any]:
    """A request with one question about the payment."""
    return {"interrupts": [asked(**members)]}


def asked(**members: Any) -> dict[str, Any]:
    """One question about the payment as an agent writes it."""
    return {"call_id": "call-1", "tool": "pay_vendor", "args": PAYMENT, **members}


def code(response: Any) -> tuple[int, str]:
    """The status and the code of a refusal."""
    assert response["Content-Type"] == "application/problem+json", response.content
    return response.status_code, response.json()["code"]
