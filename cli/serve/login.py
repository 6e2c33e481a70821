"""Who sends a request: an annotator who logged in with a password, or one whom a proxy names in a header."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from string import Template
from time import monotonic
from typing import Protocol

from aiohttp import web

from fcreview.cli.output import print_message
from fcreview.cli.serve.request_checks import is_from_other_site, is_loopback
from fcreview.cli.serve.users import AttemptLimiter, PasswordHash, UsersFile
from fcreview.store.workspace import AnnotatorError, check_annotator

LOGIN_SECONDS = 12 * 3600
"""Seconds without a request or a key after which an annotator has to log in again."""
MAX_LOGINS = 10_000
SECRET_HEADER = "X-Fcreview-Secret"  # noqa: S105 - the name of a header
PAGES = Path(__file__).parent / "static"
WRONG_LOGIN = "Wrong name or password."
TOO_MANY_ATTEMPTS = "Too many attempts. Wait five minutes and try again."


class Login(Protocol):
    def identify(self, request: web.Request) -> str | None:
        """Return the annotator who sends the request. None if nobody is logged in."""

    def refuse(self, request: web.Request) -> web.Response:
        """Answer a request for the page without a login."""

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the login."""


@dataclass(frozen=True, slots=True)
class HeaderLogin:
    """The annotator is in a header that a proxy sets. Only the proxy can connect, or it sends a secret with it."""

    header: str
    secret: str | None = None
    """Secret that `X-Fcreview-Secret` must contain. None on a Unix socket that only its owner can use."""

    def identify(self, request: web.Request) -> str | None:
        if self.secret is not None:
            sent = request.headers.getall(SECRET_HEADER, [])
            if len(sent) != 1 or not hmac.compare_digest(_to_bytes(sent[0]), _to_bytes(self.secret)):
                return None
        names = request.headers.getall(self.header, [])
        return _valid_name(names[0]) if len(names) == 1 else None

    def refuse(self, request: web.Request) -> web.Response:  # noqa: ARG002
        text = f"No valid annotator name in the header {self.header}, or a wrong {SECRET_HEADER}.\n"
        return web.Response(status=403, text=text)

    def routes(self) -> list[web.RouteDef]:
        return []


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _valid_name(name: str) -> str | None:
    try:
        return check_annotator(name)
    except AnnotatorError:
        return None


@dataclass(frozen=True, slots=True)
class _LoggedIn:
    annotator: str
    password: PasswordHash
    """Hash at the login. A login ends when the password changes or the user is removed."""
    expires: float


@dataclass(slots=True)
class PasswordLogin:
    """Login form with the users file. A random cookie identifies a login. Logins are stored in memory only."""

    users: UsersFile
    cookie: str
    is_secure: bool
    """Whether browsers use HTTPS, so that the cookie is sent over HTTPS only."""
    _logins: dict[str, _LoggedIn] = field(default_factory=dict)
    _by_pair: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(5))
    """Attempts by name and address, so that nobody can lock out an annotator at another address."""
    _by_name: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(50))
    _by_address: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(20))
    _hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Limits the memory and processors that logins use at a time."""

    @property
    def cookie_name(self) -> str:
        return f"__Host-{self.cookie}" if self.is_secure else self.cookie

    def identify(self, request: web.Request) -> str | None:
        token = request.cookies.get(self.cookie_name, "")
        login = self._logins.get(token)
        if login is None:
            return None
        if login.expires < monotonic() or self.users.find(login.annotator) != login.password:
            del self._logins[token]
            return None
        self._logins[token] = replace(login, expires=monotonic() + LOGIN_SECONDS)
        return login.annotator

    def refuse(self, request: web.Request) -> web.Response:
        if is_from_other_site(request):  # a link on another site: the browser omits the cookie this once
            return web.Response(text='<meta http-equiv="refresh" content="0;url=/">', content_type="text/html")
        return self._login_page()

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/login", self._log_in), web.post("/logout", self._log_out)]

    def _login_page(self, message: str = "", status: int = 200) -> web.Response:
        page = Template((PAGES / "login.html").read_text("utf-8")).substitute(message=escape(message))
        return web.Response(text=page, content_type="text/html", status=status)

    async def _log_in(self, request: web.Request) -> web.Response:
        form = await request.post()
        name, password = (each if isinstance(each := form.get(key), str) else "" for key in ("name", "password"))
        annotator, address = _valid_name(name.strip()), request.remote or ""
        if not self._allow_attempt(annotator or "", address):
            return self._login_page(TOO_MANY_ATTEMPTS, 429)
        async with self._hashing:
            is_right = await asyncio.to_thread(self.users.verify, annotator or "", password)
        known = self.users.find(annotator or "")
        if annotator is None or not is_right or known is None:
            print_message(f"fcreview: failed login from {address or 'the socket'}")
            return self._login_page(WRONG_LOGIN, 401)
        self._by_pair.forget(f"{annotator} {address}")
        token = secrets.token_urlsafe(32)
        self._logins[token] = _LoggedIn(annotator, known, monotonic() + LOGIN_SECONDS)
        while len(self._logins) > MAX_LOGINS:
            del self._logins[next(iter(self._logins))]
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            self.cookie_name, token, max_age=LOGIN_SECONDS, httponly=True, samesite="Strict", secure=self.is_secure
        )
        return response

    def _allow_attempt(self, name: str, address: str) -> bool:
        """Count an attempt before the password is checked, so that parallel attempts count as well.

        The address of a proxy on this machine stands for many people, so it has no limit of its own.
        """
        allowed = [self._by_pair.acquire(f"{name} {address}"), self._by_name.acquire(name)]
        if address and not is_loopback(address):
            allowed.append(self._by_address.acquire(address))
        return all(allowed)

    async def _log_out(self, request: web.Request) -> web.Response:
        self._logins.pop(request.cookies.get(self.cookie_name, ""), None)
        response = web.Response(status=303, headers={"Location": "/"})
        response.del_cookie(self.cookie_name, secure=self.is_secure, httponly=True, samesite="Strict")
        return response
