"""What the queue shows, as the person set it.

What an annotator typed into the filter line, and the filters kept under names: the same in the next session.

`history`: {"filter": [text], "search": [text]}, the latest last; a workspace that cannot be written to keeps none
beyond the session.

The queue's levels: what was set and where the cursor stood before each list or filter that led further in. Pure.

Where a person left the queue, kept in the workspace until the program is opened again.

`positions`: {"scope": [run], "blind": bool, "levels": [{where, search, queue, seed, run, item, line, via}]}, the last
of them the queue as it was left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fcreview.matching.clusters import Cluster
from fcreview.store.filters import saved
from fcreview.store.filters.build import FAILING, narrowed
from fcreview.store.filters.parser import Filter, FilterError, parse, quote
from fcreview.store.filters.tokens import LONGEST
from fcreview.store.rows import QUEUES, TELLING, View
from fcreview.store.workspace import Own

FOLDER = "history"
KINDS = ("filter", "search")
MOST = 100
"""Texts of a kind that are kept: the latest."""


class Typed:
    """Of one annotator in one workspace. A blind one is offered nothing that they could not use: a filter that tells
    verdicts, typed or saved at another time, is left out."""

    def __init__(self, own: Own, *, blind: bool = False) -> None:
        self._own = own
        self.blind = blind
        self._typed: dict[str, list[str]] | None = None

    def history(self, kind: str) -> list[str]:
        """The latest last."""
        typed = self._read().get(kind, [])
        if not self.blind or kind != "filter":
            return list(typed)
        return [text for text in typed if not (saved.problem(text, blind=True) and not saved.problem(text))]

    def remember(self, kind: str, text: str) -> None:
        typed = self._read().setdefault(kind, [])
        typed[:] = [*(each for each in typed if each != text), text][-MOST:]
        self._own.keep(FOLDER, dict(self._read()))

    def _read(self) -> dict[str, list[str]]:
        if self._typed is None:
            found = self._own.read(FOLDER)
            self._typed = {kind: _texts(found.get(kind)) for kind in KINDS}
        return self._typed

    # -- filters that have names

    @property
    def every(self) -> dict[str, str]:
        return saved.saved(self._own)

    @property
    def usable(self) -> dict[str, str]:
        return {name: text for name, text in self.every.items() if not self.problem(text)}

    def problem(self, text: str) -> str:
        """Why it is not understood here; empty if it is."""
        return saved.problem(text, blind=self.blind)

    def expanded(self, text: str) -> str:
        """With what each `@name` stands for. FilterError, with its place, for what is not understood."""
        return saved.expanded(text, self.every, blind=self.blind)

    def save(self, name: str, text: str) -> None:
        """SavedError or FilterError say why not."""
        saved.save(self._own, name, text)

    def forget(self, name: str) -> bool:
        """Whether there was one. SavedError if it cannot be taken away."""
        return saved.forget(self._own, name)


def _texts(found: object) -> list[str]:
    """Of a file that anybody may have written to."""
    if not isinstance(found, list):
        return []
    return [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST][-MOST:]


ORDERS = {
    "failures": "failing items first",
    "dataset": "as in the benchmark's files",
    "disagreement": "where rule or judge contradicts the official verdict first",
    "unreviewed": "what you have not judged yet first",
    "random": "shuffled; taken again, shuffled anew",
    "stratified": "shuffled, of every category in turn",
    "judged": "only what a judge said something of",
    "uncertain": "only near misses: one argument differs, or a middling score",
    "suspects": "only golden answers that look wrong, most suspect first",
}
SHUFFLED = ("random", "stratified")
SHARE = "your share of the queue file, in its order"
ALL_RUNS = -1
"""What stands for them in a list of runs."""


def orders(blind: bool, file: str | None = None) -> dict[str, str]:
    """What the queue can be, and what that means; `file`: the queue file that was opened."""
    shown = {queue: ORDERS[queue] for queue in QUEUES if not (blind and queue in TELLING)}
    return {file: SHARE, **shown} if file else shown


@dataclass(frozen=True, slots=True)
class Setting:
    """What is set at one level of the queue; see `QueueState`."""

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
    """Words that items must contain, typed behind `/`."""
    queue: str = "failures"
    seed: int = 0
    run: int | None = None
    blind: bool = False
    scope: tuple[int, ...] = ()
    """Runs that were opened; empty for all of the workspace. Not a part of the filter: clearing that keeps it."""
    file: str | None = None
    """The queue file that was opened."""
    items: tuple[int, ...] = ()
    """Those that a figure is of: filters look among them. Empty for all."""

    @classmethod
    def of(cls, view: View, blind: bool = False) -> QueueState:
        queue = view.queue if view.queue in orders(blind, view.file) else "dataset"
        return cls(where=view.where, queue=queue, seed=view.seed, blind=blind, scope=view.runs, file=view.file)

    @property
    def view(self) -> View:
        runs = self.scope if self.run is None else (self.run,)
        return View(self.combined(), self.queue, self.seed, runs, self.queue == self.file, self.items)

    @property
    def setting(self) -> Setting:
        return Setting(self.where, self.search, self.queue, self.seed, self.run, self.file, self.items)

    def restore(self, setting: Setting) -> None:
        """An order that is not offered now, such as a queue file of another time, stays what it is."""
        self.file = setting.file or self.file
        if setting.queue in orders(self.blind, self.file):
            self.queue, self.seed = setting.queue, setting.seed
        self.where, self.search, self.run, self.items = setting.where, setting.search, setting.run, setting.items

    @property
    def narrowed(self) -> bool:
        """Whether there is something that clearing takes away."""
        return bool(self.where or self.search or self.items)

    def combined(self) -> str:
        """Filter and search as one filter: both must hold. A search finds texts and ids."""
        if not self.search:
            return self.where
        searched = f"(text:{quote(self.search)} OR {quote(self.search)})"
        return f"({self.where}) {searched}" if self.where else searched

    def check(self, where: str) -> Filter:
        """Raises FilterError with the place of what is wrong, if there is something."""
        return parse(where, blind=self.blind)

    def clear(self) -> None:
        self._only("")

    def take_terms(self, terms: Sequence[str]) -> None:
        """Failing items of a group only, beside what is set."""
        self.where = narrowed(self.where, FAILING, *terms)

    def take_issue(self, where: str) -> None:
        """`where` selects the issue's item; empty for an issue of a file."""
        if where:
            self._only(where)

    def take_items(self, items: Sequence[int]) -> None:
        """These items only, whatever was set."""
        self._only("")
        self.items = tuple(items)

    def take_where(self, where: str) -> None:
        """This filter, whatever was set."""
        self._only(where)

    def _only(self, where: str) -> None:
        self.where, self.search, self.items = where, "", ()

    def take_file(self, name: str) -> None:
        """This annotator's share of a queue file."""
        self.file = self.queue = name

    def take_run(self, run: int) -> None:
        self.run = None if run == ALL_RUNS else run

    def take_order(self, queue: str) -> None:
        """What is shuffled, taken again, is shuffled anew."""
        if queue == self.queue and queue in SHUFFLED:
            self.seed += 1
        self.queue = queue


