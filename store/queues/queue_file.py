"""Queue files: `.fcreview/queues/<name>.json`, a sample of items and who reviews which. docs/queues.md has the format.

Items are named as reviews name them, by content and never by row number, so a file means the same in every copy of the
workspace. It is written once and never changed.

Queue files as a table beside the store: which item comes where in whose share.

`queue_places`: queue, annotator, place (from 0), item, number (that of `presentations`). A file is taken in when it is
first asked for.

How far annotators are with their shares.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview import safe_files
from fcreview.errors import FcreviewError
from fcreview.model.decision import held
from fcreview.model.review import OWN, ItemKey
from fcreview.safe_files import LARGEST, open_fresh
from fcreview.stats.sampling import Share, Stratum
from fcreview.store.reviews.review_index import ItemIndex
from fcreview.store.rows import QUEUES, presented
from fcreview.store.workspace import safe_annotator, same_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pydantic import TypeAdapter

    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.workspace import Workspace


FORMAT = 1
_NO_OTHER_FIELDS = {"extra": "forbid"}
"""For pydantic: a field of a later version would be lost when the queue is merged."""


class QueueError(FcreviewError, ValueError):
    """A queue that is not there, cannot be read or must not be written; one line."""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One item of the sample."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    key: ItemKey
    """In JSON an object with the fields' names."""
    prediction_hash: str
    golden_hash: str
    """Of the answers that were drawn: if they change, the item stays in the queue and its reviews become stale."""
    stratum: str
    probability: float
    """With which it came into the sample."""
    overlap: bool
    """In every annotator's share."""


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """How the sample was drawn."""

    __pydantic_config__ = _NO_OTHER_FIELDS

    seed: int
    where: str
    """The filter that chose the population."""
    stratify: str
    """What strata are made of (`category`, or several joined by commas); empty if the sample is not stratified."""
    size: int
    overlap: int
    repeats: int
    """Items that come twice, of each share."""
    population: int
    runs: list[dict[str, Any]]
    """{benchmark, generation, language, model, path, dataset, n_items} of the runs that were drawn from."""
    extends: str = ""
    """The queue file that it goes on with; its items were not drawn again. Empty for a sample of its own."""
    target: str = ""
    """The figure whose interval it is to shrink, of one that extends another."""


@dataclass(frozen=True, slots=True)
class QueueFile:
    name: str
    created: str
    """UTC, ISO 8601. The only thing in which two files drawn alike differ."""
    design: SampleDesign
    strata: list[Stratum]
    items: list[QueueItem]
    shares: list[Share]

    @classmethod
    def create(
        cls, name: str, design: SampleDesign, strata: list[Stratum], items: list[QueueItem], shares: list[Share]
    ) -> QueueFile:
        """A queue created now."""
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return cls(name, now, design, strata, items, shares)

    def share_of(self, annotator: str | None) -> Share | None:
        return next((share for share in self.shares if share.annotator == annotator), None)

    def has_same_sample(self, other: QueueFile) -> bool:
        """Whenever and wherever they were made."""
        return _bare(self) == _bare(other)


def queue_path(workspace: Workspace, name: str) -> Path:
    return workspace.queues / f"{name}.json"


def queue_names(workspace: Workspace) -> list[str]:
    """By name, readable or not."""
    return sorted(path.stem for path in workspace.queues.glob("*.json") if path.is_file())


def read_queue(workspace: Workspace, name: str) -> QueueFile:
    """QueueError if there is none of this name, or it cannot be read."""
    known = queue_names(workspace)
    if name not in known:
        raise QueueError(f"no queue {name!a}: there are {', '.join((*QUEUES, *known))}")
    return read_queue_file(queue_path(workspace, name))


def read_queues(workspace: Workspace) -> Iterator[QueueFile | QueueError]:
    """Every queue, and why one cannot be read."""
    for name in queue_names(workspace):
        try:
            yield read_queue(workspace, name)
        except QueueError as error:
            yield error


def read_queue_file(path: Path) -> QueueFile:
    try:
        found = _queue(orjson.loads(safe_files.read_file(path, LARGEST)))
    except OSError as error:
        raise QueueError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise QueueError(f"{path}: not a queue of this version ({_reason(error)})"[:300]) from error
    if found.name != path.stem:
        raise QueueError(f"{path}: holds a queue called {found.name!a}")
    return found


