"""Many runs as a matrix, as text and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from fcreview.cli.commands.comparing.sides import SHOWN, Side
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.comparison.matrix import Matrix, MatrixItem
from fcreview.text.words import count_of, rate

MARKS = {True: "✓", False: "✗", None: "·"}
PLAIN_MARKS = {True: "P", False: "F", None: "."}
"""For a locale that has not the others."""
ENDS = 20
"""Of more than three times as many runs these many of the best and of the weakest have their marks shown."""


def show_many(sides: Sequence[Side], found: Matrix, limit: int | None, *, as_json: bool) -> None:
    """`sides` in the order in which they were compared."""
    if as_json:
        print_json(sides, found, limit)
    else:
        print_text(sides, found, SHOWN if limit is None else limit)


def print_json(sides: Sequence[Side], found: Matrix, limit: int | None) -> None:
    """One object a run, best first, then one an item, hardest first; `kind` tells which."""
    for each in found.ranking:
        emit_json(
            {"kind": "run", "rank": each.rank}
            | sides[each.run].as_json()
            | {"passed": each.passed, "known": each.known, "rate": each.rate, "shared": found.shared > 0}
        )
    order = [sides[each.run].row.run for each in found.ranking]
    for item in found.items[:limit]:
        emit_json(item_json(item, order))


def item_json(item: MatrixItem, order: Sequence[int]) -> dict[str, Any]:
    """{kind, benchmark, generation, language, category, id, passing, failing, upset, verdicts}; `verdicts`: run number
    -> true, false or null, best run first."""
    return {
        "kind": "item",
        **item.row.place._asdict(),
        "passing": item.passing,
        "failing": item.failing,
        "upset": item.upset,
        "verdicts": {str(run): verdict for run, verdict in zip(order, item.verdicts, strict=True)},
    }


def print_text(sides: Sequence[Side], found: Matrix, limit: int) -> None:
    emit(f"{count_of(len(sides), 'run')}, {count_of(len(found.items), 'item')}, verdicts: {sides[0].source}")
    if found.shared:
        emit(f"ranked over the {count_of(found.shared, 'item')} on which every run has a verdict")
    else:
        emit("no item has a verdict in every run: ranked by each run's own items, which are not the same")
    if found.asked_otherwise:
        emit(f"{count_of(found.asked_otherwise, 'id')} with several questions: each question is an item of its own")
    if len(found.generations) > 1:
        emit(f"generations {text_of(', '.join(found.generations))}: matched by all else")
    emit()
    for line in aligned(
        ["rank", "run", "model", "rate", "passed", "of"], _ranking(sides, found), right=(0, 1, 3, 4, 5)
    ):
        emit(line)
    print_items("hardest items first; runs from left to right, best first", found.items, limit)
    print_items("the best fail, the weak pass", found.upsets, limit)


def _ranking(sides: Sequence[Side], found: Matrix) -> list[list[str]]:
    return [
        [
            str(each.rank), str(sides[each.run].row.run), text_of(sides[each.run].row.info.model),
            rate(each.passed, each.known), f"{each.passed:,}", f"{each.known:,}",
        ]
        for each in found.ranking
    ]  # fmt: skip


def print_items(heading: str, items: Sequence[MatrixItem], limit: int) -> None:
    if not items or not limit:
        return
    emit()
    left_out = f" ({ENDS} best and {ENDS} weakest; --json has all)" if len(items[0].verdicts) > 3 * ENDS else ""
    emit(heading + left_out)
    marks = MARKS if (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" else PLAIN_MARKS
    rows = [
        [
            text_of(item.row.place.id), text_of(item.row.place.category), f"{item.passing} of {item.known}",
            _marks([marks[verdict] for verdict in item.verdicts]),
        ]
        for item in items[:limit]
    ]  # fmt: skip
    for line in aligned(["item", "category", "pass", "runs"], rows, right=(2,), widest=36):
        emit(line)
    if len(items) > limit:
        emit(f"… {len(items) - limit:,} more: --limit {len(items)}")


def _marks(of: Sequence[str]) -> str:
    return "".join(of if len(of) <= 3 * ENDS else (*of[:ENDS], " … ", *of[-ENDS:]))
