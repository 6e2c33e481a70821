"""Parse the address of a team server, and build the connection parameters.

A URL contains only user, host, port and database. The password comes from PGPASSWORD, `~/.pgpass` or a service file of
PostgreSQL. A server on another machine needs a verified certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = 5432
CONNECT_SECONDS = 10
URL_FORM = "postgresql://USER@HOST:PORT/DATABASE"


class AddressError(FcreviewError):
    """Raised for a URL that is not the address of a team server. The message states what to change."""

    exit_code = EXIT_USAGE_ERROR


@dataclass(frozen=True, slots=True)
class ServerAddress:
    host: str
    """Host name, IP address or folder of a Unix socket."""
    port: int
    database: str
    user: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else quote(self.host, safe=".-_")
        return f"postgresql://{quote(self.user, safe='.-_')}@{host}:{self.port}/{quote(self.database, safe='.-_')}"

    @property
    def is_local(self) -> bool:
        """Whether the server is reached over a Unix socket or the loopback interface."""
        return self.host.startswith("/") or self.host in LOOPBACK_HOSTS

    def with_user(self, user: str) -> ServerAddress:
        return ServerAddress(self.host, self.port, self.database, user)

    def to_connection_parameters(self) -> dict[str, Any]:
        """Return the parameters of libpq. They take precedence over its environment variables and service files.

        With these parameters, libpq never sends a password in clear text or as MD5, even if the server asks for it.
        """
        parameters = {
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "user": self.user,
            "connect_timeout": CONNECT_SECONDS,
            "application_name": "fcreview",
            "gssencmode": "disable",
            "keepalives_idle": CONNECT_SECONDS,
            "tcp_user_timeout": 1000 * CONNECT_SECONDS,
        }
        if self.is_local:
            return parameters | {"require_auth": "scram-sha-256,none"}
        return parameters | {"sslmode": "verify-full", "require_auth": "scram-sha-256"}


def parse_server_url(url: str) -> ServerAddress:
    """Parse `postgresql://USER@HOST:PORT/DATABASE`. The port is optional. A socket folder is URL-encoded: `%2Ftmp`.

    Raises: AddressError if a part is missing, or if the URL contains anything else, such as a password or options.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres"):
        raise AddressError(f"not the URL of a PostgreSQL server. Use {URL_FORM}")
    if "?" in rest or "#" in rest:
        raise AddressError(f"the URL has options, which fcreview does not accept. Use {URL_FORM}")
    authority, _, database = rest.partition("/")
    user, _, place = authority.rpartition("@")
    if ":" in user:
        raise AddressError(
            "the URL has a password. Remove it, and put the password into ~/.pgpass or the variable PGPASSWORD"
        )
    host, port = _split_port(place)
    parts = [unquote(part) for part in (host, database, user)]
    if not all(parts) or "/" in database or "," in host or any(not c.isprintable() for part in parts for c in part):
        raise AddressError(f"the URL needs a user, a host and a database: {URL_FORM}")
    return ServerAddress(parts[0], port, parts[1], parts[2])


def _split_port(place: str) -> tuple[str, int]:
    """Split `host:port`, also with an IPv6 address in brackets."""
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise AddressError(f"the port of the URL must be a number from 1 to 65535. Use {URL_FORM}")
    return host, int(port or DEFAULT_PORT)
