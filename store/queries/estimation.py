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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from fcreview.model.address import WHOLE_TARGETS
from fcreview.model.effective_verdict import (
    DISPUTED,
    SCORING_ORDER,
    is_definite,
    is_same_verdict,
    select_automatic_verdict,
)
from fcreview.model.incident import INCIDENT
from fcreview.model.json_value import parse_json
from fcreview.model.review import CORRECT, ITEM_CORRECT, ItemKey
from fcreview.model.verdict import DECISIVE_STEP
from fcreview.stats.answer_model import CriterionAnswers
from fcreview.stats.calibration import VerdictPair
from fcreview.stats.posterior import ItemStatus, SampleOutcome
from fcreview.stats.sampling import ShareOptions, format_stratum_name
from fcreview.store.filters.search_sql import ERROR_TYPE_SQL
from fcreview.store.filters.tokens import FilterError, add_terms, quote_or_hash
from fcreview.store.queries.scored_items import fetch_combined_scored_items, get_only_judge
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
)
from fcreview.store.reviews.review_sql import AUTOMATIC_VERDICT, HAS_INCIDENT, is_resolved_sql
from fcreview.store.rows import View

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

    from fcreview.model.metric import ScoredItem
    from fcreview.model.review import Event
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
        stratum = self.frame.strata[content_key]
        # All items of a stratum can be in earlier queues, so that nothing is left to draw.
        not_drawn = 1.0 - next(
            (each.probability for each in self.queue.strata if each.name == stratum), 0.0
        )
        key = ItemKey(*orjson.loads(content_key)[: len(ItemKey._fields)])
        for queue in self.extensions:
            if any(
                all(run[name] == getattr(key, name) for name in RUN_KEY_FIELDS)
                for run in queue.design.runs
            ):
                cells = (
                    format_stratum_name(stratum, automatic_verdict),
                    format_stratum_name(stratum, automatic_verdict, key.category),
                )
                not_drawn *= 1.0 - next(
                    (each.probability for each in queue.strata if each.name in cells), 0.0
                )
        return 1.0 - not_drawn

    def add_extension(self, queue: QueueFile) -> None:
        self.content_keys_by_queue[queue.name] = set(list_content_keys(queue))
        self.extensions.append(queue)


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
    """Read the queue files of a workspace, and join each queue with the queues that extend it."""
    samples: dict[str, QueueSample] = {}
    problems, extensions = [], []
    queues = {
        queue.name: queue for queue in read_queues(workspace) if not isinstance(queue, QueueError)
    }
    for queue in read_queues(workspace):
        if isinstance(queue, QueueError):
            problems.append(str(queue))
        elif queue.design.extends:
            extensions.append(queue)
        elif not queues.keys() >= set(queue.design.excludes):
            missing = sorted(set(queue.design.excludes) - queues.keys())
            problems.append(
                f"queue {queue.name} is ignored: its earlier queue {missing[0]} is missing"
            )
        elif (frame := _get_cached_frame(connection, queue, queues, cache)) is None:
            problems.append(
                f"queue {queue.name} is ignored: the items that it was drawn from have changed"
            )
        else:
            samples[queue.name] = QueueSample(
                queue,
                frame=frame,
                content_keys_by_queue={queue.name: set(list_content_keys(queue))},
            )
    for queue in sorted(extensions, key=lambda each: each.created):
        sample = next(
            (each for each in samples.values() if queue.design.extends in each.queue_names), None
        )
        if sample is None:
            problems.append(
                f"queue {queue.name} is ignored: it extends the queue {queue.design.extends}, which"
                " cannot be used"
            )
        else:
            sample.add_extension(queue)
    return LoadedSamples(list(samples.values()), problems)


def _get_cached_frame(
    connection: Connection, queue: QueueFile, queues: Mapping[str, QueueFile], cache: FrameCache
) -> SamplingFrame | None:
    key = repr((queue.name, queue.created, queue.design, queue.strata))
    if key in cache:
        return cache[key]
    excluded = [queues[name] for name in queue.design.excludes]
    frame = _fetch_frame_if_unchanged(connection, queue, excluded)
    depends_on_reviews = (
        frame is not None and build_view_condition(View(queue.design.where), blind=False)[2]
    )
    if frame is not None and not depends_on_reviews:
        cache[key] = frame
    return frame


