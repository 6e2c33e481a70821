"""The registry chooses the importer of each file."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fcreview.importers import registry
from fcreview.importers.common.discovery import NOT_UTF8
from fcreview.importers.importer import Importer
from fcreview.importers.registry import (
    IMPORTERS,
    compute_metrics,
    discover,
    get_importer,
    read_items,
)
from fcreview.model.item import Item, ReadRecord, Run
from fcreview.model.metric import Metric, ScoredItem
from fcreview.run_plan import DiscoveredRuns, RunPlan, SearchOptions
from tests.sources import ROOT


class OtherImporter(Importer):
    """An importer that accepts every JSON file."""

    name = "other"
    title = "Other"
    expected_files = "any file"
    version = 7

    def __init__(self, confidence: float) -> None:
        self.confidence = confidence

    def find_runs(
        self, files: Sequence[Path], dataset_folders: Sequence[Path], search: SearchOptions
    ) -> DiscoveredRuns:
        plans = [
            RunPlan(
                Run(self.name, "1", "en", path.stem, str(path)),
                [path],
                confidence=self.confidence,
                reason="any",
            )
            for path in files
        ]
        return DiscoveredRuns(plans, claimed=set(files))

    def read_items(self, plan: RunPlan) -> Iterator[ReadRecord]:
        yield Item("x", "y")

    def compute_metrics(self, items: Sequence[ScoredItem], run: Run) -> list[Metric]:
        return []


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "result" / "m" / "BFCL_v4_simple_python_result.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"id": "simple_python_0", "result": "[f(a=1)]"}')
    return tmp_path


def register_other(monkeypatch: pytest.MonkeyPatch, confidence: float) -> None:
    importers = (get_importer("bfcl"), OtherImporter(confidence))
    monkeypatch.setattr(registry, "IMPORTERS", importers)


@pytest.mark.parametrize(("confidence", "winner"), [(0.5, "bfcl"), (2.0, "other")])
def test_benchmark_with_higher_confidence_gets_file(
    run: Path, monkeypatch: pytest.MonkeyPatch, confidence: float, winner: str
) -> None:
    register_other(monkeypatch, confidence)
    found = discover([run])
    assert [plan.run.benchmark for plan in found.plans] == [winner]
    issues = [issue.what for issue in found.issues if "Ambiguous input" in issue.what]
    assert len(issues) == 1
    assert "bfcl" in issues[0] and "other" in issues[0] and "--format" in issues[0]


def test_format_option_uses_one_importer(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_other(monkeypatch, 0.1)
    found = discover([run], format="other")
    assert [(plan.run.benchmark, plan.version) for plan in found.plans] == [("other", 7)]
    with pytest.raises(KeyError):
        discover([run], format="nothing")


def test_unrecognized_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.jsonl").write_text("{}")
    found = discover([tmp_path])
    assert found.plans == []
    assert [issue.severity for issue in found.issues] == ["notice", "error"]
    assert "no importer recognizes them: 2 (a.json, b.jsonl)" in found.issues[0].what
    assert "BFCL" in found.issues[1].what


def test_missing_path_is_only_error(tmp_path: Path) -> None:
    found = discover([tmp_path / "no"])
    assert [(issue.severity, issue.what) for issue in found.issues] == [
        ("error", "no such file or folder")
    ]


def test_missing_dataset_folder_is_reported(run: Path) -> None:
    found = discover([run], data=[run / "no"])
    assert any(issue.what == "the dataset folder does not exist" for issue in found.issues)
    assert len(found.plans) == 1


def test_undecodable_dataset_folder_is_reported(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    found = discover([run], data=[folder, Path("~no-such-user/data")])
    issues = [issue for issue in found.issues if issue.severity == "error"]
    assert [issue.what for issue in issues] == [NOT_UTF8, "the dataset folder does not exist"]
    assert issues[0].file.encode()
    assert [plan.data for plan in found.plans] == [plan.data for plan in discover([run]).plans]


def test_plans_can_be_sent_to_another_process(run: Path) -> None:
    (plan,) = discover([run]).plans
    copy: Any = pickle.loads(pickle.dumps(plan))  # noqa: S301
    assert [item.id for item in read_items(copy) if isinstance(item, Item)] == ["simple_python_0"]


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_importers_have_required_attributes(importer: Importer) -> None:
    assert get_importer(importer.name) is importer
    assert importer.title
    assert importer.version >= 1
    assert importer.find_runs([], [], SearchOptions()) == DiscoveredRuns()


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_importers_define_only_what_the_interface_declares(importer: Importer) -> None:
    """A misspelt name, such as `aplies_errata`, would have no effect."""
    public_names = {name for name in vars(type(importer)) if not name.startswith("_")}
    unknown = public_names - set(vars(Importer))
    assert not unknown, f"{type(importer).__name__} defines {unknown}, which Importer does not have"


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_importers_say_why_golden_answers_cannot_be_corrected(importer: Importer) -> None:
    """An importer without `check_golden_fix` has a reason of its own."""
    checks_fixes = type(importer).check_golden_fix is not Importer.check_golden_fix
    has_reason = importer.why_no_golden_fix != Importer.why_no_golden_fix
    assert checks_fixes != has_reason, (
        f"{type(importer).__module__}: {type(importer).__name__} must define check_golden_fix or"
        " why_no_golden_fix, and not both"
    )


def test_every_importer_is_registered() -> None:
    registered = {type(importer).__module__ for importer in IMPORTERS}
    for file in sorted((ROOT / "importers").glob("*/importer.py")):
        module = f"fcreview.importers.{file.parent.name}.importer"
        assert module in registered, (
            f"importers/{file.parent.name}/importer.py: its importer is missing in IMPORTERS of"
            " importers/registry.py"
        )


def test_only_importers_that_combine_runs_define_combined_metrics() -> None:
    defining = {
        importer.name
        for importer in IMPORTERS
        if type(importer).compute_combined_metrics is not Importer.compute_combined_metrics
    }
    assert defining == {importer.name for importer in IMPORTERS if importer.combines_runs}


def test_search_loads_no_module_of_a_benchmark() -> None:
    """The start of fcreview would otherwise become slower with each benchmark."""
    code = """
import sys
import fcreview.importers.registry
print(*(name for name in sys.modules if name.startswith("fcreview.importers.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {importer.name for importer in IMPORTERS} | {"generic_format"}
    loaded = {name for name in done.stdout.split() if name.split(".")[2] in packages}
    assert {name for name in loaded if not name.endswith(".importer")} == {
        f"fcreview.importers.{type(importer).__module__.split('.')[2]}" for importer in IMPORTERS
    }


def test_odd_values_lose_only_figures_of_benchmark() -> None:
    rows = [
        ScoredItem(
            "a",
            "dialogacts",
            None,
            True,
            values={"dialog_act": [{"not": "a label"}]},
            metadata={"chain": 5},
        )
    ]
    rows += [
        ScoredItem(
            "b",
            "conversationsclean",
            None,
            False,
            values={"soft_score": 1.0},
            metadata={"chain": {}},
        )
    ]
    found = compute_metrics(rows, Run("confetti", "v1", "en", "m", "/runs"))
    assert (found[0].name, found[0].value) == ("all items", 0.5)
    assert "cannot be computed from this data" in found[0].note
