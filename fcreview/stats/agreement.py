"""Compute the agreement of annotators: all coefficients, with intervals, for each group of ratings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fcreview.stats import agreement_coefficients as coefficients
from fcreview.stats.agreement_coefficients import FloatArray, Statistic
from fcreview.stats.agreement_ratings import (
    AgreementCoefficient,
    AgreementScope,
    BlindStatus,
    CoefficientName,
    LabelKey,
    MeasurementLevel,
    Rating,
    RatingGroup,
    build_labels,
    group_ratings,
    infer_measurement_level,
    list_label_keys,
    to_label_key,
)

IntArray = NDArray[np.int64]
NO_LABEL = -1
"""Value of a cell in `RatingTable.cells` if the annotator did not label the unit."""


@dataclass(frozen=True, slots=True)
class RatingTable:
    """Labels by unit and annotator. Units with the same labels are stored as one row, called a pattern."""

    annotators: tuple[str, ...]
    label_keys: tuple[LabelKey, ...]
    level: MeasurementLevel
    cells: IntArray
    """Indexes into `label_keys`, or `NO_LABEL`, of shape (patterns, annotators)."""
    multiplicity: IntArray
    """Number of units of each pattern."""

    def count_labels(self) -> IntArray:
        """Return the number of annotators who chose each label, of shape (patterns, label_keys)."""
        n_patterns, size = len(self.cells), len(self.label_keys)
        numbered = self.cells + size * np.arange(n_patterns)[:, np.newaxis]
        chosen = np.bincount(numbered[self.cells != NO_LABEL], minlength=n_patterns * size)
        return chosen.reshape(n_patterns, size)


def build_rating_table(criterion: str, ratings: Sequence[Rating]) -> RatingTable:
    """Build the table of at least one rating. If an annotator labelled a unit more than once, the last label counts."""
    annotators = sorted({rating.annotator for rating in ratings})
    values = [rating.value for rating in ratings]
    label_keys = list_label_keys(criterion, values)
    column = {name: at for at, name in enumerate(annotators)}
    code = {key: at for at, key in enumerate(label_keys)}
    row: dict[tuple[int, str], int] = {}
    rows = [row.setdefault((rating.item, rating.target), len(row)) for rating in ratings]
    cells = np.full((len(row), len(annotators)), NO_LABEL, dtype=np.int64)
    cells[rows, [column[rating.annotator] for rating in ratings]] = [code[to_label_key(value)] for value in values]
    patterns, multiplicity = np.unique(cells, axis=0, return_counts=True)
    return RatingTable(tuple(annotators), tuple(label_keys), infer_measurement_level(values), patterns, multiplicity)


def compute_agreement(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], given: BlindStatus
) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all groups. In each group, the coefficients of all annotators come before the
    coefficients of pairs of annotators."""
    for group in build_rating_groups(ratings, scopes, given):
        yield from compute_coefficients(group)


def build_rating_groups(
    ratings: Iterable[Rating], scopes: Iterable[AgreementScope], given: BlindStatus
) -> list[RatingGroup]:
    """Select the labels among the ratings and group them by each scope."""
    labels = build_labels(ratings)
    return [group for scope in scopes for group in group_ratings(labels, scope, given)]


@dataclass(frozen=True, slots=True)
class _CoefficientRequest:
    """A coefficient to compute from some patterns of a table."""

    metric: CoefficientName
    annotators: tuple[str, ...]
    patterns: IntArray
    """Indexes of the patterns that count as units."""
    statistic: Statistic
    """Statistic of all patterns of the table."""
    level: MeasurementLevel = "nominal"


def compute_coefficients(group: RatingGroup) -> Iterator[AgreementCoefficient]:
    """Compute the coefficients of all annotators of a group, then those of each pair of annotators."""
    table = build_rating_table(group.criterion, group.ratings)
    requests = [*_request_for_all(table), *_request_for_pairs(table)]
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    estimates = coefficients.bootstrap(table.multiplicity, [request.statistic for request in requests])
    for request, found in zip(requests, estimates, strict=True):
        n_units = int(table.multiplicity[request.patterns].sum())
        estimate = found.for_units(n_units)
        is_pair = len(request.annotators) == 2
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
            n_units=n_units,
            n_labels=2 * n_units if is_pair else int((table.multiplicity * n_labels)[request.patterns].sum()),
            given=group.given,
        )


def _request_for_all(table: RatingTable) -> Iterator[_CoefficientRequest]:
    names, counts = table.annotators, table.count_labels().astype(np.float64)
    n_labels = (table.cells != NO_LABEL).sum(axis=1)
    several = np.flatnonzero(n_labels > 1)
    balanced = np.flatnonzero(n_labels == _most_frequent_label_count(n_labels, table.multiplicity))
    share = coefficients.percent_agreement(coefficients.compute_pairwise_agreement(counts[several]))
    yield _CoefficientRequest("percent", names, several, _select_patterns(several, share))
    yield _CoefficientRequest(
        "fleiss", names, balanced, _select_patterns(balanced, coefficients.fleiss_kappa(counts[balanced]))
    )
    alpha = _krippendorff_alpha(table, counts[several])
    yield _CoefficientRequest("alpha", names, several, _select_patterns(several, alpha), table.level)
    yield _CoefficientRequest("ac1", names, several, coefficients.gwet_ac1(counts))


def _request_for_pairs(table: RatingTable) -> Iterator[_CoefficientRequest]:
    for pair in combinations(range(len(table.annotators)), 2):
        names = tuple(table.annotators[at] for at in pair)
        cells = table.cells[:, pair]
        both = np.flatnonzero((cells != NO_LABEL).all(axis=1))
        cells = cells[both]
        if len(table.annotators) > 2:  # With two annotators, `_request_for_all` has the same percentage.
            equal = coefficients.percent_agreement(cells[:, 0] == cells[:, 1])
            yield _CoefficientRequest("percent", names, both, _select_patterns(both, equal))
        yield _CoefficientRequest("cohen", names, both, _select_patterns(both, coefficients.cohen_kappa(cells)))


def _select_patterns(patterns: IntArray, statistic: Statistic) -> Statistic:
    """Return a statistic that takes the weights of all patterns of a table and applies `statistic` to some of the
    patterns."""
    return lambda weights: statistic(weights[:, patterns])


def _most_frequent_label_count(n_labels: IntArray, multiplicity: IntArray) -> int:
    """Return the number of labels, at least two, that most units have. If two numbers are equally frequent, return the
    larger one."""
    frequency = np.bincount(n_labels, multiplicity, minlength=3)[2:]
    return len(frequency) + 1 - int(frequency[::-1].argmax())


def _krippendorff_alpha(table: RatingTable, counts: FloatArray) -> Statistic:
    if table.level == "ordinal":
        return coefficients.krippendorff_alpha_ordinal(counts)
    if table.level == "nominal":
        return coefficients.krippendorff_alpha(counts, coefficients.nominal_distance(len(table.label_keys)))
    sets = [key if isinstance(key, frozenset) else frozenset({key}) for key in table.label_keys]
    return coefficients.krippendorff_alpha(counts, coefficients.masi_distance(sets))