def _fetch_frame_if_unchanged(
    connection: Connection, queue: QueueFile, excluded: Sequence[QueueFile]
) -> SamplingFrame | None:
    """Return all items that the queue's filter selects, also those of excluded queues, because a
    sample of the other items represents the same population. Return None if the items have changed.
    """
    design = queue.design
    sizes = {stratum.name: stratum.size for stratum in queue.strata}
    sampled = set(list_content_keys(queue))
    for runs in (_find_sampled_runs(connection, queue), ()):
        view = View(design.where, queue="dataset", seed=0, runs=runs)
        request = QueueRequest(
            queue.name,
            view,
            size=None,
            stratify=design.stratify,
            sharing=ShareOptions(()),
            cluster=design.cluster,
        )
        try:
            frame = fetch_sampling_frame(connection, request)
        except (FilterError, QueueError):
            return None
        # The sample represents the items that it could contain, so incidents that were left out
        # have no stratum.
        drawable = frame.leave_out(design.incident_hashes)
        remaining = drawable.remove_queues(excluded)
        if (
            Counter(remaining.get_unit_strata().values()) == sizes
            and sampled <= remaining.strata.keys()
        ):
            return SamplingFrame(drawable.strata, frame.clusters)
    return None


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
) -> list[VerdictPair]:
    """Pair automatic verdicts with the resolved human verdicts on the same targets and criteria,
    in item order.
    """
    samples = load_random_samples(connection, workspace, cache).samples
    queues = [queue for sample in samples for queue in (sample.queue, *sample.extensions)]
    reached = find_outcomes_of_reached_items(queues, reviews.events, {}).keys()
    reviewed = reviews.iter_reviewed_items(
        set(fetch_sorted_item_numbers(connection, view, only_reviewed=True))
    )
    content_keys = {each.item: make_content_key(*each.key, *each.hashes) for each in reviewed}
    human_verdicts: defaultdict[int, dict[tuple[str, str], Any]] = defaultdict(dict)
    for item, target, criterion, human in connection.execute(_RESOLVED_LABELS).fetchall():
        if human is not None:
            human_verdicts[item][target, criterion] = orjson.loads(human)
    where, params, _ = build_view_condition(view, blind=False)
    # An incident has no answer, so a verdict on it says nothing about how well a checker or judge
    # reads answers.
    sql = _AUTOMATIC_VERDICTS.format(
        error=ERROR_TYPE_SQL, table=FROM_ITEMS, where=where, incident=HAS_INCIDENT
    )
    cases = []
    for item, benchmark, category, function, error, *columns, listed in connection.execute(
        sql, params
    ).fetchall():
        if item not in human_verdicts or item not in content_keys:
            continue
        is_random = content_keys[item] in reached
        automatic = select_automatic_verdict(dict(zip(SCORING_ORDER, columns, strict=True)))
        weight = _compute_weight(content_keys[item], automatic, samples) if is_random else 1.0
        for (source, judge, target, criterion, tier), value in _combine_automatic_verdicts(
            columns, listed or []
        ).items():
            human = human_verdicts[item].get((target, criterion))
            if human is None or value is None:
                continue
            cases.append(
                VerdictPair(
                    item,
                    source=source,
                    judge=judge,
                    criterion=criterion,
                    automatic=value,
                    human=human,
                    is_random=is_random,
                    benchmark=benchmark,
                    category=category,
                    tier=tier,
                    error=error,
                    function=function,
                    weight=weight,
                )
            )
    return cases


def _compute_weight(
    content_key: ContentKey, automatic: bool | None, samples: Sequence[QueueSample]
) -> float:
    """Return the number of items for which a sampled item stands."""
    not_drawn = 1.0
    for sample in samples:
        if content_key in sample.frame.strata:
            not_drawn *= 1.0 - sample.compute_inclusion_probability(content_key, automatic)
    return 1.0 / (1.0 - not_drawn) if not_drawn < 1.0 else 1.0


