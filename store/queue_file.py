"""Read and write queue files, `.fcreview/queues/<name>.json`. A queue file contains a sample of
items, and for each annotator the share of items to review.

`docs/queues.md` describes the format. A queue file identifies items by content, as reviews do, so
it is valid in every copy of the workspace. fcreview never changes an existing queue file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.errors import FcreviewError
from fcreview.model.effective_verdict import collect_verdicts
from fcreview.model.review import ITEM_CORRECT, ItemKey
from fcreview.model.sync_copy import find_original_name
from fcreview.model.wording import format_count
from fcreview.stats.sampling import AnnotatorShare, Stratum
from fcreview.store.rows import BUILTIN_QUEUES, to_item_number
from fcreview.store.workspace import is_same_filename, to_safe_annotator
from fcreview.tables.queues import ShareProgress

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from pydantic import ConfigDict, TypeAdapter

    from fcreview.store.reviews.review_index import ItemIndex
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.workspace import Workspace

_JOINT_SAMPLE_PATTERN = re.compile(rb'"same_questions"\s*:\s*true')
FORMAT = 1  # format version, the value of `fcreview_queue` in the file
# fcreview rejects files with fields of later versions, because a merge would lose these fields.
_FORBID_UNKNOWN_FIELDS: ConfigDict = {"extra": "forbid"}


class QueueError(FcreviewError, ValueError):
    """Raised when a queue does not exist, cannot be read or cannot be written.

    The message is one line.
    """


@dataclass(frozen=True, slots=True)
class QueueItem:
    __pydantic_config__ = _FORBID_UNKNOWN_FIELDS

    key: (
        ItemKey  # Key of the item. In JSON, the key is an object with the field names of `ItemKey`.
    )
    prediction_hash: str
    golden_hash: (
        str  # Hash when the sample was drawn. Another hash makes reviews stale; the item stays.
    )
    stratum: str
    """Empty if the stratum tells the hidden verdict of a judge of `fcreview judge`."""
    probability: float | None
    """Probability with which the sample includes the item, 0 to 1. None if the stratum is
    hidden.
    """
    overlap: bool  # whether the item is in every annotator's share


@dataclass(frozen=True, slots=True)
class SampleDesign:
    """The parameters with which the sample was drawn."""

    __pydantic_config__ = _FORBID_UNKNOWN_FIELDS

    seed: int
    where: str  # filter that selects the population
    stratify: str  # keys of `STRATUM_COLUMNS`, joined by commas; empty without strata
    size: int
    overlap: int  # number of items in every annotator's share
    repeats: int  # number of hidden duplicates in each share
    population: int  # number of items that the filter selects
    runs: list[dict[str, Any]]
    """{benchmark, generation, language, model, path, dataset, n_items} of each run with sampled
    items.
    """
    extends: str = ""  # queue whose items are not drawn again; empty for a new sample
    # name of the metric whose confidence interval an extension narrows; empty for a new sample
    target: str = ""
    # earlier queues whose items are not drawn again
    excludes: list[str] = field(default_factory=list)
    n_excluded: int = (
        0  # number of items that the filter selects, but that are in the queues `excludes`
    )
    # `task` or `conversation` if whole groups were drawn. `size` and `population` then count
    # groups.
    cluster: str = ""
    same_questions: bool = False
    """Whether questions were drawn with the items of all runs. `size` and `population` then count
    questions, unless groups were drawn.
    """
    decides: bool = False
    """Whether the population is limited to questions that not all runs pass equally, by their
    automatic verdicts.
    """
    n_incidents: int = (
        0  # Number of items that the filter selects, but that are incidents and were left out
    )
    blind: bool = False  # whether annotators review the items blind
    sources: list[str] = field(default_factory=list)
    """Automatic sources whose passing verdicts were counted, if the strata are by this count."""
    allocation: str = ""
    """`neyman` if strata in which people differ more got a larger share of the sample; empty for
    shares in proportion to their sizes.
    """
    incident_hashes: list[str] = field(default_factory=list)
    """Hashes of the content keys of these items (`hash_content_key`). The frame stays the same if
    reviewers later set or clear marks.
    """

    @property
    def unit(self) -> str:
        """What `size` counts: a task, conversation, question or item."""
        if self.cluster:
            return self.cluster
        return "question" if self.same_questions else "item"

    @property
    def frame_text(self) -> str:
        """The sampling frame, such as `3,900 of 4,000 items; 100 incidents left out`.

        Empty if it has all items.
        """
        if not self.n_incidents:
            return ""
        incidents = f"{format_count(self.n_incidents, 'incident')} left out"
        # `population` counts groups or questions.
        if self.unit != "item":
            return incidents
        total = self.population + self.n_excluded + self.n_incidents
        return f"{total - self.n_incidents:,} of {format_count(total, 'item')}; {incidents}"


@dataclass(frozen=True, slots=True)
class QueueFile:
    name: str
    created: (
        str  # UTC, ISO 8601. Equal requests for the same items give files that differ only here.
    )
    design: SampleDesign
    strata: list[Stratum]
    items: list[QueueItem]
    shares: list[AnnotatorShare]

    def find_share(self, annotator: str | None) -> AnnotatorShare | None:
        for share in self.shares:
            if share.annotator == annotator:
                return share
        return None

    def has_same_content(self, other: QueueFile) -> bool:
        """Return whether both files have the same content, except the time of creation and the
        data on runs.
        """
        mine, others = (
            replace(each, created="", design=replace(each.design, runs=[]))
            for each in (self, other)
        )
        return _queue_to_json(mine) == _queue_to_json(others)


# fields of an `ItemKey` that identify the run
RUN_KEY_FIELDS = (
    "benchmark",
    "generation",
    "language",
    "model",
)


def queue_path(workspace: Workspace, name: str) -> Path:
    return workspace.queues / f"{name}.json"


def list_queue_names(workspace: Workspace) -> list[str]:
    """Return the names of all queue files in alphabetical order, including unreadable files.

    Copies that a sync program made are no queues. `store/sync_copies.py` names them.
    """
    names = []
    for path in workspace.queues.glob("*.json"):
        if path.is_file() and find_original_name(path.name) is None:
            names.append(path.stem)
    return sorted(names)


def read_queue(workspace: Workspace, name: str) -> QueueFile:
    """Read a queue file by name. Raises QueueError if it does not exist or is invalid."""
    names = list_queue_names(workspace)
    if name not in names:
        raise QueueError(
            f"queue not found: {name!a}. Available queues: {', '.join((*BUILTIN_QUEUES, *names))}"
        )
    path = queue_path(workspace, name)
    try:
        queue = parse_queue(workspace.files.read(path), str(path))
    except OSError as error:
        raise QueueError(f"{path}: {error.strerror or error}") from error
    if queue.name != path.stem:
        raise QueueError(
            f"{path}: the file contains the queue {queue.name!a}. The file name must be the queue"
            " name"
        )
    return queue


MAX_ERROR_CHARS = 300  # maximum length of the message about an invalid queue file


def parse_queue(content: bytes, source_name: str) -> QueueFile:
    """Parse the content of a queue file.

    `source_name` is the name of the file in error messages.
    """
    try:
        return _validate_queue(orjson.loads(content))
    except ValueError as error:
        message = f"{source_name} is not a valid queue file ({_describe_first_error(error)})"
        raise QueueError(message[:MAX_ERROR_CHARS]) from error


def is_blind_queue(workspace: Workspace | None, name: str | None) -> bool:
    """Whether the items of a queue file are reviewed blind. False if there is no such file."""
    if workspace is None or not name:
        return False
    try:
        return read_queue(workspace, name).design.blind
    except QueueError:
        return False


def read_queues(workspace: Workspace) -> Iterator[QueueFile | QueueError]:
    """Yield the content of each queue file or, if the file cannot be read, the error."""
    for name in list_queue_names(workspace):
        try:
            yield read_queue(workspace, name)
        except QueueError as error:
            yield error


def has_joint_queue(workspace: Workspace) -> bool:
    """Whether a queue file may be a joint sample. The text of the files is searched, because
    parsing them takes longer.
    """
    for name in list_queue_names(workspace):
        try:
            content = workspace.files.read(queue_path(workspace, name))
        except OSError:
            # Reported where the queue is read.
            continue
        if _JOINT_SAMPLE_PATTERN.search(content):
            return True
    return False


def write_queue(workspace: Workspace, queue: QueueFile) -> Path:
    """Write a new queue file and sync it to disk.

    Raises QueueError if the name is invalid or in use.
    """
    check_new_queue_name(workspace, queue.name)
    path = queue_path(workspace, queue.name)
    content = serialize_queue(queue)
    try:
        workspace.files.make_folder(workspace.queues)
        workspace.files.write(path, content, sync=True, overwrite=False)
    except FileExistsError:
        raise QueueError(f"queue {queue.name!a} already exists. Choose another name.") from None
    except OSError as error:
        raise QueueError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def check_new_queue_name(workspace: Workspace, name: str) -> None:
    """Raise QueueError if a queue with this name cannot be created, because the name is invalid
    or in use.
    """
    check_queue_name(name)
    for other in list_queue_names(workspace):
        if is_same_filename(other, name):
            raise QueueError(f"queue {other!a} already exists. Choose another name.")


def check_queue_name(name: str) -> None:
    """Raise QueueError if the name belongs to a built-in queue or cannot be a file name."""
    if name in BUILTIN_QUEUES:
        raise QueueError(f"{name} is a built-in queue. Choose another name.")
    if not name or to_safe_annotator(name) != name:
        raise QueueError(
            f"invalid queue name {name!a}. Use only letters, digits and the characters . _ @ + -"
        )


def serialize_queue(queue: QueueFile) -> bytes:
    return orjson.dumps(
        _queue_to_json(queue), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    )


NEW_DESIGN_FIELDS = ("same_questions", "decides", "blind", "sources", "allocation")
"""Fields of `SampleDesign` that older versions do not know, so that they refuse files with them."""


def _queue_to_json(queue: QueueFile) -> dict[str, Any]:
    """Return a queue as the JSON object of a queue file."""
    content = asdict(queue)
    for name in NEW_DESIGN_FIELDS:
        # Without these fields, a queue means the same to all versions.
        if not content["design"][name]:
            del content["design"][name]
    for fields, stratum in zip(content["strata"], queue.strata, strict=True):
        fields["probability"] = stratum.probability
    for fields in content["items"]:
        fields["key"] = ItemKey(*fields["key"])._asdict()
    return {"fcreview_queue": FORMAT, **content}


def _validate_queue(content: Any) -> QueueFile:
    """Return the queue of a parsed file. Raises ValueError if its fields, or the positions in its
    shares, are invalid.
    """
    if isinstance(content, dict) and content.get("fcreview_queue") != FORMAT:
        raise ValueError("another version of fcreview wrote the file")
    queue = _queue_validator().validate_python(content)
    for share in queue.shares:
        if not all(0 <= position < len(queue.items) for position in share.order):
            raise ValueError("`order` of a share refers to an item that does not exist")
        if not set(share.repeats) <= set(range(len(share.order))):
            raise ValueError("`repeats` of a share contains a position that does not exist")
    return queue


@cache
def _queue_validator() -> TypeAdapter[QueueFile]:
    from pydantic import TypeAdapter, with_config  # loading pydantic takes 0.1 s

    with_config(_FORBID_UNKNOWN_FIELDS)(AnnotatorShare)
    return TypeAdapter(QueueFile)


def _describe_first_error(error: ValueError) -> str:
    """Return the first error in a queue file, with the field that it is about."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    message = first["msg"]
    if first["type"] == "unexpected_keyword_argument":
        message = "unknown field"
    location = ".".join(str(part) for part in first["loc"])
    return f"{location}: {message}" if location else message


