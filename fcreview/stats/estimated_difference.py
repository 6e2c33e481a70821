"""Compare the estimates of two runs from a joint sample: a random sample of questions of which both
runs were reviewed.

The estimate is the difference A - B of the pass rates that the runs would have if all questions
were reviewed. The questions are divided into strata h by their probability to be drawn and by the
automatic verdicts: equal verdicts, only A passes, only B passes. With N_h questions, n_h reviewed
ones, and the mean difference d_h of their human verdicts (1 if only A passes, -1 if only B passes),
the estimate is

    t = (K + sum of N_h d_h) / N

where K is the sum of the differences of the questions that need no review. With Tango's limits l_h
and u_h of the difference of n_h / (1 - n_h / N_h) pairs, the interval is (Zou and Donner 2008, the
method of variance estimates recovery, as in `score_interval`)

    from  t - sqrt(sum of (N_h (d_h - l_h))^2) / N
    to    t + sqrt(sum of (N_h (u_h - d_h))^2) / N

p is the level at which the interval ends at 0, so that p is below 0.05 if the 95 % interval
excludes 0. If the sample draws whole tasks or conversations, the numbers of pairs are divided by
the design effect.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import erfc, sqrt
from typing import TYPE_CHECKING, Literal

from fcreview.stats.intervals import NORMAL_QUANTILE
from fcreview.stats.paired_difference import (
    Number,
    compute_design_effect,
    compute_tango_interval,
)
from fcreview.stats.run_comparison import RunComparison, group_by_question, list_outcomes

if TYPE_CHECKING:
    from fcreview.stats.posterior import ItemStatus

ESTIMATED_DIFFERENCE_METHOD = "poststratified tango"
MIN_STRATUM_QUESTIONS = 12
"""Number of reviewed questions below which strata are joined. Very small strata make the interval
too wide (`benchmarks/coverage/joint.py`).
"""
MAX_QUANTILE = 8.0
"""Quantile of the normal distribution that corresponds to a p value of about 1e-15."""
_BISECTION_STEPS = 26
_PRIOR_FLIPS = 0.25
"""Weight, in flips, of the assumption that all pairs of a cluster flip together
(`compute_design_effect` explains it). The strata leave few flips, so that it is smaller than there.
"""


@dataclass(frozen=True, slots=True)
class JointSampleItem:
    """Item of a run, with its part in the joint samples of two runs."""

    status: ItemStatus
    queues: tuple[str, ...]
    """Names of the joint samples that can draw the item."""
    probability: float
    """Probability that at least one of them draws it."""
    is_drawn: bool
    """Whether a joint sample drew the item."""
    cluster: str | None = None
    """Task or conversation with which a joint sample draws the item, the same in both runs; None
    if it draws single questions.
    """

    @property
    def needs_no_review(self) -> bool:
        """Whether the verdict was known before the sample was drawn, or is that of an incident."""
        return self.status.is_in_known_stratum

    @property
    def is_reached(self) -> bool:
        return self.is_drawn and self.status.sample_outcome not in (None, "not reviewed")


RunSample = Mapping[int, JointSampleItem]
"""The items of a run by item number. Empty if the two runs have no joint sample."""

NO_JOINT_SAMPLE = (
    "the runs have no joint sample, which is a random sample of questions with the items of both"
    " runs. Draw one with fcreview queue create --compare"
)
NOTHING_REVIEWED = "no question of the joint sample is reviewed in both runs"
ALL_UNDECIDED = "all reviewed questions of the joint sample are undecided"
NOT_IN_SAMPLE = "the joint sample can draw none of the compared questions"


@dataclass(frozen=True, slots=True)
class EstimatedDifference:
    """Estimated difference of the pass rates, A - B, from -1 to 1.

    Without an estimate, `value` is None, and `reason` says why.
    """

    reason: str = ""
    n_questions: int = 0
    """Number of pairs of items (questions, or trials of tasks) that the estimate is about."""
    n_reviewed: int = 0
    """Number of these pairs that were reviewed in both runs as part of a joint sample."""
    n_undecided: int = 0
    n_outside: int = 0
    """Number of pairs that no joint sample can draw, so that the estimate is not about them."""
    n_clusters: int = 0
    """Number of reviewed clusters: tasks, conversations, or single questions."""
    design_effect: float | None = None
    automatic: float | None = None
    """Difference of the automatic verdicts on the same questions."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """None if all questions are reviewed, or if the bounds are the headline."""
    bounds: tuple[float, float] | None = None
    """Low end of the interval if A fails and B passes all undecided items, and high end in the
    opposite case; None without undecided items.
    """
    is_bounds_headline: bool = False
    """Whether to show the bounds instead of the interval, because too many questions are
    undecided.
    """

    @property
    def headline(self) -> Literal["interval", "bounds"] | None:
        if self.is_bounds_headline:
            return "bounds"
        return None if self.value is None else "interval"


def estimate_difference(
    comparison: RunComparison, sample_a: RunSample, sample_b: RunSample
) -> EstimatedDifference:
    """Estimate the difference of two runs from the reviewed questions that both have.

    If annotators were undecided, the estimate also gets its bounds: the differences if all
    undecided items were decided against A, or in favour of A.
    """
    if not sample_a or not sample_b:
        return EstimatedDifference(NO_JOINT_SAMPLE)

    pairs = _pair_items(comparison, sample_a, sample_b)
    frames = _Frames(pairs)
    estimate = _estimate([_build_question(pair, frames) for pair in pairs])
    if not estimate.n_undecided:
        return estimate

    against_a = _UndecidedVerdicts(a=False, b=True)
    in_favour_of_a = _UndecidedVerdicts(a=True, b=False)
    lowest = _estimate([_build_question(pair, frames, against_a) for pair in pairs])
    highest = _estimate([_build_question(pair, frames, in_favour_of_a) for pair in pairs])
    return _add_bounds(estimate, lowest, highest)


def _add_bounds(
    estimate: EstimatedDifference, lowest: EstimatedDifference, highest: EstimatedDifference
) -> EstimatedDifference:
    """Add the bounds of an estimate, which contain the intervals for all verdicts that the
    undecided items can get.

    Args:
        estimate: The estimate from the decided items.
        lowest: The estimate if all undecided items are decided against A.
        highest: The estimate if all undecided items are decided in favour of A.
    """
    from fcreview.stats.estimation import are_bounds_headline

    lows = [low for low in (estimate.low, lowest.low) if low is not None]
    highs = [high for high in (estimate.high, highest.high) if high is not None]
    with_bounds = replace(estimate, bounds=(min(lows), max(highs)))
    if estimate.low is None or estimate.high is None:
        return replace(with_bounds, is_bounds_headline=True)

    # With many undecided items, the bounds say more than the interval, and p means little.
    undecided_share = estimate.n_undecided / (estimate.n_undecided + estimate.n_reviewed)
    half_width = (estimate.high - estimate.low) / 2
    if are_bounds_headline(undecided_share, half_width):
        return replace(with_bounds, is_bounds_headline=True, p=None)
    return with_bounds


@dataclass(frozen=True, slots=True)
class _ItemPair:
    """Items of both runs on one question, or on all trials of a task."""

    items_a: Sequence[JointSampleItem]
    items_b: Sequence[JointSampleItem]
    number: int

    @property
    def items(self) -> Sequence[JointSampleItem]:
        return (*self.items_a, *self.items_b)

    @property
    def size(self) -> int:
        """Number of pairs: 1, or the number of trials that both runs have."""
        return min(len(self.items_a), len(self.items_b))

    @property
    def items_to_review(self) -> Sequence[JointSampleItem]:
        return [item for item in self.items if not item.needs_no_review]

    @property
    def cluster(self) -> str:
        """Name of the task or conversation, or of the question if it is drawn alone."""
        for item in self.items:
            if item.cluster is not None:
                return item.cluster
        return f"question {self.number}"


def _pair_items(
    comparison: RunComparison, sample_a: RunSample, sample_b: RunSample
) -> list[_ItemPair]:
    """Return the items of each question that both runs have."""
    pairs: list[_ItemPair] = []
    for items in comparison.items_by_category.values():
        for items_of_question in group_by_question(items):
            outcomes_a = list_outcomes(items_of_question, side=0)
            outcomes_b = list_outcomes(items_of_question, side=1)
            pair = _ItemPair(
                [sample_a[outcome.item] for outcome in outcomes_a],
                items_b=[sample_b[outcome.item] for outcome in outcomes_b],
                number=len(pairs),
            )
            if pair.size:
                pairs.append(pair)
    return pairs


@dataclass(frozen=True, slots=True)
class _UndecidedVerdicts:
    """Verdicts that are assumed for the undecided items of A and of B."""

    a: bool
    b: bool


Decision = Literal["settled", "reviewed", "undecided", "not reviewed", "outside"]


@dataclass(frozen=True, slots=True)
class _Question:
    size: int
    frame: str
    """Joint samples that can draw the question, with its probability."""
    verdicts: str
    """Verdicts of both runs that were known before the sample was drawn (`_classify_pair`)."""
    cluster: str
    decision: Decision
    automatic: Number
    """Passing items of A minus passing items of B, by automatic verdicts."""
    human: Number
    """The same by human verdicts; meaningless unless the question is settled or reviewed."""


class _Frames:
    """Names for the parts of the questions that were sampled alike."""

    def __init__(self, pairs: Iterable[_ItemPair]) -> None:
        probabilities = [item.probability for pair in pairs for item in pair.items_to_review]
        self._lowest_probabilities = _list_lowest_probabilities(probabilities)
        """The lowest probability of each group of nearly equal ones, in ascending order."""

    def name(self, pair: _ItemPair) -> str:
        """Return the queues that can draw the items of a pair, and how likely they do. Pairs with
        equal names were sampled alike.
        """
        names = set()
        for item in pair.items_to_review:
            queues = " ".join(item.queues)
            names.add(f"{queues} {self._find_probability_group(item.probability)}")
        return ", ".join(sorted(names))

    def _find_probability_group(self, probability: float) -> int:
        """Return the number, from 1, of the group of nearly equal probabilities that contains one.

        In a proportional sample, the probabilities of the strata differ only by rounding.
        """
        return bisect_right(self._lowest_probabilities, probability)


def _list_lowest_probabilities(probabilities: Iterable[float]) -> list[float]:
    """Return the lowest probability of each group of nearly equal ones, in ascending order."""
    from fcreview.stats.posterior import MAX_PROBABILITY_RATIO

    smallest: list[float] = []
    for probability in sorted(set(probabilities)):
        if not smallest or probability > MAX_PROBABILITY_RATIO * smallest[-1]:
            smallest.append(probability)
    return smallest


def _build_question(
    pair: _ItemPair, frames: _Frames, assumed: _UndecidedVerdicts | None = None
) -> _Question:
    """Return the differences on a question. `assumed`: verdicts on undecided items, or None to
    leave the question undecided.
    """
    automatic_a = [item.status.automatic is True for item in pair.items_a]
    automatic_b = [item.status.automatic is True for item in pair.items_b]
    human_a = _list_verdicts(pair.items_a, None if assumed is None else assumed.a)
    human_b = _list_verdicts(pair.items_b, None if assumed is None else assumed.b)
    return _Question(
        pair.size,
        frame=frames.name(pair),
        verdicts=_classify_pair(pair),
        cluster=pair.cluster,
        decision=_find_decision(pair, assumes_verdicts=assumed is not None),
        automatic=_subtract_passes(automatic_a, automatic_b, pair.size),
        human=_subtract_passes(human_a, human_b, pair.size),
    )


def _list_verdicts(items: Iterable[JointSampleItem], assumed: bool | None) -> list[bool]:
    """Return whether each item passes by its human verdict, else by the assumed verdict if it is
    undecided, else by its automatic verdict.
    """
    verdicts = []
    for item in items:
        verdict = item.status.human
        if verdict is None and item.status.is_undecided:
            verdict = assumed
        if verdict is None:
            verdict = item.status.automatic is True
        verdicts.append(verdict)
    return verdicts


def _subtract_passes(verdicts_a: Sequence[bool], verdicts_b: Sequence[bool], size: int) -> Number:
    """Return the passes of A minus the passes of B. If a task has more trials in one run, they
    count as `size` trials with the same pass rate.
    """
    if len(verdicts_a) == len(verdicts_b):
        return sum(verdicts_a) - sum(verdicts_b)
    passes_a = Fraction(sum(verdicts_a) * size, len(verdicts_a))
    passes_b = Fraction(sum(verdicts_b) * size, len(verdicts_b))
    return passes_a - passes_b


def _find_decision(pair: _ItemPair, *, assumes_verdicts: bool) -> Decision:
    """Return whether the question of a pair is reviewed, and if not, why."""
    to_review = pair.items_to_review
    if not to_review:
        return "settled"
    if not all(item.queues for item in to_review):
        return "outside"
    if not all(item.is_reached for item in to_review):
        return "not reviewed"
    if all(item.status.has_sample_verdict for item in to_review):
        return "reviewed"
    return "reviewed" if assumes_verdicts else "undecided"


def _classify_pair(pair: _ItemPair) -> str:
    """Return the verdicts on the items of both runs that were known before the sample was drawn.

    Pairs with equal verdicts are one class: of single items, their automatic difference is 0.
    Passing and failing pairs apart would be more strata, and the interval of many strata with few
    differences is too wide (`benchmarks/coverage/joint.py`).
    """
    verdicts_a = _classify(pair.items_a)
    verdicts_b = _classify(pair.items_b)
    if verdicts_a == verdicts_b:
        return "equal"
    return f"{verdicts_a}, {verdicts_b}"


def _classify(items: Iterable[JointSampleItem]) -> str:
    """Return the verdicts on the items of one run that were known before the sample was drawn."""
    classes = set()
    for item in items:
        status = item.status
        if item.needs_no_review:
            verdict = status.automatic if status.human is None else status.human
            classes.add(f"known {verdict}")
        else:
            classes.add(str(status.automatic))
    return "/".join(sorted(classes))


@dataclass(slots=True)
class _Stratum:
    """Questions of a stratum."""

    n_pairs: int = 0
    n_reviewed: int = 0
    """Number of reviewed pairs."""
    only_a: float = 0.0
    """Number of reviewed pairs that only A passes."""
    only_b: float = 0.0
    reviewed: list[_Question] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Mean difference of the reviewed pairs; 0 if none is reviewed."""
        return (self.only_a - self.only_b) / self.n_reviewed if self.n_reviewed else 0.0

    @property
    def squared_deviations(self) -> float:
        """Sum of the squared deviations of the reviewed pairs from their mean difference.

        A pair that only one run passes has the square 1, and any other pair the square 0.
        """
        return self.only_a + self.only_b - self.n_reviewed * self.mean**2

    def add(self, question: _Question) -> None:
        self.n_pairs += question.size
        if question.decision == "reviewed":
            self.n_reviewed += question.size
            self.only_a += float(max(question.human, 0))
            self.only_b += float(max(-question.human, 0))
            self.reviewed.append(question)

    def join(self, other: _Stratum) -> None:
        self.n_pairs += other.n_pairs
        self.n_reviewed += other.n_reviewed
        self.only_a += other.only_a
        self.only_b += other.only_b
        self.reviewed += other.reviewed

    def compute_limits(self, design_effect: float, quantile: float) -> tuple[float, float]:
        """Return Tango's limits of the mean difference, with the finite population correction.

        The variance of the mean of n of N pairs is that of n independent pairs, times (N - n) / N
        for the finite population, and times the design effect. So the limits are those of as many
        independent pairs as have this variance, with the same shares.
        """
        n_unreviewed = self.n_pairs - self.n_reviewed
        if not n_unreviewed:
            return self.mean, self.mean
        if not self.n_reviewed:
            return -1.0, 1.0
        independent_per_pair = self.n_pairs / n_unreviewed / design_effect
        return compute_tango_interval(
            self.only_a * independent_per_pair,
            self.only_b * independent_per_pair,
            n=self.n_reviewed * independent_per_pair,
            quantile=quantile,
        )


