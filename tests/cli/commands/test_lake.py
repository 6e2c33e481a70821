"""`fcreview import --lake` writes a lake, and the commands work on it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.commands import environment, run_in_this_process


@pytest.fixture(scope="module")
def sample_lake(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Path:
    folder = tmp_path_factory.mktemp("sample_lake")
    done = run_in_this_process(
        ["import", samples / "bfcl", "--lake", folder / "lake", "--json"],
        folder,
        environment(folder),
    )
    assert done.code == 0, done.err
    assert {row["status"] for row in done.objects if row["kind"] == "run"} == {"imported"}
    return folder / "lake"


@pytest.fixture
def lake(sample_lake: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sample_lake, tmp_path / "lake"))


def test_review_of_lake_counts(cli: Cli, lake: Path) -> None:
    failing = cli("items", lake, "--where", "official:fail", "--json").objects[0]
    run = str(failing["run"])
    before = cli("report", lake, "--run", run, "--json").objects
    assert (
        cli(
            "label", lake, failing["id"], "--run", run, "--verdict", "pass", "--fault", "checker"
        ).code
        == 0
    )
    after = cli("report", lake, "--run", run, "--json").objects
    assert before != after
    assert cli("items", lake, "--where", "you:pass", "--json").objects[0]["effective"] is True
    assert (lake / ".fcreview/reviews/tester.jsonl").is_file()
    row = next(row for row in cli("runs", lake, "--json").objects if row["run"] == failing["run"])
    assert row["reviewed"] == 1
    assert row["effective_pass"] == row["official_pass"] + 1


def test_reviews_are_saved_in_workspace_folder(cli: Cli, lake: Path, tmp_path: Path) -> None:
    row = cli("items", lake, "--workspace", tmp_path / "mine", "--json").objects[0]
    arguments = [
        lake,
        row["id"],
        "--run",
        str(row["run"]),
        "--verdict",
        "fail",
        "--workspace",
        tmp_path / "mine",
    ]
    assert cli("label", *arguments).code == 0
    assert (tmp_path / "mine/.fcreview/reviews/tester.jsonl").is_file()
    assert not (lake / ".fcreview").exists()


def test_runs_are_listed_by_benchmark_and_name(cli: Cli, lake: Path) -> None:
    listed = [
        (row["benchmark"], row["generation"], row["model"])
        for row in cli("runs", lake, "--json").objects
    ]
    assert listed == sorted(listed)
    backwards = [
        (row["benchmark"], row["generation"], row["model"])
        for row in cli("runs", lake, "--json", "--reverse").objects
    ]
    assert backwards == listed[::-1]


@pytest.mark.parametrize(
    "command", ["triage", "compare", "suspects", "agreement", "calibrate", "estimate"]
)
def test_commands_read_lake(cli: Cli, lake: Path, command: str) -> None:
    done = cli(command, lake)
    assert (done.code, done.err) == (0, "")
    assert done.out


def test_show_prints_item_and_record(cli: Cli, lake: Path) -> None:
    row = cli("items", lake, "--json").objects[0]
    shown = cli("show", lake, row["id"], "--run", str(row["run"]))
    assert row["id"] in shown.out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["import", "{lake}", "--part", "1/2"], "--part needs --lake"),
        (["import", "{lake}", "--lake", "{lake}/x", "--part", "3/2"], "Pass K/N"),
        (
            ["import", "{lake}", "--lake", "{lake}/x", "--workspace", "{lake}"],
            "--workspace has no effect with --lake",
        ),
        (["import", "{lake}"], "is a lake"),
        (["runs", "{lake}", "--data", "{lake}"], "--data has no effect on a lake"),
        (["open", "{lake}", "{lake}"], "Pass only the lake"),
        (["open", "{lake}", "--follow"], "--follow has no effect on a lake"),
        (["export", "{lake}", "--format", "native", "-o", "{lake}/out"], "is a lake"),
        (["runs", "s3://bucket/lake"], "needs --workspace DIR"),
    ],
)
def test_unsupported_lake_options_are_refused(
    cli: Cli, lake: Path, arguments: list[str], problem: str
) -> None:
    done = cli(*(argument.format(lake=lake) for argument in arguments))
    assert done.code != 0
    assert problem in done.err


def test_damage_is_reported(cli: Cli, lake: Path) -> None:
    file = sorted(lake.glob("benchmark=*/run=*/items.parquet"))[0]
    file.write_bytes(file.read_bytes()[:100])
    done = cli("runs", lake, "--json")
    assert done.code == 0
    assert f"{file.parent.name}/items.parquet is damaged: it has 100 of" in done.err
    assert file.parent.name not in {f"run={row['run']}" for row in done.objects}


def test_damage_found_by_query_is_reported(cli: Cli, lake: Path) -> None:
    file = sorted(lake.glob("benchmark=*/run=*/items.parquet"))[0]
    file.write_bytes(b"x" * file.stat().st_size)
    done = cli("sql", lake, "SELECT count(*) AS n FROM messages", "--json")
    assert done.code == 0, done.err
    assert done.objects[0]["n"] > 0
    assert f"{file} is damaged. The run is omitted" in done.err
    shown = cli("items", lake, "--where", "text:zzz", "--json")
    assert f"{file} is damaged" in shown.err


def test_failed_run_is_lake_issue_until_imported(cli: Cli, tmp_path: Path, lake: Path) -> None:
    """The issue names the file; a later import removes it."""
    rows = cli(
        "sql", lake, "SELECT count(*) AS n FROM import_issues WHERE run IS NULL", "--json"
    ).objects
    (lake / "_issues").mkdir(exist_ok=True)
    issue = {
        "run": None,
        "item": None,
        "id": None,
        "file": "x.json",
        "line": None,
        "what": "w",
        "raw": None,
    }
    (lake / "_issues/abc.json").write_text(json.dumps([issue | {"severity": "error"}]))
    more = cli(
        "sql", lake, "SELECT count(*) AS n FROM import_issues WHERE run IS NULL", "--json"
    ).objects
    assert more[0]["n"] == rows[0]["n"] + 1


@pytest.mark.sweep
def test_queue_share_is_reviewed_without_lake(cli: Cli, lake: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    arguments = [lake, "--workspace", mine]
    assert (
        cli(
            "queue",
            "create",
            *arguments,
            "--name",
            "pilot",
            "--size",
            "4",
            "--annotators",
            "tester",
        ).code
        == 0
    )
    opened = cli("open", *arguments, "--queue", "pilot")
    assert opened.code == 0, opened.err
    assert "copied 4 items" in opened.err
    shared = cli("items", *arguments, "--queue", "pilot", "--json").objects
    lake.rename(tmp_path / "away")
    offline = cli("items", mine, "--queue", "pilot", "--json").objects
    assert [row | {"run": 0} for row in offline] == [row | {"run": 0} for row in shared]
    assert len(cli("items", mine, "--json").objects) == 4
    row = offline[0]
    assert cli("label", mine, row["id"], "--run", str(row["run"]), "--verdict", "fail").code == 0
    (tmp_path / "away").rename(lake)
    reviewed = cli("items", *arguments, "--where", "reviewed", "--json").objects
    assert [each["id"] for each in reviewed] == [row["id"]]


def test_store_of_imported_runs_is_not_replaced(
    cli: Cli, lake: Path, samples: Path, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(samples / "bfcl", tmp_path / "own"))
    assert cli("import", own).code == 0
    done = cli("open", lake, "--workspace", own, "--where", "official:fail")
    assert done.code == 1
    assert "has imported runs" in done.err


def test_folder_with_other_files_does_not_become_lake(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").touch()
    done = cli("import", samples / "generic", "--lake", tmp_path / "other")
    assert done.code == 1
    assert "contains files and is not a lake" in done.err


@pytest.mark.sweep
def test_lake_is_not_searched_for_runs(cli: Cli, samples: Path, tmp_path: Path) -> None:
    runs = Path(shutil.copytree(samples / "generic", tmp_path / "runs"))
    assert cli("import", runs, "--lake", runs / "lake").code == 0
    before = cli("runs", runs / "lake", "--json").objects
    assert cli("import", runs, "--lake", runs / "lake").code == 0
    assert cli("runs", runs / "lake", "--json").objects == before


def test_lake_of_other_version_is_not_overwritten(cli: Cli, samples: Path, lake: Path) -> None:
    (lake / "_lake.json").write_text('{"format": 1, "schema": "1"}')
    for done in (cli("import", samples / "generic", "--lake", lake), cli("runs", lake)):
        assert done.code == 1
        assert "another version" in done.err


def test_doctor_checks_hashes_of_lake(cli: Cli, lake: Path) -> None:
    done = cli("doctor", lake)
    assert done.code == 0
    assert "2 runs" in done.out
    file = sorted(lake.glob("benchmark=*/run=*/items.parquet"))[0]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    done = cli("doctor", lake)
    assert done.code == 1
    assert f"{file} is damaged" in "".join(done.out.split("\n"))
