"""What the screens' room may not become: a circle, a document that needs Textual, a screen that asks on the loop."""

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
    "fcreview." + ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(TUI.rglob("*.py"))
}
STORE_MODULES = ("fcreview.store.rows", "fcreview.store.queries.run_lists", "fcreview.store.filters")
"""What screens and widgets may know of the store: rows, lists of them, and the text of filters."""
ASKING = {"store", "reviewer"}


def run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from run_time(node)


def imported(tree: ast.AST) -> set[str]:
    """Modules, inside functions too: `from a.b import c` gives `a.b` and `a.b.c`."""
    found: set[str] = set()
    for node in run_time(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@cache
def import_graph() -> dict[str, set[str]]:
    return {name: imported(ast.parse(file.read_text("utf-8"))) for name, file in FILES.items()}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The first circle that is found, in order; empty if there is none."""
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


def folder(module: str) -> str:
    return ".".join(module.split(".")[:3]) if module in FILES and FILES[module].parent != TUI else module


def reached(start: str) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        for module in import_graph().get(waiting.pop(), set()) - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def test_no_module_and_no_folder_imports_in_a_circle() -> None:
    assert circle(import_graph()) == []
    folders: dict[str, set[str]] = {}
    for module, others in import_graph().items():
        folders.setdefault(folder(module), set()).update(folder(other) for other in others)
    assert circle(folders) == []


def test_a_circle_would_be_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == ["b", "c", "b"]


@pytest.mark.parametrize("room", ["item_view", "text", "queue", "review"])
def test_what_is_pure_needs_no_textual(room: str) -> None:
    """`fcreview show` prints through document/ without the library; screens' parts are tried without an app."""
    for module in import_graph():
        if module.startswith(f"fcreview.tui.{room}."):
            assert not {name for name in reached(module) if name.split(".")[0] == "textual"}, module


def test_keys_of_a_configuration_are_checked_without_textual() -> None:
    assert not {name for name in reached("fcreview.tui.keymap") if name.split(".")[0] == "textual"}
    assert "textual.binding" in reached("fcreview.tui.key_bindings"), "the search sees what it is for"


def loose(tree: ast.AST) -> Iterator[str]:
    """Where a store or reviewer is named outside of a question: a lambda or def that is handed one as `store`."""
    if isinstance(tree, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = {arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)}
        if "store" in arguments:
            return
    if isinstance(tree, ast.Name) and tree.id in ASKING:
        yield f"line {tree.lineno}: {tree.id}"
    if isinstance(tree, ast.Attribute) and tree.attr.lstrip("_") in ASKING:
        yield f"line {tree.lineno}: .{tree.attr}"
    module = tree.module or "" if isinstance(tree, ast.ImportFrom) else ""
    if module.startswith("fcreview.store") and not module.startswith(STORE_MODULES):
        yield f"import of {module}"
    for node in ast.iter_child_nodes(tree):
        yield from loose(node)


def test_screens_and_widgets_reach_the_store_by_questions_only() -> None:
    for module, file in FILES.items():
        if module.startswith(("fcreview.tui.screens.", "fcreview.tui.widgets.")):
            assert list(loose(ast.parse(file.read_text("utf-8")))) == [], module


@pytest.mark.parametrize(
    "text",
    [
        "from fcreview.store.store import Store",
        "def action_tag(self): self.session.store.fetch_facets(view)",
        "def __init__(self, reviewer): self._reviewer = reviewer",
        "if TYPE_CHECKING:\n    from fcreview.store.reviews.reviewer import Reviewer",
    ],
)
def test_a_screen_that_asks_on_the_loop_would_be_found(text: str) -> None:
    assert list(loose(ast.parse(text)))
    assert not list(loose(ast.parse("async def load(self): return await ask(lambda store: store.fetch_issues())")))


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_screen_closes_by_the_guarded_way() -> None:
    """Textual's own `dismiss` closes whichever screen is on top and fails when it comes twice."""
    for module, file in FILES.items():
        if "creen" in file.read_text("utf-8"):
            importlib.import_module(module)
        assert ".pop_screen(" not in file.read_text("utf-8"), module
    screens = [each for each in subclasses(Screen) if each.__module__ in FILES]
    assert len(screens) > 15
    for each in screens:
        assert each.dismiss is GuardedScreen.dismiss, each
