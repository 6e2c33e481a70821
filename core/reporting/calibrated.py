"""How far automatic verdicts can be believed, as a section: of each source its confusion matrix and figures, then by
groups of cases, then the kinds of cases that it gets wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fcreview.calibration.wording import METRICS, NONE, NOTES, WORST, by_metric, chosen, named, said_of, value_of
from fcreview.reporting.blocks import Section, Table, Text, table
from fcreview.text.words import count_of, word

if TYPE_CHECKING:  # figures of calibration need numpy: loaded where there are any
    from fcreview.calibration.cases import Scope
    from fcreview.calibration.rates import Metric
    from fcreview.calibration.summary import Calibration, WrongKind

TITLE = "How far automatic verdicts can be believed"
GROUPS = 40
"""Rows of one table, those with most cases; `fcreview calibrate` has all."""
GROUPED: tuple[Metric, ...] = ("tpr", "tnr", "kappa", "agreement")
"""Figures of groups: a page has room for so many beside each other."""
LABELS = 4
"""Labels up to which a confusion matrix is drawn as one, else as a list of what occurs."""
PAIRS = 20
"""Lines of such a list, those with most cases."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What there is to say; all empty where nothing automatic was reviewed."""

    basis: Sequence[str] = ()
    """Paragraphs: what the figures rest on."""
    figures: Sequence[Calibration] = ()
    """In the order of scopes, the overall ones first."""
    wrong: Sequence[WrongKind] = field(default=())
    scopes: Sequence[Scope] = ()
    """By which groups the figures are told, beside the overall ones."""


def calibration_section(found: Calibrated) -> Section:
    if not found.figures:
        return Section(TITLE, [Text(NONE[0].upper() + NONE[1:] + ".")])
    overall = [_source(each) for each in found.figures if each.scope == "overall"]
    parts = [_groups(scope, [each for each in found.figures if each.scope == scope]) for scope in found.scopes]
    texts = [Text(text) for text in (*found.basis, *NOTES)]
    return Section(TITLE, texts, [*overall, *filter(None, parts), *_wrong(found.wrong)])


def _source(of: Calibration) -> Section:
    rates = [
        [METRICS[rate.metric], *value_of(rate), f"{rate.n:,}"]
        for rate in sorted(of.rates, key=lambda rate: list(METRICS).index(rate.metric))
    ]
    says = Text(f"{count_of(of.n, 'verdict')} on what people settled; how the items were chosen: {chosen(of)}.")
    figures = table(["figure", "value", "95 % interval", "over"], rows=rates, right=(1, 2, 3))
    return Section(" · ".join(named(of)), [says, _matrix(of), figures])


def _matrix(of: Calibration) -> Table:
    """A row what it says, a column what people say; of many labels a line each pair that occurs."""
    if of.binary or len({str(each) for cell in of.cells for each in (cell.said, cell.settled)}) <= LABELS:
        pairs = {(word(cell.said, of.criterion), word(cell.settled, of.criterion)): cell.n for cell in of.cells}
        labels = [word(each, of.criterion) for each in (True, False)] if of.binary else sorted({*sum(pairs, ())})
        rows = [[f"says {one}", *(f"{pairs.get((one, other), 0):,}" for other in labels)] for one in labels]
        return table(["", *(f"people: {label}" for label in labels)], rows, range(1, len(labels) + 1))
    most = sorted(of.cells, key=lambda cell: -cell.n)[:PAIRS]
    listed = [[word(cell.said, of.criterion), word(cell.settled, of.criterion), f"{cell.n:,}"] for cell in most]
    rest = sum(cell.n for cell in of.cells) - sum(cell.n for cell in most)
    return table(["it says", "people", "n"], [*listed, *([["others", "", f"{rest:,}"]] if rest else [])], (2,))


def _groups(scope: Scope, figures: Sequence[Calibration]) -> Section | None:
    """None where there is one group only: that is the overall one."""
    if len({each.name for each in figures}) < 2:
        return None
    kept = {id(each) for each in sorted(figures, key=lambda each: -each.n)[:GROUPS]}
    rows = [
        [each.name or "", " · ".join(named(each)), f"{each.n:,}", chosen(each),
         *(by_metric(each.rates)[metric] for metric in GROUPED)]
        for each in figures if id(each) in kept
    ]  # fmt: skip
    rest = len(figures) - len(kept)
    more = [Text(f"{count_of(rest, 'smaller group')} not shown: `fcreview calibrate --by {scope}`.")] if rest else []
    heads = [scope, "verdicts", "n", "chosen", *(METRICS[metric] for metric in GROUPED)]
    return Section(f"by {scope}", [table(heads, rows, (2, *range(4, len(heads)))), *more])


def _wrong(kinds: Sequence[WrongKind]) -> Iterator[Section]:
    rows = []
    for _, found in groupby(kinds, named):
        for kind in sorted(found, key=lambda kind: -kind.wrong)[:WORST]:
            share = f"{kind.wrong:,} of {kind.of:,}"
            rows.append([f"{kind.by} {kind.name}", " · ".join(named(kind)), said_of(kind), share])
    if rows:
        says = f"Of each source the {WORST} most frequent kinds, and how often it says so at all in cases of that kind."
        yield Section(
            "where they are wrong", [Text(says), table(["cases", "verdicts", "it says", "wrong"], rows, (3,))]
        )
