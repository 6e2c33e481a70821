"""Rules for the modules of tui: no import circles, pure modules need no Textual, and screens query
the store in its thread.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from textual.screen import Screen

from fcreview.tui.widgets.base import GuardedScreen

ROOT = Path(__file__).resolve().parents[2]
TUI = ROOT / "tui"
FILES = {
    "fcreview."
    + ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(TUI.rglob("*.py"))
}
STORE_MODULES = (
    "fcreview.store.rows",
    "fcreview.store.queries.runs",
    "fcreview.store.filters",
    "fcreview.store.drafts",
)
"""Modules of the store that screens and widgets may import: rows, lists of runs, filter texts, and
drafts of texts.
"""
STORE_NAMES = {"store", "reviewer"}


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes except those under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if not (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            yield node
            yield from runtime_nodes(node)


def imported_modules(tree: ast.AST) -> set[str]:
    """Return imported modules, also those imported in functions: `from a.b import c` gives `a.b`
    and `a.b.c`.
    """
    found: set[str] = set()
    for node in runtime_nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@cache
def import_graph() -> dict[str, set[str]]:
    return {
        name: imported_modules(ast.parse(file.read_text("utf-8"))) for name, file in FILES.items()
    }


def find_circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the first circle, in order, or an empty list."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph.get(name, set()) & graph.keys() - {name}):
            if found := visit(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in graph if (found := visit(name, []))), [])


def folder_of(module: str) -> str:
    return (
        ".".join(module.split(".")[:3])
        if module in FILES and FILES[module].parent != TUI
        else module
    )


def reachable_modules(start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for module in import_graph().get(waiting.pop(), set()) - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def test_modules_and_folders_have_no_import_circles() -> None:
    assert find_circle(import_graph()) == []
    folders: dict[str, set[str]] = {}
    for module, others in import_graph().items():
        folders.setdefault(folder_of(module), set()).update(folder_of(other) for other in others)
    assert find_circle(folders) == []


def test_import_circles_are_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == ["b", "c", "b"]


@pytest.mark.parametrize("package", ["item_view", "text", "queue", "review"])
def test_pure_modules_need_no_textual(package: str) -> None:
    """`fcreview show` prints documents without Textual, and the parts of screens are tested
    without an app.
    """
    for module in import_graph():
        if module.startswith(f"fcreview.tui.{package}."):
            assert not {
                name for name in reachable_modules(module) if name.split(".")[0] == "textual"
            }, module


def test_keymap_imports_textual_in_functions_only() -> None:
    """A configuration file with keys is checked without Textual."""
    tree = ast.parse(FILES["fcreview.tui.keymap"].read_text("utf-8"))
    at_start = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    modules = imported_modules(ast.Module(at_start, []))
    assert "fcreview.tui.actions" in modules
    reached = modules.union(*(reachable_modules(each) for each in modules))
    assert not {name for name in reached if name.split(".")[0] == "textual"}
    assert "textual.binding" in reachable_modules("fcreview.tui.keymap"), (
        "the search finds imports of Textual"
    )


def find_direct_uses(tree: ast.AST) -> Iterator[str]:
    """Yield uses of a store or reviewer outside functions that get one as their argument
    `store`.
    """
    if isinstance(tree, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = {
            arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)
        }
        if "store" in arguments:
            return
    if isinstance(tree, ast.Name) and tree.id in STORE_NAMES:
        yield f"line {tree.lineno}: {tree.id}"
    if isinstance(tree, ast.Attribute) and tree.attr.lstrip("_") in STORE_NAMES:
        yield f"line {tree.lineno}: .{tree.attr}"
    module = tree.module or "" if isinstance(tree, ast.ImportFrom) else ""
    if module.startswith("fcreview.store") and not module.startswith(STORE_MODULES):
        yield f"import of {module}"
    for node in ast.iter_child_nodes(tree):
        yield from find_direct_uses(node)


def test_screens_use_the_store_in_queries_only() -> None:
    for module, file in FILES.items():
        if module.startswith(("fcreview.tui.screens.", "fcreview.tui.widgets.")):
            assert list(find_direct_uses(ast.parse(file.read_text("utf-8")))) == [], module


@pytest.mark.parametrize(
    "text",
    [
        "from fcreview.store.store import Store",
        "def action_tag(self): self.session.store.fetch_facets(view)",
        "def __init__(self, reviewer): self._reviewer = reviewer",
        "if TYPE_CHECKING:\n    from fcreview.store.reviewer import Reviewer",
    ],
)
def test_direct_uses_of_the_store_are_found(text: str) -> None:
    assert list(find_direct_uses(ast.parse(text)))
    assert not list(
        find_direct_uses(
            ast.parse("async def load(self): return await ask(lambda store: store.fetch_issues())")
        )
    )


def all_subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from all_subclasses(each)


def test_all_screens_have_the_guarded_dismiss() -> None:
    """Textual's own `dismiss` closes the top screen whichever it is, and fails if it is called
    twice.
    """
    for module, file in FILES.items():
        if "creen" in file.read_text("utf-8"):
            importlib.import_module(module)
        assert ".pop_screen(" not in file.read_text("utf-8"), module
    screens = [each for each in all_subclasses(Screen) if each.__module__ in FILES]
    assert len(screens) > 15
    for each in screens:
        assert each.dismiss is GuardedScreen.dismiss, each


def test_texts_are_never_parsed_as_markup() -> None:
    calls = [
        (name, node)
        for name, file in FILES.items()
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
    ]
    for name, node in calls:
        called = getattr(
            getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", "")
        )
        if isinstance(node, ast.Call) and called in (
            "Static",
            "Label",
            "OptionList",
            "PaletteList",
            "notify",
        ):
            markup = {each.arg: ast.unparse(each.value) for each in node.keywords}.get("markup")
            assert markup == "False", f"{name}:{node.lineno}"
