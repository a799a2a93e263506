"""An agent and its execution layer over plain HTTP, as a program without any library does it."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen


@dataclass(frozen=True, slots=True)
class Executor:
    """One agent's key at a site."""

    address: str
    key: str

    def get(self, path: str) -> Any:
        """What a GET tells."""
        return self._call(path, None)[1]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """What a POST tells; AssertionError where it is refused."""
        status, told = self._call(path, body)
        assert status < 400, told
        return told

    def refused(self, path: str, body: dict[str, Any]) -> str:
        """The code by which a POST is refused, "" where it is taken."""
        status, told = self._call(path, body)
        return str(told["code"]) if status >= 400 else ""

    def standing(self, run_id: str) -> tuple[str, int]:
        """A run's state and revision."""
        run = self.get(f"/runs/{run_id}")
        return run["state"], run["revision"]

    def _call(self, path: str, body: dict[str, Any] | None) -> tuple[int, Any]:
        request = Request(
            f"{self.address}/api/v1{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            with urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)
