"""What queries answer with, and what they are asked with.

An item that comes to an annotator a second time has a number of its own, so that every list, screen and review can
tell the two apart. Here that number is made and read, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fcreview.model.wording import official_rate
from fcreview.store.reviews.verdict_sql import EFFECTIVE_VERDICT

if TYPE_CHECKING:
    from fcreview.model.item import Item, Run
    from fcreview.model.review import Event, ItemKey, Opinion


_AGAIN = 1 << 62
"""Far above all numbers of items (run * 2^32 + seq)."""


def presented(item: int, presentation: int) -> int:
    """The number of an item that is shown for the first (1) or second (2) time."""
    return item | _AGAIN if presentation > 1 else item


def item_of(number: int) -> int:
    """The item itself, `items.item`."""
    return number & ~_AGAIN


def presentation_of(number: int) -> int:
    return 2 if number & _AGAIN else 1


QUEUES = (
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
"""Queues that are always there; every other name is that of a queue file. All but `CHOOSING` hold all items, in an
order. `failures`: failing items first; `disagreement`: official and rule or judge differ first; `unreviewed`: not yet
judged by this annotator first; `random`: shuffled by the seed; `stratified`: the same, of every category in turn.
`judged`: items of which a judge says something; `uncertain`: near misses, see `filters.judged`; `suspects`: of every
question whose golden answer looks wrong one item, see `suspects.places`. Ties keep dataset order."""
SUSPECTS = "suspects"
CHOOSING = ("judged", "uncertain", SUSPECTS)
TELLING = ("failures", "disagreement", "judged", "uncertain", SUSPECTS)
"""Those that say something of verdicts: not to be had in blind mode."""


@dataclass(frozen=True, slots=True)
class View:
    """Which items, in which order."""

    where: str = ""
    """A filter in the filter language (see `filters.language`); empty for all."""
    queue: str = "failures"
    seed: int = 0
    runs: tuple[int, ...] = ()
    """Only these runs (`runs.run`); empty for all of the workspace."""
    share: bool = False
    """Of a queue file the annotator's own share, in its order, with what comes twice; else all of its items, in
    dataset order."""
    items: tuple[int, ...] = ()
    """Only these (`items.item`), whatever else is asked of them; empty for all."""

    @property
    def scope(self) -> str:
        """Its runs as text: `1,2,5`; empty for all."""
        return ",".join(str(int(run)) for run in sorted(self.runs))

    @property
    def file(self) -> str | None:
        """The name of the queue file, if it is one."""
        return None if self.queue in QUEUES else self.queue


def column(sql: str, *, telling: bool = False, json: bool = False) -> dict[str, Any]:
    """Where a field of `QueueRow` comes from: SQL over `item_rows i LEFT JOIN human h`. `telling`: it says what others
    found, so a blind annotator who has not decided gets None. `json`: the column holds JSON text."""
    return {"sql": sql, "telling": telling, "json": json}


@dataclass(slots=True, kw_only=True)
class QueueRow:
    """One line of the queue: small columns only. The one list of them: a field added here is read from the store and
    stands in `items --json`."""

    item: int = field(metadata=column("i.item"))
    """Row key in the store, `items.item`; of an item that comes a second time the number that
    `store.queues.presentations` makes of it. Changes with a re-import: never kept outside a session."""
    run: int = field(metadata=column("i.run"))
    seq: int = field(metadata=column("i.seq"))
    id: str = field(metadata=column("i.id"))
    category: str = field(metadata=column("i.category"))
    group: str | None = field(default=None, metadata=column('i."group"'))
    model: str = ""
    """Of the run."""
    run_name: str = ""
    """The model with what tells the run from others of that model, for lists: `synth-good zh`."""
    official: bool | None = field(default=None, metadata=column("i.official", telling=True))
    rule: bool | None = field(default=None, metadata=column("i.rule", telling=True))
    judge: bool | None = field(default=None, metadata=column("i.judge", telling=True))
    you: Any = field(default=None, metadata=column("h.you", json=True))
    """This annotator's verdict on item/correct: true, false, "unsure" or None."""
    human: Any = field(default=None, metadata=column("h.human", telling=True, json=True))
    """All annotators: true, false, "unsure", "disputed" or None."""
    parts: int = field(default=0, metadata=column("coalesce(h.n_parts, 0)"))
    """Of its parts and other criteria those that somebody judged; to a blind annotator who has not decided, those that
    they judged."""
    your_parts: int = field(default=0, metadata=column("coalesce(h.your_parts, 0)"))
    effective: bool | None = field(default=None, metadata=column(EFFECTIVE_VERDICT, telling=True))
    error_type: str | None = field(default=None, metadata=column("i.error_type", telling=True))
    rule_error_type: str | None = field(default=None, metadata=column("i.rule_error_type", telling=True))
    n_golden: int = field(default=0, metadata=column("i.n_golden"))
    n_predicted: int = field(default=0, metadata=column("i.n_predicted"))
    n_issues: int = field(default=0, metadata=column("i.n_issues"))
    """Import issues; 0 while hidden from a blind annotator: one on a score file's entry tells that the item failed."""
    stale: bool = field(default=False, metadata=column("coalesce(h.your_stale, false)"))
    """This annotator reviewed an earlier prediction or golden answer."""
    first_difference: str | None = field(default=None, metadata=column("i.first_difference", telling=True))
    question: str = field(default="", metadata=column("i.question"))


