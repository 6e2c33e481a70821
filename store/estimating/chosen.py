"""Which items were reviewed because a sample drew them, and which otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from fcreview.store.estimating.samples import Content, Sample


@dataclass(frozen=True, slots=True)
class Chosen:
    """Of settled items; no item is in both."""

    random: set[Content]
    spoken_for: set[Content]
    """Settled otherwise, where what was chosen like a sample's items is not recorded."""


def chosen(samples: Sequence[Sample], found_in: Mapping[Content, set[str]], among: Set[Content]) -> Chosen:
    """`found_in`: of what people settled, the queue files that it was found in; `among`: items that it can be said
    of."""
    each = [_of(sample, found_in, among) for sample in samples]
    random = set().union(*(one.random for one in each))
    return Chosen(random, set().union(*(one.spoken_for for one in each)) - random)


def _of(sample: Sample, found_in: Mapping[Content, set[str]], among: Set[Content]) -> Chosen:
    """Found in the sample's queue; or, where reviews do not name it, if a whole file is settled, so that nobody chose
    among its items. Then what else is settled may hold some that were chosen, and would have been in the sample or not:
    the sample speaks for those too."""
    known = sample.strata.keys() & found_in.keys()
    named = {content for content in known & sample.items if not sample.names.isdisjoint(found_in[content])}
    whole = set().union(*(items & among for items in sample.files.values() if items & among <= known))
    random = named | whole
    return Chosen(random, known - random if whole - named else set())
