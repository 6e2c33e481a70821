"""`fcreview runs`: the runs of a workspace and their metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.common import Place, opened
from fcreview.cli.errors import one_of
from fcreview.cli.options import Annotator, AsJson, Data, ErrataOption, PathArgument, PolicyOption, WorkspaceOption
from fcreview.cli.output import alert, aligned, emit, emit_json, text_of
from fcreview.text.words import NO_DATASET, count_of, rate_of, recomputed

if TYPE_CHECKING:
    from fcreview.store.rows import RunRow


def _falling(passed: int, known: int) -> tuple[bool, float]:
    """By rate, highest first; what has none comes last."""
    return not known, -passed / known if known else 0.0


SORTED_BY: dict[str, Callable[[RunRow], Any]] = {
    "run": lambda row: row.run,
    "model": lambda row: (row.info.model.lower(), row.run),
    "generation": lambda row: (row.info.benchmark, row.info.generation, row.info.language, row.run),
    "items": lambda row: -row.n_items,
    "official": lambda row: _falling(row.official_pass, row.official_known),
    "rule": lambda row: _falling(row.rule_pass, row.rule_known),
    "corrected": lambda row: _falling(row.effective_pass, row.effective_known),
    "reviewed": lambda row: -row.reviewed,
    "issues": lambda row: -row.n_issues,
}

SortOption = Annotated[
    str, typer.Option("--sort", metavar="KEY", help="One of " + ", ".join(SORTED_BY) + "; numbers: highest first.")
]
OnlyOption = Annotated[
    str, typer.Option("--only", metavar="TEXT", help="Runs with this in benchmark, generation, language or model.")
]


def runs(
    path: PathArgument,
    sort: SortOption = "run",
    only: OnlyOption = "",
    policy: PolicyOption = "unanimous",
    annotator: Annotator = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List runs with their pass rates.

    As scored officially, as recomputed (rule), and as corrected by reviews.
    A rate over a part of the items says so. With --json the counts are given, by category too.

    Example: fcreview runs result/ --sort official --only v3
    """
    order = SORTED_BY[one_of(SORTED_BY, sort, "--sort")]
    with opened(Place([path], data, workspace, annotator=annotator, policy=policy, errata=errata)) as session:
        session.head(as_json=as_json)
        shown = sorted((row for row in session.runs if only.lower() in _words(row).lower()), key=order)
        if as_json:
            for row in shown:
                emit_json(flat(row))
            return
        table = [
            [
                str(row.run), kind_of(row), text_of(row.info.model),
                f"{row.n_items:,}", row.official_rate,
                recomputed(row.rule_pass, row.rule_known, row.n_items),
                rate_of(row.effective_pass, row.effective_known, row.n_items),
                f"{row.reviewed:,}", f"{row.in_part:,}", f"{row.n_issues:,}",
            ]
            for row in shown
        ]  # fmt: skip
        headers = ["run", "benchmark", "model", "items", "official", "rule", "corrected", "reviewed", "part", "issues"]
        for line in aligned(headers, table, right=(0, 3, 4, 5, 6, 7, 8, 9), widest=40):
            emit(line)
        emit()
        emit(count_of(len(shown), "run") + ". Where not every item can be recomputed, 'rule' says how many can.")
        lacking = [str(row.run) for row in shown if row.info.lacks_dataset]
        if lacking:
            alert(f"run {', '.join(lacking)}: {NO_DATASET}")


def _words(row: RunRow) -> str:
    info = row.info
    return " ".join((info.benchmark, info.generation, info.language, info.model))


def kind_of(row: RunRow) -> str:
    """`acebench v1 zh`"""
    info = row.info
    return text_of(" ".join(word for word in (info.benchmark, info.generation, info.language) if word))


def flat(row: RunRow) -> dict[str, Any]:
    """{run, benchmark, generation, language, model, path, ..., n_items, official_pass, official_known, ...}"""
    fields = asdict(row)
    return {"run": fields.pop("run"), **fields.pop("info"), **fields}
