"""State of the queue: the order, run and filters that are set, the levels above, and what is kept between sessions.

Kept per annotator in the workspace, as JSON:

* `history`: {"filter": [text], "search": [text]}, the latest text last.
* `positions`: {"scope": [run], "blind": bool, "levels": [{where, search, queue, seed, run, items, item, line, via}]};
  the last level is the queue as the annotator left it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fcreview.matching.clusters import Cluster
from fcreview.store.filters import saved
from fcreview.store.filters.build import FAILING_FILTER, add_terms
from fcreview.store.filters.parser import FilterCondition, FilterError, parse_filter, quote
from fcreview.store.filters.tokens import MAX_FILTER_LENGTH
from fcreview.store.rows import BUILTIN_QUEUES, VERDICT_QUEUES, View
from fcreview.store.workspace import AnnotatorState

HISTORY_FOLDER = "history"
HISTORY_KINDS = ("filter", "search")
MAX_HISTORY = 100
"""Texts kept of each kind."""


class FilterHistory:
    """Filters and searches that an annotator entered or saved in a workspace. A blind annotator does not see filters
    that would reveal verdicts."""

    def __init__(self, own: AnnotatorState, *, blind: bool = False) -> None:
        self._own = own
        self.blind = blind
        self._texts: dict[str, list[str]] | None = None

    def texts(self, kind: str) -> list[str]:
        """Texts of a kind (`filter` or `search`), the latest last."""
        texts = self._read().get(kind, [])
        if not self.blind or kind != "filter":
            return list(texts)
        return [
            text
            for text in texts
            if not (saved.find_filter_problem(text, blind=True) and not saved.find_filter_problem(text))
        ]

    def remember(self, kind: str, text: str) -> None:
        texts = self._read().setdefault(kind, [])
        texts[:] = [*(each for each in texts if each != text), text][-MAX_HISTORY:]
        self._own.try_write(HISTORY_FOLDER, dict(self._read()))

    def _read(self) -> dict[str, list[str]]:
        if self._texts is None:
            found = self._own.read(HISTORY_FOLDER)
            self._texts = {kind: _valid_texts(found.get(kind)) for kind in HISTORY_KINDS}
        return self._texts

    # -- saved filters

    @property
    def saved_filters(self) -> dict[str, str]:
        return saved.load_saved_filters(self._own)

    @property
    def usable_filters(self) -> dict[str, str]:
        return {name: text for name, text in self.saved_filters.items() if not self.find_problem(text)}

    def find_problem(self, text: str) -> str:
        """Why the filter cannot be used here; empty if it can."""
        return saved.find_filter_problem(text, blind=self.blind)

    def expand(self, text: str) -> str:
        """Replace each `@name` by its filter. Raises: FilterError with the position of an error."""
        return saved.expand_saved_filters(text, self.saved_filters, blind=self.blind)

    def save_filter(self, name: str, text: str) -> None:
        """Raises: SavedError or FilterError if the name or the filter is not accepted."""
        saved.save_filter(self._own, name, text)

    def delete_filter(self, name: str) -> bool:
        """Delete a saved filter; False if there is none. Raises: SavedError if it cannot be deleted."""
        return saved.delete_filter(self._own, name)


def _valid_texts(found: object) -> list[str]:
    """The valid texts of a file that may have been edited by hand."""
    if not isinstance(found, list):
        return []
    return [text for text in found if isinstance(text, str) and 0 < len(text) <= MAX_FILTER_LENGTH][-MAX_HISTORY:]


ORDER_DESCRIPTIONS = {
    "failures": "failing items first",
    "dataset": "order of the benchmark's files",
    "disagreement": "items first whose recomputed or judge verdict differs from the official one",
    "unreviewed": "items first that you have not reviewed",
    "random": "random (select again to reshuffle)",
    "stratified": "random, one item of each category in turn",
    "judged": "only items with a judge verdict",
    "uncertain": "only near misses: one argument differs, or the score is in the middle",
    "suspects": "only golden answers that look wrong, the most suspect first",
}
SHUFFLED = ("random", "stratified")
SHARE_ORDER = "items of the queue file assigned to you, in its order"
ALL_RUNS = -1
"""Value of the row for all runs in a list of runs."""


def available_orders(blind: bool, file: str | None = None) -> dict[str, str]:
    """Names and descriptions of the available orders. `file` is the opened queue file."""
    shown = {queue: ORDER_DESCRIPTIONS[queue] for queue in BUILTIN_QUEUES if not (blind and queue in VERDICT_QUEUES)}
    return {file: SHARE_ORDER, **shown} if file else shown


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """Settings of one level of the queue; see `QueueState`."""

    where: str = ""
    search: str = ""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    file: str | None = None
    items: tuple[int, ...] = ()


@dataclass(slots=True)
class QueueState:
    where: str = ""
    search: str = ""
    """Text that an item must contain, entered with `/`."""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    blind: bool = False
    scope: tuple[int, ...] = ()
    """Numbers of the opened runs; empty for all runs of the workspace. Clearing the filter keeps it."""
    file: str | None = None
    """Name of the opened queue file."""
    items: tuple[int, ...] = ()
    """Items of a metric that was selected; filters apply within them. Empty for all items."""

    @classmethod
    def from_view(cls, view: View, blind: bool = False) -> QueueState:
        queue = view.queue if view.queue in available_orders(blind, view.queue_file) else "dataset"
        return cls(where=view.where, queue=queue, seed=view.seed, blind=blind, scope=view.runs, file=view.queue_file)

    @property
    def view(self) -> View:
        runs = self.scope if self.run is None else (self.run,)
        return View(self.combined_filter(), self.queue, self.seed, runs, self.queue == self.file, self.items)

    @property
    def settings(self) -> QueueSettings:
        return QueueSettings(self.where, self.search, self.queue, self.seed, self.run, self.file, self.items)

    def restore(self, settings: QueueSettings) -> None:
        """Apply settings. An order that is no longer available, such as an old queue file, is ignored."""
        self.file = settings.file or self.file
        if settings.queue in available_orders(self.blind, self.file):
            self.queue, self.seed = settings.queue, settings.seed
        self.where, self.search, self.run, self.items = settings.where, settings.search, settings.run, settings.items

    @property
    def is_narrowed(self) -> bool:
        """Whether a filter, a search or a selection of items is set."""
        return bool(self.where or self.search or self.items)

    def combined_filter(self) -> str:
        """Filter and search as one filter. A search finds texts and ids."""
        if not self.search:
            return self.where
        searched = f"(text:{quote(self.search)} OR {quote(self.search)})"
        return f"({self.where}) {searched}" if self.where else searched

    def parse_filter(self, where: str) -> FilterCondition:
        """Parse a filter. Raises: FilterError with the position of the error."""
        return parse_filter(where, blind=self.blind)

    def clear(self) -> None:
        self._only("")

    def apply_terms(self, terms: Sequence[str]) -> None:
        """Narrow the filter to the failing items of a cluster."""
        self.where = add_terms(self.where, FAILING_FILTER, *terms)

    def apply_issue(self, where: str) -> None:
        """Select the item of an import issue; `where` is empty for an issue of a file."""
        if where:
            self._only(where)

    def apply_items(self, items: Sequence[int]) -> None:
        """Select these items and drop filter and search."""
        self._only("")
        self.items = tuple(items)

    def apply_filter(self, where: str) -> None:
        """Set this filter and drop search and selection."""
        self._only(where)

    def _only(self, where: str) -> None:
        self.where, self.search, self.items = where, "", ()

    def apply_queue_file(self, name: str) -> None:
        """Select the annotator's share of a queue file."""
        self.file = self.queue = name

    def apply_run(self, run: int) -> None:
        self.run = None if run == ALL_RUNS else run

    def apply_order(self, queue: str) -> None:
        """Set the order. Selecting a random order again reshuffles it."""
        if queue == self.queue and queue in SHUFFLED:
            self.seed += 1
        self.queue = queue


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """Position of the cursor in a view: on the item if the view contains it, else on the line."""

    item: int | None = None
    """Number in the store, which an import may change."""
    line: int = 0
    key: tuple[str, int] | None = None
    """Id and run of the item, by which another session finds it."""


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Clusters of failures for one grouping."""

    clusters: Sequence[Cluster]
    failures: int
    """Failing items of the view, with or without a cluster."""


@dataclass(slots=True)
class ClusterListState:
    """State of the cluster list at one level: grouping, unfolded groups and cursor."""

    grouping: int = 0
    unfolded: set[str] = field(default_factory=set)
    terms: tuple[str, ...] = ()
    """Filter terms of the line under the cursor."""
    counts: dict[int, ClusterCounts] = field(default_factory=dict)
    """The last counts, by the number that `matching.clusters.counted` returns; shown until new ones arrive."""


@dataclass(slots=True)
class ListStates:
    """State of the lists that can be opened at one level."""

    clusters: ClusterListState = field(default_factory=ClusterListState)
    selections: dict[str, Any] = field(default_factory=dict)
    """The last selection, by the name of the list."""


@dataclass(slots=True)
class QueueLevel:
    """A level above the current one, to which `esc` returns."""

    settings: QueueSettings
    cursor: CursorPosition
    opened_from: str = ""
    """Name of the list from which the next level was opened; `esc` opens it again. Empty if a filter was entered."""
    lists: ListStates = field(default_factory=ListStates)


class QueueLevels:
    """Levels above the current one, outermost first. `lists` is the state of the current level's lists."""

    def __init__(self, state: QueueState, above: Sequence[QueueLevel] = ()) -> None:
        self._state = state
        self.above = list(above)
        self.lists = ListStates()

    def push(self, settings: QueueSettings, cursor: CursorPosition, opened_from: str = "") -> None:
        """Add the previous settings as a level above the current ones, unless nothing changed."""
        if settings != self._state.settings:
            self.above.append(QueueLevel(settings, cursor, opened_from, self.lists))
            self.lists = ListStates()

    def pop(self) -> QueueLevel | None:
        """Restore and return the level above; None at the outermost level."""
        if not self.above:
            return None
        level = self.above.pop()
        self._state.restore(level.settings)
        self.lists = level.lists
        return level

    def clear(self) -> None:
        """Show all items of the run and drop the levels of the same run."""
        self._state.clear()
        self.above = [level for level in self.above if level.settings.run != self._state.run]


