"""One faulty text or file never hides the other runs of a folder, and its own run fails with a
reason.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.atif import discovery
from fcreview.importers.common.faulty_files import search_around_faults
from fcreview.importers.registry import discover
from fcreview.run_plan import DiscoveredRuns

Cli = Callable[..., Any]
LONE_SURROGATE = "\\ud83d"
"""A lone surrogate as a JSON text contains it."""


def write_trajectory(path: Path, agent: str = "agent", model: str = "model") -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Hello"},
        {"step_id": 2, "source": "agent", "message": "Hi"},
    ]
    document = {
        "schema_version": "ATIF-v1.6",
        "session_id": "s",
        "agent": {"name": agent, "version": "1", "model_name": model},
        "steps": steps,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text_with_surrogates(document))


def to_text_with_surrogates(value: Any) -> str:
    return json.dumps(value).replace("SURROGATE", LONE_SURROGATE)


def write_trial(folder: Path, **fields: Any) -> None:
    result: dict[str, Any] = {
        "trial_name": folder.name,
        "task_name": "task",
        "source": "dataset",
        "agent_info": {"name": "agent", "version": "1", "model_info": {"name": "model"}},
        "verifier_result": {"rewards": {"reward": 1}},
    }
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(to_text_with_surrogates(result | fields))
    write_trajectory(folder / "agent" / "trajectory.json")


@pytest.mark.parametrize(
    "fields",
    [
        {"source": "SURROGATE"},
        {"agent_info": {"name": "SURROGATE", "version": "1", "model_info": {"name": "model"}}},
        {"agent_info": {"name": "agent", "version": "1", "model_info": {"name": "SURROGATE"}}},
        {"task_name": "SURROGATE"},
        {"exception_info": {"exception_type": "SURROGATE", "exception_message": "SURROGATE"}},
    ],
    ids=["source", "agent", "model", "task", "exception"],
)
def test_surrogate_in_a_harbor_result_is_imported_as_text(
    tmp_path: Path, cli: Cli, fields: dict[str, Any]
) -> None:
    write_trial(tmp_path / "job" / "good__aaaaaaa")
    write_trial(tmp_path / "job" / "odd__bbbbbbb", **fields)

    imported = cli("import", tmp_path / "job", "--json")
    assert imported.code == 0, imported.err
    assert sum(row["items"] for row in imported.objects if row["kind"] == "run") == 2

    for command in ("items", "report", "runs"):
        done = cli(command, tmp_path / "job")
        assert "internal error" not in done.err and done.code == 0, done.err


@pytest.mark.parametrize("name", ["agent", "model"])
def test_surrogate_in_a_trajectory_is_imported_as_text(tmp_path: Path, cli: Cli, name: str) -> None:
    write_trajectory(tmp_path / "run" / "good.trajectory.json")
    write_trajectory(tmp_path / "run" / "odd.trajectory.json", **{name: "odd SURROGATE"})

    done = cli("runs", tmp_path / "run", "--json")
    assert done.code == 0, done.err
    assert any("odd \\ud83d" in row["model"] for row in done.objects)


def test_file_at_which_a_search_fails_becomes_a_failed_run(
    samples: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(samples / "tau", tmp_path / "tau")
    write_trajectory(tmp_path / "good" / "good.trajectory.json")
    write_trajectory(tmp_path / "bad" / "bad.trajectory.json")
    read_agent_and_model = discovery.read_agent_and_model

    def fail_at_bad_file(path: Path) -> Any:
        if path.name.startswith("bad"):
            raise ZeroDivisionError("no reason")
        return read_agent_and_model(path)

    monkeypatch.setattr(discovery, "read_agent_and_model", fail_at_bad_file)
    done = cli("import", tmp_path, "--json")
    statuses = {
        row["path"].rpartition("/")[2]: row["status"]
        for row in done.objects
        if row["kind"] == "run"
    }
    assert statuses.pop("bad.trajectory.json") == "failed"
    assert len(statuses) >= 2 and set(statuses.values()) == {"imported"}
    assert done.code == 1
    errors = [
        row["what"] for row in done.objects if row["kind"] == "issue" and row["severity"] == "error"
    ]
    assert any("ZeroDivisionError: no reason" in error for error in errors)


def test_search_continues_around_several_faulty_files() -> None:
    files = [Path(f"{number}.json") for number in range(100)]
    faulty = {files[0], files[57], files[99]}

    def search(searched: Sequence[Path]) -> DiscoveredRuns:
        if faulty.intersection(searched):
            raise ValueError("damaged")
        return DiscoveredRuns(claimed=set(searched))

    result = search_around_faults(search, files)
    assert set(result.faulty_files) == faulty
    assert result.found.claimed == set(files) - faulty
    assert result.failure == ""


def test_search_that_always_fails_is_reported_and_hides_no_other_importer(
    samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> DiscoveredRuns:
        raise KeyError("lost")

    monkeypatch.setattr(discovery, "find_runs", fail)
    found = discover([samples / "tau"])
    assert found.plans
    assert any("KeyError" in issue.what and issue.severity == "error" for issue in found.issues)
