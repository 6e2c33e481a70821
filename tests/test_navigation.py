"""An engineer can follow the main paths through the code by go-to-definition."""

from __future__ import annotations

import ast

import pytest

from fcreview.importers.importer import Importer
from fcreview.importers.registry import IMPORTERS
from tests.definitions import Definition, find_path, list_references

OPEN = "fcreview.cli.commands.open.open_"


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_open_leads_to_functions_that_read_each_benchmark(importer: Importer) -> None:
    package = type(importer).__module__.rpartition(".")[0]
    assert find_path(OPEN, f"{package}.discovery.find_runs")
    path = find_path(OPEN, f"{package}.read.read_items")
    assert f"{package}.importer.{type(importer).__name__}.read_items" in path


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
def test_report_leads_to_metrics_of_each_benchmark(importer: Importer) -> None:
    package = type(importer).__module__.rpartition(".")[0]
    assert find_path(
        "fcreview.cli.commands.report.report", f"{package}.leaderboard.compute_metrics"
    )


@pytest.mark.parametrize(
    ("statement", "references"),
    [
        ("importer_for(run).read_items(plan)", ["Importer.read_items", "importer_for"]),
        ("for each in IMPORTERS: each.read_items(plan)", ["Importer.read_items"]),
        ("given.find_runs", ["Importer.find_runs"]),
        ("read.read_items(plan)", ["read_items"]),
        ("getattr(given, 'read_items')(plan)", []),
        ("untyped.read_items(plan)", []),
    ],
)
def test_only_names_and_typed_values_lead_to_functions(
    statement: str, references: list[str]
) -> None:
    definition = make_function(statement)
    assert sorted(name_in_module(each) for each in list_references(definition)) == references


def make_function(statement: str) -> Definition:
    """Return the definition of a function in the registry with a statement."""
    code = f"""
def example(given: Importer | None, untyped: Any, run: Run, plan: RunPlan) -> None:
    from fcreview.importers.bfcl import read
    {statement}
"""
    return Definition("example", ast.parse(code).body[0], "fcreview.importers.registry")


def name_in_module(definition: Definition) -> str:
    return definition.name.removeprefix(f"{definition.module}.")


def test_path_in_wrong_direction_does_not_exist() -> None:
    assert find_path("fcreview.importers.registry.importer_for", OPEN) == []
