"""Drawing a sample from a population that lies in strata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fcreview.sampling.ranks import shuffled
from fcreview.sampling.strata import Stratum, allocated

UNIFORM = ""
"""The name of the only stratum of a sample that is not stratified."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn, and from what."""

    strata: list[Stratum]
    sample: list[str]
    """Contents of the items that were drawn, sorted."""


def draw(population: Mapping[str, str], size: int, seed: int) -> Drawn:
    """A sample of `size` from {content: stratum}; of each stratum a simple random sample. The same population, size and
    seed give the same. SamplingError as `allocated`."""
    strata = allocated(Counter(population.values()), size)
    among: dict[str, list[str]] = {stratum.name: [] for stratum in strata}
    for content, name in population.items():
        among[name].append(content)
    sample = [
        content for stratum in strata for content in shuffled(among[stratum.name], str, seed, "sample")[: stratum.drawn]
    ]
    return Drawn(strata, sorted(sample))
