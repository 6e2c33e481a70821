"""`fcreview doctor`: what was found, what is missing, is the journal whole. Changes nothing."""

from __future__ import annotations

import locale
import os
import platform
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.config import load_config
from fcreview.cli.errors import FAILED
from fcreview.cli.options import AsJson, Data, Format, WorkspaceOption
from fcreview.cli.output import emit, emit_json, on_terminal, text_of
from fcreview.cli.workspace import Place, data_folders, discovered, named_folders, remembered_of, workspace_of
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.run_plan import Found
    from fcreview.store.workspace import Workspace

PACKAGES = ("fcreview", "textual", "rich", "duckdb", "orjson", "pydantic", "typer", "bfcl-eval")
FOUND_ISSUES = 20
FOLDED = ("missing", "dataset", "notice", "warning", "error")
"""Kinds of which many runs or files may say the same."""
Fact = dict[str, Any]
"""{kind, name, value, problem}: `problem` is true if something is damaged or missing."""


def doctor(
    path: Annotated[Path, typer.Argument(metavar="[PATH]", help="A run, a folder of runs or a workspace.")] = Path(),
    data: Data = None,
    workspace: WorkspaceOption = None,
    format: Format = None,  # noqa: A002
    as_json: AsJson = False,
) -> None:
    """Say what is found, and what is missing.

    Which runs and datasets, whether the journals are whole, and what the terminal can do.
    Imports and changes nothing. Exit code 1 if a journal is damaged.

    Example: fcreview doctor runs/gpt4o
    """
    from fcreview.store.workspace import WorkspaceError

    place = Place([path], data, workspace, format)
    config = load_config()
    found = discovered(place, config)
    try:
        home = workspace_of(place, create=False)
    except WorkspaceError as error:
        facts = [_fact("workspace", str(error))]
    else:
        facts = [_fact("workspace", str(home.root)), *_journals(home)]
    damaged = any(fact["problem"] for fact in facts)
    facts += _runs(found, place)
    facts += [_fact("dataset folder", str(folder)) for folder in data_folders(place, config)]
    facts += [_fact("configuration", f"{config.file}{'' if config.file.exists() else ' (not there)'}"), *_machine()]
    for fact in facts if as_json else _folded(facts):
        if as_json:
            emit_json(fact)
        else:
            mark = "!" if fact["problem"] else " "
            emit(f"{mark} {fact['kind']:<15} {text_of(': '.join(filter(None, (fact['name'], fact['value']))))}")
    if damaged:
        raise typer.Exit(FAILED)


def _fact(kind: str, value: str, name: str = "", *, problem: bool = False) -> Fact:
    return {"kind": kind, "name": name, "value": value, "problem": problem}


def _folded(facts: Iterable[Fact]) -> list[Fact]:
    """What is the same of many runs or files as one line with their number."""
    alike: dict[tuple[object, ...], list[Fact]] = {}
    for at, fact in enumerate(facts):
        key = (fact["kind"], fact["value"], fact["problem"]) if fact["kind"] in FOLDED else (at,)
        alike.setdefault(key, []).append(fact)
    return [
        first | {"name": f"{first['name']} and {len(others):,} more"} if others else first
        for first, *others in alike.values()
    ]


def _journals(home: Workspace) -> Iterator[Fact]:
    """Of each annotator how many acts; of a damaged journal what is wrong, line by line."""
    from fcreview.store.reviews.journal_reader import check_journals

    reports = check_journals(home)
    if not reports:
        yield _fact("journal", "no reviews yet")
    for report in reports:
        state = "whole" if not report.warnings else f"{count_of(len(report.warnings), 'problem')}"
        retracted = f", {report.retracted} of them taken back" if report.retracted else ""
        yield _fact("journal", f"{count_of(report.events, 'review')}{retracted}; {state}", report.annotator)
        for warning in report.warnings:
            yield _fact("journal", warning, report.annotator, problem=True)
        for torn in report.torn:
            yield _fact("journal", f"set aside earlier: {torn}", report.annotator)


def _runs(found: Found, place: Place) -> Iterator[Fact]:
    from fcreview.store.importing.dataset_paths import missing, supplying

    remembered = remembered_of(place)
    for plan in found.plans:
        run = plan.run
        parts = [f"{run.benchmark} {run.generation} {run.language}".strip(), plan.reason, run.path]
        counts = [
            (plan.results, "result file"),
            (plan.scores, "score file"),
            (plan.data, "dataset file"),
            (plan.logs, "log"),
        ]
        parts.append(", ".join(count_of(len(files), what) for files, what in counts if files))
        yield _fact("run", "; ".join(part for part in parts if part), run.model)
        if not plan.scores and plan.needs_scores:
            yield _fact("missing", "no score files: verdicts are only what can be recomputed", run.model, problem=True)
        named_anew = bool(supplying(named_folders(place), plan))
        before = None if named_anew or remembered is None else missing(plan, remembered.of(run))
        if before:
            what = f"no dataset in {before} any more: say where it is with --data DIR"
            yield _fact("missing", what, run.model, problem=True)
        elif not plan.data and run.needs_dataset:
            yield _fact("missing", "no dataset: name one with --data DIR", run.model, problem=True)
        elif run.dataset:
            yield _fact("dataset", run.dataset, run.model)
    issues = [*found.issues, *(issue for plan in found.plans for issue in plan.issues)]
    for issue in issues[:FOUND_ISSUES]:
        where = f"{issue.file}:{issue.line}" if issue.line else issue.file
        yield _fact(issue.severity, issue.what, where, problem=issue.severity == "error")
    if len(issues) > FOUND_ISSUES:
        yield _fact(
            "notice",
            f"{len(issues) - FOUND_ISSUES} more remarks on {place.paths[0]}: fcreview import --json lists them",
        )


def _machine() -> Iterator[Fact]:
    from importlib.metadata import PackageNotFoundError, version

    for package in PACKAGES:
        try:
            yield _fact("version", version(package), package)
        except PackageNotFoundError:
            if package != "bfcl-eval":
                yield _fact("version", "not installed", package, problem=True)
    yield _fact("version", f"{platform.python_version()} on {platform.system()} {platform.machine()}", "Python")
    size = os.get_terminal_size() if sys.stdout.isatty() else None
    yield _fact("terminal", f"{size.columns}x{size.lines}" if size else "none on standard output", "size")
    yield _fact("terminal", "yes" if on_terminal() else "no: `open` prints plain text", "full-screen app")
    for name in ("TERM", "COLORTERM", "NO_COLOR", "TMUX", "FCREVIEW_ASCII"):
        if os.environ.get(name):
            yield _fact("terminal", "set" if name == "TMUX" else os.environ[name], name)
    yield _fact("terminal", f"{sys.stdout.encoding}, locale {locale.setlocale(locale.LC_CTYPE)}", "encoding")
