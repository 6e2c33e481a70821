"""Connect to the PostgreSQL server of a team, call its functions, and create its tables.

The URL of a server contains only user, host, port and database. The password comes from PGPASSWORD,
`~/.pgpass` or a PostgreSQL service file. A server on another machine needs a certificate that can
be verified.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.model.json_value import is_string_list
from fcreview.model.sanitize import clip, sanitize
from fcreview.store.reviews.line_order import Place, parse_place

if TYPE_CHECKING:
    from psycopg import Connection

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORT = 5432
CONNECT_SECONDS = 10
URL_FORM = "postgresql://USER@HOST:PORT/DATABASE"
# version of the last file in MIGRATIONS and of team_functions.sql in this version of fcreview
SCHEMA_VERSION = 2
ROLES = ("annotator", "adjudicator", "lead", "none")
# when annotators see the reviews of others, see docs/team.md
REVEAL_RULES = (
    "closed",
    "own",
    "never",
)
STATEMENT_SECONDS = 60
_MAX_ERROR = 300
_OWN_ERRORS = "FC"  # SQLSTATE class of team_functions.sql. Its messages are for the user.


class AddressError(FcreviewError):
    """Raised for a URL that is not the address of a team server.

    The message states what to change.
    """

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
        return ServerAddress(self.host, port=self.port, database=self.database, user=user)

    def to_connection_parameters(self) -> dict[str, Any]:
        """Return the connection parameters for libpq. They take precedence over environment
        variables and service files. With them, libpq never sends a password in clear text or as
        MD5, even if the server asks for it.
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
    """Parse `postgresql://USER@HOST:PORT/DATABASE`. The port is optional. The folder of a Unix
    socket is URL-encoded: `%2Ftmp`. Raises AddressError if a part is missing, or if the URL also
    contains a password or options.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres"):
        raise AddressError(f"the URL is not that of a PostgreSQL server. Use {URL_FORM}")
    if "?" in rest or "#" in rest:
        raise AddressError(
            f"the URL contains options, which fcreview does not accept. Use {URL_FORM}"
        )
    authority, _, database = rest.partition("/")
    user, _, host_and_port = authority.rpartition("@")
    if ":" in user:
        raise AddressError(
            "the URL contains a password. Remove it, and put the password into ~/.pgpass or the"
            " variable PGPASSWORD"
        )
    host, port = _split_host_and_port(host_and_port)
    parts = [unquote(part) for part in (host, database, user)]
    if (
        not all(parts)
        or "/" in database
        or "," in host
        or any(not c.isprintable() for part in parts for c in part)
    ):
        raise AddressError(f"the URL needs a user, a host and a database. Use {URL_FORM}")
    return ServerAddress(parts[0], port=port, database=parts[1], user=parts[2])


def _split_host_and_port(host_and_port: str) -> tuple[str, int]:
    if host_and_port.startswith("["):
        host, _, port = host_and_port[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = host_and_port.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise AddressError(f"the port of the URL must be a number from 1 to 65535. Use {URL_FORM}")
    return host, int(port or DEFAULT_PORT)


class TeamError(FcreviewError):
    """Raised when a team server refuses a request. The message states the reason."""


class UnreachableError(TeamError):
    """Raised when the server cannot be reached or the connection was lost.

    The caller can repeat the request.
    """


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
    """A journal line from the server that has not been verified yet."""

    annotator: str
    # whether the annotator could see other reviews of the item when the server received the line
    is_informed: bool
    body: bytes
    place: Place | None = None  # place of the line in the order of the annotator's lines


class RunDigest(NamedTuple):
    """Digests of a run in a member's workspace, to find members with different data."""

    run: str  # benchmark, version, language and model
    n_items: int
    golden: str  # digest of the golden answers
    predictions: str  # digest of the predictions


class Invitation(NamedTuple):
    login: str
    password: str  # one-time password


class BlockingTransaction(NamedTuple):
    process: str  # such as `process 4711` or `prepared transaction x`
    login: str
    seconds: int  # duration of the transaction until now


class CreatedProject(NamedTuple):
    login: str  # login of the lead
    password: str  # one-time password of the lead
    warnings: list[str]  # one message for each unsafe access rule of the server


RefusalReasons = dict[int, str]  # why the server refused a line, by position in the sent lines


