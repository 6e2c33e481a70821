"""Self-agreement on hidden repeats as text, for `fcreview agreement`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fcreview.agreement.repeats import Repeated, self_agreement
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.text.numbers import number

if TYPE_CHECKING:
    from fcreview.figures import Unit

HEADS = ["annotator", "criterion", "targets", "same", "[95 %]", "Cohen's kappa", "[95 %]"]


def show_repeats(repeats: Sequence[Repeated], *, as_json: bool) -> None:
    """A table, or an object a row; nothing where nothing came twice."""
    figures = list(self_agreement(repeats))
    if as_json:
        for figure in figures:
            emit_json(figure)
        return
    if not figures:
        return
    emit("self-agreement: items that came to the same annotator twice, the second time unsaid")
    rows = [
        [
            "all" if each.annotator is None else text_of(each.annotator), text_of(each.criterion), f"{each.n:,}",
            number(each.percent, "share"), _interval(each.percent_low, each.percent_high, share=True),
            number(_rounded(each.kappa), "score"), _interval(each.kappa_low, each.kappa_high, share=False),
        ]
        for each in figures
    ]  # fmt: skip
    for line in aligned(HEADS, rows, right=(2, 3, 5)):
        emit(line)
    emit()


def _interval(low: float | None, high: float | None, *, share: bool) -> str:
    if low is None or high is None:
        return "·"
    unit: Unit = "share" if share else "score"
    return f"[{number(_rounded(low), unit)}, {number(_rounded(high), unit)}]"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3) + 0.0  # no -0.000