@dataclass(frozen=True, slots=True)
class Extent:
    """What the rows of a view need, in cells of the longest, and what none of them has. In blind mode nothing of
    verdicts."""

    item: int = 4
    category: int = 0
    model: int = 0
    """0 where all are of one model."""
    error: int = 0
    repeats: bool = False
    """Every id begins with its category."""
    same_error: bool = False
    rule: bool = False
    judge: bool = False
    difference: bool = False
    """Some item has a first difference."""


@dataclass(slots=True)
class RunRow:
    """A run with its counts. Rates are computed by the reader: passes / known."""

    run: int
    info: Run
    n_items: int
    official_pass: int
    official_known: int
    rule_pass: int
    rule_known: int
    effective_pass: int
    effective_known: int
    reviewed: int
    """Items with a current human verdict of any annotator."""
    n_issues: int
    categories: list[dict[str, Any]] = field(default_factory=list)
    """One a category: {category, n} and pass and known counts by official, rule and effective, named as above."""
    in_part: int = 0
    """Items of which only parts have a current verdict of any annotator."""
    yours: int = 0
    """Items with a current verdict of the annotator who asks."""
    stated_pass: int = 0
    stated_of: int = 0
    """What the headers of score files say of categories whose results are missing; these have no official verdicts
    counted."""

    @property
    def official_rate(self) -> str:
        """For people: `71.3 %`, or what the score files say."""
        stated = {"stated_pass": self.stated_pass, "stated_of": self.stated_of}
        return official_rate(self.official_pass, self.official_known, self.n_items, **stated)


@dataclass(frozen=True, slots=True)
class News:
    """Items that an import brought, brought anew with another prediction or golden answer, or did not bring again."""

    new: int = 0
    changed: int = 0
    gone: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """An id that was looked for by parts of it."""

    item: int
    """Its item in the run that was preferred, else in the first that has it."""
    id: str
    category: str
    runs: int
    """That have it."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """An item of the same conversation."""

    item: int
    id: str
    mark: Any
    """This annotator's verdict, else official, else rule; a blind annotator sees only their own."""


@dataclass(slots=True)
class ItemDetail:
    """Everything the item screen shows."""

    row: QueueRow
    key: ItemKey
    run: Run
    item: Item
    opinions: list[Opinion] = field(default_factory=list)
    history: list[Event] = field(default_factory=list)
    siblings: list[Sibling] = field(default_factory=list)
    """The items of its group, itself among them, in the order of the dataset; empty without a group."""
    presentation: int | None = None
    """2 for the second showing of an item, else None; see `Event.presentation`."""


@dataclass(slots=True)
class ImportSummary:
    """What an import did.

    `runs` has one dict a run: {run, benchmark, generation, language, model, path, items, status, seconds, dataset,
    missing_dataset, issues}. Status is `imported`, `unchanged`, `failed` (items of an import before stay), or where
    the dataset is lost `kept` (the import before counts) and `outdated` (the same, though the results have changed).
    `missing_dataset` is a folder that was named for the run, or that it was imported with, and that is not there; or
    null.
    """

    runs: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    """{file, line, what, raw, item, severity}"""
    seconds: float = 0.0

    @property
    def n_items(self) -> int:
        return sum(run["items"] for run in self.runs)
