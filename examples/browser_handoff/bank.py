"""A small bank on the web: a login, a session, a form for transfers, and receipts.

It stands for any site that an agent cannot log in to by itself. It knows nothing of Placet. What
it has, and few sites have: it honors the key of a transfer once.
"""

import json
import secrets
from dataclasses import dataclass
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

PASSWORDS = {"alice": "apples", "bob": "bananas"}
BALANCE_CENTS = 100_000


class Books:
    """Accounts, sessions, and transfers by key, kept in a file; a key is honored once."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._sessions: dict[str, str] = {}

    def log_in(self, account: str, password: str) -> str | None:
        """Give the token of a new session, or None where account and password do not fit."""
        if PASSWORDS.get(account) != password:
            return None
        token = secrets.token_urlsafe(16)
        self._sessions[token] = account
        return token

    def account_of(self, token: str) -> str | None:
        """Give whose session this is."""
        return self._sessions.get(token)

    def transfers(self) -> dict[str, Any]:
        """Give all transfers, by key."""
        return json.loads(self._path.read_text()) if self._path.exists() else {}

    def transfer(self, key: str, account: str, payee: str, amount_cents: int) -> str | None:
        """Move money and give the receipt's number; the same again for a key that was honored.

        None where the account does not hold so much.
        """
        with self._lock:
            booked = self.transfers()
            spent = sum(row["amount_cents"] for row in booked.values() if row["from"] == account)
            if key not in booked:
                if amount_cents <= 0 or spent + amount_cents > BALANCE_CENTS:
                    return None
                row = {"from": account, "to": payee, "amount_cents": amount_cents}
                booked[key] = {**row, "receipt": f"R-{len(booked) + 1}"}
                self._path.write_text(json.dumps(booked, indent=2))
            return str(booked[key]["receipt"])


@dataclass(frozen=True, slots=True)
class Bank:
    """The bank at its address."""

    url: str
    books: Books

    @classmethod
    def open(cls, path: Path, port: int = 0) -> "Bank":
        """Serve on this computer alone, in a thread, until the program ends."""
        books = Books(path)
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), lambda *request: Counter(*request, books=books)
        )
        Thread(target=server.serve_forever, daemon=True).start()
        return cls(f"http://127.0.0.1:{server.server_port}", books)


class Counter(BaseHTTPRequestHandler):
    """Answers one request: /login, /transfer, /history, /receipt/<number>."""

    def __init__(self, *request: Any, books: Books) -> None:
        self._books = books
        super().__init__(*request)

    def do_GET(self) -> None:
        """Show a page; without a session, the login."""
        path, account = urlsplit(self.path).path, self._account()
        if path == "/login":
            self._show("Log in", LOGIN, account)
        elif account is None:
            self._lead_to("/login")
        elif path == "/transfer":
            self._show("New transfer", TRANSFER.format(key=secrets.token_hex(16)), account)
        elif path == "/history":
            rows = [row for row in self._books.transfers().values() if row["from"] == account]
            self._show("History", f"<p>{len(rows)} transfers.</p>", account)
        elif path.startswith("/receipt/"):
            number = escape(path.removeprefix("/receipt/"))
            self._show("Receipt", f'<p>Receipt <strong id="receipt">{number}</strong></p>', account)
        else:
            self._show("Nothing here", "", account, status=404)

    def do_POST(self) -> None:
        """Log in, or transfer."""
        account, form = self._account(), self._form()
        if self.path == "/login":
            token = self._books.log_in(form.get("account", ""), form.get("password", ""))
            if token is None:
                self._show("Log in", f"<p>That does not fit.</p>{LOGIN}", None, status=403)
            else:
                self._lead_to("/transfer", cookie=f"session={token}; HttpOnly; SameSite=Strict")
        elif self.path == "/transfer" and account is not None:
            cents = round(float(form["amount"]) * 100)
            receipt = self._books.transfer(form["key"], account, form["payee"], cents)
            if receipt is None:
                self._show("Refused", '<p id="refusal">Not enough money.</p>', account, status=409)
            else:
                self._lead_to(f"/receipt/{receipt}")
        else:
            self._lead_to("/login")

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""

    def _account(self) -> str | None:
        session = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        return self._books.account_of(session.value) if session else None

    def _form(self) -> dict[str, str]:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        return {name: values[0] for name, values in parse_qs(sent).items()}

    def _lead_to(self, path: str, *, cookie: str = "") -> None:
        self.send_response(303)
        self.send_header("Location", path)
        if cookie:
            self.send_header("Set-Cookie", cookie)
        self.end_headers()

    def _show(self, title: str, body: str, account: str | None, status: int = 200) -> None:
        who = f'<p>Logged in as <strong id="account">{account}</strong></p>' if account else ""
        page = f"{HEAD}<title>{title}</title><h1>{title}</h1>{who}{body}".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page)


HEAD = '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width">'
LOGIN = """<form method="post" action="/login">
<p><label>Account <input name="account" autofocus></label></p>
<p><label>Password <input name="password" type="password"></label></p>
<p><button>Log in</button></p></form>"""
TRANSFER = """<form method="post" action="/transfer">
<input type="hidden" name="key" value="{key}">
<p><label>Payee <input name="payee" required></label></p>
<p><label>Amount <input name="amount" required inputmode="decimal"></label></p>
<p><button>Transfer</button></p></form>
<p><a href="/history">History</a></p>"""
