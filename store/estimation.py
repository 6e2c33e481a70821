"""Query random samples and the resolved human verdicts on their items, for estimates and
calibration.

A human verdict is resolved if all annotators agree, if the policy for disagreements decides, or if
an adjudicator decided. Bulk reviews do not count here: the columns `individual` and `individual_by`
ignore them. Only reviews of a random sample allow conclusions about other items, so these queries
determine which reviews belong to a random sample.

Each annotator gets a share of the sample in random order. All items of the share up to the last one
that was reviewed after the queue was created count as reached. A reached item without a verdict
counts as skipped. Later items do not count yet, even if they have an older verdict, because items
with older reviews may not be a random selection.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.effective_verdict import (
    DISPUTED,
    is_definite,
    is_same_verdict,
    select_automatic_verdict,
)
from fcreview.model.incident import INCIDENT
from fcreview.model.json_value import parse_json
from fcreview.model.review import CORRECT, ITEM_CORRECT, ItemKey
from fcreview.model.verdict import DECISIVE_STEP, TargetCriterion
from fcreview.stats.answer_model import CriterionAnswers
from fcreview.stats.calibration import VerdictPair
from fcreview.stats.estimated_difference import JointSampleItem, RunSample
from fcreview.stats.posterior import ItemStatus, SampleOutcome
from fcreview.stats.sampling import ShareOptions, format_stratum_name
from fcreview.stats.source_strata import NO_SOURCE_STRATA, SourceStrata, choose_source_strata
from fcreview.store.filters.search_sql import ERROR_TYPE_SQL
from fcreview.store.filters.tokens import FilterError, add_terms, quote_or_hash
from fcreview.store.queries.scored_items import fetch_combined_scored_items, get_only_judge
from fcreview.store.queries.source_verdicts import fetch_source_verdicts
from fcreview.store.queries.view_items import (
    FROM_ITEMS,
    build_view_condition,
    fetch_sorted_item_numbers,
)
from fcreview.store.queue_file import RUN_KEY_FIELDS, QueueError, QueueFile, read_queues
from fcreview.store.queue_sampling import (
    ContentKey,
    QueueRequest,
    SamplingFrame,
    fetch_sampling_frame,
    list_content_keys,
    make_content_key,
    parse_content_key,
)
from fcreview.store.review_sql import AUTOMATIC_VERDICT, HAS_INCIDENT, is_resolved_sql
from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.item import SourceName
    from fcreview.model.metric import ScoredItem
    from fcreview.model.review import Event
    from fcreview.stats.sampling import AnnotatorShare
    from fcreview.store.judgements import ItemJudgement
    from fcreview.store.reviews.review_index import EventIndex
    from fcreview.store.reviews.review_tables import ReviewTables
    from fcreview.store.workspace import Workspace


@dataclass(slots=True)
class QueueSample:
    """A random sample of a population of items.

    It consists of a queue and of the queues that extend it.
    """

    queue: QueueFile
    frame: SamplingFrame  # every item of the population, with its stratum
    # sampled items of the queue and of each extension
    content_keys_by_queue: dict[str, set[ContentKey]]
    extensions: list[QueueFile] = field(default_factory=list)

    @property
    def queue_names(self) -> set[str]:
        return set(self.content_keys_by_queue)

    @property
    def content_keys(self) -> set[ContentKey]:
        """Content keys of the items in the queue and in the queues that extend it."""
        return set().union(*self.content_keys_by_queue.values())

    def compute_inclusion_probability(
        self, content_key: ContentKey, automatic_verdict: bool | None
    ) -> float:
        """Return the probability, from 0 to 1, that the queue or an extension draws the item.
        `automatic_verdict` is needed because extensions have strata by automatic verdict.
        """
        # The probability is 1 minus that of being drawn neither by the queue nor by an extension.
        stratum = self.frame.strata[content_key]
        probability_of_omission = 1.0 - _find_stratum_probability(self.queue, (stratum,))

        key, _, _ = parse_content_key(content_key)
        # An extension has strata with or without the category of their items.
        names_in_extensions = (
            format_stratum_name(stratum, automatic_verdict),
            format_stratum_name(stratum, automatic_verdict, key.category),
        )
        for extension in self.extensions:
            if _is_drawn_from_run_of(extension, key):
                probability = _find_stratum_probability(extension, names_in_extensions)
                probability_of_omission *= 1.0 - probability
        return 1.0 - probability_of_omission

    def add_extension(self, queue: QueueFile) -> None:
        self.content_keys_by_queue[queue.name] = set(list_content_keys(queue))
        self.extensions.append(queue)


def _is_drawn_from_run_of(queue: QueueFile, key: ItemKey) -> bool:
    """Whether the queue was drawn from the run of an item, among others."""
    for run in queue.design.runs:
        if all(run[name] == getattr(key, name) for name in RUN_KEY_FIELDS):
            return True
    return False


def _find_stratum_probability(queue: QueueFile, stratum_names: Collection[str]) -> float:
    """Return the probability with which the queue draws an item of the first stratum with one of
    these names.

    It is 0 if the queue has no such stratum, because all of its items were in earlier queues and
    nothing was left to draw.
    """
    for stratum in queue.strata:
        if stratum.name in stratum_names:
            return stratum.probability
    return 0.0


FrameCache = dict[str, SamplingFrame]
"""The population of each queue. The keys are texts that describe the queues."""


class LoadedSamples(NamedTuple):
    samples: list[QueueSample]
    """Samples whose population is still in the database."""
    problems: list[str]
    """One message for each queue that cannot be used as a random sample."""


def load_random_samples(
    connection: Connection, workspace: Workspace, cache: FrameCache
) -> LoadedSamples:
    """Load the random samples of a workspace from its queue files.

    A queue can extend another one by more items. Both are one sample then. Files that cannot be
    used become problems, which are texts.
    """
    queues_and_errors = list(read_queues(workspace))
    problems = [str(queue) for queue in queues_and_errors if isinstance(queue, QueueError)]
    queues = [queue for queue in queues_and_errors if isinstance(queue, QueueFile)]
    queue_by_name = {queue.name: queue for queue in queues}

    samples: list[QueueSample] = []
    for queue in queues:
        if queue.design.extends:
            continue
        sample_or_problem = _load_sample(connection, queue, queue_by_name, cache)
        if isinstance(sample_or_problem, QueueSample):
            samples.append(sample_or_problem)
        else:
            problems.append(sample_or_problem)

    problems += _add_extending_queues(samples, queue_by_name.values())
    return LoadedSamples(samples, problems)


def _add_extending_queues(samples: Sequence[QueueSample], queues: Iterable[QueueFile]) -> list[str]:
    """Add the items of extending queues to the samples that they extend. Returns the problems."""
    problems = []
    extensions = [queue for queue in queues if queue.design.extends]
    # An extension can extend an earlier extension, so they are added in the order of creation.
    for queue in sorted(extensions, key=lambda extension: extension.created):
        extended_sample = _find_extended_sample(queue, samples)
        if extended_sample is not None:
            extended_sample.add_extension(queue)
        else:
            problems.append(
                f"queue {queue.name} is ignored: it extends the queue {queue.design.extends}, which"
                " cannot be used"
            )
    return problems


def _load_sample(
    connection: Connection,
    queue: QueueFile,
    queues: Mapping[str, QueueFile],
    cache: FrameCache,
) -> QueueSample | str:
    """Return the sample of a queue, or why the queue cannot be used as a random sample."""
    missing = sorted(set(queue.design.excludes) - queues.keys())
    if missing:
        return f"queue {queue.name} is ignored: its earlier queue {missing[0]} is missing"

    frame = _get_cached_frame(connection, queue, queues, cache)
    if frame is None:
        return f"queue {queue.name} is ignored: the items that it was drawn from have changed"
    content_keys = {queue.name: set(list_content_keys(queue))}
    return QueueSample(queue, frame=frame, content_keys_by_queue=content_keys)


def _find_extended_sample(
    extension: QueueFile, samples: Sequence[QueueSample]
) -> QueueSample | None:
    """Return the sample to which a queue adds items, or None."""
    for sample in samples:
        if extension.design.extends in sample.queue_names:
            return sample
    return None


def _get_cached_frame(
    connection: Connection, queue: QueueFile, queues: Mapping[str, QueueFile], cache: FrameCache
) -> SamplingFrame | None:
    """Return the sampling frame of a queue: the items from which the queue was drawn, with their
    strata. None if the items have changed.

    The frame is cached only if reviews cannot change which items the filter of the queue selects.
    """
    key = repr((queue.name, queue.created, queue.design, queue.strata))
    if key in cache:
        return cache[key]
    excluded = [queues[name] for name in queue.design.excludes]
    frame = _fetch_frame_if_unchanged(connection, queue, excluded)
    if frame is None:
        return None
    condition = build_view_condition(View(queue.design.where), blind=False)
    if not condition.depends_on_reviews:
        cache[key] = frame
    return frame


def _fetch_frame_if_unchanged(
    connection: Connection, queue: QueueFile, excluded: Sequence[QueueFile]
) -> SamplingFrame | None:
    """Return all items that the filter of a queue selects. None if the items have changed since the
    queue was drawn.

    Items of the `excluded` queues are included, because the sample represents them too.
    """
    # The filter of the queue applies to the runs that it was drawn from, or to all runs.
    sampled_runs = _find_sampled_runs(connection, queue)
    all_runs = ()
    for runs in (sampled_runs, all_runs):
        try:
            frame = fetch_sampling_frame(connection, _make_frame_request(queue, runs))
        except (FilterError, QueueError):
            # The filter or the strata of the queue are no longer valid.
            return None
        # The sample represents the items that it could contain, so incidents that were left out
        # have no stratum.
        drawable = frame.leave_out(queue.design.incident_hashes)
        if _is_frame_of_queue(drawable.remove_queues(excluded), queue):
            # Incidents keep the group with which they can be drawn.
            return replace(drawable, clusters=frame.clusters)
    return None


def _make_frame_request(queue: QueueFile, runs: tuple[int, ...]) -> QueueRequest:
    """Return the request that selects the population of a queue from these runs."""
    design = queue.design
    return QueueRequest(
        queue.name,
        View(design.where, queue="dataset", seed=0, runs=runs),
        size=None,
        stratify=design.stratify,
        sharing=ShareOptions(()),
        sources=tuple(design.sources),
        sources_until=queue.created,
        cluster=design.cluster,
        same_questions=design.same_questions,
        decides=design.decides,
    )


def _is_frame_of_queue(frame: SamplingFrame, queue: QueueFile) -> bool:
    """Whether the strata have the sizes that they had when the queue was drawn, and contain all of
    its items.
    """
    sizes = {stratum.name: stratum.size for stratum in queue.strata}
    if Counter(frame.get_unit_strata().values()) != sizes:
        return False
    return set(list_content_keys(queue)) <= frame.strata.keys()


def _find_sampled_runs(connection: Connection, queue: QueueFile) -> tuple[int, ...]:
    """Return the current numbers of the runs that the queue was drawn from.

    An import can change run numbers.
    """
    sampled = {tuple(run[name] for name in RUN_KEY_FIELDS) for run in queue.design.runs}
    rows = connection.execute(
        f"SELECT run, {', '.join(RUN_KEY_FIELDS)} FROM runs ORDER BY run"
    ).fetchall()
    return tuple(run for run, *key in rows if tuple(key) in sampled)


_RESOLVED_LABELS = (
    "SELECT item, target, criterion, individual FROM human_labels WHERE"
    f" {is_resolved_sql('individual_by')}"
    " AND derived IS NULL"
)
_AUTOMATIC_VERDICTS = """
SELECT i.item, r.benchmark, i.category, i.diff_function, {error}, i.official, i.rule, i.judge,
       list_transform(i.verdicts, lambda v: [v.source, v.target, v.criterion, CAST(v."value" AS VARCHAR), v."by"])
{table} JOIN runs r ON r.run = i.run WHERE h.item IS NOT NULL AND NOT {incident} AND ({where}) ORDER BY i.item
"""
_HAS_BULK_REVIEWS = "SELECT 1 FROM human_labels WHERE individual IS DISTINCT FROM human LIMIT 1"
_HAS_REVIEWED_INCIDENTS = (
    f"SELECT 1 {FROM_ITEMS} WHERE h.item IS NOT NULL AND {HAS_INCIDENT} LIMIT 1"
)
_SCORE_FILE_SUFFIX = (
    ".json"  # If `Verdict.by` does not end with it, `Verdict.by` is the tier of a checker.
)


class _VerdictKey(NamedTuple):
    source: str
    judge: str | None
    target: str
    criterion: str
    tier: str | None
    """Tier of the checker that decided, if the benchmark has several tiers."""


def fetch_verdict_pairs(
    connection: Connection,
    workspace: Workspace,
    reviews: ReviewTables,
    view: View,
    cache: FrameCache,
    judgements: Mapping[int, Sequence[ItemJudgement]],
) -> list[VerdictPair]:
    """Pair automatic verdicts with human verdicts, to measure how far the automatic ones can be
    trusted.

    Human verdicts on which annotators disagree are left out. An item of a random sample has a
    weight, the number of items that it stands for. Other items have the weight 1.

    Args:
        connection: The connection to the store.
        workspace: The workspace with the random samples.
        reviews: The reviews of all annotators.
        view: The items to compare.
        cache: The populations from which samples were drawn, so that they are read only once.
        judgements: Verdicts of `fcreview judge` by item number. They belong to no source of the
            run.
    """
    samples = _load_samples_of_runs(connection, workspace, cache)
    reached_keys = _find_reached_keys(samples, reviews.events)
    content_keys = _find_content_keys_of_reviewed_items(connection, reviews, view)
    human_verdicts_by_item = _fetch_resolved_verdicts(connection)

    pairs: list[VerdictPair] = []
    for item in _fetch_automatic_verdicts(connection, view):
        content_key = content_keys.get(item.item)
        human_verdicts = human_verdicts_by_item.get(item.item)
        if content_key is None or human_verdicts is None:
            continue

        automatic = _combine_automatic_verdicts(item)
        automatic |= _list_judged_verdicts(judgements.get(item.item, ()))
        # Only the items that annotators have reached are a random part of the sample.
        is_random = content_key in reached_keys
        weight = 1.0
        if is_random:
            weight = _compute_weight(content_key, item.select_automatic_verdict(), samples)
        pairs += _pair_verdicts(item, automatic, human_verdicts, is_random=is_random, weight=weight)
    return pairs


def _load_samples_of_runs(
    connection: Connection, workspace: Workspace, cache: FrameCache
) -> list[QueueSample]:
    """Return the random samples that represent their runs.

    Questions that decide a rank represent no run: they were selected by verdicts, which agree with
    the human ones more or less often there than on other questions.
    """
    samples = load_random_samples(connection, workspace, cache).samples
    return [sample for sample in samples if not sample.queue.design.decides]


def _find_reached_keys(samples: Iterable[QueueSample], events: EventIndex) -> set[ContentKey]:
    """Return the items that annotators have reached in the queues of the samples."""
    # The outcomes, for which the decisions would be needed, do not matter.
    outcomes = find_outcomes_of_reached_items(_list_queues(samples), events, decisions={})
    return set(outcomes)


def _list_judged_verdicts(judgements: Iterable[ItemJudgement]) -> dict[_VerdictKey, Any]:
    """Return the verdicts of `fcreview judge` on one item and its parts."""
    verdicts = {}
    for judgement in judgements:
        about = judgement.target, judgement.criterion
        verdicts[_make_verdict_key("judge", about, judgement.label)] = judgement.verdict
    return verdicts


def _find_content_keys_of_reviewed_items(
    connection: Connection, reviews: ReviewTables, view: View
) -> dict[int, ContentKey]:
    """Return the content keys of the view's reviewed items, by item number."""
    reviewed_items = set(fetch_sorted_item_numbers(connection, view, only_reviewed=True))
    return {
        item.item: make_content_key(*item.key, *item.hashes)
        for item in reviews.iter_reviewed_items(reviewed_items)
    }


