"""`fcreview import --execute` recomputes BFCL multi-turn verdicts with the official package.

Most tests need `bfcl-eval` 2026.3.23, whose dataset is the one in ../shared/bench: in this Python,
or in the one that FCREVIEW_BFCL_PYTHON names.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.bfcl.execution.executor import PYTHON_VARIABLE, ExecutionError, Executor
from tests.commands import Done

Cli = Callable[..., Done]
MODEL = "gpt-4o-mini-2024-07-18-FC"
CATEGORY = "multi_turn_base"
N_ITEMS = 12


@dataclass
class Place:
    """Runs with multi-turn items without scores, and their dataset."""

    cli: Cli
    runs: Path
    data: Path
    failing: set[str]
    """Ids of the items that fail officially."""

    @property
    def results(self) -> Path:
        return self.runs / "result" / MODEL / "multi_turn" / f"BFCL_v4_{CATEGORY}_result.json"

    def do_import(self, *more: str) -> Done:
        python = os.environ.get(PYTHON_VARIABLE, "")
        return self.cli(
            "import", self.runs, "--data", self.data, *more, **{PYTHON_VARIABLE: python}
        )

    def verdicts(self) -> dict[str, bool | None]:
        rows = self.cli("items", self.runs, "--json", "--queue", "dataset").objects
        return {row["id"]: row["rule"] for row in rows}

    def write_results(self, records: list[dict[str, Any]]) -> None:
        self.results.write_text("".join(json.dumps(record) + "\n" for record in records))

    def read_results(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results.read_text("utf-8").splitlines()]


@pytest.fixture
def place(bench: Path, cli: Cli, tmp_path: Path) -> Place:
    source = bench / "bfcl_v4"
    data = tmp_path / "data"
    (data / "possible_answer").mkdir(parents=True)
    for name in (f"BFCL_v4_{CATEGORY}.json", f"possible_answer/BFCL_v4_{CATEGORY}.json"):
        shutil.copy(source / "data" / name, data / name)
    shutil.copytree(source / "data" / "multi_turn_func_doc", data / "multi_turn_func_doc")
    score = source / "score" / MODEL / "multi_turn" / f"BFCL_v4_{CATEGORY}_score.json"
    failing = {json.loads(line)["id"] for line in score.read_text("utf-8").splitlines()[1:]}
    found = Place(cli, tmp_path / "runs", data, failing)
    found.results.parent.mkdir(parents=True)
    shutil.copy(source / found.results.relative_to(found.runs), found.results)
    found.write_results(found.read_results()[:N_ITEMS])
    return found


@pytest.fixture
def executable(place: Place) -> Place:
    try:
        with Executor() as executor:
            package = executor.package
    except ExecutionError as error:
        pytest.skip(f"bfcl-eval is not installed: {error}")
    if package != "bfcl-eval 2026.3.23":
        pytest.skip(f"{package} has another dataset than ../shared/bench")
    return place


def test_verdicts_are_the_official_ones(executable: Place) -> None:
    done = executable.do_import("--execute")
    assert done.code == 0, done.err
    assert "--execute: bfcl-eval 2026.3.23 executes the calls of models" in done.err
    verdicts = executable.verdicts()
    assert len(verdicts) == N_ITEMS and set(verdicts.values()) == {True, False}
    assert {item for item, passes in verdicts.items() if not passes} == executable.failing & set(
        verdicts
    )


@pytest.mark.sweep
def test_all_published_verdicts_are_equal(executable: Place, bench: Path) -> None:
    shutil.rmtree(executable.runs)
    shutil.rmtree(executable.data)
    for folder in ("result", "score"):
        for model in (bench / "bfcl_v4" / folder).iterdir():
            if model.is_dir():
                target = executable.runs / folder / model.name / "multi_turn"
                shutil.copytree(model / "multi_turn", target)
    shutil.copytree(bench / "bfcl_v4" / "data", executable.data)
    assert executable.do_import("--execute").code == 0
    rows = executable.cli("items", executable.runs, "--json", "--queue", "dataset").objects
    assert len(rows) == 1_000
    for row in rows:
        assert row["rule"] is row["official"], row["id"]
        # The recomputed verdict on a failed request has no error type.
        if row["error_type"] is not None and row["incident"] is None:
            assert row["rule_error_type"] == row["error_type"], row["id"]


def test_states_of_every_turn_are_stored(executable: Place) -> None:
    assert executable.do_import("--execute").code == 0
    failing = next(item for item, passes in executable.verdicts().items() if passes is False)
    rows = executable.cli("items", executable.runs, "--json", "--queue", "dataset").objects
    state_failures = [
        row["id"] for row in rows if row["rule_error_type"] == "multi_turn:instance_state_mismatch"
    ]
    (shown,) = executable.cli(
        "show", executable.runs, (state_failures or [failing])[0], "--json"
    ).objects
    extra = shown["item"]["extra"]
    turn = str(extra["failing_turn"] + 1)
    differences = extra["state differences by turn"][turn]
    assert set(extra["state_differences"]) == set(differences)
    assert all(set(values) == {"golden", "model"} for values in differences.values())


def test_verdicts_stay_until_a_file_changes(executable: Place) -> None:
    assert executable.do_import("--execute").code == 0
    before = executable.verdicts()
    assert executable.do_import().code == 0
    assert executable.verdicts() == before
    executable.write_results(executable.read_results()[:-1])
    assert executable.do_import().code == 0
    assert set(executable.verdicts().values()) == {None}


def list_hostile_replies(target: Path) -> list[Any]:
    """Replies whose call texts would create a file if they were evaluated."""
    path = repr(str(target))
    return [
        [{"ls": json.dumps({f"a=open({path}, 'w'), b": 1})}],
        [{f"open({path}, 'w').write": json.dumps({"s": "x"})}],
        [{f"ls(), open({path}, 'w'), ls": "{}"}],
    ]


def test_hostile_call_is_reported_and_not_executed(executable: Place, tmp_path: Path) -> None:
    target = tmp_path / "executed"
    replies = list_hostile_replies(target)
    records = executable.read_results()[: len(replies)]
    for record, reply in zip(records, replies, strict=True):
        record["result"][0].insert(0, reply)
    executable.write_results(records)
    check_not_executed(executable, target, n_items=len(records))


def test_nested_call_in_a_text_reply_is_not_executed(executable: Place, tmp_path: Path) -> None:
    """The official handler writes it as a call in the call."""
    target = tmp_path / "executed"
    (record,) = executable.read_results()[:1]
    record["result"][0].insert(0, f"[ls(a=open(file={str(target)!r}, mode='w'))]")
    executable.write_results([record])
    folder = executable.runs / "result"
    (folder / MODEL).rename(folder / MODEL.removesuffix("-FC"))
    check_not_executed(executable, target, n_items=1)


def check_not_executed(place: Place, target: Path, n_items: int) -> None:
    done = place.do_import("--execute", "--json")
    assert done.code == 0, done.err
    assert not target.exists()
    assert list(place.verdicts().values()) == [None] * n_items
    reason = "was not executed, because it is no call of a known function"
    issues = [row for row in done.objects if row["kind"] == "issue" and reason in row["what"]]
    assert len({row["item"] for row in issues}) == n_items


def test_errata_change_multi_turn_verdicts(executable: Place, tmp_path: Path) -> None:
    """The corrected golden answer is what a failing model did."""
    assert executable.do_import("--execute").code == 0
    before = executable.verdicts()
    item = next(item for item, passes in before.items() if passes)
    answers = executable.data / "possible_answer" / f"BFCL_v4_{CATEGORY}.json"
    (record,) = [
        record
        for record in map(json.loads, answers.read_text("utf-8").splitlines())
        if record["id"] == item
    ]
    golden = [["touch(file_name='new.txt')"], *record["ground_truth"][1:]]
    fix = json.dumps({"ground_truth": golden})
    done = executable.cli("label", executable.runs, item, "--golden-fix", fix)
    assert done.code == 0, done.err
    errata = tmp_path / "errata.jsonl"
    assert executable.cli("errata", "create", executable.runs, "-o", errata).code == 0
    done = executable.do_import("--execute", "--errata", str(errata))
    assert done.code == 0, done.err
    after = executable.verdicts()
    assert after[item] is False
    assert {key: after[key] for key in after if key != item} == {
        key: before[key] for key in before if key != item
    }
    (shown,) = executable.cli("show", executable.runs, item, "--json").objects
    assert shown["item"]["extra"]["without_errata"]["valid"] is True


def test_accepted_corrections_change_executed_verdicts(executable: Place) -> None:
    """The corrected golden answer has another first call, which no model made."""
    assert executable.do_import("--execute").code == 0
    item = next(item for item, passes in executable.verdicts().items() if passes)
    answers = executable.data / "possible_answer" / f"BFCL_v4_{CATEGORY}.json"
    golden = next(
        record["ground_truth"]
        for record in map(json.loads, answers.read_text("utf-8").splitlines())
        if record["id"] == item
    )
    fix = json.dumps({"ground_truth": [["touch(file_name='new.txt')"], *golden[1:]]})
    done = executable.cli("label", executable.runs, item, "--golden-fix", fix, "--accept")
    assert done.code == 0, done.err
    assert "Run fcreview errata rescore --execute" in done.err

    def read_effective() -> bool | None:
        rows = executable.cli("items", executable.runs, "--where", f"id:{item}", "--json").objects
        effective: bool | None = rows[0]["effective"]
        return effective

    assert read_effective() is True
    done = executable.cli("errata", "rescore", executable.runs)
    assert "1 golden answer of multi-turn items not executed. Use --execute" in done.err

    python = {PYTHON_VARIABLE: os.environ.get(PYTHON_VARIABLE, "")}
    done = executable.cli("errata", "rescore", executable.runs, "--execute", **python)
    assert done.code == 0, done.err
    assert "bfcl-eval 2026.3.23 executes the calls of models" in done.err
    assert "applied 1 golden answer to 1 item\n" in done.err
    assert read_effective() is False

    # The verdict is recorded once, and stays without another execution.
    done = executable.cli("errata", "rescore", executable.runs, "--execute", **python)
    assert "applied 1 golden answer to 1 item (0 with new verdicts)" in done.err
    assert executable.cli("errata", "rescore", executable.runs).code == 0
    assert read_effective() is False


def test_corrections_are_not_executed_without_the_package(place: Place) -> None:
    assert place.do_import().code == 0
    done = place.cli("errata", "rescore", place.runs, "--execute", **{PYTHON_VARIABLE: "/dev/null"})
    assert done.code == 1
    assert "/dev/null" in done.err


def test_other_dataset_has_no_verdict(executable: Place) -> None:
    questions = executable.data / f"BFCL_v4_{CATEGORY}.json"
    questions.write_text(
        questions.read_text("utf-8").replace('"initial_config": {', '"initial_config": {"x": {}, ')
    )
    assert executable.do_import("--execute").code == 0
    assert set(executable.verdicts().values()) == {None}


def test_nothing_is_executed_without_the_option(place: Place) -> None:
    assert place.do_import().code == 0
    assert set(place.verdicts().values()) == {None}


def test_option_is_refused_without_the_package(place: Place) -> None:
    done = place.cli(
        "import", place.runs, "--data", place.data, "--execute", **{PYTHON_VARIABLE: "/dev/null"}
    )
    assert done.code == 1 and "/dev/null" in done.err
    assert not (place.runs / ".fcreview" / "store.duckdb").exists()
