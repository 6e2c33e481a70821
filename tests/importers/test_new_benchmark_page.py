"""The example of docs/new-benchmark.md, taken from the page as it stands, keeps the contract."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fcreview.importers
from fcreview.importers import registry
from fcreview.importers.base import Importer
from tests.conftest import ROOT
from tests.importers import test_contract as contract

NAME = "toybench"
BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with its sample run; its importer is registered meanwhile."""
    page = (ROOT / "docs" / "new-benchmark.md").read_text("utf-8")
    package = tmp_path / "importers" / NAME
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('"""ToyBench."""\n')
    for part in ("discovery", "leaderboard", "read"):
        (package / f"{part}.py").write_text(after(page, f"`importers/{NAME}/{part}.py`:"))
    run = tmp_path / "samples" / NAME / "toybench_maple-8b.jsonl"
    run.parent.mkdir(parents=True)
    run.write_text(after(page, f"`sample_runs/{NAME}/{run.name}`:"))
    importer = registered(after(page, "in `IMPORTERS`:"))
    monkeypatch.setattr(fcreview.importers, "__path__", [*fcreview.importers.__path__, str(package.parent)])
    monkeypatch.setitem(registry.IMPORTERS, NAME, importer)  # type: ignore[arg-type]
    importlib.invalidate_caches()
    yield tmp_path / "samples"
    for module in [name for name in sys.modules if name.startswith(f"fcreview.importers.{NAME}")]:
        del sys.modules[module]


def after(page: str, words: str) -> str:
    """The first block of code behind these words."""
    found = BLOCK.search(page, page.index(words))
    assert found, words
    return found[1]


def registered(line: str) -> Importer:
    """The importer of a line as it stands in the registry."""
    tree = ast.parse(line.strip(), mode="eval").body
    assert isinstance(tree, ast.Tuple) and isinstance(tree.elts[0], ast.Call)
    return Importer(*(ast.literal_eval(argument) for argument in tree.elts[0].args))


def test_the_example_keeps_the_contract(samples: Path) -> None:
    for check in (
        contract.test_the_sample_run_is_read_whole_and_without_complaint,
        contract.test_the_sample_run_is_recognised_without_being_told,
        contract.test_the_sample_run_shows_right_and_wrong_items,
        contract.test_reading_twice_gives_the_same,
        contract.test_figures_are_numbers_from_any_rows,
        contract.test_a_plan_reads_the_same_in_another_process,
    ):
        check(samples, NAME)


@pytest.mark.parametrize("damage", contract.DAMAGES)
def test_the_example_survives_damage(samples: Path, damage: str) -> None:
    whole = {NAME: len(contract.read(samples / NAME, NAME)[0])}
    contract.test_damage_is_survived_and_said(copies={NAME: samples / NAME}, whole=whole, name=NAME, damage=damage)


def test_the_examples_tables_read_what_its_items_carry(samples: Path) -> None:
    (plan,) = registry.discover([samples], format=NAME).plans
    items = contract.read(samples, NAME)[0]
    rows = [contract.ScoredItem(i.id, i.category, i.group, i.rule, metadata=i.extra.metadata) for i in items]
    levels = {f.name: f.value for f in registry.compute_metrics(rows, plan.run) if f.table == "by level"}
    assert levels == {"1": 1.0, "2": 0.0}