def _list_queues(samples: Iterable[QueueSample]) -> list[QueueFile]:
    """Return the queues of the samples, each followed by its extensions."""
    queues = []
    for sample in samples:
        queues.append(sample.queue)
        queues += sample.extensions
    return queues


def _fetch_resolved_verdicts(connection: Connection) -> dict[int, dict[TargetCriterion, Any]]:
    """Return the resolved human verdicts by item, target and criterion."""
    verdicts: defaultdict[int, dict[TargetCriterion, Any]] = defaultdict(dict)
    for item, target, criterion, human in connection.execute(_RESOLVED_LABELS).fetchall():
        if human is not None:
            verdicts[item][target, criterion] = orjson.loads(human)
    return verdicts


@dataclass(frozen=True, slots=True)
class _JudgedItem:
    """A row of the query `_AUTOMATIC_VERDICTS`: a reviewed item with its automatic verdicts."""

    item: int
    benchmark: str
    category: str
    function: str | None
    error: str | None
    official: bool | None
    rule: bool | None
    judge: bool | None
    listed: list[list[str]] | None
    """[source, target, criterion, JSON text of the value, by] of each listed verdict."""

    @property
    def verdicts_by_source(self) -> dict[SourceName, bool | None]:
        return {"official": self.official, "rule": self.rule, "judge": self.judge}

    def select_automatic_verdict(self) -> bool | None:
        verdict: bool | None = select_automatic_verdict(self.verdicts_by_source)
        return verdict


