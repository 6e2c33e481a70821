"""The same item in other runs: one row a run, equal predictions together. Pure but for `read`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.sanitise import visible
from fcreview.store.alike.elsewhere import predictions
from fcreview.store.queues.presentations import item_of
from fcreview.store.rows import QueueRow
from fcreview.text.words import count_of
from fcreview.tui.document.changed import agree
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols, verdict_style

if TYPE_CHECKING:
    from fcreview.store.store import Store

NO_CALL = "(no call)"
SEEN = 24
"""Characters that predictions have in common from which on they are left out, but for the last."""
LEFT = 8


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One run's prediction for the question."""

    row: QueueRow
    calls: str
    alike: int
    """How many runs predict the same, this one among them."""


def read(store: Store, item: int) -> list[Elsewhere]:
    """Of every run that has the question: the most frequent prediction first, runs of one prediction together."""
    found = {each.item: each.calls for each in predictions(store, item)}
    times = Counter(found.values())
    order = list(dict.fromkeys(sorted(found.values(), key=lambda calls: -times[calls])))
    rows = store.rows(sorted(found, key=lambda number: (order.index(found[number]), number)))
    return [Elsewhere(row, found[row.item], times[found[row.item]]) for row in rows]


def automatic(row: QueueRow) -> bool | None:
    """Official, else rule, else the judge's."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


def headline(runs: Sequence[Elsewhere]) -> str:
    """`9 of 12 fail · 7 give the same`; of verdicts nothing where they are hidden."""
    known = [verdict for each in runs if (verdict := automatic(each.row)) is not None]
    most = max(each.alike for each in runs)
    same = f"{most} give the same" if most > 1 else "no two alike"
    return f"{known.count(False)} of {count_of(len(known), 'run')} fail · {same}" if known else same


def choices(runs: Sequence[Elsewhere], item: int) -> Choices[int]:
    """A row stands for its item."""
    distinct = list(dict.fromkeys(each.calls for each in runs))
    alike = [shared for other in distinct[1:] if (shared := agree(distinct[0], other)) > SEEN]
    common = distinct[0][: min(alike, default=0)]
    values = [each.row.item for each in runs]
    firsts = {distinct.index(each.calls): at for at, each in reversed(list(enumerate(runs)))}
    return Choices(
        title=f"{visible(runs[0].row.id)} in other runs",
        noun="run",
        columns=(
            Column("alike", right=True),
            Column("model", cut=cut_middle, least=12),
            *(Column(name) for name in ("off", "rule", "you")),
            Column("prediction", least=30),
        ),
        rows=[_cells(each, at in firsts.values(), common) for at, each in enumerate(runs)],
        values=values,
        cursor=values.index(item_of(item)) if item_of(item) in values else 0,
        note=headline(runs),
    )


def _cells(each: Elsewhere, first: bool, common: str) -> list[Part]:
    row = each.row
    calls = each.calls or NO_CALL
    if common and calls.startswith(common):
        calls = symbols().ellipsis + calls[len(common) - LEFT :]
    marks: list[Part] = [(symbols().verdict(each), verdict_style(each)) for each in (row.official, row.rule, row.you)]
    alike: Part = (f"{each.alike}", "strong") if first else ("", "")
    return [alike, (visible(row.run_name or row.model), ""), *marks, (visible(calls), "" if first else "dim")]
