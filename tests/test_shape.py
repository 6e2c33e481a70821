"""How large things may grow: files, folders and parameter lists; and that no module needs itself.

A known exception stands in `EXCEPTIONS` with its reason. One that is no longer needed fails too.
"""

from __future__ import annotations

import ast
from collections import Counter
from statistics import median

import pytest

from tests.sources import SOURCES, Source, imported, one_a_line, python_files

LINES = 300
MEDIAN = 110
FILES_A_FOLDER = 13  # __init__.py among them
PARAMETERS = 8

EXCEPTIONS: dict[str, str] = {}
"""`<rule> <what it is on>`: why it may be."""

EVERYTHING = [*SOURCES, *python_files("tests", "benchmarks", "sample_runs")]
MODULES = {source.module: source for source in SOURCES}


def only_known(faults: dict[str, str], rule: str) -> None:
    """Fails with every fault (what it is on: what is wrong) that is no exception, and every exception without one."""
    known = {name.removeprefix(f"{rule} "): why for name, why in EXCEPTIONS.items() if name.startswith(f"{rule} ")}
    unknown = [f"{name}: {faults[name]}" for name in sorted(faults.keys() - known.keys())]
    assert not unknown, one_a_line(unknown)
    settled = sorted(known.keys() - faults.keys())
    assert not settled, one_a_line(["these exceptions are settled, take them out:", *settled])


def test_no_file_grows_out_of_hand() -> None:
    long = {source.name: f"{source.length} lines" for source in EVERYTHING if source.length > LINES}
    only_known(long, "lines")


def test_most_files_are_small() -> None:
    assert median(source.length for source in SOURCES if source.path.name != "__init__.py") < MEDIAN


def test_a_folder_is_seen_at_a_glance() -> None:
    count = Counter(source.name.rpartition("/")[0] for source in EVERYTHING)
    only_known({name: f"{many} files" for name, many in count.items() if many > FILES_A_FOLDER}, "folder")


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [each.arg for each in named if each.arg not in ("self", "cls")]


def functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in source.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_what_belongs_together_is_handed_over_together() -> None:
    """The options of a command are Typer's way to say them, so cli/commands may have as many as it likes."""
    long = {
        f"{source.name} {node.name}": f"{len(parameters(node))} parameters"
        for source in SOURCES
        if not source.name.startswith("cli/commands/")
        for node in functions(source)
        if len(parameters(node)) >= PARAMETERS
    }
    only_known(long, "parameters")


def needed(source: Source) -> set[str]:
    """Our modules that this one imports, at its top or in a function; not those that only the type checker sees."""
    for_types = {
        id(inner)
        for node in source.nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names = [name for name, node in source.imports if id(node) not in for_types]
    return {module for name in names if (module := module_of(name)) and module != source.module}


def module_of(name: str) -> str | None:
    """`fcreview.store.rows.View` -> `fcreview.store.rows`; None for what is not ours."""
    return name if name in MODULES else (parent if (parent := name.rpartition(".")[0]) in MODULES else None)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of nodes that reach each other: what is left after all without arrows in or out are taken away."""
    reached = {node: reachable(graph, node) for node in graph}
    groups = {frozenset(other for other in reached[node] if node in reached.get(other, set())) for node in graph}
    return sorted((set(group) for group in groups if group), key=sorted)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        new = graph.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def test_no_module_needs_itself() -> None:
    """Over the modules it imports, in whatever number of steps."""
    graph = {module: needed(source) for module, source in MODULES.items()}
    only_known({" ".join(sorted(circle)): "an import circle" for circle in circles(graph)}, "circle")


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


def test_the_rules_see_what_they_are_for() -> None:
    (node,) = ast.parse("async def f(self, a, /, b, *c, d, **e): ...").body
    assert isinstance(node, ast.AsyncFunctionDef)
    assert parameters(node) == ["a", "b", "d"]
    assert module_of("fcreview.model.Item") == module_of("fcreview.model") == "fcreview.model"
    assert module_of("json.loads") is None
    assert [name for name, _ in imported([ast.parse("import a").body[0]])] == ["a"]
    assert {"fcreview", "fcreview.calls.diff", "fcreview.store", "fcreview.cli.app"} <= MODULES.keys()
    assert "fcreview.model" in needed(MODULES["fcreview.plan"])
