"""Draw and extend queues from the items of a view, and merge the queues of two workspaces."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from math import sqrt
from typing import TYPE_CHECKING, Any, Literal

import orjson

from fcreview.model.effective_verdict import SCORING_ORDER
from fcreview.model.review import ItemKey
from fcreview.model.wording import format_count
from fcreview.stats.sampling import (
    UNSTRATIFIED,
    AnnotatorShare,
    ShareOptions,
    StratifiedSample,
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
from fcreview.store.review_sql import HAS_INCIDENT
from fcreview.store.workspace import check_annotator, fold_filename

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
    **{
        source: f"CASE i.{source} WHEN true THEN 'pass' WHEN false THEN 'fail' END"
        for source in SCORING_ORDER
    },
    "error": ERROR_TYPE_SQL,
}
_CONTENT_KEY_COLUMNS = (
    "r.benchmark, r.generation, r.language, r.model, i.category, i.id,"
    " coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, '')"
)


SOURCES_KEY = "sources"
"""Value of `stratify` for strata by how many automatic sources pass an item."""
Allocation = Literal["proportional", "neyman"]
ALLOCATIONS: tuple[Allocation, ...] = ("proportional", "neyman")
"""How a sample is divided among strata: in proportion to their sizes, or more from strata in which
the verdicts of people differ more.
"""
CLUSTER_KINDS = ("task", "conversation")
"""Kinds of groups of items that a queue can draw as a whole: the trials of a task, the steps of
a conversation.
"""
_CLUSTER_SQL = (
    'concat_ws(chr(31), r.benchmark, r.generation, r.language, r.model, coalesce(i."group", i.id))'
)
# The same in all runs. Versions of a benchmark share questions, so the generation is no part.
_QUESTION_SQL = "concat_ws(chr(31), r.benchmark, r.language, i.category, i.id)"
_COMMON_CLUSTER_SQL = 'concat_ws(chr(31), r.benchmark, r.language, coalesce(i."group", i.id))'

ContentKey = str
"""Key fields and content hashes of an item as a JSON list.

