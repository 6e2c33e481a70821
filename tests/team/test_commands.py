"""The `fcreview team` commands work from creating a team to leaving it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fcreview.model.review import Annotation
from fcreview.store.reviews.journal import Journal
from fcreview.store.workspace import find_workspace
from tests.cli.json_lines import list_line_problems
from tests.commands import Done, environment, run_in_this_process
from tests.store.factory import import_items
from tests.store.reviews.journals import make_key
from tests.team.conftest import PASSWORD, PostgresServer


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., Done]:
    """Return a function that runs `fcreview` as a person with a separate home folder and
    workspace.
    """

    def run(person: str, *arguments: str, password: str = PASSWORD) -> Done:
        place = tmp_path / person
        place.mkdir(exist_ok=True)
        environ = environment(
            place, FCREVIEW_ANNOTATOR=person, PGPASSWORD=password, FCREVIEW_TEAM_PASSWORD=PASSWORD
        )
        return run_in_this_process(arguments, place, environ)

    return run


def import_workspace(tmp_path: Path, person: str, items: int = 3) -> Path:
    import_items(
        tmp_path / person / "run", {"maple-8b": [{"id": f"simple_{n}"} for n in range(items)]}
    )
    return tmp_path / person / "run"


def read_invitation(done: Done) -> tuple[str, str]:
    assert done.code == 0, done.err
    url, password = re.search(r"team join (\S+)", done.out), re.search(r"days: (\S+)", done.out)
    assert url is not None
    assert password is not None
    return url[1], password[1]


def test_from_create_to_status(
    postgres: PostgresServer, cli: Callable[..., Done], tmp_path: Path
) -> None:
    admin = str(postgres.admin)
    for person in ("lena", "alice", "bob"):
        import_workspace(tmp_path, person, 4 if person == "bob" else 3)
    created = cli("lena", "team", "create", admin, "--project", "trial", "--lead", "lena")
    url, password = read_invitation(created)
    assert "pg_hba.conf line 1 (local) uses trust" in created.err
    postgres.admin_sql("DROP FUNCTION fcreview.holders")
    # The schema is upgraded all the same.
    assert "exists already" in cli("lena", "team", "create", admin, "--project", "trial").err
    # This is not the socket of the administrator.
    assert url == f"postgresql://trial.lena@localhost:{postgres.port}/postgres"
    url = str(postgres.address("trial.lena"))
    assert cli("lena", "team", "join", url, "run", password=password).code == 0
    for person in ("alice", "bob"):
        _, password = read_invitation(cli("lena", "team", "invite", person, "run"))
        done = cli(
            person,
            "team",
            "join",
            str(postgres.address(f"trial.{person}")),
            "run",
            password=password,
        )
        assert done.out == f"joined trial as {person} (annotator) · reveal rule: closed\n"
    made = cli(
        "lena",
        "queue",
        "create",
        "run",
        "--name",
        "pilot",
        "--size",
        "2",
        "--annotators",
        "alice",
        "--team",
    )
    assert made.code == 0, made.err
    assert cli("alice", "team", "pull", "run").out == "queue pilot received\n0 received\n"
    Journal(find_workspace(tmp_path / "alice" / "run"), "alice").append(
        make_key("simple_0"), Annotation(verdict=True)
    )
    # Sends reviews like the app, for at most two seconds.
    reviewed = cli("alice", "review", "run", "--plain")
    unsent = "not sent to the team yet" in reviewed.err
    assert (reviewed.code, cli("alice", "team", "push", "run").out) == (0, f"{int(unsent)} sent\n")
    assert cli("lena", "team", "sync", "run").out == "0 sent · 1 received\n"
    assert "Choose --annotator alice" in cli("lena", "items", "run", "--where", "reviewed").err
    assert cli("alice", "team", "status", "run").code == 0
    status = cli("bob", "team", "status", "run", "--json").objects[0]
    assert not list_line_problems("team status", status)
    assert (status["annotator"], status["role"], status["unsent"]) == ("bob", "annotator", 0)
    assert {m["annotator"]: m["n_lines"] for m in status["members"]} == {
        "alice": 1,
        "bob": 0,
        "lena": 0,
    }
    differences = "number of items, golden answers, predictions"
    assert status["problems"] == [
        f"your copy of bfcl V4 en maple-8b differs from that of {name}: {differences}"
        for name in ("alice", "lena")
    ]
    assert "trial at postgresql://" in cli("bob", "team", "status", "run").out
    merged = cli("lena", "merge", "run", "--from-team", "--yes")
    assert "alice: 1 new event" in merged.out, merged.err
    assert (tmp_path / "lena" / "run" / ".fcreview" / "reviews" / "alice.jsonl").is_file()
    assert (
        "alice: 0 new events, 1 already in this workspace"
        in cli("lena", "merge", "run", "--from-team", "--yes").out
    )
    (sent,) = cli("alice", "merge", "run", "--to-team", "--json").objects
    assert sent == {"sent": 0}
    assert not list_line_problems("merge", sent)
    assert cli("alice", "merge", "run", "--to-team").out == "0 sent\n"
    assert cli("alice", "team", "leave", "run").code == 0
    assert "belongs to no team" in cli("alice", "team", "push", "run").err
    text = (tmp_path / "bob" / ".config" / "fcreview" / "teams.json").read_text()
    assert PASSWORD not in text
    assert password not in text


def test_workspace_files_cannot_choose_a_team(
    cli: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `team.toml` or files of another person in a workspace do not cause a connection."""
    import psycopg

    run = import_workspace(tmp_path, "eve")
    (run / "team.toml").write_text('url = "postgresql://alice@127.0.0.1:1/evil"')
    (run / ".fcreview" / "team.toml").write_text('url = "postgresql://alice@127.0.0.1:1/evil"')
    (run / ".fcreview" / "teams.json").write_text(json.dumps({"workspaces": {}}))
    (run / ".fcreview" / "team").mkdir()
    (run / ".fcreview" / "team" / "eve.json").write_text(
        '{"server": "postgresql://alice@127.0.0.1:1/evil"}'
    )
    monkeypatch.setattr(psycopg, "connect", lambda **_: pytest.fail("connected"))
    for command in (
        ("team", "push"),
        ("team", "pull"),
        ("team", "sync"),
        ("team", "status"),
        ("team", "invite", "x"),
    ):
        done = cli("eve", *command, "run")
        assert done.code == 1
        assert done.err.count("team.toml, because") == 2
        assert "belongs to no team" in done.err
    done = cli("eve", "open", "run")
    assert done.code == 0
    assert "team.toml, because" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("team", "create", "postgresql://a:b@h/d", "--project", "p"),
            2,
            "the URL contains a password",
        ),
        (("team", "create"), 2, "needs a URL and --project"),
        (
            ("team", "create", "postgresql://a@h/d", "--project", "p", "--reveal", "x"),
            2,
            "choose closed, own, never",
        ),
        (("team", "join", "postgresql://a@127.0.0.1:1/d", "run"), 1, "refused"),
        (("team", "push", "run"), 1, "belongs to no team. Use fcreview team join URL"),
        (("team", "leave", "run"), 1, "belongs to no team"),
    ],
)
def test_error_messages(
    cli: Callable[..., Done], tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    (tmp_path / "ann" / "run").mkdir(parents=True)
    find_workspace(tmp_path / "ann" / "run")
    done = cli("ann", *arguments)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


def test_local_prints_three_commands(cli: Callable[..., Done]) -> None:
    lines = cli("ann", "team", "create", "--local").out.splitlines()
    assert [line.split()[0] for line in lines] == ["initdb", "pg_ctl", "fcreview"]


def test_missing_psycopg_is_reported_in_one_line(
    cli: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = cli("ann", "team", "create", "postgresql://a@localhost/d", "--project", "p")
    assert done.code == 2
    assert (
        done.err
        == "fcreview: team commands need psycopg. Install it with: pip install 'fcreview[team]'\n"
    )
