"""A dataset's cases by id. Those of a usual dataset are all kept; of a larger one only the last ones used, and a case
that was let go is made again from its lines: as objects 500,000 of them would take gigabytes."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fcreview.importers.bfcl.case import Case
from fcreview.importers.common.jsonl import Record

KEPT = 10_000
"""Cases in memory. No published dataset has as many."""
FEW = 500
"""Cases in memory of a larger one: runs go through it in its order, so that more would be used again no sooner."""
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
        self._kept: OrderedDict[str, Case] = OrderedDict()

    def add(self, case: Case, question: Record | None = None, answer: Record | None = None) -> None:
        """Without a place it is kept for good."""
        self.add_place(case.id, question, answer)
        self._kept[case.id] = case

    def add_place(self, name: str, question: Record | None, answer: Record | None) -> None:
        """A case that is made when it is asked for."""
        self._order[name] = len(self._order)
        for place in (question, answer):
            self._places.extend((place.line, place.offset, place.length) if place else (_NONE, _NONE, _NONE))
        if len(self._order) > KEPT:
            self._make_room()

    def __getitem__(self, name: str) -> Case:
        case = self._kept.get(name)
        if case is None:
            case = self._kept[name] = self._made(name, with_answer=True)
            self._make_room()
        return case

    def turns(self, name: str) -> list[list[dict[str, Any]]] | None:
        """A case's question; None if there is no such case. Nothing else is made for it."""
        case = self._kept.get(name)
        try:
            return (case or self._made(name, with_answer=False)).turns
        except KeyError:
            return None

    def _made(self, name: str, *, with_answer: bool) -> Case:
        number = self._order[name]
        question, answer = (self._place(6 * number + start) for start in (0, 3))
        if self._remake is None or question is None:
            raise KeyError(name)
        return self._remake(name, question, answer if with_answer else None)

    def _make_room(self) -> None:
        """Lets go what came first."""
        while self._remake is not None and len(self._kept) > min(FEW, KEPT):
            self._kept.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self._order)

    def __len__(self) -> int:
        return len(self._order)

    def __contains__(self, name: object) -> bool:
        return name in self._order

    def _place(self, start: int) -> Record | None:
        line, offset, length = self._places[start : start + 3]
        return None if line == _NONE else Record(line, offset, length, None)
