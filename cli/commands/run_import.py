"""`fcreview import`: bring runs into the store and say what came of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.config import load_config
from fcreview.cli.errors import FAILED, CommandError
from fcreview.cli.import_options import checked
from fcreview.cli.options import AsJson, Data, DecoderOption, ErrataOption, Format, PathArguments, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.cli.workspace import Place, bring_in, discovered, nothing_found, tell_missing
from fcreview.model.wording import count_of, kind_of, official_rate

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace

SHOWN = 30
"""Kinds of issue that are listed; --json has every single one."""
UNSCORED = {"official_pass": 0, "official_known": 0, "stated_pass": 0, "stated_of": 0}
SEVERITIES = ("error", "warning", "notice")


def import_(
    paths: PathArguments,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    format: Format = None,  # noqa: A002
    decoder: DecoderOption = None,
    forget_data: Annotated[
        bool,
        typer.Option(
            "--forget-data", help="Forget the dataset named before: import with what is found now, even if it is less."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import runs and say what came of it.

    A dataset named with --data holds for every later command. A run whose dataset is lost stays as it was imported.

    Exit code 0 if every run that was found is in the store as it is on disk, whatever remarks there are on single
    lines; 1 if a run failed, has changed while its dataset is lost, or none was found.

    Example: fcreview import runs/gpt4o --data bfcl/data --json
    """
    place = Place(paths, data, workspace, format, forget_data=forget_data, decoder=checked(decoder), errata=errata)
    config = load_config()
    home, summary = bring_in(place, discovered(place, config), config)
    scores = _scores(home)
    rows = [{"kind": "run", **row, **scores.get(row["run"], UNSCORED)} for row in summary.runs]
    issues = [{"kind": "issue", **issue} for issue in summary.issues]
    if as_json:
        for each in (*rows, *issues):
            emit_json(each)
    elif rows or issues:
        _print(rows, issues, str(home.root), summary.seconds)
    if not rows:
        raise CommandError(nothing_found(place, summary))
    tell_missing(summary)
    if any(row["status"] in ("failed", "outdated") for row in rows):
        raise typer.Exit(FAILED)


def _scores(home: Workspace) -> dict[int, dict[str, int]]:
    """{official_pass, official_known, stated_pass, stated_of} by run, of what is in the store."""
    from fcreview.store.store import Store

    if not home.store.exists():
        return {}
    store = Store.open(home)
    try:
        return {row.run: {name: getattr(row, name) for name in UNSCORED} for row in store.runs()}
    finally:
        store.close()


def _official(row: dict[str, Any]) -> str:
    stated = {name: row[name] for name in ("stated_pass", "stated_of")}
    return official_rate(row["official_pass"], row["official_known"], row["official_known"], **stated)


def _print(rows: list[dict[str, Any]], issues: list[dict[str, Any]], root: str, seconds: float) -> None:
    if rows:
        table = [
            [
                text_of(kind_of(row["benchmark"], row["generation"], row["language"])),
                text_of(row["model"]), f"{row['items']:,}", _official(row), f"{row['issues']:,}", row["status"],
            ]
            for row in rows
        ]  # fmt: skip
        for line in aligned(["benchmark", "model", "items", "official", "issues", "status"], table, right=(2, 3, 4)):
            emit(line)
    for severity in SEVERITIES:
        _print_issues([issue for issue in issues if issue["severity"] == severity], severity)
    kept = sum(row["issues"] for row in rows if row["status"] not in ("imported", "failed"))
    if kept:
        emit()
        emit(f"{count_of(kept, 'issue')} of unchanged runs, told before: see import_issues with fcreview sql")
    emit()
    n_items = sum(row["items"] for row in rows)
    emit(f"{count_of(n_items, 'item')} in {count_of(len(rows), 'run')}, {seconds:.1f} s, kept in {text_of(root)}")


def _print_issues(issues: list[dict[str, Any]], severity: str) -> None:
    """Issues of one kind on one line: how many, the first place, what."""
    if not issues:
        return
    counts = Counter(issue["what"] for issue in issues)
    first = {issue["what"]: issue for issue in reversed(issues)}
    emit()
    emit(count_of(len(issues), severity))
    for what, count in counts.most_common(SHOWN):
        issue = first[what]
        where = text_of(issue["file"]) + (f":{issue['line']}" if issue["line"] else "")
        emit(f"  {count:>5} x  {text_of(what)}")
        emit(f"           {where}" + (" and others" if count > 1 else ""))
    if len(counts) > SHOWN:
        emit(f"  … {len(counts) - SHOWN} more kinds: --json lists every one")
