"""Draw random samples of items: decide how many items to draw from each stratum, draw them, and
assign them to annotators.

Samples are reproducible. The random rank of an item depends on the seed, the purpose of the rank
and the content of the item, but not on the order of the items. The hash function BLAKE2b gives the
same ranks in every version of Python.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heappop, heappush
from math import sqrt
from typing import TypeVar

from fcreview.errors import FcreviewError

T = TypeVar("T")


def compute_random_rank(seed: int, purpose: str, content: str) -> bytes:
    """Return a pseudorandom sort key for the content of an item.

    The keys for different purposes are independent.
    """
    return blake2b(
        f"{seed}\0{purpose}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def shuffle_by_content(
    things: Iterable[T], get_content: Callable[[T], str], seed: int, purpose: str
) -> list[T]:
    """Sort things in a random order that depends only on the seed, the purpose and the content
    of each thing.
    """
    return sorted(
        things,
        key=lambda thing: (
            compute_random_rank(seed, purpose, get_content(thing)),
            get_content(thing),
        ),
    )


MAX_SEED = 2**31


def draw_seed() -> int:
    """Return a seed that nobody can predict, so that samples are independent of each other and
    of the data.
    """
    return secrets.randbelow(MAX_SEED)


class SamplingError(FcreviewError):
    """Raised if a sample cannot be drawn. The message has one line."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Stratum of a population.

    `size` is the number of its items, and `drawn` is the number of these in a sample.
    """

    name: str
    size: int
    drawn: int

    @property
    def probability(self) -> float:
        """Probability, from 0 to 1, that the sample contains a particular item of the stratum."""
        return self.drawn / self.size


def allocate_proportionally(sizes: Mapping[str, int], total: int) -> list[Stratum]:
    """Allocate a sample to strata in proportion to their sizes, at least one item each. The largest
    remainders get the items left after rounding down. Raises SamplingError if `total` is too small
    or too large.
    """
    size_by_name = {name: size for name, size in sorted(sizes.items()) if size}
    _check_sample_size(size_by_name, total)

    proportional = _find_strata_above_minimum(size_by_name, total)
    # All other strata get one item.
    n_others = len(size_by_name) - len(proportional)
    drawn = dict.fromkeys(size_by_name, 1)
    drawn |= _divide_by_largest_remainder(
        {name: size_by_name[name] for name in proportional}, total - n_others
    )
    return [Stratum(name, size=size, drawn=drawn[name]) for name, size in size_by_name.items()]


MIN_OPTIMAL_DRAW = 2
"""Minimum number of items of each stratum under Neyman allocation, where the sample is large
enough. With one item, nobody knows how much a stratum varies.
"""


def allocate_optimally(
    sizes: Mapping[str, int], deviations: Mapping[str, float], total: int
) -> list[Stratum]:
    """Allocate a sample to strata so that the variance of an estimated mean is as small as possible
    (Neyman 1934), in whole numbers (Wright 2012).

    A stratum gets items in proportion to N_h S_h, where N_h is its size and S_h the standard
    deviation of its items, but at least `MIN_OPTIMAL_DRAW` and at most all of them. One item after
    the other goes to the stratum in which it reduces the variance most: that with the largest
    N_h S_h / sqrt(n (n + 1)), where n is the number of items that the stratum has.

    Args:
        sizes: Number of items of each stratum.
        deviations: Expected standard deviation of each stratum. It must be positive.
        total: Number of items to allocate.

    Raises SamplingError if `total` is too small or too large.
    """
    size_by_name = {name: size for name, size in sorted(sizes.items()) if size}
    _check_sample_size(size_by_name, total)

    drawn = _find_minimum_draws(size_by_name, total)
    # A heap: its first stratum is the one in which the next item reduces the variance most.
    open_strata: list[_OpenStratum] = []
    for name, size in size_by_name.items():
        heappush(open_strata, _OpenStratum.make(name, size * deviations[name], drawn[name]))

    n_left = total - sum(drawn.values())
    while n_left:
        stratum = heappop(open_strata)
        name = stratum.name
        if drawn[name] == size_by_name[name]:
            # All its items are drawn, so it does not return to the heap.
            continue
        drawn[name] += 1
        n_left -= 1
        heappush(open_strata, _OpenStratum.make(name, stratum.spread, drawn[name]))
    return [Stratum(name, size=size, drawn=drawn[name]) for name, size in size_by_name.items()]


@dataclass(frozen=True, slots=True, order=True)
class _OpenStratum:
    """A stratum that can get more items. The one that needs the next item most sorts first."""

    rank: float
    name: str
    spread: float
    """N_h S_h."""

    @classmethod
    def make(cls, name: str, spread: float, n_drawn: int) -> _OpenStratum:
        reduction = spread / sqrt(n_drawn * (n_drawn + 1))
        return cls(-reduction, name=name, spread=spread)


def _find_minimum_draws(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    minimum = MIN_OPTIMAL_DRAW if total >= MIN_OPTIMAL_DRAW * len(sizes) else 1
    return {name: min(minimum, size) for name, size in sizes.items()}


def _divide_by_largest_remainder(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Divide a total in proportion to sizes. The names with the largest remainders get the rest."""
    size_sum = sum(sizes.values())
    shares: dict[str, int] = {}
    remainders: dict[str, int] = {}
    for name, size in sizes.items():
        shares[name], remainders[name] = divmod(size * total, size_sum)
    largest_remainder_first = sorted(sizes, key=lambda name: (-remainders[name], name))
    n_left = total - sum(shares.values())
    for name in largest_remainder_first[:n_left]:
        shares[name] += 1
    return shares