def _estimate(questions: Sequence[_Question]) -> EstimatedDifference:
    """Estimate the difference from the reviewed questions that a joint sample can draw, or give the
    reason why there is no estimate.
    """
    counts = _count_pairs(questions)
    covered = [question for question in questions if question.decision != "outside"]
    n_pairs = sum(question.size for question in covered)
    automatic = None
    if n_pairs:
        automatic = float(sum(question.automatic for question in covered)) / n_pairs

    without_value = EstimatedDifference(
        _explain_missing_estimate(counts, n_pairs),
        n_questions=n_pairs,
        n_reviewed=counts["reviewed"],
        n_undecided=counts["undecided"],
        n_outside=counts["outside"],
        automatic=automatic,
    )
    if without_value.reason:
        return without_value

    model = _DifferenceModel(covered)
    low, high = model.compute_interval(NORMAL_QUANTILE)
    return replace(
        without_value,
        n_clusters=model.n_clusters,
        design_effect=model.design_effect,
        value=model.value,
        low=low,
        high=high,
        p=model.compute_p_value(),
    )


def _explain_missing_estimate(counts: Counter[Decision], n_pairs: int) -> str:
    """Return why there is no estimate, or an empty text. `n_pairs` is the number of pairs that a
    joint sample can draw.
    """
    if not n_pairs:
        return NOT_IN_SAMPLE
    if counts["reviewed"]:
        return ""
    return ALL_UNDECIDED if counts["undecided"] else NOTHING_REVIEWED


