"""Connect to the PostgreSQL server of a team, and call its functions.

The URL of a server contains only user, host, port and database. The password comes from PGPASSWORD,
`~/.pgpass` or a PostgreSQL service file. A server on another machine needs a certificate that can
be verified.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
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
STATEMENT_SECONDS = 60  # longest time of a statement on the server
ANSWER_SECONDS = 70.0  # longest time to wait for an answer of the server
# Calls of `settle` before a pull. A call handles at most 5,000 lines.
MAX_SETTLE_CALLS = 20
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
    """Parse the URL of a team's server, `postgresql://USER@HOST:PORT/DATABASE`.

    The port is optional. The host can be the folder of a Unix socket, URL-encoded: `%2Ftmp`. Raises
    AddressError, with advice, if a part is missing, or if the URL contains a password or options.
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
    encoded_host, port = _split_host_and_port(host_and_port)
    address = ServerAddress(
        unquote(encoded_host), port=port, database=unquote(database), user=unquote(user)
    )
    if not _is_complete_address(address) or "/" in database:
        raise AddressError(f"the URL needs a user, a host and a database. Use {URL_FORM}")
    return address


def _is_complete_address(address: ServerAddress) -> bool:
    """Whether the address has a user, a database and one host."""
    for text in (address.host, address.database, address.user):
        if not text or not text.isprintable():
            return False
    # libpq would try several hosts, one after the other.
    return "," not in address.host


def _split_host_and_port(host_and_port: str) -> tuple[str, int]:
    """Split `HOST:PORT`, in which the port may be missing, and an IPv6 address stands in brackets:
    `[::1]:5432`. Raises AddressError for an invalid port.
    """
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


class AnswerError(TeamError):
    """Raised when a server answers a request, but not as the functions of fcreview do."""

    def __init__(self, request: str) -> None:
        super().__init__(
            f"the server answers in an unknown form ({request}). The administrator of the server"
            " can run fcreview team create again"
        )


class MissingFunctionError(AnswerError):
    """Raised when the server lacks a function that fcreview calls, or a column of the function's
    answer. Its functions are then those of another version of fcreview.
    """

    def __init__(self, request: str, cause: str) -> None:
        super().__init__(request)
        self.cause = cause  # the first line of the server's message


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


RefusalReasons = dict[int, str]  # why the server refused a line, by position in the sent lines


class AnswerRow:
    """A row of an answer, whose values are checked when they are read.

    The methods raise AnswerError if the value at the position has another form.
    """

    def __init__(self, request: str, values: Sequence[object]) -> None:
        self._request = request
        self._values = values

    def get_text(self, position: int) -> str:
        value = self._values[position]
        if not isinstance(value, str):
            raise AnswerError(self._request)
        return value

    def get_optional_text(self, position: int) -> str | None:
        return None if self._values[position] is None else self.get_text(position)

    def get_choice(self, position: int, choices: Sequence[str]) -> str:
        text = self.get_text(position)
        if text not in choices:
            raise AnswerError(self._request)
        return text

    def get_number(self, position: int) -> int:
        value = self._values[position]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise AnswerError(self._request)
        return value

    def get_flag(self, position: int) -> bool:
        value = self._values[position]
        if not isinstance(value, bool):
            raise AnswerError(self._request)
        return value

    def get_bytes(self, position: int) -> bytes:
        value = self._values[position]
        if not isinstance(value, bytes):
            raise AnswerError(self._request)
        return value

    def get_place(self, position: int) -> Place | None:
        """Return the place of a line in an answer of the server. Raises AnswerError if it is
        malformed.
        """
        value = self._values[position]
        if value is None:
            return None
        if not isinstance(value, list) or not is_string_list(value):
            raise AnswerError(self._request)
        return parse_place(value)


