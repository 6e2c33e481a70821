"""`fcreview serve`: serve the app to web browsers."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from fcreview.cli.options import (
    IMPORT_OPTIONS,
    OPTIONAL_PATHS_ARGUMENT,
    BlindOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    option,
    workspace_command,
)
from fcreview.cli.output import emit, print_message
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError

if TYPE_CHECKING:
    from fcreview.cli.serve_login import Login
    from fcreview.cli.serve_server import BrowserServer

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
SECRET_VARIABLE = "FCREVIEW_SERVE_SECRET"  # noqa: S105 - the name of a variable
MIN_SECRET = 16  # minimum length of the secret of a proxy, in characters
NO_LOGIN = (
    "fcreview serve needs a login. Create a users file with `fcreview serve --add-user NAME --users"
    " FILE` and pass --users FILE, or pass --trust-header NAME if a proxy logs users in."
)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    users: Path | None = None
    trust_header: str | None = None
    secret_file: Path | None = None
    host: str | None = None
    port: int | None = None
    socket: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    url: str | None = None
    max_sessions: int = 20


@workspace_command(*IMPORT_OPTIONS, path_argument=OPTIONAL_PATHS_ARGUMENT)
def serve(
    options: WorkspaceOptions,
    users: Annotated[
        Path | None, option("--users FILE", "Users file, which --add-user creates.")
    ] = None,
    add_user: Annotated[
        str | None,
        option(
            "--add-user NAME",
            "Add this annotator to the users file, or change the password, and exit.",
        ),
    ] = None,
    trust_header: Annotated[
        str | None,
        option(
            "--trust-header NAME",
            "Header in which a proxy sends the annotator name. Needs --socket or --secret-file.",
        ),
    ] = None,
    secret_file: Annotated[
        Path | None,
        option(
            "--secret-file FILE",
            "File with the secret that the proxy sends as X-Fcreview-Secret. Default:"
            f" {SECRET_VARIABLE}.",
        ),
    ] = None,
    host: Annotated[
        str | None,
        option(
            "--host HOST",
            f"Address to listen on. Default: {DEFAULT_HOST}. Other addresses need TLS.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        option(
            "--port N",
            f"Port to listen on. Default: {DEFAULT_PORT}; 0 for any free port.",
            min=0,
            max=65_535,
        ),
    ] = None,
    socket: Annotated[
        Path | None, option("--socket PATH", "Listen on a Unix socket that only you can use.")
    ] = None,
    tls_cert: Annotated[
        Path | None, option("--tls-cert FILE", "TLS certificate chain (PEM).")
    ] = None,
    tls_key: Annotated[
        Path | None, option("--tls-key FILE", "Private key of the TLS certificate.")
    ] = None,
    url: Annotated[
        str | None,
        option("--url URL", "Address that browsers use, such as https://review.example.org."),
    ] = None,
    max_sessions: Annotated[
        int, option("--max-sessions N", "Maximum number of open browser tabs.", min=1)
    ] = 20,
    queue: Annotated[
        str | None,
        option(
            "--queue NAME",
            "Order, selection or queue that each session opens, as for fcreview open.",
        ),
    ] = None,
    where: WhereOption = "",
    run: RunOption = None,
    blind: BlindOption = False,
) -> None:
    """Serve the app to web browsers.

    Annotators log in with their annotator name and password, or through a proxy. Each browser tab
    has its own process of the app, which writes only the annotator's journal and settings. The
    browser downloads exports. Listens on 127.0.0.1 unless you pass --host or --socket.

    Example: fcreview serve runs/ --users users.toml
    """
    if add_user is not None:
        _set_user_password(users, add_user)
        return
    if not options.paths:
        raise UsageError("pass PATH: a run, a folder of runs, or a folder with a workspace")
    try:
        import textual_serve  # noqa: F401
    except ImportError:
        raise CommandError(
            "fcreview serve needs textual-serve. Run: pip install 'fcreview[serve]'"
        ) from None
    server = ServeOptions(
        users,
        trust_header=trust_header,
        secret_file=secret_file,
        host=host,
        port=port,
        socket=socket,
        tls_cert=tls_cert,
        tls_key=tls_key,
        url=url,
        max_sessions=max_sessions,
    )
    _check_serve_options(server)
    # Imports new results before the first session.
    with open_workspace(options) as session:
        # A saved filter, such as `@hard`, is that of an annotator, so only a session can check it.
        checked_filter = "" if "@" in where else where
        # Raises an error if the queue, the run or the filter is invalid.
        session.build_view(checked_filter, queue=queue or "dataset", run=run, blind=blind)
    _run_server(server, build_open_arguments(options, queue, where, run, blind))


def build_open_arguments(
    options: WorkspaceOptions, queue: str | None, where: str, run: str | None, blind: bool
) -> list[str]:
    """Build the command line with which each browser session runs `fcreview open`.

    The sessions get the options of `fcreview serve` that select and import runs.
    """
    values: dict[str, object] = {
        "format": options.format,
        "language": options.language,
        "map": options.mapping,
        **options.import_options,
        "workspace": options.workspace,
        "queue": queue,
        "where": where,
        "run": run,
    }
    arguments = _format_options(values)
    arguments += [f"--data={folder}" for folder in options.data or ()]
    arguments += [f"--score={folder}" for folder in options.score or ()]
    if blind:
        arguments.append("--blind")

    # After `--`, a path that begins with `-` is no option.
    arguments.append("--")
    arguments += [str(path) for path in options.paths]
    return arguments


def _format_options(values: Mapping[str, object]) -> list[str]:
    """Return `--NAME=VALUE` for each option that has a value."""
    arguments = []
    for name, value in values.items():
        if value:
            option_name = name.replace("_", "-")
            arguments.append(f"--{option_name}={value}")
    return arguments


def _check_serve_options(options: ServeOptions) -> None:
    """Raise UsageError for options that contradict each other or are not safe."""
    from fcreview.cli.serve_login import is_loopback_host, parse_origin

    _check_login_options(options)
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("pass --tls-cert and --tls-key together")
    if options.socket is not None:
        _check_socket_options(options)
    if options.url is not None:
        parse_origin(options.url)

    # Without TLS, passwords and cookies must not leave this machine.
    is_local = options.socket is not None or is_loopback_host(options.host or DEFAULT_HOST)
    if options.tls_cert is None and not is_local:
        raise UsageError(
            f"--host {options.host} needs TLS: pass --tls-cert FILE and --tls-key FILE"
        )


def _check_login_options(options: ServeOptions) -> None:
    """Raise UsageError unless annotators log in in one way: by password or by a proxy's header."""
    header = options.trust_header
    if options.users is None and header is None:
        raise UsageError(NO_LOGIN)
    if options.users is not None and header is not None:
        raise UsageError("pass either --users or --trust-header, not both")
    if header is not None and not re.fullmatch(r"[A-Za-z0-9-]+", header):
        raise UsageError(f"invalid --trust-header {header!a}: use only letters, digits and -")


