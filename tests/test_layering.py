"""Rules that need the source code: which packages may use libraries, files, SQL and markup.

import-linter checks the layers. Each test checks one rule in all files and names every violation.
"""

from __future__ import annotations

import ast
import re

from fcreview.importers.registry import list_importer_names
from fcreview.model.benchmark_rules import BENCHMARK_RULES
from tests.sources import (
    PACKAGES,
    ROOT,
    SOURCES,
    Source,
    called,
    calls,
    imported,
    join_lines,
    texts,
)

ONLY_IN = {
    "duckdb": {"store"},
    "textual": {"tui"},
    "rich": {"tui", "cli"},
    "typer": {"cli"},
    "tree_sitter": {"importers"},
    "tree_sitter_java": {"importers"},
    "tree_sitter_javascript": {"importers"},
}
LIBRARY_EXCEPTIONS = {"importers/mapping/parquet.py": "duckdb"}
"""Parquet files are data and no store. No other library of the project reads them."""
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
PURE_EXCEPTIONS = {
    ("fcreview/run_plan.py", "pathlib"): "plans hold Path values; nothing is read through them"
}
IMPURE_MODULES = {
    "fcreview/safe_files.py": "importers and the store both open files and archives, and neither"
    " may import the other",
}
IMPURE_CALLS = {
    "open",
    "print",
    "input",
    ".read_text",
    ".read_bytes",
    ".write_text",
    ".write_bytes",
    ".exists",
    ".is_file",
    ".is_dir",
    ".iterdir",
}
FILE_CALLS = {
    "open",
    "open_file",
    "read_file",
    ".open",
    ".read_text",
    ".read_bytes",
    ".write_text",
    ".write_bytes",
    ".mkdir",
    ".rename",
    ".touch",
    ".copyfile",
    ".copytree",
    ".rmtree",
}
UNCHECKED_FILES = {
    "store/importing/source_files.py": "reads benchmark files",
    "store/queries/item_detail.py": "reads benchmark files",
    "store/importing/staging.py": "writes to the folder of the running import",
    "store/importing/builder.py": "writes to the folder of the running import",
    "store/team_setup.py": "reads files of the package",
    "store/reviews/decision_cache.py": "writes the key outside the workspace",
    "store/label_fields.py": "writes to the folder of an export",
}
NEVER = {"pickle", "cPickle", "dill", "shelve", "marshal", "jsonpickle", "cloudpickle"}
NEVER_CALLED = {"eval", "exec", "compile", "__import__"}
SQL = re.compile(
    r"\b(SELECT\b[\s\S]+\bFROM|INSERT\s+INTO|CREATE\s+(TEMP\s+)?(TABLE|VIEW)|DELETE\s+FROM|DROP\s+TABLE|ATTACH\s+')",
    re.I,
)


def library(module: str) -> str:
    return module.split(".")[0]


def test_no_import_is_relative() -> None:
    """A relative import hides the imported package."""
    faults = [
        source.at(node)
        for source in SOURCES
        for name, node in source.imports
        if name.startswith(".")
    ]
    assert not faults, join_lines(faults)


def test_libraries_are_imported_only_in_their_package() -> None:
    faults = [
        f"{source.at(node)}: {name}"
        for source in SOURCES
        for name, node in source.imports
        if source.package not in ONLY_IN.get(library(name), PACKAGES)
        and library(name) != LIBRARY_EXCEPTIONS.get(source.name)
    ]
    assert not faults, join_lines(faults)


def test_data_is_never_executed() -> None:
    faults = [
        f"{source.at(node)}: {name}"
        for source in SOURCES
        for name, node in source.imports
        if library(name) in NEVER
    ]
    faults += [
        source.at(call)
        for source in SOURCES
        for call in calls(source.nodes)
        if called(call) in NEVER_CALLED
    ]
    assert not faults, join_lines(faults)


def test_folders_of_fcreview_do_no_io() -> None:
    pure = [
        source
        for source in SOURCES
        if source.package == "fcreview" and source.name not in IMPURE_MODULES
    ]
    faults = [
        f"{source.at(node)}: {name}"
        for source in pure
        for name, node in source.imports
        if library(name) in IMPURE and (source.name, library(name)) not in PURE_EXCEPTIONS
    ]
    faults += [
        f"{source.at(call)}: {called(call)}"
        for source in pure
        for call in calls(source.nodes)
        if called(call) in IMPURE_CALLS
    ]
    assert not faults, join_lines(faults)


