"""ACEBench's figures from scored items: accuracy a category and the summary row, as the evaluator computes them and as
the paper means them; error types; both languages together.

Source: the released `eval_main.py` and `generate_result` (revision e6db74b), tables 2 and 5 and figure 6 of the paper.
Two known faults are kept in `official` figures: the columns object_short and object_deep hold each other's values, and
an item that fails its first golden alternative but passes another is counted as right and listed as failing.

What ACEBench failures are, counted from the checker's error types: the paper's figure 6 (normal) and table 5
(special), and agent end states.

A category's rates from its items' verdicts. Where people differ on an item it has none, and the rate says over how
many it is.

The row of ACEBench's `result.xlsx`. Source: `generate_result` of `eval_main.py` (revision e6db74b).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fcreview.importers.acebench.discovery import CATEGORIES
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.model.review import ITEM_CORRECT

ERROR_CLASSES = {
    "param value": ("value_error",),
    "output format": ("wrong_output_format",),
    "function name": ("function_mismatch", "wrong_function_name"),
    "param type": ("type_error",),
    "other": (),
}
"""Classes of figure 6 (examples in appendix G.1) and the beginnings of the error types that are taken for them. The
paper does not say where the checker's other types belong: they are counted as other."""
NO_ERROR_TYPE = "no error type"
"""Of failures that people found and the checker did not."""
ERROR_CLASS_NOTE = "classes as in the paper's figure 6; which error types they hold is our reading"


def error_type_metrics(rows: Sequence[ScoredItem]) -> list[Metric]:
    """Counts of failures: normal ones by class and error type, special and agent ones by error type."""
    failing = [row for row in rows if row.valid is False]
    normal = Counter(row.error_type or NO_ERROR_TYPE for row in failing if row.category.startswith("normal"))
    lines: list[Metric] = []
    for name in ERROR_CLASSES:
        held = {kind: count for kind, count in normal.most_common() if error_class(kind) == name}
        lines.append(Metric("normal errors", name, sum(held.values()), "count", note=ERROR_CLASS_NOTE if not lines else ""))
        lines += [Metric("normal errors", kind, count, "count", level=1) for kind, count in held.items()]
    for kind in ("special", "agent"):
        of = Counter(row.error_type or NO_ERROR_TYPE for row in failing if row.category.startswith(kind))
        lines += [Metric(f"{kind} errors", name, count, "count") for name, count in of.most_common()]
    return lines


def error_class(error_type: str) -> str:
    """The class of figure 6 that an error type of the normal checker is of."""
    found = (name for name, starts in ERROR_CLASSES.items() if starts and error_type.startswith(starts))
    return next(found, "other")


MULTI_TURN_CATEGORIES = ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust")
PROCESS_ACCURACY = "process_accuracy"
MILESTONES_MET = "milestones met"
"""Name in `Extra.metadata` of the process accuracy that an agent item has, or would have, if its end state is wrong."""


@dataclass(frozen=True, slots=True)
class CategoryRate:
    value: float | None
    """As printed; None if nothing is known."""
    exact: float | None
    """Not rounded."""
    n_verdicts: int
    n_items: int
    counted_noun: str = "items"


def item_rate(valid: Sequence[bool | None], digits: int | None = 3) -> CategoryRate:
    known = [one for one in valid if one is not None]
    exact = sum(known) / len(known) if known else None
    return CategoryRate(_round(exact, digits), exact, len(known), len(valid))


def dialogue_rates(steps: Sequence[tuple[str, bool | None]]) -> tuple[CategoryRate, CategoryRate]:
    """(accuracy, process accuracy) of a multi-turn category: dialogues with every step valid, and the mean share of
    valid steps.

    `steps` are (dialogue number, valid) in file order; consecutive steps of the same number form a dialogue. A
    dialogue with a step without a verdict has no share, and fails only if another step does.
    """
    dialogues: list[tuple[str, list[bool | None]]] = []
    for number, valid in steps:
        if not dialogues or dialogues[-1][0] != number:
            dialogues.append((number, []))
        dialogues[-1][1].append(valid)
    wholes = [False if False in flags else None if None in flags else True for _, flags in dialogues]
    known = [whole for whole in wholes if whole is not None]
    exact = round(sum(known) / len(known), 3) if known else None
    shares = [round(sum(map(bool, flags)) / len(flags), 3) for _, flags in dialogues if None not in flags]
    mean = sum(shares) / len(shares) if shares else None
    return (
        CategoryRate(exact, exact, len(known), len(dialogues), "dialogues"),
        CategoryRate(_round(mean, 3), mean, len(shares), len(dialogues), "dialogues"),
    )


