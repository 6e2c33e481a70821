"""Divide the items of a run by how many automatic sources pass them, so that an estimate needs
fewer labels.

A run can have verdicts of several sources: official, recomputed, and of any number of judges. Where
all of them pass an item, a person mostly passes it too, and where all fail it, a person mostly
fails it. If the items are divided into strata by the number of sources that pass them, the human
verdicts in a stratum therefore differ little, and the estimate is more precise (poststratification,
Lohr, Sampling, section 4.4). It stays right if the sources are wrong, because human verdicts alone
say how many items of a stratum pass.

At most `MAX_SOURCES` sources are counted. Two kinds of evidence choose them:

* Human verdicts only *exclude* sources: those that do not go with them (a one-sided test of two
  shares, with Bonferroni's correction for the number of sources).
* Among the others, the verdicts of the sources themselves decide: the sources come first that
  correlate most with the mean of all others (item-rest correlation). To choose the best subset by
  human verdicts instead would make the intervals too short: of 20 judges and 100 labels, some
  subset always fits by chance.

The strata are used only if they reduce the variance of the estimate by at least `MIN_REDUCTION`,
compared with strata by the automatic verdict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log, sqrt
from statistics import NormalDist

import numpy as np

from fcreview.model.wording import format_count
from fcreview.stats.posterior import (
    JEFFREYS,
    MAX_PROBABILITY_RATIO,
    BoolArray,
    FloatArray,
    IntArray,
    ItemStatus,
)

MIN_HIDDEN_ITEMS = 5
"""Minimum number of items without a human verdict in each stratum by a private source, so that the
sizes of the strata reveal no verdict on a single item.
"""
MAX_SOURCES = 3
"""Maximum number of sources that are counted. More of them make the strata too small: measured with
`benchmarks/coverage/judges.py`.
"""
MIN_REVIEWS = 20
"""Minimum number of reviewed items of a sample for a choice of sources."""
MIN_STRATUM_REVIEWS = 5
"""Minimum number of reviewed items of a stratum. A stratum with fewer joins its neighbour."""
MIN_REDUCTION = 0.05
"""Smallest reduction of the variance for which the strata are used."""
MIN_COVERAGE = 0.5
"""Minimum share of the items on which a source has a verdict."""
EQUAL_SHARE = 0.98
"""Share of equal verdicts from which on two sources count as one."""
EXCLUSION_LEVEL = 0.05
"""Level of the test by which human verdicts exclude sources, for all sources together."""


@dataclass(frozen=True, slots=True)
class JudgeRequests:
    """For each item of a run, whether a judge was not asked about it, and whether this is because
    the judge's prompt shows it as an example.

    People choose what they ask a judge, and may choose items that are in the sample. The items
    without a verdict of the judge would then make up another share of the sample than of the other
    items.
    """

    is_missing: Sequence[bool]
    """Whether the judge was not asked about the item, although it has an answer."""
    is_example: Sequence[bool]
    """Whether the judge was not asked because its prompt shows the item, with its human verdict."""


@dataclass(frozen=True, slots=True)
class SourceVerdicts:
    """Verdicts of an automatic source on the items of a run. None stands for no verdict."""

    name: str
    """Name for people: `official`, `recomputed`, or the name of a judge."""
    verdicts: Sequence[bool | None]
    requests: JudgeRequests | None = None
    """What a judge of `fcreview judge` was asked; None for the sources in the files of a run."""

    @property
    def is_private(self) -> bool:
        """Whether annotators must not see its verdict on an item that they have not reviewed."""
        return self.requests is not None

    @property
    def passes(self) -> BoolArray:
        """Whether the source passes each item. Without a verdict, it does not."""
        return np.array([verdict is True for verdict in self.verdicts])


@dataclass(frozen=True, slots=True)
class SourceUse:
    name: str
    is_used: bool
    why: str
    """Why the source is not used; empty for a source that is."""


@dataclass(frozen=True, slots=True)
class SourceStratum:
    """Items that equally many sources pass."""

    name: str
    n_items: int
    n_reviewed: int
    """Number of items with a human verdict from the sample."""
    n_passed: int
    """Number of the reviewed items that pass by their human verdict."""


@dataclass(frozen=True, slots=True)
class SourceStrata:
    """Which sources an estimate uses, and the strata that they define."""

    uses: tuple[SourceUse, ...] = ()
    """All sources of the run; empty with fewer than two, because there is nothing to choose."""
    why: str = ""
    """Why the strata are used or not, as a sentence; empty without sources."""
    strata: tuple[SourceStratum, ...] = ()
    """Empty if the strata are not used."""
    names: tuple[str, ...] = ()
    """Name of the stratum of each item; empty if the strata are not used."""
    variance_ratio: float | None = None
    """Variance of the estimate relative to that with strata by the automatic verdict."""

    @property
    def used_names(self) -> list[str]:
        return [use.name for use in self.uses if use.is_used]

    def add_to_statuses(self, statuses: Sequence[ItemStatus]) -> list[ItemStatus]:
        """Note in each status to which stratum its item belongs."""
        if not self.names:
            return list(statuses)
        return [
            replace(status, source_stratum=name)
            for status, name in zip(statuses, self.names, strict=True)
        ]


NO_SOURCE_STRATA = SourceStrata()


def remove_source_strata(statuses: Iterable[ItemStatus]) -> list[ItemStatus]:
    """Return the statuses as if the run had no source but the automatic verdict."""
    return [replace(status, source_stratum="") for status in statuses]


def choose_source_strata(
    statuses: Sequence[ItemStatus],
    sources: Sequence[SourceVerdicts],
    design_sources: Collection[str] = (),
) -> SourceStrata:
    """Choose the sources by which an estimate divides the items.

    Args:
        statuses: The items of a run, with their human verdicts.
        sources: The sources that have verdicts on items of the run.
        design_sources: Names of the sources by which the sample was drawn; empty for other samples.
            They are used always, because the strata of the sample are theirs.
    """
    if len(sources) < 2:
        return NO_SOURCE_STRATA
    if any(status.cluster is not None for status in statuses):
        return _use_no_source(
            sources, "The sample has whole groups of items, which are no strata of single items."
        )
    sample = _ReviewedSample.select(statuses)
    exclusions = find_incomplete_judges(sources, sample.is_represented)
    strata = _choose_strata(sample, sources, design_sources, exclusions)
    if not _reveals_verdicts(strata, sources):
        return strata

    # Without its private sources, a run can still have strata.
    for source in sources:
        if source.is_private:
            exclusions[source.name] = (
                "Too few items are without a review: the sizes of the strata would reveal its"
                " verdicts."
            )
    return _choose_strata(sample, sources, design_sources, exclusions)


def _choose_strata(
    sample: _ReviewedSample,
    sources: Sequence[SourceVerdicts],
    design_sources: Collection[str],
    exclusions: Mapping[str, str],
) -> SourceStrata:
    """Choose sources and build their strata. `exclusions`: names of the sources that cannot be
    used, with the reasons.
    """
    if design_sources:
        return _build_strata_of_design(sample, sources, design_sources, exclusions)
    if sample.n_reviewed < MIN_REVIEWS:
        return _use_no_source(
            sources,
            f"Choosing needs {MIN_REVIEWS} reviewed items of the sample; it has"
            f" {sample.n_reviewed}.",
        )
    return _choose_by_evidence(sample, sources, exclusions)


def find_incomplete_judges(
    sources: Iterable[SourceVerdicts], is_needed: BoolArray | None = None
) -> dict[str, str]:
    """Return the judges that were not asked about every item: name of the judge -> the reason to
    exclude it.

    Args:
        sources: The sources of a run.
        is_needed: Which items a sample represents; None before a sample is drawn. If given, a judge
            is excluded too if its prompt shows one of these items as an example.
    """
    reasons = {}
    for source in sources:
        reason = ""
        if source.requests is not None:
            reason = _explain_incomplete_judge(source.requests, is_needed)
        if reason:
            reasons[source.name] = reason
    return reasons


def _explain_incomplete_judge(requests: JudgeRequests, is_needed: BoolArray | None) -> str:
    """Return why a judge is incomplete, or an empty text. `is_needed` is that of
    `find_incomplete_judges`.
    """
    is_missing = np.array(requests.is_missing, dtype=np.bool_)
    if is_needed is not None:
        is_missing &= is_needed
    if is_missing.any():
        return (
            f"It was not asked about {format_count(int(is_missing.sum()), 'item')}. Ask it about"
            " all items with `fcreview judge`."
        )
    if is_needed is None:
        return ""

    is_example = np.array(requests.is_example, dtype=np.bool_) & is_needed
    if not is_example.any():
        return ""
    return (
        f"Its prompt shows {format_count(int(is_example.sum()), 'item')} of the sampled"
        " population as examples."
    )


def _reveals_verdicts(strata: SourceStrata, sources: Iterable[SourceVerdicts]) -> bool:
    """Whether the sizes of the strata could reveal the verdict of a private source on an item."""
    used_names = set(strata.used_names)
    if not any(source.is_private and source.name in used_names for source in sources):
        return False
    smallest = min(stratum.n_items - stratum.n_reviewed for stratum in strata.strata)
    return smallest < MIN_HIDDEN_ITEMS


@dataclass(frozen=True, slots=True)
class _ReviewedSample:
    """Items that the sample represents, as arrays with one entry for each item of the run."""

    is_represented: BoolArray
    is_reviewed: BoolArray
    """Whether the item has a human verdict from the sample."""
    is_passed: BoolArray
    """Whether the human verdict of a reviewed item is pass."""
    automatic: IntArray
    """Number of the automatic verdict: the strata of an estimate without sources."""
    probability_band: IntArray
    """Number of the range of inclusion probabilities that count as equal."""

    @property
    def n_reviewed(self) -> int:
        return int(self.is_reviewed.sum())

    @classmethod
    def select(cls, statuses: Sequence[ItemStatus]) -> _ReviewedSample:
        """Convert the statuses of a sample to arrays, in which equal automatic verdicts have equal
        numbers.
        """
        # Items that the sample could not draw, or that were known before, say nothing about others.
        is_represented = [
            status.stratum is not None and not status.is_in_known_stratum for status in statuses
        ]
        has_verdict = [
            status.has_sample_verdict and status.human is not None for status in statuses
        ]
        bands = [_find_probability_band(status.inclusion_probability) for status in statuses]
        return cls(
            is_represented=np.array(is_represented, dtype=np.bool_),
            is_reviewed=np.logical_and(is_represented, has_verdict),
            is_passed=np.array([status.human is True for status in statuses], dtype=np.bool_),
            automatic=_number_automatic_verdicts(statuses),
            probability_band=np.array(bands, dtype=np.int64),
        )


def _number_automatic_verdicts(statuses: Iterable[ItemStatus]) -> IntArray:
    """Return a number for each automatic verdict. Equal verdicts have equal numbers."""
    number_by_verdict: dict[object, int] = {}
    numbers = []
    for status in statuses:
        next_number = len(number_by_verdict)
        numbers.append(number_by_verdict.setdefault(status.automatic, next_number))
    return np.array(numbers, dtype=np.int64)


def _find_probability_band(probability: float) -> int:
    if probability <= 0:
        return 0
    return floor(log(probability) / log(MAX_PROBABILITY_RATIO))


def _use_no_source(
    sources: Iterable[SourceVerdicts], why: str, reasons: dict[str, str] | None = None
) -> SourceStrata:
    """Return that no source is used. `reasons`: own reasons of sources, by name."""
    uses = []
    for source in sources:
        reason = (reasons or {}).get(source.name, why)
        uses.append(SourceUse(source.name, is_used=False, why=reason))
    return SourceStrata(tuple(uses), why=why)


def _build_strata_of_design(
    sample: _ReviewedSample,
    sources: Sequence[SourceVerdicts],
    design_sources: Collection[str],
    exclusions: Mapping[str, str],
) -> SourceStrata:
    """Use the sources by which the sample was drawn, and no others.

    Without one of them, the estimate stays right, because the strata of the sample do not change.

    Args:
        sample: The items of the run.
        sources: All sources of the run.
        design_sources: Names of the sources by which the sample was drawn.
        exclusions: Names of the sources that cannot be used, with the reasons.
    """
    chosen = []
    for source in sources:
        if source.name in design_sources and source.name not in exclusions:
            chosen.append(source)
    if not chosen and not exclusions:
        # This is the reason of all sources.
        return _use_no_source(
            sources, "The sources by which the sample was drawn are not in the data any more."
        )

    # The reasons of the sources that are not chosen. Those of the chosen ones are not shown.
    other = "The sample was drawn by the verdicts of other sources."
    reasons = {source.name: other for source in sources} | dict(exclusions)
    if not chosen:
        return _use_no_source(sources, "No source of the sample can be used.", reasons)
    return _build_strata(
        sample, sources, chosen, reasons=reasons, why="The sample was drawn by these sources."
    )


# -- choice


def _choose_by_evidence(
    sample: _ReviewedSample, sources: Sequence[SourceVerdicts], exclusions: Mapping[str, str]
) -> SourceStrata:
    """Choose sources, and use them if their strata make the estimate more precise. `exclusions`:
    names of the sources that cannot be used, with the reasons.
    """
    reasons = _explain_excluded_sources(sample, sources, exclusions)
    eligible = [source for source in sources if source.name not in reasons]
    if not eligible:
        return _use_no_source(sources, "No source can be used.", reasons)

    chosen = order_by_consensus(eligible)[:MAX_SOURCES]
    for source in eligible:
        if source not in chosen:
            reasons[source.name] = (
                f"{len(chosen)} other sources agree more with the rest of the sources."
            )

    ratio = _compute_variance_ratio(sample, chosen)
    if ratio > 1 - MIN_REDUCTION:
        why = (
            "Strata by sources would reduce the variance by less than"
            f" {100 * MIN_REDUCTION:.0f} %, compared with the automatic verdict."
        )
        return _use_no_source(sources, why, reasons)

    why = f"They reduce the variance of the estimate by {100 * (1 - ratio):.0f} %."
    strata = _build_strata(sample, sources, chosen, reasons=reasons, why=why)
    return replace(strata, variance_ratio=ratio)


def _compute_variance_ratio(sample: _ReviewedSample, chosen: Sequence[SourceVerdicts]) -> float:
    """Compute the variance with strata by these sources, divided by the variance with strata by the
    automatic verdict.
    """
    labels = _merge_small_strata(count_passing_sources(chosen), sample.is_reviewed).labels
    variance = _compute_posterior_variance(sample, labels)
    variance_now = _compute_posterior_variance(sample, sample.automatic)
    return variance / variance_now if variance_now > 0 else 1.0


def _explain_excluded_sources(
    sample: _ReviewedSample, sources: Sequence[SourceVerdicts], exclusions: Mapping[str, str]
) -> dict[str, str]:
    """Return the reason of each source that cannot be used, by its name."""
    reasons = find_unusable_sources(sources, exclusions)
    level = EXCLUSION_LEVEL / len(sources)
    for source in sources:
        if source.name in reasons:
            continue
        p = compute_association_p(
            source.passes[sample.is_reviewed], sample.is_passed[sample.is_reviewed]
        )
        if p > level:
            reasons[source.name] = (
                "There is no clear association with the human verdicts (p is larger than"
                f" {level:.2g})."
            )
    return reasons


def find_unusable_sources(
    sources: Sequence[SourceVerdicts], exclusions: Mapping[str, str]
) -> dict[str, str]:
    """Return the sources that say too little, whatever people say, with the reason of each.

    Of several sources that are almost equal, the first one can be used, and the later ones add
    nothing to it.

    `exclusions`: sources that are excluded already, with their reasons. The result contains them.
    """
    reasons = dict(exclusions)
    usable: list[SourceVerdicts] = []
    for source in sources:
        if source.name in reasons:
            continue
        reason = _explain_unusable_source(source, earlier=usable)
        if reason:
            reasons[source.name] = reason
        else:
            usable.append(source)
    return reasons


def _explain_unusable_source(source: SourceVerdicts, earlier: Iterable[SourceVerdicts]) -> str:
    """Return why a source is unusable, or an empty text. `earlier`: usable sources, which it must
    not equal.
    """
    n_items = len(source.verdicts)
    n_verdicts = sum(verdict is not None for verdict in source.verdicts)
    if n_verdicts < MIN_COVERAGE * n_items:
        return f"It has verdicts on only {n_verdicts:,} of {n_items:,} items."
    passes = source.passes
    if source.is_private:
        return _explain_unusable_private_source(passes, earlier)
    if passes.all() or not passes.any():
        word = "passes" if passes.all() else "fails"
        return f"It {word} all items."
    for other in earlier:
        equal_share = float((passes == other.passes).mean())
        if equal_share >= EQUAL_SHARE:
            return f"It equals {other.name} on {100 * equal_share:.1f} % of the items."
    return ""


def _explain_unusable_private_source(passes: BoolArray, earlier: Iterable[SourceVerdicts]) -> str:
    """Return why a private source is unusable, or an empty text. The reason must not tell its
    verdicts, as "it passes all items" would.
    """
    is_uniform = max(passes.mean(), 1 - passes.mean()) >= EQUAL_SHARE
    is_equal = any((passes == other.passes).mean() >= EQUAL_SHARE for other in earlier)
    if is_uniform or is_equal:
        return "It tells the items hardly apart, or not better than another source."
    return ""


def compute_association_p(source_passes: BoolArray, human_passes: BoolArray) -> float:
    """Compute the one-sided p value of the hypothesis that people pass the items that a source
    passes no more often than the others (z test of two shares). Both arrays have one entry per
    item.
    """
    n_passing = int(source_passes.sum())
    n_failing = len(source_passes) - n_passing
    human_share = float(human_passes.mean()) if len(human_passes) else 0.0
    variance = human_share * (1 - human_share)
    if not n_passing or not n_failing or not variance:
        # There is nothing to compare.
        return 1.0

    share_if_source_passes = human_passes[source_passes].mean()
    share_if_source_fails = human_passes[~source_passes].mean()
    difference = float(share_if_source_passes - share_if_source_fails)
    z = difference / sqrt(variance * (1 / n_passing + 1 / n_failing))
    return 1 - NormalDist().cdf(z)


def order_by_consensus(sources: Sequence[SourceVerdicts]) -> list[SourceVerdicts]:
    """Sort sources by how much each correlates with the mean of all others, the highest first. With
    two sources, the order stays.
    """
    if len(sources) < 3:
        return list(sources)
    passes = np.array([source.passes for source in sources], dtype=np.float64)
    total = passes.sum(axis=0)
    correlations = [_compute_correlation(own, total - own) for own in passes]
    order = np.argsort([-value for value in correlations], kind="stable")
    return [sources[index] for index in order]


def _compute_correlation(first: FloatArray, second: FloatArray) -> float:
    if not first.std() or not second.std():
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


# -- strata


def count_passing_sources(sources: Sequence[SourceVerdicts]) -> IntArray:
    """Return the number of the sources that pass each item."""
    counts: IntArray = np.sum([source.passes for source in sources], axis=0, dtype=np.int64)
    return counts


@dataclass(frozen=True, slots=True)
class _MergedStrata:
    labels: IntArray
    """Number of the stratum of each item."""
    bounds: list[tuple[int, int]]
    """Lowest and highest number of passing sources of each stratum."""


def _merge_small_strata(counts: IntArray, is_reviewed: BoolArray) -> _MergedStrata:
    """Join each number of passing sources that has too few reviewed items with the next higher
    numbers, and at the end with the next lower stratum. If no item that 0 or 2 sources pass is
    reviewed, but many that 1 or 3 pass, the strata are 0 to 1 and 2 to 3.

    Only the numbers of reviewed items decide, not their verdicts, so the strata are not biased.

    Args:
        counts: Number of sources that pass each item.
        is_reviewed: Whether each item is reviewed.
    """
    highest_of_strata = _find_highest_counts(counts, is_reviewed)
    lowest_of_strata = [0] + [highest + 1 for highest in highest_of_strata[:-1]]
    bounds = list(zip(lowest_of_strata, highest_of_strata, strict=True))

    # The stratum of an item is the first whose highest number is not below that of the item.
    labels: IntArray = np.searchsorted(highest_of_strata, counts).astype(np.int64)
    return _MergedStrata(labels, bounds)


def _find_highest_counts(counts: IntArray, is_reviewed: BoolArray) -> list[int]:
    """Return the highest number of passing sources of each stratum, in ascending order."""
    highest_count = int(counts.max())
    highest_of_strata: list[int] = []
    # The lowest number that is in no stratum yet.
    lowest = 0
    for count in range(highest_count + 1):
        is_member = (counts >= lowest) & (counts <= count)
        n_reviewed = int((is_member & is_reviewed).sum())
        if n_reviewed >= MIN_STRATUM_REVIEWS:
            highest_of_strata.append(count)
            lowest = count + 1

    has_small_rest = lowest <= highest_count
    if has_small_rest:
        # The rest joins the last stratum, or is the only stratum.
        return [*highest_of_strata[:-1], highest_count]
    return highest_of_strata


def _compute_posterior_variance(sample: _ReviewedSample, labels: IntArray) -> float:
    """Compute the variance of the number of passing items that were not reviewed, if the items with
    one label and about the same inclusion probability are a random sample: the sum of beta-binomial
    variances M a b (a + b + M) / ((a + b)^2 (a + b + 1)), with M items that were not reviewed, and
    with a = k + 1/2 and b = n - k + 1/2 if k of n reviewed items pass.
    """
    cells = _count_cells(sample, labels)
    a = cells.n_passed + JEFFREYS
    b = cells.n_reviewed - cells.n_passed + JEFFREYS
    m = cells.n_items - cells.n_reviewed
    total = a + b
    variances = m * a * b * (total + m) / (total**2 * (total + 1))
    return float(variances.sum())


@dataclass(frozen=True, slots=True)
class _CellCounts:
    """Numbers of items that the sample represents, one entry per cell."""

    n_items: IntArray
    n_reviewed: IntArray
    n_passed: IntArray
    """Number of reviewed items that pass."""


def _count_cells(sample: _ReviewedSample, labels: IntArray) -> _CellCounts:
    """Count the items of each cell: of all items with one label in one band of inclusion
    probabilities.
    """
    band = sample.probability_band - sample.probability_band.min()
    n_bands = int(np.ptp(sample.probability_band)) + 1
    cell_of_item = labels * n_bands + band

    cells = cell_of_item[sample.is_represented]
    is_reviewed = sample.is_reviewed[sample.is_represented]
    is_passed = sample.is_passed[sample.is_represented]
    n_cells = int(cells.max(initial=0)) + 1
    return _CellCounts(
        n_items=np.bincount(cells, minlength=n_cells),
        n_reviewed=np.bincount(cells[is_reviewed], minlength=n_cells),
        n_passed=np.bincount(cells[is_reviewed & is_passed], minlength=n_cells),
    )


def _build_strata(
    sample: _ReviewedSample,
    sources: Sequence[SourceVerdicts],
    chosen: Sequence[SourceVerdicts],
    *,
    reasons: dict[str, str],
    why: str,
) -> SourceStrata:
    """Return the strata by the number of passing sources, with the reasons of the sources that are
    not used.
    """
    chosen_names = {source.name for source in chosen}
    uses = []
    for source in sources:
        is_used = source.name in chosen_names
        reason = "" if is_used else reasons[source.name]
        uses.append(SourceUse(source.name, is_used=is_used, why=reason))

    merged = _merge_small_strata(count_passing_sources(chosen), sample.is_reviewed)
    names = [format_stratum(low, high, len(chosen)) for low, high in merged.bounds]
    strata = [
        _count_stratum(sample, name, merged.labels == label) for label, name in enumerate(names)
    ]
    return SourceStrata(
        tuple(uses),
        why=why,
        strata=tuple(strata),
        names=tuple(names[label] for label in merged.labels),
    )


def _count_stratum(sample: _ReviewedSample, name: str, is_in_stratum: BoolArray) -> SourceStratum:
    """Count the items of a stratum that the sample represents. `is_in_stratum` has an entry for
    each item of the run.
    """
    is_member = is_in_stratum & sample.is_represented
    is_reviewed = is_member & sample.is_reviewed
    is_passed = is_reviewed & sample.is_passed
    return SourceStratum(
        name,
        n_items=int(is_member.sum()),
        n_reviewed=int(is_reviewed.sum()),
        n_passed=int(is_passed.sum()),
    )


def format_stratum(lowest: int, highest: int, n_sources: int) -> str:
    """Return the name of a stratum: `2 of 3 pass`, or `0 or 1 of 3 pass`."""
    if lowest == highest:
        return f"{lowest} of {n_sources} pass"
    word = "or" if highest == lowest + 1 else "to"
    return f"{lowest} {word} {highest} of {n_sources} pass"


def choose_planned_sources(sources: Sequence[SourceVerdicts]) -> list[SourceVerdicts]:
    """Choose sources before the first label, from their own verdicts only: those that correlate
    most with the others.
    """
    unusable = find_unusable_sources(sources, find_incomplete_judges(sources))
    usable = [source for source in sources if source.name not in unusable]
    return order_by_consensus(usable)[:MAX_SOURCES]


def predict_pass_rate(n_passing: int, n_sources: int) -> float:
    """Predict the share of items that people will pass, among the items that `n_passing` of
    `n_sources` automatic sources pass.

    The prediction is (j + 1/2) / (k + 1) for j of k sources: the mean of the Jeffreys posterior, as
    if the sources were a sample of all possible judges. Plans use it before the first label exists.
    Estimates never use it.
    """
    return (n_passing + JEFFREYS) / (n_sources + 2 * JEFFREYS)
