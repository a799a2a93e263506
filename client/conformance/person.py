"""Somebody who signed in, with a browser that sends the forms of the pages it got."""

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any, Self

import httpx

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')
PANEL = re.compile(r'role="alert"[^>]* data-code="(\w+)"')

Form = dict[str, str]


class Person:
    """A person at a site; answers as a browser without JavaScript does."""

    def __init__(self, site: str, name: str, password: str) -> None:
        self.name = name
        self._http = httpx.Client(base_url=site, follow_redirects=True, timeout=60)
        form = self._form("/login/") | {"login": name, "password": password}
        assert self._http.post("/login/", data=form).status_code == 200

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def look(self, interrupt_id: str) -> Form:
        """Open a question's page; the form that it shows."""
        return self._form(f"/interrupts/{interrupt_id}/")

    def approve(self, interrupt_id: str) -> str | None:
        """Press Approve; see `press`."""
        return self.press(interrupt_id, self.look(interrupt_id), "approve")

    def reject(self, interrupt_id: str, reason: str) -> str | None:
        """Press Reject."""
        return self.press(interrupt_id, self.look(interrupt_id), "reject", reason=reason)

    def edit(self, interrupt_id: str, args: Mapping[str, Any]) -> str | None:
        """Put other arguments in place and press Edit."""
        form = self.look(interrupt_id)
        return self.press(interrupt_id, form, "edit", args=json.dumps(args))

    def press(self, interrupt_id: str, form: Form, decision: str, **more: str) -> str | None:
        """Send a form that was opened before; the code of the refusal, or None."""
        path = f"/interrupts/{interrupt_id}/decide/"
        told = self._http.post(path, data={**form, "decision": decision, **more})
        panel = PANEL.search(told.text)
        assert (panel is None) == told.is_success, told.text
        return panel[1] if panel else None

    def reconcile(self, action_id: str, outcome: str, *, reference: str) -> None:
        """Say what became of an action of which nobody knew."""
        page = f"/actions/{action_id}/reconcile/"
        found = {"outcome": outcome, "kind": "target_object", "reference": reference}
        told = self._http.post(page, data={**self._form(page), **found})
        assert told.is_success, told.text

    def _form(self, path: str) -> Form:
        told = self._http.get(path)
        assert told.is_success, (path, told.status_code)
        return {name: unescape(value) for name, value in HIDDEN.findall(told.text)}
