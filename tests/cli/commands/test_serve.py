"""`fcreview serve` refuses unsafe options before the server starts, and adds users."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fcreview.cli.commands import serve
from fcreview.cli.commands.serve import build_open_arguments
from fcreview.cli.options import WorkspaceOptions
from tests.cli.conftest import Cli

HEADER = ("--trust-header", "X-User")
REFUSED: list[tuple[tuple[str, ...], str]] = [
    ((), "--add-user NAME"),
    (("--users", "u", *HEADER), "not both"),
    (HEADER, "--secret-file"),
    (("--trust-header", "X User:"), "invalid --trust-header"),
    (("--users", "u", "--host", "0.0.0.0"), "needs TLS"),  # noqa: S104
    (("--users", "u", "--host", "review.example.org"), "needs TLS"),
    ((*HEADER, "--host", "192.0.2.1"), "needs TLS"),
    (("--users", "u", "--tls-cert", "c"), "together"),
    ((*HEADER, "--socket", "s"), "--url"),
    ((*HEADER, "--socket", "s", "--port", "1", "--url", "https://x"), "Pass only --socket"),
    (("--users", "u", "--url", "https://x/path"), "invalid --url"),
    (("--users", "u", "--url", "http://review.example.org"), "not encrypted"),
    (("--users", "absent.toml"), "absent.toml"),
    (("--users", "u", "--queue", "absent"), "queue not found"),
    (("--users", "u", "--where", "official:"), "official"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_unsafe_options_are_refused(
    cli: Cli, imported_run: Path, options: tuple[str, ...], reason: str
) -> None:
    done = cli("serve", imported_run, *options)
    assert done.code in (1, 2) and reason in done.err, done.err


def test_short_secret_is_refused(cli: Cli, imported_run: Path) -> None:
    done = cli("serve", imported_run, *HEADER, FCREVIEW_SERVE_SECRET="short")  # noqa: S106
    assert done.code == 2 and "at least 16" in done.err


def test_wildcard_address_needs_url(cli: Cli, imported_run: Path) -> None:
    tls = ("--tls-cert", "c", "--tls-key", "k")
    done = cli("serve", imported_run, "--users", "u", "--host", "0.0.0.0", *tls)  # noqa: S104
    assert done.code == 2 and "--url" in done.err


def test_missing_extra_is_named(
    cli: Cli, imported_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    done = cli("serve", imported_run)
    assert done.code == 1 and "pip install 'fcreview[serve]'" in done.err
    assert done.err.count("\n") == 1


def test_user_is_added_and_hostile_names_are_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = tmp_path / "users.toml"
    monkeypatch.setattr(serve, "ask_password", lambda _: "correct horse")
    for name in ("anna", "../evil", "a b", ".x", ""):
        done = cli("serve", "--add-user", name, "--users", users)
        assert (done.code == 0) is (name == "anna"), done.err
    assert users.read_text().startswith('"anna" = "scrypt$') and users.read_text().count("\n") == 1


def test_addresses_are_normalized_as_in_browsers() -> None:
    from fcreview.cli.serve_login import format_origin, parse_origin

    assert parse_origin("https://Review.Example.org/") == "https://review.example.org"
    assert (
        parse_origin("https://x:8443") == "https://x:8443"
        and parse_origin("http://[::1]:80") == "http://[::1]"
    )
    assert format_origin("http", "::1", 8000) == "http://[::1]:8000"


def test_session_opens_with_options_of_server() -> None:
    options = WorkspaceOptions([Path("runs"), Path("-x")], data=[Path("data")], workspace=Path("w"))
    assert build_open_arguments(options, "pilot", "official:fail", None, True) == [
        *(
            "--workspace=w",
            "--queue=pilot",
            "--where=official:fail",
            "--data=data",
            "--blind",
            "--",
            "runs",
            "-x",
        )
    ]
