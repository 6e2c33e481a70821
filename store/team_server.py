"""Connect to a team server, call its functions, and set it up.

A URL contains only user, host, port and database. The password comes from PGPASSWORD, `~/.pgpass` or a service file of
PostgreSQL. A server on another machine needs a verified certificate.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.model.sanitize import clip, sanitize

if TYPE_CHECKING:
    from psycopg import Connection

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = 5432
CONNECT_SECONDS = 10
URL_FORM = "postgresql://USER@HOST:PORT/DATABASE"
SCHEMA_VERSION = 1  # version of team_schema.sql and team_functions.sql in this version of fcreview
ROLES = ("annotator", "adjudicator", "lead", "none")
REVEAL_RULES = ("closed", "own", "never")
STATEMENT_SECONDS = 60
_MAX_ERROR = 300
_OWN_ERRORS = "FC"  # SQLSTATE class of team_functions.sql. Its messages are for the user.


class AddressError(FcreviewError):
    """Raised for a URL that is not the address of a team server. The message states what to change."""

    exit_code = EXIT_USAGE_ERROR


@dataclass(frozen=True, slots=True)
class ServerAddress:
    host: str  # host name, IP address or folder of a Unix socket
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
        """Return the parameters of libpq, which take precedence over its environment variables and service files. With
        them, libpq never sends a password in clear text or as MD5, even if the server asks for it."""
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
    Raises AddressError if a part is missing, or if the URL contains anything else, such as a password or options."""
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
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise AddressError(f"the port of the URL must be a number from 1 to 65535. Use {URL_FORM}")
    return host, int(port or DEFAULT_PORT)


class TeamError(FcreviewError):
    """Raised when a team server refuses a request. The message states the reason."""


class UnreachableError(TeamError):
    """Raised when the server cannot be reached or the connection was lost. The request can be repeated."""


class MissingPackageError(TeamError):
    exit_code = EXIT_USAGE_ERROR


@dataclass(frozen=True, slots=True)
class Membership:
    project: str
    annotator: str
    role: str
    reveal: str
    has_joined: bool


@dataclass(frozen=True, slots=True)
class Member:
    annotator: str
    role: str
    has_joined: bool
    n_lines: int


@dataclass(frozen=True, slots=True)
class PulledLine:
    """A journal line from the server, not verified yet."""

    annotator: str
    is_informed: bool  # whether the annotator could see other reviews of the item when the server received the line
    body: bytes


@dataclass(frozen=True, slots=True)
class RunDigest:
    annotator: str
    run: str
    n_items: int
    golden: str  # digest of the golden answers
    predictions: str  # digest of the predictions