_CREATE_TABLE = """
CREATE TEMP TABLE IF NOT EXISTS queue_places
(queue VARCHAR, annotator VARCHAR, place BIGINT, item BIGINT, "number" BIGINT)
"""


class QueueItemTable:
    """The temporary table `queue_places`: the items of each annotator's share, for the loaded
    queues.

    `place` is the position in the annotator's share, from 0. `item` is the number in the database
    (`items.item`). `number` is the number in lists and reviews. It differs from `item` for a hidden
    duplicate: an item that a queue shows a second time. The class is not thread-safe.
    """

    def __init__(self, connection: Connection, workspace: Workspace) -> None:
        self._connection = connection
        self._workspace = workspace
        self._queues: dict[str, QueueFile] = {}
        self._items: dict[str, list[int | None]] = {}

    def load_queue(self, name: str) -> QueueFile:
        """Read a queue file, and add its items to the table `queue_places` of the database.

        Raises QueueError if the file is missing or invalid.
        """
        if name in self._queues:
            return self._queues[name]

        queue = read_queue(self._workspace, name)
        items = self._find_item_numbers(queue)
        places = list(_iter_places(queue, items))
        self._connection.execute(_CREATE_TABLE)
        self._connection.execute(
            "INSERT INTO queue_places SELECT $queue, unnest($annotators::VARCHAR[]),"
            " unnest($places::BIGINT[]), unnest($items::BIGINT[]), unnest($numbers::BIGINT[])",
            {
                "queue": name,
                "annotators": [place.annotator for place in places],
                "places": [place.position for place in places],
                "items": [place.item for place in places],
                "numbers": [place.number for place in places],
            },
        )
        self._queues[name] = queue
        self._items[name] = items
        return queue

    def find_item_numbers(self, queue_name: str) -> list[int | None]:
        """Return the number of each item in `QueueFile.items`; None for an item that is no
        longer in the database.
        """
        self.load_queue(queue_name)
        return self._items[queue_name]

    def _find_item_numbers(self, queue: QueueFile) -> list[int | None]:
        """Return the number of each sampled item.

        If several runs of a model have it, prefer the sampled answer.
        """
        from fcreview.store.reviews.review_index import ItemIndex  # imports DuckDB

        index = ItemIndex(self._connection)
        index.load_items(list(dict.fromkeys(item.key for item in queue.items)))
        return [_choose_item_number(item, index) for item in queue.items]


