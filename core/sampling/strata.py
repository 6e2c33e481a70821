"""How a sample is shared out among strata, and how likely that makes each item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fcreview.errors import FcreviewError


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


def allocated(sizes: Mapping[str, int], total: int) -> list[Stratum]:
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