def level_to_json(settings: QueueSettings, cursor: CursorPosition) -> dict[str, Any]:
    """{where, search, queue, seed, run, items, item: [id, run] or null, line}; `items` are numbers."""
    fields = asdict(settings)
    del fields["file"]  # a queue file applies only while it is opened
    return {**fields, "item": cursor.key, "line": cursor.line}


def level_from_json(fields: Mapping[str, Any]) -> tuple[QueueSettings, CursorPosition]:
    """Inverse of `level_to_json`. Raises: ValueError, TypeError or KeyError for any other content."""
    run, item = fields["run"], fields["item"]
    texts = {name: fields[name] for name in ("where", "search", "queue")}
    if not all(isinstance(text, str) for text in texts.values()) or not (run is None or isinstance(run, int)):
        raise ValueError("no level")
    named = None
    if item is not None:
        name, of = item
        named = str(name), int(of)
    items = tuple(map(int, fields.get("items", ())))
    return QueueSettings(**texts, seed=int(fields["seed"]), run=run, items=items), CursorPosition(
        None, int(fields["line"]), named
    )


POSITIONS_FOLDER = "positions"
MAX_SAVED_LEVELS = 20
"""Innermost levels that are kept."""


@dataclass(frozen=True, slots=True)
class QueuePosition:
    settings: QueueSettings
    cursor: CursorPosition
    levels: Sequence[QueueLevel] = ()


def save_position(own: AnnotatorState, state: QueueState, position: QueuePosition) -> None:
    levels = [level_to_json(each.settings, each.cursor) | {"via": each.opened_from} for each in position.levels[-MAX_SAVED_LEVELS:]]
    levels.append(level_to_json(position.settings, position.cursor) | {"via": ""})
    own.try_write(POSITIONS_FOLDER, {"scope": list(state.scope), "blind": state.blind, "levels": levels})


def load_position(own: AnnotatorState, state: QueueState) -> QueuePosition | None:
    """The kept position, if it has the same runs and blind mode and its filters are still valid."""
    found = own.read(POSITIONS_FOLDER)
    if found.get("scope") != list(state.scope) or found.get("blind") is not state.blind:
        return None
    try:
        levels = [QueueLevel(*level_from_json(each), str(each["via"])) for each in found["levels"]]
        for level in levels:
            state.parse_filter(level.settings.where)
        *above, here = levels
    except (FilterError, ValueError, TypeError, KeyError):
        return None
    return QueuePosition(here.settings, here.cursor, above)
