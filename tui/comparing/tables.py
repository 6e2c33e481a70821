"""A comparison as a table to choose a flip from. Pure."""

from __future__ import annotations

from fcreview.comparison.compared import Comparison, Part
from fcreview.comparison.flips import Flip
from fcreview.comparison.outcomes import VerdictSource
from fcreview.comparison.wording import difference_of, p_value, remarks, tellable
from fcreview.sanitise import visible
from fcreview.text.words import count_of
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle
from fcreview.tui.text.lines import Part as Cell
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols

COLUMNS = (
    Column("item", cut=cut_middle, least=16),
    Column("passes"),
    Column("A - B, points, and p; a flip's cause", least=30),
)


def comparison_choices(found: Comparison, source: VerdictSource) -> Choices[int | None]:
    """Counts and differences overall and by category, remarks, then every flip: its number in `found.flips`; rows of
    anything else stand for None."""
    told = tellable(found, source, source)
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    rows = [_part(part, told) for part in parts]
    rows += [[(visible(text), "warn"), ("", ""), ("", "")] for text in remarks(found, source, source)]
    values: list[int | None] = [None] * len(rows)
    for at, flip in enumerate(found.flips):
        rows.append(_flip(flip))
        values.append(at)
    return Choices(
        title=f"A and B, {source}",
        noun="flip",
        amount=len(found.flips),
        columns=COLUMNS,
        rows=rows,
        values=values,
        cursor=len(values) - len(found.flips) if found.flips else 0,
        empty="nothing in common",
    )


def _part(part: Part, told: bool) -> list[Cell]:
    counts = part.counts
    name = "all items" if part.category is None else visible(part.category)
    sure = f"{difference_of(part)}  p {p_value(part.difference.p)}" if told and counts.n else symbols().none
    both = f"both pass {counts.both_pass:,}, fail {counts.both_fail:,} of {count_of(counts.n, 'item')}"
    only = f"only A {counts.only_a:,}, B {counts.only_b:,}"
    return [(name, "strong"), (only, "strong"), (f"{sure}  {both}", "")]


def _flip(flip: Flip) -> list[Cell]:
    return [(visible(flip.a.place.id), ""), (f"only {flip.passes.upper()}", "strong"), (visible(flip.cause), "")]
