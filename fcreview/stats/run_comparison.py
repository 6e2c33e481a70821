"""Compare runs, or two sources of verdicts on one run, item by item.

For two runs, the module tests the difference of the pass rates and finds the flips. A flip is an
item that one run passes and the other run fails. For many runs, the module ranks the runs, and
finds the hardest items and the upsets. An upset is an item that stronger runs fail and weaker runs
pass.

The unit of the tests is the cluster of items: all trials of a task, all items of a conversation, or
all questions of BFCL Live about one function (see `paired_difference`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import zip_longest
from math import sqrt
from typing import Literal, NamedTuple

from fcreview.model.benchmark_rules import find_benchmark_rules
from fcreview.model.review import QuestionKey
from fcreview.model.wording import NO_VALUE, format_count
from fcreview.stats.paired_difference import (
    TEST_DESCRIPTIONS,
    ClusteredPairs,
    ClusteredRate,
    Number,
    RateDifference,
    adjust_by_holm,
    compute_clustered_rate,
    compute_difference,
)

VerdictSource = Literal["official", "rule", "effective"]
VERDICT_SOURCES: tuple[VerdictSource, ...] = ("official", "rule", "effective")
"""Sources of verdicts that can be compared.

`effective` is the human verdict, else the automatic verdict.
"""


def choose_verdict_source(n_official: int, n_recomputed: int) -> VerdictSource:
    """Choose the source of a run's verdicts by their numbers: `official`, else `rule`, else
    `effective`.
    """
    if n_official:
        return "official"
    if n_recomputed:
        return "rule"
    return "effective"


class ItemOutcome(NamedTuple):
    """An item with its verdict from one source."""

    item: int
    question_key: QuestionKey
    group: str | None
    question: str
    """Question in one line, shortened; empty if there is no dataset."""
    verdict: bool | None
    error_type: str | None
    first_difference: str | None
    """First difference from the golden answer. Passing items can have a first difference too."""
    prediction_hash: str
    golden_hash: str
    is_reviewed: bool = False
    """Whether the verdict is from annotators. Always false for other sources than `effective`."""
    is_override: bool = False
    """Whether reviews changed the verdict."""
    has_golden_fault: bool = False
    """Whether annotators found that the golden answer is wrong."""


Cluster = tuple[str, ...]
"""Identity of a cluster of items whose verdicts are not independent, the same in all runs."""


@dataclass(frozen=True, slots=True)
class AlignedItem:
    """Outcomes of the same test case in several runs."""

    question_key: QuestionKey
    outcomes: tuple[ItemOutcome | None, ...]
    cluster: Cluster
    task: Cluster | None = None
    """Task of which the outcomes are trials; None if the item is no trial. Which trials of a task
    stand in one row has no meaning, so a comparison uses all trials of the task in each run.
    """


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Items of several runs, matched by key and question, in order of first appearance."""

    items: list[AlignedItem]
    generations: tuple[str, ...]
    n_other_question: int
    """Number of item keys that have different questions in different runs.

    Each question is a separate item.
    """

    @property
    def complete_items(self) -> list[AlignedItem]:
        return [item for item in self.items if None not in item.outcomes]

    def count_unmatched(self, run_index: int) -> int:
        """Count the items of a run that at least one other run does not have."""
        return sum(
            item.outcomes[run_index] is not None and None in item.outcomes for item in self.items
        )


def align_runs(runs: Sequence[Sequence[ItemOutcome]]) -> AlignedRuns:
    """Match the items of different runs, by their key and question.

    Trials of a task are matched by their task, because the number of a trial has no meaning. If a
    run contains an item several times, its occurrences are matched in order. The benchmark and its
    version are ignored if they differ between the runs.
    """
    generations = _list_generations(runs)
    match_keys = _build_match_keys(runs, ignores_generation=len(generations) > 1)
    questions = _collect_questions(runs, match_keys)
    tasks = _find_tasks(runs, match_keys)
    matching = _Matching(match_keys, questions, tasks)

    items = []
    for identity, outcomes_by_run in _group_outcomes(runs, matching).items():
        items += _align_outcomes(identity, outcomes_by_run, is_task=identity in tasks)
    n_other_question = sum(len(texts) > 1 for texts in questions.values())
    return AlignedRuns(items, generations=generations, n_other_question=n_other_question)


@dataclass(frozen=True, slots=True)
class _Matching:
    """Which items of different runs are the same test case."""

    match_keys: Mapping[QuestionKey, QuestionKey]
    """Key of an item -> the key without the parts that differ between the runs."""
    questions: Mapping[QuestionKey, Mapping[str, None]]
    """Key without these parts -> the different questions of its items."""
    tasks: Collection[Cluster]

    def identify(self, outcome: ItemOutcome) -> Cluster:
        """Return the identity of a test case. Outcomes with the same identity are matched.

        Trials of a task have the identity of the task. Other items have their key and question.
        """
        match_key = self.match_keys[outcome.question_key]
        task = _name_task(outcome, match_key)
        is_trial = task in self.tasks
        if is_trial:
            return task

        questions_of_key = self.questions.get(match_key, {})
        return (*match_key, _find_question(outcome, questions_of_key))


def _group_outcomes(
    runs: Sequence[Sequence[ItemOutcome]], matching: _Matching
) -> dict[Cluster, list[list[ItemOutcome]]]:
    """Group outcomes by what identifies them. Each group has a list of outcomes for each run."""
    groups: dict[Cluster, list[list[ItemOutcome]]] = {}
    for run_index, run in enumerate(runs):
        for outcome in run:
            identity = matching.identify(outcome)
            if identity not in groups:
                groups[identity] = [[] for _ in runs]
            groups[identity][run_index].append(outcome)
    return groups


