"""Define the arguments and results of store queries, and the item numbers that identify hidden
duplicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fcreview.model.wording import (
    NO_ANSWERS,
    NO_VALUE,
    format_count,
    format_judge_rate,
    format_official_rate,
)
from fcreview.store.review_sql import (
    DECIDED_MARK,
    EFFECTIVE_VERDICT,
    OWN_MARK,
    incident_certainty_sql,
    incident_kind_sql,
    is_incident_sql,
)

if TYPE_CHECKING:
    from fcreview.model.golden_fix import GoldenFixDecision
    from fcreview.model.item import Item, Run
    from fcreview.model.review import Event, ItemKey, Opinion
    from fcreview.store.judgements import ItemJudgement

ITEM_NUMBERS_PER_RUN = 1 << 32
"""The number of an item (`items.item`) is the number of its run times this number, plus its position
in the run.
"""
# Marks a hidden duplicate. Higher than every bit of `items.item`.
_DUPLICATE_BIT = 1 << 62


def make_item_number(run: int, position: int) -> int:
    return run * ITEM_NUMBERS_PER_RUN + position


def get_run_number(item: int) -> int:
    """Return the run of an item, by its number in the database."""
    return item // ITEM_NUMBERS_PER_RUN


def to_item_number(item: int, *, is_duplicate: bool) -> int:
    """Return the number that stands for an item or for its hidden duplicate in lists, screens and
    reviews. The number of an item is its number in the database (`items.item`).
    """
    return item | _DUPLICATE_BIT if is_duplicate else item


def strip_duplicate_mark(item_number: int) -> int:
    """Return the number in the database (`items.item`) of an item or hidden duplicate."""
    return item_number & ~_DUPLICATE_BIT


def is_hidden_duplicate(item_number: int) -> bool:
    return bool(item_number & _DUPLICATE_BIT)


FIRST_PRESENTATION = 1
SECOND_PRESENTATION = 2
"""Values of `fcreview.model.review.Event.presentation`. A hidden duplicate shows an item for the
second time. An event without a value is about the first presentation.
"""


ITEM_COLUMNS = (
    "id",
    "category",
    "group",
    "question",
    "official",
    "rule",
    "judge",
    "error_type",
    "rule_error_type",
    "rule_note",
    "n_turns",
    "n_steps",
    "tokens_in",
    "tokens_out",
    "latency",
    "seconds",
    "setting",
    "diff_function",
    "diff_argument",
    "first_difference",
    "diff_golden",
    "diff_predicted",
    "decisive_step",
    "ended",
    "incident",
    "incident_text",
    "incident_where",
    "incident_certainty",
    "flags",
    "prediction_hash",
    "golden_hash",
    "file",
    "line",
    "offset",
    "length",
    "task_sections",
)
BUILTIN_QUEUES = (
    "failures",
    "dataset",
    "disagreement",
    "unreviewed",
    "judged",
    "uncertain",
    "suspects",
    "stratified",
    "random",
)
"""Names of the built-in queues. Every other name is the name of a queue file.

All queues except `PARTIAL_QUEUES` contain every item, in this order (ties keep dataset order):

* `failures`: failing items first
* `disagreement`: items whose official verdict differs from the recomputed or judge verdict first
* `unreviewed`: items that this annotator has not reviewed first
* `random`: shuffled by the seed, incidents last
* `stratified`: shuffled by the seed, one item of each category in turn, incidents last

The partial queues contain:

* `judged`: items with a judge verdict
* `uncertain`: near misses, see `store.filters.search_sql.NEAR_MISS`
* `suspects`: one item for each question whose golden answer looks wrong, see
  `store.queries.golden_audit`
