"""Samples of items to review: strata and their sizes, what is drawn, and who gets what. Pure.

Chance that can be had again: the rank of a thing depends on the seed, on what it is drawn for, and on its own
content, never on the order in which things come. blake2b, so that every Python draws the same.

How a sample is shared out among strata, and how likely that makes each item.

Drawing a sample from a population that lies in strata.

Who reviews what: items that all annotators get, items that one gets, and items that come to them a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

from fcreview.errors import FcreviewError

T = TypeVar("T")


def random_rank(seed: int, purpose: str, content: str) -> bytes:
    return blake2b(f"{seed}\0{purpose}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def shuffle_by_content(things: Iterable[T], content: Callable[[T], str], seed: int, purpose: str) -> list[T]:
    """In an order that each of all orders is as likely to be as any other."""
    return sorted(things, key=lambda thing: (random_rank(seed, purpose, content(thing)), content(thing)))


class SamplingError(FcreviewError):
    """A sample that cannot be drawn; one line."""


@dataclass(frozen=True, slots=True)
class Stratum:
    name: str
    """Empty for the only one of a sample that is not stratified."""
    size: int
    """Items in the population."""
    drawn: int

    @property
    def probability(self) -> float:
        """With which each of its items came into the sample: simple random sampling without replacement."""
        return self.drawn / self.size


def allocate_proportionally(sizes: Mapping[str, int], total: int) -> list[Stratum]:
    """The sample in proportion to the strata, one item at least of each, and never more than there are; in the order of
    names. What is left after whole shares goes to the largest remainders.

    SamplingError if there are more strata than items to draw, or fewer items than that.
    """
    sizes = {name: size for name, size in sorted(sizes.items()) if size}
    population = sum(sizes.values())
    if not 1 <= total <= population:
        raise SamplingError(f"{total:,} cannot be drawn: {population:,} items match")
    if total < len(sizes):
        raise SamplingError(f"{total:,} cannot be drawn with one of each of {len(sizes):,} strata: raise the size")
    quotas = dict(sizes)
    while small := [name for name, size in quotas.items() if size * _left(total, sizes, quotas) < sum(quotas.values())]:
        for name in small:  # less than one item: it gets one, and the others share what is left
            del quotas[name]
    left, among = _left(total, sizes, quotas), sum(quotas.values())
    drawn = dict.fromkeys(sizes, 1) | {name: size * left // among for name, size in quotas.items()}
    by_remainder = sorted(quotas, key=lambda name: (-(quotas[name] * left % among), name))
    for name in by_remainder[: total - sum(drawn.values())]:
        drawn[name] += 1
    return [Stratum(name, size, drawn[name]) for name, size in sizes.items()]


def _left(total: int, sizes: Mapping[str, int], quotas: Mapping[str, int]) -> int:
    """Items for those that share in proportion."""
    return total - (len(sizes) - len(quotas))


UNSTRATIFIED = ""
"""The name of the only stratum of a sample that is not stratified."""


@dataclass(frozen=True, slots=True)
class StratifiedSample:
    """What was drawn, and from what."""

    strata: list[Stratum]
    items: list[str]
    """Contents of the items that were drawn, sorted."""


def draw_stratified_sample(population: Mapping[str, str], size: int, seed: int) -> StratifiedSample:
    """A sample of `size` from {content: stratum}; of each stratum a simple random sample. The same population, size and
    seed give the same. SamplingError as `allocated`."""
    strata = allocate_proportionally(Counter(population.values()), size)
    among: dict[str, list[str]] = {stratum.name: [] for stratum in strata}
    for content, name in population.items():
        among[name].append(content)
    sample = [
        content for stratum in strata for content in shuffle_by_content(among[stratum.name], str, seed, "sample")[: stratum.drawn]
    ]
    return StratifiedSample(strata, sorted(sample))


REPEAT_THIRDS = 3
"""A repeat is of the first third of a share and comes in its last one: at least a third of it lies between the two."""


@dataclass(frozen=True, slots=True)
class AnnotatorShare:
    """What one annotator reviews, in their order."""

    annotator: str
    order: list[int]
    """Items by their number in the sample, from 0; one that comes twice is there twice."""
    repeats: list[int]
    """Places in `order`, from 0, where an item comes the second time."""


@dataclass(frozen=True, slots=True)
class ShareOptions:
    """How a sample is to be shared out."""

    annotators: Sequence[str]
    overlap: int = 0
    """Items that everybody gets."""
    repeats: int = 0
    """Items that everybody gets twice, of their own share."""
    seed: int = 0


def draw_overlap(contents: Sequence[str], sharing: ShareOptions) -> set[int]:
    """The numbers of the items that everybody gets: drawn from the sample, each as likely as any other.

    SamplingError if there are not so many.
    """
    if not 0 <= sharing.overlap <= len(contents):
        raise SamplingError(f"an overlap of {sharing.overlap:,} is more than the {len(contents):,} items of the sample")
    return set(_drawn(contents, range(len(contents)), sharing.seed, "overlap")[: sharing.overlap])


def assign_shares(contents: Sequence[str], overlap: set[int], sharing: ShareOptions) -> list[AnnotatorShare]:
    """A share an annotator: the overlap, and of the other items every n-th, in an order of their own.

    `contents` are the sample's items, as what they are known by. SamplingError if a share is too small for its repeats.
    """
    others = _drawn(contents, [at for at in range(len(contents)) if at not in overlap], sharing.seed, "share")
    shares = []
    for number, annotator in enumerate(sharing.annotators):
        own = [*overlap, *others[number :: len(sharing.annotators)]]
        once = _drawn(contents, own, sharing.seed, f"order {annotator}")
        shares.append(_repeated(annotator, contents, once, sharing))
    return shares


def _repeated(annotator: str, contents: Sequence[str], once: list[int], sharing: ShareOptions) -> AnnotatorShare:
    first, last = len(once) // REPEAT_THIRDS, len(once) - len(once) // REPEAT_THIRDS
    if sharing.repeats > first:
        raise SamplingError(
            f"{sharing.repeats} repeats are too many for {annotator}'s {len(once)} items: {first} at most"
        )
    again = _drawn(contents, once[:first], sharing.seed, f"repeats {annotator}")[: sharing.repeats]
    late = _drawn(contents, [*once[last:], *again], sharing.seed, f"again {annotator}")
    places = [last + at for at, item in enumerate(late) if item in set(again)]
    return AnnotatorShare(annotator, [*once[:last], *late], places)


def _drawn(contents: Sequence[str], items: Sequence[int] | range, seed: int, purpose: str) -> list[int]:
    return shuffle_by_content(items, lambda at: contents[at], seed, purpose)