class TeamServer:
    """An open connection to a team server. Every request is a separate transaction.

    The methods raise UnreachableError if the connection is lost, AnswerError if an answer is
    malformed, and TeamError if the server refuses the request.
    """

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
            version = server._fetch_schema_version(address)
            if version != SCHEMA_VERSION:
                raise make_version_error(version)
        except BaseException:
            server.close()
            raise
        return server

    def _fetch_schema_version(self, address: ServerAddress) -> int:
        """Return the version of the team tables on the server.

        Any other error than a broken connection means that the tables do not exist, or that the
        user may not read them.
        """
        try:
            return self._fetch_row("SELECT fcreview.schema_version()").get_number(0)
        except MissingFunctionError as error:
            raise TeamError(f"{address} is not a team server ({error.cause})") from None
        except (UnreachableError, AnswerError):
            raise
        except TeamError as error:
            raise TeamError(
                f"{address} is not a team server, or {address.user} is not a member ({error})"
            ) from None

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> TeamServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch_membership(self) -> Membership:
        """Return the user's project, annotator name and role."""
        row = self._fetch_row(
            "SELECT project, annotator, role, reveal, has_joined FROM fcreview.whoami()"
        )
        return Membership(
            project=row.get_text(0),
            annotator=row.get_text(1),
            role=row.get_choice(2, ROLES),
            reveal=row.get_choice(3, REVEAL_RULES),
            has_joined=row.get_flag(4),
        )

    def invite(self, annotator: str, role: str) -> Invitation | None:
        """Add a member, or change the role of a member.

        Return None if the member has already joined.
        """
        password, verifier = make_password_and_verifier(self._connection)
        row = self._fetch_row("SELECT fcreview.invite(%s, %s, %s)", annotator, role, verifier)
        login = row.get_optional_text(0)
        return None if login is None else Invitation(login, password)

    def replace_password(self, password: str) -> None:
        """Replace the one-time password of this login by a password that the member chose."""
        self._fetch("SELECT fcreview.accept(%s)", _make_verifier(self._connection, password))

    def push_lines(self, lines: Sequence[bytes]) -> RefusalReasons:
        """Send journal lines.

        Return a reason for each position in `lines` whose line the server refused.
        """
        request = "SELECT place, reason FROM fcreview.push(%b::bytea[])"
        reasons: RefusalReasons = {}
        for row in self._fetch(request, list(lines)):
            # The server counts from 1.
            position = row.get_number(0) - 1
            if not 0 <= position < len(lines):
                raise AnswerError(_name_request(request))
            reasons[position] = row.get_text(1)
        return reasons

    def pull_lines(self, cursor: str) -> tuple[str, list[PulledLine]]:
        """Return the next cursor and the lines that are new since `cursor`.

        An empty cursor fetches all lines.
        """
        self._settle()
        request = "SELECT next, annotator, informed, body, place FROM fcreview.pull(%s)"
        rows = self._fetch(request, cursor)
        if not rows:
            raise AnswerError(_name_request(request))

        # The first row has only the next cursor.
        next_cursor = rows[0].get_text(0)
        lines = [
            PulledLine(
                row.get_text(1),
                is_informed=row.get_flag(2),
                body=row.get_bytes(3),
                place=row.get_place(4),
            )
            for row in rows[1:]
        ]
        return next_cursor, lines

    def _settle(self) -> None:
        """Let the server decide, from recent lines, on which items members may see the reviews of
        others.

        Each request handles some lines. After `MAX_SETTLE_CALLS` requests, the next `pull_lines`
        continues.
        """
        for _ in range(MAX_SETTLE_CALLS):
            has_more = self._fetch_row("SELECT fcreview.settle()").get_flag(0)
            if not has_more:
                return

    def find_missing_hashes(self, hashes: Sequence[str]) -> set[str]:
        """Return those of the hashes whose lines the server does not have."""
        if not hashes:
            return set()
        request = "SELECT fcreview.missing(%s)"
        missing = {row.get_text(0) for row in self._fetch(request, list(hashes))}
        if not missing <= set(hashes):
            raise AnswerError(_name_request(request))
        return missing

    def fetch_members(self) -> list[Member]:
        """Return the members of the project."""
        rows = self._fetch("SELECT annotator, role, has_joined, lines FROM fcreview.members()")
        return [
            Member(
                row.get_text(0),
                role=row.get_choice(1, ROLES),
                has_joined=row.get_flag(2),
                n_lines=row.get_number(3),
            )
            for row in rows
        ]

    def fetch_blocking_transactions(self) -> list[BlockingTransaction]:
        """Return the open transactions that delay the delivery of newer lines."""
        rows = self._fetch("SELECT what, login, seconds FROM fcreview.holders()")
        return [
            BlockingTransaction(
                row.get_text(0),
                login=row.get_optional_text(1) or "an unknown login",
                seconds=row.get_number(2),
            )
            for row in rows
        ]

    def assign_queue(self, name: str, queue_file: bytes, shares_json: str) -> None:
        """Save a queue file on the server.

        `shares_json`: argument of the SQL function `fcreview.assign`.
        """
        self._fetch("SELECT fcreview.assign(%s, %b, %s)", name, queue_file, shares_json)

    def fetch_queue_files(self) -> list[tuple[str, bytes]]:
        rows = self._fetch("SELECT name, body FROM fcreview.queues()")
        return [(row.get_text(0), row.get_bytes(1)) for row in rows]

    def report_run_digests(self, digests_json: str) -> None:
        self._fetch("SELECT fcreview.report_datasets(%s)", digests_json)

    def fetch_run_digests(self) -> list[tuple[str, RunDigest]]:
        """Return (annotator, digest) of each run of each member."""
        rows = self._fetch(
            "SELECT annotator, run, items, golden, predictions FROM fcreview.datasets()"
        )
        digests = []
        for row in rows:
            digest = RunDigest(
                run=row.get_text(1),
                n_items=row.get_number(2),
                golden=row.get_text(3),
                predictions=row.get_text(4),
            )
            digests.append((row.get_text(0), digest))
        return digests

    def _fetch_row(self, sql: str, *values: Any) -> AnswerRow:
        rows = self._fetch(sql, *values)
        if len(rows) != 1:
            raise AnswerError(_name_request(sql))
        return rows[0]

    def _fetch(self, sql: str, *values: Any) -> list[AnswerRow]:
        """Run a query on the server, and return its rows. Raises AnswerError if a value cannot be
        decoded.
        """
        request = _name_request(sql)
        errors = load_driver().errors
        missing = (errors.UndefinedFunction, errors.UndefinedColumn, errors.InvalidSchemaName)
        with translate_errors(), limit_answer_time(self._connection):
            try:
                rows = self._connection.execute(sql.encode(), values, binary=True).fetchall()
            except missing as error:
                cause, _, _ = str(error).partition("\n")
                raise MissingFunctionError(request, clip(sanitize(cause), _MAX_ERROR)) from None
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                # The driver psycopg cannot decode a value.
                raise AnswerError(request) from error
        return [AnswerRow(request, row) for row in rows]