class TeamServer:
    """An open connection to a team server. Every request is a separate transaction."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    @classmethod
    def connect(cls, address: ServerAddress, password: str | None = None) -> TeamServer:
        """Connect to a server and check its schema version. Without `password`, libpq looks for a
        password in PGPASSWORD, a service file and `~/.pgpass`. Raises UnreachableError or
        TeamError.
        """
        server = cls(open_connection(address, password))
        try:
            version = server._fetch("SELECT fcreview.schema_version()")[0][0]
        except TeamError as error:
            server.close()
            if isinstance(error, UnreachableError):
                raise
            raise TeamError(
                f"{address} is not a team server, or {address.user} is not a member ({error})"
            ) from None
        if version != SCHEMA_VERSION:
            server.close()
            raise _make_version_error(version)
        return server

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> TeamServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch_membership(self) -> Membership:
        return Membership(*self._fetch("SELECT * FROM fcreview.whoami()")[0])

    def invite(self, annotator: str, role: str) -> Invitation | None:
        """Add a member, or change the role of a member.

        Return None if the member has already joined.
        """
        password, verifier = make_password_and_verifier(self._connection)
        login = self._fetch("SELECT fcreview.invite(%s, %s, %s)", annotator, role, verifier)[0][0]
        return None if login is None else Invitation(login, password)

    def replace_password(self, password: str) -> None:
        """Replace the one-time password of this login by a password that the member chose."""
        self._fetch("SELECT fcreview.accept(%s)", _make_verifier(self._connection, password))

    def push_lines(self, lines: Sequence[bytes]) -> RefusalReasons:
        """Send journal lines.

        Return a reason for each position in `lines` whose line the server refused.
        """
        rows = self._fetch("SELECT place, reason FROM fcreview.push(%b::bytea[])", list(lines))
        return {place - 1: str(reason) for place, reason in rows}

    def pull_lines(self, cursor: str) -> tuple[str, list[PulledLine]]:
        """Return the next cursor and the lines that are new since `cursor`.

        An empty cursor fetches all lines.
        """
        while self._fetch("SELECT fcreview.settle()")[0][0]:
            pass
        first, *rows = self._fetch(
            "SELECT next, annotator, informed, body, place FROM fcreview.pull(%s)", cursor
        )
        return str(first[0]), [_make_pulled_line(*row[1:]) for row in rows]

    def find_missing_hashes(self, hashes: Sequence[str]) -> set[str]:
        """Return those of the hashes whose lines the server does not have."""
        return (
            {row[0] for row in self._fetch("SELECT fcreview.missing(%s)", list(hashes))}
            if hashes
            else set()
        )

    def fetch_members(self) -> list[Member]:
        return [Member(*row) for row in self._fetch("SELECT * FROM fcreview.members()")]

    def fetch_blocking_transactions(self) -> list[BlockingTransaction]:
        """Return the open transactions that delay the delivery of newer lines."""
        rows = self._fetch("SELECT * FROM fcreview.holders()")
        return [
            BlockingTransaction(str(what), login=str(login), seconds=seconds)
            for what, login, seconds in rows
        ]

    def assign_queue(self, name: str, queue_file: bytes, shares_json: str) -> None:
        """Save a queue file on the server.

        `shares_json`: argument of the SQL function `fcreview.assign`.
        """
        self._fetch("SELECT fcreview.assign(%s, %b, %s)", name, queue_file, shares_json)

    def fetch_queue_files(self) -> list[tuple[str, bytes]]:
        return [
            (str(name), bytes(body))
            for name, body in self._fetch("SELECT name, body FROM fcreview.queues()")
        ]

    def report_run_digests(self, digests_json: str) -> None:
        self._fetch("SELECT fcreview.report_datasets(%s)", digests_json)

    def fetch_run_digests(self) -> list[tuple[str, RunDigest]]:
        """Return (annotator, digest) of each run of each member."""
        return [
            (annotator, RunDigest(*row))
            for annotator, *row in self._fetch("SELECT * FROM fcreview.datasets()")
        ]

    def _fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with translate_errors():
            return self._connection.execute(sql.encode(), values, binary=True).fetchall()


def _make_pulled_line(annotator: Any, is_informed: Any, body: Any, place: Any) -> PulledLine:
    texts = place if is_string_list(place) else None
    return PulledLine(
        str(annotator), is_informed=bool(is_informed), body=bytes(body), place=parse_place(texts)
    )


def _make_version_error(version: int) -> TeamError:
    is_newer = version > SCHEMA_VERSION
    advice = (
        "Update fcreview"
        if is_newer
        else "The administrator of the server must run fcreview team create again"
    )
    return TeamError(
        f"the server has schema version {version}, but fcreview needs version {SCHEMA_VERSION}."
        f" {advice}"
    )


def open_connection(address: ServerAddress, password: str | None = None) -> Connection[Any]:
    """Connect in autocommit mode, so that fcreview leaves no transaction open.

    Raises UnreachableError or TeamError.
    """
    psycopg = load_driver()
    parameters = address.to_connection_parameters()
    if psycopg.pq.version() < 160000:
        raise TeamError(
            "the PostgreSQL client library is older than version 16. Install psycopg[binary] again"
        )
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
        raise MissingPackageError(
            "team commands need psycopg. Install it with: pip install 'fcreview[team]'"
        ) from None
    return psycopg


@contextmanager
def translate_errors(address: str = "") -> Iterator[None]:
    """Convert errors of psycopg to a TeamError with the first line of the server's message."""
    psycopg = load_driver()
    try:
        yield
    except psycopg.Error as error:
        first = (
            str(error.diag.message_primary or error)
            .partition("\n")[0]
            .removeprefix("connection failed: ")
        )
        text = clip(sanitize(first), _MAX_ERROR)
        if "no password supplied" in text:
            text = f"no password found for {address}. Set PGPASSWORD, or add it to ~/.pgpass"
        is_broken = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        is_unreachable = is_broken and not (error.sqlstate or "").startswith(_OWN_ERRORS)
        raise (UnreachableError if is_unreachable else TeamError)(text) from None