class TeamServer:
    """An open connection. Every request is a separate transaction."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    @classmethod
    def connect(cls, address: ServerAddress, password: str | None = None) -> TeamServer:
        """Connect and check the version of the server's functions. Without `password`, libpq looks for it in
        PGPASSWORD, a service file and `~/.pgpass`. Raises UnreachableError or TeamError."""
        server = cls(open_connection(address, password))
        try:
            version = server._fetch("SELECT fcreview.schema_version()")[0][0]
        except TeamError as error:
            server.close()
            if isinstance(error, UnreachableError):
                raise
            raise TeamError(f"{address} is not a team server, or {address.user} is not a member ({error})") from None
        if version != SCHEMA_VERSION:
            server.close()
            advice = "Update fcreview" if version > SCHEMA_VERSION else "Its administrator must run team create again"
            raise TeamError(f"the server has version {version}, this program needs version {SCHEMA_VERSION}. {advice}")
        return server

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> TeamServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch_membership(self) -> Membership:
        return Membership(*self._fetch("SELECT * FROM fcreview.whoami()")[0])

    def invite(self, annotator: str, role: str) -> tuple[str, str] | None:
        """Add a member or change a role. Return the login and one-time password, or None after the member joined."""
        password, verifier = make_password(self._connection)
        login = self._fetch("SELECT fcreview.invite(%s, %s, %s)", annotator, role, verifier)[0][0]
        return None if login is None else (login, password)

    def replace_password(self, password: str) -> None:
        """Replace the one-time password by a password that the member chose."""
        self._fetch("SELECT fcreview.accept(%s)", _make_verifier(self._connection, password))

    def push(self, lines: Sequence[bytes]) -> dict[int, str]:
        """Send journal lines. Returns the reasons of the lines that the server refused, by position in `lines`."""
        rows = self._fetch("SELECT place, reason FROM fcreview.push(%b::bytea[])", list(lines))
        return {place - 1: str(reason) for place, reason in rows}

    def pull(self, cursor: str) -> tuple[str, list[PulledLine]]:
        """Fetch the lines that are new since `cursor` (empty for all), and the next cursor."""
        while self._fetch("SELECT fcreview.settle()")[0][0]:
            pass
        first, *rows = self._fetch("SELECT next, annotator, informed, body FROM fcreview.pull(%s)", cursor)
        return str(first[0]), [PulledLine(str(name), bool(informed), bytes(body)) for _, name, informed, body in rows]

    def find_missing(self, hashes: Sequence[str]) -> set[str]:
        """Return the hashes of the given lines that the server does not have."""
        return {row[0] for row in self._fetch("SELECT fcreview.missing(%s)", list(hashes))} if hashes else set()

    def fetch_members(self) -> list[Member]:
        return [Member(*row) for row in self._fetch("SELECT * FROM fcreview.members()")]

    def fetch_blocking_transactions(self) -> list[tuple[str, str, int]]:
        """Return (process, login, seconds) of transactions that hold back the delivery of newer lines."""
        rows = self._fetch("SELECT * FROM fcreview.holders()")
        return [(str(what), str(login), seconds) for what, login, seconds in rows]

    def assign_queue(self, name: str, body: bytes, shares: str) -> None:
        """Save a queue file. `shares` is the JSON that `fcreview.assign` expects."""
        self._fetch("SELECT fcreview.assign(%s, %b, %s)", name, body, shares)

    def fetch_queues(self) -> list[tuple[str, bytes]]:
        return [(str(name), bytes(body)) for name, body in self._fetch("SELECT name, body FROM fcreview.queues()")]

    def report_datasets(self, runs: str) -> None:
        self._fetch("SELECT fcreview.report_datasets(%s)", runs)

    def fetch_datasets(self) -> list[RunDigest]:
        return [RunDigest(*row) for row in self._fetch("SELECT * FROM fcreview.datasets()")]

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with translate_errors():
            return self._connection.execute(sql.encode(), values, binary=True).fetchall()


def open_connection(address: ServerAddress, password: str | None = None) -> Connection[Any]:
    """Connect in autocommit mode, so that fcreview leaves no transaction open. Raises UnreachableError or TeamError."""
    psycopg = load_driver()
    parameters = address.to_connection_parameters()
    if psycopg.pq.version() < 160000:
        raise TeamError("the PostgreSQL client library is older than version 16. Install psycopg[binary] again")
    if password is not None:
        parameters["password"] = password
    with translate_errors(str(address)):
        connection: Connection[Any] = psycopg.connect(**parameters, autocommit=True)
        connection.execute(f"SET statement_timeout = '{STATEMENT_SECONDS}s'")
    return connection


def load_driver() -> Any:
    """Import psycopg. Raises MissingPackageError if it is not installed."""
    try:
        import psycopg
    except ImportError:
        raise MissingPackageError("team commands need psycopg. Install it with: pip install 'fcreview[team]'") from None
    return psycopg


@contextmanager
def translate_errors(address: str = "") -> Iterator[None]:
    """Convert errors of psycopg to TeamError with the first line of the server's message."""
    psycopg = load_driver()
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or ""
        first = str(error.diag.message_primary or error).partition("\n")[0].removeprefix("connection failed: ")
        text = clip(sanitize(first), _MAX_ERROR)
        if "no password supplied" in text:
            text = f"no password found for {address}. Set PGPASSWORD, or add it to ~/.pgpass"
        is_broken = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        if is_broken and not state.startswith(_OWN_ERRORS):
            raise UnreachableError(text) from None
        raise TeamError(text) from None


def make_password(connection: Connection[Any]) -> tuple[str, str]:
    """Return a random password and its SCRAM verifier."""
    password = secrets.token_urlsafe(12)
    return password, _make_verifier(connection, password)