def _list_generations(runs: Sequence[Sequence[ItemOutcome]]) -> tuple[str, ...]:
    """Return the benchmark versions of the runs, in order of first appearance."""
    generations: dict[str, None] = {}
    for run in runs:
        for outcome in run:
            generations[outcome.question_key.generation] = None
    return tuple(generations)


def _build_match_keys(
    runs: Sequence[Sequence[ItemOutcome]], *, ignores_generation: bool
) -> dict[QuestionKey, QuestionKey]:
    """Return each item key without the parts that differ between the runs."""
    question_keys = {outcome.question_key for run in runs for outcome in run}
    ignored = {"generation": ""} if ignores_generation else {}
    if len({key.benchmark for key in question_keys}) > 1:
        ignored["benchmark"] = ""
    return {key: key._replace(**ignored) for key in question_keys}


def _collect_questions(
    runs: Sequence[Sequence[ItemOutcome]], match_keys: Mapping[QuestionKey, QuestionKey]
) -> defaultdict[QuestionKey, dict[str, None]]:
    """Return the different questions of each item key."""
    questions: defaultdict[QuestionKey, dict[str, None]] = defaultdict(dict)
    for run in runs:
        for outcome in run:
            if outcome.question:
                questions[match_keys[outcome.question_key]][outcome.question] = None
    return questions


def _find_question(outcome: ItemOutcome, questions: Mapping[str, None]) -> str:
    """Return the question of an item. Without a dataset, an item has no question text. It matches
    the only question of its key.
    """
    if outcome.question or len(questions) != 1:
        return outcome.question
    return next(iter(questions))


def _name_task(outcome: ItemOutcome, match_key: QuestionKey) -> Cluster:
    """Return the identity of the task of which an item may be a trial. A run with one trial per
    task may have no groups, and its item ids are then the names of the tasks.
    """
    *names, item_id = match_key
    return (*names, outcome.group or item_id, "task", outcome.question)


def _find_tasks(
    runs: Sequence[Sequence[ItemOutcome]], match_keys: Mapping[QuestionKey, QuestionKey]
) -> set[Cluster]:
    """Return the groups of items that are trials of one task: all have the same golden answer.

    The other groups are conversations, whose items are turns with different golden answers.
    """
    candidates: set[Cluster] = set()
    conversations: set[Cluster] = set()
    for run in runs:
        first_golden_hashes: dict[Cluster, str] = {}
        for outcome in run:
            if outcome.group is None or not outcome.question:
                continue
            # The name of a task contains its question. Items of a group that have another question
            # are another candidate.
            task = _name_task(outcome, match_keys[outcome.question_key])
            candidates.add(task)
            first_golden_hash = first_golden_hashes.setdefault(task, outcome.golden_hash)
            if outcome.golden_hash != first_golden_hash:
                conversations.add(task)
    return candidates - conversations


def _align_outcomes(
    identity: Cluster, outcomes_by_run: Sequence[Sequence[ItemOutcome]], *, is_task: bool
) -> list[AlignedItem]:
    """Return the rows of one item, or of all trials of one task."""
    columns = _order_trials(outcomes_by_run) if is_task else outcomes_by_run
    # Runs with fewer occurrences have None in the last rows.
    rows = list(zip_longest(*columns))
    items = []
    for row in rows:
        present = [outcome for outcome in row if outcome is not None]
        first = present[0]
        cluster = _find_cluster(first, identity, is_trial=is_task and len(rows) > 1)
        items.append(
            AlignedItem(
                first.question_key,
                outcomes=row,
                cluster=cluster,
                task=identity if is_task else None,
            )
        )
    return items


def _order_trials(outcomes_by_run: Sequence[Sequence[ItemOutcome]]) -> list[list[ItemOutcome]]:
    """Sort the trials of a task within each run, so that their order does not depend on their
    numbers.

    Passing trials come first, and trials without a verdict last. If a run has more trials than
    another, trials spread evenly over the sorted ones come before the rest.
    """
    counts = []
    for outcomes in outcomes_by_run:
        n_verdicts = sum(trial.verdict is not None for trial in outcomes)
        if n_verdicts:
            counts.append(n_verdicts)
    n_pairs = min(counts, default=0)
    return [_order_trials_of_run(outcomes, n_pairs) for outcomes in outcomes_by_run]


def _order_trials_of_run(outcomes: Sequence[ItemOutcome], n_pairs: int) -> list[ItemOutcome]:
    """Sort the trials of a task so that the first `n_pairs` represent all of them.

    They have about the same share of passing trials as all trials with a verdict. The others with a
    verdict follow, then those without one. No run with verdicts has fewer than `n_pairs` of them.
    """
    undecided = [trial for trial in outcomes if trial.verdict is None]
    decided = [trial for trial in outcomes if trial.verdict is not None]
    if not decided:
        return undecided
    passing_first = sorted(decided, key=lambda trial: not trial.verdict)

    chosen_positions = _choose_spread_positions(len(passing_first), n_chosen=n_pairs)
    chosen = []
    others = []
    for position, trial in enumerate(passing_first):
        if position in chosen_positions:
            chosen.append(trial)
        else:
            others.append(trial)
    return chosen + others + undecided