def process_rate(rows: Sequence[ScoredItem]) -> CategoryRate:
    """Mean process accuracy of an agent category; over 0 items if this source says nothing of the process."""
    if all(PROCESS_ACCURACY not in row.values for row in rows):
        return CategoryRate(None, None, 0, 0)
    shares = [share for row in rows if (share := process_share(row)) is not None]
    mean = sum(shares) / len(shares) if shares else None
    return CategoryRate(_round(mean, 3), mean, len(shares), len(rows))


def process_share(row: ScoredItem) -> float | None:
    """An item's process accuracy; None if it cannot be told.

    The evaluator's rule: an end state that is right scores 1, whatever was called; else the milestones count. So what
    people say of the end state decides here too, unless they speak of the process itself.
    """
    said = row.values.get(PROCESS_ACCURACY)
    value = float(said) if isinstance(said, (int, float)) else None
    if (ITEM, PROCESS_ACCURACY) in row.overrides:
        return value
    met = row.metadata.get(MILESTONES_MET)
    share = float(met) if isinstance(met, (int, float)) else None
    if ITEM_CORRECT not in row.overrides:  # the process file rounds what the mean takes as it is
        return share if share is not None and value == round(share, 3) else value
    if row.overrides[ITEM_CORRECT] is True:
        return 1.0
    if row.overrides[ITEM_CORRECT] is None and share != 1.0:
        return None
    return share


def _round(value: float | None, digits: int | None) -> float | None:
    return value if value is None or digits is None else round(value, digits)


ATOM_TYPES = ("bool", "enum", "number", "list", "object_short", "object_deep")
SINGLE_TURN_CATEGORIES = ("normal_single_turn_single_function", "normal_single_turn_parallel_function")
SPECIAL_CATEGORIES = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT_CATEGORIES = ("agent_multi_turn", "agent_multi_step")
NORMAL_CATEGORIES = (*SINGLE_TURN_CATEGORIES, *MULTI_TURN_CATEGORIES, "normal_similar_api", "normal_preference", *(f"normal_atom_{name}" for name in ATOM_TYPES))

PROGRAM_WEIGHTS = (0.578, 0.2676, 0.1545)
"""Normal, special, agent, as the program has them; they sum to 1.0001."""

CategoryValues = Mapping[str, float | None]
"""By category: one that is not there was not run; None is one whose value is not known."""


def paper_weights(counts: tuple[int, int, int]) -> tuple[float, float, float]:
    """The paper's: square roots of the sample counts, made to sum to 1."""
    roots = [count**0.5 for count in counts]
    total = sum(roots) or 1.0
    return roots[0] / total, roots[1] / total, roots[2] / total


def summary_row(
    scores: CategoryValues,
    process: CategoryValues,
    weights: tuple[float, float, float] = PROGRAM_WEIGHTS,
    swap_object_columns: bool = True,
) -> dict[str, float | None]:
    """The row under its column names. A category that was not run counts as 0, in the means too; one whose value is
    not known leaves what is made of it without a value."""
    atom = {name: scores.get(f"normal_atom_{name}", 0.0) for name in ATOM_TYPES}
    row = dict(atom)
    if swap_object_columns:
        row["object_short"], row["object_deep"] = atom["object_deep"], atom["object_short"]
    normal, special, agent = _category_mean(scores, NORMAL_CATEGORIES), _category_mean(scores, SPECIAL_CATEGORIES), _category_mean(scores, AGENT_CATEGORIES)
    parts = [part for part in (normal, special, agent) if part is not None]
    whole = len(parts) == len(weights)
    total = round(sum(w * part for w, part in zip(weights, parts, strict=True)), 3) if whole else None
    return row | {
        "atom": _category_mean(scores, [f"normal_atom_{name}" for name in ATOM_TYPES]),
        "single_turn_singal_function": scores.get(SINGLE_TURN_CATEGORIES[0], 0.0),
        "single_turn_parallel_function": scores.get(SINGLE_TURN_CATEGORIES[1], 0.0),
        "single_turn": _category_mean(scores, SINGLE_TURN_CATEGORIES),
        "multiple_turn_switch": scores.get(MULTI_TURN_CATEGORIES[0], 0.0),
        "multiple_turn_adjust": scores.get(MULTI_TURN_CATEGORIES[1], 0.0),
        "multiple_turn": _category_mean(scores, MULTI_TURN_CATEGORIES),
        "similar_api": scores.get("normal_similar_api", 0.0),
        "profile": scores.get("normal_preference", 0.0),
        "normal_summary": normal,
        "incomplete": scores.get(SPECIAL_CATEGORIES[0], 0.0),
        "error": scores.get(SPECIAL_CATEGORIES[1], 0.0),
        "irrelevant": scores.get(SPECIAL_CATEGORIES[2], 0.0),
        "special_summary": special,
        "agent_multi_turn": scores.get(AGENT_CATEGORIES[0], 0.0),
        "agent_multi_turn_process": process.get(AGENT_CATEGORIES[0], 0.0),
        "agent_multi_step": scores.get(AGENT_CATEGORIES[1], 0.0),
        "agent_multi_step_process": process.get(AGENT_CATEGORIES[1], 0.0),
        "agent_summary": agent,
        "Summary": total,
    }


