"""Order the journal lines of one annotator.

The rule: a line comes after each line that its writer knew. Time decides only between lines that
were written side by side, by machines that had not exchanged their lines yet, and the event id
decides between equal times.

A *place* expresses this rule, so that lines can be sorted without the lines between them. It is a
list of stamps. The first stamp has the latest time of all lines that the writer knew, including the
line itself. The second stamp has the latest time of the lines after that one, and so on, up to the
time of the line itself. As long as clocks are right, a place is one stamp with the time of the
line. After a clock that was an hour fast, places have two stamps for an hour:

    12:00  [12:00]
    13:01  [13:01]           the clock was fast
    12:02  [13:01, 12:02]    after it, and before another machine's line at 12:03, which is [13:01, 12:03]

Every reader must know the same place of a line, even if it has received only some of the
annotator's lines. So the place comes from the first of these sources that has one:

1. the line itself. Its writer stores the place in the field `place`
2. the team's server, which sends the places of lines without the field. Older versions of fcreview
   wrote such lines
3. the place of the previous line in the hash chain, and the line's time
4. if the previous line is missing: in a complete journal, the place of the line before it in the
   file, and the line's time; otherwise, the line's time alone

The function `fcreview.find_place` of the team's server follows the same rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from fcreview.model.review import Event

MAX_STAMPS = 8  # so that clocks that go back again and again cannot make places long
MAX_STEP_DIGITS = 15


class Stamp(NamedTuple):
    clock: str  # a time, in the form of the field `time` of a line
    step: int  # number of lines with the same time before this one

    def __str__(self) -> str:
        return f"{self.clock} {self.step}"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a line in the order of an annotator's lines.

    Compare the tuples `stamps` to compare places.
    """

    stamps: tuple[Stamp, ...] = ()  # empty before all lines

    def to_texts(self) -> list[str]:
        """Return the place as in the field `place` of a line."""
        return [str(stamp) for stamp in self.stamps]

    def next_at(self, time: str) -> Place:
        """Return the place of a new line whose writer knew the line at this place.

        The new place is always greater than this one. The times of the stamps of a place fall, so
        this keeps the stamps with a later time than that of the new line, and adds the time of the
        new line, which is greater than the dropped stamps.
        """
        later = [stamp for stamp in self.stamps if stamp.clock > time]
        if len(later) == MAX_STAMPS:
            # There is no room for another stamp, so the last one moves on by a step. The new place
            # is then greater, too.
            last = later[-1]
            return Place((*later[:-1], Stamp(last.clock, last.step + 1)))

        steps_at_time = [stamp.step for stamp in self.stamps if stamp.clock == time]
        step = max(steps_at_time) + 1 if steps_at_time else 0
        return Place((*later, Stamp(time, step)))


START = Place()  # before all lines


def parse_place(texts: list[str] | None) -> Place | None:
    """Return the place in the field `place` of a line; None if the line has none, or one of an
    unknown form.
    """
    if not texts or len(texts) > MAX_STAMPS:
        return None
    stamps = []
    for text in texts:
        clock, space, step = text.rpartition(" ")
        if not space or not step.isascii() or not step.isdigit() or len(step) > MAX_STEP_DIGITS:
            return None
        stamps.append(Stamp(clock, int(step)))
    return Place(tuple(stamps))


class LatestPlace:
    """Computes a place that no line of a journal follows, without the place of each line."""

    def __init__(self) -> None:
        self._latest: tuple[Stamp, ...] = ()
        self._latest_time_without_place = ""
        self._n_without_place = 0

    def add_line(self, time: str, place: Place | None) -> None:
        if place is not None:
            self._latest = max(self._latest, place.stamps)
            return
        self._n_without_place += 1
        self._latest_time_without_place = max(self._latest_time_without_place, time)

    def get(self) -> Place:
        if not self._n_without_place:
            return Place(self._latest)
        # The places of these lines are unknown, but no step can be larger than the number of lines.
        bound = Stamp(self._latest_time_without_place, self._n_without_place)
        return Place(max(self._latest, (bound,)))


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of an annotator, as it was read from one of the annotator's files."""

    event: Event
    line_before: (
        str  # hash of the annotator's line before it in the file; empty in a partial journal
    )


_SortKey = tuple[tuple[Stamp, ...], str, str]


class LineOrder:
    """The ordered lines of one annotator, from all files. Later lines can be added at the end."""

    def __init__(self) -> None:
        """Start without lines."""
        # By hash of the line.
        self._places: dict[str, Place] = {}
        self._server_places: Mapping[str, Place] = {}
        # Hashes of missing lines on which a place depends.
        self._missing_lines: set[str] = set()
        # Hash of a missing line -> hash of the line before the first gap that it leaves in a file.
        self._before_gap: dict[str, str] = {}
        # Sort key of the last line.
        self._last: _SortKey = ((), "", "")

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
        """Add lines of journals, and return their events in the order in which they count.

        Returns None if one of them belongs before a line that was added earlier. Then this object
        has no further use: all lines must be read again, and added to a new one. A line that is in
        several files counts once.
        """
        new_lines: dict[str, FileLine] = {}
        for line in lines:
            if line.event.hash not in self._places:
                new_lines.setdefault(line.event.hash, line)
        # Lines that were missing earlier belong between lines that are already added.
        if not self._missing_lines.isdisjoint(new_lines):
            return None
        if not new_lines:
            return []

        # The sort keys need the places.
        self._add_places(new_lines)
        events = [line.event for line in new_lines.values()]
        events.sort(key=self._make_sort_key)
        is_after_earlier_lines = self._make_sort_key(events[0]) >= self._last
        if not is_after_earlier_lines:
            return None
        self._last = self._make_sort_key(events[-1])
        return events

    def _add_places(self, new_lines: Mapping[str, FileLine]) -> None:
        """Find the places of new lines, given by hash, and note the missing lines on which a place
        depends.
        """
        finder = _PlaceFinder(
            self._places,
            server_places=self._server_places,
            new=new_lines,
            missing_lines=self._missing_lines,
            before_gap=self._before_gap,
        )
        finder.find_all()

    def _make_sort_key(self, event: Event) -> _SortKey:
        return self._places[event.hash].stamps, event.event, event.hash


