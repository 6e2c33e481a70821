"""The queue's levels: what was set and where the cursor stood before each list or filter that led further in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fcreview.calls.clusters import Cluster
from fcreview.tui.queue.state import QueueState, Setting


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