@dataclass(frozen=True, slots=True)
class Standing:
    """Where the cursor stands in a view of the queue: on the item if the view holds it, else on the line."""

    item: int | None = None
    """Its number in the store, which does not outlive an import."""
    line: int = 0
    name: tuple[str, int] | None = None
    """Its id and its run: what it is found by in another session."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Clusters of one grouping."""

    clusters: Sequence[Cluster]
    failures: int
    """Of the view, whether a cluster tells of them or not."""


@dataclass(slots=True)
class ClusterPlace:
    """How the list of clusters of one level was left: its grouping, its folds, its cursor."""

    by: int = 0
    unfolded: set[str] = field(default_factory=set)
    terms: tuple[str, ...] = ()
    """Of the line that the cursor is on."""
    counted: dict[int, Counted] = field(default_factory=dict)
    """As they were counted last, by what `calls.clusters.counted` says: shown until they are counted anew."""


@dataclass(slots=True)
class Places:
    """Where the lists of one level were left."""

    clusters: ClusterPlace = field(default_factory=ClusterPlace)
    taken: dict[str, Any] = field(default_factory=dict)
    """What was chosen last, by the list's name."""


@dataclass(slots=True)
class Level:
    """A level that was left for the one below it."""

    setting: Setting
    standing: Standing
    via: str = ""
    """The list that led further in: going back shows it again. Empty for what was typed."""
    places: Places = field(default_factory=Places)


