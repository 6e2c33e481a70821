"""docs/architecture.md names each place where a thread, a task or a process starts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sources import SOURCES, Source, join_lines

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
SECTION = "## Threads, tasks and processes"
STARTERS = {
    # threads
    "Thread",
    "Timer",
    "ThreadPoolExecutor",
    "to_thread",
    "run_in_executor",
    # tasks
    "create_task",
    "ensure_future",
    "TaskGroup",
    "run_worker",
    # processes
    "Process",
    "ProcessPoolExecutor",
    "Popen",
    "fork",
    "create_subprocess_exec",
    "create_subprocess_shell",
}
"""Last names of the functions, classes and decorators that start something."""
MODULE_STARTERS = {"subprocess": {"run", "call", "check_call", "check_output"}}
"""Functions that start something, by the module before their name."""


@dataclass(frozen=True)
class Site:
    file: str
    function: str
    """Name of the function or method, with the class: `LiveReload.start`."""


def is_starter(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in STARTERS
        case ast.Attribute(attr=name, value=ast.Name(id=owner) | ast.Attribute(attr=owner)):
            return name in STARTERS or name in MODULE_STARTERS.get(owner, set())
        case ast.Attribute(attr=name):
            return name in STARTERS
    return False


def find_sites(source: Source) -> set[Site]:
    """Return the functions of a module that start a thread, a task or a process."""
    return {
        Site(source.name, name) for name in _iterate_starting_functions(ast.parse(source.text), "")
    }


def _iterate_starting_functions(node: ast.AST, scope: str) -> Iterator[str]:
    """Yield the outermost function, or method, around each start."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _iterate_starting_functions(child, f"{child.name}.")
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            calls = [each for each in ast.walk(child) if isinstance(each, ast.Call)]
            if _is_worker(child) or any(map(is_starter, calls)):
                yield scope + child.name
        elif isinstance(child, ast.Call) and is_starter(child):
            yield scope.rstrip(".") or "module"
        else:
            yield from _iterate_starting_functions(child, scope)


def _is_worker(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is decorated by `@work` or `@work(...)`, so that a call starts a task."""
    for decorator in function.decorator_list:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(callee, ast.Name) and callee.id == "work":
            return True
    return False


def read_named_sites() -> set[Site]:
    """Return the sites in the tables of the page: a row names its file, then functions."""
    text = PAGE.read_text("utf-8")
    assert SECTION in text
    section = text.split(SECTION, 1)[1].split("\n## ", 1)[0]
    sites = set()
    for line in section.splitlines():
        names = re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else []
        sites |= {Site(names[0], name) for name in names[1:]}
    return sites


def test_the_page_names_every_thread_task_and_process() -> None:
    sites = {site for source in SOURCES for site in find_sites(source)}
    assert len(sites) > 70
    named = read_named_sites()
    missing = sorted(f"{site.file}: {site.function} is not named" for site in sites - named)
    gone = sorted(f"{site.file}: {site.function} starts nothing" for site in named - sites)
    assert not missing + gone, join_lines(missing + gone)


@pytest.mark.parametrize(
    ("code", "functions"),
    [
        ("def f():\n    threading.Thread(target=g).start()", {"f"}),
        ("class A:\n    @work(group='g')\n    async def f(self): ...", {"A.f"}),
        ("class A:\n    @work\n    async def f(self): ...", {"A.f"}),
        ("async def f():\n    def g():\n        asyncio.create_task(h())", {"f"}),
        ("def f():\n    subprocess.run(['git'])", {"f"}),
        ("POOL = ThreadPoolExecutor(1)", {"module"}),
        ("def f():\n    session.run('x')\n    work()", set()),
    ],
)
def test_starts_are_found(code: str, functions: set[str]) -> None:
    assert set(_iterate_starting_functions(ast.parse(code), "")) == functions