def _check_socket_options(options: ServeOptions) -> None:
    """Raise UsageError for options of a TCP port beside --socket, or if --url is missing."""
    listens_on_port = options.host is not None or options.port is not None
    if listens_on_port or options.tls_cert is not None:
        raise UsageError(
            "--socket has no effect with --host, --port or --tls-cert. Pass only --socket"
        )
    if options.url is None:
        raise UsageError(
            "--socket needs --url: the address that browsers use, such as"
            " https://review.example.org"
        )


def _run_server(options: ServeOptions, open_arguments: Sequence[str]) -> None:
    """Start the server, and print its address. Returns when the server has ended."""
    from fcreview.cli.serve_login import AllowedOrigins
    from fcreview.cli.serve_server import BrowserServer, ListenAddress, run_server
    from fcreview.cli.serve_session import SessionCommand

    host = options.host or DEFAULT_HOST
    _check_address_is_known(options, host)

    # The server chooses a free port if the default one is in use, so these get the port.
    def make_server(port: int) -> BrowserServer:
        origins = _list_origins(options, host, port)
        is_secure = origins[0].startswith("https")
        login = _build_login(options, f"fcreview-{port}", is_secure=is_secure)
        return BrowserServer(
            SessionCommand(open_arguments),
            login=login,
            allowed=AllowedOrigins(frozenset(origins)),
            max_sessions=options.max_sessions,
        )

    def announce_port(port: int) -> None:
        first_origin, *_ = _list_origins(options, host, port)
        emit(f"Serving at {first_origin}. Press Ctrl+C to stop.")
        sys.stdout.flush()

    # Build a login only to report errors in the users file before the server starts.
    _build_login(options, "", is_secure=False)
    address = ListenAddress(
        host,
        port=DEFAULT_PORT if options.port is None else options.port,
        socket_path=options.socket,
        tls=_load_certificate(options),
    )
    asyncio.run(run_server(make_server, address, announce_port))


