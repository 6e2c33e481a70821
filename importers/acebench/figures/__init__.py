"""ACEBench's figures from scored items: accuracy a category and the summary row, as the evaluator computes them and as
the paper means them; error types; both languages together.

Source: the released `eval_main.py` and `generate_result` (revision e6db74b), tables 2 and 5 and figure 6 of the paper.
Two known faults are kept in `official` figures: the columns object_short and object_deep hold each other's values, and
an item that fails its first golden alternative but passes another is counted as right and listed as failing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fcreview.figures import Figure, RunItems, Scored
from fcreview.importers.acebench.figures.errors import error_types
from fcreview.importers.acebench.figures.rates import MULTIPLE, Rate, accuracy, by_dialogue, process_of
from fcreview.importers.acebench.figures.summary import paper_weights, summary
from fcreview.importers.acebench.files import CATEGORIES
from fcreview.model import Run

SUMMARY = "result.xlsx"
TABLE_2 = {
    "Atom": "atom", "Single-Turn": "single_turn", "Multi-Turn": "multiple_turn", "Similar API": "similar_api",
    "Preference": "profile", "Summary": "normal_summary", "Special": "special_summary", "Agent": "agent_summary",
    "Overall": "Summary",
}  # fmt: skip
"""Columns of the paper's table 2 and those of `result.xlsx` that they come from."""
LANGUAGES = {"en", "zh"}


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    """`result.xlsx` as the program computes it, then the same with object columns in place and the paper's weights,
    and what the failures are."""
    by_category = _by_category(rows)
    scores, process = _rates(by_category)
    if not scores:
        return []
    found = [_line("accuracy", name, scores[name]) for name in CATEGORIES if name in scores]
    found += [_line("process accuracy", name, process[name]) for name in CATEGORIES if name in process]
    swapped = "the program writes the two object columns into each other's place"
    printed = summary(_values(scores), _values(process))
    for name, value in printed.items():
        found.append(Figure(SUMMARY, name, value, note=swapped if name.startswith("object_") else ""))
    counts = [sum(len(p) for n, p in by_category.items() if n.startswith(k)) for k in ("normal", "special", "agent")]
    exact = {name: rate.exact for name, rate in scores.items()}
    weights = paper_weights((counts[0], counts[1], counts[2]))
    sound = summary(exact, _values(process), weights, swap_object_columns=False)
    note = "weights by the square root of the sample counts, as the paper's appendix E"
    found += [
        Figure("sound", name, sound[name], note=note if name == "Summary" else "")
        for name in ("object_short", "object_deep", "Summary")
    ]
    return found + error_types(rows)


def combined(parts: Sequence[RunItems]) -> list[Figure]:
    """Table 2 of the paper: the plain mean of the two languages' summaries. Nothing unless there is one run of each
    with a verdict of this source."""
    known = [part for part in parts if any(row.valid is not None for row in part.rows)]
    if len(known) != len(LANGUAGES) or {part.run.language for part in known} != LANGUAGES:
        return []
    rows = []
    for part in known:
        scores, process = _rates(_by_category(part.rows))
        rows.append(summary(_values(scores), _values(process)))
    made = []
    for title, column in TABLE_2.items():
        values = [value for row in rows if (value := row[column]) is not None]
        value = sum(values) / len(values) if len(values) == len(rows) else None
        made.append(Figure("both languages", title, value, note="mean of en and zh"))
    return made


def _by_category(rows: Sequence[Scored]) -> dict[str, list[Scored]]:
    """Of the categories in which this source has a verdict, all items."""
    found: dict[str, list[Scored]] = {}
    for row in rows:
        found.setdefault(row.category, []).append(row)
    return {name: part for name, part in found.items() if any(row.valid is not None for row in part)}


def _rates(by_category: Mapping[str, Sequence[Scored]]) -> tuple[dict[str, Rate], dict[str, Rate]]:
    """(accuracy, process accuracy) by category; one that was not run is not there."""
    scores: dict[str, Rate] = {}
    process: dict[str, Rate] = {}
    for name, part in by_category.items():
        if name in MULTIPLE:
            scores[name], process[name] = by_dialogue([(str(row.group), row.valid) for row in part])
        else:
            scores[name] = accuracy([row.valid for row in part], None if name.startswith("special") else 3)
        if name.startswith("agent") and (rate := process_of(part)).of:
            process[name] = rate
    return scores, process


def _values(rates: Mapping[str, Rate]) -> dict[str, float | None]:
    return {name: rate.value for name, rate in rates.items()}


def _line(table: str, name: str, rate: Rate) -> Figure:
    return Figure(table, name, rate.value, n=rate.n, of=rate.of, counted=rate.counted)