def _count_pairs(questions: Iterable[_Question]) -> Counter[Decision]:
    counts: Counter[Decision] = Counter()
    for question in questions:
        counts[question.decision] += question.size
    return counts


class _DifferenceModel:
    """The strata of a joint sample, with the estimate of the difference."""

    def __init__(self, questions: Sequence[_Question]) -> None:
        settled = [question for question in questions if question.decision == "settled"]
        self._n_pairs = sum(question.size for question in questions)
        self._settled_difference = float(sum(question.human for question in settled))
        self._strata = _build_strata(questions)
        self.n_clusters = len(self._list_cluster_sizes())
        self.design_effect = self._estimate_design_effect()

    @property
    def value(self) -> float:
        total = sum(stratum.n_pairs * stratum.mean for stratum in self._strata)
        return (self._settled_difference + total) / self._n_pairs

    def compute_interval(self, quantile: float) -> tuple[float, float]:
        """Return the ends of the interval of the difference, from the limits of each stratum.

        The distance from an estimate to its limit plays the part of a standard error: distances of
        independent strata, weighted by their numbers of pairs, are added in squares, separately on
        each side (method of variance estimates recovery, Zou and Donner 2008).
        """
        squares_below = 0.0
        squares_above = 0.0
        for stratum in self._strata:
            low, high = stratum.compute_limits(self.design_effect, quantile)
            squares_below += (stratum.n_pairs * (stratum.mean - low)) ** 2
            squares_above += (stratum.n_pairs * (high - stratum.mean)) ** 2
        value = self.value
        low_end = value - sqrt(squares_below) / self._n_pairs
        high_end = value + sqrt(squares_above) / self._n_pairs
        return low_end, high_end

    def compute_p_value(self) -> float | None:
        """Return the level at which the interval ends at 0; None without a sampling error.

        The larger the quantile, the wider the interval. Bisection finds the quantile from which on
        the interval contains 0.
        """
        if all(stratum.n_reviewed == stratum.n_pairs for stratum in self._strata):
            return None
        with_zero = MAX_QUANTILE
        without_zero = 0.0
        for _ in range(_BISECTION_STEPS):
            middle = (with_zero + without_zero) / 2
            low, high = self.compute_interval(middle)
            if low <= 0 <= high:
                with_zero = middle
            else:
                without_zero = middle
        # Probability that a standard normal variable is farther from 0 than the quantile
        return erfc(without_zero / sqrt(2))

    def _list_cluster_sizes(self) -> list[int]:
        """Return the number of reviewed pairs of each cluster."""
        sizes: Counter[str] = Counter()
        for stratum in self._strata:
            for question in stratum.reviewed:
                sizes[question.cluster] += question.size
        return list(sizes.values())

    def _estimate_design_effect(self) -> float:
        """Return how much larger the variance of the estimate is than that of independent pairs,
        because the pairs of a cluster resemble each other.

        `compute_design_effect` also multiplies by the square of the ratio of Student's t quantile
        to the normal one.
        """
        sizes = self._list_cluster_sizes()
        if max(sizes) == 1:
            return 1.0
        if len(sizes) == 1:
            # One cluster counts as one pair.
            return float(sum(sizes))

        independent_variance = 0.0
        for stratum in self._strata:
            if stratum.reviewed:
                weight = self._compute_weight_of_pair(stratum, n_all_reviewed=sum(sizes))
                independent_variance += weight**2 * stratum.squared_deviations
        deviations = self._sum_deviations_of_clusters(n_all_reviewed=sum(sizes))
        return compute_design_effect(
            sizes,
            squared_deviations=sum(deviation**2 for deviation in deviations),
            independent_variance=independent_variance,
            prior_flips=_PRIOR_FLIPS,
        )

    def _sum_deviations_of_clusters(self, n_all_reviewed: int) -> list[float]:
        """Return for each cluster the sum of the weighted deviations of its pairs from the mean of
        their stratum.
        """
        deviations: defaultdict[str, float] = defaultdict(float)
        for stratum in self._strata:
            if not stratum.reviewed:
                continue
            weight = self._compute_weight_of_pair(stratum, n_all_reviewed)
            for question in stratum.reviewed:
                deviation = float(question.human) - question.size * stratum.mean
                deviations[question.cluster] += weight * deviation
        return list(deviations.values())

    def _compute_weight_of_pair(self, stratum: _Stratum, n_all_reviewed: int) -> float:
        """Return the weight of a reviewed pair: the number of pairs of its stratum for which it
        stands, divided by the same number for all strata. If every stratum has reviewed pairs, the
        mean weight is 1.
        """
        return stratum.n_pairs / stratum.n_reviewed * n_all_reviewed / self._n_pairs


