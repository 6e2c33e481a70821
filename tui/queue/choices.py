"""What the queue offers to choose from: orders, import issues."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.model import ImportIssue
from fcreview.sanitise import visible
from fcreview.store.filters.words import only
from fcreview.tui.queue.state import QueueState, orders
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle
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
        values=[f"id:{only(issue.item)}" if issue.item else "" for issue in issues],
        empty="everything could be read",
    )


def _issue_row(issue: ImportIssue) -> list[Part]:
    where = visible(issue.file) + (f":{issue.line}" if issue.line else "")
    style = "bad" if issue.severity == "error" else "warn" if issue.severity == "warning" else "dim"
    return [(issue.severity, style), (visible(issue.what), ""), (visible(issue.item or ""), "dim"), (where, "dim")]
