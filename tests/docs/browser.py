"""A person at a browser without JavaScript: signs in, opens pages, posts their forms."""

import re
from dataclasses import dataclass, field
from html import unescape
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, build_opener

_FORM = re.compile(r"<form\b(?P<attributes>[^>]*)>(?P<inside>.*?)</form>", re.DOTALL)
_HIDDEN = re.compile(r"<input\b[^>]*type=[\"']?hidden[^>]*>")
_CODE = re.compile(r'data-code="([a-z_]+)"')


def _opener() -> OpenerDirector:
    return build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it came: where, with which status, and its text."""

    path: str
    status: int
    text: str

    @property
    def codes(self) -> list[str]:
        """The codes of what it shows or keeps ready to be shown, refusals among them."""
        return _CODE.findall(self.text)

    def form(self, action: str) -> dict[str, str]:
        """The hidden fields of the form that goes to an address with this end."""
        for found in _FORM.finditer(self.text):
            where = _attribute(found["attributes"], "action").partition("#")[0] or self.path
            if where.endswith(action):
                fields = _HIDDEN.findall(found["inside"])
                return {_attribute(tag, "name"): _attribute(tag, "value") for tag in fields}
        raise AssertionError(f"{self.path} has no form that goes to {action}")


@dataclass(slots=True)
class Browser:
    """One person's session."""

    address: str
    _opener: OpenerDirector = field(default_factory=_opener)

    def sign_in(self, name: str, password: str) -> None:
        """Sign in as a person does."""
        fields = self.open("/login/").form("/login/")
        page = self.post("/login/", {**fields, "login": name, "password": password})
        assert page.status == 200, page.text

    def open(self, path: str) -> Page:
        """Open a page of the site."""
        return self._ask(path, None)

    def answer(self, page: Page, decision: str, reason: str = "") -> Page:
        """Post the form of a question's page as it was when it was opened."""
        fields = page.form("/decide/")
        return self.post(f"{page.path}decide/", {**fields, "decision": decision, "reason": reason})

    def post(self, path: str, fields: dict[str, str]) -> Page:
        """Post a form and follow where it leads."""
        return self._ask(path, urlencode(fields).encode())

    def _ask(self, path: str, body: bytes | None) -> Page:
        try:
            with self._opener.open(f"{self.address}{path}", body, timeout=30) as reply:
                return Page(path, reply.status, reply.read().decode())
        except HTTPError as error:
            return Page(path, error.code, error.read().decode())


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return unescape(found[1]) if found else ""