"""
SUSPECTS_QUEUE = "suspects"
# built-in queues that contain only some of the items
PARTIAL_QUEUES = (
    "judged",
    "uncertain",
    SUSPECTS_QUEUE,
)
# not available in blind mode
VERDICT_QUEUES = (
    "failures",
    "disagreement",
    "judged",
    "uncertain",
    SUSPECTS_QUEUE,
)


@dataclass(frozen=True, slots=True)
class View:
    where: str = ""  # filter text (see `store.filters.parser`); empty for all items
    queue: str = "failures"  # name of a built-in queue or of a queue file
    seed: int = 0  # random seed of the queues `random` and `stratified`
    runs: tuple[
        int, ...
    ] = ()  # numbers of the runs (`runs.run`); empty for all runs of the workspace
    # for a queue file: show only the annotator's share, in its order and with hidden duplicates
    share: bool = False
    items: tuple[
        int, ...
    ] = ()  # items (`items.item`) that the view is limited to; empty for no limit

    @property
    def runs_key(self) -> str:
        """The run numbers in ascending order as text, such as `1,2,5`; empty for all runs."""
        return ",".join(str(int(run)) for run in sorted(self.runs))

    @property
    def queue_file(self) -> str | None:
        """Name of the queue file; None for a built-in queue."""
        return None if self.queue in BUILTIN_QUEUES else self.queue


def column_metadata(
    sql: str, *, shows_verdict: bool = False, is_json: bool = False, blind_sql: str = ""
) -> dict[str, Any]:
    """Return the metadata of a `QueueRow` field. `sql` is an expression over `item_rows i LEFT JOIN
    human h`.

    `shows_verdict`: the value is None for a blind annotator who has not reviewed the item.
    `is_json`: the expression returns JSON text. `blind_sql`: expression in blind mode, if it must
    not depend on the reviews of other annotators.
    """
    return {
        "sql": sql,
        "shows_verdict": shows_verdict,
        "is_json": is_json,
        "blind_sql": blind_sql or sql,
    }


def _incident_metadata(build_sql: Callable[[str], str]) -> dict[str, Any]:
    """Return the metadata of a field that depends on whether an item counts as an incident.

    `build_sql` takes the column with the reviewers' decision on that. In blind mode, the column has
    only this annotator's decision.
    """
    return column_metadata(build_sql(DECIDED_MARK), blind_sql=build_sql(OWN_MARK))


@dataclass(slots=True, kw_only=True)
class QueueRow:
    """One row of a queue, without long texts.

    The store reads every field, and `items --json` prints it.
    """

    item: int = field(metadata=column_metadata("i.item"))
    """Item number (see `to_item_number`). The next import can change it, so do not save it."""
    run: int = field(metadata=column_metadata("i.run"))
    seq: int = field(metadata=column_metadata("i.seq"))  # position of the item in its run, from 0
    id: str = field(metadata=column_metadata("i.id"))
    category: str = field(metadata=column_metadata("i.category"))
    # name of the conversation
    group: str | None = field(default=None, metadata=column_metadata('i."group"'))
    model: str = ""
    run_name: str = ""
    """Name of the run: the model and, if it has several runs, what distinguishes them, such as
    `synth-good · zh`.
    """
    official: bool | None = field(
        default=None, metadata=column_metadata("i.official", shows_verdict=True)
    )
    rule: bool | None = field(default=None, metadata=column_metadata("i.rule", shows_verdict=True))
    judge: bool | None = field(
        default=None, metadata=column_metadata("i.judge", shows_verdict=True)
    )
    you: Any = field(default=None, metadata=column_metadata("h.you", is_json=True))
    """This annotator's verdict on the item, or None."""
    your_bulk: bool = field(default=False, metadata=column_metadata("coalesce(h.your_bulk, false)"))
    human: Any = field(
        default=None, metadata=column_metadata("h.human", shows_verdict=True, is_json=True)
    )
    """Human verdict: the joint verdict of all annotators, "disputed", or None without reviews."""
    parts: int = field(default=0, metadata=column_metadata("coalesce(h.n_parts, 0)"))
    """Number of parts and additional criteria that annotators reviewed. A blind annotator who has
    not reviewed the item gets the value of `your_parts`.
    """
    your_parts: int = field(default=0, metadata=column_metadata("coalesce(h.your_parts, 0)"))
    effective: bool | None = field(
        default=None, metadata=column_metadata(EFFECTIVE_VERDICT, shows_verdict=True)
    )
    golden_status: str | None = field(
        default=None, metadata=column_metadata("h.golden_status", shows_verdict=True)
    )
    """What annotators decided about the golden answer: `accepted`, `proposed`, `disputed` or
    `rejected`. None without a golden fix.
    """
    golden_verdict: bool | None = field(
        default=None, metadata=column_metadata("h.golden_verdict", shows_verdict=True)
    )
    """Recomputed verdict with the golden answer that annotators accepted, if it differs from
    `rule`.
    """
    error_type: str | None = field(
        default=None, metadata=column_metadata("i.error_type", shows_verdict=True)
    )
    rule_error_type: str | None = field(
        default=None, metadata=column_metadata("i.rule_error_type", shows_verdict=True)
    )
    n_golden: int = field(default=0, metadata=column_metadata("i.n_golden"))
    n_predicted: int = field(default=0, metadata=column_metadata("i.n_predicted"))
    n_issues: int = field(default=0, metadata=column_metadata("i.n_issues"))
    """Number of import issues. 0 for a blind annotator before the review, because an issue can
    reveal a failure.
    """
    stale: bool = field(default=False, metadata=column_metadata("coalesce(h.your_stale, false)"))
    """Whether the prediction or the golden answer changed after this annotator's review."""
    first_difference: str | None = field(
        default=None, metadata=column_metadata("i.first_difference", shows_verdict=True)
    )
    """For an incident, the sentence that says so, because the text of a failure is no answer."""
    diff_function: str | None = field(
        default=None, metadata=column_metadata("i.diff_function", shows_verdict=True)
    )
    diff_argument: str | None = field(
        default=None, metadata=column_metadata("i.diff_argument", shows_verdict=True)
    )
    """Argument path of the first difference; None if the call as a whole differs."""
    diff_golden: str | None = field(
        default=None, metadata=column_metadata("i.diff_golden", shows_verdict=True)
    )
    diff_predicted: str | None = field(
        default=None, metadata=column_metadata("i.diff_predicted", shows_verdict=True)
    )
    ended: str | None = field(default=None, metadata=column_metadata("i.ended", shows_verdict=True))
    """How the conversation ended, such as `max_steps`; None if the format does not record it."""
    question: str = field(default="", metadata=column_metadata("i.question"))
    incident: str | None = field(default=None, metadata=_incident_metadata(incident_kind_sql))
    """Why the model's answer is missing or cut (`fcreview.model.incident`), after reviews of the
    mark. Also `limit` and weak marks, which count only if `is_incident`.
    """
    incident_text: str | None = field(default=None, metadata=column_metadata("i.incident_text"))
    incident_where: str | None = field(default=None, metadata=column_metadata("i.incident_where"))
    incident_certainty: str | None = field(
        default=None, metadata=_incident_metadata(incident_certainty_sql)
    )
    is_incident: bool = field(default=False, metadata=_incident_metadata(is_incident_sql))
    """Whether figures without incidents leave the item out."""
    flags: list[str] | None = field(
        default=None, metadata=column_metadata("i.flags", shows_verdict=True)
    )
    """`ItemFlag`s.

    A blind annotator does not see them, because only failing items have entries in some score
    files.
    """

    @property
    def recomputed(self) -> bool | None:
        """Recomputed verdict with the golden answer that counts."""
        return self.rule if self.golden_verdict is None else self.golden_verdict

    @property
    def is_own_verdict_contradicted(self) -> bool:
        """Whether the human verdict is the opposite of this annotator's verdict, for example
        after adjudication.
        """
        return (
            isinstance(self.you, bool) and isinstance(self.human, bool) and self.you != self.human
        )


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The reasons for which the golden answer of an item is suspect."""

    score: float
    """Probability, from 0 to 1, that at least one of the reasons is right."""
    is_strong: bool
    summary: str
    """Short text with the strongest reasons, without function names."""
    reasons: tuple[str, ...]
    """All reasons, strongest first, and then an answer that may be the right one."""
    question: int = 0
    """Number that suspicions share if they are about the same question and golden answer, for
    example in two versions of a benchmark.
    """

    @property
    def title(self) -> str:
        """Kind of error according to the strongest reason, such as `wrong type`."""
        return self.summary.partition(":")[0]


@dataclass(frozen=True, slots=True)
class SuspectQuestions:
    """Numbers of different questions whose golden answers look wrong."""

    all: int
    strong: int


@dataclass(frozen=True, slots=True)
class ColumnWidths:
    """Widths of the longest values in a view, in terminal cells, and which columns have values. In
    blind mode, fields that depend on verdicts keep their defaults.
    """

    item: int = 4
    category: int = 0
    model: int = 0  # width of the run name; 0 if all rows are of one model
    run_names: tuple[str, ...] = ()  # names of the runs, if there are several
    error: int = 0
    id_repeats_category: bool = False  # whether every item id begins with its category
    # verdict columns with the same value in all of several rows
    constant: frozenset[str] = frozenset()
    has_rule: bool = False  # whether an item has a recomputed verdict
    has_judge: bool = False
    has_difference: bool = False  # whether an item has a first difference
    has_score: bool = False  # whether the rows are suspects, which have a score


MIN_FINISHED_SHARE = 0.95
"""Share of the expected items, from 0 to 1, below which a run is unfinished and does not rank
before others.
"""

IMPORT_COUNTS = (
    "official_pass",
    "official_known",
    "rule_known",
    "judge_pass",
    "judge_known",
    "stated_pass",
    "stated_of",
    "incidents",
    "official_pass_without_incidents",
    "official_known_without_incidents",
)
"""Counts of `RunRow` that `fcreview import --json` prints for each run."""


@dataclass(slots=True)
class RunRow:
    """A run with its numbers of items. A pass rate is `*_pass` divided by `*_known`."""

    run: int
    info: Run
    run_name: str
    """Unique name of the run in its workspace: the model and, if it has several runs, what
    distinguishes them.
    """
    n_items: int
    official_pass: int
    official_known: int  # number of items with an official verdict
    rule_pass: int
    rule_known: int  # number of items with a recomputed verdict
    effective_pass: int
    effective_known: int  # number of items with an effective verdict
    reviewed: int  # Number of items with a verdict by any annotator. Stale reviews do not count.
    n_issues: int  # number of import issues of the run
    # Number of items on which annotators disagree. These items count with their automatic verdicts.
    disputed: int = 0
    categories: list[dict[str, Any]] = field(default_factory=list)
    """One object for each category: {category, n (number of items), counts `*_pass` and `*_known`,
    the same counts `*_without_incidents`, incidents, not_run}.
    """
    in_part: int = 0  # number of items with verdicts by annotators on parts only
    # Number of items whose effective verdict follows from an accepted golden fix.
    by_erratum: int = 0
    yours: int = 0  # number of items with a verdict by this annotator
    stated_pass: int = 0
    """Number of passing items according to the headers of score files, in categories without result
    files. The other counts do not include these categories.
    """
    # number of items according to the headers of score files, in categories without result files
    stated_of: int = 0
    # Number of import issues of the workspace that belong to no run. It is equal in all rows.
    n_search_issues: int = 0
    n_notices: int = 0  # Number of `n_issues` that are harmless notices.
    n_search_notices: int = 0  # Number of `n_search_issues` that are harmless notices.
    judge_pass: int = 0
    judge_known: int = 0  # number of items with a judge verdict
    incidents: int = 0
    """Number of items without an answer for a reason outside the question.

    The counts above include them.
    """
    official_pass_without_incidents: int = 0
    official_known_without_incidents: int = 0
    rule_pass_without_incidents: int = 0
    rule_known_without_incidents: int = 0
    effective_pass_without_incidents: int = 0
    effective_known_without_incidents: int = 0
    judge_pass_without_incidents: int = 0
    judge_known_without_incidents: int = 0
    not_run: int = 0  # number of items of the dataset without a result
    expected_items: int | None = None
    """Number of items of the dataset in the run's categories; None if it is unknown."""

    @property
    def n_answered(self) -> int:
        """Number of items that are no incidents."""
        return self.n_items - self.incidents

    @property
    def is_unfinished(self) -> bool:
        """Whether so many items are missing that the rate says little about the whole dataset."""
        expected = self.expected_items
        return expected is not None and self.n_items < MIN_FINISHED_SHARE * expected

    @property
    def rate_without_incidents(self) -> float | None:
        """Pass rate (0 to 1) of the items that are no incidents, by the first source with verdicts:
        the benchmark, the recomputed verdicts, or the judge. None without verdicts.
        """
        for source in ("official", "rule", "judge"):
            n_without_incidents = getattr(self, f"{source}_known_without_incidents")
            if n_without_incidents:
                n_passing = getattr(self, f"{source}_pass_without_incidents")
                return float(n_passing / n_without_incidents)
            has_verdicts = bool(getattr(self, f"{source}_known"))
            if has_verdicts:
                # All items with a verdict are incidents.
                return None
        return None

    @property
    def without_incidents_text(self) -> str:
        """The rate without incidents and the number of its items: `46.9 % (211)`; `no item has an
        answer` if all items are incidents. Empty without incidents.
        """
        if not self.incidents:
            return ""
        if not self.n_answered:
            return NO_ANSWERS
        rate = self.rate_without_incidents
        return NO_VALUE if rate is None else f"{100 * rate:.1f} % ({self.n_answered:,})"

    @property
    def items_text(self) -> str:
        """Number of items as text: `400`, or `3 of 400` if items of the dataset have no result."""
        if self.not_run and self.expected_items is not None:
            return f"{self.n_items:,} of {self.expected_items:,}"
        return f"{self.n_items:,}"

    @property
    def has_only_judge_verdicts(self) -> bool:
        """Whether the run has judge verdicts, but no official and no recomputed verdicts."""
        return bool(self.judge_known) and not self.official_known and not self.rule_known

    @property
    def official_rate_text(self) -> str:
        """Official pass rate as text: `71.3 %`, or `83.0 % judge` for a run with judge verdicts
        only.
        """
        if self.has_only_judge_verdicts and not self.stated_of:
            return format_judge_rate(self.judge_pass, self.judge_known, self.n_items)
        stated = {"stated_pass": self.stated_pass, "stated_of": self.stated_of}
        return format_official_rate(self.official_pass, self.official_known, self.n_items, **stated)