def write_queue(workspace: Workspace, queue: QueueFile) -> Path:
    """On disk whole when this returns. QueueError for a name that cannot be one, or that is taken."""
    check_queue_name(queue.name)
    for other in queue_names(workspace):
        if same_file(other, queue.name):
            raise QueueError(f"there is a queue {other!a} already: take another name")
    path = queue_path(workspace, queue.name)
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        safe_files.make_folder(workspace.queues)
        with open_fresh(fresh) as file:
            file.write(orjson.dumps(_content(queue), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            file.flush()
            os.fsync(file.fileno())
        safe_files.share(fresh)
        os.link(fresh, path)  # unlike a rename, this fails if another process was faster
    except FileExistsError:
        raise QueueError(f"there is a queue {queue.name!a} already: take another name") from None
    except OSError as error:
        raise QueueError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()
    return path


def check_queue_name(name: str) -> None:
    """QueueError for one that cannot be a file's, or that fcreview uses itself."""
    if name in QUEUES:
        raise QueueError(f"{name} is a queue that is always there: take another name")
    if not name or safe_annotator(name) != name:
        raise QueueError(f"queue {name!a}: letters, digits and . _ @ + - only, as annotators are called")


def _bare(queue: QueueFile) -> dict[str, Any]:
    """Without time and folders; which answers were drawn stands in the items."""
    return _content(replace(queue, created="", design=replace(queue.design, runs=[])))


def _content(queue: QueueFile) -> dict[str, Any]:
    made = asdict(queue)
    for stratum, of in zip(made["strata"], queue.strata, strict=True):
        stratum["probability"] = of.probability
    for item in made["items"]:
        item["key"] = ItemKey(*item["key"])._asdict()
    return {"fcreview_queue": FORMAT, **made}


def _queue(content: Any) -> QueueFile:
    """ValueError for content that is not a queue of this version."""
    if isinstance(content, dict) and content.get("fcreview_queue") != FORMAT:
        raise ValueError("written by another version")
    found = _validator().validate_python(content)
    for share in found.shares:
        if not all(0 <= at < len(found.items) for at in share.order):
            raise ValueError("a share names items that are not there")
        if not set(share.repeats) <= set(range(len(share.order))):
            raise ValueError("repeats at places that are not there")
    return found


@cache
def _validator() -> TypeAdapter[QueueFile]:
    from pydantic import TypeAdapter  # here, because it takes a tenth of a second to load

    return TypeAdapter(QueueFile)


def _reason(error: ValueError) -> str:
    """The first thing that is wrong, as `items.0.key.id: Field required`."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")


_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS queue_places
(queue VARCHAR, annotator VARCHAR, place BIGINT, item BIGINT, "number" BIGINT)
"""


class QueueItemTable:
    """Not for two threads at once."""

    def __init__(self, connection: DuckDBPyConnection, workspace: Workspace) -> None:
        self._connection, self._workspace = connection, workspace
        self._taken: dict[str, QueueFile] = {}
        self._items: dict[str, list[int | None]] = {}

    def load(self, name: str) -> QueueFile:
        """The queue, its places in the table. QueueError if it is not there or cannot be read."""
        if name not in self._taken:
            queue = read_queue(self._workspace, name)
            items = self._items[name] = self._found(queue)
            self._connection.execute(_TABLE)
            rows = [
                (share.annotator, place, item, presented(item, 2 if place in share.repeats else 1))
                for share in queue.shares
                for place, at in enumerate(share.order)
                if (item := items[at]) is not None
            ]
            columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
            self._connection.execute(
                "INSERT INTO queue_places SELECT $1, unnest($2::VARCHAR[]), unnest($3::BIGINT[]),"
                " unnest($4::BIGINT[]), unnest($5::BIGINT[])",
                [name, *columns],
            )
            self._taken[name] = queue
        return self._taken[name]

    def item_numbers(self, name: str) -> list[int | None]:
        """The queue's items in the store, in the order of the file; None for one that is not in it any more."""
        self.load(name)
        return self._items[name]

    def _found(self, queue: QueueFile) -> list[int | None]:
        """Where runs of one model share a key, the one whose answer was drawn."""
        references = ItemIndex(self._connection)
        references.load_many(list(dict.fromkeys(item.key for item in queue.items)))
        found: list[int | None] = []
        for item in queue.items:
            there = references.items_with(item.key)
            drawn = (each.item for each in there if each[1:] == (item.prediction_hash, item.golden_hash))
            found.append(next(drawn, there[0].item if there else None))
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    """Of one annotator."""

    annotator: str
    done: int
    total: int
    """Of what they are shown: an item that comes twice is two."""
    missing: int
    """Of the queue, but not in the store any more."""

    @property
    def said(self) -> str:
        """`12 of 80`"""
        return f"{self.done:,} of {self.total:,}"


def measure_progress(name: str, table: QueueItemTable, reviews: ReviewTables, annotator: str | None = None) -> list[Progress]:
    """Of every annotator of the queue, or of one. What has a verdict on the answer that is now there is done."""
    queue, items = table.load(name), table.item_numbers(name)
    found = []
    for share in queue.shares:
        if annotator not in (None, share.annotator):
            continue
        done, repeats = 0, set(share.repeats)
        for place, at in enumerate(share.order):
            item, key = items[at], queue.items[at].key
            if item is not None and reviews.events.has_reviewed(key, share.annotator):
                done += _decided(key, item, share.annotator, reviews, 2 if place in repeats else 1)
        missing = sum(items[at] is None for at in share.order)
        found.append(Progress(share.annotator, done, len(share.order) - missing, missing))
    return found


def _decided(key: ItemKey, item: int, annotator: str, reviews: ReviewTables, presentation: int) -> bool:
    there = next((each for each in reviews.items_with(key) if each.item == item), None)
    if there is None:
        return False
    mine = reviews.events.opinions_by(key, annotator, there.prediction_hash, there.golden_hash, presentation)
    return annotator in held(mine, reviews.roll_up_context(item))[OWN].verdicts
