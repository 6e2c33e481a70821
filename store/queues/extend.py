"""A queue file that goes on with another: items that shrink a figure's interval fastest, none of them drawn before.

Filters that open the items of a cell: by what the sources say where the filter language can, else by id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model.review import CORRECT, ItemKey
from fcreview.stats.sampling import Sharing, Stratum, shared, shuffled
from fcreview.store.filters.build import narrowed
from fcreview.store.filters.tokens import only
from fcreview.store.queries.estimation import RUN_KEY_FIELDS
from fcreview.store.queues.queue_file import SampleDesign, QueueFile, QueueItem, queue_names
from fcreview.store.workspace import check_annotator

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from fcreview.stats.estimation import Part
    from fcreview.store.queries.estimation import Sample, Standings
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
    run = {name: getattr(info, name) for name in RUN_KEY_FIELDS} | {
        "path": next((run["path"] for run in queue.design.runs if run["model"] == info.model), ""),
        "dataset": info.dataset,
        "n_items": wanted.row.n_items,
    }
    design = SampleDesign(
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
    shares = shared(contents, set(), Sharing(names, seed=wanted.seed))
    return QueueFile.create(_free_name(workspace, queue.name), design, strata, items, shares)


def _free_name(workspace: Workspace, name: str) -> str:
    taken = {each.casefold() for each in queue_names(workspace)}
    number = 2
    while f"{name}-{number}".casefold() in taken:
        number += 1
    return f"{name}-{number}"


MAX_IDS_IN_FILTER = 150
"""Ids in one filter."""
_WORDS = {True: "pass", False: "fail"}
_PLAIN = ("official", "rule")
"""Sources whose verdict on an item is one value, so that a filter term says the same."""
_TERMS = {"overall": "", "benchmark": "benchmark", "category": "category", "error": "error", "function": "function"}
"""Scopes of calibration that the filter language has a key for."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Items that a cell is made of, and what they have in common."""

    source: str
    criterion: str
    said: Any
    settled: Any
    scope: str
    name: str | None
    items: Sequence[int]


def build_cell_filter(connection: DuckDBPyConnection, base: str, cell: Wanted) -> str | None:
    """A filter that selects exactly these items of those that `base` selects; None if they are too many to be named."""
    by_value = cell.criterion == CORRECT and cell.source in _PLAIN and cell.scope in _TERMS
    if by_value and isinstance(cell.said, bool) and isinstance(cell.settled, bool):
        terms = [f"{cell.source}:{_WORDS[cell.said]}", f"human:{_WORDS[cell.settled]}"]
        if cell.name is not None:
            terms.append(f"{_TERMS[cell.scope]}:{only(cell.name)}")
        return narrowed(base, *terms)
    if len(cell.items) > MAX_IDS_IN_FILTER:
        return None
    numbers = ", ".join(str(int(item)) for item in cell.items) or "NULL"
    rows = connection.execute(f"SELECT run, id FROM item_rows WHERE item IN ({numbers}) ORDER BY item").fetchall()
    runs: defaultdict[int, list[str]] = defaultdict(list)
    for run, name in rows:
        runs[run].append(only(name))
    parts = [f"run:{run} id:{'|'.join(dict.fromkeys(names))}" for run, names in runs.items()]
    return parts[0] if len(parts) == 1 else " OR ".join(f"({part})" for part in parts)