def _fetch_automatic_verdicts(connection: Connection, view: View) -> list[_JudgedItem]:
    """Return the reviewed items of a view, with their automatic verdicts.

    Incidents are left out: an item without an answer does not show how well a checker or judge
    reads answers.
    """
    where, params, _ = build_view_condition(view, blind=False)
    query = _AUTOMATIC_VERDICTS.format(
        error=ERROR_TYPE_SQL, table=FROM_ITEMS, where=where, incident=HAS_INCIDENT
    )
    return [_JudgedItem(*row) for row in connection.execute(query, params).fetchall()]


def _pair_verdicts(
    item: _JudgedItem,
    automatic_verdicts: Mapping[_VerdictKey, Any],
    human_verdicts: Mapping[TargetCriterion, Any],
    *,
    is_random: bool,
    weight: float,
) -> Iterator[VerdictPair]:
    """Yield a pair of each automatic verdict on an item with the human verdict on the same target
    and criterion, if both exist.

    `weight` is the weight of the item in estimates, and `is_random` says whether it was drawn at
    random.
    """
    for key, automatic in automatic_verdicts.items():
        human = human_verdicts.get((key.target, key.criterion))
        if human is None or automatic is None:
            continue
        yield VerdictPair(
            item.item,
            source=key.source,
            judge=key.judge,
            criterion=key.criterion,
            automatic=automatic,
            human=human,
            is_random=is_random,
            benchmark=item.benchmark,
            category=item.category,
            tier=key.tier,
            error=item.error,
            function=item.function,
            weight=weight,
            is_on_item=key.target == ITEM_CORRECT[0],
        )


