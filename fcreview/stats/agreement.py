"""Compute the agreement of annotators: all coefficients, with intervals, for each group of ratings.

`agreement_coefficients` defines the coefficients, `agreement_intervals` their intervals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import isnan
from typing import Literal

import numpy as np

from fcreview.model.effective_verdict import is_definite
from fcreview.stats.agreement_coefficients import (
    ZERO_TOLERANCE,
    FloatArray,
    IntArray,
    Statistic,
    build_cohen_kappa,
    build_fleiss_kappa,
    build_gwet_ac1,
    build_gwet_ac2,
    build_krippendorff_alpha,
    build_ordinal_krippendorff_alpha,
    build_percent_agreement,
    build_weighted_kappa,
    compute_masi_distances,
    compute_pairwise_agreement,
    make_quadratic_weights,
)
from fcreview.stats.agreement_intervals import (
    MIN_ITEMS,
    NO_LABEL,
    ItemAgreement,
    ItemGroup,
    compute_bayesian_bootstrap_interval,
    compute_clustered_share_interval,
    compute_mid_p_interval,
    draw_plausible_counts,
    make_prior_units,
)
from fcreview.stats.agreement_ratings import (
    AgreementCoefficient,
    AgreementScope,
    BlindStatus,
    CoefficientName,
    IntervalMethod,
    LabelKey,
    MeasurementLevel,
    Rating,
    RatingGroup,
    RepeatedRating,
    build_labels_with_faults,
    group_ratings,
    infer_measurement_level,
    list_label_keys,
    to_label_key,
)


@dataclass(frozen=True, slots=True)
class CoefficientEstimate:
    """Coefficient with its 95 % interval. The value is None if the coefficient is undefined, and
    the ends of the interval are None if there is no interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: IntervalMethod | None = None
    note: str = ""
    """Why there is no interval."""