def _build_strata(questions: Iterable[_Question]) -> list[_Stratum]:
    """Group the questions that a joint sample can draw. Questions that were sampled differently
    are never in the same stratum.

    Settled questions need no review, so they are not drawn.
    """
    strata_by_frame: dict[str, dict[str, _Stratum]] = {}
    for question in questions:
        if question.decision != "settled":
            strata = strata_by_frame.setdefault(question.frame, {})
            strata.setdefault(question.verdicts, _Stratum()).add(question)

    joined: list[_Stratum] = []
    for strata in strata_by_frame.values():
        joined += _join_small_strata(strata.values())
    return joined


def _join_small_strata(strata: Iterable[_Stratum]) -> list[_Stratum]:
    """Join the strata with too few reviewed questions into one.

    If the joined stratum still has too few, the smallest other stratum is joined to it.
    """
    joined = _Stratum()
    large_strata = []
    smallest_first = sorted(strata, key=lambda stratum: len(stratum.reviewed))
    for stratum in smallest_first:
        is_small = len(stratum.reviewed) < MIN_STRATUM_QUESTIONS
        joined_is_small = joined.n_pairs > 0 and len(joined.reviewed) < MIN_STRATUM_QUESTIONS
        if is_small or joined_is_small:
            joined.join(stratum)
        else:
            large_strata.append(stratum)

    if joined.n_pairs:
        return [joined, *large_strata]
    return large_strata