class _CircleError(Exception):
    """Raised if a line is its own predecessor, directly or by way of other lines."""


class _PlaceFinder:
    """Finds the places of new lines, which can follow each other in any order, and adds them to
    `places`.
    """

    def __init__(
        self,
        places: dict[str, Place],
        server_places: Mapping[str, Place],
        new: Mapping[str, FileLine],
        missing_lines: set[str],
        before_gap: dict[str, str],
    ) -> None:
        """Prepare to find the places of the lines in `new`, which `find_all` adds to `places`."""
        self._places = places
        self._server_places = server_places
        self._new = new
        self._missing_lines = missing_lines
        self._before_gap = before_gap
        """Missing line -> the line before the gap, in the file."""
        self._follows_file = True
        """Whether a line without its predecessor follows the line before it in the file."""

    def find_all(self) -> None:
        for line in self._new.values():
            self._find_place(line)

    def _find_place(self, line: FileLine) -> None:
        """Find the place of a line, which is after that of its predecessor. Places of new lines
        before it are found first.
        """
        for earlier in reversed(self._list_lines_without_place(line)):
            self._set_place(earlier.event, self._find_predecessor(earlier))

    def _list_lines_without_place(self, line: FileLine) -> list[FileLine]:
        """Return a line and the lines before it in the order, last to first, that have no place
        yet.

        In a reordered file, the line before a gap can follow the line after it, so that lines
        follow each other in a circle. Hashes alone cannot form one, so from then on, only the hash
        chain counts, for this and all later lines.
        """
        try:
            return self._follow_predecessors(line)
        except _CircleError:
            self._follows_file = False
            return self._follow_predecessors(line)

    def _follow_predecessors(self, line: FileLine) -> list[FileLine]:
        """Return a line, its predecessor, the predecessor of that, and so on. The list ends at a
        line whose predecessor has a place or is not needed. Raises _CircleError.
        """
        chain = [line]
        hashes = {line.event.hash}
        while True:
            predecessor = self._find_predecessor(chain[-1])
            if predecessor not in self._new or predecessor in self._places:
                return chain
            if predecessor in hashes:
                raise _CircleError
            chain.append(self._new[predecessor])
            hashes.add(predecessor)

    def _find_predecessor(self, line: FileLine) -> str:
        """Return the hash of the line after which a line is ordered. Empty for a line that needs
        none, because its place is known or it is the first line of the annotator.
        """
        event = line.event
        has_place = event.hash in self._places or self._find_known_place(event) is not None
        is_first_line = not event.previous
        if has_place or is_first_line:
            return ""

        # Each line names the hash of the line before it.
        is_present = event.previous in self._new or event.previous in self._places
        if is_present:
            return event.previous
        return self._choose_line_before_gap(line)

    def _choose_line_before_gap(self, line: FileLine) -> str:
        """Return the hash of the line that replaces a missing predecessor: the line before it in
        the file. Empty if there is none, or if the order of the file does not count.

        Remembers that the predecessor is missing, because all lines must be read again when it
        arrives.
        """
        missing_line = line.event.previous
        self._missing_lines.add(missing_line)
        if not line.line_before or not self._follows_file:
            return ""
        # Several lines can be chained to the same missing line. They all get the same predecessor:
        # that of the first of them.
        return self._before_gap.setdefault(missing_line, line.line_before)

    def _find_known_place(self, event: Event) -> Place | None:
        return parse_place(event.place) or self._server_places.get(event.hash)

    def _set_place(self, event: Event, predecessor: str) -> None:
        """Set the place of a line: the known one, else the one after its predecessor."""
        if event.hash in self._places:
            return
        known = self._find_known_place(event)
        if known is not None:
            self._places[event.hash] = known
            return
        self._places[event.hash] = self._places.get(predecessor, START).next_at(event.time)


def order_events(
    events: Iterable[Event],
    server_places: Mapping[str, Place] | None = None,
    *,
    is_partial: bool = False,
) -> list[Event]:
    """Return the events of one annotator in the order in which they were made. Several computers
    of the annotator may have written them.

    Args:
        events: The events in the order of a journal.
        server_places: Hash of a line -> the place that the team's server gave to the line.
        is_partial: Whether the events are only a part of the journal, so that the line before an
            event is unknown.
    """
    lines = []
    last_hash = ""
    for event in events:
        line_before = "" if is_partial else last_hash
        lines.append(FileLine(event, line_before))
        last_hash = event.hash

    order = LineOrder()
    order.set_server_places(server_places or {})
    ordered = order.add_lines(lines)
    assert ordered is not None  # noqa: S101 - for the type checker: no line was added earlier
    return ordered
