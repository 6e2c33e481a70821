"""Order the journal lines of one annotator.

The rule: lines are sorted by their *place*, and lines with equal places by event id. A place is a clock and a step:

* `clock` is the latest time that the annotator's journal had seen when the line was written, including the time of the
  line itself. So a line never comes before a line that its writer knew, even if the writer's clock was set back.
* `step` counts the lines that were written since the clock last moved.

Every reader must know the same place of a line, even if it has received only some of the annotator's lines. So the
place comes from the first of these sources that has one:

1. the line itself. Its writer stores the place in the field `place`
2. the team's server, which sends the places of lines without the field. Older versions of fcreview wrote such lines
3. the previous line in the hash chain: the clock moves forward to the time of the line, or the step grows by one
4. if the previous line is missing: in a complete journal, the line before it in the file; otherwise, the line's time

So time decides only between lines that were written side by side, by machines that had not exchanged their lines yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fcreview.model.review import Event

MAX_STEP_DIGITS = 15


class Place(NamedTuple):
    clock: str
    step: int

    def __str__(self) -> str:
        return f"{self.clock} {self.step}"

    def next_at(self, time: str) -> Place:
        """Return the place of a line that is written at a time and follows the line at this place."""
        if time > self.clock:
            return Place(time, 0)
        return Place(self.clock, self.step + 1)


START = Place("", 0)  # before all lines


def parse_place(text: str | None) -> Place | None:
    """Return the place in the field `place` of a line; None if the line has none, or one of an unknown form."""
    if text is None:
        return None
    clock, _, step = text.rpartition(" ")
    if not clock or not step.isascii() or not step.isdigit() or len(step) > MAX_STEP_DIGITS:
        return None
    return Place(clock, int(step))


class LatestPlace:
    """Finds a place that is not before any line of a journal, without computing the place of each line."""

    def __init__(self) -> None:
        self._latest = START
        self._n_without_place = 0

    def add_line(self, time: str, place: Place | None) -> None:
        if place is None:
            # Its step is unknown, but it cannot be larger than the number of lines without a place.
            self._n_without_place += 1
            place = Place(time, 0)
        self._latest = max(self._latest, place)

    def get(self) -> Place:
        return Place(self._latest.clock, max(self._latest.step, self._n_without_place))


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of an annotator, as it was read from one of the annotator's files."""

    event: Event
    line_before: str  # hash of the annotator's line before it in the file; empty in a partial journal


class LineOrder:
    """The ordered lines of one annotator, from all files. Later lines can be added at the end."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}  # by hash of the line
        self._server_places: Mapping[str, Place] = {}
        self._missing_lines: set[str] = set()  # hashes of missing lines on which a place depends
        self._before_gap: dict[str, str] = {}  # hash of a missing line -> line before the first gap that it leaves
        self._last = (START, "", "")  # sort key of the last line

    def set_server_places(self, places: Mapping[str, Place]) -> bool:
        """Use these places from the server, and return whether the lines keep their order."""
        former = self._server_places
        self._server_places = places
        if places is former:
            return True
        if not former.keys() <= places.keys():
            return False
        return all(self._places.get(name, place) == place for name, place in places.items())

    def add_lines(self, lines: Iterable[FileLine]) -> list[Event] | None:
        """Return the new lines in order. Return None if an earlier line must move; then all lines must be read again.

        A line that is in several files counts once."""
        new: dict[str, FileLine] = {}
        for line in lines:
            if line.event.hash not in self._places:
                new.setdefault(line.event.hash, line)
        if not self._missing_lines.isdisjoint(new):
            return None

        places = _PlaceFinder(self._places, self._server_places, new, self._missing_lines, self._before_gap)
        places.find_all()
        ordered = sorted((self._make_sort_key(line.event), line.event.hash) for line in new.values())
        if not ordered:
            return []
        if ordered[0][0] < self._last:
            return None
        self._last = ordered[-1][0]
        return [new[name].event for _, name in ordered]

    def _make_sort_key(self, event: Event) -> tuple[Place, str, str]:
        return self._places[event.hash], event.event, event.hash


class _PlaceFinder:
    """Finds the places of new lines, which can follow each other in any order, and adds them to `places`."""

    def __init__(
        self,
        places: dict[str, Place],
        server_places: Mapping[str, Place],
        new: Mapping[str, FileLine],
        missing_lines: set[str],
        before_gap: dict[str, str],
    ) -> None:
        self._places = places
        self._server_places = server_places
        self._new = new
        self._missing_lines = missing_lines
        self._before_gap = before_gap
        self._follows_file = True

    def find_all(self) -> None:
        for line in self._new.values():
            self._find_place(line)

    def _find_place(self, line: FileLine) -> None:
        """Find the place of a line, after the places of all lines that it follows."""
        waiting = [line]  # each line waits for the place of the next one
        waiting_names = {line.event.hash}
        while waiting:
            line = waiting[-1]
            predecessor = self._find_predecessor(line)
            if predecessor not in self._new or predecessor in self._places:
                self._set_place(line.event, predecessor)
                waiting.pop()
            elif predecessor not in waiting_names:
                waiting.append(self._new[predecessor])
                waiting_names.add(predecessor)
            else:
                # In a reordered file, the line before a gap can follow the line after it. Such a circle contains a
                # line that only follows another one in the file, so start again with the hash chain alone.
                self._follows_file = False
                del waiting[1:]
                waiting_names = {waiting[0].event.hash}

    def _find_predecessor(self, line: FileLine) -> str:
        """Return the hash of the line after whose place this line's place is; empty if the place needs none."""
        event = line.event
        if event.hash in self._places or self._find_known_place(event) is not None or not event.previous:
            return ""
        if event.previous in self._new or event.previous in self._places:
            return event.previous
        self._missing_lines.add(event.previous)
        if not line.line_before or not self._follows_file:
            return ""
        # Branches after the same missing line follow the same line.
        return self._before_gap.setdefault(event.previous, line.line_before)

    def _find_known_place(self, event: Event) -> Place | None:
        return parse_place(event.place) or self._server_places.get(event.hash)

    def _set_place(self, event: Event, predecessor: str) -> None:
        if event.hash in self._places:
            return
        known = self._find_known_place(event)
        if known is not None:
            self._places[event.hash] = known
            return
        self._places[event.hash] = self._places.get(predecessor, START).next_at(event.time)


def order_events(
    events: Iterable[Event], server_places: Mapping[str, Place] | None = None, *, is_partial: bool = False
) -> list[Event]:
    """Return the events of one annotator in order. `events`: in the order of a journal, which may be partial."""
    order = LineOrder()
    order.set_server_places(server_places or {})
    lines = []
    line_before = ""
    for event in events:
        lines.append(FileLine(event, line_before))
        if not is_partial:
            line_before = event.hash
    return order.add_lines(lines) or []