def test_workspace_files_are_opened_only_by_safe_files() -> None:
    """See `fcreview.safe_files.WorkspaceFiles`.

    Reads count too, because a link could lead to a secret.
    """
    faults = [
        f"{source.at(call)}: {called(call)}"
        for source in SOURCES
        if source.package == "store" and source.name not in UNCHECKED_FILES
        for call in calls(source.nodes)
        if called(call) in FILE_CALLS and not ast.unparse(call.func).endswith("files.open")
    ]
    assert not faults, join_lines(faults)


def test_sql_is_only_in_store() -> None:
    elsewhere = [source for source in SOURCES if source.package != "store"]
    faults = [
        source.at(node)
        for source in elsewhere
        for node, text in texts(source.nodes)
        if SQL.search(text)
    ]
    assert not faults, join_lines(faults)


def test_markup_in_data_is_never_parsed() -> None:
    drawn = [
        (source, call)
        for source in SOURCES
        if source.package == "tui"
        for call in calls(source.nodes)
    ]
    faults = [
        source.at(call)
        for source, call in drawn
        for keyword in call.keywords
        if keyword.arg == "markup" and getattr(keyword.value, "value", None) is not False
    ]
    parsers = {"from_markup", "to_content_markup"}
    faults += [source.at(call) for source, call in drawn if called(call).lstrip(".") in parsers]
    assert not faults, join_lines(faults)


def test_checks_find_violations() -> None:
    """Each check reports a file that violates its rule."""
    bans = [
        "import duckdb",
        "from fcreview.store.rows import View",
        'x = eval("1")',
        'y = "SELECT a FROM b"',
        "from .a import b",
    ]
    nodes = list(ast.walk(ast.parse("\n".join(bans))))
    assert [name for name, _ in imported(nodes)] == ["duckdb", "fcreview.store.rows.View", ".a.b"]
    assert [called(call) for call in calls(nodes)] == ["eval"]
    assert [node.lineno for node, text in texts(nodes) if SQL.search(text)] == [4]  # type: ignore[attr-defined]
    assert len(SOURCES) > 50
    assert {source.package for source in SOURCES} == set(PACKAGES)


OWN_FORMATS = {"generic", "mapping"}
"""Formats of fcreview, which name no benchmark."""
BENCHMARK_NAMES_ALLOWED = {
    "fcreview/model/benchmark_rules.py": "the rules by which reviews count without an importer",
    "exporters/base.py": "names of formats, which are also names of programs",
    "exporters/inspect_log.py": "writes logs of Inspect",
    "exporters/upstream/repositories.py": "the repositories of benchmarks",
    "exporters/native.py": "writes notes for the viewer of tau2-bench",
    "cli/commands/export.py": "options of the format `inspect`",
    "cli/label_recording.py": "reads logs of Inspect and notes of tau2-bench",
    "cli/serve_server.py": "the word `sessions` in an address",
}
"""Modules outside of `importers/` that may name a benchmark, and why."""


def test_only_importers_know_benchmarks_by_name() -> None:
    names = set(list_importer_names()) - OWN_FORMATS
    faults = []
    for source in SOURCES:
        if source.package == "importers" or source.name in BENCHMARK_NAMES_ALLOWED:
            continue
        for node, text in texts(source.nodes):
            if text in names:
                faults.append(
                    f"{source.at(node)}: {text!r}: ask the importer, or"
                    " fcreview/model/benchmark_rules.py"
                )
    assert not faults, join_lines(faults)


def test_every_benchmark_with_rules_has_an_importer() -> None:
    unknown = sorted(set(BENCHMARK_RULES) - set(list_importer_names()))
    assert not unknown, f"fcreview/model/benchmark_rules.py: no importer has the name {unknown}"


COMMANDS = "fcreview.cli.commands."


def imported_commands(source: Source) -> list[str]:
    """Return the imports of modules of commands. Names of the table of commands are none."""
    modules = {other.module for other in SOURCES if other.module.startswith(COMMANDS)}
    found = []
    for name, node in source.imports:
        module = name if name in modules else name.rpartition(".")[0]
        if module in modules:
            found.append(f"{source.at(node)}: {name}")
    return found


def test_no_module_imports_a_command() -> None:
    """`load_command` imports a command by its name. What commands share stands below them."""
    faults = [fault for source in SOURCES for fault in imported_commands(source)]
    assert not faults, join_lines(faults)


def test_imports_of_commands_are_found() -> None:
    file = ROOT / "cli" / "commands" / "imaginary.py"
    code = (
        "from fcreview.cli.commands import build_program\n"
        "from fcreview.cli.commands import show\n"
        "def f():\n    from fcreview.cli.commands.open import open_\n"
    )
    source = Source(file)
    source.__dict__["text"] = code
    assert [fault.partition(": ")[2] for fault in imported_commands(source)] == [
        "fcreview.cli.commands.show",
        "fcreview.cli.commands.open.open_",
    ]
