"""A comparison of two runs, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fcreview.cli.commands.comparing.sides import SHOWN, Side
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.comparison.compared import Comparison, Part
from fcreview.comparison.flips import Flip
from fcreview.comparison.outcomes import Outcome
from fcreview.comparison.paired import METHOD, TEST
from fcreview.comparison.wording import INTERVAL, P_VALUE, difference_of, p_value, remarks, tellable
from fcreview.estimate.intervals import LEVEL
from fcreview.sanitise import visible
from fcreview.text.words import count_of, rate

NAMES = 44
"""Cells of an item's id in the list of flips."""


def show_pair(sides: tuple[Side, Side], found: Comparison, limit: int | None, *, as_json: bool) -> None:
    if as_json:
        print_json(sides, found, limit)
    else:
        print_text(sides, found, SHOWN if limit is None else limit)


def print_json(sides: tuple[Side, Side], found: Comparison, limit: int | None) -> None:
    """One object overall, one a category, one a flip; `kind` tells which."""
    emit_json(
        {"kind": "overall", "a": sides[0].as_json(), "b": sides[1].as_json()}
        | part_json(found.overall)
        | {
            "level": LEVEL,
            "method": METHOD,
            "test": TEST,
            "judged_a": found.judged[0],
            "judged_b": found.judged[1],
            "without_partner_a": found.lonely[0],
            "without_partner_b": found.lonely[1],
            "other_question": found.asked_otherwise,
            "independent": not found.in_groups,
        }
    )
    for part in found.categories:
        emit_json({"kind": "category", "category": part.category} | part_json(part))
    for flip in found.flips[:limit]:
        emit_json(flip_json(flip))


def part_json(part: Part) -> dict[str, Any]:
    """{of, n, both_pass, both_fail, only_a, only_b, rate_a, rate_b, difference, low, high, p}; rates and differences as
    shares."""
    counts, found = part.counts, part.difference
    return {
        "of": part.of,
        "n": counts.n,
        **asdict(counts),
        "rate_a": counts.rate_a,
        "rate_b": counts.rate_b,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "p": found.p,
    }


def flip_json(flip: Flip) -> dict[str, Any]:
    """{kind, benchmark, generation, language, category, id, passes, same_prediction, golden_differs, cause, a, b};
    a and b: {verdict, error_type, first_difference}"""

    def said(side: Outcome) -> dict[str, Any]:
        return {"verdict": side.verdict, "error_type": side.error, "first_difference": side.difference}

    return {
        "kind": "flip",
        **flip.a.place._asdict(),
        "passes": flip.passes,
        "same_prediction": flip.same_prediction,
        "golden_differs": flip.golden_differs,
        "cause": flip.cause,
        "a": said(flip.a),
        "b": said(flip.b),
    }


def print_text(sides: tuple[Side, Side], found: Comparison, limit: int) -> None:
    a, b = sides
    told = tellable(found, a.source, b.source)
    emit(f"A  {a.name}")
    emit(f"B  {b.name}")
    for remark in remarks(found, a.source, b.source):
        emit(remark)
    emit()
    parts = [found.overall, *(found.categories if len(found.categories) > 1 else ())]
    headers = ["", "items", "A", "B", "both pass", "both fail", "only A", "only B", "A - B, points", "p"]
    for line in aligned(headers, [_row(part, told) for part in parts], right=range(1, 8), widest=36):
        emit(line)
    emit()
    emit(f"[ ]: {INTERVAL}. p: {P_VALUE}" + ("; of categories not corrected for their number." if parts[1:] else "."))
    print_flips(found.flips, limit)


def _row(part: Part, told: bool) -> list[str]:
    counts = part.counts
    rates = [rate(counts.both_pass + only, counts.n) if told else "·" for only in (counts.only_a, counts.only_b)]
    numbers = [counts.both_pass, counts.both_fail, counts.only_a, counts.only_b]
    return [
        "all items" if part.category is None else visible(part.category),
        f"{counts.n:,}",
        *rates,
        *(f"{number:,}" for number in numbers),
        difference_of(part) if told else "·",
        p_value(part.difference.p) if told else "·",
    ]


def print_flips(found: Sequence[Flip], limit: int) -> None:
    for side in ("a", "b"):
        flips = [flip for flip in found if flip.passes == side]
        if flips:
            emit()
            emit(f"only {side.upper()} passes: {count_of(len(flips), 'item')}")
        rows = [[text_of(flip.a.place.id), visible(flip.cause)] for flip in flips[:limit]]
        for line in aligned(["item", "cause"], rows, widest=NAMES) if rows else ():
            emit(f"  {line}")
        if len(flips) > limit:
            emit(f"  … {len(flips) - limit:,} more: --limit {len(flips)}")
