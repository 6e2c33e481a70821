"""Extend a queue: draw a new queue file with the items that narrow the confidence interval of a metric fastest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.review import ItemKey
from fcreview.stats.sampling import ShareOptions, Stratum, assign_shares, shuffle_by_content
from fcreview.store.queues.queue_file import RUN_KEY_FIELDS, QueueFile, QueueItem, SampleDesign, queue_names
from fcreview.store.workspace import check_annotator

if TYPE_CHECKING:
    from fcreview.stats.estimation import ExtensionStratum
    from fcreview.store.queries.estimation import QueueSample, RunSampleStatus
    from fcreview.store.rows import RunRow
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    sample: QueueSample
    row: RunRow
    target: str
    """Name of the metric whose interval is to be narrowed."""
    parts: Sequence[ExtensionStratum]
    """Strata to draw from, with the number of items to draw."""
    annotators: Sequence[str]
    """Annotators to whom the new items are assigned; empty for the annotators of the extended queue."""
    seed: int


def undecided_positions(status: RunSampleStatus, sample: QueueSample) -> list[int]:
    """Return the positions in the run, from 0, of sampled items without a resolved human verdict."""
    sampled = sample.content_keys
    return [
        at
        for at, (content_key, item) in enumerate(zip(status.content_keys, status.items, strict=True))
        if content_key in sampled and item.human is None
    ]


def draw_extension(workspace: Workspace, status: RunSampleStatus, request: ExtensionRequest) -> QueueFile:
    """Draw an extension and return it as a queue file, without writing it.

    The new queue has the name of the extended queue with the next free number. The `probability` of an item is the
    probability of being drawn from the items of the stratum that no earlier queue has drawn. Raises AnnotatorError for
    an invalid name.
    """
    queue = request.sample.queue
    names = [check_annotator(name) for name in request.annotators] or [share.annotator for share in queue.shares]
    drawn: dict[str, ExtensionStratum] = {}
    for part in request.parts:
        candidates = [status.content_keys[at] for at in part.candidates]
        drawn |= dict.fromkeys(
            shuffle_by_content(candidates, str, request.seed, f"extend {part.name}")[: part.n_to_draw], part
        )
    content_keys = sorted(drawn)
    items = []
    for content_key in content_keys:
        *key, prediction_hash, golden_hash = orjson.loads(content_key)
        part = drawn[content_key]
        probability = part.n_to_draw / len(part.candidates)
        items.append(QueueItem(ItemKey(*key), prediction_hash, golden_hash, part.name, probability, overlap=False))
    info = request.row.info
    stored_run: dict[str, Any] = next((run for run in queue.design.runs if run["model"] == info.model), {})
    run = {name: getattr(info, name) for name in RUN_KEY_FIELDS} | {
        "path": stored_run.get("path", ""),
        "dataset": stored_run.get("dataset"),
        "n_items": request.row.n_items,
    }
    design = SampleDesign(
        seed=request.seed,
        where=queue.design.where,
        stratify=queue.design.stratify,
        size=len(items),
        overlap=0,
        repeats=0,
        population=sum(len(part.candidates) for part in request.parts),
        runs=[run],
        extends=queue.name,
        target=request.target,
    )
    strata = [Stratum(part.name, len(part.candidates), part.n_to_draw) for part in request.parts]
    shares = assign_shares(content_keys, set(), ShareOptions(names, seed=request.seed))
    return QueueFile.create(_find_free_name(workspace, queue.name), design, strata, items, shares)


def _find_free_name(workspace: Workspace, name: str) -> str:
    existing = {each.casefold() for each in queue_names(workspace)}
    number = 2
    while f"{name}-{number}".casefold() in existing:
        number += 1
    return f"{name}-{number}"
