"""`label --golden-fix`, `export --format native` and `golden-patch` write the benchmark's own
files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers.importer import WriteError
from fcreview.importers.registry import rewrite_golden, rewrite_scores, write_reviewed_logs
from fcreview.model.item import Run
from fcreview.run_plan import RunPlan

pytestmark = pytest.mark.slow
Cli = Callable[..., Any]
FIX = {
    "ground_truth": [{"get_current_weather": {"location": ["Hangzhou, CN"], "unit": ["celsius"]}}]
}
ITEM = ("live_simple_0-0-0", "--run", "1")


@pytest.fixture
def run(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / "bfcl", tmp_path / "bfcl"))


def report_figures(cli: Cli, run: Path, source: str) -> dict[Any, Any]:
    lines = cli("report", run, "--json").objects
    return {
        (each["model"], each["table"], each["level"], each["name"]): each[source] for each in lines
    }


@pytest.mark.sweep
def test_corrected_figures_are_official_in_export(cli: Cli, run: Path, tmp_path: Path) -> None:
    cli("label", run, *ITEM, "--verdict", "golden-wrong")
    cli("label", run, "simple_python_0", "--run", "1", "--verdict", "fail", "--reason", "the unit")
    done = cli("export", run, "--format", "native", "-o", tmp_path / "out")
    assert (done.code, done.out) == (0, "")
    assert "2 changed files" in done.err
    official, corrected = (
        report_figures(cli, tmp_path / "out", "official"),
        report_figures(cli, run, "corrected"),
    )
    assert official == corrected != report_figures(cli, run, "official")
    (entry,) = cli("show", tmp_path / "out", "simple_python_0", "--run", "1", "--json").objects
    assert "an annotator marked the item as failed" in json.dumps(entry)
    for original in (tmp_path / "out").rglob("*.orig"):
        name = original.relative_to(tmp_path / "out").as_posix().removesuffix(".orig")
        assert original.read_bytes() == (run / name).read_bytes()


@pytest.mark.sweep
def test_reviews_missing_from_export_are_reported(cli: Cli, run: Path, tmp_path: Path) -> None:
    for who, verdict in (("alice", "pass"), ("bob", "fail")):
        cli("label", run, *ITEM, "--verdict", verdict, "--annotator", who)
    options = ["--verdict", "yes", "--criterion", "hallucinated", "--target", "turn:1/call:1"]
    assert cli("label", run, "simple_python_1", "--run", "1", *options).code == 0
    text = cli("export", run, "--format", "native", "-o", tmp_path / "out").err
    assert (
        "unresolved disagreements between annotators; the benchmark's own verdict is kept (1)"
        in text
    )
    assert "verdicts on calls, criterion hallucinated (1)" in text
    assert "0 changed files" in text


@pytest.mark.sweep
def test_dataset_outside_run_is_reported(
    cli: Cli, run: Path, samples: Path, tmp_path: Path
) -> None:
    inside, outside = (
        tmp_path / "other" / "questions",
        tmp_path.parent / f"{tmp_path.name}-far" / "a" / "data",
    )
    for data, copied in ((inside, True), (outside, False)):
        shutil.copytree(samples / "bfcl" / "data", data)
        out = tmp_path / f"out-{copied}"
        shutil.rmtree(run / "data", ignore_errors=True)
        text = cli("export", run, "--format", "native", "-o", out, "--data", data).err
        assert (
            "The export of BFCL V4, maple-8b has no dataset. Pass --data DIR" in text
        ) is not copied
        assert bool(list(out.rglob("possible_answer"))) is copied
        assert (f"dataset files from {data}" in text) is not copied


@pytest.mark.parametrize("format_", ["native", "golden-patch"])
def test_native_formats_refuse_filter_and_standard_output(
    cli: Cli, run: Path, format_: str
) -> None:
    assert (
        cli("export", run, "--format", format_, "-o", "out", "--where", "official:fail").code == 2
    )
    assert cli("export", run, "--format", format_, "-o", "out", "--only", "reviewed").code == 2
    assert cli("export", run, "--format", format_).code == 2


@pytest.mark.sweep
def test_golden_fix_is_saved_and_exported_as_patch(cli: Cli, run: Path, tmp_path: Path) -> None:
    (tmp_path / "fix.json").write_text(json.dumps(FIX))
    for given in (json.dumps(FIX), tmp_path / "fix.json"):
        event = cli("label", run, *ITEM, "--golden-fix", given, "--json").objects[0]
        assert event["golden_fix"] == FIX
    done = cli("export", run, "--format", "golden-patch", "-o", tmp_path / "out")
    assert done.code == 0
    assert (
        f"golden.patch corrects the dataset. Apply it in {run / 'data'} with git apply" in done.err
    )
    assert "wrote 1 golden answer and 1 dataset file to" in done.err
    assert (
        b"+++ b/possible_answer/BFCL_v4_live_simple.json"
        in (tmp_path / "out" / "golden.patch").read_bytes()
    )


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("given", "code", "why"),
    [
        ("no such file", 2, "a JSON object or a file with a JSON object"),
        ("{", 2, "must be valid JSON"),
        ("{}", 1, "must contain ground_truth"),
        ('{"id": "x"}', 1, "not id"),
        (
            '{"ground_truth": [{"get_current_weather": {"location": ["x"], "moon": ["y"]}}]}',
            1,
            "no parameter moon",
        ),
        ('{"ground_truth": [{"get_current_weather": {}}]}', 1, "requires the parameter location"),
        (
            '{"ground_truth": [{"get_current_weather": {"location": "x"}}]}',
            1,
            "must be a list of accepted values",
        ),
        ('{"ground_truth": [{"nothing": {}}]}', 1, "function nothing is not available"),
    ],
)
def test_invalid_golden_fix_is_refused(
    cli: Cli, run: Path, given: str, code: int, why: str
) -> None:
    done = cli("label", run, *ITEM, "--golden-fix", given)
    assert done.code == code
    assert why in done.err
    assert not list((run / ".fcreview" / "reviews").glob("*.jsonl"))


def test_patch_without_golden_fix_writes_nothing(cli: Cli, run: Path, tmp_path: Path) -> None:
    done = cli("export", run, "--format", "golden-patch", "-o", tmp_path / "out")
    assert done.code == 1
    assert "label --golden-fix" in done.err
    assert not (tmp_path / "out").exists()


def test_benchmark_without_writer_is_reported() -> None:
    log = RunPlan(Run("inspect", "", "en", "m", "/log.eval"), [], importer="inspect")
    with pytest.raises(WriteError, match="fcreview cannot write the score files of Inspect"):
        rewrite_scores(log, [])
    with pytest.raises(WriteError, match="fcreview cannot write the dataset of Inspect"):
        rewrite_golden(log, {})
    results = RunPlan(Run("bfcl", "V4", "en", "m", "/result/m"), [], importer="bfcl")
    with pytest.raises(WriteError, match="fcreview cannot write the logs of BFCL"):
        write_reviewed_logs(results, [], [])