NO_DISAGREEMENT = "no disagreement"
FEW_ITEMS = f"fewer than {MIN_ITEMS} items"


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Labels that the annotators gave to all units.

    Each row is a pattern: the labels of one or more units.
    """

    annotators: tuple[str, ...]
    label_keys: tuple[LabelKey, ...]
    level: MeasurementLevel
    cells: IntArray
    """Indexes into `label_keys`, or `NO_LABEL`, of shape (patterns, annotators). The last patterns
    may be those of `prior_units`.
    """
    units_per_pattern: IntArray
    """Number of units of each pattern; 0 for a pattern that only `prior_units` has."""
    item_groups: tuple[ItemGroup, ...]
    prior_units: FloatArray
    """Number of units of each pattern that are added for intervals."""

    def count_labels(self) -> IntArray:
        """Count the annotators who chose each label in each pattern, of shape (patterns,
        label_keys).
        """
        n_patterns = len(self.cells)
        n_label_keys = len(self.label_keys)
        # Every label of every pattern gets a number of its own, so that one count is enough.
        first_number_of_pattern = n_label_keys * np.arange(n_patterns)[:, np.newaxis]
        numbers = self.cells + first_number_of_pattern
        given_numbers = numbers[self.cells != NO_LABEL]
        counts = np.bincount(given_numbers, minlength=n_patterns * n_label_keys)
        return counts.reshape(n_patterns, n_label_keys)

    @property
    def scores(self) -> FloatArray | None:
        """Scores of the categories; None if a category is no number."""
        scores = []
        for key in self.label_keys:
            try:
                scores.append(float(key))  # type: ignore[arg-type]  # a set raises TypeError
            except (TypeError, ValueError):
                return None
        return np.array(scores)


def build_rating_table(criterion: str, ratings: Sequence[Rating]) -> RatingTable:
    """Build the table of the labels that annotators gave to units. There must be at least one.

    A unit is what gets a label, such as an item or one of its calls. Units with the same labels by
    the same annotators have one pattern, a row of the table. If an annotator labelled a unit more
    than once, the last label counts.
    """
    annotators = sorted({rating.annotator for rating in ratings})
    values = [rating.value for rating in ratings]
    label_keys = list_label_keys(criterion, values)
    units = list(dict.fromkeys((rating.item, rating.target) for rating in ratings))

    # Equal rows of the array of all units become one pattern.
    labels_by_unit = _fill_cells(ratings, units, annotators, label_keys)
    patterns, pattern_of_unit, units_per_pattern = np.unique(
        labels_by_unit, axis=0, return_inverse=True, return_counts=True
    )
    item_of_unit = [item for item, _ in units]
    observed = RatingTable(
        annotators=tuple(annotators),
        label_keys=tuple(label_keys),
        level=infer_measurement_level(values),
        cells=patterns,
        units_per_pattern=units_per_pattern,
        item_groups=_group_items(item_of_unit, pattern_of_unit.reshape(-1).tolist()),
        prior_units=np.zeros(len(patterns)),
    )
    return _add_prior_units(observed)


def _add_prior_units(observed: RatingTable) -> RatingTable:
    """Add the patterns of the assumed units, which intervals need. No annotator labelled them, so
    they are not counted as units.
    """
    prior = make_prior_units(
        len(observed.annotators),
        n_labels=_find_most_frequent_label_count(observed.cells, observed.units_per_pattern),
        n_categories=len(observed.label_keys),
    )
    no_units = np.zeros(len(prior.units), dtype=np.int64)
    return replace(
        observed,
        cells=np.concatenate([observed.cells, prior.cells]),
        units_per_pattern=np.concatenate([observed.units_per_pattern, no_units]),
        prior_units=np.concatenate([observed.prior_units, prior.units]),
    )


def _fill_cells(
    ratings: Sequence[Rating],
    units: Sequence[tuple[int, str]],
    annotators: Sequence[str],
    label_keys: Sequence[LabelKey],
) -> IntArray:
    """Return the label of each unit by each annotator, of shape (units, annotators).

    A label is its index in `label_keys`. It is `NO_LABEL` if the annotator gave none.
    """
    row_of_unit = {unit: row for row, unit in enumerate(units)}
    column_of_annotator = {name: column for column, name in enumerate(annotators)}
    code_of_label = {key: code for code, key in enumerate(label_keys)}

    cells = np.full((len(units), len(annotators)), NO_LABEL, dtype=np.int64)
    for rating in ratings:
        row = row_of_unit[rating.item, rating.target]
        column = column_of_annotator[rating.annotator]
        cells[row, column] = code_of_label[to_label_key(rating.value)]
    return cells


def _find_most_frequent_label_count(cells: IntArray, units_per_pattern: IntArray) -> int:
    """Return the number of labels that most units have, at least 2. If two numbers are equally
    frequent, return the larger one.
    """
    n_labels = (cells != NO_LABEL).sum(axis=1)
    n_units_by_count = np.bincount(n_labels, units_per_pattern, minlength=3)
    counts = range(2, len(n_units_by_count))
    return max(counts, key=lambda count: (n_units_by_count[count], count))


def _group_items(
    item_of_unit: Sequence[int], pattern_of_unit: Sequence[int]
) -> tuple[ItemGroup, ...]:
    """Group items with the same patterns."""
    patterns_of_item: dict[int, list[int]] = {}
    for item, pattern in zip(item_of_unit, pattern_of_unit, strict=True):
        patterns_of_item.setdefault(item, []).append(pattern)
    counts = Counter(tuple(sorted(patterns)) for patterns in patterns_of_item.values())
    return tuple(ItemGroup(patterns, n_items) for patterns, n_items in sorted(counts.items()))


def compute_agreement(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], blind_status: BlindStatus
) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all groups of ratings with `compute_coefficients`."""
    for group in build_rating_groups(ratings, scopes, blind_status):
        yield from compute_coefficients(group)


def build_rating_groups(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], blind_status: BlindStatus
) -> list[RatingGroup]:
    """Divide ratings into groups whose agreement is measured, for example by criterion."""
    labels = build_labels_with_faults(ratings)
    groups: list[RatingGroup] = []
    for scope in scopes:
        groups += group_ratings(labels, scope, blind_status)
    return groups


@dataclass(frozen=True, slots=True)
class _CoefficientRequest:
    metric: CoefficientName
    annotators: tuple[str, ...]
    patterns: IntArray
    statistic: Statistic
    agreement: FloatArray
    """Share of equal pairs of labels in each of `patterns`."""
    level: MeasurementLevel = "nominal"