def _check_address_is_known(options: ServeOptions, host: str) -> None:
    """Raise UsageError if the server cannot know the address that browsers use, because it listens
    on all addresses.
    """
    if options.url is None and host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared only
        raise UsageError(
            f"--host {host} needs --url: the address that browsers use, such as"
            " https://review.example.org"
        )


def _list_origins(options: ServeOptions, host: str, port: int) -> list[str]:
    """List the origins at which browsers reach the server. The first is the one to announce."""
    from fcreview.cli.serve_login import (
        LOOPBACK_NAMES,
        format_origin,
        is_loopback_host,
        parse_origin,
    )

    if options.url is not None:
        return [parse_origin(options.url)]
    scheme = "http" if options.tls_cert is None else "https"
    hosts = LOOPBACK_NAMES if is_loopback_host(host) else (host,)
    return [format_origin(scheme, name, port) for name in hosts]


def _build_login(options: ServeOptions, cookie_base_name: str, *, is_secure: bool) -> Login:
    """Build the login of the server: by password or, with --trust-header, by a proxy in front of
    the server.

    The proxy must send a secret, unless only the proxy can use the server's socket.
    """

    from fcreview.cli.serve_login import HeaderLogin, PasswordLogin
    from fcreview.cli.serve_users import UsersFile

    if options.users is not None:
        users = UsersFile(options.users)
        if not users.load_password_hashes():
            raise UsageError(
                f"{options.users} has no users. Run fcreview serve --add-user NAME --users FILE"
            )
        return PasswordLogin(users, cookie_base_name=cookie_base_name, is_secure=is_secure)
    secret = _read_proxy_secret(options)
    if secret is None and options.socket is None:
        raise UsageError(
            "--trust-header needs --socket PATH, or a secret that the proxy sends. Pass"
            f" --secret-file FILE or set {SECRET_VARIABLE}"
        )
    return HeaderLogin(options.trust_header or "", secret)


def _read_proxy_secret(options: ServeOptions) -> str | None:
    """Return the secret that the proxy sends with each request, or None if there is none.

    Raises UsageError for a secret that is too short, and CommandError for a file that other users
    can read.
    """
    from fcreview.cli.serve_users import check_private_file

    if options.secret_file is None:
        secret = os.environ.get(SECRET_VARIABLE)
    else:
        check_private_file(options.secret_file)
        secret = options.secret_file.read_text("utf-8", errors="surrogateescape").strip()
    if secret is not None and len(secret) < MIN_SECRET:
        raise UsageError(f"the secret of the proxy must have at least {MIN_SECRET} characters")
    return secret


def _load_certificate(options: ServeOptions) -> ssl.SSLContext | None:
    """Load the certificate of --tls-cert. Without the option, the server has no TLS, and this is
    None.
    """
    if options.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(options.tls_cert, options.tls_key, password=_refuse_encrypted_key)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"fcreview cannot use {options.tls_cert} with {options.tls_key}: {error}"
        ) from error
    return context


def _refuse_encrypted_key() -> NoReturn:
    raise ValueError("the private key is encrypted")


def _set_user_password(users: Path | None, name: str) -> None:
    """Ask for the password of a user, and write its hash to the file of users."""
    from fcreview.cli.serve_users import UsersFile
    from fcreview.store.workspace import check_annotator

    if users is None:
        raise UsageError("--add-user needs --users FILE")
    annotator = check_annotator(name)
    UsersFile(users).set_password(annotator, ask_password(annotator))
    print_message(f"{annotator} can now log in. {users} has the hash of the password")


def ask_password(annotator: str) -> str:
    """Ask for a password. Without a terminal, read it from the first line of standard input."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password: str = typer.prompt(
        f"Password of {annotator}", hide_input=True, confirmation_prompt=True, err=True
    )
    return password
