"""Source files of the product, parsed once, for the architecture tests."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("fcreview", "importers", "store", "exporters", "tui", "cli")
"""Top-level folders. `fcreview` links to the others; the links are not followed here."""


@dataclass(frozen=True)
class Source:
    """One Python file. `name` is its path from the root: "store/rows.py"."""

    path: Path

    @cached_property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def package(self) -> str:
        return self.name.split("/")[0]

    @cached_property
    def module(self) -> str:
        """ "fcreview/matching/diff.py" -> "fcreview.matching.diff", "store/__init__.py" ->
        "fcreview.store".
        """
        parts = self.name.removesuffix(".py").removesuffix("/__init__").split("/")
        return ".".join(parts if parts[0] == "fcreview" else ["fcreview", *parts])

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text, self.name)))

    def at(self, node: ast.AST) -> str:
        """ "store/rows.py:12"."""
        return f"{self.name}:{getattr(node, 'lineno', 1)}"

    @cached_property
    def imports(self) -> list[tuple[str, ast.AST]]:
        """Full name of each import in the file, with its statement."""
        return list(imported(self.nodes))


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (f"{'.' * node.level}{node.module or ''}.{alias.name}", node)
                for alias in node.names
            )


def calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (node for node in nodes if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    """ "open" for `open(...)`, ".read_text" for `x.read_text(...)`, "" for a call without a
    name.
    """
    if isinstance(call.func, ast.Attribute):
        return "." + call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def texts(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Return the string constants that are not docstrings or help texts."""
    nodes = list(nodes)
    documentation = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes:
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in documentation
        ):
            yield node, node.value


def python_files(*folders: str) -> list[Source]:
    return [Source(path) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


SOURCES = python_files(*PACKAGES)


def join_lines(faults: Iterable[str]) -> str:
    """Join all faults for the message of an assertion."""
    return "\n" + "\n".join(faults)
