"""There are no import circles. Type-only imports count."""

from __future__ import annotations

import pytest

from tests.sources import SOURCES, Source, join_lines

MODULES = {source.module: source for source in SOURCES}


def imported_modules(source: Source) -> set[str]:
    """Return the product modules that this module imports, including imports in functions and
    type-only imports.
    """
    return {
        module
        for name, _ in source.imports
        if (module := module_of(name)) and module != source.module
    }


def module_of(name: str) -> str | None:
    """`fcreview.store.rows.View` -> `fcreview.store.rows`; None for other packages."""
    return (
        name
        if name in MODULES
        else (parent if (parent := name.rpartition(".")[0]) in MODULES else None)
    )


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Return the groups of nodes that all reach each other."""
    graph = drop_ends(graph)
    reached = {node: reachable(graph, node) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached.get(other, set()))
        for node in graph
    }
    return sorted((set(group) for group in groups if group), key=sorted)


def drop_ends(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Remove nodes without arrows until each remaining node has an arrow to another one.

    Without circles, no node remains.
    """
    remaining = dict(graph)
    while True:
        kept = {}
        for node, targets in remaining.items():
            if remaining_targets := targets & remaining.keys():
                kept[node] = remaining_targets
        if len(kept) == len(remaining):
            return kept
        remaining = kept


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def test_there_are_no_import_circles() -> None:
    found = circles({module: imported_modules(source) for module, source in MODULES.items()})
    assert not found, join_lines(" ".join(sorted(circle)) for circle in found)


@pytest.mark.parametrize(
    ("arrows", "found"),
    [
        ("ab bc", []),
        ("ab ba", ["ab"]),
        ("ab bc ca cd", ["abc"]),
        ("aa bc", ["a"]),
        ("ab ba cd dc bc", ["ab", "cd"]),
    ],
)
def test_circles_are_found(arrows: str, found: list[str]) -> None:
    graph: dict[str, set[str]] = {}
    for start, end in arrows.split():
        graph.setdefault(start, set()).add(end)
    assert circles(graph) == [set(names) for names in found]


def test_imports_are_resolved_to_modules() -> None:
    assert (
        module_of("fcreview.model.item.Item")
        == module_of("fcreview.model.item")
        == "fcreview.model.item"
    )
    assert module_of("json.loads") is None
    assert "fcreview.model.item" in imported_modules(MODULES["fcreview.run_plan"])


PACKAGES = ["tui", "store", "exporters", "cli"]
PACKAGES += sorted(
    {
        module.removeprefix("fcreview.").rpartition(".")[0]
        for module in MODULES
        if module.startswith("fcreview.importers.") and module.count(".") == 3
    }
)


def part_of(module: str, package: str) -> str:
    """Return the part of a package to which a module belongs: a folder, or a module beside the
    folders. The code of a folder's `__init__` is a part of its own.
    """
    part, _, rest = module.removeprefix(package + ".").partition(".")
    is_folder = any(other.startswith(f"{package}.{part}.") for other in MODULES)
    return f"{part}/__init__" if is_folder and not rest else part


def part_graph(package: str) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for module, source in MODULES.items():
        if not module.startswith(package + "."):
            continue
        part = part_of(module, package)
        for imported in imported_modules(source):
            if imported.startswith(package + ".") and part_of(imported, package) != part:
                graph.setdefault(part, set()).add(part_of(imported, package))
    return graph


@pytest.mark.parametrize("package", PACKAGES)
def test_no_part_of_a_package_imports_upwards(package: str) -> None:
    """The folders and modules of a package have an order in which each imports only lower ones."""
    found = circles(part_graph(f"fcreview.{package}"))
    assert not found, join_lines(" ".join(sorted(circle)) for circle in found)
