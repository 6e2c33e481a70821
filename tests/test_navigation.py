"""An engineer can follow the main paths through the code by go-to-definition."""

from __future__ import annotations

import ast
import re

import pytest

from fcreview.importers.importer import Importer
from fcreview.importers.registry import IMPORTERS
from fcreview.store.filters.parser import FILTER_KEYS
from fcreview.tui.screens.item_pane import ItemPane
from tests.action_methods import find_method
from tests.definitions import (
    Definition,
    find_definition,
    find_path,
    find_paths,
    list_references,
)
from tests.sources import SOURCES

OPEN = "fcreview.cli.commands.open.open_"
REPORT = "fcreview.cli.commands.report.report"
KEY_OF_FAIL = "item.fail"
WAY_OF_A_KEY = (
    "fcreview.tui.screens.item_pane.ItemPane",
    "fcreview.tui.review.item_reviewer.ItemReviewer",
    "fcreview.tui.session.Session",
    "fcreview.store.reviewer.Reviewer",
    "fcreview.store.reviews.journal.Journal",
)
"""Classes between a verdict key and the disk, in the order in which a reader meets them."""
APPEND = "fcreview.store.reviews.journal.Journal.append"
SECTION_MODULES = ("fcreview.exporters.report_sections", "fcreview.exporters.report_summary")
SECTION_BUILDER = re.compile(r"build_\w+_section")
SQL_OF_FILTERS = "fcreview.store.filters.search_sql"
ESTIMATES_SCREEN = "fcreview.tui.screens.estimates.EstimatesScreen"


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda importer: importer.name)
@pytest.mark.parametrize(
    ("command", "method", "module"),
    [
        (OPEN, "find_runs", "discovery"),
        (OPEN, "read_items", "read"),
        (REPORT, "compute_metrics", "leaderboard"),
    ],
)
def test_command_leads_to_methods_of_each_importer(
    importer: Importer, command: str, method: str, module: str
) -> None:
    """A method leads on to the function of the same name, if the benchmark has such a module."""
    class_ = type(importer)
    assert find_path(command, f"{class_.__module__}.{class_.__name__}.{method}")
    function = f"{class_.__module__.rpartition('.')[0]}.{module}.{method}"
    assert find_definition(function) is None or find_path(command, function)


def list_section_builders() -> list[str]:
    """Return the functions that build a section of a report."""
    names = []
    for module in SECTION_MODULES:
        definition = find_definition(module)
        assert definition is not None and isinstance(definition.node, ast.Module)
        for node in definition.node.body:
            is_builder = isinstance(node, ast.FunctionDef) and SECTION_BUILDER.fullmatch(node.name)
            if is_builder:
                names.append(f"{module}.{node.name}")
    return names


@pytest.mark.parametrize("builder", list_section_builders())
def test_report_leads_to_each_section(builder: str) -> None:
    module, _, name = builder.rpartition(".")
    assert find_path(REPORT, builder), (
        f"build_report_page in cli/report_data.py does not call {name} of {module}"
    )


def test_key_of_fail_leads_to_the_disk() -> None:
    binding = next(each for each in ItemPane.BINDINGS if each.id == KEY_OF_FAIL)
    method = find_method(ItemPane, binding.action)
    way_to_journal = find_path(f"{method.__module__}.{method.__qualname__}", APPEND)
    way_to_disk = find_path(APPEND, "os.fsync")
    path = [*way_to_journal, *way_to_disk]
    assert way_to_disk

    classes = [name.rpartition(".")[0] for name in path]
    classes_of_way = [name for name in dict.fromkeys(classes) if name in WAY_OF_A_KEY]
    assert classes_of_way == list(WAY_OF_A_KEY), path


@pytest.mark.parametrize("key", FILTER_KEYS)
def test_filter_key_leads_to_its_sql(key: str) -> None:
    """The entry of a key names its columns and the function that makes the SQL."""
    reached = find_paths(find_entry_of_filter_key(key))
    assert any(name.startswith(f"{SQL_OF_FILTERS}.") for name in reached), sorted(reached)


def find_entry_of_filter_key(key: str) -> Definition:
    """Return the value of a key in the dictionary `FILTER_KEYS`."""
    (parser,) = [source for source in SOURCES if source.module == "fcreview.store.filters.parser"]
    for node in parser.nodes:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "FILTER_KEYS":
            assert isinstance(node.value, ast.Dict)
            for name, entry in zip(node.value.keys, node.value.values, strict=True):
                if isinstance(name, ast.Constant) and name.value == key:
                    return wrap_in_function(ast.unparse(entry), parser.module)
    raise AssertionError(f"{key} has no entry")


def wrap_in_function(expression: str, module: str) -> Definition:
    function = ast.parse(f"def entry():\n    return {expression}").body[0]
    return Definition(expression, function, module)


def test_where_leads_to_the_keys_of_filters() -> None:
    parser = "fcreview.store.filters.parser"
    path = find_path("fcreview.cli.commands.items.items", f"{parser}._Parser._build_key_condition")
    assert f"{parser}.parse_filter" in path


def test_figure_of_estimates_screen_leads_to_its_computation() -> None:
    """The screen reads a sample with its estimate, and draws the table that formats it."""
    compute = "fcreview.stats.estimation.estimate_pass_rate"
    show = "fcreview.tables.estimates.format_pass_rate_estimate"
    assert find_path(f"{ESTIMATES_SCREEN}.on_mount", compute)
    assert find_path(f"{ESTIMATES_SCREEN}._draw", show)
    for function in (compute, show):
        assert "PassRateEstimate" in ast.unparse(find_signature(function))


def find_signature(name: str) -> ast.AST:
    """Return the parameters and the result of a function, as a function without a body."""
    definition = find_definition(name)
    assert definition is not None and isinstance(definition.node, ast.FunctionDef)
    node = definition.node
    return ast.FunctionDef(
        name=node.name,
        args=node.args,
        body=[ast.Pass()],
        decorator_list=[],
        returns=node.returns,
        type_params=[],
        lineno=1,
    )


@pytest.mark.parametrize(
    ("statement", "references"),
    [
        ("importer_for(run).read_items(plan)", ["Importer.read_items", "importer_for"]),
        ("for each in IMPORTERS: each.read_items(plan)", ["Importer.read_items"]),
        ("given.find_runs", ["Importer.find_runs"]),
        ("read.read_items(plan)", ["read_items"]),
        ("getattr(given, 'read_items')(plan)", []),
        ("os.fsync(1)", ["fsync"]),
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
    import os
    from fcreview.importers.bfcl import read
    {statement}
"""
    return Definition("example", ast.parse(code).body[0], "fcreview.importers.registry")


def name_in_module(definition: Definition) -> str:
    return definition.name.removeprefix(f"{definition.module}.")


def test_path_in_wrong_direction_does_not_exist() -> None:
    assert find_path("fcreview.importers.registry.importer_for", OPEN) == []
