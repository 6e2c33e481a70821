"""A comparison as a table to choose a flip from. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fcreview.comparison.compared import Comparison, Part
from fcreview.comparison.flips import Flip
from fcreview.comparison.outcomes import VerdictSource
from fcreview.comparison.wording import difference_of, p_value, remarks, tellable
from fcreview.sanitise import visible, width
from fcreview.text.words import count_of, rate, rate_of
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle
from fcreview.tui.text.lines import Part as Cell
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols


def columns(rates: Sequence[str]) -> tuple[Column, ...]:
    """`rates`, with what they are of, are shown whole."""
    return (
        Column("item", cut=cut_middle, least=14),
        Column("passes", least=max(map(width, rates), default=0)),
        Column("A - B, points; cause", least=22),
    )


def comparison_choices(found: Comparison, source: VerdictSource) -> Choices[int | None]:
    """Rates, differences and counts overall and by category, remarks, then every flip: its number in `found.flips`;
    rows of anything else stand for None."""
    told = tellable(found, source, source)
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    rows = [row for part in parts for row in _part(part, told)]
    made = columns([row[1][0] for row in rows])
    rows += [[(visible(text), "warn"), ("", ""), ("", "")] for text in remarks(found, source, source)]
    values: list[int | None] = [None] * len(rows)
    for at, flip in enumerate(found.flips):
        rows.append(_flip(flip))
        values.append(at)
    return Choices(
        title=f"A and B, {source}",
        noun="flip",
        amount=len(found.flips),
        columns=made,
        rows=rows,
        values=values,
        cursor=len(values) - len(found.flips) if found.flips else 0,
        empty="nothing in common",
    )


def _part(part: Part, told: bool) -> list[list[Cell]]:
    """One row; of all items two, so that a narrow screen shows the flips, too."""
    counts = part.counts
    name = "all items" if part.category is None else visible(part.category)
    sure = f"{difference_of(part)}  p {p_value(part.difference.p)}" if told and counts.n else symbols().none
    rates = f"A {rate(counts.both_pass + counts.only_a, counts.n)}, "
    rates += f"B {rate_of(counts.both_pass + counts.only_b, counts.n, part.of)}"
    both = f"both pass {counts.both_pass:,}, fail {counts.both_fail:,} of {count_of(counts.n, 'item')}"
    only = f"only A {counts.only_a:,}, B {counts.only_b:,}"
    shown: Cell = (rates if told and counts.n else symbols().none, "strong")
    if part.category is None:
        return [[(name, "strong"), shown, (sure, "")], [("", ""), (only, "strong"), (both, "")]]
    return [[(name, "strong"), shown, (f"{sure}  {only}, {both}", "")]]


def _flip(flip: Flip) -> list[Cell]:
    return [(visible(flip.a.place.id), ""), (f"only {flip.passes.upper()}", "strong"), (visible(flip.cause), "")]
