"""Draw and extend queues from the items of a view, and merge the queues of two workspaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fcreview.model.effective_verdict import SCORING_ORDER
from fcreview.model.review import ItemKey
from fcreview.stats.sampling import (
    UNSTRATIFIED,
    ShareOptions,
    Stratum,
    assign_shares,
    draw_overlap_indexes,
    draw_stratified_sample,
    shuffle_by_content,
)
from fcreview.store.filters.search_sql import ERROR_TYPE_SQL
from fcreview.store.queries.view_items import FROM_ITEMS, build_view_condition
from fcreview.store.queue_file import (
    RUN_KEY_FIELDS,
    QueueError,
    QueueFile,
    QueueItem,
    SampleDesign,
    check_queue_name,
    list_queue_names,
    read_queue,
    read_queues,
    write_queue,
)
from fcreview.store.workspace import check_annotator, is_same_filename

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.stats.estimation import ExtensionStratum
    from fcreview.store.rows import RunRow, View
    from fcreview.store.workspace import Workspace

STRATUM_COLUMNS: dict[str, str] = {
    "benchmark": "r.benchmark",
    "language": "r.language",
    "model": "r.model",
    "run": "CAST(i.run AS VARCHAR)",
    "category": "i.category",
    "group": 'i."group"',
    **{source: f"CASE i.{source} WHEN true THEN 'pass' WHEN false THEN 'fail' END" for source in SCORING_ORDER},
    "error": ERROR_TYPE_SQL,
}
_CONTENT_KEY_COLUMNS = (
    "r.benchmark, r.generation, r.language, r.model, i.category, i.id,"
    " coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, '')"
)


ContentKey = str
"""Key fields and content hashes of an item as a JSON list. It is the same in every copy of the workspace."""


@dataclass(frozen=True, slots=True)
class QueueRequest:
    name: str
    view: View  # items to draw from
    size: int | None  # number of items to draw; None for all items of the view
    stratify: str  # keys of `STRATUM_COLUMNS`, joined by commas; empty for a sample without strata
    sharing: ShareOptions
    avoids_earlier_queues: bool = False  # whether to leave out the items of the workspace's queues


def draw_queue(connection: Connection, request: QueueRequest, earlier: Sequence[QueueFile] = ()) -> QueueFile:
    """Draw a sample and return it as a new queue, without writing a file. Equal requests give the same sample.

    Items of the `earlier` queues are not drawn. Raises QueueError if too few items remain.
    """
    check_queue_name(request.name)
    names = [check_annotator(name) for name in request.sharing.annotators]
    if not names or len({name.casefold() for name in names}) < len(names):
        raise QueueError("the queue needs annotators, each named exactly once. Use --annotators a,b,c")
    population = fetch_strata_by_content_key(connection, request)
    if not population:
        where = request.view.where
        raise QueueError(f"no items match the filter {where}" if where.strip() else "the workspace has no items")
    excludes = [queue.name for queue in earlier if not population.keys().isdisjoint(list_content_keys(queue))]
    remaining = remove_items_of_queues(population, earlier)
    size = len(remaining) if request.size is None else request.size
    if excludes and not 0 < size <= len(remaining):
        raise QueueError(
            f"only {len(remaining):,} of {len(population):,} items are in no earlier queue ({', '.join(excludes)})."
            " Reduce --size, or pass --allow-overlap to draw from all items"
        )
    sample = draw_stratified_sample(remaining, size, request.sharing.seed)
    overlap = draw_overlap_indexes(sample.items, request.sharing)
    probability = {stratum.name: stratum.probability for stratum in sample.strata}
    items = []
    for at, content_key in enumerate(sample.items):
        *key, prediction_hash, golden_hash = orjson.loads(content_key)
        stratum = population[content_key]
        hashes = prediction_hash, golden_hash
        items.append(QueueItem(ItemKey(*key), *hashes, stratum, probability[stratum], at in overlap))
    design = SampleDesign(
        seed=request.sharing.seed,
        where=request.view.where,
        stratify=request.stratify,
        size=size,
        overlap=request.sharing.overlap,
        repeats=request.sharing.repeats,
        population=len(remaining),
        runs=_describe_sampled_runs(connection, items),
        excludes=excludes,
        n_excluded=len(population) - len(remaining),
    )
    shares = assign_shares(sample.items, overlap, request.sharing)
    return QueueFile(request.name, _current_time(), design, sample.strata, items, shares)


def remove_items_of_queues(strata: Mapping[ContentKey, str], queues: Iterable[QueueFile]) -> dict[ContentKey, str]:
    """Return the strata of the items that are in none of the queues."""
    drawn = {content_key for queue in queues for content_key in list_content_keys(queue)}
    return {content_key: stratum for content_key, stratum in strata.items() if content_key not in drawn}


def make_content_key(*fields: str | None) -> ContentKey:
    return orjson.dumps([part or "" for part in fields]).decode()


def list_content_keys(queue: QueueFile) -> list[ContentKey]:
    """Return the content keys of the items in the queue, in the order of the queue file."""
    return [make_content_key(*item.key, item.prediction_hash, item.golden_hash) for item in queue.items]


def fetch_strata_by_content_key(connection: Connection, request: QueueRequest) -> dict[ContentKey, str]:
    """Return the stratum of every item that can be drawn, by content key (item key and hashes as JSON text). The same
    item with the same answer has only one content key in all runs of a model, so it counts once."""
    keys = [name.strip() for name in request.stratify.split(",") if name.strip()]
    unknown = next((name for name in keys if name not in STRATUM_COLUMNS), None)
    if unknown is not None:
        raise QueueError(f"unknown --stratify key {unknown}. Available keys: {', '.join(STRATUM_COLUMNS)}")
    stratum = " || ', ' || ".join(f"coalesce({STRATUM_COLUMNS[name]}, 'none')" for name in keys) or f"'{UNSTRATIFIED}'"
    where, params, _ = build_view_condition(request.view, blind=False)
    rows = connection.execute(
        f"SELECT {_CONTENT_KEY_COLUMNS}, {stratum}"
        f" {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where} ORDER BY i.item",
        params,
    ).fetchall()
    return {orjson.dumps(content).decode(): name for *content, name in rows}


def _describe_sampled_runs(connection: Connection, items: list[QueueItem]) -> list[dict[str, Any]]:
    names = ("benchmark", "generation", "language", "model", "path", "dataset", "n_items")
    rows = connection.execute(f"SELECT {', '.join(names)} FROM runs ORDER BY run").fetchall()
    sampled = {item.key[:4] for item in items}
    return [dict(zip(names, row, strict=True)) for row in rows if tuple(row[:4]) in sampled]


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    queue: QueueFile  # queue to extend
    row: RunRow
    target: str  # name of the metric whose interval is to be narrowed
    parts: Sequence[ExtensionStratum]  # strata to draw from, with the number of items to draw
    annotators: Sequence[str]  # empty for the annotators of the extended queue
    seed: int


def draw_queue_extension(workspace: Workspace, content_keys: Sequence[str], request: ExtensionRequest) -> QueueFile:
    """Draw more items for a queue, and return them as a new queue, without writing a file.

    `request.parts` says how many items of each stratum to draw. The name of the new queue is the name of the extended
    queue and the next free number. The `probability` of an item is its chance to be drawn among those items of the
    stratum that no earlier queue contains. `content_keys`: the keys of all items of the run, in dataset order. Raises
    AnnotatorError if the name of an annotator is invalid.
    """
    queue, info = request.queue, request.row.info
    names = [check_annotator(name) for name in request.annotators] or [share.annotator for share in queue.shares]
    drawn: dict[str, ExtensionStratum] = {}
    for part in request.parts:
        candidates = [content_keys[at] for at in part.candidates]
        shuffled = shuffle_by_content(candidates, str, request.seed, f"extend {part.name}")
        drawn |= dict.fromkeys(shuffled[: part.n_to_draw], part)
    items = []
    for content_key, part in sorted(drawn.items(), key=lambda each: each[0]):
        *key, prediction_hash, golden_hash = orjson.loads(content_key)
        probability = part.n_to_draw / len(part.candidates)
        items.append(QueueItem(ItemKey(*key), prediction_hash, golden_hash, part.name, probability, overlap=False))
    stored_run: dict[str, Any] = next((run for run in queue.design.runs if run["model"] == info.model), {})
    folders = {"path": stored_run.get("path", ""), "dataset": stored_run.get("dataset")}
    run = {name: getattr(info, name) for name in RUN_KEY_FIELDS} | folders | {"n_items": request.row.n_items}
    design = replace(
        queue.design,
        seed=request.seed,
        size=len(items),
        overlap=0,
        repeats=0,
        population=sum(len(part.candidates) for part in request.parts),
        runs=[run],
        extends=queue.name,
        target=request.target,
    )
    strata = [Stratum(part.name, len(part.candidates), part.n_to_draw) for part in request.parts]
    shares = assign_shares(sorted(drawn), set(), ShareOptions(names, seed=request.seed))
    existing = {each.casefold() for each in list_queue_names(workspace)}
    new_names = (f"{queue.name}-{number}" for number in count(2))
    name = next(each for each in new_names if each.casefold() not in existing)
    return QueueFile(name, _current_time(), design, strata, items, shares)


def _current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


QueueMergeState = Literal["new", "known", "differs", "unreadable"]


@dataclass(frozen=True, slots=True)
class MergedQueue:
    queue: str
    state: QueueMergeState
    """`known`: this workspace already has the queue. `differs`: it has another queue of this name, and keeps both."""
    kept_as: str = ""  # name of the queue in this workspace; empty if the queue is unreadable
    why: str = ""


def merge_queues(workspace: Workspace, other: Workspace) -> list[MergedQueue]:
    """Copy the queues of the other workspace that this workspace lacks. Return one result per queue, sorted by name."""
    return [merge_queue(workspace, queue) for queue in read_queues(other)]


def merge_queue(workspace: Workspace, queue: QueueFile | QueueError) -> MergedQueue:
    """Copy a queue to this workspace, unless it already has it. Raises QueueError if the file cannot be written."""
    if isinstance(queue, QueueError):
        return MergedQueue("", "unreadable", why=str(queue))
    try:
        check_queue_name(queue.name)
    except QueueError as error:  # reported, so that the other queues are still merged
        return MergedQueue(queue.name, "unreadable", why=str(error))
    existing = list_queue_names(workspace)
    number, name = 1, queue.name
    while (same := next((each for each in existing if is_same_filename(each, name)), None)) is not None:
        if _has_same_content(workspace, same, queue):
            return MergedQueue(queue.name, "known" if number == 1 else "differs", same)
        number += 1
        name = f"{queue.name}-{number}"
    write_queue(workspace, replace(queue, name=name))
    return MergedQueue(queue.name, "new" if number == 1 else "differs", name)


def _has_same_content(workspace: Workspace, name: str, queue: QueueFile) -> bool:
    try:
        return replace(read_queue(workspace, name), name=queue.name).has_same_content(queue)
    except QueueError:
        return False
