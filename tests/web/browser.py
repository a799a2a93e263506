"""A person's browser without a browser: signed-in clients, and the forms of the pages they get."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.http import HttpResponse
from django.test import Client

from approvals.models import Interrupt
from identity.models import User


def browser(user: User) -> Client:
    """A client in which this person is signed in."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.buttons: list[str] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name = given.get("name", "")
        if tag == "input" and given.get("type") == "hidden":
            self.hidden[name] = given.get("value", "")
        if tag == "textarea":
            self._open, self.texts[name] = name, ""
        if tag == "button" and name == "decision":
            self.buttons.append(given["value"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.texts[self._open] += data


def _read(response: HttpResponse) -> _Fields:
    fields = _Fields()
    fields.feed(response.content.decode())
    return fields


def hidden(response: HttpResponse) -> dict[str, str]:
    """The hidden fields of a page's answer form, without the one against forgery."""
    return {
        name: value
        for name, value in _read(response).hidden.items()
        if name != "csrfmiddlewaretoken"
    }


def typed(response: HttpResponse) -> dict[str, str]:
    """What stands in a page's text boxes."""
    return {name: text.removeprefix("\n") for name, text in _read(response).texts.items()}


def buttons(response: HttpResponse) -> list[str]:
    """The decisions that a page offers, in their order."""
    return _read(response).buttons


def codes(response: HttpResponse) -> list[str]:
    """The codes of a page's panels."""
    return re.findall(r'data-code="([a-z_]+)"', _without_templates(response))


def onward(response: HttpResponse) -> list[str]:
    """Where the main links of a page lead, those that lead on."""
    return re.findall(r'class="onward" href="([^"]*)"', _without_templates(response))


def words(response: HttpResponse) -> str:
    """What a page says, without its tags."""
    text = re.sub(r"</?(?:a|b|code|span|time)\b[^>]*>", "", _without_templates(response))
    text = re.sub(r"<[^>]*>", " ", text)
    return re.sub(r"\s+", " ", unescape(text))


def _without_templates(response: HttpResponse) -> str:
    return re.sub(r"<template.*?</template>", "", response.content.decode(), flags=re.DOTALL)


def look(client: Client, interrupt: Interrupt) -> HttpResponse:
    """The page of a question."""
    return client.get(f"/interrupts/{interrupt.pk}/")


def send(client: Client, interrupt: Interrupt, form: dict[str, str], **fields: Any) -> HttpResponse:
    """Post an answer with these hidden fields; members replace or add some, None takes one out."""
    data = {name: value for name, value in (form | fields).items() if value is not None}
    return client.post(f"/interrupts/{interrupt.pk}/decide/", data)


def answer(client: Client, interrupt: Interrupt, **fields: Any) -> HttpResponse:
    """Open the page of a question and post an answer from it."""
    return send(client, interrupt, hidden(look(client, interrupt)), **fields)