@dataclass(frozen=True, slots=True)
class _Place:
    """A row of the table `queue_places`, without the queue."""

    annotator: str
    position: int
    item: int
    number: int


def _iter_places(queue: QueueFile, items: Sequence[int | None]) -> Iterator[_Place]:
    """Yield the places of all shares whose items are in the database."""
    for share in queue.shares:
        repeats = set(share.repeats)
        for position, index in enumerate(share.order):
            item = items[index]
            if item is not None:
                number = to_item_number(item, is_duplicate=position in repeats)
                yield _Place(share.annotator, position=position, item=item, number=number)


def _choose_item_number(sampled: QueueItem, index: ItemIndex) -> int | None:
    """Return the number of the item in the store that is a sampled item. None if there is none.

    Several runs can have items with the same key. The one with the sampled answer is preferred.
    """
    candidates = index.find_loaded_items(sampled.key)
    for candidate in candidates:
        hashes = (candidate.prediction_hash, candidate.golden_hash)
        if hashes == (sampled.prediction_hash, sampled.golden_hash):
            return candidate.item
    return candidates[0].item if candidates else None


def measure_queue_progress(
    queue_name: str,
    queue_items: QueueItemTable,
    reviews: ReviewTables,
    annotator: str | None = None,
) -> list[ShareProgress]:
    """Return the progress of all annotators of a queue, or only of `annotator`.

    Stale verdicts do not count.
    """
    queue = queue_items.load_queue(queue_name)
    items = queue_items.find_item_numbers(queue_name)
    progress = []
    for share in queue.shares:
        if annotator in (None, share.annotator):
            progress.append(_measure_share_progress(queue, items, share, reviews))
    return progress