@dataclass(frozen=True, slots=True)
class ImportChanges:
    """Numbers of items that an import added, changed (in prediction or golden answer) and
    removed.
    """

    new: int = 0
    changed: int = 0
    gone: int = 0

    @property
    def summary(self) -> str:
        """The numbers as text, such as `3 new items, 1 changed`. Empty if no item changed."""
        parts: list[str] = []
        for kind, count in (("new", self.new), ("changed", self.changed), ("removed", self.gone)):
            if count:
                parts.append(f"{count:,} {kind}" if parts else format_count(count, f"{kind} item"))
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class ItemMatch:
    item: int  # the item in the preferred run, else in the first run that has the id
    id: str
    category: str
    n_runs: int  # number of runs that have the id


@dataclass(frozen=True, slots=True)
class Sibling:
    item: int
    id: str
    mark: (
        Any  # this annotator's verdict, else (not in blind mode) the official or recomputed verdict
    )


@dataclass(slots=True)
class ItemDetail:
    """The complete content of one item. `fcreview show --json` prints these fields."""

    row: QueueRow
    key: ItemKey
    run: Run
    item: Item
    # one opinion for each annotator, target and criterion
    opinions: list[Opinion] = field(default_factory=list)
    history: list[Event] = field(default_factory=list)  # all actions of annotators on the item
    siblings: list[Sibling] = field(default_factory=list)
    """The whole conversation in dataset order; empty for a single item."""
    golden: GoldenFixDecision | None = None
    """What annotators decided about the golden answer of the question. None without a golden fix,
    and in blind review before a verdict.
    """
    judgements: list[ItemJudgement] = field(default_factory=list)
    """Verdicts of judges that `fcreview judge` asked. Empty until the annotator has reviewed the
    item, unless `Store.open` got `shows_judges`.
    """
    presentation: int | None = None  # 2 for a hidden duplicate, else None; see `Event.presentation`
    corrected_item: Item | None = None
    """The item, compared with the golden answer that annotators accepted. None without one, or if
    the comparison is not possible. Reviews and exports use `item`.
    """

    @property
    def displayed_item(self) -> Item:
        """The item as screens show it."""
        return self.corrected_item or self.item