def compute_coefficients(group: RatingGroup) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all annotators of a group, then the coefficients of each pair
    of annotators.
    """
    table = build_rating_table(group.criterion, group.ratings)
    yield from _compute_requested(group, table, _build_requests_for_all_annotators(table))

    for pair in combinations(table.annotators, 2):
        ratings_of_pair = [rating for rating in group.ratings if rating.annotator in pair]
        table_of_pair = build_rating_table(group.criterion, ratings_of_pair)
        # With two annotators, the percentage of all annotators is the same.
        has_share = len(table.annotators) > 2
        requests = _build_requests_for_pair(table_of_pair, has_share=has_share, level=table.level)
        yield from _compute_requested(group, table_of_pair, requests)


def _compute_requested(
    group: RatingGroup, table: RatingTable, requests: Iterable[_CoefficientRequest]
) -> Iterator[AgreementCoefficient]:
    """Compute the requested coefficients of a table of labels, each with its interval."""
    plausible_counts = draw_plausible_counts(table.item_groups, table.prior_units)
    labels_per_pattern = (table.cells != NO_LABEL).sum(axis=1)
    for request in requests:
        estimate = _estimate_coefficient(request, table, plausible_counts)
        n_units = table.units_per_pattern[request.patterns]
        n_labels = n_units * labels_per_pattern[request.patterns]
        yield AgreementCoefficient(
            scope=group.scope,
            benchmark=group.benchmark,
            category=group.category,
            criterion=group.criterion,
            level=request.level,
            metric=request.metric,
            annotators=request.annotators,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n_units=int(n_units.sum()),
            n_labels=int(n_labels.sum()),
            given=group.given,
            interval=estimate.method,
            interval_note=estimate.note,
        )


def _estimate_coefficient(
    request: _CoefficientRequest, table: RatingTable, plausible_counts: FloatArray
) -> CoefficientEstimate:
    """Compute a coefficient of agreement, with the interval that suits its data."""
    units_per_pattern = table.units_per_pattern.astype(np.float64)
    # A statistic computes many draws at once. Here, the only draw is the data.
    value = float(request.statistic(units_per_pattern[np.newaxis])[0])
    if isnan(value):
        return CoefficientEstimate()

    if request.metric == "percent":
        return _estimate_percent_agreement(request, table, value)
    return _estimate_chance_corrected_agreement(request, table, plausible_counts, value)


def _estimate_percent_agreement(
    request: _CoefficientRequest, table: RatingTable, value: float
) -> CoefficientEstimate:
    """Return the percentage of equal labels with its interval: mid-p for independent units, else
    Wilson's, which needs several items.
    """
    if _has_independent_pairs(table):
        n_units = _count_units(request, table)
        mid_p = compute_mid_p_interval(round(_count_equal_units(request, table)), round(n_units))
        return CoefficientEstimate(value, low=mid_p.low, high=mid_p.high, method="mid-p")
    if _count_items(table.item_groups, request.patterns) < MIN_ITEMS:
        return CoefficientEstimate(value, note=FEW_ITEMS)
    wilson = compute_clustered_share_interval(_list_item_agreements(request, table))
    return CoefficientEstimate(value, low=wilson.low, high=wilson.high, method="wilson")


def _estimate_chance_corrected_agreement(
    request: _CoefficientRequest, table: RatingTable, plausible_counts: FloatArray, value: float
) -> CoefficientEstimate:
    """Return a coefficient such as kappa, with its interval by the Bayesian bootstrap. A note says
    why there is none.
    """
    # Without a disagreement, the labels do not show how rare disagreements are.
    n_different = _count_units(request, table) - _count_equal_units(request, table)
    if n_different <= ZERO_TOLERANCE:
        return CoefficientEstimate(value, note=NO_DISAGREEMENT)
    if _count_items(table.item_groups, request.patterns) < MIN_ITEMS:
        return CoefficientEstimate(value, note=FEW_ITEMS)

    interval = compute_bayesian_bootstrap_interval(value, request.statistic, plausible_counts)
    if interval is None:
        return CoefficientEstimate(value)
    return CoefficientEstimate(
        value, low=interval.low, high=interval.high, method="bayesian bootstrap"
    )


def _count_units(request: _CoefficientRequest, table: RatingTable) -> float:
    return float(table.units_per_pattern[request.patterns].sum())


def _count_equal_units(request: _CoefficientRequest, table: RatingTable) -> float:
    """Count the units with equal labels. A unit of which a part of the pairs of labels is equal
    counts as that part.
    """
    n_units = table.units_per_pattern[request.patterns].astype(np.float64)
    return float((n_units * request.agreement).sum())


def _list_item_agreements(request: _CoefficientRequest, table: RatingTable) -> list[ItemAgreement]:
    """Return the agreement on each item: the sum over its units with the requested patterns."""
    agreement_by_pattern = dict(
        zip(request.patterns.tolist(), request.agreement.tolist(), strict=True)
    )
    items: list[ItemAgreement] = []
    for group in table.item_groups:
        counted = [pattern for pattern in group.patterns if pattern in agreement_by_pattern]
        if counted:
            agreement = sum(agreement_by_pattern[pattern] for pattern in counted)
            items += [ItemAgreement(len(counted), agreement)] * group.n_items
    return items


def _count_items(item_groups: Iterable[ItemGroup], patterns: IntArray) -> int:
    """Count the items with a unit that has one of the patterns."""
    counted = set(patterns.tolist())
    n_items = 0
    for group in item_groups:
        if not counted.isdisjoint(group.patterns):
            n_items += group.n_items
    return n_items


def _has_independent_pairs(table: RatingTable) -> bool:
    """Whether each unit has at most two labels and no item has several units, so that equal pairs
    have a binomial distribution.
    """
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    has_single_units = all(len(group.patterns) == 1 for group in table.item_groups)
    return has_single_units and int(n_labels.max(initial=0)) <= 2


def _build_requests_for_all_annotators(table: RatingTable) -> Iterator[_CoefficientRequest]:
    """Yield which coefficients of all annotators to compute: percent agreement, Fleiss' kappa,
    Krippendorff's alpha, AC1 and, for labels with an order, AC2.

    A pattern is a row of the table: the labels that some units have in common. Krippendorff's alpha
    is computed only from units with two labels or more. Gwet's AC1 and AC2 also use the other units
    for the prevalence of the labels.
    """
    counts = table.count_labels().astype(np.float64)
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    # Only units with two labels or more show agreement.
    comparable = np.flatnonzero(n_labels > 1)
    agreement = compute_pairwise_agreement(counts)[comparable]

    yield _build_percent_request(table)
    yield _build_fleiss_request(table, counts, n_labels)
    alpha = _choose_krippendorff_alpha(table, counts[comparable])
    yield _CoefficientRequest(
        "alpha",
        annotators=table.annotators,
        patterns=comparable,
        statistic=_restrict_to_patterns(comparable, alpha),
        agreement=agreement,
        level=table.level,
    )
    yield _CoefficientRequest(
        "ac1",
        annotators=table.annotators,
        patterns=comparable,
        statistic=build_gwet_ac1(counts),
        agreement=agreement,
    )
    # Labels with an order, such as 1 to 5, can differ a little or a lot.
    scores = table.scores
    if table.level == "ordinal" and scores is not None:
        yield _CoefficientRequest(
            "ac2",
            annotators=table.annotators,
            patterns=comparable,
            statistic=build_gwet_ac2(counts, make_quadratic_weights(scores)),
            agreement=agreement,
            level=table.level,
        )


def _build_fleiss_request(
    table: RatingTable, counts: FloatArray, n_labels: IntArray
) -> _CoefficientRequest:
    """Build the request to compute Fleiss' kappa, from the units with the most frequent number of
    labels.

    Fleiss' kappa is defined only for units that all have the same number of labels.
    """
    label_count = _find_most_frequent_label_count(table.cells, table.units_per_pattern)
    patterns = np.flatnonzero(n_labels == label_count)
    fleiss = build_fleiss_kappa(counts[patterns])
    return _CoefficientRequest(
        "fleiss",
        annotators=table.annotators,
        patterns=patterns,
        statistic=_restrict_to_patterns(patterns, fleiss),
        agreement=compute_pairwise_agreement(counts)[patterns],
    )


def _build_percent_request(table: RatingTable) -> _CoefficientRequest:
    """Return the request for the percentage of equal labels. Units with fewer than two labels do
    not count.
    """
    # A pattern is a row of the table. All units of a pattern have the same labels.
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    patterns = np.flatnonzero(n_labels > 1)
    label_counts = table.count_labels()[patterns].astype(np.float64)
    agreement = compute_pairwise_agreement(label_counts)
    return _CoefficientRequest(
        "percent",
        annotators=table.annotators,
        patterns=patterns,
        statistic=_restrict_to_patterns(patterns, build_percent_agreement(agreement)),
        agreement=agreement,
    )


def _build_requests_for_pair(
    table: RatingTable, *, has_share: bool, level: MeasurementLevel
) -> Iterator[_CoefficientRequest]:
    """Yield which coefficients of two annotators to compute: percent agreement, Cohen's kappa and,
    for labels with an order, weighted kappa. If one of them labelled nothing, there is none.

    Args:
        table: The labels of both annotators.
        has_share: Whether the percentage of equal labels is computed too.
        level: The level of the labels of all annotators, for example `ordinal`.
    """
    if len(table.annotators) < 2:
        return
    if has_share:
        yield _build_percent_request(table)

    # A pattern is a row of the table: the labels that some units have in common. Kappa is computed
    # only from the patterns in which both annotators have a label.
    patterns = np.flatnonzero((table.cells != NO_LABEL).all(axis=1))
    label_pairs = table.cells[patterns]
    agreement = (label_pairs[:, 0] == label_pairs[:, 1]).astype(np.float64)
    yield _CoefficientRequest(
        "cohen",
        annotators=table.annotators,
        patterns=patterns,
        statistic=_restrict_to_patterns(patterns, build_cohen_kappa(label_pairs)),
        agreement=agreement,
    )

    # Labels with an order, such as 1 to 5, can differ a little or a lot.
    scores = table.scores
    if level == "ordinal" and scores is not None:
        weighted_kappa = build_weighted_kappa(label_pairs, make_quadratic_weights(scores))
        yield _CoefficientRequest(
            "weighted",
            annotators=table.annotators,
            patterns=patterns,
            statistic=_restrict_to_patterns(patterns, weighted_kappa),
            agreement=agreement,
            level=level,
        )


def _restrict_to_patterns(patterns: IntArray, statistic: Statistic) -> Statistic:
    """Return a function that gets the numbers of units of all patterns, of shape (draws, patterns),
    and computes a coefficient that was built for some of the patterns.
    """
    return lambda pattern_counts: statistic(pattern_counts[:, patterns])


def _choose_krippendorff_alpha(table: RatingTable, label_counts: FloatArray) -> Statistic:
    """Return the form of Krippendorff's alpha for the kind of labels: ordered, unordered, or sets
    of labels.
    """
    if table.level == "ordinal":
        return build_ordinal_krippendorff_alpha(label_counts)
    if table.level == "nominal":
        return build_krippendorff_alpha(label_counts, 1 - np.eye(len(table.label_keys)))
    sets = [key if isinstance(key, frozenset) else frozenset({key}) for key in table.label_keys]
    return build_krippendorff_alpha(label_counts, compute_masi_distances(sets))


@dataclass(frozen=True, slots=True)
class SelfAgreement:
    """Agreement of annotators with their own repeated labels, in the fields of `fcreview
    agreement --json`.
    """

    scope: Literal["self"]
    annotator: str | None
    criterion: str
    n: int
    """Number of targets that the annotator labelled twice. "unsure" is not a label."""
    percent: float | None
    percent_low: float | None
    percent_high: float | None
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


def compute_self_agreement(repeats: Iterable[RepeatedRating]) -> Iterator[SelfAgreement]:
    """Compute how often annotators agree with their own earlier label, for each criterion.

    Each criterion has a result for each annotator, and one for all annotators together.
    """
    repeats_by_criterion: defaultdict[str, defaultdict[str, list[RepeatedRating]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for repeat in repeats:
        if is_definite(repeat.first) and is_definite(repeat.second):
            repeats_by_criterion[repeat.criterion][repeat.annotator].append(repeat)

    for criterion, repeats_by_annotator in sorted(repeats_by_criterion.items()):
        for annotator, own_repeats in sorted(repeats_by_annotator.items()):
            yield _compute_self_agreement_on(annotator, criterion, own_repeats)
        if len(repeats_by_annotator) > 1:
            all_repeats = list(chain.from_iterable(repeats_by_annotator.values()))
            yield _compute_self_agreement_on(None, criterion, all_repeats)


def _compute_self_agreement_on(
    annotator: str | None, criterion: str, repeats: Sequence[RepeatedRating]
) -> SelfAgreement:
    """Compute how often the first and the second label of an item agree. `annotator`: None for all
    annotators together.
    """
    # The first and the second labels are treated like those of two annotators.
    table = build_rating_table(criterion, list(_iter_ratings_of_repeats(criterion, repeats)))
    plausible_counts = draw_plausible_counts(table.item_groups, table.prior_units)
    share_request, kappa_request = _build_requests_for_pair(table, has_share=True, level="nominal")
    share = _estimate_coefficient(share_request, table, plausible_counts)
    kappa = _estimate_coefficient(kappa_request, table, plausible_counts)
    return SelfAgreement(
        scope="self",
        annotator=annotator,
        criterion=criterion,
        n=len(repeats),
        percent=share.value,
        percent_low=share.low,
        percent_high=share.high,
        kappa=kappa.value,
        kappa_low=kappa.low,
        kappa_high=kappa.high,
    )


def _iter_ratings_of_repeats(criterion: str, repeats: Sequence[RepeatedRating]) -> Iterator[Rating]:
    """Yield both ratings of each repeated rating, as if two annotators had given them."""
    for unit, repeat in enumerate(repeats):
        for annotator, value in (("1", repeat.first), ("2", repeat.second)):
            yield Rating(
                repeat.item,
                key=repeat.key,
                # Two annotators may have repeated the same target, which gives two units.
                target=str(unit),
                criterion=criterion,
                annotator=annotator,
                value=value,
            )