def _check_sample_size(sizes: Mapping[str, int], total: int) -> None:
    """Raise SamplingError if the strata have fewer items, or the sample is smaller than one item of
    each.
    """
    population = sum(sizes.values())
    if not 1 <= total <= population:
        raise SamplingError(f"cannot draw {total:,} items, because {population:,} items match")
    if total < len(sizes):
        raise SamplingError(
            f"cannot draw {total:,} items from {len(sizes):,} strata. Draw at least {len(sizes):,}"
            " items."
        )


def _find_strata_above_minimum(sizes: Mapping[str, int], total: int) -> list[str]:
    """Return the strata whose proportional part is at least one item.

    A stratum with a smaller part gets one item, and the others divide the rest, which makes their
    parts smaller.
    """
    proportional = list(sizes)
    while True:
        # What is left of the sample after one item for each other stratum.
        remaining = total - (len(sizes) - len(proportional))
        size_sum = sum(sizes[name] for name in proportional)
        # The part of a stratum is remaining * size / size_sum.
        large = [name for name in proportional if sizes[name] * remaining >= size_sum]
        if len(large) == len(proportional):
            return proportional
        proportional = large


def format_stratum_name(
    stratum: str, automatic: bool | str | None, category: str | None = None
) -> str:
    """Format the name of a stratum for a queue that extends another queue: `all, fail` or `all,
    fail, live_simple`.
    """
    words: dict[bool | str | None, str] = {True: "pass", False: "fail", None: "none"}
    parts = (stratum or "all", words.get(automatic, str(automatic)), category)
    return ", ".join(part for part in parts if part is not None)


UNSTRATIFIED = ""


@dataclass(frozen=True, slots=True)
class StratifiedSample:
    strata: list[Stratum]
    items: list[str]
    stratum_by_item: Mapping[str, str]
    """Stratum of each item of the population."""


def draw_stratified_sample(
    stratum_by_content: Mapping[str, str],
    size: int,
    seed: int,
    deviations: Mapping[str, float] | None = None,
) -> StratifiedSample:
    """Draw a simple random sample from each stratum. Raises SamplingError if `size` is too small or
    too large.

    Args:
        stratum_by_content: Content of each item -> its stratum.
        size: Number of items to draw.
        seed: Seed of the random ranks.
        deviations: Expected standard deviation of each stratum, for Neyman allocation; None to
            allocate the sample in proportion to the sizes of the strata.
    """
    members: dict[str, list[str]] = {}
    for content, name in stratum_by_content.items():
        members.setdefault(name, []).append(content)
    sizes = {name: len(contents) for name, contents in members.items()}
    if deviations is None:
        strata = allocate_proportionally(sizes, size)
    else:
        strata = allocate_optimally(sizes, deviations, size)

    items: list[str] = []
    for stratum in strata:
        shuffled = shuffle_by_content(members[stratum.name], str, seed, "sample")
        items += shuffled[: stratum.drawn]
    return StratifiedSample(strata, items=sorted(items), stratum_by_item=stratum_by_content)


