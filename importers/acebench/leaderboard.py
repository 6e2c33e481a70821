"""Compute ACEBench's metrics: accuracy by category, a row of `result.xlsx`, error types, and means
over both languages.

Sources: `eval_main.py` and `generate_result` of the released evaluator (revision e6db74b), and
tables 2 and 5, figure 6 and appendix E of the paper. Official metrics reproduce two errors of the
program. It swaps the columns object_short and object_deep. If an item matches only a later golden
answer and not the first one, it counts the item as passing, but lists it as failing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fcreview.importers.acebench.filenames import CATEGORIES
from fcreview.model.address import ITEM
from fcreview.model.item import Run
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.model.verdict import MILESTONES_MET

PROCESS_ACCURACY = "process_accuracy"
"""Criterion of agent items: the share of met milestones, or 1 if the end state is correct."""

ATOM_TYPES = ("bool", "enum", "number", "list", "object_short", "object_deep")
MULTI_TURN_CATEGORIES = ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust")
SINGLE_TURN_CATEGORIES = (
    "normal_single_turn_single_function",
    "normal_single_turn_parallel_function",
)
ATOM_CATEGORIES = tuple(f"normal_atom_{name}" for name in ATOM_TYPES)
NORMAL_CATEGORIES = (
    *SINGLE_TURN_CATEGORIES,
    *MULTI_TURN_CATEGORIES,
    "normal_similar_api",
    "normal_preference",
    *ATOM_CATEGORIES,
)
SPECIAL_CATEGORIES = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT_CATEGORIES = ("agent_multi_turn", "agent_multi_step")
LANGUAGES = {"en", "zh"}

SUMMARY_COLUMNS: dict[str, Any] = {
    "atom": ATOM_CATEGORIES,
    "single_turn_singal_function": "normal_single_turn_single_function",
    "single_turn_parallel_function": "normal_single_turn_parallel_function",
    "single_turn": SINGLE_TURN_CATEGORIES,
    "multiple_turn_switch": "normal_multi_turn_user_switch",
    "multiple_turn_adjust": "normal_multi_turn_user_adjust",
    "multiple_turn": MULTI_TURN_CATEGORIES,
    "similar_api": "normal_similar_api",
    "profile": "normal_preference",
    "normal_summary": NORMAL_CATEGORIES,
    "incomplete": "special_incomplete",
    "error": "special_error_param",
    "irrelevant": "special_irrelevant",
    "special_summary": SPECIAL_CATEGORIES,
    "agent_multi_turn": "agent_multi_turn",
    "agent_multi_turn_process": "agent_multi_turn_process",
    "agent_multi_step": "agent_multi_step",
    "agent_multi_step_process": "agent_multi_step_process",
    "agent_summary": AGENT_CATEGORIES,
}
"""Column of `result.xlsx` -> its category, or the categories whose mean it contains.

`compute_summary_row` computes the other columns.
"""
PROGRAM_WEIGHTS = (0.578, 0.2676, 0.1545)
"""The program's weights of the normal, special and agent categories. They sum to 1.0001."""
SUMMARY_TABLE = "result.xlsx"
TABLE_2_COLUMNS = {
    "Atom": "atom",
    "Single-Turn": "single_turn",
    "Multi-Turn": "multiple_turn",
    "Similar API": "similar_api",
    "Preference": "profile",
    "Summary": "normal_summary",
    "Special": "special_summary",
    "Agent": "agent_summary",
    "Overall": "Summary",
}

ERROR_CLASSES = {
    "param value": ("value_error",),
    "output format": ("wrong_output_format",),
    "function name": ("function_mismatch", "wrong_function_name"),
    "param type": ("type_error",),
    "other": (),
}
"""Error class in the paper's figure 6 -> prefixes of the checker's error types. The assignment
follows the examples in appendix G.1. Error types without an example belong to the class `other`.
"""
ERROR_CLASS_NOTE = (
    "error classes of the paper's figure 6; fcreview assigns each error type to a class"
)
NO_ERROR_TYPE = "no error type"

CategoryValues = Mapping[str, float | None]
"""Category -> accuracy, or None if it is unknown. Categories that were not run are missing."""