def _category_mean(scores: CategoryValues, names: Sequence[str]) -> float | None:
    values = [scores.get(name, 0.0) for name in names]
    known = [value for value in values if value is not None]
    return round(sum(known) / len(values), 3) if len(known) == len(values) else None


SUMMARY_TABLE = "result.xlsx"
TABLE_2_COLUMNS = {
    "Atom": "atom", "Single-Turn": "single_turn", "Multi-Turn": "multiple_turn", "Similar API": "similar_api",
    "Preference": "profile", "Summary": "normal_summary", "Special": "special_summary", "Agent": "agent_summary",
    "Overall": "Summary",
}  # fmt: skip
"""Columns of the paper's table 2 and those of `result.xlsx` that they come from."""
LANGUAGES = {"en", "zh"}


def compute_metrics(rows: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """`result.xlsx` as the program computes it, then the same with object columns in place and the paper's weights,
    and what the failures are."""
    by_category = _items_by_category(rows)
    scores, process = _category_rates(by_category)
    if not scores:
        return []
    found = [_rate_metric("accuracy", name, scores[name]) for name in CATEGORIES if name in scores]
    found += [_rate_metric("process accuracy", name, process[name]) for name in CATEGORIES if name in process]
    swapped = "the program writes the two object columns into each other's place"
    printed = summary_row(_rate_values(scores), _rate_values(process))
    for name, value in printed.items():
        found.append(Metric(SUMMARY_TABLE, name, value, note=swapped if name.startswith("object_") else ""))
    counts = [sum(len(p) for n, p in by_category.items() if n.startswith(k)) for k in ("normal", "special", "agent")]
    exact = {name: rate.exact for name, rate in scores.items()}
    weights = paper_weights((counts[0], counts[1], counts[2]))
    sound = summary_row(exact, _rate_values(process), weights, swap_object_columns=False)
    note = "weights by the square root of the sample counts, as the paper's appendix E"
    found += [
        Metric("sound", name, sound[name], note=note if name == "Summary" else "")
        for name in ("object_short", "object_deep", "Summary")
    ]
    return found + error_type_metrics(rows)


def compute_combined_metrics(parts: Sequence[RunItems]) -> list[Metric]:
    """Table 2 of the paper: the plain mean of the two languages' summaries. Nothing unless there is one run of each
    with a verdict of this source."""
    known = [part for part in parts if any(row.valid is not None for row in part.items)]
    if len(known) != len(LANGUAGES) or {part.run.language for part in known} != LANGUAGES:
        return []
    rows = []
    for part in known:
        scores, process = _category_rates(_items_by_category(part.items))
        rows.append(summary_row(_rate_values(scores), _rate_values(process)))
    made = []
    for title, column in TABLE_2_COLUMNS.items():
        values = [value for row in rows if (value := row[column]) is not None]
        value = sum(values) / len(values) if len(values) == len(rows) else None
        made.append(Metric("both languages", title, value, note="mean of en and zh"))
    return made


def _items_by_category(rows: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Of the categories in which this source has a verdict, all items."""
    found: dict[str, list[ScoredItem]] = {}
    for row in rows:
        found.setdefault(row.category, []).append(row)
    return {name: part for name, part in found.items() if any(row.valid is not None for row in part)}


def _category_rates(by_category: Mapping[str, Sequence[ScoredItem]]) -> tuple[dict[str, CategoryRate], dict[str, CategoryRate]]:
    """(accuracy, process accuracy) by category; one that was not run is not there."""
    scores: dict[str, CategoryRate] = {}
    process: dict[str, CategoryRate] = {}
    for name, part in by_category.items():
        if name in MULTI_TURN_CATEGORIES:
            scores[name], process[name] = dialogue_rates([(str(row.group), row.valid) for row in part])
        else:
            scores[name] = item_rate([row.valid for row in part], None if name.startswith("special") else 3)
        if name.startswith("agent") and (rate := process_rate(part)).n_items:
            process[name] = rate
    return scores, process


def _rate_values(rates: Mapping[str, CategoryRate]) -> dict[str, float | None]:
    return {name: rate.value for name, rate in rates.items()}


def _rate_metric(table: str, name: str, rate: CategoryRate) -> Metric:
    return Metric(table, name, rate.value, n=rate.n_verdicts, total=rate.n_items, counted_noun=rate.counted_noun)