@dataclass(slots=True)
class ImportSummary:
    runs: list[dict[str, Any]] = field(default_factory=list)
    """One object for each run: run, run_name, benchmark, generation, language, model, path, items,
    status, seconds, dataset, missing_dataset, missing_scores and issues.

    `status` is `imported`, `unchanged`, `failed` (the items of the last import are kept), `kept`
    (the dataset or the scores are missing, and the last import is kept) or `outdated` (like `kept`,
    but result files have changed). `missing_dataset` is the folder that a user named for the
    dataset, if the dataset is no longer in this folder; else null. `missing_scores` is the folder
    of --score, if the scores are no longer in it; else null.
    """
    # file, line, what, raw, item, severity
    issues: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    rebuild_reason: str = (
        ""  # why the import replaced an existing store with a new one; empty if it did not
    )
    # number of runs that were imported again because the version of their importer has changed
    n_upgraded: int = 0

    @property
    def n_items(self) -> int:
        return sum(run["items"] for run in self.runs)


FROM_WHOLE_ITEMS = "FROM item_rows i LEFT JOIN questions q ON q.hash = i.question_hash"
ALL_MESSAGES = "list_concat(q.messages, i.messages)"
ALL_CALLS = "list_concat(q.calls, i.calls)"
"""SQL over `FROM_WHOLE_ITEMS` for all messages and all calls of an item, first those that belong
to its question.
"""
