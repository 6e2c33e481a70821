"""A dataset's cases by id. Those of a usual dataset are all kept; of a larger one as many as were used last, and a case
that was let go is made again from its lines: as objects 500,000 of them would take gigabytes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping

from fcreview.importers.bfcl.case import Case
from fcreview.importers.common.jsonl import Record

KEPT = 10_000
"""Cases in memory. No published dataset has as many."""
_NONE = -1
Remake = Callable[[str, Record, Record | None], Case]
"""Makes a case again of the places of its question and its answer, whose values were let go. KeyError if the files
hold it no longer."""


class Cases(Mapping[str, Case]):
    """In dataset order."""

    def __init__(self, remake: Remake | None = None) -> None:
        self._remake = remake
        self._order: dict[str, int] = {}
        self._places = array("q")
        """Line, offset and length of question and answer, of each in its order."""
        self._kept: dict[str, Case] = {}

    def add(self, case: Case, question: Record | None = None, answer: Record | None = None) -> None:
        """Without a place it is kept for good."""
        self._order[case.id] = len(self._order)
        for place in (question, answer):
            self._places.extend((place.line, place.offset, place.length) if place else (_NONE, _NONE, _NONE))
        if self._remake is None or question is None or len(self._kept) < KEPT:
            self._kept[case.id] = case

    def __getitem__(self, name: str) -> Case:
        case = self._kept.get(name)
        if case is None:
            number = self._order[name]
            question, answer = (self._place(6 * number + start) for start in (0, 3))
            if self._remake is None or question is None:
                raise KeyError(name)
            case = self._remake(name, question, answer)
            while len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[name] = case
        return case

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, name: object) -> bool:
        return name in self._order

    def _place(self, start: int) -> Record | None:
        line, offset, length = self._places[start : start + 3]
        return None if line == _NONE else Record(line, offset, length, None)
