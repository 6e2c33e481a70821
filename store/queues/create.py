"""Drawing a queue from the items of a view.

The union of two workspaces' queues: what is not here is taken; what is here stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fcreview.model.review import ItemKey
from fcreview.stats.sampling import UNIFORM, Sharing, draw, overlapping, shared
from fcreview.store.filters.keys import ERROR
from fcreview.store.queries.item_order import FROM_ITEMS, build_condition
from fcreview.store.queues.queue_file import (
    SampleDesign,
    QueueError,
    QueueFile,
    QueueItem,
    check_queue_name,
    queue_names,
    read_queue,
    read_queues,
    write_queue,
)
from fcreview.store.workspace import check_annotator, same_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View
    from fcreview.store.workspace import Workspace


STRATUM_COLUMNS = {
    "benchmark": "r.benchmark",
    "language": "r.language",
    "model": "r.model",
    "run": "CAST(i.run AS VARCHAR)",
    "category": "i.category",
    "group": 'i."group"',
    "official": "CASE WHEN i.official THEN 'pass' WHEN NOT i.official THEN 'fail' END",
    "rule": "CASE WHEN i.rule THEN 'pass' WHEN NOT i.rule THEN 'fail' END",
    "judge": "CASE WHEN i.judge THEN 'pass' WHEN NOT i.judge THEN 'fail' END",
    "error": ERROR,
}
"""What a sample can be stratified by."""
_KEY = "r.benchmark, r.generation, r.language, r.model, i.category, i.id"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A queue that is to be made."""

    name: str
    view: View
    size: int | None
    """None: every item of the view."""
    stratify: str
    sharing: Sharing


def create_queue(connection: DuckDBPyConnection, request: Wanted) -> QueueFile:
    """The queue; nothing is written. The same view, size and seed draw the same.

    QueueError, SamplingError, AnnotatorError or FilterError for what cannot be.
    """
    check_queue_name(request.name)
    names = [check_annotator(name) for name in request.sharing.annotators]
    if not names or len({name.casefold() for name in names}) < len(names):
        raise QueueError("name each annotator once: --annotators a,b,c")
    population = fetch_population(connection, request)
    if not population:
        raise QueueError(f"no item matches {request.view.where}" if request.view.where.strip() else "there are no items")
    size = len(population) if request.size is None else request.size
    drawn = draw(population, size, request.sharing.seed)
    overlap = overlapping(drawn.sample, request.sharing)
    probability = {stratum.name: stratum.probability for stratum in drawn.strata}
    items = []
    for at, content in enumerate(drawn.sample):
        *key, prediction_hash, golden_hash = orjson.loads(content)
        stratum = population[content]
        hashes = prediction_hash, golden_hash
        items.append(QueueItem(ItemKey(*key), *hashes, stratum, probability[stratum], at in overlap))
    design = SampleDesign(
        seed=request.sharing.seed,
        where=request.view.where,
        stratify=request.stratify,
        size=size,
        overlap=request.sharing.overlap,
        repeats=request.sharing.repeats,
        population=len(population),
        runs=_runs(connection, items),
    )
    return QueueFile.create(request.name, design, drawn.strata, items, shared(drawn.sample, overlap, request.sharing))


def fetch_population(connection: DuckDBPyConnection, request: Wanted) -> dict[str, str]:
    """What could be drawn: {key and hashes as JSON text: stratum}. Runs with the same answer to an item are one."""
    by = [name.strip() for name in request.stratify.split(",") if name.strip()]
    unknown = next((name for name in by if name not in STRATUM_COLUMNS), None)
    if unknown is not None:
        raise QueueError(f"--stratify {unknown}: there are {', '.join(STRATUM_COLUMNS)}")
    stratum = " || ', ' || ".join(f"coalesce({STRATUM_COLUMNS[name]}, 'none')" for name in by) or f"'{UNIFORM}'"
    where, params, _ = build_condition(request.view, blind=False)
    rows = connection.execute(
        f"SELECT {_KEY}, coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {stratum}"
        f" {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where} ORDER BY i.item",
        params,
    ).fetchall()
    return {orjson.dumps(key).decode(): name for *key, name in rows}


def _runs(connection: DuckDBPyConnection, items: list[QueueItem]) -> list[dict[str, Any]]:
    names = ("benchmark", "generation", "language", "model", "path", "dataset", "n_items")
    rows = connection.execute(f"SELECT {', '.join(names)} FROM runs ORDER BY run").fetchall()
    drawn = {item.key[:4] for item in items}
    return [dict(zip(names, row, strict=True)) for row in rows if tuple(row[:4]) in drawn]


QueueMergeState = Literal["new", "known", "differs", "unreadable"]


@dataclass(frozen=True, slots=True)
class MergedQueue:
    """What came of one queue of the other workspace."""

    queue: str
    state: QueueMergeState
    """`known`: the same is here, whenever it was made. `differs`: another of this name is here; both are kept."""
    kept_as: str = ""
    """The name that it has here, or would have."""
    why: str = ""
    """Why it could not be read."""


def merge_queues(workspace: Workspace, other: Workspace) -> list[MergedQueue]:
    """One answer a queue of the other workspace, by name. QueueError if the disk says no."""
    return [_taken(workspace, found) for found in read_queues(other)]


def _taken(workspace: Workspace, found: QueueFile | QueueError) -> MergedQueue:
    if isinstance(found, QueueError):
        return MergedQueue("", "unreadable", why=str(found))
    try:
        check_queue_name(found.name)
    except QueueError as error:  # the others are taken all the same
        return MergedQueue(found.name, "unreadable", why=str(error))
    here = {name: name for name in queue_names(workspace)}
    same = next((name for name in here if same_file(name, found.name)), None)
    if same is None:
        write_queue(workspace, found)
        return MergedQueue(found.name, "new", found.name)
    number = 1
    name = found.name
    while same is not None:
        if _alike(workspace, same, found):
            return MergedQueue(found.name, "known" if number == 1 else "differs", same)
        number += 1
        name = f"{found.name}-{number}"
        same = next((known for known in here if same_file(known, name)), None)
    write_queue(workspace, replace(found, name=name))
    return MergedQueue(found.name, "differs", name)


def _alike(workspace: Workspace, name: str, found: QueueFile) -> bool:
    try:
        return replace(read_queue(workspace, name), name=found.name).has_same_sample(found)
    except QueueError:
        return False
