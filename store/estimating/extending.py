"""A queue file that goes on with another: items that shrink a figure's interval fastest, none of them drawn before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import orjson

from fcreview.review import ItemKey
from fcreview.sampling.ranks import shuffled
from fcreview.sampling.shares import Sharing, shared
from fcreview.sampling.strata import Stratum
from fcreview.store.annotators import check_annotator
from fcreview.store.estimating.samples import RUN
from fcreview.store.queues.file import Design, QueueFile, QueueItem, queue_names

if TYPE_CHECKING:
    from fcreview.estimate.extension import Part
    from fcreview.store.estimating.samples import Sample
    from fcreview.store.estimating.standings import Standings
    from fcreview.store.rows import RunRow
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Extension:
    """What is to be drawn."""

    sample: Sample
    row: RunRow
    target: str
    parts: Sequence[Part]
    annotators: Sequence[str]
    """Empty: those of the queue."""
    seed: int


def waiting(known: Standings, sample: Sample) -> list[int]:
    """Places of the sample's items that are not settled yet."""
    drawn = sample.items
    return [
        at
        for at, (content, each) in enumerate(zip(known.contents, known.items, strict=True))
        if content in drawn and each.settled is None
    ]


def extended(workspace: Workspace, known: Standings, wanted: Extension) -> QueueFile:
    """The queue; nothing is written. It is called like the one it extends, with the next free number. An item's
    `probability` is that with which it was drawn from those of its stratum that had not been drawn before.

    AnnotatorError for a name that cannot be one.
    """
    queue = wanted.sample.queue
    names = [check_annotator(name) for name in wanted.annotators] or [share.annotator for share in queue.shares]
    chosen: dict[str, Part] = {}
    for part in wanted.parts:
        contents = [known.contents[at] for at in part.places]
        chosen |= dict.fromkeys(shuffled(contents, str, wanted.seed, f"extend {part.name}")[: part.many], part)
    contents = sorted(chosen)
    items = []
    for content in contents:
        *key, prediction_hash, golden_hash = orjson.loads(content)
        part = chosen[content]
        chance = part.many / len(part.places)
        items.append(QueueItem(ItemKey(*key), prediction_hash, golden_hash, part.name, chance, False))
    info = wanted.row.info
    run = {name: getattr(info, name) for name in RUN} | {
        "path": next((run["path"] for run in queue.design.runs if run["model"] == info.model), ""),
        "dataset": info.dataset,
        "n_items": wanted.row.n_items,
    }
    design = Design(
        seed=wanted.seed,
        where=queue.design.where,
        stratify=queue.design.stratify,
        size=len(items),
        overlap=0,
        repeats=0,
        population=sum(len(part.places) for part in wanted.parts),
        runs=[run],
        extends=queue.name,
        target=wanted.target,
    )
    strata = [Stratum(part.name, len(part.places), part.many) for part in wanted.parts]
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    shares = shared(contents, set(), Sharing(names, seed=wanted.seed))
    return QueueFile(_free_name(workspace, queue.name), now, design, strata, items, shares)


def _free_name(workspace: Workspace, name: str) -> str:
    taken = {each.casefold() for each in queue_names(workspace)}
    number = 2
    while f"{name}-{number}".casefold() in taken:
        number += 1
    return f"{name}-{number}"
