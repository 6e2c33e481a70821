"""Which labels a response can be given on the screen. Pure but for `asked_labels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.criteria import SCALES
from fcreview.store.alike.labelled import label_criteria
from fcreview.store.rows import ItemDetail
from fcreview.targets import RESPONSE

if TYPE_CHECKING:
    from fcreview.store.store import Store


@dataclass(frozen=True, slots=True)
class Offered:
    """What there is to choose from, and what is chosen at first."""

    labels: list[str]
    chosen: list[str]


def asked_labels(store: Store, item: int) -> list[str]:
    """The criteria on which its response has labels."""
    return label_criteria(store, item)


def offered(detail: ItemDetail, annotator: str, criterion: str) -> Offered:
    """The labels that the criterion is known to have, then those that stand in this item. Chosen are this annotator's
    own, else the benchmark's; what is hidden is not in the detail."""
    scale = SCALES.get(criterion)
    automatic = next(
        (
            verdict.value
            for verdict in detail.item.verdicts
            if (verdict.target, verdict.criterion) == (RESPONSE, criterion) and isinstance(verdict.value, list)
        ),
        [],
    )
    mine = next(
        (
            opinion.verdict
            for opinion in detail.opinions
            if (opinion.annotator, opinion.target, opinion.criterion) == (annotator, RESPONSE, criterion)
        ),
        None,
    )
    chosen = mine if isinstance(mine, list) else automatic
    known = scale.known if scale is not None else ()
    golden = detail.item.extra.golden_labels or []
    return Offered(list(dict.fromkeys([*known, *map(str, golden), *map(str, automatic), *chosen])), list(chosen))