def _compute_weight(
    content_key: ContentKey, automatic: bool | None, samples: Sequence[QueueSample]
) -> float:
    """Return how many items a sampled item represents: 1 divided by the probability that at least
    one of the samples draws it.
    """
    none_draws_it = 1.0
    for sample in samples:
        if content_key in sample.frame.strata:
            probability = sample.compute_inclusion_probability(content_key, automatic)
            none_draws_it *= 1.0 - probability

    # An item that no sample can draw stands only for itself.
    if none_draws_it >= 1.0:
        return 1.0
    return 1.0 / (1.0 - none_draws_it)


def _combine_automatic_verdicts(item: _JudgedItem) -> dict[_VerdictKey, Any]:
    """Return the automatic verdicts on one item and its parts."""
    verdicts: dict[_VerdictKey, Any] = {}
    judges = []
    for source, target, criterion, text, by in item.listed or ():
        if source == "judge":
            judges.append(by)
        listed_key = _make_verdict_key(source, (target, criterion), by)
        verdicts[listed_key] = parse_json(text)

    # Some importers store a verdict on the whole item only in the column of its source, not in the
    # list of verdicts.
    only_judge = get_only_judge(judges)
    for source, value in item.verdicts_by_source.items():
        if value is None or _has_item_verdict(verdicts, source, value):
            continue
        judge = only_judge if source == "judge" else None
        verdicts[_make_verdict_key(source, ITEM_CORRECT, judge)] = value
    return verdicts


def _make_verdict_key(
    source: str, target_criterion: TargetCriterion, by: str | None
) -> _VerdictKey:
    """Return the key under which verdicts on a target and criterion are collected: one key for each
    judge, and one for each tier (stage) of the benchmark's checker.
    """
    judge = None
    tier = None
    if source == "judge":
        judge = by or "judge"
    elif by and not by.endswith(_SCORE_FILE_SUFFIX):
        tier = by
    target, criterion = target_criterion
    return _VerdictKey(source, judge=judge, target=target, criterion=criterion, tier=tier)


def _has_item_verdict(verdicts: Mapping[_VerdictKey, Any], source: SourceName, value: bool) -> bool:
    """Whether the verdicts contain this verdict of the source on the whole item."""
    for key, verdict in verdicts.items():
        is_about_item = (key.source, key.target, key.criterion) == (source, *ITEM_CORRECT)
        if is_about_item and is_same_verdict(verdict, value):
            return True
    return False


MAX_IDS_IN_FILTER = 150
_FILTER_WORDS = {True: "pass", False: "fail"}
_COLUMN_SOURCES = ("official", "rule")  # sources with one verdict for each item
_SCOPE_KEYS = {
    "overall": "",
    "benchmark": "benchmark",
    "category": "category",
    "error": "error",
    "function": "function",
}
"""Filter key of each calibration scope. Scopes that are not listed have no filter key."""


@dataclass(frozen=True, slots=True)
class CalibrationCell:
    """The items in one cell of a calibration table, which have the same automatic and the same
    human verdict.
    """

    source: str
    criterion: str
    automatic_verdict: Any
    human_verdict: Any
    scope: str
    # Value of the scope, such as a category. None for `overall` and for items without a value.
    name: str | None
    items: Sequence[int]


def build_cell_filter(
    connection: Connection, base_filter: str, cell: CalibrationCell
) -> str | None:
    """Return a filter that selects the items of a cell, by properties or by ids. None for too many
    ids.
    """
    if _has_filter_terms(cell):
        return add_terms(base_filter, *_list_filter_terms(connection, cell))
    if len(cell.items) > MAX_IDS_IN_FILTER:
        return None
    return _build_id_filter(connection, cell.items)


def _has_filter_terms(cell: CalibrationCell) -> bool:
    """Whether the filter language has keys that select exactly the items of a calibration cell."""
    if cell.criterion != CORRECT:
        return False
    if cell.source not in _COLUMN_SOURCES or cell.scope not in _SCOPE_KEYS:
        return False
    return isinstance(cell.automatic_verdict, bool) and isinstance(cell.human_verdict, bool)