class Levels:
    """From the outermost in. `places` are those of the level that is shown."""

    def __init__(self, state: QueueState, above: Sequence[Level] = ()) -> None:
        self._state = state
        self.above = list(above)
        self.places = Places()

    def go_in(self, setting: Setting, standing: Standing, via: str = "") -> None:
        """What is set now lies below what was set before; nothing if that is the same."""
        if setting != self._state.setting:
            self.above.append(Level(setting, standing, via, self.places))
            self.places = Places()

    def back(self) -> Level | None:
        """The level above, set as it was; None from the outermost."""
        if not self.above:
            return None
        level = self.above.pop()
        self._state.restore(level.setting)
        self.places = level.places
        return level

    def clear(self) -> None:
        """All items of the run: what lies above shows another one."""
        self._state.clear()
        self.above = [level for level in self.above if level.setting.run != self._state.run]


def as_json(setting: Setting, standing: Standing) -> dict[str, Any]:
    """{where, search, queue, seed, run, items, item: [id, run] or null, line}: the item by what it keeps over imports,
    `items` by their numbers."""
    kept = asdict(setting)
    del kept["file"]  # only what is opened again has one
    return {**kept, "item": standing.name, "line": standing.line}


def of_json(kept: Mapping[str, Any]) -> tuple[Setting, Standing]:
    """What `as_json` gave. ValueError, TypeError or KeyError for anything else."""
    run, item = kept["run"], kept["item"]
    texts = {name: kept[name] for name in ("where", "search", "queue")}
    if not all(isinstance(text, str) for text in texts.values()) or not (run is None or isinstance(run, int)):
        raise ValueError("no level")
    named = None
    if item is not None:
        name, of = item
        named = str(name), int(of)
    items = tuple(map(int, kept.get("items", ())))
    return Setting(**texts, seed=int(kept["seed"]), run=run, items=items), Standing(None, int(kept["line"]), named)


POSITIONS_FOLDER = "positions"
MOST_POSITIONS = 20
"""Levels that are kept: the innermost."""


@dataclass(frozen=True, slots=True)
class Position:
    setting: Setting
    standing: Standing
    levels: Sequence[Level] = ()


def keep(own: Own, state: QueueState, position: Position) -> None:
    levels = [as_json(each.setting, each.standing) | {"via": each.via} for each in position.levels[-MOST_POSITIONS:]]
    levels.append(as_json(position.setting, position.standing) | {"via": ""})
    own.keep(POSITIONS_FOLDER, {"scope": list(state.scope), "blind": state.blind, "levels": levels})


def kept(own: Own, state: QueueState) -> Position | None:
    """The position, if it is of the same runs seen in the same way, and its filters are still understood."""
    found = own.read(POSITIONS_FOLDER)
    if found.get("scope") != list(state.scope) or found.get("blind") is not state.blind:
        return None
    try:
        levels = [Level(*of_json(each), str(each["via"])) for each in found["levels"]]
        for level in levels:
            state.check(level.setting.where)
        *above, here = levels
    except (FilterError, ValueError, TypeError, KeyError):
        return None
    return Position(here.setting, here.standing, above)
