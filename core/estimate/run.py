"""What the estimates of a run are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fcreview.estimate.answers import Asked
from fcreview.estimate.outcomes import Figures
from fcreview.estimate.standing import Standing
from fcreview.figures import Scored


@dataclass(frozen=True, slots=True)
class Run:
    """A run's items, one entry an item in each list; or those of several runs, see `joined`."""

    before: Sequence[Scored]
    """As the benchmark says."""
    after: Sequence[Scored]
    """With what people settled."""
    standings: Sequence[Standing]
    figures: Figures
    asked: Sequence[Asked] = ()
    """What people said on other criteria than whether an item passes."""
