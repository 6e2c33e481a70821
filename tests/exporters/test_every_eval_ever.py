"""Figures of runs are exported as records of Every Eval Ever, with intervals.

The schema in `every_eval_ever/` is that of the package every-eval-ever 0.3.0 (MIT licence). The
package's own validator, which needs Python 3.12, checks the records in `make packages`, or if
FCREVIEW_EEE_PYTHON names a Python that has it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from fcreview.exporters import every_eval_ever
from fcreview.model.item import Run as ModelRun
from tests.commands import Done, environment, run_in_this_process
from tests.exporters.json_schema import list_errors

Record = dict[str, Any]
Run = Callable[..., Done]
FOLDER = Path(__file__).parent / "every_eval_ever"
SCHEMA = json.loads((FOLDER / "eval.schema.json").read_text())
VALIDATOR = "FCREVIEW_EEE_PYTHON"
UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
PATH = re.compile(rf"data/[\w.-]+/[\w.-]+/[\w.-]+/{UUID4}\.json")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("eee")


@pytest.fixture(scope="module")
def run(place: Path) -> Run:
    return lambda *words: run_in_this_process(words, place, environment(place))


@pytest.fixture(scope="module")
def exported(samples: Path, place: Path, run: Run) -> Path:
    """The records of runs of several benchmarks, one of which has a reviewed random sample."""
    for name in ("bfcl", "tau", "evalscope"):
        shutil.copytree(samples / name, place / "runs" / name)
    assert run("import", "runs").code == 0
    words = "queue create runs --name q --run 1 --size 8 --seed 3 --annotators tester"
    done = run(*words.split())
    assert done.code == 0, done.err
    reviews = []
    sampled = run("items", "runs", "--queue", "q", "--run", "1", "--json").objects
    for position, item in enumerate(sampled):
        reviews.append({"id": item["id"], "value": position % 3 > 0})
    (place / "reviews.jsonl").write_text("\n".join(map(json.dumps, reviews)))
    done = run("label", "runs", "--run", "1", "--from", "reviews.jsonl")
    assert done.code == 0, done.err
    done = run("export", "runs", "--format", "eee", "-o", "out", "--organization", "A lab")
    assert done.code == 0, done.err
    return place / "out"


def read_records(folder: Path) -> dict[str, Record]:
    """Path of a record in the folder -> record."""
    records = {}
    for path in sorted(folder.rglob("*.json")):
        records[path.relative_to(folder).as_posix()] = json.loads(path.read_text())
    return records


def test_records_match_the_schema_and_lie_where_the_datastore_wants_them(exported: Path) -> None:
    records = read_records(exported)
    assert len(records) > 5
    for path, record in records.items():
        assert PATH.fullmatch(path), path
        assert not list_errors(record, SCHEMA), path
        ids = [result["evaluation_result_id"] for result in record["evaluation_results"]]
        assert ids
        assert len(set(ids)) == len(ids)
        assert record["source_metadata"]["source_organization_name"] == "A lab"


def test_schema_check_finds_damaged_records(exported: Path) -> None:
    """The check of the records is no check if it accepts everything."""
    record = next(iter(read_records(exported).values()))
    for damage in list_damages(record):
        assert list_errors(damage, SCHEMA), damage


def list_damages(record: Record) -> Iterator[Record]:
    for name in SCHEMA["required"]:
        yield {key: value for key, value in record.items() if key != name}
    yield record | {"unknown": 1}
    changes: list[tuple[list[Any], Any]] = [
        (["model_info", "additional_details", "deployment_type"], "rented"),
        (["source_metadata", "source_type"], "guess"),
        (["eval_library", "additional_details", "n"], 1),
        (["evaluation_results", 0, "metric_config", "lower_is_better"], 0),
        (["evaluation_results", 0, "metric_config", "max_score"], "high"),
        (["evaluation_results", 0, "score_details", "score"], None),
        (["evaluation_results", 0, "score_details", "uncertainty", "num_samples"], 1.5),
        (["evaluation_results", 0, "source_data", "source_type"], "url"),
    ]
    for (*places, last), value in changes:
        damaged = deepcopy(record)
        part: Any = damaged
        for name in places:
            part = part[name]
        part[last] = value
        yield damaged


@pytest.mark.skipif(VALIDATOR not in os.environ, reason=f"{VALIDATOR} is not set")
def test_own_validator_accepts_the_records(exported: Path) -> None:
    paths = list(read_records(exported))
    done = subprocess.run(
        [os.environ[VALIDATOR], "-m", "every_eval_ever", "validate", "--format", "json", *paths],
        cwd=exported,
        capture_output=True,
        text=True,
    )
    reports = json.loads(done.stdout)
    assert [report["valid"] for report in reports] == [True] * len(paths)
    for report in reports:
        # These models have no developer in their name.
        for warning in report["warnings"]:
            assert "names no datastore directory" in warning["msg"]


def find_record(exported: Path, run_name: str) -> Record:
    for record in read_records(exported).values():
        if record["source_metadata"]["additional_details"]["run_name"] == run_name:
            return record
    raise AssertionError(run_name)


def index_results(record: Record) -> dict[str, Record]:
    return {result["evaluation_result_id"]: result for result in record["evaluation_results"]}


def test_pass_rates_have_the_interval_of_the_report(exported: Path, run: Run) -> None:
    for group in run("report", "runs/bfcl", "--group", "name", "--json").objects:
        (name,) = group["run_names"]
        (mean,) = [each for each in group["figures"] if each["figure"] == "mean"]
        details = index_results(find_record(exported, name))["bfcl.v4.en.items_passed/official"]
        score = details["score_details"]
        interval = score["uncertainty"]["confidence_interval"]
        assert score["uncertainty"]["num_samples"] == group["questions"]
        assert (score["score"], interval["lower"], interval["upper"]) == pytest.approx(
            (mean["value"], mean["low"], mean["high"])
        )
        assert interval["confidence_level"] == 0.95


def test_metrics_have_the_values_of_the_report_and_of_the_estimate(
    exported: Path, run: Run
) -> None:
    name = run("runs", "runs", "--json").objects[0]["run_name"]
    results = index_results(find_record(exported, name))
    estimates = run("estimate", "runs", "--run", "1", "--json").objects
    overall = next(each for each in estimates if each["name"] == "overall")
    for source, value in (
        ("official", overall["automatic"]),
        ("corrected", overall["corrected"]),
        ("estimated", overall["estimated"]),
    ):
        result = results[f"bfcl.v4.en.accuracy.overall/{source}"]
        scale = 100 if overall["unit"] == "percent" else 1
        assert result["score_details"]["score"] == pytest.approx(value / scale), source
    interval = results["bfcl.v4.en.accuracy.overall/estimated"]["score_details"]["uncertainty"][
        "confidence_interval"
    ]
    ends = [overall["low"], overall["high"]]
    if overall["headline"] == "bounds":
        ends = [overall["bounds_low"], overall["bounds_high"]]
    assert [interval["lower"], interval["upper"]] == pytest.approx([end / scale for end in ends])
    assert interval["method"].startswith("fcreview estimate")


def test_unreviewed_runs_have_no_corrected_figures(exported: Path) -> None:
    for record in read_records(exported).values():
        if record["source_metadata"]["additional_details"]["run_name"].startswith("maple-8b · tau"):
            assert not [i for i in index_results(record) if i.endswith("/corrected")]


def test_copies_of_a_run_have_records_of_their_own_and_keep_their_names(
    samples: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(samples / "generic", tmp_path / "runs" / name)
    home = environment(tmp_path)
    done = run_in_this_process(
        ["export", "runs", "--format", "eee", "-o", "out", "--developer", "acme"], tmp_path, home
    )
    n_runs = len(run_in_this_process(["runs", "runs", "--json"], tmp_path, home).objects)
    records = read_records(tmp_path / "out")
    assert len(records) == n_runs
    assert {PurePosixPath(path).parts[2] for path in records} == {"acme"}
    assert done.err.rstrip().endswith(f"wrote {n_runs} records to out")

    words = ["export", "runs", "--format", "eee", "-o", "again", "--developer", "acme"]
    words += ["--organization", "ACME."]
    assert run_in_this_process(words, tmp_path, home).code == 0
    again = read_records(tmp_path / "again")
    assert set(again) == set(records)
    assert list_relationships(records) == {"other"}
    assert list_relationships(again) == {"first_party"}


def test_empty_category_has_a_figure_beside_that_of_the_whole_run(tmp_path: Path) -> None:
    lines: list[Record] = [{"fcreview": 1, "benchmark": "x", "model": "m"}]
    for number, category in enumerate(["", "", "y"]):
        messages = [{"role": "user", "content": f"question {number}"}]
        item = {"id": str(number), "category": category, "messages": messages}
        lines.append(item | {"verdicts": [{"source": "official", "value": number == 0}]})
    (tmp_path / "run.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = run_in_this_process(
        ["export", "run.jsonl", "--format", "eee", "-o", "out"], tmp_path, environment(tmp_path)
    )
    assert done.code == 0, done.err
    (record,) = read_records(tmp_path / "out").values()
    scores = {
        name: result["score_details"]["score"]
        for name, result in index_results(record).items()
        if name.startswith("x.items_passed")
    }
    assert scores == {
        "x.items_passed/official": pytest.approx(1 / 3),
        "x.items_passed.no_category/official": 1 / 2,
        "x.items_passed.y/official": 0,
    }


def list_relationships(records: Mapping[str, Record]) -> set[str]:
    return {record["source_metadata"]["evaluator_relationship"] for record in records.values()}


@pytest.mark.parametrize(
    ("model", "organization", "developer", "relationship"),
    [
        ("openai/gpt-4o", "OpenAI", "openai", "first_party"),
        ("openai/gpt-4o", "A lab", "openai", "third_party"),
        ("gpt-4o", "A lab", "", "other"),
        ("../gpt-4o", "A lab", "", "other"),
    ],
)
def test_relationship_follows_from_the_developer_in_the_name(
    model: str, organization: str, developer: str, relationship: str
) -> None:
    run = ModelRun("generic", "", "", model, "runs")
    found = every_eval_ever.find_developer(run, "")
    assert found == developer
    assert every_eval_ever.describe_evaluator(organization, found) == relationship


@pytest.mark.parametrize(
    ("model", "folders"),
    [
        ("../../etc/passwd", "unknown/_etc_passwd"),
        ("org/name/x", "org/name_x"),
        ("CON", "unknown/_CON"),
        ("a:b*?\n", "unknown/a_b___"),
        ("data/.", "_data/unknown"),
    ],
)
def test_hostile_model_names_stay_in_the_folder(tmp_path: Path, model: str, folders: str) -> None:
    line = {"id": "one", "messages": [{"role": "user", "content": "hi"}], "official": True}
    header = {"fcreview": 1, "benchmark": "x", "model": model}
    text = "\n".join(map(json.dumps, [header, line]))
    (tmp_path / "run.jsonl").write_text(text)
    done = run_in_this_process(
        ["export", "run.jsonl", "--format", "eee", "-o", "out"], tmp_path, environment(tmp_path)
    )
    assert done.code == 0, done.err
    ((path, record),) = read_records(tmp_path / "out").items()
    assert "/".join(PurePosixPath(path).parts[2:4]) == folders
    assert not list_errors(record, SCHEMA)


def test_options_of_the_records_need_the_format(run: Run) -> None:
    done = run("export", "runs", "--organization", "x", "-o", "labels.jsonl")
    assert (done.code, "--organization needs --format eee" in done.err) == (2, True)
