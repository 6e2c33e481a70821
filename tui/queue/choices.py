"""What the queue offers to choose from: orders, runs, import issues."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fcreview.model import ImportIssue
from fcreview.sanitise import visible
from fcreview.store.filters.language import quote
from fcreview.store.rows import RunRow
from fcreview.tui.queue.header import run_title
from fcreview.tui.queue.state import ALL_RUNS, QueueState, orders
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle, rate_of, recomputed
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column


def order_choices(state: QueueState) -> Choices[str]:
    named = orders(state.blind, state.file)
    names = list(named)
    return Choices(
        title="order of the queue",
        noun="order",
        columns=(Column("order"), Column("what comes first")),
        rows=[[(visible(name), "strong"), (says, "")] for name, says in named.items()],
        values=names,
        cursor=names.index(state.queue),
        small=True,
    )


Cell = Callable[[RunRow], Part]


def run_choices(runs: Sequence[RunRow], selected: int | None, blind: bool = False) -> Choices[int]:
    """One row a run, behind one for all of them (`ALL_RUNS`). Columns that would say nothing are left out."""
    columns: list[tuple[Column, Cell]] = [
        (Column("model", cut=_half, least=12), lambda run: (visible(run.info.model), "")),
        (Column("items", right=True), lambda run: (f"{run.n_items:,}", "")),
    ]
    titles = {run_title(run) for run in runs}
    if len(titles) > 1:
        columns.append((Column("bench", least=7), lambda run: (run_title(run), "dim")))
    if not blind:
        columns.append((Column("official", right=True), lambda run: (run.official_rate, "")))
        if any(run.rule_known for run in runs):
            columns.append((Column("rule", right=True), _rule))
        columns.append((Column("corrected", right=True), _corrected))
    if any(run.info.lacks_dataset for run in runs):
        columns.append((Column("dataset"), lambda run: ("none" if run.info.lacks_dataset else "", "warn")))
    columns.append((Column("by you", right=True), lambda run: (f"{run.yours:,}", "")))
    if not blind and any(run.reviewed > run.yours for run in runs):
        columns.append((Column("by all", right=True), lambda run: (f"{run.reviewed:,}", "")))
    if any(run.n_issues for run in runs):
        columns.append((Column("issues", right=True), lambda run: (f"{run.n_issues:,}", "warn")))
    everything: list[Part] = [("all runs", "strong"), (f"{sum(run.n_items for run in runs):,}", "")]
    values = [ALL_RUNS, *(run.run for run in runs)]
    return Choices(
        title="runs",
        noun="run",
        columns=[column for column, _ in columns],
        rows=[
            everything + [("", "")] * (len(columns) - len(everything)),
            *([cell(run) for _, cell in columns] for run in runs),
        ],
        values=values,
        cursor=values.index(selected) if selected in values else 0,
        amount=len(runs),
        note=titles.pop() if len(titles) == 1 else "",
    )


def _rule(run: RunRow) -> Part:
    return recomputed(run.rule_pass, run.rule_known, run.n_items), ""


def _corrected(run: RunRow) -> Part:
    return rate_of(run.effective_pass, run.effective_known, run.n_items), "strong"


def _half(text: str, cells: int) -> str:
    return cut_middle(text, cells, 1 / 2)


def issue_choices(issues: Sequence[ImportIssue]) -> Choices[str]:
    """A row stands for the filter that selects its item; empty where it is of a file."""
    return Choices(
        title="import issues",
        noun="issue",
        columns=(
            Column("severity"),
            Column("what", least=30),
            Column("item", cut=cut_middle, least=12),
            Column("where", cut=cut_middle, least=16),
        ),
        rows=[_issue_row(issue) for issue in issues],
        values=[f"id:{quote(issue.item)}" if issue.item else "" for issue in issues],
        empty="everything could be read",
    )


def _issue_row(issue: ImportIssue) -> list[Part]:
    where = visible(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [(issue.severity, style), (visible(issue.what), ""), (visible(issue.item or ""), "dim"), (where, "dim")]
