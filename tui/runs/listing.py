"""Which runs are listed, in which order and groups, and which of these are unfolded. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fcreview.store.comparing.run_lists import GROUPED_BY, SORTED_BY, TELLING, Group, grouped, matching, ordered
from fcreview.store.rows import RunRow
from fcreview.tui.queue.state import ALL_RUNS

ORDERS = ("run", "official", "corrected", "model", "date", "reviewed", "yours", "items", "issues")
"""As `s` takes them, one after the other."""
GROUPINGS = ("", *GROUPED_BY)


def orders(*, blind: bool) -> list[str]:
    return [name for name in ORDERS if name in SORTED_BY and not (blind and name in TELLING)]


@dataclass(slots=True)
class RunsPlace:
    """How the list was left."""

    sort: str = "run"
    reverse: bool = False
    by: str = ""
    find: str = ""
    unfolded: set[str] = field(default_factory=set)

    def next_order(self, *, blind: bool) -> None:
        names = orders(blind=blind)
        self.sort, self.reverse = names[(names.index(self.sort) + 1) % len(names)], False

    def next_grouping(self) -> None:
        self.by = GROUPINGS[(GROUPINGS.index(self.by) + 1) % len(GROUPINGS)]
        self.unfolded.clear()

    def stands_alone(self, group: Group) -> bool:
        """There is no line for the group: runs are not grouped, or it is the only one of its model."""
        return not self.by or (self.by == "model" and len(group.runs) == 1)

    @property
    def said(self) -> str:
        """`by official, in groups by model`"""
        parts = (
            [f"by {self.sort}" + (" reversed" if self.reverse else "")] if self.sort != "run" or self.reverse else []
        )
        return ", ".join([*parts, *([f"in groups by {self.by}"] if self.by else [])])


@dataclass(frozen=True, slots=True)
class Row:
    """A line: all runs, a group, or a run."""

    runs: Sequence[RunRow]
    group: Group | None = None
    """Of a group's own line."""
    run: RunRow | None = None
    inside: bool = False
    """Of a group whose line is above."""

    @property
    def value(self) -> int | str:
        """What the line stands for: a run's number, `ALL_RUNS`, or a group's name."""
        if self.group is not None:
            return self.group.name
        return ALL_RUNS if self.run is None else self.run.run


def rows_of(runs: Sequence[RunRow], place: RunsPlace) -> list[Row]:
    """All runs first, unless some are looked for: then their groups are unfolded."""
    found = ordered(matching(runs, place.find), place.sort, reverse=place.reverse)
    rows = [] if place.find else [Row(runs)]
    for group in grouped(found, place.by):
        alone = place.stands_alone(group)
        if not alone:
            rows.append(Row(group.runs, group))
        if alone or place.find or group.name in place.unfolded:
            rows += [Row((run,), run=run, inside=not alone) for run in group.runs]
    return rows
