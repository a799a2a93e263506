"""A person's browser without a screen: signs in, opens questions, posts the forms they hold."""

import re
from dataclasses import dataclass, field
from html import unescape
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

_HIDDEN = re.compile(r'<input type="hidden" name="([a-z_0-9]+)" value="([^"]*)"')
_CODE = re.compile(r'data-code="([a-z_]+)"')


@dataclass(frozen=True, slots=True)
class Told:
    """What a page answered: its status, and the code of its refusal, "" where there is none."""

    status: int
    code: str


@dataclass(slots=True)
class Person:
    """One person at a site, with a session of their own."""

    address: str
    name: str
    password: str
    _cookies: CookieJar = field(default_factory=CookieJar)
    _opener: OpenerDirector = field(init=False)

    def __post_init__(self) -> None:
        self._opener = build_opener(HTTPCookieProcessor(self._cookies))

    def sign_in(self) -> None:
        """Sign in as everybody does, through the page."""
        form = self._hidden("/login/")
        self._post("/login/", {**form, "login": self.name, "password": self.password})

    def form_of(self, interrupt_id: str) -> dict[str, str]:
        """The hidden fields of a question's form as it is shown now."""
        return self._hidden(f"/interrupts/{interrupt_id}/")

    def post(
        self, interrupt_id: str, form: dict[str, str], decision: str, reason: str = ""
    ) -> Told:
        """Post an answer with these hidden fields, of this showing or of any other."""
        return self._post(
            f"/interrupts/{interrupt_id}/decide/",
            {**form, "decision": decision, "reason": reason},
        )

    def answer(self, interrupt_id: str, decision: str, reason: str = "") -> Told:
        """Look at a question and answer it."""
        return self.post(interrupt_id, self.form_of(interrupt_id), decision, reason)

    def cancel(self, run_id: str) -> Told:
        """Stop a run from its page."""
        form = self._hidden(f"/runs/{run_id}/")
        return self._post(f"/runs/{run_id}/cancel/", {**form, "reason": "no longer needed"})

    def _hidden(self, path: str) -> dict[str, str]:
        with self._opener.open(self.address + path, timeout=30) as page:
            return {name: unescape(text) for name, text in _HIDDEN.findall(page.read().decode())}

    def _post(self, path: str, form: dict[str, str]) -> Told:
        tokens = {c.value or "" for c in self._cookies if c.name == "csrftoken"}
        form = {**form, "csrfmiddlewaretoken": tokens.pop()}
        request = Request(self.address + path, urlencode(form).encode())
        request.add_header("Referer", self.address + path)
        try:
            with self._opener.open(request, timeout=30) as page:
                return Told(page.status, "")
        except HTTPError as error:
            code = _CODE.search(error.read().decode())
            return Told(error.code, code[1] if code else "")