def _combine_automatic_verdicts(
    item_verdicts: list[Any], listed_verdicts: list[list[str]]
) -> dict[_VerdictKey, Any]:
    """Return the automatic verdicts on one item and its parts."""
    verdicts: dict[_VerdictKey, Any] = {}
    for source, target, criterion, text, by in listed_verdicts:
        judge = (by or "judge") if source == "judge" else None
        tier = None if source == "judge" or not by or by.endswith(_SCORE_FILE_SUFFIX) else by
        verdicts[
            _VerdictKey(source, judge=judge, target=target, criterion=criterion, tier=tier)
        ] = parse_json(text)
    item_judge = (
        get_only_judge(by for source, _, _, _, by in listed_verdicts if source == "judge")
        or "judge"
    )
    # Some importers store a verdict on the whole item only in the column of its source, not in the
    # list of verdicts.
    for source, value in zip(SCORING_ORDER, item_verdicts, strict=True):
        is_listed = any(
            (each.source, each.target, each.criterion) == (source, *ITEM_CORRECT)
            and is_same_verdict(other, value)
            for each, other in verdicts.items()
        )
        if value is not None and not is_listed:
            judge = item_judge if source == "judge" else None
            verdicts[_VerdictKey(source, judge, *ITEM_CORRECT, None)] = value
    return verdicts


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
    has_terms = (
        cell.criterion == CORRECT and cell.source in _COLUMN_SOURCES and cell.scope in _SCOPE_KEYS
    )
    if (
        has_terms
        and isinstance(cell.automatic_verdict, bool)
        and isinstance(cell.human_verdict, bool)
    ):
        human = "individual" if connection.execute(_HAS_BULK_REVIEWS).fetchall() else "human"
        terms = [
            f"{cell.source}:{_FILTER_WORDS[cell.automatic_verdict]}",
            f"{human}:{_FILTER_WORDS[cell.human_verdict]}",
        ]
        if connection.execute(_HAS_REVIEWED_INCIDENTS).fetchall():
            terms.append("incident:none")
        if cell.name is not None:
            terms.append(f"{_SCOPE_KEYS[cell.scope]}:{quote_or_hash(cell.name)}")
        return add_terms(base_filter, *terms)
    if len(cell.items) > MAX_IDS_IN_FILTER:
        return None
    numbers = ", ".join(str(int(item)) for item in cell.items) or "NULL"
    rows = connection.execute(
        f"SELECT run, id FROM item_rows WHERE item IN ({numbers}) ORDER BY item"
    ).fetchall()
    ids_by_run: defaultdict[int, list[str]] = defaultdict(list)
    for run, item_id in rows:
        ids_by_run[run].append(quote_or_hash(item_id))
    parts = [f"run:{run} id:{'|'.join(dict.fromkeys(ids))}" for run, ids in ids_by_run.items()]
    return parts[0] if len(parts) == 1 else " OR ".join(f"({part})" for part in parts)


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


class _RunItem(NamedTuple):
    """A row of the query `_RUN_ITEMS`: an item with its automatic verdict and its resolved human
    verdict.
    """

    benchmark: str
    generation: str
    language: str
    model: str
    category: str
    id: str
    prediction_hash: str
    golden_hash: str
    automatic: bool | None
    human: bool | None
    item: int
    decided_by: str | None
    is_incident: bool


@dataclass(frozen=True, slots=True)
class RunSampleStatus:
    items: list[ItemStatus]  # status of every item, in dataset order
    content_keys: list[ContentKey]  # content key of every item, in the same order
    samples: list[QueueSample]  # samples whose population has items of this run
    problems: list[str]  # see `LoadedSamples.problems`
    # human verdicts on whole items on criteria other than `correct`
    criterion_answers: list[CriterionAnswers]
    combined_items: list[ScoredItem] | None = None
    """The items to which `items` refers, if items with equal verdicts are combined. See
    `fetch_combined_sample_status`.
    """

    def find_undecided_positions(self, sample: QueueSample) -> list[int]:
        """Return the positions in `items` of the sampled items that have no resolved human
        verdict.
        """
        sampled = sample.content_keys
        pairs = zip(self.content_keys, self.items, strict=True)
        undecided = []
        for at, (content_key, item) in enumerate(pairs):
            if content_key in sampled and item.human is None and not item.is_incident:
                undecided.append(at)
        return undecided


