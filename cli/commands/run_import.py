"""`fcreview import`: import runs into the workspace or a lake."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.lake import resolve_location
from fcreview.cli.lake_import import (
    SCORE_NAMES,
    fetch_scores,
    import_on_cluster,
    import_to_lake,
    parse_part,
    parse_part_count,
)
from fcreview.cli.options import PATHS_ARGUMENT, JsonOption, option, workspace_command
from fcreview.cli.output import cell_text, emit, emit_json, print_table
from fcreview.cli.workspace import (
    WorkspaceOptions,
    discover_runs,
    explain_no_runs,
    import_discovered_runs,
    print_missing_datasets,
)
from fcreview.errors import EXIT_FAILURE
from fcreview.model.wording import format_count, format_dataset_name, format_judge_rate, format_official_rate

if TYPE_CHECKING:
    pass

MAX_KINDS = 30
"""Limit of different kinds of issues in text output."""
_NUMBER = re.compile(r"…?(?<![A-Za-z])\d(?:[\d,.-]*\d)?(?![A-Za-z])…?")
SEVERITIES = ("error", "warning", "notice")


@workspace_command("format", "decoder", path=PATHS_ARGUMENT)
def import_(
    options: WorkspaceOptions,
    forget_data: Annotated[
        bool, option("--forget-data", "Forget the remembered dataset folders of these runs.")
    ] = False,
    lake: Annotated[
        str | None, option("--lake DIR", "Write Parquet files to DIR or s3://BUCKET/NAME instead of a store.")
    ] = None,
    part: Annotated[str | None, option("--part K/N", "Import only part K of N into the lake.")] = None,
    dask: Annotated[
        str | None,
        option(
            "--dask ADDRESS",
            "Import into the lake with the workers of this Dask scheduler; --part N sets the number of parts.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import runs and print an import summary.

    Only new and changed runs are imported. A run whose dataset folder is missing keeps its last import. The exit code
    is 1 if a run failed, if no run was found, or if a run changed while its dataset is missing.

    With --lake, the runs are written to a folder of Parquet files that other commands read like a workspace. Several
    machines can import one part each, such as `fcreview import archive --lake lake --part 3/16` (docs/lake.md).

    Example: fcreview import runs/gpt4o --data bfcl/data --json
    """
    started = time.perf_counter()
    options = replace(options, forget_data=forget_data)
    config = load_config()
    if lake is not None:
        if options.workspace is not None:
            raise UsageError("--workspace has no effect on --lake: pass it to the commands that read the lake")
        location = resolve_location(lake)
        if dask is not None:
            summary, scores = import_on_cluster(options, location, dask, parse_part_count(part))
        else:
            summary, scores = import_to_lake(options, config, location, parse_part(part))
    elif part is not None or dask is not None:
        raise UsageError(f"{'--part' if part else '--dask'} needs --lake DIR")
    else:
        home, summary = import_discovered_runs(options, discover_runs(options, config), config)
        location, scores = str(home.root), fetch_scores(home) if home.store.exists() else {}
    no_scores = dict.fromkeys(SCORE_NAMES, 0)
    rows = [{"kind": "run", **row, **scores.get(row["run"], no_scores)} for row in summary.runs]
    issues = [{"kind": "issue", **issue} for issue in summary.issues]
    issues.sort(key=lambda issue: SEVERITIES.index(issue["severity"]))
    if as_json:
        for each in (*rows, *issues):
            emit_json(each)
    elif rows or issues:
        _print_summary(rows, issues, location, time.perf_counter() - started)
    if not rows and (part is None or dask is not None):
        raise CommandError(explain_no_runs(options, summary))
    print_missing_datasets(summary)
    if any(row["status"] in ("failed", "outdated") for row in rows):
        raise typer.Exit(EXIT_FAILURE)


def _format_official_rate(row: dict[str, Any]) -> str:
    if row["judge_known"] and not row["official_known"] and not row["rule_known"] and not row["stated_of"]:
        return format_judge_rate(row["judge_pass"], row["judge_known"], row["items"])
    stated = {name: row[name] for name in ("stated_pass", "stated_of")}
    return format_official_rate(row["official_pass"], row["official_known"], row["items"], **stated)


def _print_summary(rows: list[dict[str, Any]], issues: list[dict[str, Any]], root: str, seconds: float) -> None:
    if rows:
        table = [
            [
                cell_text(format_dataset_name(row["benchmark"], row["generation"], row["language"])),
                cell_text(row["model"]), f"{row['items']:,}", _format_official_rate(row), f"{row['issues']:,}",
                row["status"],
            ]
            for row in rows
        ]  # fmt: skip
        print_table(["benchmark", "model", "items", "official", "issues", "status"], table, right_aligned=(2, 3, 4))
    for severity in SEVERITIES:
        _print_issues([issue for issue in issues if issue["severity"] == severity], severity)
    unchanged = {row["run"]: row["issues"] for row in rows if row["status"] not in ("imported", "failed")}
    known = sum(unchanged.values()) - sum(issue.get("run") in unchanged for issue in issues)
    if known > 0:
        emit()
        count = format_count(known, "issue")
        emit(f"{count} of unchanged runs are not listed. Use fcreview sql to query the table import_issues")
    emit()
    n_items = sum(row["items"] for row in rows)
    emit(
        f"{format_count(n_items, 'item')} in {format_count(len(rows), 'run')}, {seconds:.1f} s,"
        f" saved in {cell_text(root)}"
    )


def _print_issues(issues: list[dict[str, Any]], severity: str) -> None:
    if not issues:
        return
    kinds: dict[str, list[dict[str, Any]]] = {}
    for issue in issues:
        kinds.setdefault(_issue_kind(issue), []).append(issue)
    emit()
    emit(format_count(len(issues), severity))
    for members in sorted(kinds.values(), key=len, reverse=True)[:MAX_KINDS]:
        first = members[0]
        where = cell_text(first["file"]) + (f":{first['line']}" if first["line"] else "")
        emit(f"  {len(members):>5} x  {cell_text(_describe_kind(members))}")
        emit(f"           {where}" + (" and others" if len(members) > 1 else ""))
    if len(kinds) > MAX_KINDS:
        emit(f"  … {len(kinds) - MAX_KINDS} more kinds; use --json to list all")


def _issue_kind(issue: dict[str, Any]) -> str:
    """Return the kind of an issue: the first sentence of its message without ids and numbers."""
    return _generalize(issue).partition(". ")[0]


def _describe_kind(members: list[dict[str, Any]]) -> str:
    """Return the message of all issues of a kind, or the common part of their messages."""
    if len({issue["what"] for issue in members}) == 1:
        return str(members[0]["what"])
    general = {_generalize(issue) for issue in members}
    return general.pop() if len(general) == 1 else _issue_kind(members[0])


def _generalize(issue: dict[str, Any]) -> str:
    """Return an issue's message with `…` for the item's id, and for numbers."""
    what = str(issue["what"])
    for name in (issue["item"], str(issue["item"] or "").partition("#")[0]):
        what = what.replace(name, "…") if name else what
    return _NUMBER.sub("…", what)