@dataclass(frozen=True, slots=True)
class CategoryRate:
    value: float | None
    """Rate, rounded as in the official output, or None without verdicts."""
    exact: float | None
    n_verdicts: int
    n_items: int
    counted_noun: str = "items"

    def to_metric(self, table: str, name: str) -> Metric:
        return Metric(
            table,
            name,
            value=self.value,
            n=self.n_verdicts,
            total=self.n_items,
            counted_noun=self.counted_noun,
        )


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute accuracies, the row of `result.xlsx` with and without the program's errors, and
    counts of error types.
    """
    by_category = _group_by_scored_category(items)
    scores, process = _compute_category_rates(by_category)
    if not scores:
        return []
    found = [scores[name].to_metric("accuracy", name) for name in CATEGORIES if name in scores]
    found += [
        process[name].to_metric("process accuracy", name) for name in CATEGORIES if name in process
    ]
    note = "the official program swaps object_short and object_deep"
    for name, value in compute_summary_row(
        _get_rounded_values(scores), _get_rounded_values(process)
    ).items():
        found.append(
            Metric(
                SUMMARY_TABLE, name, value=value, note=note if name.startswith("object_") else ""
            )
        )
    counts = [
        sum(len(part) for name, part in by_category.items() if name.startswith(kind))
        for kind in ("normal", "special", "agent")
    ]
    exact = {name: rate.exact for name, rate in scores.items()}
    weights = compute_paper_weights(counts)
    corrected = compute_summary_row(
        exact, _get_rounded_values(process), weights, swap_object_columns=False
    )
    note = "weighted by the square root of the sample counts, as in the paper's appendix E"
    found += [
        Metric("sound", name, value=corrected[name], note=note if name == "Summary" else "")
        for name in ("object_short", "object_deep", "Summary")
    ]
    return found + count_error_types(items)


def compute_combined_metrics(runs: Sequence[RunItems]) -> list[Metric]:
    """Compute the paper's table 2: the means of an English and a Chinese run.

    Without both runs, return no metrics.
    """
    known = [each for each in runs if any(item.valid is not None for item in each.items)]
    if len(known) != len(LANGUAGES) or {each.run.language for each in known} != LANGUAGES:
        return []
    rows = []
    for each in known:
        scores, process = _compute_category_rates(_group_by_scored_category(each.items))
        rows.append(compute_summary_row(_get_rounded_values(scores), _get_rounded_values(process)))
    metrics = []
    for title, column in TABLE_2_COLUMNS.items():
        values = [value for row in rows if (value := row[column]) is not None]
        mean = sum(values) / len(values) if len(values) == len(rows) else None
        metrics.append(
            Metric(
                "both languages", title, value=mean, note="mean of the English and the Chinese run"
            )
        )
    return metrics


def count_error_types(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count failures by error type and, in normal categories, also by the error classes of the
    paper's figure 6.
    """
    failing = [item for item in items if item.valid is False]
    counts = {
        kind: Counter(
            item.error_type or NO_ERROR_TYPE for item in failing if item.category.startswith(kind)
        )
        for kind in ("normal", "special", "agent")
    }
    classes = {
        error_type: next(
            (name for name, prefixes in ERROR_CLASSES.items() if error_type.startswith(prefixes)),
            "other",
        )
        for error_type in counts["normal"]
    }
    metrics: list[Metric] = []
    for name in ERROR_CLASSES:
        of_class = [
            (kind, count) for kind, count in counts["normal"].most_common() if classes[kind] == name
        ]
        note = ERROR_CLASS_NOTE if not metrics else ""
        metrics.append(
            Metric(
                "normal errors",
                name,
                value=sum(count for _, count in of_class),
                unit="count",
                note=note,
            )
        )
        metrics += [
            Metric("normal errors", kind, value=count, unit="count", level=1)
            for kind, count in of_class
        ]
    for kind in ("special", "agent"):
        metrics += [
            Metric(f"{kind} errors", name, value=count, unit="count")
            for name, count in counts[kind].most_common()
        ]
    return metrics


def compute_accuracy(verdicts: Sequence[bool | None], digits: int | None = 3) -> CategoryRate:
    """Compute the accuracy of a category, rounded to `digits` decimals, or not rounded if
    `digits` is None.
    """
    known = [verdict for verdict in verdicts if verdict is not None]
    exact = sum(known) / len(known) if known else None
    return CategoryRate(
        _round_or_none(exact, digits), exact=exact, n_verdicts=len(known), n_items=len(verdicts)
    )


DialogueStep = tuple[str, bool | None]
"""A step of a dialogue: the id of the dialogue and the verdict on the step."""


class DialogueAccuracies(NamedTuple):
    all_steps: CategoryRate
    """Share of dialogues in which every step passes."""
    mean_share: CategoryRate
    """Mean share of passing steps in a dialogue."""


def compute_dialogue_accuracies(steps: Sequence[DialogueStep]) -> DialogueAccuracies:
    """Compute the two accuracies of a multi-turn category from its steps in file order.

    A dialogue in which a step has no verdict is omitted. However, if another step fails, it counts
    in `all_steps`.
    """
    dialogues: list[tuple[str, list[bool | None]]] = []
    for name, verdict in steps:
        if not dialogues or dialogues[-1][0] != name:
            dialogues.append((name, []))
        dialogues[-1][1].append(verdict)
    all_pass = [
        False if False in verdicts else None if None in verdicts else True
        for _, verdicts in dialogues
    ]
    known = [verdict for verdict in all_pass if verdict is not None]
    exact = round(sum(known) / len(known), 3) if known else None
    shares = [
        round(sum(map(bool, verdicts)) / len(verdicts), 3)
        for _, verdicts in dialogues
        if None not in verdicts
    ]
    mean = sum(shares) / len(shares) if shares else None
    return DialogueAccuracies(
        CategoryRate(
            exact,
            exact=exact,
            n_verdicts=len(known),
            n_items=len(dialogues),
            counted_noun="dialogues",
        ),
        CategoryRate(
            _round_or_none(mean, 3),
            exact=mean,
            n_verdicts=len(shares),
            n_items=len(dialogues),
            counted_noun="dialogues",
        ),
    )


