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
    reached = {node: reachable(graph, node) for node in graph}
    groups = {
        frozenset(other for other in reached[node] if node in reached.get(other, set()))
        for node in graph
    }
    return sorted((set(group) for group in groups if group), key=sorted)


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
