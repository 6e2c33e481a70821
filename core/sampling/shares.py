"""Who reviews what: items that all annotators get, items that one gets, and items that come to them a second time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.sampling.ranks import shuffled
from fcreview.sampling.strata import SamplingError

APART = 3
"""A repeat is of the first third of a share and comes in its last one: at least a third of it lies between the two."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one annotator reviews, in their order."""

    annotator: str
    order: list[int]
    """Items by their number in the sample, from 0; one that comes twice is there twice."""
    repeats: list[int]
    """Places in `order`, from 0, where an item comes the second time."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a sample is to be shared out."""

    annotators: Sequence[str]
    overlap: int = 0
    """Items that everybody gets."""
    repeats: int = 0
    """Items that everybody gets twice, of their own share."""
    seed: int = 0


def overlapping(contents: Sequence[str], sharing: Sharing) -> set[int]:
    """The numbers of the items that everybody gets: drawn from the sample, each as likely as any other.

    SamplingError if there are not so many.
    """
    if not 0 <= sharing.overlap <= len(contents):
        raise SamplingError(f"an overlap of {sharing.overlap:,} is more than the {len(contents):,} items of the sample")
    return set(_drawn(contents, range(len(contents)), sharing.seed, "overlap")[: sharing.overlap])


def shared(contents: Sequence[str], overlap: set[int], sharing: Sharing) -> list[Share]:
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


def _repeated(annotator: str, contents: Sequence[str], once: list[int], sharing: Sharing) -> Share:
    first, last = len(once) // APART, len(once) - len(once) // APART
    if sharing.repeats > first:
        raise SamplingError(
            f"{sharing.repeats} repeats are too many for {annotator}'s {len(once)} items: {first} at most"
        )
    again = _drawn(contents, once[:first], sharing.seed, f"repeats {annotator}")[: sharing.repeats]
    late = _drawn(contents, [*once[last:], *again], sharing.seed, f"again {annotator}")
    places = [last + at for at, item in enumerate(late) if item in set(again)]
    return Share(annotator, [*once[:last], *late], places)


def _drawn(contents: Sequence[str], items: Sequence[int] | range, seed: int, purpose: str) -> list[int]:
    return shuffled(items, lambda at: contents[at], seed, purpose)
