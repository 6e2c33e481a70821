"""Which room may know what. import-linter checks the directions; these are the bans that need a look into the files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("core", "importers", "store", "exporters", "tui", "cli")
MAY_KNOW = {
    "core": set(),
    "importers": {"core"},
    "store": {"core"},
    "exporters": {"core", "store"},
    "tui": {"core", "store", "exporters"},
    "cli": {"core", "importers", "store", "exporters", "tui", "sample_runs"},
}
ONLY_IN = {
    "duckdb": {"store"},
    "textual": {"tui"},
    "rich": {"tui", "cli"},
    "typer": {"cli"},
    "tree_sitter": {"importers"},
    "tree_sitter_java": {"importers"},
    "tree_sitter_javascript": {"importers"},
}
IMPURE = {
    "os",
    "io",
    "pathlib",
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "sqlite3",
    "threading",
    "time",
    "random",
    "sys",
}
PURE_EXCEPTIONS = {("plan.py", "pathlib"): "plans hold Path values; nothing is read through them"}
NEVER = {"pickle", "cPickle", "dill", "shelve", "marshal", "jsonpickle", "cloudpickle"}
SQL = re.compile(
    r"\b(SELECT\b[\s\S]+\bFROM|INSERT\s+INTO|CREATE\s+(TEMP\s+)?(TABLE|VIEW)|DELETE\s+FROM|DROP\s+TABLE|ATTACH\s+')",
    re.I,
)

FILES = sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def room_of(file: Path) -> str:
    return file.relative_to(ROOT).parts[0]


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"), str(file))


def imports(tree: ast.AST) -> Iterator[str]:
    """Full names of the modules that are imported, anywhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: relative imports hide the room"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def our_room(module: str) -> str | None:
    """`fcreview.store.rows.View` -> `store`, `fcreview.model.Item` -> `core`; None for what is not ours."""
    first, *rest = module.split(".")
    if first != "fcreview":
        return None
    return rest[0] if rest and rest[0] in (*ROOMS, "sample_runs") else "core"


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that are not docstrings or help texts."""
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_room_imports_only_the_rooms_below_it(file: Path) -> None:
    room = room_of(file)
    known = {our_room(module) for module in imports(parsed(file))} - {None, room}
    assert known <= MAY_KNOW[room]


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_library_is_found_only_in_its_room(file: Path) -> None:
    used = {module.split(".")[0] for module in imports(parsed(file))}
    strangers = {library for library in used & ONLY_IN.keys() if room_of(file) not in ONLY_IN[library]}
    assert not strangers


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_data_is_never_executed(file: Path) -> None:
    tree = parsed(file)
    assert not {module.split(".")[0] for module in imports(tree)} & NEVER
    named = {call.func.id for call in calls(tree) if isinstance(call.func, ast.Name)}
    assert not named & {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("file", [file for file in FILES if room_of(file) == "core"], ids=name_of)
def test_core_is_pure(file: Path) -> None:
    tree = parsed(file)
    used = {module.split(".")[0] for module in imports(tree)} & IMPURE
    assert {library for library in used if (file.name, library) not in PURE_EXCEPTIONS} == set()
    named = {call.func.id for call in calls(tree) if isinstance(call.func, ast.Name)}
    assert not named & {"open", "print", "input"}
    methods = {call.func.attr for call in calls(tree) if isinstance(call.func, ast.Attribute)}
    assert not methods & {
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "exists",
        "is_file",
        "is_dir",
        "iterdir",
    }


@pytest.mark.parametrize("file", [file for file in FILES if room_of(file) != "store"], ids=name_of)
def test_sql_text_is_found_in_the_store_only(file: Path) -> None:
    found = [(line, text) for line, text in texts(parsed(file)) if SQL.search(text)]
    assert not found


@pytest.mark.parametrize("file", [file for file in FILES if room_of(file) == "tui"], ids=name_of)
def test_markup_in_data_is_never_parsed(file: Path) -> None:
    for call in calls(parsed(file)):
        for keyword in call.keywords:
            if keyword.arg == "markup":
                assert isinstance(keyword.value, ast.Constant), f"line {call.lineno}"
                assert keyword.value.value is False, f"line {call.lineno}"
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        assert name not in ("from_markup", "to_content_markup"), f"line {call.lineno}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_file_grows_out_of_hand(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= 400


def test_the_checks_see_what_they_are_for() -> None:
    """A file that breaks a ban is noticed: the checks are not vacuous."""
    tree = ast.parse('import duckdb\nfrom fcreview.store.rows import View\nx = eval("1")\ny = "SELECT a FROM b"\n')
    assert set(imports(tree)) == {"duckdb", "fcreview.store.rows.View"}
    assert our_room("fcreview.store.rows.View") == "store"
    assert our_room("fcreview.model.Item") == "core"
    assert [call.func.id for call in calls(tree) if isinstance(call.func, ast.Name)] == ["eval"]
    assert [line for line, text in texts(tree) if SQL.search(text)] == [4]
    assert len(FILES) > 50
