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

    @property
    def n_replaced(self) -> int:
        """Number of old calls that are replaced; 0 if calls are only inserted."""
        return self.end - self.start


def transfer_correction(
    old_calls: Sequence[Call], new_calls: Sequence[Call], sibling_calls: Sequence[Call]
) -> list[Call] | None:
    """Apply the correction of a question's golden calls to the golden calls of a similar question.

    The correction replaced `old_calls` by `new_calls`. `sibling_calls` are the golden calls of the
    similar question, and the result is their corrected version. Returns None if the similar
    question does not have the replaced calls one after the other, or lacks the call next to a new
    call.
    """
    sibling_place = _align(old_calls, sibling_calls)
    corrected = list(sibling_calls)
    # From the end to the start, so that the places of earlier calls stay valid.
    for edit in reversed(list(_list_edits(old_calls, new_calls))):
        # The neighbour is the old call that shows where the new calls go.
        neighbour = _find_neighbour(edit, old_calls)
        if neighbour not in sibling_place or not _is_together(edit, sibling_place):
            return None

        place_of_neighbour = sibling_place[neighbour]
        # The neighbour is the first replaced call, or the call before or after inserted ones.
        is_inserted_after = neighbour < edit.start
        start = place_of_neighbour + 1 if is_inserted_after else place_of_neighbour
        stop = start + edit.n_replaced
        # The sibling may have the calls in another turn.
        turn = sibling_calls[place_of_neighbour].turn
        corrected[start:stop] = [replace(call, turn=turn) for call in edit.new]
    return _number_calls(corrected)


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
    """Return the index of each old call -> the index of the same call in the sibling.

    Calls that the sibling lacks are left out.
    """
    places = {}
    for block in _match_calls(old_calls, sibling_calls).get_matching_blocks():
        for offset in range(block.size):
            places[block.a + offset] = block.b + offset
    return places


def _find_neighbour(edit: _Edit, old_calls: Sequence[Call]) -> int:
    """Return the index of the old call that decides where the new calls go, and in which turn.

    It is the first replaced call. If calls are only inserted, it is the call before them, or the
    call after them if there is no call before or if only the call after is in their turn.
    """
    if edit.n_replaced or edit.start == 0:
        return edit.start
    if edit.start < len(old_calls) and edit.new[0].turn == old_calls[edit.start].turn:
        return edit.start
    return edit.start - 1


def _is_together(edit: _Edit, sibling_place: Mapping[int, int]) -> bool:
    """Whether the sibling has all replaced calls, one after the other."""
    expected_place = sibling_place.get(edit.start)
    for old_place in range(edit.start, edit.end):
        place = sibling_place.get(old_place)
        if place is None or place != expected_place:
            return False
        expected_place = place + 1
    return True


def _number_calls(calls: Sequence[Call]) -> list[Call]:
    """Return the calls with `Call.index` counted in each turn."""
    numbered = []
    index_by_turn: dict[int, int] = {}
    for call in calls:
        index = index_by_turn.get(call.turn, 0)
        index_by_turn[call.turn] = index + 1
        numbered.append(replace(call, index=index))
    return numbered