def fetch_combined_sample_status(
    connection: Connection,
    workspace: Workspace,
    run: int,
    cache: FrameCache,
    *,
    keep_part_verdicts: bool,
) -> RunSampleStatus | None:
    """Return the status of a run without reviews, of which no item is in the population of a
    sample; None for other runs.

    Items with equal verdicts are combined (see `fetch_combined_scored_items`). So the estimates of
    a run take as long with a million items as with a hundred.
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
    rows = [_RunItem(*row) for row in connection.execute(_RUN_ITEMS, [run]).fetchall()]
    content_keys = [make_content_key(*row[:8]) for row in rows]
    all_samples, problems = load_random_samples(connection, workspace, cache)
    run_keys = set(content_keys)
    samples = [sample for sample in all_samples if not run_keys.isdisjoint(sample.frame.strata)]
    key_of_item = {row.item: key for key, row in zip(content_keys, rows, strict=True)}
    answers = _fetch_criterion_answers(connection, run, key_of_item)
    answered = {key for answer_by_key in answers.values() for key in answer_by_key}
    # The journals are read only if there is a sample.
    first_draw = min((sample.queue.created for sample in samples), default="")
    known_before = {
        key
        for key, row in zip(content_keys, rows, strict=True)
        if samples
        and (row.human is not None or key in answered)
        and _is_known_before(reviews.events, row, first_draw)
    }
    decisions: dict[ContentKey, SampleOutcome] = {
        key: "in disagreement" if row.decided_by == DISPUTED else "decided"
        for key, row in zip(content_keys, rows, strict=True)
        if row.human is not None or row.decided_by == DISPUTED
    }
    queues = [queue for sample in samples for queue in (sample.queue, *sample.extensions)]
    outcomes = find_outcomes_of_reached_items(queues, reviews.events, decisions)
    # An incident is no answer, so it says nothing about other items, even if it was drawn before it
    # was marked.
    incidents = {key for key, row in zip(content_keys, rows, strict=True) if row.is_incident}
    drawn = set().union(*(sample.content_keys for sample in samples)) - incidents
    representative = (drawn & outcomes.keys()) - known_before
    items = []
    for key, row in zip(content_keys, rows, strict=True):
        containing = [sample for sample in samples if key in sample.frame.strata]
        stratum = tuple(sample.frame.strata.get(key) for sample in samples) if containing else None
        probability = 1 - prod(
            1 - sample.compute_inclusion_probability(key, row.automatic) for sample in containing
        )
        is_reviewed = row.human is not None or key in answered
        items.append(
            ItemStatus(
                category=row.category,
                automatic=row.automatic,
                human=row.human,
                stratum=stratum,
                inclusion_probability=probability,
                is_random=row.human is not None and key in representative,
                is_known_before_sample=key in known_before,
                is_sample_reviewed=key in drawn and is_reviewed,
                sample_outcome=outcomes.get(key, "not reviewed") if key in drawn else None,
                cluster=_find_cluster(key, samples if row.is_incident else containing),
                is_incident=row.is_incident,
            )
        )
    criterion_answers = []
    for criterion, answer_by_key in sorted(answers.items()):
        criterion_answers.append(
            CriterionAnswers(
                criterion,
                human=[answer_by_key.get(key) for key in content_keys],
                is_reviewed=[key in answer_by_key for key in content_keys],
                is_random=[
                    answer_by_key.get(key) is not None and key in representative
                    for key in content_keys
                ],
            )
        )
    return RunSampleStatus(
        items,
        content_keys=content_keys,
        samples=samples,
        problems=problems,
        criterion_answers=criterion_answers,
    )


def _find_cluster(content_key: ContentKey, samples: Sequence[QueueSample]) -> str | None:
    """Return the group with which the samples draw the item, or None if one of them draws single
    items.
    """
    clusters = {sample.frame.clusters.get(content_key) for sample in samples}
    return clusters.pop() if len(clusters) == 1 else None


def _is_known_before(events: EventIndex, item: _RunItem, time: str) -> bool:
    """Return whether an annotator had given a verdict on the item or its parts before a time.

    A verdict that was changed later counts as well. Otherwise, a second review as part of the
    sample would decide whether the item belongs to the known items.
    """
    key = ItemKey(*item[:6])
    verdicts = events.list_current_verdict_events(key, item.prediction_hash, item.golden_hash)
    return any(event.time[:_SECONDS] < time[:_SECONDS] for event in verdicts)


def _fetch_criterion_answers(
    connection: Connection, run: int, key_of_item: Mapping[int, ContentKey]
) -> dict[str, dict[ContentKey, Any]]:
    answers: dict[str, dict[ContentKey, Any]] = {}
    for item, criterion, text in connection.execute(_CRITERION_ANSWERS, [run]).fetchall():
        answers.setdefault(criterion, {})[key_of_item[item]] = parse_json(text)
    return answers


_SECONDS = len("2026-01-31T12:00:00")


def find_outcomes_of_reached_items(
    queues: Sequence[QueueFile], events: EventIndex, decisions: Mapping[ContentKey, SampleOutcome]
) -> dict[ContentKey, SampleOutcome]:
    """Return the outcome of each item that annotators have reached in these queues. `decisions` has
    the outcomes of items that are decided or disputed.
    """
    outcomes: dict[ContentKey, SampleOutcome] = {}
    for queue in queues:
        keys = list_content_keys(queue)
        verdicts = [
            events.list_current_verdict_events(item.key, item.prediction_hash, item.golden_hash)
            for item in queue.items
        ]
        for at in _find_reached_positions(queue, verdicts):
            is_unsure = any(not is_definite(each.verdict) for each in verdicts[at])
            outcomes[keys[at]] = decisions.get(keys[at], "unsure" if is_unsure else "skipped")
    return outcomes


def _find_reached_positions(
    queue: QueueFile, verdicts_by_position: Sequence[Sequence[Event]]
) -> set[int]:
    if all(verdicts_by_position):
        return set(range(len(queue.items)))
    owners = {share.annotator for share in queue.shares}
    reached: set[int] = set()
    for share in queue.shares:
        last = 0
        for position, at in enumerate(share.order, 1):
            is_reviewed = any(
                (each.queue == queue.name or each.time[:_SECONDS] >= queue.created[:_SECONDS])
                and (each.annotator == share.annotator or each.annotator not in owners)
                for each in verdicts_by_position[at]
            )
            if is_reviewed and position - 1 not in share.repeats:
                last = position
        reached.update(share.order[:last])
    return reached
