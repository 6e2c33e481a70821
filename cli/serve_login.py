"""Log in annotators, by a password or by the header of a proxy, and refuse requests from other
sites and hosts.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass, field, replace
from html import escape
from ipaddress import ip_address
from pathlib import Path
from string import Template
from time import monotonic
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

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
    " 'unsafe-inline'; font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action"
    " 'self'; base-uri 'none'; frame-ancestors 'none'",
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
MAX_FORM_BYTES = 16_384
MAX_FORM_FIELDS = 10
FORM_SECONDS = 10.0  # seconds for which the server waits for the form
INVALID_FORM = "The login form is not valid. Reload the page to log in.\n"


@dataclass(frozen=True, slots=True)
class LoginFailure:
    message: str
    status: int


LOGIN_FAILURES = {
    "wrong": LoginFailure("Wrong name or password.", status=401),
    "limited": LoginFailure("Too many attempts. Wait five minutes and try again.", status=429),
}
"""Failures by the value of the query parameter `login`."""


def is_loopback_host(host: str) -> bool:
    """Whether only programs on this machine can reach the address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def format_origin(scheme: str, host: str, port: int) -> str:
    """Format an origin as browsers send it, without the default port."""
    is_ipv6_address = ":" in host and not host.startswith("[")
    name = f"[{host}]" if is_ipv6_address else host
    origin = f"{scheme}://{name.lower()}"
    if port == DEFAULT_PORTS[scheme]:
        return origin
    return f"{origin}:{port}"


