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
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

from fcreview.importers.acebench.filenames import CATEGORIES
from fcreview.model.address import ITEM
from fcreview.model.derivation import MILESTONES_MET
from fcreview.model.item import Run
from fcreview.model.metric import Metric, RunItems, ScoredItem
from fcreview.model.review import ITEM_CORRECT

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

SUMMARY_COLUMNS: dict[str, str | tuple[str, ...]] = {
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
"""Column of `result.xlsx` -> its category, or a tuple of the categories whose mean it contains.

`CATEGORY_process` stands for the process accuracy of a category. `compute_summary_row` computes
the other columns.
"""
PROGRAM_WEIGHTS = (0.578, 0.2676, 0.1545)
"""The program's weights of the normal, special and agent categories. They sum to 1.0001."""
SUMMARY_TABLE = "result.xlsx"
SWAP_NOTE = "the official program swaps object_short and object_deep"
PAPER_WEIGHTS_NOTE = (
    "weighted by the square root of the sample counts, as in the paper's appendix E"
)
CATEGORY_KINDS = ("normal", "special", "agent")
"""First word of the categories in the order of the weights."""
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
    items_by_category = _group_by_scored_category(items)
    rates = _compute_category_rates(items_by_category)
    if not rates.accuracy:
        return []

    metrics = _list_rates("accuracy", rates.accuracy)
    metrics += _list_rates("process accuracy", rates.process_accuracy)
    metrics += _compute_official_row(rates)
    metrics += _compute_sound_columns(rates, items_by_category)
    metrics += count_error_types(items)
    return metrics


def _list_rates(table: str, rates: Mapping[str, CategoryRate]) -> list[Metric]:
    """Return the rates in the order of the benchmark's categories."""
    return [rates[name].to_metric(table, name) for name in CATEGORIES if name in rates]


def _compute_official_row(rates: CategoryRates) -> list[Metric]:
    """Compute the row of `result.xlsx` as the program does, with its errors."""
    row = compute_summary_row(
        _get_rounded_values(rates.accuracy), _get_rounded_values(rates.process_accuracy)
    )
    metrics = []
    for column, value in row.items():
        note = SWAP_NOTE if column.startswith("object_") else ""
        metrics.append(Metric(SUMMARY_TABLE, column, value=value, note=note))
    return metrics


def _compute_sound_columns(
    rates: CategoryRates, items_by_category: Mapping[str, Sequence[ScoredItem]]
) -> list[Metric]:
    """Compute the columns of `result.xlsx` that are wrong there.

    The program writes the values of object_short and object_deep under each other's name, and it
    weights the summary by constants that do not fit the numbers of items. Here, the columns are not
    swapped, and the weights follow from the numbers of items, as in the paper.
    """
    sample_counts = []
    for kind in CATEGORY_KINDS:
        categories = [name for name in items_by_category if name.startswith(kind)]
        sample_counts.append(sum(len(items_by_category[name]) for name in categories))

    row = compute_summary_row(
        {name: rate.exact for name, rate in rates.accuracy.items()},
        _get_rounded_values(rates.process_accuracy),
        weights=compute_paper_weights(sample_counts),
        swap_object_columns=False,
    )
    metrics = [Metric("sound", name, value=row[name]) for name in ("object_short", "object_deep")]
    metrics.append(Metric("sound", "Summary", value=row["Summary"], note=PAPER_WEIGHTS_NOTE))
    return metrics


def compute_combined_metrics(runs: Sequence[RunItems]) -> list[Metric]:
    """Compute table 2 of the paper: each figure is the mean of an English and a Chinese run.

    Returns no metrics unless `runs` has exactly one run of each language with verdicts.
    """
    scored_runs = []
    for run_items in runs:
        if any(item.valid is not None for item in run_items.items):
            scored_runs.append(run_items)
    languages = {run_items.run.language for run_items in scored_runs}
    if len(scored_runs) != len(LANGUAGES) or languages != LANGUAGES:
        return []

    # Table 2 of the paper shows some columns of the program's summary table.
    rows = [_compute_program_row(run_items.items) for run_items in scored_runs]
    note = "mean of the English and the Chinese run"
    metrics = []
    for title, column in TABLE_2_COLUMNS.items():
        mean = _mean_if_all_known([row[column] for row in rows])
        metrics.append(Metric("both languages", title, value=mean, note=note))
    return metrics


def _compute_program_row(items: Sequence[ScoredItem]) -> dict[str, float | None]:
    """Compute the row of a run in the program's summary table."""
    rates = _compute_category_rates(_group_by_scored_category(items))
    accuracies = _get_rounded_values(rates.accuracy)
    return compute_summary_row(accuracies, _get_rounded_values(rates.process_accuracy))


def _mean_if_all_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return sum(known) / len(known)


def count_error_types(items: Sequence[ScoredItem]) -> list[Metric]:
    """Count failures by error type and, in normal categories, also by the error classes of the
    paper's figure 6.
    """
    failing = [item for item in items if item.valid is False]
    metrics = _count_normal_errors(_count_error_types_of_kind(failing, "normal"))
    for kind in ("special", "agent"):
        for error_type, count in _count_error_types_of_kind(failing, kind).most_common():
            metrics.append(Metric(f"{kind} errors", error_type, value=count, unit="count"))
    return metrics


def _count_error_types_of_kind(failing: Sequence[ScoredItem], kind: str) -> Counter[str]:
    items = [item for item in failing if item.category.startswith(kind)]
    return Counter(item.error_type or NO_ERROR_TYPE for item in items)


def _count_normal_errors(counts: Counter[str]) -> list[Metric]:
    """List the number of failures of each error class, and below it those of its error types.

    An error class, such as `function name`, groups error types, such as `function_mismatch`.
    """
    table = "normal errors"
    metrics: list[Metric] = []
    for error_class in ERROR_CLASSES:
        type_metrics = []
        n_failures = 0
        for error_type, count in counts.most_common():
            if _classify_error(error_type) == error_class:
                type_metrics.append(Metric(table, error_type, value=count, unit="count", level=1))
                n_failures += count
        metrics.append(Metric(table, error_class, value=n_failures, unit="count"))
        metrics += type_metrics
    # The first line has the remark on the whole table.
    metrics[0].note = ERROR_CLASS_NOTE
    return metrics


def _classify_error(error_type: str) -> str:
    for error_class, prefixes in ERROR_CLASSES.items():
        if error_type.startswith(prefixes):
            return error_class
    return "other"


def compute_accuracy(verdicts: Sequence[bool | None], digits: int | None = 3) -> CategoryRate:
    """Compute the accuracy of a category, rounded to `digits` decimals, or not rounded if
    `digits` is None.
    """
    known = [verdict for verdict in verdicts if verdict is not None]
    exact = sum(known) / len(known) if known else None
    rounded = _round_or_none(exact, digits)
    return CategoryRate(rounded, exact=exact, n_verdicts=len(known), n_items=len(verdicts))


@dataclass(frozen=True, slots=True)
class DialogueStep:
    dialogue_id: str
    verdict: bool | None


class DialogueAccuracies(NamedTuple):
    all_steps: CategoryRate
    """Share of dialogues in which every step passes."""
    mean_share: CategoryRate
    """Mean share of passing steps in a dialogue."""


def compute_dialogue_accuracies(steps: Sequence[DialogueStep]) -> DialogueAccuracies:
    """Compute the two accuracies of a multi-turn category: the share of dialogues in which every
    step passes, and the mean share of passing steps.

    `steps` are the steps of all dialogues in file order. A dialogue in which a step has no verdict
    is omitted, unless another step fails: then the dialogue fails for certain.
    """
    dialogues = _group_verdicts_by_dialogue(steps)
    are_passed = []
    shares = []
    for verdicts in dialogues:
        is_passed = _combine_step_verdicts(verdicts)
        if is_passed is not None:
            are_passed.append(is_passed)
        if None not in verdicts:
            # The program rounds the share of each dialogue, and then their mean.
            share = verdicts.count(True) / len(verdicts)
            shares.append(round(share, 3))

    all_steps = _make_dialogue_rate(are_passed, n_dialogues=len(dialogues))
    mean_share = _make_dialogue_rate(shares, n_dialogues=len(dialogues))
    # Summaries use the exact values of other categories. But the program rounds this accuracy
    # before that, so the rounded value is the one that summaries use.
    rounded_all_steps = replace(all_steps, exact=all_steps.value)
    return DialogueAccuracies(rounded_all_steps, mean_share)


def _make_dialogue_rate(values: Sequence[float], n_dialogues: int) -> CategoryRate:
    """Return the mean of the dialogues that have a value."""
    mean = sum(values) / len(values) if values else None
    return CategoryRate(
        _round_or_none(mean, 3),
        exact=mean,
        n_verdicts=len(values),
        n_items=n_dialogues,
        counted_noun="dialogues",
    )


def _group_verdicts_by_dialogue(steps: Sequence[DialogueStep]) -> list[list[bool | None]]:
    """Return the verdicts of each dialogue, which consists of consecutive steps with one id."""
    groups = groupby(steps, key=lambda step: step.dialogue_id)
    return [[step.verdict for step in steps_of_dialogue] for _, steps_of_dialogue in groups]


def _combine_step_verdicts(verdicts: Sequence[bool | None]) -> bool | None:
    """Return whether a dialogue passes: every step must pass. None if this is unknown."""
    if False in verdicts:
        return False
    if None in verdicts:
        return None
    return True


def compute_mean_process_accuracy(items: Sequence[ScoredItem]) -> CategoryRate:
    """Compute the mean process accuracy of an agent category: the mean over its items of the share
    of golden calls that the agent made in order.

    If no item of the category has a process accuracy, `n_items` of the result is 0.
    """
    has_process_accuracies = any(PROCESS_ACCURACY in item.values for item in items)
    if not has_process_accuracies:
        return CategoryRate(None, exact=None, n_verdicts=0, n_items=0)

    known = []
    for item in items:
        accuracy = get_process_accuracy(item)
        if accuracy is not None:
            known.append(accuracy)
    mean = sum(known) / len(known) if known else None
    rounded = _round_or_none(mean, 3)
    return CategoryRate(rounded, exact=mean, n_verdicts=len(known), n_items=len(items))


def get_process_accuracy(item: ScoredItem) -> float | None:
    """Return the process accuracy of an agent item after the reviews, or None if it is unknown.

    By the benchmark's rule, the process accuracy is 1 if the end state of the simulated apps is
    correct, else the share of golden calls that the agent made in order.
    """
    imported = item.values.get(PROCESS_ACCURACY)
    value = float(imported) if isinstance(imported, (int, float)) else None

    # A review of the process accuracy itself counts before everything else. If it contradicts the
    # imported value (an override), it is in the values.
    if (ITEM, PROCESS_ACCURACY) in item.overrides:
        return value
    # A review of the end state changes the process accuracy by the rule above, unless a review
    # confirms the process accuracy: that is no override, but it counts too.
    is_end_state_overridden = ITEM_CORRECT in item.overrides
    if is_end_state_overridden and not item.is_target_reviewed(ITEM, PROCESS_ACCURACY):
        derived: float | None = item.derive_verdict("acebench", ITEM, PROCESS_ACCURACY)
        return derived

    # The process file contains a rounded value, but the official mean uses the exact value.
    exact = item.metadata.get(MILESTONES_MET)
    if isinstance(exact, (int, float)) and value == round(exact, 3):
        return float(exact)
    return value


def _round_or_none(value: float | None, digits: int | None) -> float | None:
    if value is None or digits is None:
        return value
    return round(value, digits)


def compute_paper_weights(sample_counts: Sequence[int]) -> list[float]:
    """Compute the weights of the paper's appendix E: the square roots of the sample counts,
    scaled to a sum of 1.
    """
    roots = [count**0.5 for count in sample_counts]
    total = sum(roots) or 1.0
    return [root / total for root in roots]


def compute_summary_row(
    accuracies: CategoryValues,
    process_accuracies: CategoryValues,
    weights: Sequence[float] = PROGRAM_WEIGHTS,
    swap_object_columns: bool = True,
) -> dict[str, float | None]:
    """Compute the row of a run in `result.xlsx`, the summary table of the official program.

    As in the program, a category that was not run counts as 0, also in means. If the accuracy of a
    category is unknown, the columns that depend on it are None.

    Args:
        accuracies: Accuracy of each category.
        process_accuracies: Process accuracy of each agent and multi-turn category.
        weights: Weights of the normal, special and agent means in the column `Summary`.
        swap_object_columns: Whether to repeat an error of the program, in which the columns
            object_short and object_deep have the accuracy of each other.
    """
    row = {name: accuracies.get(f"normal_atom_{name}", 0.0) for name in ATOM_TYPES}
    if swap_object_columns:
        row["object_short"] = accuracies.get("normal_atom_object_deep", 0.0)
        row["object_deep"] = accuracies.get("normal_atom_object_short", 0.0)

    value_by_source = dict(accuracies)
    for category, value in process_accuracies.items():
        value_by_source[f"{category}_process"] = value

    for column, source in SUMMARY_COLUMNS.items():
        # The column is the mean of several categories.
        if isinstance(source, tuple):
            row[column] = _mean_accuracy(accuracies, categories=source)
        else:
            row[column] = value_by_source.get(source, 0.0)

    row["Summary"] = _compute_summary(row, weights)
    return row


def _compute_summary(row: CategoryValues, weights: Sequence[float]) -> float | None:
    """Compute the weighted mean of the three kinds of categories. None if one is unknown."""
    products = []
    for kind, weight in zip(CATEGORY_KINDS, weights, strict=True):
        mean = row[f"{kind}_summary"]
        if mean is None:
            return None
        products.append(weight * mean)
    return round(sum(products), 3)


def _mean_accuracy(accuracies: CategoryValues, categories: Sequence[str]) -> float | None:
    mean = _mean_if_all_known([accuracies.get(category, 0.0) for category in categories])
    return _round_or_none(mean, 3)


def _group_by_scored_category(items: Sequence[ScoredItem]) -> dict[str, list[ScoredItem]]:
    """Return category -> its items, for the categories with a verdict."""
    items_by_category: dict[str, list[ScoredItem]] = defaultdict(list)
    scored_categories = set()
    for item in items:
        items_by_category[item.category].append(item)
        if item.valid is not None:
            scored_categories.add(item.category)
    return {name: part for name, part in items_by_category.items() if name in scored_categories}


class CategoryRates(NamedTuple):
    """Rates by category.

    Categories without a process accuracy are missing in `process_accuracy`.
    """

    accuracy: dict[str, CategoryRate]
    process_accuracy: dict[str, CategoryRate]


def _compute_category_rates(
    items_by_category: Mapping[str, Sequence[ScoredItem]],
) -> CategoryRates:
    """Compute the accuracies of each category by the rules of the official program.

    Multi-turn categories count dialogues, all others count items. Agent and multi-turn categories
    also have a process accuracy: the mean share of what was right within an item or dialogue.
    """
    rates = CategoryRates({}, {})
    for name, items in items_by_category.items():
        if name in MULTI_TURN_CATEGORIES:
            steps = [DialogueStep(str(item.group), item.valid) for item in items]
            dialogue_accuracies = compute_dialogue_accuracies(steps)
            rates.accuracy[name] = dialogue_accuracies.all_steps
            rates.process_accuracy[name] = dialogue_accuracies.mean_share
            continue

        rates.accuracy[name] = _compute_item_accuracy(name, items)
        if name.startswith("agent"):
            process_rate = compute_mean_process_accuracy(items)
            if process_rate.n_items:
                rates.process_accuracy[name] = process_rate
    return rates


def _compute_item_accuracy(category: str, items: Sequence[ScoredItem]) -> CategoryRate:
    verdicts = [item.valid for item in items]
    if category.startswith("special"):
        # The program rounds all accuracies except these.
        return compute_accuracy(verdicts, digits=None)
    return compute_accuracy(verdicts)


def _get_rounded_values(rates: Mapping[str, CategoryRate]) -> dict[str, float | None]:
    return {name: rate.value for name, rate in rates.items()}