def _list_filter_terms(connection: Connection, cell: CalibrationCell) -> list[str]:
    """Return the filter terms that select the items of a cell: those with its automatic and its
    human verdict, in its category or function.
    """
    # Without bulk reviews, both keys select the same items, and `human` is the better known one.
    has_bulk_reviews = bool(connection.execute(_HAS_BULK_REVIEWS).fetchall())
    human_key = "individual" if has_bulk_reviews else "human"
    terms = [
        f"{cell.source}:{_FILTER_WORDS[cell.automatic_verdict]}",
        f"{human_key}:{_FILTER_WORDS[cell.human_verdict]}",
    ]
    # A cell has no incidents (see `_fetch_automatic_verdicts`). Without reviewed incidents, the
    # other terms select none either.
    if connection.execute(_HAS_REVIEWED_INCIDENTS).fetchall():
        terms.append("incident:none")
    if cell.name is not None:
        terms.append(f"{_SCOPE_KEYS[cell.scope]}:{quote_or_hash(cell.name)}")
    return terms


def _build_id_filter(connection: Connection, items: Sequence[int]) -> str:
    """Build a filter that lists the ids of items, run by run."""
    filters = []
    for run, ids in _fetch_ids_by_run(connection, items).items():
        distinct_ids = "|".join(dict.fromkeys(quote_or_hash(item_id) for item_id in ids))
        filters.append(f"run:{run} id:{distinct_ids}")
    if len(filters) == 1:
        return filters[0]
    return " OR ".join(f"({text})" for text in filters)


def _fetch_ids_by_run(connection: Connection, items: Sequence[int]) -> dict[int, list[str]]:
    """Return the ids of items by run, in the order of the item numbers."""
    numbers = ", ".join(str(int(item)) for item in items) or "NULL"
    rows = connection.execute(
        f"SELECT run, id FROM item_rows WHERE item IN ({numbers}) ORDER BY item"
    )
    ids_by_run: defaultdict[int, list[str]] = defaultdict(list)
    for run, item_id in rows.fetchall():
        ids_by_run[run].append(item_id)
    return ids_by_run


_RUN_ITEMS = f"""
SELECT r.benchmark, r.generation, r.language, r.model, i.category, i.id,
       coalesce(i.prediction_hash, ''), coalesce(i.golden_hash, ''), {AUTOMATIC_VERDICT},
       CASE WHEN {is_resolved_sql("h.individual_by")} THEN h.individual_verdict END, i.item, h.individual_by,
       {HAS_INCIDENT}
FROM item_rows i JOIN runs r ON r.run = i.run LEFT JOIN human h ON h.item = i.item
WHERE i.run = ? ORDER BY i.seq
"""
# This query selects human verdicts on whole items, for the criteria other than `correct` that
# metrics depend on. The value is null for a verdict that is not resolved.
_CRITERION_ANSWERS = f"""
SELECT h.item, h.criterion, CASE WHEN {is_resolved_sql("h.individual_by")} THEN h.individual END
FROM human_labels h JOIN item_rows i ON i.item = h.item
WHERE i.run = ? AND h.target IN {WHOLE_TARGETS} AND (h.target, h.criterion) <> {ITEM_CORRECT} AND h.n_verdicts > 0
  AND h.criterion NOT IN ('{DECISIVE_STEP}', '{INCIDENT}')
"""


_HAS_REVIEWS = "SELECT 1 FROM human_labels WHERE item >> 32 = ? LIMIT 1"
"""Query for a review of an item of a run. The number of an item is `run << 32 | seq`."""


@dataclass(frozen=True, slots=True)
class _RunItem:
    """A row of the query `_RUN_ITEMS`: an item with its automatic verdict and its resolved human
    verdict.
    """

    key: ItemKey
    prediction_hash: str
    golden_hash: str
    content_key: ContentKey
    automatic: bool | None
    human: bool | None
    item: int
    decided_by: str | None
    is_incident: bool


def _fetch_run_items(connection: Connection, run: int) -> list[_RunItem]:
    """Return the items of a run with their automatic and human verdicts, in dataset order."""
    rows = connection.execute(_RUN_ITEMS, [run]).fetchall()
    items = []
    for *names, prediction_hash, golden_hash, automatic, human, item, decided_by, incident in rows:
        items.append(
            _RunItem(
                ItemKey(*names),
                prediction_hash=prediction_hash,
                golden_hash=golden_hash,
                content_key=make_content_key(*names, prediction_hash, golden_hash),
                automatic=automatic,
                human=human,
                item=item,
                decided_by=decided_by,
                is_incident=incident,
            )
        )
    return items


@dataclass(frozen=True, slots=True)
class RunSampleStatus:
    items: list[ItemStatus]  # status of every item, in dataset order
    content_keys: list[ContentKey]  # content key of every item, in the same order
    samples: list[QueueSample]  # samples whose population has items of this run
    problems: list[str]  # see `LoadedSamples.problems`
    # human verdicts on whole items on criteria other than `correct`
    criterion_answers: list[CriterionAnswers]
    item_numbers: Sequence[int] = ()
    """Number of every item, in the same order; empty if items are combined."""
    sources: SourceStrata = NO_SOURCE_STRATA
    """Which automatic sources divide the items, and why."""
    combined_items: list[ScoredItem] | None = None
    """The items to which `items` refers, if items with equal verdicts are combined. See
    `fetch_combined_sample_status`.
    """

    def find_undecided_positions(self, sample: QueueSample) -> list[int]:
        """Return the positions in `items` of the sampled items that have no resolved human
        verdict.
        """
        sampled = sample.content_keys
        undecided = []
        for position, item in enumerate(self.items):
            is_sampled = self.content_keys[position] in sampled
            if is_sampled and item.human is None and not item.is_incident:
                undecided.append(position)
        return undecided


