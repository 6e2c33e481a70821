"""Apply the correction of a golden answer to the golden answers of sibling questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from fcreview.golden_audit.siblings import format_golden_call
from fcreview.model.item import Call


@dataclass(frozen=True, slots=True)
class _Edit:
    """A part of a correction: `old_calls[start:end]` become `new`."""

    start: int
    end: int
    new: Sequence[Call]


def transfer_correction(
    old_calls: Sequence[Call], new_calls: Sequence[Call], sibling_calls: Sequence[Call]
) -> list[Call] | None:
    """Return the golden calls of a sibling with the correction that turned `old_calls` into
    `new_calls`.

    The sibling must have the replaced calls one after the other, and a neighbour of inserted calls.
    Otherwise, the correction does not fit, and the result is None. Turns may differ: a new call is
    in the turn of the call that it replaces or follows.
    """
    sibling_place = _align(old_calls, sibling_calls)
    calls = list(sibling_calls)
    # From the end to the start, so that the places of earlier calls stay valid.
    for edit in reversed(list(_list_edits(old_calls, new_calls))):
        neighbour = _find_neighbour(edit, old_calls)
        if not _is_together(edit, sibling_place) or neighbour not in sibling_place:
            return None
        place = sibling_place[neighbour]
        first_replaced = place if neighbour == edit.start else place + 1
        turn = sibling_calls[place].turn
        new_calls_of_sibling = [replace(call, turn=turn) for call in edit.new]
        calls[first_replaced : first_replaced + edit.end - edit.start] = new_calls_of_sibling
    return _number_calls(calls)


def _list_edits(old_calls: Sequence[Call], new_calls: Sequence[Call]) -> Iterator[_Edit]:
    matcher = _match_calls(old_calls, new_calls)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield _Edit(start, end, new_calls[new_start:new_end])


def _match_calls(first: Sequence[Call], second: Sequence[Call]) -> SequenceMatcher[str]:
    first_texts = [format_golden_call(call) for call in first]
    second_texts = [format_golden_call(call) for call in second]
    return SequenceMatcher(None, first_texts, second_texts, autojunk=False)


def _align(old_calls: Sequence[Call], sibling_calls: Sequence[Call]) -> dict[int, int]:
    """Return the place of each old call in the sibling, by its place. Calls that the sibling lacks
    are left out.
    """
    places = {}
    for block in _match_calls(old_calls, sibling_calls).get_matching_blocks():
        for offset in range(block.size):
            places[block.a + offset] = block.b + offset
    return places


def _find_neighbour(edit: _Edit, old_calls: Sequence[Call]) -> int:
    """Return the place of the call that decides where the new calls go: the first replaced call,
    else the call before the inserted ones, else the call after them.
    """
    has_replaced_calls = edit.end > edit.start
    if has_replaced_calls or edit.start == 0:
        return edit.start
    is_in_next_turn = edit.start < len(old_calls) and edit.new[0].turn == old_calls[edit.start].turn
    return edit.start if is_in_next_turn else edit.start - 1


def _is_together(edit: _Edit, sibling_place: Mapping[int, int]) -> bool:
    """Whether the sibling has the replaced calls one after the other."""
    places = [sibling_place.get(old_place) for old_place in range(edit.start, edit.end)]
    if None in places:
        return False
    first_place = sibling_place.get(edit.start, 0)
    return places == list(range(first_place, first_place + len(places)))


def _number_calls(calls: Sequence[Call]) -> list[Call]:
    """Return the calls with `Call.index` counted in each turn."""
    numbered = []
    index_by_turn: dict[int, int] = {}
    for call in calls:
        index = index_by_turn.get(call.turn, 0)
        index_by_turn[call.turn] = index + 1
        numbered.append(replace(call, index=index))
    return numbered