def _measure_share_progress(
    queue: QueueFile,
    items: Sequence[int | None],
    share: AnnotatorShare,
    reviews: ReviewTables,
) -> ShareProgress:
    """Count the reviewed and the missing items of an annotator's share of a queue.

    An item that the annotator reviews a second time (a hidden duplicate) counts twice.

    Args:
        queue: The queue.
        items: The item number of each item of the queue; None if the store lacks it.
        share: Positions of the annotator's items in the queue.
        reviews: The reviews of all annotators.
    """
    duplicate_positions = set(share.repeats)
    n_done = 0
    n_missing = 0
    for position, index in enumerate(share.order):
        item = items[index]
        if item is None:
            n_missing += 1
            continue
        key = queue.items[index].key
        is_duplicate = position in duplicate_positions
        if _has_verdict(key, item, share.annotator, reviews, is_duplicate=is_duplicate):
            n_done += 1
    n_items = len(share.order) - n_missing
    return ShareProgress(share.annotator, done=n_done, total=n_items, missing=n_missing)


def _has_verdict(
    key: ItemKey, item: int, annotator: str, reviews: ReviewTables, *, is_duplicate: bool
) -> bool:
    """Whether an annotator has a verdict on an item that is not stale, or on its hidden
    duplicate.
    """
    if not reviews.events.has_events_by(key, annotator):
        return False
    for reference in reviews.items.find_loaded_items(key):
        if reference.item != item:
            continue
        opinions = reviews.events.compute_opinions_of_annotator(
            key,
            annotator,
            reference.prediction_hash,
            reference.golden_hash,
            is_duplicate=is_duplicate,
        )
        verdicts = collect_verdicts(opinions, reviews.get_roll_up_context(item))
        return annotator in verdicts[ITEM_CORRECT].verdicts
    return False