def fetch_combined_sample_status(
    connection: Connection,
    workspace: Workspace,
    run: int,
    cache: FrameCache,
    *,
    keep_part_verdicts: bool,
) -> RunSampleStatus | None:
    """Return the data for estimates of a run without reviews and samples. None for any other run.

    Items with equal verdicts are combined into one item with a count, so that the time of an
    estimate does not grow with the number of items. With `keep_part_verdicts`, items are combined
    only if their verdicts on parts are equal too.
    """
    if connection.execute(_HAS_REVIEWS, [run]).fetchall():
        return None
    samples, problems = load_random_samples(connection, workspace, cache)
    if _contain_items_of_run(connection, run, samples):
        return None

    scored = fetch_combined_scored_items(connection, [run], keep_part_verdicts=keep_part_verdicts)
    items = scored[run]["corrected"]
    return RunSampleStatus(
        [_make_unsampled_status(item) for item in items],
        content_keys=[],
        samples=[],
        problems=problems,
        criterion_answers=[],
        combined_items=items,
    )


def _contain_items_of_run(connection: Connection, run: int, samples: Sequence[QueueSample]) -> bool:
    """Whether the population of a sample has items with the benchmark, version, language and model
    of a run.
    """
    query = f"SELECT {', '.join(RUN_KEY_FIELDS)} FROM runs WHERE run = ?"
    fields_of_run = connection.execute(query, [run]).fetchall()[0]
    # A content key is a JSON list that begins with these fields.
    prefix = make_content_key(*fields_of_run).removesuffix("]") + ","
    return any(_has_content_key(sample, prefix) for sample in samples)


def _has_content_key(sample: QueueSample, prefix: str) -> bool:
    return any(key.startswith(prefix) for key in sample.frame.strata)


def _make_unsampled_status(item: ScoredItem) -> ItemStatus:
    return ItemStatus(category=item.category, automatic=item.valid, is_incident=item.is_incident)


def fetch_sample_status(
    connection: Connection, workspace: Workspace, reviews: ReviewTables, run: int, cache: FrameCache
) -> RunSampleStatus:
    """Return which items of a run are in a random sample, and how far they are reviewed."""
    items = _fetch_run_items(connection, run)
    all_samples, problems = load_random_samples(connection, workspace, cache)
    samples = _select_samples_of_items(all_samples, items)
    answers = _fetch_criterion_answers(connection, run, items)
    progress = _find_sample_progress(items, samples, answers, reviews)
    statuses = [_build_item_status(item, samples, progress) for item in items]
    sources = NO_SOURCE_STRATA
    if samples:
        sources = _choose_sources(connection, run, statuses, samples)
    return RunSampleStatus(
        sources.add_to_statuses(statuses),
        sources=sources,
        content_keys=[item.content_key for item in items],
        item_numbers=[item.item for item in items],
        samples=samples,
        problems=problems,
        criterion_answers=_build_criterion_answers(items, answers, progress),
    )


def _choose_sources(
    connection: Connection,
    run: int,
    statuses: Sequence[ItemStatus],
    samples: Sequence[QueueSample],
) -> SourceStrata:
    """Choose the automatic sources by which estimates of a run divide its items."""
    design_sources: dict[str, None] = {}
    for sample in samples:
        design_sources.update(dict.fromkeys(sample.queue.design.sources))
    sources = fetch_source_verdicts(connection, run)
    return choose_source_strata(statuses, sources, design_sources)


def fetch_joint_samples(
    connection: Connection,
    workspace: Workspace,
    reviews: ReviewTables,
    runs: tuple[int, int],
    cache: FrameCache,
) -> tuple[RunSample, RunSample]:
    """Return the items of two runs, with their part in the joint samples of both runs. Both are
    empty if there is no joint sample.
    """
    run_a, run_b = runs
    status_a = fetch_sample_status(connection, workspace, reviews, run_a, cache)
    status_b = fetch_sample_status(connection, workspace, reviews, run_b, cache)
    names_b = {sample.queue.name for sample in status_b.samples}
    joint_samples = []
    for sample in status_a.samples:
        if sample.queue.design.same_questions and sample.queue.name in names_b:
            joint_samples.append(sample)
    if not joint_samples:
        return {}, {}
    return _build_run_sample(status_a, joint_samples), _build_run_sample(status_b, joint_samples)


def _build_run_sample(
    run: RunSampleStatus, joint_samples: Sequence[QueueSample]
) -> dict[int, JointSampleItem]:
    """Return the state of each item of a run in the joint samples, by item number."""
    items = {}
    for number, content_key, status in zip(
        run.item_numbers, run.content_keys, run.items, strict=True
    ):
        items[number] = _build_joint_sample_item(content_key, status, joint_samples)
    return items


def _build_joint_sample_item(
    content_key: ContentKey, status: ItemStatus, joint_samples: Sequence[QueueSample]
) -> JointSampleItem:
    """Build the data about an item for an estimate from several samples: which queues could draw
    the item, and the probability that at least one does.
    """
    samples = [sample for sample in joint_samples if content_key in sample.frame.strata]
    return JointSampleItem(
        status,
        queues=tuple(sample.queue.name for sample in samples),
        probability=_compute_joint_probability(content_key, samples),
        is_drawn=any(
            content_key in sample.content_keys_by_queue[sample.queue.name] for sample in samples
        ),
        cluster=_find_joint_cluster(content_key, samples),
    )


def _compute_joint_probability(content_key: ContentKey, samples: Iterable[QueueSample]) -> float:
    """Return the probability that at least one of the samples draws an item of their populations."""
    probability_not_drawn = 1.0
    for sample in samples:
        stratum = sample.frame.strata[content_key]
        probability_not_drawn *= 1.0 - _find_stratum_probability(sample.queue, (stratum,))
    return 1.0 - probability_not_drawn


