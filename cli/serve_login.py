"""Log in annotators, by a password or by the header of a proxy, and refuse requests from other
sites and hosts.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from dataclasses import dataclass, field, replace
from html import escape
from ipaddress import ip_address
from pathlib import Path
from string import Template
from time import monotonic
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from fcreview.cli.output import print_message
from fcreview.cli.serve_users import AttemptLimiter, PasswordHash, UsersFile
from fcreview.errors import UsageError
from fcreview.store.workspace import AnnotatorError, check_annotator

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'"
    " 'unsafe-inline';"
    " font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri"
    " 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # with `no-referrer`, browsers send the origin of forms as `null`
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# seconds without a request or a key after which an annotator has to log in again
LOGIN_SECONDS = 12 * 3600
MAX_LOGINS = 10_000
SECRET_HEADER = "X-Fcreview-Secret"  # noqa: S105 - the name of a header
PAGES = Path(__file__).parent / "serve_page"
WRONG_LOGIN = "Wrong name or password."
TOO_MANY_ATTEMPTS = "Too many attempts. Wait five minutes and try again."


def is_loopback_host(host: str) -> bool:
    """Whether only programs on this machine can reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def format_origin(scheme: str, host: str, port: int) -> str:
    """Format an origin as browsers send it, without the default port."""
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{scheme}://{name.lower()}" + ("" if port == DEFAULT_PORTS[scheme] else f":{port}")