def parse_origin(url: str) -> str:
    """Return the origin of a URL, which is its scheme, host and port: `https://review.example.org`.

    Raises UsageError for a URL with a path, and for `http` unless the host is this machine.
    """
    invalid_url = UsageError(
        f"invalid --url {url!a}: pass the scheme and host, such as https://review.example.org"
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise invalid_url from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise invalid_url
    if parts.path not in ("", "/") or parts.query:
        raise invalid_url

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
        """Whether the header Host, of which there is one, has the host of an allowed origin."""
        hosts = request.headers.getall(hdrs.HOST, [])
        if len(hosts) != 1:
            return False
        allowed_hosts = {origin.partition("://")[2] for origin in self.origins}
        return hosts[0].lower() in allowed_hosts

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
    """Create the middleware that refuses requests which pages of other sites send.

    A browser sends the cookie of the login with such requests, so they could act for the annotator.
    Requests with a Host or Origin that is not in `allowed` are refused too.
    """

    @web.middleware
    async def refuse_foreign_origin(request: web.Request, handler: Handler) -> web.StreamResponse:
        # Another site may contain a link to the page, because opening it changes nothing.
        is_page = request.method in (hdrs.METH_GET, hdrs.METH_HEAD) and request.path == "/"
        can_change_data = request.method == hdrs.METH_POST or request.path == "/ws"
        is_refused_site = is_from_other_site(request) and not is_page

        if not allowed.is_host_allowed(request):
            text = (
                "This address is not an address of the server. Start fcreview serve with --url"
                " URL.\n"
            )
            raise web.HTTPMisdirectedRequest(text=text)
        is_origin_allowed = allowed.is_origin_allowed(request, is_header_required=can_change_data)
        if not is_origin_allowed or is_refused_site:
            raise web.HTTPForbidden(text="fcreview refuses requests from other sites.\n")
        return await handler(request)

    return refuse_foreign_origin


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers[hdrs.SERVER] = "fcreview"


class Login(Protocol):
    def identify_annotator(self, request: web.Request) -> str | None:
        """Return the annotator who sends the request, or None without a login.

        A login lasts longer after each request.
        """

    def find_annotator(self, request: web.Request) -> str | None:
        """Return the same as `identify_annotator`, without making the login last longer."""

    async def wait_for_change(self, seconds: float) -> None:
        """Wait until an annotator logs out, or at most for so many seconds."""

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
    # Value of `X-Fcreview-Secret`. None on a Unix socket that only its owner can use.
    secret: str | None = None

    def identify_annotator(self, request: web.Request) -> str | None:
        return self.find_annotator(request)

    def find_annotator(self, request: web.Request) -> str | None:
        """Return the name that the proxy sends, or None if the request does not prove that it is
        the proxy's.
        """
        if not self._has_secret(request):
            return None
        # Several headers could have been added by the browser, before the proxy added its own.
        names = request.headers.getall(self.header, [])
        if len(names) != 1:
            return None
        return _parse_name_or_none(names[0])

    def _has_secret(self, request: web.Request) -> bool:
        """Whether the request contains the secret of the proxy, if there is one."""
        if self.secret is None:
            return True
        secrets_sent = request.headers.getall(SECRET_HEADER, [])
        if len(secrets_sent) != 1:
            return False
        # The time of this comparison does not reveal how much of the secret is right.
        return hmac.compare_digest(_encode_header(secrets_sent[0]), _encode_header(self.secret))

    async def wait_for_change(self, seconds: float) -> None:
        # Only the proxy knows about changes.
        await asyncio.sleep(seconds)

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
    _has_changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when an annotator has logged out."""

    @property
    def cookie_name(self) -> str:
        return f"__Host-{self.cookie_base_name}" if self.is_secure else self.cookie_base_name

    def identify_annotator(self, request: web.Request) -> str | None:
        """Return the annotator who sent a request, and extend the login. None without a valid
        login.
        """
        annotator = self.find_annotator(request)
        if annotator is not None:
            token = self._get_token(request)
            login = self._logins[token]
            self._logins[token] = replace(login, expires=monotonic() + LOGIN_SECONDS)
        return annotator

    def find_annotator(self, request: web.Request) -> str | None:
        """Return the annotator who is logged in with the token of a request, or None.

        A login ends after some time, and when the password is changed.
        """
        token = self._get_token(request)
        login = self._logins.get(token)
        if login is None:
            return None

        is_expired = login.expires < monotonic()
        if is_expired or self.users.find_password_hash(login.annotator) != login.password:
            del self._logins[token]
            return None
        return login.annotator

    async def wait_for_change(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_changed.wait(), seconds)
        self._has_changed.clear()

    def _get_token(self, request: web.Request) -> str:
        return request.cookies.get(self.cookie_name, "")

    def answer_without_login(self, request: web.Request) -> web.Response:
        """Return the login page.

        After a wrong login, the browser is sent to this page with the query `login=wrong`. So it
        can reload the page or go back without sending the form again.
        """
        if is_from_other_site(request):
            # The browser omits the cookie after a link on another site: load the page again.
            return web.Response(
                text='<meta http-equiv="refresh" content="0;url=/">', content_type="text/html"
            )
        failure = LOGIN_FAILURES.get(request.query.get("login", ""))
        if failure is None:
            return _render_login_page()
        return _render_login_page(failure.message, failure.status)

    def list_routes(self) -> list[web.RouteDef]:
        return [web.post("/login", self._log_in), web.post("/logout", self._log_out)]

    async def _log_in(self, request: web.Request) -> web.Response:
        """Check the name and password of the login form, and set the cookie of the login.

        The number of attempts is limited.
        """
        form = await _read_login_form(request)
        annotator = _parse_name_or_none(form.name.strip())
        address = request.remote or ""
        if not self._register_attempt_if_allowed(annotator or "", address):
            return _redirect_to("/?login=limited")

        # An unknown name takes as long as a known one, so that the time reveals nothing.
        password_hash = await self._check_password(annotator or "", form.password)
        if annotator is None or password_hash is None:
            print_message(f"fcreview: a login from {address or 'the socket'} failed")
            return _redirect_to("/?login=wrong")

        self._by_pair.forget_attempts(f"{annotator} {address}")
        response = _redirect_to("/")
        response.set_cookie(
            self.cookie_name,
            self._add_login(annotator, password_hash),
            max_age=LOGIN_SECONDS,
            httponly=True,
            samesite="Strict",
            secure=self.is_secure,
        )
        return response

    async def _check_password(self, name: str, password: str) -> PasswordHash | None:
        """Return the stored hash of a right password; None for a wrong one or an unknown name."""
        async with self._hashing:
            is_right = await asyncio.to_thread(self.users.is_right_password, name, password)
        if not is_right:
            return None
        return self.users.find_password_hash(name)

    def _add_login(self, annotator: str, password: PasswordHash) -> str:
        """Create a login, and return its random token."""
        token = secrets.token_urlsafe(32)
        expires = monotonic() + LOGIN_SECONDS
        self._logins[token] = _ActiveLogin(annotator, password=password, expires=expires)
        while len(self._logins) > MAX_LOGINS:
            oldest = next(iter(self._logins))
            del self._logins[oldest]
        return token

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
        """End the login, and delete the cookie with its token."""
        self._logins.pop(self._get_token(request), None)
        self._has_changed.set()
        response = _redirect_to("/")
        response.del_cookie(
            self.cookie_name, secure=self.is_secure, httponly=True, samesite="Strict"
        )
        return response


@dataclass(frozen=True, slots=True)
class _LoginForm:
    name: str
    password: str


async def _read_login_form(request: web.Request) -> _LoginForm:
    """Read the name and the password that the login page sends. A missing field is empty.

    Raises: HTTPBadRequest if the request is not such a form, HTTPRequestTimeout if the browser does
    not send the form in time.
    """
    if request.content_type != "application/x-www-form-urlencoded":
        raise web.HTTPBadRequest(text=INVALID_FORM)
    try:
        async with asyncio.timeout(FORM_SECONDS):
            body = await request.read()
        fields = parse_qs(body.decode("utf-8"), errors="strict", max_num_fields=MAX_FORM_FIELDS)
    except TimeoutError:
        raise web.HTTPRequestTimeout(text=INVALID_FORM) from None
    except (ValueError, web.RequestPayloadError):
        raise web.HTTPBadRequest(text=INVALID_FORM) from None

    names = fields.get("name", [""])
    passwords = fields.get("password", [""])
    if len(names) != 1 or len(passwords) != 1:
        raise web.HTTPBadRequest(text=INVALID_FORM)
    return _LoginForm(names[0], passwords[0])


def _render_login_page(message: str = "", status: int = 200) -> web.Response:
    page = Template((PAGES / "login.html").read_text("utf-8")).substitute(message=escape(message))
    return web.Response(text=page, content_type="text/html", status=status)


def _redirect_to(path: str) -> web.Response:
    """Make the browser get another page, which it can reload without sending the form again."""
    return web.Response(status=303, headers={"Location": path})