def _find_joint_cluster(content_key: ContentKey, samples: Iterable[QueueSample]) -> str | None:
    """Return the task or conversation of an item, if a sample draws these as a whole.

    Each sample names it in the same way.
    """
    for sample in samples:
        if sample.queue.design.cluster:
            return sample.frame.questions[content_key]
    return None


def _select_samples_of_items(
    samples: Sequence[QueueSample], items: Sequence[_RunItem]
) -> list[QueueSample]:
    """Return the samples whose population contains at least one of the items."""
    content_keys = {item.content_key for item in items}
    return [sample for sample in samples if not content_keys.isdisjoint(sample.frame.strata)]


_CriterionAnswers = Mapping[str, Mapping[ContentKey, Any]]
"""Human verdicts by criterion and content key. A verdict that is not resolved is None."""


@dataclass(frozen=True, slots=True)
class _SampleProgress:
    """Which items of a run were drawn and reviewed, as sets of content keys."""

    answered: set[ContentKey]  # items with a human verdict on another criterion than `correct`
    drawn: set[ContentKey]  # items in a sample, without incidents
    known_before: set[ContentKey]  # items with a review that is older than the first sample
    outcomes: Mapping[ContentKey, SampleOutcome]  # outcomes of the items that annotators reached
    representative: set[ContentKey]  # items whose reviews allow conclusions about other items


def _find_sample_progress(
    items: Sequence[_RunItem],
    samples: Sequence[QueueSample],
    answers: _CriterionAnswers,
    reviews: ReviewTables,
) -> _SampleProgress:
    """Find out how far the review of the random samples of a run is.

    An estimate may only use items that were drawn at random and that nobody had reviewed before.

    Args:
        items: The items of the run.
        samples: The random samples with items of the run.
        answers: The human verdicts on each criterion, by content key.
        reviews: The reviews of all annotators.
    """
    # Keys identify an item and its answer by their content.
    answered: set[ContentKey] = set()
    for answer_by_key in answers.values():
        answered.update(answer_by_key)
    # `reviews.events` reads the journals, which takes time. Without a sample, nothing needs them.
    if not samples:
        return _SampleProgress(
            answered, drawn=set(), known_before=set(), outcomes={}, representative=set()
        )

    events = reviews.events
    known_before = _find_items_known_before(items, samples, answered, events)
    decisions = _find_decided_outcomes(items)
    outcomes = find_outcomes_of_reached_items(_list_queues(samples), events, decisions)
    drawn = _find_drawn_items(items, samples)
    reached = drawn & outcomes.keys()
    return _SampleProgress(
        answered,
        drawn=drawn,
        known_before=known_before,
        outcomes=outcomes,
        representative=reached - known_before,
    )


def _find_drawn_items(items: Iterable[_RunItem], samples: Iterable[QueueSample]) -> set[ContentKey]:
    """Return the items in the samples, without incidents.

    An incident is no answer, so it says nothing about other items, even if it was drawn before it
    was marked.
    """
    drawn: set[ContentKey] = set()
    for sample in samples:
        drawn |= sample.content_keys
    return drawn - {item.content_key for item in items if item.is_incident}


def _find_decided_outcomes(items: Iterable[_RunItem]) -> dict[ContentKey, SampleOutcome]:
    """Return the outcome of each item that annotators decided, or on which they disagree."""
    outcomes: dict[ContentKey, SampleOutcome] = {}
    for item in items:
        if item.decided_by == DISPUTED:
            outcomes[item.content_key] = "in disagreement"
        elif item.human is not None:
            outcomes[item.content_key] = "decided"
    return outcomes


def _find_items_known_before(
    items: Iterable[_RunItem],
    samples: Sequence[QueueSample],
    answered: Collection[ContentKey],
    events: EventIndex,
) -> set[ContentKey]:
    """Return the reviewed items that an annotator had already reviewed when the first sample was
    drawn.

    An earlier review counts even if the annotator changed the verdict later.
    """
    first_draw = min(sample.queue.created for sample in samples)
    known = set()
    for item in items:
        is_reviewed = item.human is not None or item.content_key in answered
        if is_reviewed and _is_known_before(events, item, first_draw):
            known.add(item.content_key)
    return known


def _build_item_status(
    item: _RunItem, samples: Sequence[QueueSample], progress: _SampleProgress
) -> ItemStatus:
    """Return the verdicts on an item, and its part in the samples and their reviews."""
    key = item.content_key
    samples_of_item = [sample for sample in samples if key in sample.frame.strata]
    # An incident is in no population, but it can belong to a group that was drawn.
    cluster_samples = samples if item.is_incident else samples_of_item

    # The stratum of an item is the combination of its strata in all samples. An item in no
    # population has none.
    strata = _list_strata(key, samples) if samples_of_item else None
    is_decided = item.human is not None
    is_reviewed = is_decided or key in progress.answered
    is_drawn = key in progress.drawn
    return ItemStatus(
        category=item.key.category,
        automatic=item.automatic,
        human=item.human,
        stratum=strata,
        inclusion_probability=_compute_inclusion_probability(item, samples_of_item),
        has_sample_verdict=is_decided and key in progress.representative,
        is_known_before_sample=key in progress.known_before,
        is_sample_reviewed=is_drawn and is_reviewed,
        sample_outcome=_find_sample_outcome(key, progress),
        cluster=_find_cluster(key, cluster_samples),
        is_incident=item.is_incident,
    )


def _list_strata(content_key: ContentKey, samples: Iterable[QueueSample]) -> tuple[str | None, ...]:
    """Return the item's stratum in each sample; None for a sample of other items."""
    return tuple(sample.frame.strata.get(content_key) for sample in samples)


def _compute_inclusion_probability(item: _RunItem, samples: Iterable[QueueSample]) -> float:
    """Return the probability that at least one of the independent samples draws the item."""
    probabilities_of_omission = [
        1 - sample.compute_inclusion_probability(item.content_key, item.automatic)
        for sample in samples
    ]
    return 1 - prod(probabilities_of_omission)