def _choose_spread_positions(n_positions: int, n_chosen: int) -> set[int]:
    """Choose positions that are spread evenly over a list: it is divided into `n_chosen` equal
    parts, and the middle of each part is chosen. Of 6 positions, 2 are chosen: 1 and 4.
    """
    # The middle of part p, from 0, is (p + 1/2) * n_positions / n_chosen.
    return {(2 * part + 1) * n_positions // (2 * n_chosen) for part in range(n_chosen)}


_LIVE_ID = re.compile(r"live_[a-z_]+?_\d+-(\d+)-\d+", re.ASCII)
"""Id of an item of BFCL Live, such as `live_simple_3-2-0`.

The second number is that of the function.
"""


def _find_cluster(outcome: ItemOutcome, identity: Cluster, *, is_trial: bool) -> Cluster:
    """Return the cluster of an item: what it has in common with other items, so that their
    verdicts are not independent.
    """
    key = outcome.question_key
    # Questions of BFCL Live have ids such as `live_simple_12-3-0`, where 3 is the function.
    live_id = _LIVE_ID.match(key.id)
    if live_id is not None:
        return key.language, key.category, "function", live_id[1]

    # Trials of a task have its identity. An item outside of a group is a cluster of its own.
    if is_trial or outcome.group is None:
        return identity

    # The groups of some benchmarks are tasks, which different domains (categories) number alike.
    # Other groups are conversations, which can have items of several categories.
    are_tasks = find_benchmark_rules(key.benchmark).groups_are_tasks
    domain = key.category if are_tasks else ""
    return key.language, domain, "group", outcome.group


UNKNOWN_FAILURE = "fails for an unknown reason"


@dataclass(frozen=True, slots=True)
class Flip:
    """An item that one side of a comparison passes and the other side fails."""

    a: ItemOutcome
    b: ItemOutcome

    @property
    def passing_side(self) -> Literal["a", "b"]:
        return "a" if self.a.verdict else "b"

    @property
    def same_prediction(self) -> bool:
        """Whether both sides have the same prediction, so that only their verdicts or golden
        answers differ.
        """
        return bool(self.a.prediction_hash) and self.a.prediction_hash == self.b.prediction_hash

    @property
    def golden_differs(self) -> bool:
        return self.a.golden_hash != self.b.golden_hash

    @property
    def cause(self) -> str:
        """Cause of the flip in one line, not sanitized: `B: city "Hangzhou, CN" (golden
        "Hangzhou")`.
        """
        # The two sides differ only in their verdicts.
        if self.same_prediction and not self.golden_differs:
            if self.passing_side == "a":
                return f"same prediction; B: {_describe_failure(self.b)}"
            return f"same prediction; A: {_describe_failure(self.a)}"

        parts = []
        if self.same_prediction:
            parts.append("same prediction, different golden answer")
        elif self.golden_differs:
            parts.append("different golden answer")
        for name, outcome in (("A", self.a), ("B", self.b)):
            explanation = explain_outcome(outcome)
            if explanation:
                parts.append(f"{name}: {explanation}")
        return "; ".join(parts)


def _describe_failure(outcome: ItemOutcome) -> str:
    """Describe a failing item by its error type and its first difference."""
    reasons = [text for text in (outcome.error_type, outcome.first_difference) if text]
    return ", ".join(reasons) or UNKNOWN_FAILURE


def find_flips(items: Iterable[AlignedItem]) -> list[Flip]:
    """Find the flips between two runs: first the items that A passes, then the items that B
    passes.
    """
    flips = []
    for item in items:
        a, b = item.outcomes
        if a is None or b is None or a.verdict is None or b.verdict is None:
            continue
        if a.verdict != b.verdict:
            flips.append(Flip(a, b))
    return sorted(flips, key=lambda flip: flip.passing_side)


def explain_outcome(outcome: ItemOutcome) -> str:
    """Explain the outcome of an item. For a failing item, return its first difference or its error
    type. For a passing item, return `passes despite` and its first difference, or an empty text.
    """
    if outcome.verdict and outcome.first_difference:
        return f"passes despite {outcome.first_difference}"
    if outcome.verdict:
        return ""
    return outcome.first_difference or outcome.error_type or UNKNOWN_FAILURE


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Numbers of items by the verdicts of A and B.

    Items without a verdict of A or of B are excluded.
    """

    both_pass: int = 0
    both_fail: int = 0
    only_a: int = 0
    only_b: int = 0

    @property
    def n(self) -> int:
        return self.both_pass + self.both_fail + self.only_a + self.only_b

    @property
    def rate_a(self) -> float | None:
        return (self.both_pass + self.only_a) / self.n if self.n else None

    @property
    def rate_b(self) -> float | None:
        return (self.both_pass + self.only_b) / self.n if self.n else None


def count_verdict_pairs(verdicts: Iterable[tuple[bool, bool]]) -> PairedCounts:
    """Count the pairs of verdicts.

    Each pair contains the verdict of A and the verdict of B on an item.
    """
    counts = Counter(verdicts)
    return PairedCounts(
        counts[True, True],
        both_fail=counts[False, False],
        only_a=counts[True, False],
        only_b=counts[False, True],
    )


@dataclass(frozen=True, slots=True)
class ReviewBalance:
    """Reviews of the items of a comparison. A and B can have different reviews, so that their
    effective verdicts are not comparable.
    """

    n_reviewed: tuple[int, int] = (0, 0)
    """Number of reviewed items in A and in B."""
    n_one_sided_overrides: tuple[int, int] = (0, 0)
    """Number of overrides of A on items that are not reviewed in B, and the reverse."""

    @property
    def depends_on_run(self) -> bool:
        """Whether annotators corrected verdicts of one run only. The difference of the runs is then
        partly a difference of the reviews, so that it has no p value and no interval.
        """
        return any(self.n_one_sided_overrides)


@dataclass(frozen=True, slots=True)
class ComparisonGroup:
    """Comparison of A and B on the items of one category, or of all categories."""

    category: str | None
    counts: PairedCounts
    difference: RateDifference
    n_pairs: int
    """Number of matched pairs of items.

    It is larger than `counts.n` if some items have no verdict.
    """
    n_verdicts: tuple[int, int]
    """Number of pairs with a verdict of A, and number of pairs with a verdict of B."""
    clustered_rates: tuple[ClusteredRate | None, ClusteredRate | None] = (None, None)
    """Pass rates of A and B with clustered standard errors; None without items."""
    reviews: ReviewBalance = ReviewBalance()
    p_holm: float | None = None
    """p value of a category, adjusted for the number of categories; None for all items."""

    @property
    def rate_a(self) -> float | None:
        """Pass rate of A; for tasks with more trials in A than in B, of all trials."""
        rate = self.clustered_rates[0]
        return None if rate is None else rate.value

    @property
    def rate_b(self) -> float | None:
        rate = self.clustered_rates[1]
        return None if rate is None else rate.value

    def is_comparable(self, source_a: VerdictSource, source_b: VerdictSource) -> bool:
        """Whether the pass rates can be compared. They cannot if only some items have a recomputed
        verdict, because these items are not a random sample.
        """
        sources = (source_a, source_b)
        for source, n_verdicts in zip(sources, self.n_verdicts, strict=True):
            is_recomputed = source == "rule"
            if is_recomputed and n_verdicts < self.n_pairs:
                return False
        return True


@dataclass(frozen=True, slots=True)
class RunComparison:
    overall: ComparisonGroup
    categories: list[ComparisonGroup]
    flips: list[Flip]
    n_unmatched: tuple[int, int]
    n_other_question: int
    """Number of item keys with different questions in A and B.

    Items with these keys can be unmatched.
    """
    generations: tuple[str, ...]
    has_grouped_items: bool
    """Whether several items belong to one cluster, such as a task or a conversation."""
    n_wrong_golden: int = 0
    """Number of items that are left out, because annotators found in one run that their golden
    answer is wrong.
    """
    items_by_category: Mapping[str, Sequence[AlignedItem]] = field(default_factory=dict, repr=False)


def compare_runs(a: Sequence[ItemOutcome], b: Sequence[ItemOutcome]) -> RunComparison:
    """Compare two runs over all items that they share, and in each category."""
    aligned = align_runs([a, b])
    items, n_wrong_golden = leave_out_wrong_golden_answers(aligned.items)
    items_by_category: dict[str, list[AlignedItem]] = {}
    for item in items:
        items_by_category.setdefault(item.question_key.category, []).append(item)

    groups = [
        _compare_items(category, items_of_category)
        for category, items_of_category in items_by_category.items()
    ]
    return RunComparison(
        overall=_compare_items(None, items),
        categories=_adjust_p_values([group for group in groups if group.n_pairs]),
        flips=find_flips(items),
        n_unmatched=(aligned.count_unmatched(0), aligned.count_unmatched(1)),
        n_other_question=aligned.n_other_question,
        generations=aligned.generations,
        has_grouped_items=has_grouped_items(aligned),
        n_wrong_golden=n_wrong_golden,
        items_by_category=items_by_category,
    )


def _adjust_p_values(categories: Sequence[ComparisonGroup]) -> list[ComparisonGroup]:
    """Adjust the p values of the categories for their number (Holm 1979)."""
    p_values = [group.difference.p for group in categories if group.difference.p is not None]
    adjusted = iter(adjust_by_holm(p_values))
    return [
        group if group.difference.p is None else replace(group, p_holm=next(adjusted))
        for group in categories
    ]


def group_by_question(items: Iterable[AlignedItem]) -> list[list[AlignedItem]]:
    """Group the rows of each task. Any other item is a group of its own."""
    groups: list[list[AlignedItem]] = []
    tasks: dict[Cluster, list[AlignedItem]] = {}
    for item in items:
        if item.task is None:
            groups.append([item])
        elif item.task in tasks:
            tasks[item.task].append(item)
        else:
            tasks[item.task] = [item]
            groups.append(tasks[item.task])
    return groups


def leave_out_wrong_golden_answers(items: Sequence[AlignedItem]) -> tuple[list[AlignedItem], int]:
    """Leave out the items whose golden answer annotators found wrong, unless the item was reviewed
    in all runs. A wrong golden answer affects all runs, so correcting the verdicts of one run would
    favour it. Returns the other items and the number of items that were left out.
    """
    kept: list[AlignedItem] = []
    n_left_out = 0
    for question in group_by_question(items):
        if _has_unequally_reviewed_golden(question):
            n_left_out += len(question)
        else:
            kept += question
    return kept, n_left_out


def _has_unequally_reviewed_golden(question: Sequence[AlignedItem]) -> bool:
    """Whether reviewers found a golden answer wrong, but did not review all items with it."""
    outcomes: list[ItemOutcome] = []
    for item in question:
        outcomes += [outcome for outcome in item.outcomes if outcome is not None]
    wrong_hashes = {outcome.golden_hash for outcome in outcomes if outcome.has_golden_fault}
    return any(
        outcome.golden_hash in wrong_hashes and not outcome.is_reviewed for outcome in outcomes
    )


def _compare_items(category: str | None, items: Sequence[AlignedItem]) -> ComparisonGroup:
    """Compare the verdicts of runs A and B on some items. `category` is None for all items."""
    verdict_pairs = _list_verdict_pairs(items)
    counts = count_verdict_pairs(
        (a, b) for a, b in verdict_pairs if a is not None and b is not None
    )
    n_verdicts_a = sum(a is not None for a, _ in verdict_pairs)
    n_verdicts_b = sum(b is not None for _, b in verdict_pairs)

    # Items of one question, and questions of one cluster, depend on each other, which the intervals
    # take into account.
    questions = group_by_question(items)
    clusters = _sum_clusters(questions)
    reviews = _count_reviews(questions)
    difference = compute_difference(clusters.pairs)
    if reviews.depends_on_run:
        # Reviews of one run only would decide the comparison, so it has neither an interval nor a
        # test.
        difference = replace(difference, low=None, high=None, p=None, test=None)
    return ComparisonGroup(
        category=category,
        counts=counts,
        difference=difference,
        n_pairs=len(verdict_pairs),
        n_verdicts=(n_verdicts_a, n_verdicts_b),
        clustered_rates=clusters.rates,
        reviews=reviews,
    )


def _list_verdict_pairs(items: Iterable[AlignedItem]) -> list[tuple[bool | None, bool | None]]:
    """Return the verdicts of runs A and B on each item that both have. A run can still lack a
    verdict on it.
    """
    verdict_pairs = []
    for item in items:
        outcome_a, outcome_b = item.outcomes
        if outcome_a is not None and outcome_b is not None:
            verdict_pairs.append((outcome_a.verdict, outcome_b.verdict))
    return verdict_pairs


@dataclass(slots=True)
class _ClusterSum:
    """Sums over the items of a cluster."""

    size: int = 0
    passed_a: Number = 0
    passed_b: Number = 0

    def add(self, passes: _ClusterSum) -> None:
        self.size += passes.size
        self.passed_a += passes.passed_a
        self.passed_b += passes.passed_b


@dataclass(frozen=True, slots=True)
class _ClusterSums:
    pairs: ClusteredPairs
    rates: tuple[ClusteredRate | None, ClusteredRate | None]


def _sum_clusters(questions: Iterable[Sequence[AlignedItem]]) -> _ClusterSums:
    """Add up the passes of runs A and B in each cluster of questions that depend on each other.

    The trials of a question are paired so that as many pairs as possible agree. Then only the run
    with more passes has pairs that the other run does not pass. If the runs have different numbers
    of trials, the passes are scaled to the same number, and may be fractions.
    """
    sums_by_cluster: defaultdict[Cluster, _ClusterSum] = defaultdict(_ClusterSum)
    only_a: Number = 0
    only_b: Number = 0
    for question in questions:
        passes = _count_passes(question)
        if not passes.size:
            continue
        only_a += max(passes.passed_a - passes.passed_b, 0)
        only_b += max(passes.passed_b - passes.passed_a, 0)
        sums_by_cluster[question[0].cluster].add(passes)

    sums = list(sums_by_cluster.values())
    sizes = [cluster.size for cluster in sums]
    differences = [cluster.passed_a - cluster.passed_b for cluster in sums]
    rate_a = compute_clustered_rate(sizes, [cluster.passed_a for cluster in sums])
    rate_b = compute_clustered_rate(sizes, [cluster.passed_b for cluster in sums])
    return _ClusterSums(
        pairs=ClusteredPairs(sizes, differences, only_a=float(only_a), only_b=float(only_b)),
        rates=(rate_a, rate_b),
    )


def _count_passes(question: Sequence[AlignedItem]) -> _ClusterSum:
    """Count the passes of both runs on one question.

    If the runs have different numbers of trials, the passes of the run with more trials are scaled
    down to the number of trials of the other run.
    """
    verdicts_a = _list_verdicts(question, side=0)
    verdicts_b = _list_verdicts(question, side=1)
    size = min(len(verdicts_a), len(verdicts_b))
    if not size:
        return _ClusterSum()
    return _ClusterSum(
        size,
        passed_a=_scale_passes(verdicts_a, size),
        passed_b=_scale_passes(verdicts_b, size),
    )


def list_outcomes(question: Sequence[AlignedItem], *, side: int) -> list[ItemOutcome]:
    """Return the outcomes of a question in A (side 0) or in B (side 1)."""
    outcomes = [item.outcomes[side] for item in question]
    return [outcome for outcome in outcomes if outcome is not None]


def _list_verdicts(question: Sequence[AlignedItem], *, side: int) -> list[bool]:
    verdicts = [outcome.verdict for outcome in list_outcomes(question, side=side)]
    return [verdict for verdict in verdicts if verdict is not None]


def _scale_passes(verdicts: Sequence[bool], size: int) -> Number:
    """Return the number of passes that `size` verdicts with the same pass rate have."""
    passed = sum(verdicts)
    return passed if len(verdicts) == size else Fraction(passed * size, len(verdicts))


def _count_reviews(questions: Iterable[Sequence[AlignedItem]]) -> ReviewBalance:
    """Count the reviews of the questions that both A and B have."""
    reviewed_a = 0
    reviewed_b = 0
    one_sided_a = 0
    one_sided_b = 0
    for question in questions:
        outcomes_a = list_outcomes(question, side=0)
        outcomes_b = list_outcomes(question, side=1)
        if not outcomes_a or not outcomes_b:
            continue
        reviewed_a += sum(outcome.is_reviewed for outcome in outcomes_a)
        reviewed_b += sum(outcome.is_reviewed for outcome in outcomes_b)
        one_sided_a += _count_one_sided_overrides(outcomes_a, outcomes_b)
        one_sided_b += _count_one_sided_overrides(outcomes_b, outcomes_a)
    return ReviewBalance((reviewed_a, reviewed_b), (one_sided_a, one_sided_b))


def _count_one_sided_overrides(
    outcomes: Sequence[ItemOutcome], others: Sequence[ItemOutcome]
) -> int:
    """Count the overrides of a question, unless it is reviewed in all trials of the other run."""
    if all(other.is_reviewed for other in others):
        return 0
    return sum(outcome.is_override for outcome in outcomes)


def has_grouped_items(aligned: AlignedRuns) -> bool:
    """Whether at least two items belong to one cluster, such as a task or a conversation."""
    return len({item.cluster for item in aligned.items}) < len(aligned.items)


def format_points(value: float | None) -> str:
    """Format a difference of shares in percentage points: `+2.5`, or `–` for None."""
    return NO_VALUE if value is None else f"{100 * value + 0.0:+.1f}"


def format_p_value(p: float | None) -> str:
    """Format a p-value: `0.031`, `<0.001`, or `–` for None."""
    if p is None:
        return NO_VALUE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_difference(difference: RateDifference) -> str:
    """Format the difference of the pass rates in percentage points: `+2.5 [-0.4, +5.4]`."""
    if difference.low is None or difference.high is None:
        return format_points(difference.value)
    return (
        f"{format_points(difference.value)} [{format_points(difference.low)},"
        f" {format_points(difference.high)}]"
    )


COMPLETE_CATEGORIES = "complete categories"


def combine_complete_categories(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> ComparisonGroup | None:
    """Combine the comparable categories.

    Returns None if all categories are comparable, or if no category is.
    """
    names = [
        group.category for group in comparison.categories if group.is_comparable(source_a, source_b)
    ]
    if not names or len(names) == len(comparison.categories):
        return None
    items: list[AlignedItem] = []
    for name in names:
        items += comparison.items_by_category[name or ""]
    return _compare_items(COMPLETE_CATEGORIES, items)


def list_table_groups(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> list[ComparisonGroup]:
    """List the rows of the table: all items, all comparable categories together (unless all
    are), and each category.
    """
    complete = combine_complete_categories(comparison, source_a, source_b)
    categories = comparison.categories if len(comparison.categories) > 1 else []
    return [comparison.overall, *([complete] if complete else []), *categories]


def list_caveats(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> list[str]:
    """List what limits the meaning of a comparison, one line each."""
    lines = _describe_unmatched_items(comparison)
    if len(comparison.generations) > 1:
        generations = ", ".join(comparison.generations)
        lines.append(
            f"the benchmark versions differ ({generations}), so items are matched without the"
            " version"
        )
    lines += _describe_missing_verdicts(comparison.overall, source_a, source_b)
    lines += _describe_missing_pass_rates(comparison, source_a, source_b)
    lines += _describe_clusters(comparison)
    lines += describe_reviews(comparison, source_a, source_b)
    return lines


def _describe_unmatched_items(comparison: RunComparison) -> list[str]:
    """Say how many items of A and B have no counterpart in the other run."""
    unmatched_a, unmatched_b = comparison.n_unmatched
    if not unmatched_a and not unmatched_b:
        return []

    items_a = format_count(unmatched_a, "item")
    lines = [f"{items_a} of A and {unmatched_b:,} of B have no matching item in the other run"]
    if comparison.n_other_question:
        ids = format_count(comparison.n_other_question, "item id")
        lines.append(f"A and B have different questions under {ids}, so these items do not match")
    return lines


def _describe_missing_verdicts(
    overall: ComparisonGroup, source_a: VerdictSource, source_b: VerdictSource
) -> list[str]:
    """Say how many pairs of items lack a verdict on one side."""
    if overall.counts.n >= overall.n_pairs:
        return []

    incomplete = []
    n_verdicts_a, n_verdicts_b = overall.n_verdicts
    if n_verdicts_a < overall.n_pairs:
        incomplete.append(f"A ({source_a}) has {format_count(n_verdicts_a, 'verdict')}")
    if n_verdicts_b < overall.n_pairs:
        incomplete.append(f"B ({source_b}) has {format_count(n_verdicts_b, 'verdict')}")
    pairs = format_count(overall.n_pairs, "pair")
    return [
        f"only {overall.counts.n:,} of {pairs} have a verdict on both sides:"
        f" {', '.join(incomplete)}"
    ]


def _describe_missing_pass_rates(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> list[str]:
    """Say for which categories pass rates are not comparable, and why."""
    if comparison.overall.is_comparable(source_a, source_b):
        return []

    names = []
    for group in comparison.categories:
        if not group.is_comparable(source_a, source_b):
            names.append(group.category or "")
    count = format_count(len(names), "category", "categories")
    return [
        f"no pass rates for all items and for {count} ({', '.join(names)}),"
        " because the items with a recomputed verdict are not a random sample"
    ]


def _describe_clusters(comparison: RunComparison) -> list[str]:
    """Say that items of a cluster are not independent, and what follows for the test."""
    difference = comparison.overall.difference
    if not comparison.has_grouped_items or difference.design_effect is None:
        return []
    clusters = format_count(difference.n_clusters, "cluster")
    return [
        "items of a task, conversation or function are not independent. The test and the interval"
        f" use {clusters}"
        f" (design effect {difference.design_effect:.1f})"
    ]


def describe_reviews(
    comparison: RunComparison, source_a: VerdictSource, source_b: VerdictSource
) -> list[str]:
    """Describe the reviews of a comparison of effective verdicts."""
    if "effective" not in (source_a, source_b):
        return []
    reviews = comparison.overall.reviews
    reviewed_a, reviewed_b = reviews.n_reviewed
    lines = [f"reviewed: {format_count(reviewed_a, 'item')} of A, {reviewed_b:,} of B"]
    if comparison.n_wrong_golden:
        count = format_count(comparison.n_wrong_golden, "item")
        lines.append(
            f"{count} left out, because reviews found the golden answer wrong, but not in every run"
        )
    if reviews.depends_on_run:
        lines.append(f"no p and no interval: {describe_one_sided_reviews(reviews)}")
    return lines


def describe_one_sided_reviews(reviews: ReviewBalance) -> str:
    """Say why there is no p value: `3 overrides of A are on items that are not reviewed in B`."""
    only_a, only_b = reviews.n_one_sided_overrides
    parts = []
    if only_a:
        parts.append(f"{format_count(only_a, 'override')} of A on items that are not reviewed in B")
    if only_b:
        parts.append(f"{format_count(only_b, 'override')} of B on items that are not reviewed in A")
    return f"{', '.join(parts)}. Review these items in both runs, or compare official verdicts"


def describe_test(groups: Iterable[ComparisonGroup]) -> str:
    """Return the names of the tests from which the p values are, such as `McNemar's mid-p test`."""
    tests = dict.fromkeys(
        group.difference.test for group in groups if group.difference.test is not None
    )
    return "; ".join(TEST_DESCRIPTIONS[test] for test in tests)


def is_clustered(group: ComparisonGroup) -> bool:
    """Whether a cluster has several items of the group."""
    return group.difference.n_clusters < group.counts.n


@dataclass(frozen=True, slots=True)
class RankedRun:
    run: int
    rank: int
    """Rank, from 1. Runs with the same pass rate have the same rank."""
    passed: int
    known: int
    """Number of items with verdicts of all runs, or, if there are none, with a verdict of this
    run.
    """
    n_reviewed: int = 0
    """Number of these items with a verdict from annotators."""
    clustered_rate: ClusteredRate | None = None
    """Pass rate with standard error and interval; None without items."""
    to_best: RateDifference | None = None
    """Difference of this run minus the best run, on the items that both have; None for the best
    run, without such items, or if reviews depend on the run.
    """

    @property
    def is_tied(self) -> bool:
        """Whether the run may be as good as the best run, because the 95 % interval of the
        difference contains 0. No correction for the number of runs.
        """
        if self.to_best is None or self.to_best.low is None or self.to_best.high is None:
            return False
        return self.to_best.low <= 0 <= self.to_best.high

    @property
    def rate(self) -> float | None:
        return self.passed / self.known if self.known else None


@dataclass(frozen=True, slots=True)
class MatrixItem:
    aligned_item: AlignedItem
    verdicts: tuple[bool | None, ...]
    """Verdict of each run, in the order of the ranking."""
    passing: int
    known: int
    upset_score: float

    @property
    def failing(self) -> int:
        return self.known - self.passing


@dataclass(frozen=True, slots=True)
class RunMatrix:
    ranking: list[RankedRun]
    items: list[MatrixItem]
    """Items with a verdict, by share of passing runs (smallest first), then by number of
    verdicts (largest first).
    """
    n_shared: int
    """Number of items with verdicts of all runs.

    If there are any, only these items determine the ranking.
    """
    n_other_question: int
    generations: tuple[str, ...]
    n_wrong_golden: int = 0
    """Number of items that are left out, because annotators found in one run that their golden
    answer is wrong.
    """

    @property
    def upsets(self) -> list[MatrixItem]:
        """Items that stronger runs fail and weaker runs pass, largest upset score first."""
        return sorted(
            (item for item in self.items if item.upset_score > 0),
            key=lambda item: -item.upset_score,
        )


def build_run_matrix(runs: Sequence[Sequence[ItemOutcome]]) -> RunMatrix:
    """Build the matrix of all items by all runs: the best run first, the hardest item first."""
    aligned = align_runs(runs)
    kept_items, n_wrong_golden = leave_out_wrong_golden_answers(aligned.items)
    # Runs are ranked by the items on which all of them have a verdict, if there are any.
    shared_items = [item for item in kept_items if has_all_verdicts(item)]
    ranking = rank_runs(shared_items or kept_items, len(runs))

    # The columns of the matrix follow the order of this dictionary.
    rate_by_run = {ranked.run: ranked.rate or 0.0 for ranked in ranking}
    matrix_items = [_build_matrix_item(item, rate_by_run) for item in kept_items]
    known_items = [item for item in matrix_items if item.known]
    # Of items with the same pass rate, the one with the most verdicts comes first.
    hardest_first = sorted(known_items, key=lambda item: (item.passing / item.known, -item.known))
    return RunMatrix(
        ranking=ranking,
        items=hardest_first,
        n_shared=len(shared_items),
        n_other_question=aligned.n_other_question,
        generations=aligned.generations,
        n_wrong_golden=n_wrong_golden,
    )


def has_all_verdicts(item: AlignedItem) -> bool:
    """Whether each run has a verdict on an item."""
    return all(outcome is not None and outcome.verdict is not None for outcome in item.outcomes)


def rank_runs(items: Sequence[AlignedItem], n_runs: int) -> list[RankedRun]:
    """Rank runs by pass rate, and compare each run with the best run."""
    unranked_runs = [_count_run(run, items) for run in range(n_runs)]
    # Runs without a pass rate come last.
    rates = [-1.0 if run.rate is None else run.rate for run in unranked_runs]
    best_first = sorted(range(n_runs), key=lambda run: -rates[run])

    ranking = []
    for run in best_first:
        best = best_first[0]
        n_better = sum(rate > rates[run] for rate in rates)
        to_best = None if run == best else _compare_with_best(items, run, best)
        ranking.append(replace(unranked_runs[run], rank=n_better + 1, to_best=to_best))
    return ranking


def _count_run(run: int, items: Sequence[AlignedItem]) -> RankedRun:
    """Count the items of one run. Its rank is not known yet."""
    sizes: Counter[Cluster] = Counter()
    passed: Counter[Cluster] = Counter()
    n_reviewed = 0
    for item in items:
        outcome = item.outcomes[run]
        if outcome is None or outcome.verdict is None:
            continue
        sizes[item.cluster] += 1
        n_reviewed += outcome.is_reviewed
        if outcome.verdict:
            passed[item.cluster] += 1
    rate = compute_clustered_rate(list(sizes.values()), [passed[cluster] for cluster in sizes])
    return RankedRun(
        run,
        rank=0,
        passed=passed.total(),
        known=sizes.total(),
        n_reviewed=n_reviewed,
        clustered_rate=rate,
    )


def _compare_with_best(items: Sequence[AlignedItem], run: int, best: int) -> RateDifference | None:
    """Compute the difference of a run minus the best run, from the items on which both have a
    verdict.

    None if there is no such item. None, too, if annotators changed a verdict of one run without
    reviewing the other: the difference would depend on which run was reviewed.
    """
    common_items = _list_common_items(items, run, best)
    if not common_items:
        return None
    if any(_has_one_sided_override(item.own, item.best) for item in common_items):
        return None
    return compute_difference(_sum_common_items(common_items))


def _sum_common_items(common_items: Sequence[_CommonItem]) -> ClusteredPairs:
    """Add up the items in each cluster. Items of one cluster, such as trials of a task, depend on
    each other.
    """
    sizes = Counter(item.cluster for item in common_items)
    only_own = Counter(item.cluster for item in common_items if item.only_own_passes)
    only_best = Counter(item.cluster for item in common_items if item.only_best_passes)
    return ClusteredPairs(
        sizes=list(sizes.values()),
        differences=[only_own[cluster] - only_best[cluster] for cluster in sizes],
        only_a=only_own.total(),
        only_b=only_best.total(),
    )


@dataclass(frozen=True, slots=True)
class _CommonItem:
    """Item on which a run and the best run have a verdict."""

    cluster: Cluster
    own: ItemOutcome
    best: ItemOutcome

    @property
    def only_own_passes(self) -> bool:
        return self.own.verdict is True and self.best.verdict is False

    @property
    def only_best_passes(self) -> bool:
        return self.best.verdict is True and self.own.verdict is False


def _list_common_items(items: Sequence[AlignedItem], run: int, best: int) -> list[_CommonItem]:
    """Return the items on which both runs have a verdict."""
    common_items = []
    for item in items:
        own = item.outcomes[run]
        other = item.outcomes[best]
        if own is None or other is None:
            continue
        if own.verdict is None or other.verdict is None:
            continue
        common_items.append(_CommonItem(item.cluster, own=own, best=other))
    return common_items


def _has_one_sided_override(a: ItemOutcome, b: ItemOutcome) -> bool:
    """Whether annotators changed the verdict of one run and did not review the other run."""
    return (a.is_override and not b.is_reviewed) or (b.is_override and not a.is_reviewed)


def _build_matrix_item(item: AlignedItem, rate_by_run: Mapping[int, float]) -> MatrixItem:
    """Return an item with its verdict in each run, in the order of `rate_by_run`.

    Args:
        item: The item.
        rate_by_run: The pass rate of each run, by the index of the run.
    """
    verdicts = [None if outcome is None else outcome.verdict for outcome in item.outcomes]
    # `compute_upset_score` searches the rates of failing runs among sorted rates of passing ones.
    passing_rates = sorted(rate for run, rate in rate_by_run.items() if verdicts[run] is True)
    failing_rates = [rate for run, rate in rate_by_run.items() if verdicts[run] is False]
    return MatrixItem(
        item,
        verdicts=tuple(verdicts[run] for run in rate_by_run),
        passing=len(passing_rates),
        known=len(passing_rates) + len(failing_rates),
        upset_score=compute_upset_score(passing_rates, failing_rates),
    )


def compute_upset_score(passing_rates: Sequence[float], failing_rates: Sequence[float]) -> float:
    """Compute how much stronger the runs that fail an item are than the runs that pass it.

    The score is the Mann-Whitney U statistic as a standard score (Mann and Whitney 1947), without
    correction for ties. It is 0 if all runs agree.

    Args:
        passing_rates: Pass rates of the runs that pass the item, in ascending order.
        failing_rates: Pass rates of the runs that fail it.
    """
    n_passing = len(passing_rates)
    n_failing = len(failing_rates)
    if n_passing == 0 or n_failing == 0:
        return 0.0

    # U: number of pairs in which the failing run is stronger. Equally strong runs count half.
    u = 0.0
    for rate in failing_rates:
        n_weaker = bisect_left(passing_rates, rate)
        n_weaker_or_equal = bisect_right(passing_rates, rate)
        u += (n_weaker + n_weaker_or_equal) / 2

    # The mean and variance of U if passing does not depend on the strength of a run
    n_pairs = n_passing * n_failing
    mean = n_pairs / 2
    variance = n_pairs * (n_passing + n_failing + 1) / 12
    return (u - mean) / sqrt(variance)
