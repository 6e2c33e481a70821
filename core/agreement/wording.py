"""Figures of agreement in words: the same in the command and on its screen. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fcreview.agreement.ratings import Given, Scope
from fcreview.figures import Unit
from fcreview.sanitise import visible
from fcreview.text.numbers import number

if TYPE_CHECKING:
    from fcreview.agreement.summary import AgreementFigure, Metric

HEADINGS: dict[Scope, str] = {"overall": "overall", "benchmark": "by benchmark", "category": "by category"}
HOW: dict[Given, str] = {
    "blind": "blind reviews",
    "seen": "reviews that were not blind",
    "unknown": "reviews of which it was not recorded whether they were blind",
    "all": "all reviews, blind or not",
}
METRICS: dict[Metric, str] = {
    "percent": "percent", "fleiss": "Fleiss' kappa", "alpha": "alpha", "ac1": "Gwet's AC1", "cohen": "Cohen's kappa"
}  # fmt: skip


def places(figures: Iterable[AgreementFigure], figure: AgreementFigure) -> list[str]:
    """Where (not overall; a category by its name alone if all are of one benchmark) and on which criterion."""
    names = [name for name in group_of(figure)[:2] if name is not None]
    if len(names) > 1 and len({each.benchmark for each in figures}) == 1:
        names = names[1:]
    return [visible(each) for each in (*(["/".join(names)] if names else []), figure.criterion)]


def name_of(figure: AgreementFigure) -> str:
    words = {"nominal": "", "ordinal": " (ordinal)", "masi": " (MASI)"}
    return METRICS[figure.metric] + words[figure.level]


def value_of(figure: AgreementFigure) -> list[str]:
    """Value and interval."""
    unit: Unit = "share" if figure.metric == "percent" else "score"
    value, low, high = (
        number(None if each is None else round(each, 3) + 0.0, unit)  # no -0.000
        for each in (figure.value, figure.low, figure.high)
    )
    return [value, "·" if figure.low is None else f"[{low}, {high}]"]


def group_of(figure: AgreementFigure) -> tuple[str | None, str | None, str]:
    """(benchmark, category, criterion)"""
    return figure.benchmark, figure.category, figure.criterion