def _find_sample_outcome(
    content_key: ContentKey, progress: _SampleProgress
) -> SampleOutcome | None:
    """Return how far the review of a drawn item has come; None for items that were not drawn."""
    if content_key not in progress.drawn:
        return None
    return progress.outcomes.get(content_key, "not reviewed")


def _build_criterion_answers(
    items: Sequence[_RunItem], answers: _CriterionAnswers, progress: _SampleProgress
) -> list[CriterionAnswers]:
    """Return the human verdicts on each criterion, with one value for each item, in the order of
    `items`.
    """
    content_keys = [item.content_key for item in items]
    result = []
    for criterion, answer_by_key in sorted(answers.items()):
        # An undecided verdict is None.
        human = [answer_by_key.get(key) for key in content_keys]
        decided_keys = {key for key, answer in answer_by_key.items() if answer is not None}
        sampled_keys = decided_keys & progress.representative
        result.append(
            CriterionAnswers(
                criterion,
                human=human,
                is_reviewed=[key in answer_by_key for key in content_keys],
                has_sample_verdict=[key in sampled_keys for key in content_keys],
            )
        )
    return result


def _find_cluster(content_key: ContentKey, samples: Sequence[QueueSample]) -> str | None:
    """Return the group of items, such as a conversation, with which all of the samples draw an item
    as a whole.

    None if a sample draws the item alone, or if the samples draw it with different groups.
    """
    clusters = {sample.frame.clusters.get(content_key) for sample in samples}
    if len(clusters) != 1:
        return None
    return clusters.pop()


def _is_known_before(events: EventIndex, item: _RunItem, time: str) -> bool:
    """Whether an annotator had given a verdict on the item or its parts before a time."""
    verdicts = events.list_current_verdict_events(item.key, item.prediction_hash, item.golden_hash)
    return any(_cut_to_seconds(event.time) < _cut_to_seconds(time) for event in verdicts)


def _cut_to_seconds(time: str) -> str:
    """Return a time without its fraction and its time zone (UTC), to compare the times of reviews,
    which have milliseconds, with those of queues, which have none.
    """
    return time[: len("2026-01-31T12:00:00")]


def _fetch_criterion_answers(
    connection: Connection, run: int, items: Iterable[_RunItem]
) -> dict[str, dict[ContentKey, Any]]:
    """Return the human verdicts on each criterion, by content key."""
    key_of_item = {item.item: item.content_key for item in items}
    answers: dict[str, dict[ContentKey, Any]] = {}
    for item, criterion, text in connection.execute(_CRITERION_ANSWERS, [run]).fetchall():
        answers.setdefault(criterion, {})[key_of_item[item]] = parse_json(text)
    return answers


def find_outcomes_of_reached_items(
    queues: Sequence[QueueFile], events: EventIndex, decisions: Mapping[ContentKey, SampleOutcome]
) -> dict[ContentKey, SampleOutcome]:
    """Return the outcome of each item that annotators have reached in these queues.

    This is the decision or, without one, `unsure` or `skipped`. `decisions` has the outcomes of
    items that are decided or disputed.
    """
    outcomes: dict[ContentKey, SampleOutcome] = {}
    for queue in queues:
        content_keys = list_content_keys(queue)
        events_by_position = [
            events.list_current_verdict_events(item.key, item.prediction_hash, item.golden_hash)
            for item in queue.items
        ]
        for position in _find_reached_positions(queue, events_by_position):
            content_key = content_keys[position]
            undecided_outcome = _find_undecided_outcome(events_by_position[position])
            outcomes[content_key] = decisions.get(content_key, undecided_outcome)
    return outcomes


def _find_undecided_outcome(events: Iterable[Event]) -> SampleOutcome:
    """Return whether an item without a decision was reviewed without a definite verdict, or
    skipped.
    """
    is_unsure = any(not is_definite(event.verdict) for event in events)
    return "unsure" if is_unsure else "skipped"


def _find_reached_positions(
    queue: QueueFile, verdicts_by_position: Sequence[Sequence[Event]]
) -> set[int]:
    """Return the positions in the queue that annotators have reached.

    Args:
        queue: The queue, whose items are shared among annotators.
        verdicts_by_position: Position in the queue -> current review events of the item.
    """
    # If all items have a review, none was skipped, whenever the reviews were written.
    if all(verdicts_by_position):
        return set(range(len(queue.items)))

    reached: set[int] = set()
    for share in queue.shares:
        n_reached = _count_reached_places(queue, share, verdicts_by_position)
        reached.update(share.order[:n_reached])
    return reached


def _count_reached_places(
    queue: QueueFile, share: AnnotatorShare, verdicts_by_position: Sequence[Sequence[Event]]
) -> int:
    """Return the number of places of a share up to the last item that was reviewed after the queue
    was created. Items before it without a review were skipped.
    """
    owners = {share.annotator for share in queue.shares}
    n_reached = 0
    for index, position in enumerate(share.order):
        # The second presentation of an item says nothing about the order.
        if index in share.repeats:
            continue
        events = verdicts_by_position[position]
        if any(_is_review_in_share(event, queue, share.annotator, owners) for event in events):
            n_reached = index + 1
    return n_reached


def _is_review_in_share(
    event: Event, queue: QueueFile, owner: str, owners: Collection[str]
) -> bool:
    """Whether a review counts for the share of the annotator `owner` in a queue.

    The review must be by `owner` or by a person without a share, and written in the queue or after
    the queue was created.
    """
    is_recent = _cut_to_seconds(event.time) >= _cut_to_seconds(queue.created)
    is_by_owner = event.annotator == owner or event.annotator not in owners
    return is_by_owner and (event.queue == queue.name or is_recent)