_SEGMENTS = 3
"""Number of equal segments of an annotator's items.

Items from the first segment occur again in the last segment.
"""


@dataclass(frozen=True, slots=True)
class AnnotatorShare:
    """Items that one annotator reviews, in the order of review."""

    annotator: str
    order: list[int]
    repeats: list[int]
    """Positions in `order` where an item occurs for the second time."""


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """Options for dividing a sample among annotators."""

    annotators: Sequence[str]
    overlap: int = 0
    repeats: int = 0
    seed: int = 0


def draw_overlap_indexes(contents: Sequence[str], options: ShareOptions) -> set[int]:
    """Draw the items that all annotators review, as indexes in `contents`.

    Raises SamplingError for too few items.
    """
    if not 0 <= options.overlap <= len(contents):
        raise SamplingError(
            f"the overlap ({options.overlap:,}) is larger than the sample ({len(contents):,}"
            " items). Reduce it."
        )
    shuffled = _shuffle_indexes(contents, range(len(contents)), options.seed, "overlap")
    return set(shuffled[: options.overlap])


def assign_shares(
    contents: Sequence[str], overlap_indexes: set[int], options: ShareOptions
) -> list[AnnotatorShare]:
    """Divide a sample among annotators. Each share contains the overlap and an equal part of all
    other items, in random order. Raises SamplingError if a share has too few items for its repeats.
    """
    other_indexes = [index for index in range(len(contents)) if index not in overlap_indexes]
    shuffled = _shuffle_indexes(contents, other_indexes, options.seed, "share")
    n_annotators = len(options.annotators)
    shares = []
    for number, annotator in enumerate(options.annotators):
        # The annotators take turns.
        own_indexes = shuffled[number::n_annotators]
        indexes = [*overlap_indexes, *own_indexes]
        order = _shuffle_indexes(contents, indexes, options.seed, f"order {annotator}")
        shares.append(_add_repeats(annotator, contents, order, options))
    return shares


def _add_repeats(
    annotator: str, contents: Sequence[str], order: list[int], options: ShareOptions
) -> AnnotatorShare:
    """Add hidden duplicates to the items of an annotator: random items of the first segment, which
    come again in the last segment, when the annotator has reviewed many others.

    Args:
        annotator: Name of the annotator.
        contents: The content of each item of the sample, which makes the random order.
        order: The annotator's items in order, as indexes in `contents`.
        options: The number of duplicates, and the random seed.
    """
    segment_size = len(order) // _SEGMENTS
    if options.repeats > segment_size:
        raise SamplingError(
            f"{annotator}'s {len(order):,} items are too few for {options.repeats:,} repeats. Use"
            f" at most {segment_size:,}."
        )
    first_segment = order[:segment_size]
    shuffled = _shuffle_indexes(contents, first_segment, options.seed, f"repeats {annotator}")
    repeated = shuffled[: options.repeats]

    # The duplicates are mixed with the items of the last segment.
    last_start = len(order) - segment_size
    before_last = order[:last_start]
    last_items = order[last_start:] + repeated
    last_segment = _shuffle_indexes(contents, last_items, options.seed, f"again {annotator}")

    # The first and the last segment have no common items, so a repeated item is a duplicate here.
    positions_of_duplicates = []
    for position, item in enumerate(last_segment, start=last_start):
        if item in repeated:
            positions_of_duplicates.append(position)
    new_order = before_last + last_segment
    return AnnotatorShare(annotator, order=new_order, repeats=positions_of_duplicates)


def _shuffle_indexes(
    contents: Sequence[str], indexes: Sequence[int] | range, seed: int, purpose: str
) -> list[int]:
    return shuffle_by_content(indexes, lambda at: contents[at], seed, purpose)