def _name_request(sql: str) -> str:
    """Return the name of the function that a statement calls, such as `fcreview.pull`."""
    return "fcreview." + sql.partition("fcreview.")[2].partition("(")[0]


@contextmanager
def limit_answer_time(connection: Connection[Any]) -> Iterator[None]:
    """End the connection if the server does not answer in time, even if it ignores the limit for
    statements.
    """
    timer = threading.Timer(ANSWER_SECONDS, _shut_down_socket, [connection])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut_down_socket(connection: Connection[Any]) -> None:
    """Make the waiting thread notice the end of the connection."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)


def make_version_error(version: int) -> TeamError:
    """Return the error for a server with another schema version, which says who must update what."""
    advice = "The administrator of the server must run fcreview team create again"
    if version > SCHEMA_VERSION:
        advice = "Update fcreview"
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
    """Convert errors of the database driver to a TeamError with the first line of the server's
    message, or to an UnreachableError if the connection is broken.
    """
    psycopg = load_driver()
    try:
        yield
    except psycopg.Error as error:
        message = str(error.diag.message_primary or error)
        first_line, _, _ = message.partition("\n")
        text = clip(sanitize(first_line.removeprefix("connection failed: ")), _MAX_ERROR)
        if "no password supplied" in text:
            text = f"no password found for {address}. Set PGPASSWORD, or add it to ~/.pgpass"

        # Errors of the class FC come from the functions of fcreview: the server works.
        is_broken = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        is_own_error = (error.sqlstate or "").startswith(_OWN_ERRORS)
        if is_broken and not is_own_error:
            raise UnreachableError(text) from None
        raise TeamError(text) from None


def make_password_and_verifier(connection: Connection[Any]) -> tuple[str, str]:
    """Return a random password and its SCRAM verifier, with which the server can check the
    password.
    """
    password = secrets.token_urlsafe(12)
    return password, _make_verifier(connection, password)


def _make_verifier(connection: Connection[Any], password: str) -> str:
    """Return the SCRAM verifier of a password.

    The server gets only the verifier, so its logs have no password. For SCRAM, the user name that
    libpq asks for has no effect.
    """
    return connection.pgconn.encrypt_password(
        password.encode(), b"unused", b"scram-sha-256"
    ).decode()