It is the same in every copy of the workspace.
"""


@dataclass(frozen=True, slots=True)
class QueueRequest:
    name: str
    view: View  # items to draw from
    size: int | None  # number of items to draw; None for all items of the view
    stratify: str
    """Keys of `STRATUM_COLUMNS`, joined by commas, or `SOURCES_KEY`; empty for a sample without
    strata.
    """
    sharing: ShareOptions
    sources: tuple[str, ...] = ()
    """Automatic sources that `SOURCES_KEY` counts; empty to choose them from their verdicts."""
    sources_until: str = ""
    """Time after which verdicts of `fcreview judge` do not count; empty for no limit."""
    allocation: Allocation = "proportional"
    avoids_earlier_queues: bool = False  # whether to leave out the items of the workspace's queues
    cluster: str = (
        ""  # one of `CLUSTER_KINDS` to draw whole groups of items; empty to draw single items
    )
    include_incidents: bool = (
        False  # whether items without an answer, for a reason outside the question, can be drawn
    )
    blind: bool = False  # whether annotators review the items blind
    same_questions: bool = False
    """Whether to draw questions that all runs of the view have, with the items of all of them."""
    decides: bool = False
    """Whether to draw only questions that decide which run ranks first: those that not all runs
    pass equally. Needs `same_questions`.
    """

    @property
    def unit(self) -> str:
        """Kind of unit that is drawn as a whole: a question, a task, a conversation or a single
        item.
        """
        if self.cluster:
            return self.cluster
        return "question" if self.same_questions else "item"


def draw_queue(
    connection: Connection, request: QueueRequest, earlier: Sequence[QueueFile] = ()
) -> QueueFile:
    """Draw a random sample of items for review, and return it as a new queue, without writing it to
    a file. Equal requests give the same sample.

    Items of the `earlier` queues are not drawn again. Raises QueueError if too few items remain, or
    if hidden duplicates of whole groups are requested.
    """
    check_queue_name(request.name)
    _check_request(request)
    if request.stratify == SOURCES_KEY and not request.sources:
        request = replace(request, sources=_choose_sources(connection, request.view))
    population = _fetch_population(connection, request)
    remaining = population.frame.remove_queues(earlier)
    _check_remaining_items(population.frame, remaining, earlier, request.size)

    drawn = _draw_sample(remaining, request)
    runs = _describe_sampled_runs(connection, drawn.items)
    design = _build_design(request, population, remaining, drawn, runs=runs, earlier=earlier)
    return QueueFile(
        request.name,
        created=_current_time(),
        design=design,
        strata=drawn.strata,
        items=_hide_private_strata(drawn.items, design),
        shares=drawn.shares,
    )


def _build_design(
    request: QueueRequest,
    population: _Population,
    remaining: SamplingFrame,
    drawn: _DrawnSample,
    *,
    runs: list[dict[str, Any]],
    earlier: Sequence[QueueFile],
) -> SampleDesign:
    """Return the description of how a sample was drawn, from which estimates are computed later.

    Args:
        request: The request.
        population: The items that the request selects.
        remaining: Those of them that are in no earlier queue.
        drawn: The sample.
        runs: The runs with drawn items.
        earlier: The earlier queues.
    """
    return SampleDesign(
        seed=request.sharing.seed,
        where=request.view.where,
        stratify=request.stratify,
        size=drawn.n_units,
        overlap=request.sharing.overlap,
        repeats=request.sharing.repeats,
        population=len(remaining.get_unit_strata()),
        runs=runs,
        excludes=population.frame.list_overlapping_queues(earlier),
        n_excluded=len(population.frame.strata) - len(remaining.strata),
        cluster=request.cluster,
        same_questions=request.same_questions,
        decides=request.decides,
        blind=request.blind,
        sources=list(request.sources),
        allocation="" if request.allocation == "proportional" else request.allocation,
        n_incidents=len(population.incidents),
        incident_hashes=sorted(map(hash_content_key, population.incidents)),
    )


def has_private_strata(design: SampleDesign) -> bool:
    """Whether strata count the verdicts of `fcreview judge`, which annotators must not see before
    their own verdict.
    """
    from fcreview.store.queries.source_verdicts import is_own_judge

    return any(is_own_judge(source) for source in design.sources)


def _hide_private_strata(items: Sequence[QueueItem], design: SampleDesign) -> list[QueueItem]:
    """Return the items without stratum and probability if these would tell the hidden verdict of a
    judge. Estimates compute the strata from the verdicts instead.
    """
    if not has_private_strata(design):
        return list(items)
    return [replace(item, stratum="", probability=None) for item in items]


@dataclass(frozen=True, slots=True)
class _DrawnSample:
    n_units: int
    """Number of drawn items or, with clusters, of drawn clusters."""
    strata: list[Stratum]
    items: list[QueueItem]
    shares: list[AnnotatorShare]


def _draw_sample(frame: SamplingFrame, request: QueueRequest) -> _DrawnSample:
    """Draw units, which are items or whole groups of items, and share their items between
    annotators.

    The draw is stratified: each stratum, such as the failing items, gets its part of the sample.
    Some units are for all annotators (the overlap), to measure their agreement.
    """
    unit_strata = frame.get_unit_strata()
    sharing = request.sharing
    sample = draw_stratified_sample(
        unit_strata,
        request.size or len(unit_strata),
        sharing.seed,
        deviations=_predict_deviations(request),
    )
    unit_names = sample.items
    overlap = draw_overlap_indexes(unit_names, sharing)
    units = _list_drawn_units(sample, frame.group_items_by_unit(), overlap)

    unit_sizes = [len(unit.content_keys) for unit in units]
    shares = []
    for share in assign_shares(unit_names, overlap, sharing):
        shares.append(_expand_share(share, unit_sizes))
    return _DrawnSample(
        n_units=len(units),
        strata=sample.strata,
        items=_build_queue_items(units),
        shares=shares,
    )


def _predict_deviations(request: QueueRequest) -> dict[str, float] | None:
    """Return the expected standard deviation of human verdicts in each stratum, for Neyman
    allocation. It is predicted from how many automatic sources pass the items.

    None for another allocation, in which each stratum gets a part in proportion to its size.
    """
    from fcreview.stats.source_strata import predict_pass_rate

    if request.allocation != "neyman":
        return None
    n_sources = len(request.sources)
    deviations = {}
    for n_passing in range(n_sources + 1):
        rate = predict_pass_rate(n_passing, n_sources)
        deviations[_name_source_stratum(n_passing, n_sources)] = sqrt(rate * (1 - rate))
    return deviations


def _name_source_stratum(n_passing: int, n_sources: int) -> str:
    return f"{n_passing} of {n_sources} sources pass"


def _check_request(request: QueueRequest) -> None:
    """Raise QueueError for options that exclude each other, and for invalid annotators."""
    if request.allocation == "neyman" and request.stratify != SOURCES_KEY:
        raise QueueError(
            "Neyman allocation divides the items by how many sources pass them. Use --allocation"
            " neyman without --stratify"
        )
    if request.stratify == SOURCES_KEY and request.unit != "item":
        option = "--cluster" if request.cluster else "--compare"
        raise QueueError(
            "strata by the number of sources need a sample of single items. Remove"
            f" {option}, --allocation and --stratify {SOURCES_KEY}"
        )
    if request.unit != "item" and request.sharing.repeats:
        option = "--cluster" if request.cluster else "--compare"
        raise QueueError(
            f"hidden duplicates need a sample of single items. Use either {option} or --repeats"
        )
    names = [check_annotator(name) for name in request.sharing.annotators]
    has_duplicates = len({name.casefold() for name in names}) < len(names)
    if not names or has_duplicates:
        raise QueueError(
            "the queue needs annotators, each named exactly once. Use --annotators a,b,c"
        )


@dataclass(frozen=True, slots=True)
class _Population:
    """The items from which a queue is drawn, and the incidents that are left out of it."""

    frame: SamplingFrame
    incidents: set[ContentKey]


def _fetch_population(connection: Connection, request: QueueRequest) -> _Population:
    """Return the selected items, without incidents unless the request includes them.

    Raises QueueError if no item is left.
    """
    frame = fetch_sampling_frame(connection, request)
    if not frame.strata:
        where = request.view.where
        if request.decides:
            raise QueueError("no item decides: the runs pass the same items")
        if where.strip():
            raise QueueError(f"no items match the filter {where}")
        raise QueueError("the workspace has no items")
    if request.include_incidents:
        return _Population(frame, incidents=set())

    incidents = fetch_incident_keys(connection, request.view)
    frame = frame.leave_out(map(hash_content_key, incidents))
    if not frame.strata:
        selected = format_count(len(incidents), "selected item")
        raise QueueError(
            f"all of {selected} are incidents. Pass --include-incidents to draw from them"
        )
    return _Population(frame, incidents=incidents)


def _check_remaining_items(
    frame: SamplingFrame, remaining: SamplingFrame, earlier: Sequence[QueueFile], size: int | None
) -> None:
    """Raise QueueError if earlier queues have left too few items.

    Args:
        frame: All items that the request selects.
        remaining: The items of `frame` that are in no earlier queue.
        earlier: The earlier queues.
        size: Number of units to draw; None for all.
    """
    overlapping_queues = frame.list_overlapping_queues(earlier)
    if not overlapping_queues:
        return
    n_remaining = len(remaining.get_unit_strata())
    n_needed = 1 if size is None else size
    if 0 < n_needed <= n_remaining:
        return
    n_all = len(frame.get_unit_strata())
    names = ", ".join(overlapping_queues)
    raise QueueError(
        f"only {n_remaining:,} of {n_all:,} {frame.unit_noun} are in no earlier queue ({names})."
        f" Reduce --size, or pass --allow-overlap to draw from all {frame.unit_noun}"
    )


@dataclass(frozen=True, slots=True)
class _DrawnUnit:
    """A single item, or a group of items that is drawn as a whole."""

    content_keys: Sequence[ContentKey]
    stratum: Stratum
    is_overlap: bool
    """Whether all annotators review it."""


def _list_drawn_units(
    sample: StratifiedSample,
    items_by_unit: Mapping[str, Sequence[ContentKey]],
    overlap: Collection[int],
) -> list[_DrawnUnit]:
    """Return the units of a sample, in its order.

    Args:
        sample: The names of the drawn units, as its items, and their strata.
        items_by_unit: Name of a unit -> its items.
        overlap: Indexes of the drawn units that all annotators review.
    """
    stratum_by_name = {stratum.name: stratum for stratum in sample.strata}
    units = []
    for index, unit_name in enumerate(sample.items):
        unit = _DrawnUnit(
            items_by_unit[unit_name],
            stratum=stratum_by_name[sample.stratum_by_item[unit_name]],
            is_overlap=index in overlap,
        )
        units.append(unit)
    return units


def _build_queue_items(units: Iterable[_DrawnUnit]) -> list[QueueItem]:
    """Return the items of the drawn units, one unit after the other, each with the stratum and the
    probability with which it was drawn.
    """
    items = []
    for unit in units:
        for content_key in unit.content_keys:
            key, prediction_hash, golden_hash = parse_content_key(content_key)
            items.append(
                QueueItem(
                    key,
                    prediction_hash=prediction_hash,
                    golden_hash=golden_hash,
                    stratum=unit.stratum.name,
                    probability=unit.stratum.probability,
                    overlap=unit.is_overlap,
                )
            )
    return items


def _expand_share(share: AnnotatorShare, unit_sizes: Sequence[int]) -> AnnotatorShare:
    """Replace the units of a share by their items.

    The items of a unit stay together and in dataset order.
    """
    # Items are numbered unit by unit. These are the numbers of the first item of each unit.
    first_items = list(itertools.accumulate(unit_sizes, initial=0))
    order: list[int] = []
    repeats: list[int] = []
    for position, unit in enumerate(share.order):
        if position in share.repeats:
            repeats.append(len(order))
        order += range(first_items[unit], first_items[unit + 1])
    return AnnotatorShare(share.annotator, order=order, repeats=repeats)


@dataclass(frozen=True, slots=True)
class SamplingFrame:
    """The items from which a sample is drawn.

    Items are identified by their content keys, in dataset order.
    """

    strata: Mapping[ContentKey, str]
    """Stratum of each item. All items of a cluster have the same one."""
    clusters: Mapping[ContentKey, str]
    """Cluster (task or conversation) of each item; empty if the sample draws single items."""
    questions: Mapping[ContentKey, str] = field(default_factory=dict)
    """Question, task or conversation of each item, the same in all runs; empty unless the sample
    draws the same questions of several runs.
    """

    @property
    def units(self) -> Mapping[ContentKey, str]:
        """Name of the unit that is drawn as a whole, such as a conversation, for each item. Empty
        if single items are drawn.
        """
        return self.questions or self.clusters

    @property
    def unit_noun(self) -> str:
        if self.questions and not self.clusters:
            return "questions"
        return "groups" if self.clusters else "items"

    def get_unit_strata(self) -> Mapping[str, str]:
        """Return the stratum of each unit that the sample draws: of each cluster, or of each
        item.
        """
        if not self.units:
            return self.strata
        strata = {}
        for content_key, unit in self.units.items():
            if content_key in self.strata:
                strata[unit] = self.strata[content_key]
        return strata

    def group_items_by_unit(self) -> dict[str, list[ContentKey]]:
        items_by_unit: dict[str, list[ContentKey]] = {}
        for content_key in self.strata:
            unit = self.units.get(content_key, content_key)
            items_by_unit.setdefault(unit, []).append(content_key)
        return items_by_unit

    def select(self, content_keys: Iterable[ContentKey]) -> SamplingFrame:
        """Return the frame with these of its items only."""
        selected = set(content_keys)
        return SamplingFrame(
            _select_keys(self.strata, selected),
            _select_keys(self.clusters, selected),
            questions=_select_keys(self.questions, selected),
        )

    def list_overlapping_queues(self, queues: Iterable[QueueFile]) -> list[str]:
        """Return the names of the queues that contain an item of the frame."""
        return [
            queue.name
            for queue in queues
            if not self.strata.keys().isdisjoint(list_content_keys(queue))
        ]

    def leave_out(self, content_key_hashes: Iterable[str]) -> SamplingFrame:
        """Return the frame without the items with these hashes.

        The other items of their clusters stay.
        """
        left_out = set(content_key_hashes)
        if not left_out:
            return self
        return self.select(key for key in self.strata if hash_content_key(key) not in left_out)

    def remove_queues(self, queues: Iterable[QueueFile]) -> SamplingFrame:
        """Return the frame without the items of the queues. If the frame has units, such as
        conversations, all items of a unit with a removed item are removed.
        """
        drawn: set[ContentKey] = set()
        for queue in queues:
            drawn.update(list_content_keys(queue))
        # Only items that are drawn in groups have a unit.
        units = self.units
        drawn_units = {units[key] for key in drawn if key in units}
        return self.select(
            key for key in self.strata if key not in drawn and units.get(key) not in drawn_units
        )


def _select_keys(values: Mapping[ContentKey, str], keys: Collection[ContentKey]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key in keys}


def make_content_key(*fields: str | None) -> ContentKey:
    return orjson.dumps([part or "" for part in fields]).decode()


def parse_content_key(content_key: ContentKey) -> tuple[ItemKey, str, str]:
    """Return the key of an item, and the hashes of its prediction and of its golden answer."""
    *key_fields, prediction_hash, golden_hash = orjson.loads(content_key)
    return ItemKey(*key_fields), prediction_hash, golden_hash


def hash_content_key(content_key: ContentKey) -> str:
    return blake2b(content_key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _choose_sources(connection: Connection, view: View) -> tuple[str, ...]:
    """Choose the automatic sources for strata, from their verdicts on the items of a view. Raises
    QueueError if no source tells the items apart.
    """
    from fcreview.stats.source_strata import choose_planned_sources
    from fcreview.store.queries.source_verdicts import fetch_source_verdicts_of_view

    chosen = choose_planned_sources(fetch_source_verdicts_of_view(connection, view))
    if not chosen:
        raise QueueError(
            "no automatic source tells the items apart, because the items have no official,"
            " recomputed or judge verdicts, or equal ones. Draw a sample without --allocation"
        )
    return tuple(source.name for source in chosen)


def _count_source_strata(connection: Connection, request: QueueRequest) -> list[str]:
    """Return the stratum of each item of the view by how many sources pass it. Raises QueueError if
    a source is not in the data any more.
    """
    from fcreview.stats.source_strata import count_passing_sources
    from fcreview.store.queries.source_verdicts import fetch_source_verdicts_of_view

    sources = fetch_source_verdicts_of_view(connection, request.view, request.sources_until)
    source_by_name = {source.name: source for source in sources}
    missing = [name for name in request.sources if name not in source_by_name]
    if missing:
        raise QueueError(f"no item has a verdict of the source {missing[0]} any more")

    counts = count_passing_sources([source_by_name[name] for name in request.sources])
    return [_name_source_stratum(count, len(request.sources)) for count in counts.tolist()]


def fetch_incident_keys(connection: Connection, view: View) -> set[ContentKey]:
    """Return the content keys of the view's items without an answer, for a reason outside the
    question.
    """
    where, params, _ = build_view_condition(view, blind=False)
    rows = connection.execute(
        f"SELECT {_CONTENT_KEY_COLUMNS} {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where} AND"
        f" {HAS_INCIDENT}",
        params,
    ).fetchall()
    return {orjson.dumps(content).decode() for content in rows}


def list_content_keys(queue: QueueFile) -> list[ContentKey]:
    """Return the content keys of the items in the queue, in the order of the queue file."""
    return [
        make_content_key(*item.key, item.prediction_hash, item.golden_hash) for item in queue.items
    ]


def fetch_sampling_frame(connection: Connection, request: QueueRequest) -> SamplingFrame:
    """Return the sampling frame: all items from which a sample is drawn, with their strata and
    clusters.

    Each stratum gets a fixed part of the sample. A cluster is a group of items that is drawn as a
    whole. The same item with the same answer in several runs of a model counts once. Raises
    QueueError for an unknown stratum, or if clusters are requested and there are none.
    """
    rows = _fetch_frame_rows(connection, request)
    strata = {row.content_key: row.stratum for row in rows}
    clusters: dict[ContentKey, str] = {}
    if request.cluster:
        clusters = {row.content_key: row.cluster for row in rows}
        _check_clusters(clusters, request.cluster)
    if not request.same_questions:
        return SamplingFrame(_join_strata_of_units(strata, clusters), clusters)

    questions = {row.content_key: row.question for row in rows}
    frame = SamplingFrame(_join_strata_of_units(strata, questions), clusters, questions)
    return _select_joint_questions(frame, rows, only_deciding=request.decides)


def _check_clusters(clusters: Mapping[ContentKey, str], kind: str) -> None:
    """Raise QueueError if each item is a cluster of its own."""
    n_clusters = len(set(clusters.values()))
    if n_clusters == len(clusters):
        raise QueueError(f"--cluster {kind} needs items that belong to a {kind}. None does")


@dataclass(frozen=True, slots=True)
class _FrameRow:
    """An item of a sampling frame, in one run."""

    content_key: ContentKey
    stratum: str
    cluster: str
    question: str
    run: int
    official: bool | None
    recomputed: bool | None


def _fetch_frame_rows(connection: Connection, request: QueueRequest) -> list[_FrameRow]:
    """Fetch the items that the request selects, in the order of their numbers."""
    if request.stratify != SOURCES_KEY:
        return _fetch_rows_with_stratum(connection, request, _build_stratum_sql(request.stratify))

    # Strata by sources are counted here and not in SQL, because names of judges are data. Both
    # queries have the items of the view in the order of their numbers.
    rows = _fetch_rows_with_stratum(connection, request, f"'{UNSTRATIFIED}'")
    strata = _count_source_strata(connection, request)
    return [replace(row, stratum=stratum) for row, stratum in zip(rows, strata, strict=True)]


def _fetch_rows_with_stratum(
    connection: Connection, request: QueueRequest, stratum_sql: str
) -> list[_FrameRow]:
    """Fetch the items that the request selects, in the order of their numbers. `stratum_sql` is the
    SQL for the name of an item's stratum.
    """
    question_sql = _COMMON_CLUSTER_SQL if request.cluster else _QUESTION_SQL
    where, params, _ = build_view_condition(request.view, blind=False)
    fetched = connection.execute(
        f"SELECT {_CONTENT_KEY_COLUMNS}, {stratum_sql}, {_CLUSTER_SQL}, {question_sql}, i.run,"
        f" i.official, i.rule {FROM_ITEMS} JOIN runs r ON r.run = i.run WHERE {where} ORDER BY i.item",
        params,
    ).fetchall()
    rows = []
    for *content_key_fields, stratum, cluster, question, run, official, recomputed in fetched:
        row = _FrameRow(
            orjson.dumps(content_key_fields).decode(),
            stratum=stratum,
            cluster=cluster,
            question=question,
            run=run,
            official=official,
            recomputed=recomputed,
        )
        rows.append(row)
    return rows


def _select_joint_questions(
    frame: SamplingFrame, rows: Sequence[_FrameRow], *, only_deciding: bool
) -> SamplingFrame:
    """Return the sampling frame with only the questions that all runs have.

    With `only_deciding`, questions are left out if all runs pass the same number of their items.
    """
    runs_by_question: dict[str, set[int]] = {}
    for row in rows:
        runs_by_question.setdefault(row.question, set()).add(row.run)
    n_runs = len({row.run for row in rows})

    selected = {question for question, runs in runs_by_question.items() if len(runs) == n_runs}
    if only_deciding:
        selected &= _find_deciding_questions(rows)
    return frame.select(key for key, question in frame.questions.items() if question in selected)


def _find_deciding_questions(rows: Sequence[_FrameRow]) -> set[str]:
    """Return the questions with different numbers of passing items in the runs.

    Official verdicts count, or the recomputed verdicts of a run without official ones.
    """
    runs = sorted({row.run for row in rows})
    runs_with_official = {row.run for row in rows if row.official is not None}
    n_passed_by_question: dict[str, dict[int, int]] = {}
    for row in rows:
        verdict = row.official if row.run in runs_with_official else row.recomputed
        n_passed_by_run = n_passed_by_question.setdefault(row.question, dict.fromkeys(runs, 0))
        if verdict is True:
            n_passed_by_run[row.run] += 1

    deciding = set()
    for question, n_passed_by_run in n_passed_by_question.items():
        if len(set(n_passed_by_run.values())) > 1:
            deciding.add(question)
    return deciding


def _build_stratum_sql(stratify: str) -> str:
    """Return the SQL for the name of an item's stratum, from a list of keys such as `run,category`.
    Raises QueueError for an unknown key.
    """
    keys = [name.strip() for name in stratify.split(",") if name.strip()]
    for name in keys:
        if name not in STRATUM_COLUMNS:
            raise QueueError(
                f"unknown --stratify key {name}. Available keys: {', '.join(STRATUM_COLUMNS)},"
                f" or {SOURCES_KEY} alone"
            )
    if not keys:
        return f"'{UNSTRATIFIED}'"
    return " || ', ' || ".join(f"coalesce({STRATUM_COLUMNS[name]}, 'none')" for name in keys)


def _join_strata_of_units(
    strata: Mapping[ContentKey, str], units: Mapping[ContentKey, str]
) -> dict[ContentKey, str]:
    """Give all items of a unit (items that are drawn together) the same stratum. Its name joins the
    strata of the items: `fail + pass`.

    Without units, the strata are returned unchanged.
    """
    if not units:
        return dict(strata)
    names: dict[str, set[str]] = {}
    for content_key, unit in units.items():
        names.setdefault(unit, set()).add(strata[content_key])
    return {content_key: " + ".join(sorted(names[unit])) for content_key, unit in units.items()}


def _describe_sampled_runs(connection: Connection, items: list[QueueItem]) -> list[dict[str, Any]]:
    """Return the names, paths and sizes of the runs with sampled items."""
    names = (*RUN_KEY_FIELDS, "path", "dataset", "n_items")
    rows = connection.execute(f"SELECT {', '.join(names)} FROM runs ORDER BY run").fetchall()
    sampled_keys = set()
    for item in items:
        sampled_keys.add(tuple(getattr(item.key, name) for name in RUN_KEY_FIELDS))

    runs = []
    for values in rows:
        run = dict(zip(names, values, strict=True))
        if tuple(run[name] for name in RUN_KEY_FIELDS) in sampled_keys:
            runs.append(run)
    return runs


@dataclass(frozen=True, slots=True)
class ExtensionRequest:
    queue: QueueFile  # queue to extend
    row: RunRow
    target: str  # name of the metric whose interval is to be narrowed
    parts: Sequence[ExtensionStratum]  # strata to draw from, with the number of items to draw
    annotators: Sequence[str]  # empty for the annotators of the extended queue
    seed: int


def draw_queue_extension(
    workspace: Workspace, content_keys: Sequence[str], request: ExtensionRequest
) -> QueueFile:
    """Draw more items for a queue, and return them as a new queue, without writing it to a file.

    The new queue has the name of the extended queue with the next free number. The `probability` of
    an item is the chance with which it was drawn from those items of its stratum that are in no
    earlier queue. Raises AnnotatorError if the name of an annotator is invalid.

    Args:
        workspace: The workspace.
        content_keys: The keys of all items of the run, in dataset order.
        request: How many items of each stratum to draw, and who reviews them.
    """
    queue = request.queue
    drawn = _draw_from_strata(content_keys, request)
    drawn_keys = sorted(drawn)
    design = _build_extension_design(request, size=len(drawn))
    items = [_build_extension_item(key, drawn[key]) for key in drawn_keys]
    annotators = [check_annotator(name) for name in request.annotators]
    if not annotators:
        annotators = [share.annotator for share in queue.shares]
    return QueueFile(
        _find_free_name(workspace, queue.name),
        created=_current_time(),
        design=design,
        strata=[
            Stratum(part.name, size=len(part.candidates), drawn=part.n_to_draw)
            for part in request.parts
        ],
        items=_hide_private_strata(items, design),
        shares=assign_shares(drawn_keys, set(), ShareOptions(annotators, seed=request.seed)),
    )


def _build_extension_design(request: ExtensionRequest, size: int) -> SampleDesign:
    """Return the design of the extended queue, changed for the items that are drawn now."""
    queue = request.queue
    return replace(
        queue.design,
        seed=request.seed,
        size=size,
        overlap=0,
        repeats=0,
        population=sum(len(part.candidates) for part in request.parts),
        runs=[_describe_extended_run(queue, request.row)],
        extends=queue.name,
        target=request.target,
    )


def _draw_from_strata(
    content_keys: Sequence[ContentKey], request: ExtensionRequest
) -> dict[ContentKey, ExtensionStratum]:
    """Return the drawn items with the stratum from which they were drawn."""
    drawn: dict[ContentKey, ExtensionStratum] = {}
    for part in request.parts:
        candidates = [content_keys[position] for position in part.candidates]
        shuffled = shuffle_by_content(candidates, str, request.seed, f"extend {part.name}")
        drawn |= dict.fromkeys(shuffled[: part.n_to_draw], part)
    return drawn


def _build_extension_item(content_key: ContentKey, part: ExtensionStratum) -> QueueItem:
    """Return the queue item of a drawn item, with the probability with which it was drawn."""
    key, prediction_hash, golden_hash = parse_content_key(content_key)
    return QueueItem(
        key,
        prediction_hash=prediction_hash,
        golden_hash=golden_hash,
        stratum=part.name,
        probability=part.n_to_draw / len(part.candidates),
        overlap=False,
    )


def _describe_extended_run(queue: QueueFile, row: RunRow) -> dict[str, Any]:
    """Describe the run, with its path and dataset as the extended queue states them."""
    stated: dict[str, Any] = {}
    for run in queue.design.runs:
        if run["model"] == row.info.model:
            stated = run
            break
    return {
        **{name: getattr(row.info, name) for name in RUN_KEY_FIELDS},
        "path": stated.get("path", ""),
        "dataset": stated.get("dataset"),
        "n_items": row.n_items,
    }


def _find_free_name(workspace: Workspace, name: str) -> str:
    """Return the name of a queue with the first number, from 2, that no queue has."""
    existing = {queue_name.casefold() for queue_name in list_queue_names(workspace)}
    number = 2
    while f"{name}-{number}".casefold() in existing:
        number += 1
    return f"{name}-{number}"


def _current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


QueueMergeState = Literal["new", "known", "differs", "unreadable"]


@dataclass(frozen=True, slots=True)
class MergedQueue:
    queue: str
    state: QueueMergeState
    """`known`: this workspace already has the queue.

    `differs`: it has another queue of this name, and keeps both.
    """
    kept_as: str = ""  # name of the queue in this workspace; empty if the queue is unreadable
    why: str = ""


def merge_queues(workspace: Workspace, other: Workspace) -> list[MergedQueue]:
    """Copy the queues of the other workspace that this workspace lacks.

    Return one result per queue, sorted by name.
    """
    return [merge_queue(workspace, queue) for queue in read_queues(other)]


def merge_queue(workspace: Workspace, queue: QueueFile | QueueError) -> MergedQueue:
    """Copy a queue of another workspace to this one, unless this one already has it.

    If this workspace has another queue of the same name, the copy gets a number, as in `pilot-2`.
    Raises QueueError if the file cannot be written.
    """
    if isinstance(queue, QueueError):
        return MergedQueue("", "unreadable", why=str(queue))
    # An error is returned and not raised, so that the other queues are still merged.
    try:
        check_queue_name(queue.name)
    except QueueError as error:
        return MergedQueue(queue.name, "unreadable", why=str(error))

    existing_names = _map_folded_names(workspace)
    for name in _iterate_numbered_names(queue.name):
        # With a number, the name of the queue is that of another queue here.
        is_numbered = name != queue.name
        existing_name = existing_names.get(fold_filename(name))
        if existing_name is None:
            write_queue(workspace, replace(queue, name=name))
            return MergedQueue(queue.name, state="differs" if is_numbered else "new", kept_as=name)
        if _has_same_content(workspace, existing_name, queue):
            return MergedQueue(
                queue.name, state="differs" if is_numbered else "known", kept_as=existing_name
            )
    raise AssertionError("some number is free")


def _map_folded_names(workspace: Workspace) -> dict[str, str]:
    """Return folded name -> name of a queue. Names that differ only in case are the same name. The
    first of them counts.
    """
    names: dict[str, str] = {}
    for name in list_queue_names(workspace):
        names.setdefault(fold_filename(name), name)
    return names


def _iterate_numbered_names(name: str) -> Iterator[str]:
    """Yield `pilot`, `pilot-2`, `pilot-3` and so on."""
    yield name
    for number in itertools.count(2):
        yield f"{name}-{number}"


def _has_same_content(workspace: Workspace, name: str, queue: QueueFile) -> bool:
    try:
        return replace(read_queue(workspace, name), name=queue.name).has_same_content(queue)
    except QueueError:
        return False