def make_password_and_verifier(connection: Connection[Any]) -> tuple[str, str]:
    """Return a random password and its SCRAM verifier, with which the server can check the
    password.
    """
    password = secrets.token_urlsafe(12)
    return password, _make_verifier(connection, password)


def _make_verifier(connection: Connection[Any], password: str) -> str:
    """Return the SCRAM verifier of a password.

    The server gets only the verifier, so its logs have no password.
    """
    return connection.pgconn.encrypt_password(
        password.encode(), b"unused", b"scram-sha-256"
    ).decode()


# SQL files that upgrade the tables by one version each, up to `SCHEMA_VERSION`
MIGRATIONS = (
    "team_schema.sql",
    "team_schema_2.sql",
)
_PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,29}")
# advisory lock, so that two administrators cannot create the tables at the same time
_LOCK = 0x66637265
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


def create_team(
    address: ServerAddress, project: str, lead: str, reveal_rule: str
) -> CreatedProject:
    """Create or upgrade the tables and functions, and create a project with its lead.
    `reveal_rule`: one of `REVEAL_RULES`. Raises TeamError if the project exists, or if the user
    lacks the privileges.
    """
    if not _PROJECT_NAME.fullmatch(project):
        raise TeamError(
            f"invalid project name {project!a}. Use at most 30 lower-case letters, digits, - and _"
        )
    with open_connection(address) as connection, translate_errors():
        with connection.transaction():
            upgrade_schema(connection)
        password, verifier = make_password_and_verifier(connection)
        values = (project, reveal_rule, lead, verifier)
        login = str(
            connection.execute("SELECT fcreview.create_project(%s, %s, %s, %s)", values).fetchall()[
                0
            ][0]
        )
        return CreatedProject(
            login, password=password, warnings=_find_weak_access_rules(connection)
        )


def _find_weak_access_rules(connection: Connection[Any]) -> list[str]:
    """Describe the lines of pg_hba.conf that allow a login without SCRAM.

    Return none if the file is unreadable.
    """
    import psycopg

    try:
        rows = connection.execute(
            "SELECT line_number, type, auth_method FROM pg_hba_file_rules"
            " WHERE auth_method IN ('trust', 'password', 'md5') AND NOT 'replication' = ANY"
            " (database)"
        ).fetchall()
    except psycopg.Error:
        return []
    return [
        f"pg_hba.conf line {number} ({kind}) uses {method}, which is not safe"
        for number, kind, method in rows
    ]


def upgrade_schema(connection: Connection[Any]) -> None:
    """Upgrade the tables to `SCHEMA_VERSION`, and replace the functions.

    Raises TeamError if the tables are newer.
    """
    connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
    exists = connection.execute("SELECT to_regclass('fcreview.migration') IS NOT NULL").fetchall()[
        0
    ][0]
    version = (
        connection.execute("SELECT max(version) FROM fcreview.migration").fetchall()[0][0]
        if exists
        else 0
    )
    if version > SCHEMA_VERSION:
        raise _make_version_error(version)
    connection.execute(_ROLES)
    for number, name in enumerate(MIGRATIONS[version:], version + 1):
        connection.execute(_read_sql(name))
        connection.execute("INSERT INTO fcreview.migration (version) VALUES (%s)", [number])
    connection.execute(_read_sql("team_functions.sql"))
    _complete_old_lines(connection)
    connection.execute(_OWNERS)


def _complete_old_lines(connection: Connection[Any]) -> None:
    """Fill the columns that older versions of the tables lack.

    This may take minutes on a large server.
    """
    is_complete = connection.execute(
        "SELECT NOT EXISTS (SELECT FROM fcreview.line WHERE place IS NULL)"
    ).fetchall()[0][0]
    if is_complete:
        return
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("ALTER TABLE fcreview.line DISABLE TRIGGER append_only")
    connection.execute("SELECT fcreview.complete_lines()")
    connection.execute("ALTER TABLE fcreview.line ENABLE TRIGGER append_only")


def _read_sql(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
