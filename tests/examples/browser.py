"""A person with a browser that knows no JavaScript: cookies, pages, forms."""

import re
from http.cookiejar import CookieJar
from typing import Self
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


class Browser:
    """Signs in and fills in forms; `at` is the address of the page that is open."""

    def __init__(self) -> None:
        self._opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self.at = ""

    @classmethod
    def of(cls, site: str, name: str, password: str) -> Self:
        """The browser of a person who has signed in."""
        browser = cls()
        form = hidden(browser.open(f"{site}/login/")[1])
        browser.open(f"{site}/login/", {**form, "login": name, "password": password})
        return browser

    def open(self, url: str, form: dict[str, str] | None = None) -> tuple[int, str]:
        """Follow a link, or post a form; the status and the page."""
        body = None if form is None else urlencode(form).encode()
        try:
            with self._opener.open(Request(url, body), timeout=20) as page:
                self.at = str(page.url)
                return page.status, page.read().decode()
        except HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()


def hidden(page: str) -> dict[str, str]:
    """What a page's forms hold beside what a person fills in."""
    return dict(HIDDEN.findall(page))