def compute_mean_process_accuracy(items: Sequence[ScoredItem]) -> CategoryRate:
    """Compute the mean process accuracy of an agent category.

    If no item has one, `n_items` of the result is 0.
    """
    if all(PROCESS_ACCURACY not in item.values for item in items):
        return CategoryRate(None, exact=None, n_verdicts=0, n_items=0)
    shares = [share for item in items if (share := get_process_accuracy(item)) is not None]
    mean = sum(shares) / len(shares) if shares else None
    return CategoryRate(
        _round_or_none(mean, 3), exact=mean, n_verdicts=len(shares), n_items=len(items)
    )


def get_process_accuracy(item: ScoredItem) -> float | None:
    """Return the process accuracy of an agent item, or None if it is unknown.

    The process accuracy is 1 if the end state is correct, else the share of met milestones. A
    review of the end state therefore changes it, unless an annotator also reviewed the process
    accuracy.
    """
    stated, met = item.values.get(PROCESS_ACCURACY), item.metadata.get(MILESTONES_MET)
    value = float(stated) if isinstance(stated, (int, float)) else None
    if (ITEM, PROCESS_ACCURACY) in item.overrides:
        return value
    if ITEM_CORRECT in item.overrides and not item.is_target_reviewed(ITEM, PROCESS_ACCURACY):
        share: float | None = item.derive_verdict("acebench", ITEM, PROCESS_ACCURACY)
        return share
    # The process file contains a rounded value, but the official mean uses the exact value.
    return float(met) if isinstance(met, (int, float)) and value == round(met, 3) else value


def _round_or_none(value: float | None, digits: int | None) -> float | None:
    return value if value is None or digits is None else round(value, digits)


def compute_paper_weights(sample_counts: Sequence[int]) -> list[float]:
    """Compute the weights of the paper's appendix E: the square roots of the sample counts,
    scaled to a sum of 1.
    """
    roots = [count**0.5 for count in sample_counts]
    return [root / (sum(roots) or 1.0) for root in roots]


def compute_summary_row(
    accuracies: CategoryValues,
    process_accuracies: CategoryValues,
    weights: Sequence[float] = PROGRAM_WEIGHTS,
    swap_object_columns: bool = True,
) -> dict[str, float | None]:
    """Compute the row of `result.xlsx` by column name.

    A category that was not run counts as 0, also in means. If the accuracy of a category is
    unknown, the columns that depend on it are None. `weights` are the weights of the normal,
    special and agent means in the column `Summary`. With `swap_object_columns`, object_short and
    object_deep are swapped, as in the official program.
    """
    row = {name: accuracies.get(f"normal_atom_{name}", 0.0) for name in ATOM_TYPES}
    if swap_object_columns:
        row["object_short"], row["object_deep"] = row["object_deep"], row["object_short"]
    values = {
        **accuracies,
        **{f"{category}_process": value for category, value in process_accuracies.items()},
    }
    for column, category in SUMMARY_COLUMNS.items():
        is_single = isinstance(category, str)
        row[column] = (
            values.get(category, 0.0) if is_single else _mean_accuracy(accuracies, category)
        )
    means = [
        mean
        for name in ("normal", "special", "agent")
        if (mean := row[f"{name}_summary"]) is not None
    ]
    is_complete = len(means) == len(weights)
    total = (
        round(sum(w * mean for w, mean in zip(weights, means, strict=True)), 3)
        if is_complete
        else None
    )
    return row | {"Summary": total}


def _mean_accuracy(accuracies: CategoryValues, categories: Sequence[str]) -> float | None:
    values = [accuracies.get(category, 0.0) for category in categories]
    known = [value for value in values if value is not None]
    return round(sum(known) / len(values), 3) if len(known) == len(values) else None


def _group_by_scored_category(items: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    found: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        found[item.category].append(item)
    return {
        name: part for name, part in found.items() if any(item.valid is not None for item in part)
    }


class CategoryRates(NamedTuple):
    """Rates by category.

    Categories without a process accuracy are missing in `process_accuracy`.
    """

    accuracy: dict[str, CategoryRate]
    process_accuracy: dict[str, CategoryRate]


def _compute_category_rates(by_category: Mapping[str, Sequence[ScoredItem]]) -> CategoryRates:
    scores: dict[str, CategoryRate] = {}
    process: dict[str, CategoryRate] = {}
    for name, items in by_category.items():
        if name in MULTI_TURN_CATEGORIES:
            scores[name], process[name] = compute_dialogue_accuracies(
                [(str(item.group), item.valid) for item in items]
            )
        else:
            scores[name] = compute_accuracy(
                [item.valid for item in items], None if name.startswith("special") else 3
            )
        if name.startswith("agent") and (rate := compute_mean_process_accuracy(items)).n_items:
            process[name] = rate
    return CategoryRates(scores, process)


def _get_rounded_values(rates: Mapping[str, CategoryRate]) -> dict[str, float | None]:
    return {name: rate.value for name, rate in rates.items()}
