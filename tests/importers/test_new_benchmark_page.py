"""The example in docs/new-benchmark.md passes the tests of importers."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fcreview.importers
from fcreview.importers import registry
from fcreview.importers.importer import Importer
from tests.conftest import ROOT
from tests.importers import test_contract as contract

NAME = "toybench"
BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with the sample run of the example. Its importer is registered during the test."""
    page = (ROOT / "docs" / "new-benchmark.md").read_text("utf-8")
    package = tmp_path / "importers" / NAME
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""ToyBench."""\n')
    for part in ("importer", "read"):
        (package / f"{part}.py").write_text(find_code_block(page, f"`importers/{NAME}/{part}.py`:"))
    run = tmp_path / "samples" / NAME / "toybench_maple-8b.jsonl"
    run.parent.mkdir(parents=True)
    run.write_text(find_code_block(page, f"`sample_runs/{NAME}/{run.name}`:"))
    line_in_registry = find_code_block(page, "in `IMPORTERS`:")
    monkeypatch.setattr(
        fcreview.importers, "__path__", [*fcreview.importers.__path__, str(package.parent)]
    )
    importlib.invalidate_caches()
    importer = create_importer(line_in_registry)
    monkeypatch.setattr(registry, "IMPORTERS", (*registry.IMPORTERS, importer))
    yield tmp_path / "samples"
    for module in [name for name in sys.modules if name.startswith(f"fcreview.importers.{NAME}")]:
        del sys.modules[module]


def find_code_block(page: str, words: str) -> str:
    """Return the first code block after these words."""
    found = BLOCK.search(page, page.index(words))
    assert found, words
    return found[1]


def create_importer(line: str) -> Importer:
    """Create the importer of a line of the registry."""
    class_name = line.strip().removesuffix("(),")
    module = importlib.import_module(f"fcreview.importers.{NAME}.importer")
    importer = getattr(module, class_name)()
    assert isinstance(importer, Importer)
    return importer


def test_example_passes_importer_tests(samples: Path) -> None:
    for check in (
        contract.test_sample_run_is_read_completely_without_issues,
        contract.test_sample_run_is_recognized,
        contract.test_sample_run_has_right_and_wrong_items,
        contract.test_reading_is_deterministic,
        contract.test_figures_are_numbers_from_any_rows,
        contract.test_plan_survives_pickling,
    ):
        check(samples, NAME)


@pytest.mark.parametrize("damage", contract.DAMAGES)
def test_example_survives_damage(samples: Path, damage: str) -> None:
    item_counts = {NAME: len(contract.read_run(samples / NAME, NAME)[0])}
    contract.test_damage_is_survived_and_reported(
        copies={NAME: samples / NAME}, item_counts=item_counts, name=NAME, damage=damage
    )


def test_example_figures_use_item_metadata(samples: Path) -> None:
    (plan,) = registry.discover([samples], format=NAME).plans
    items = contract.read_run(samples, NAME)[0]
    rows = [
        contract.ScoredItem(i.id, i.category, i.group, i.rule, metadata=i.extra.metadata)
        for i in items
    ]
    levels = {
        f.name: f.value for f in registry.compute_metrics(rows, plan.run) if f.table == "by level"
    }
    assert levels == {"1": 1.0, "2": 0.0}