def _make_verifier(connection: Connection[Any], password: str) -> str:
    """Return the SCRAM verifier of a password, so that the server and its logs never see the password."""
    return connection.pgconn.encrypt_password(password.encode(), b"unused", b"scram-sha-256").decode()


MIGRATIONS = ("team_schema.sql",)  # SQL files that upgrade the tables by one version each, up to `SCHEMA_VERSION`
_PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")
_LOCK = 0x66637265  # advisory lock, so that two administrators do not create the tables at the same time
_ROLES = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_owner') THEN CREATE ROLE fcreview_owner; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_member') THEN CREATE ROLE fcreview_member; END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'fcreview_inviter') THEN
        CREATE ROLE fcreview_inviter CREATEROLE;
    END IF;
END $$;
ALTER ROLE fcreview_owner NOLOGIN;
ALTER ROLE fcreview_member NOLOGIN;
ALTER ROLE fcreview_inviter NOLOGIN;
GRANT fcreview_member TO fcreview_inviter WITH ADMIN OPTION;
GRANT pg_read_all_stats TO fcreview_owner;
CREATE SCHEMA IF NOT EXISTS fcreview;
"""
_OWNERS = """
DO $$ DECLARE command text; BEGIN
    FOR command IN
        SELECT 'ALTER TABLE ' || oid::regclass || ' OWNER TO fcreview_owner' FROM pg_class
            WHERE relnamespace = 'fcreview'::regnamespace AND relkind = 'r'
        UNION ALL SELECT 'ALTER FUNCTION ' || oid::regprocedure || ' OWNER TO '
                || CASE proname WHEN 'set_login' THEN 'fcreview_inviter' ELSE 'fcreview_owner' END
            FROM pg_proc WHERE pronamespace = 'fcreview'::regnamespace
        UNION ALL SELECT 'ALTER SCHEMA fcreview OWNER TO fcreview_owner'
    LOOP EXECUTE command; END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION fcreview.set_login TO fcreview_owner;
"""


def create_team(address: ServerAddress, project: str, lead: str, reveal: str) -> tuple[str, str, list[str]]:
    """Create or upgrade the tables and functions, and create a project. Return the lead's login and one-time password,
    and warnings about the server. Raises TeamError if the project exists, or if the user lacks the privileges."""
    if not _PROJECT_NAME.fullmatch(project):
        raise TeamError(f"invalid project name {project!a}: use lower-case letters, digits, - and _, at most 30")
    with open_connection(address) as connection, translate_errors():
        with connection.transaction():
            upgrade_schema(connection)
        password, verifier = make_password(connection)
        values = (project, reveal, lead, verifier)
        login = str(connection.execute("SELECT fcreview.create_project(%s, %s, %s, %s)", values).fetchall()[0][0])
        return login, password, _find_weak_access_rules(connection)


def _find_weak_access_rules(connection: Connection[Any]) -> list[str]:
    """Describe the lines of pg_hba.conf that allow a login without SCRAM. Empty if the user may not read the file."""
    import psycopg

    try:
        rows = connection.execute(
            "SELECT line_number, type, auth_method FROM pg_hba_file_rules"
            " WHERE auth_method IN ('trust', 'password', 'md5') AND NOT 'replication' = ANY (database)"
        ).fetchall()
    except psycopg.Error:
        return []
    return [f"pg_hba.conf line {number} ({kind}) uses {method}, which is not safe" for number, kind, method in rows]


def upgrade_schema(connection: Connection[Any]) -> None:
    """Upgrade the tables to `SCHEMA_VERSION`, and replace the functions. Raises TeamError for a newer server."""
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    row = connection.execute("SELECT to_regclass('fcreview.migration') IS NOT NULL").fetchone()
    version = 0
    if row is not None and row[0]:
        version = connection.execute("SELECT max(version) FROM fcreview.migration").fetchall()[0][0]
    if version > SCHEMA_VERSION:
        raise TeamError(f"the server has version {version}, newer than version {SCHEMA_VERSION}. Update fcreview")
    connection.execute(_ROLES)
    for number, name in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(_read_sql(name))
        connection.execute("INSERT INTO fcreview.migration (version) VALUES (%s)", [number])
    connection.execute(_read_sql("team_functions.sql"))
    connection.execute(_OWNERS)


def _read_sql(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