def parse_origin(url: str) -> str:
    """Return the origin of a URL such as `https://review.example.org`. Raises UsageError for a URL
    with a path, and for `http` unless the host is this machine.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if (
        parts.scheme not in DEFAULT_PORTS
        or not parts.hostname
        or parts.path not in ("", "/")
        or parts.query
    ):
        raise UsageError(
            f"invalid --url {url!a}: pass the scheme and host, such as https://review.example.org"
        )
    if parts.scheme == "http" and not is_loopback_host(parts.hostname):
        raise UsageError(
            f"--url {url} is not encrypted: pass an https URL, with --tls-cert or a proxy that"
            " encrypts"
        )
    return format_origin(parts.scheme, parts.hostname, port or DEFAULT_PORTS[parts.scheme])


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """Origins at which browsers reach the server, such as `http://localhost:8000`.

    Without the check of the header Host, a page on another site could reach the server through that
    site's host name (DNS rebinding). Without the check of Origin, it could open the websocket with
    the cookie of a logged-in annotator.
    """

    origins: frozenset[str]

    def is_host_allowed(self, request: web.Request) -> bool:
        hosts = request.headers.getall(hdrs.HOST, [])
        return len(hosts) == 1 and hosts[0].lower() in {
            origin.partition("://")[2] for origin in self.origins
        }

    def is_origin_allowed(self, request: web.Request, *, is_header_required: bool) -> bool:
        """Whether the header Origin, which browsers add to requests of a page, contains an
        allowed origin.
        """
        origins = request.headers.getall(hdrs.ORIGIN, [])
        if not origins:
            return not is_header_required
        return len(origins) == 1 and origins[0].lower() in self.origins


def is_from_other_site(request: web.Request) -> bool:
    """Whether the browser reports in a header that a page of another site sent the request."""
    return request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")


def make_origin_guard(allowed: AllowedOrigins) -> Middleware:
    """Create the middleware that refuses requests with a Host or Origin that is not in `allowed`,
    and requests that pages of other sites send. Only `/` can be requested from another site,
    because that site may contain a link.
    """

    @web.middleware
    async def refuse_foreign_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_page = request.method in (hdrs.METH_GET, hdrs.METH_HEAD) and request.path == "/"
        changes = request.method == hdrs.METH_POST or request.path == "/ws"
        if not allowed.is_host_allowed(request):
            text = (
                "This address is not an address of the server. Start fcreview serve with --url"
                " URL.\n"
            )
            raise web.HTTPMisdirectedRequest(text=text)
        if not allowed.is_origin_allowed(request, is_header_required=changes) or (
            is_from_other_site(request) and not is_page
        ):
            raise web.HTTPForbidden(text="fcreview refuses requests from other sites.\n")
        return await handler(request)

    return refuse_foreign_origin


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers[hdrs.SERVER] = "fcreview"


class Login(Protocol):
    def identify_annotator(self, request: web.Request) -> str | None:
        """Return the annotator who sends the request, or None without a login."""

    def answer_without_login(self, request: web.Request) -> web.Response:
        """Return the response to a request for the page without a login."""

    def list_routes(self) -> list[web.RouteDef]:
        """Return the routes that this kind of login adds to the server."""


@dataclass(frozen=True, slots=True)
class HeaderLogin:
    """Login by a proxy that sends the annotator's name in a header, and a secret if other
    programs can connect.
    """

    header: str
    secret: str | None = (
        None  # Value of `X-Fcreview-Secret`. None on a Unix socket that only its owner can use.
    )

    def identify_annotator(self, request: web.Request) -> str | None:
        if self.secret is not None:
            sent = request.headers.getall(SECRET_HEADER, [])
            if len(sent) != 1 or not hmac.compare_digest(
                _encode_header(sent[0]), _encode_header(self.secret)
            ):
                return None
        names = request.headers.getall(self.header, [])
        return _parse_name_or_none(names[0]) if len(names) == 1 else None

    def answer_without_login(self, request: web.Request) -> web.Response:  # noqa: ARG002
        text = (
            f"The header {self.header} has no valid annotator name, or the header {SECRET_HEADER}"
            " is wrong.\n"
        )
        return web.Response(status=403, text=text)

    def list_routes(self) -> list[web.RouteDef]:
        return []


def _encode_header(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _parse_name_or_none(name: str) -> str | None:
    try:
        return check_annotator(name)
    except AnnotatorError:
        return None


@dataclass(frozen=True, slots=True)
class _ActiveLogin:
    annotator: str
    # Hash at login. The login ends when the users file has another hash or no such user.
    password: PasswordHash
    expires: float  # value of `time.monotonic()` at which the login ends


@dataclass(slots=True)
class PasswordLogin:
    """Login form with the users file.

    A random cookie identifies a login. Logins are stored in memory only.
    """

    users: UsersFile
    cookie_base_name: str
    is_secure: bool  # whether browsers use HTTPS, so that the cookie is sent over HTTPS only
    _logins: dict[str, _ActiveLogin] = field(default_factory=dict)
    _by_pair: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(5))
    """Attempts by name and address. The limit for a name alone is higher, so that an attacker with
    another address does not quickly lock out the annotator.
    """
    _by_name: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(50))
    _by_address: AttemptLimiter = field(default_factory=lambda: AttemptLimiter(20))
    _hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))
    """Semaphore that limits how many passwords are hashed in parallel, because hashing needs
    much memory.
    """

    @property
    def cookie_name(self) -> str:
        return f"__Host-{self.cookie_base_name}" if self.is_secure else self.cookie_base_name

    def identify_annotator(self, request: web.Request) -> str | None:
        token = request.cookies.get(self.cookie_name, "")
        login = self._logins.get(token)
        if login is None:
            return None
        if (
            login.expires < monotonic()
            or self.users.find_password_hash(login.annotator) != login.password
        ):
            del self._logins[token]
            return None
        self._logins[token] = replace(login, expires=monotonic() + LOGIN_SECONDS)
        return login.annotator

    def answer_without_login(self, request: web.Request) -> web.Response:
        # The browser omits the cookie after a link on another site: load the page again.
        if is_from_other_site(request):
            return web.Response(
                text='<meta http-equiv="refresh" content="0;url=/">', content_type="text/html"
            )
        return self._render_login_page()

    def list_routes(self) -> list[web.RouteDef]:
        return [web.post("/login", self._log_in), web.post("/logout", self._log_out)]

    def _render_login_page(self, message: str = "", status: int = 200) -> web.Response:
        page = Template((PAGES / "login.html").read_text("utf-8")).substitute(
            message=escape(message)
        )
        return web.Response(text=page, content_type="text/html", status=status)

    async def _log_in(self, request: web.Request) -> web.Response:
        form = await request.post()
        name, password = (
            each if isinstance(each := form.get(key), str) else "" for key in ("name", "password")
        )
        annotator, address = _parse_name_or_none(name.strip()), request.remote or ""
        if not self._register_attempt_if_allowed(annotator or "", address):
            return self._render_login_page(TOO_MANY_ATTEMPTS, 429)
        async with self._hashing:
            is_right = await asyncio.to_thread(
                self.users.is_right_password, annotator or "", password
            )
        known = self.users.find_password_hash(annotator or "")
        if annotator is None or not is_right or known is None:
            print_message(f"fcreview: a login from {address or 'the socket'} failed")
            return self._render_login_page(WRONG_LOGIN, 401)
        self._by_pair.forget_attempts(f"{annotator} {address}")
        token = secrets.token_urlsafe(32)
        self._logins[token] = _ActiveLogin(
            annotator, password=known, expires=monotonic() + LOGIN_SECONDS
        )
        while len(self._logins) > MAX_LOGINS:
            del self._logins[next(iter(self._logins))]
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(
            self.cookie_name,
            token,
            max_age=LOGIN_SECONDS,
            httponly=True,
            samesite="Strict",
            secure=self.is_secure,
        )
        return response

    def _register_attempt_if_allowed(self, name: str, address: str) -> bool:
        """Count an attempt and return True, or return False if a limit is reached. Call this before
        the check of the password, so that parallel attempts count, too. An address of this machine
        has no limit, because a proxy may use it for many annotators.
        """
        allowed = [
            self._by_pair.register_if_allowed(f"{name} {address}"),
            self._by_name.register_if_allowed(name),
        ]
        if address and not is_loopback_host(address):
            allowed.append(self._by_address.register_if_allowed(address))
        return all(allowed)

    async def _log_out(self, request: web.Request) -> web.Response:
        self._logins.pop(request.cookies.get(self.cookie_name, ""), None)
        response = web.Response(status=303, headers={"Location": "/"})
        response.del_cookie(
            self.cookie_name, secure=self.is_secure, httponly=True, samesite="Strict"
        )
        return response
