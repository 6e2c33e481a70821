"""Checks of requests before anything answers them, and the security headers of answers."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from fcreview.cli.errors import UsageError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, browsers send the origin of forms as `null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
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
    """Return the origin of a URL such as `https://review.example.org`.

    Raises: UsageError for a URL with a path, or without TLS unless it leads to this machine.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise UsageError(f"invalid --url {url!a}: pass the scheme and host, such as https://review.example.org")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(f"--url {url} is not encrypted: browsers must use https, by --tls-cert or through a proxy")
    return format_origin(parts.scheme, parts.hostname, port or DEFAULT_PORTS[parts.scheme])


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    """Origins at which browsers reach the server, such as `http://localhost:8000`.

    Without the check of Host, a page could reach the server under a name of its own (DNS rebinding). Without the check
    of Origin, any page in the browser could open the websocket with the cookie of a login.
    """

    origins: frozenset[str]

    def has_host(self, request: web.Request) -> bool:
        hosts = request.headers.getall(hdrs.HOST, [])
        return len(hosts) == 1 and hosts[0].lower() in {origin.partition("://")[2] for origin in self.origins}

    def has_origin(self, request: web.Request, *, is_required: bool) -> bool:
        """Whether the request comes from a page of this server. Browsers send no Origin with the address line."""
        origins = request.headers.getall(hdrs.ORIGIN, [])
        if not origins:
            return not is_required
        return len(origins) == 1 and origins[0].lower() in self.origins


def is_from_other_site(request: web.Request) -> bool:
    """Whether the browser says that another site caused the request."""
    return request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")


def make_guard(allowed: AllowedOrigins) -> Middleware:
    """Create the middleware that refuses requests with another Host or Origin.

    A link on another site may lead to the page, which shows the login. All other requests come from the page.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        is_page = request.method in (hdrs.METH_GET, hdrs.METH_HEAD) and request.path == "/"
        changes = request.method == hdrs.METH_POST or request.path == "/ws"
        if not allowed.has_host(request):
            raise web.HTTPMisdirectedRequest(text="Unknown host. Start fcreview serve with --url URL.\n")
        if not allowed.has_origin(request, is_required=changes) or (is_from_other_site(request) and not is_page):
            raise web.HTTPForbidden(text="Requests from other sites are refused.\n")
        return await handler(request)

    return guard


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers[hdrs.SERVER] = "fcreview"
