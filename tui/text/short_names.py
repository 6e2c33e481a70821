"""Shorten ids and names of runs to the width of a column, so that different ones stay different."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from fcreview.model.run_name import NAME_SEPARATOR
from fcreview.model.sanitize import display_width, sanitize
from fcreview.tui.text.lines import truncate, truncate_middle
from fcreview.tui.text.styles import symbols

MIN_TAIL_CELLS = 3
NARROW_CELLS = 8
"""Width, in cells, below which a run name can be cut to its last word."""
_WORD_END = re.compile("[-_ /:@]")


MIN_MIDDLE_CELLS = 5
"""Smallest width of the part of an id between two ellipses, with the first of them."""


def shorten_ids(ids: Sequence[str], width: int) -> dict[str, str]:
    """Return short forms of the ids that are wider than `width`, by id.

    No two ids have the same form, so that the reader can tell them apart. A short form has no
    middle: it keeps the beginning and the end of the id.
    """
    text_by_id = {item_id: sanitize(item_id) for item_id in ids}
    ids_by_form = _group_by_short_form(text_by_id, width)

    short_forms = {}
    groups_with_same_form = []
    for form, ids_of_form in ids_by_form.items():
        if len(ids_of_form) == 1:
            short_forms[ids_of_form[0]] = form
        else:
            groups_with_same_form.append(ids_of_form)

    # A form must not look like an id that is shown in full either.
    used_forms = {*text_by_id.values(), *short_forms.values()}
    for group in groups_with_same_form:
        first_difference = measure_common_prefix([text_by_id[item_id] for item_id in group])
        for item_id in group:
            form = _choose_unused_form(text_by_id[item_id], first_difference, width, used_forms)
            short_forms[item_id] = form
            used_forms.add(form)
    return short_forms


def _choose_unused_form(text: str, first_difference: int, width: int, used_forms: Set[str]) -> str:
    """Return the best short form of an id that is not used, or the usual one if all are used.

    `first_difference` is the index at which the id begins to differ from ids with the same usual
    form.
    """
    forms = _list_short_forms(text, first_difference, width)
    return _find_unused(forms, used_forms, default=truncate_middle(text, width))


def _group_by_short_form(text_by_id: Mapping[str, str], width: int) -> dict[str, list[str]]:
    """Cut the middle of all ids that are wider than `width`, and group them by the result."""
    ids_by_form: dict[str, list[str]] = {}
    for item_id, text in text_by_id.items():
        if display_width(text) > width:
            form = truncate_middle(text, width)
            ids_by_form.setdefault(form, []).append(item_id)
    return ids_by_form


def _find_unused(forms: Iterable[str], used: Set[str], *, default: str) -> str:
    """Return the first of the forms that no other name has, or `default` if all are used."""
    for form in forms:
        if form not in used:
            return form
    return default


def shorten_run_name(name: str, other_names: Sequence[str], width: int) -> str:
    """Return a run name in at most `width` cells, so that it differs from the other names.

    The name gets the same form as in `shorten_run_names`, if there is room.
    """
    if display_width(name) <= width:
        return name
    # The order decides which name gets which form, and must be the same for all names.
    names = tuple(sorted({name, *other_names}))
    return truncate_middle(_shorten_and_keep(names, width).get(name, name), width)


@lru_cache(maxsize=64)
def _shorten_and_keep(names: tuple[str, ...], width: int) -> dict[str, str]:
    """Call `shorten_run_names`, and keep the result for the next item."""
    return shorten_run_names(names, width)


def shorten_run_names(names: Sequence[str], width: int) -> dict[str, str]:
    """Return unique short forms of the run names that are wider than `width`, by name.

    A short form has the first words of the name and, if another name begins with these words, also
    the last part of the name. If there is no room for both, it has only the end of the name. In a
    narrow column, it has only the last word if the last words of all names differ.
    """
    # A name gets the form of an id if it has no better one.
    id_form_by_name = shorten_ids(names, width)
    texts = _RunNameTexts.index_names(names)
    # In a narrow column, a beginning would have only a few letters.
    if width < NARROW_CELLS and _have_distinct_last_words(texts.from_start, width):
        return {name: _last_word(sanitize(name)) for name in id_form_by_name}

    short_names = {}
    # A form must not look like the full name of another run either.
    used_forms = {*id_form_by_name.values(), *texts.from_start}
    for name, id_form in id_form_by_name.items():
        forms = _list_run_name_forms(sanitize(name), texts, width)
        fitting_forms = [form for form in forms if display_width(form) <= width]
        short_name = _find_unused(fitting_forms, used_forms, default=id_form)
        short_names[name] = short_name
        used_forms.add(short_name)
    return short_names


@dataclass(frozen=True, slots=True)
class _RunNameTexts:
    """Sanitized run names, sorted so that names with the same beginning or end are neighbours."""

    from_start: list[str]
    from_end: list[str]
    """The names with their characters in reverse order."""
    last_parts: list[str]
    have_same_model: bool
    """Whether all names begin with the same model, so that only the parts after it differ."""

    @classmethod
    def index_names(cls, names: Sequence[str]) -> _RunNameTexts:
        """Sort the names, so that a search finds out whether only one name has a beginning.

        In names that are reversed and sorted, the same search finds unique endings.
        """
        texts = [sanitize(name) for name in names]
        reversed_texts = [text[::-1] for text in texts]
        last_parts = [_last_part(text) for text in texts]
        models = {text.partition(NAME_SEPARATOR)[0] for text in texts}
        have_parts = all(NAME_SEPARATOR in text for text in texts)
        return cls(
            sorted(texts),
            from_end=sorted(reversed_texts),
            last_parts=sorted(last_parts),
            have_same_model=have_parts and len(models) == 1,
        )

    def is_unique_beginning(self, beginning: str) -> bool:
        return _is_unique_prefix(self.from_start, beginning)

    def is_unique_ending(self, ending: str) -> bool:
        return _is_unique_prefix(self.from_end, ending[::-1])

    def is_unique_part_beginning(self, beginning: str) -> bool:
        return _is_unique_prefix(self.last_parts, beginning)


def _last_part(text: str) -> str:
    """Return the last part of a run name, which tells runs of the same model apart.

    It is the whole name if it has only one part.
    """
    _, _, part = text.rpartition(NAME_SEPARATOR)
    return part


def _have_distinct_last_words(texts: Sequence[str], width: int) -> bool:
    """Whether the last words of the names differ and fit into `width`."""
    distinct_texts = set(texts)
    last_words = {_last_word(text) for text in distinct_texts}
    fit = all(display_width(word) <= width for word in last_words)
    return fit and len(last_words) == len(distinct_texts)


def _last_word(text: str) -> str:
    """Return the last word of a name, with the sign before it and an ellipsis: `…-8b`."""
    start = max(_find_word_ends(text), default=len(text))
    return symbols().ellipsis + text[start:]


def _list_run_name_forms(text: str, texts: _RunNameTexts, width: int) -> list[str]:
    """Return short forms of a run name, the best first. Forms can be too wide for the column.

    If all runs are of one model, the parts after it are the best form: `…llm_agent`. Otherwise:

    1. Words at the beginning that no other name begins with: `gpt-4o…`.
    2. An end that no other name has, after words at the beginning or alone: `gpt…llm_agent`.
    3. The beginning of the last part, if no other last part begins like it: `…llm_ag…`.
    4. Words at the beginning with the last word.
    """
    beginnings = _list_beginnings(text)
    endings = _list_distinguishing_endings(text, texts)

    forms = []
    if texts.have_same_model:
        _, _, parts = text.partition(NAME_SEPARATOR)
        forms.append(symbols().ellipsis + parts)
        # Words of the model that all runs share would only take room from the ending.
        forms += endings

    for beginning in beginnings:
        if texts.is_unique_beginning(beginning):
            forms.append(beginning + symbols().ellipsis)

    for ending in endings:
        forms += [beginning + ending for beginning in beginnings]
        forms.append(ending)

    forms += _list_cut_last_parts(text, texts, width)

    last_word = _last_word(text)
    forms += [beginning + last_word for beginning in beginnings]
    n_chars_before_last_word = max(width - display_width(last_word), 1)
    forms.append(text[:n_chars_before_last_word] + last_word)
    return forms


def _list_beginnings(text: str) -> list[str]:
    """Return the beginnings of a run name that end with a whole word, the longest first."""
    beginnings = []
    for word_end in reversed(_find_word_ends(text)):
        beginnings.append(text[:word_end].rstrip(f" {symbols().separator}"))
    return beginnings


def _list_cut_last_parts(text: str, texts: _RunNameTexts, width: int) -> list[str]:
    """Return a list with the last part of a run name, cut to fit into the column: `…llm_ag…`.

    The list is empty if the part fits, if the name has only one part, or if another run name has a
    last part with the same beginning.
    """
    part = _last_part(text)
    cut_part = truncate(part, width - 1)
    if cut_part == part or part == text:
        return []
    if not texts.is_unique_part_beginning(cut_part.removesuffix(symbols().ellipsis)):
        return []
    return [symbols().ellipsis + cut_part]


def _list_distinguishing_endings(text: str, texts: _RunNameTexts) -> list[str]:
    """Return the endings that only this run name has, the widest first: `…llm_agent`, `…_agent`.

    An ending is at most the last part of the name, which was added because other runs have the same
    name before it. The list is empty if the name has only one part.
    """
    name, separator, part = text.rpartition(NAME_SEPARATOR)
    if not separator:
        return []

    part_start = len(name) + len(separator)
    starts = [part_start]
    for word_end in _find_word_ends(part):
        starts.append(part_start + word_end)

    endings = []
    for start in starts:
        ending = text[start:]
        if texts.is_unique_ending(ending):
            endings.append(symbols().ellipsis + ending)
    return endings


def measure_distinguishing_endings(names: Sequence[str]) -> int:
    """Return the width, in cells, at which each run name can show an ending that no other name has.

    It is the width of the shortest such ending, for the name that needs most. It is 0 if no name
    has several parts.
    """
    texts = _RunNameTexts.index_names(names)
    width = 0
    for text in texts.from_start:
        endings_widest_first = _list_distinguishing_endings(text, texts)
        if endings_widest_first:
            shortest = endings_widest_first[-1]
            width = max(width, display_width(shortest))
    return width


def _find_word_ends(text: str) -> list[int]:
    """Return the indexes of the signs after words: 3 and 6 for `gpt-4o-mini`."""
    return [match.start() for match in _WORD_END.finditer(text) if match.start() > 0]


def _is_unique_prefix(sorted_texts: Sequence[str], prefix: str) -> bool:
    """Whether at most one of the texts begins with the prefix."""
    # Texts with the same prefix are neighbours. If the second one lacks it, no other has it.
    second = bisect_left(sorted_texts, prefix) + 1
    return second >= len(sorted_texts) or not sorted_texts[second].startswith(prefix)


def _list_short_forms(text: str, kept_index: int, width: int) -> Iterator[str]:
    """Yield short forms of an id, the best first.

    The first forms keep the character at `kept_index`, where the id begins to differ from other
    ids. The later forms are worse. They are used if other ids already have all of the first forms.
    """
    # Beginnings that are long enough to contain the character, each with the end of the id.
    for head_cells in range(kept_index + 1, width - MIN_TAIL_CELLS):
        yield _cut_after_head(text, head_cells, width)
    # The text from the character before it on.
    index_before = max(kept_index - 1, 0)
    yield _cut_before_and_keep_last_word(text, index_before, width)
    yield _cut_before(text, index_before, width)

    # Beginnings of any length with the end of the id, then ends alone.
    for head_cells in range(width - 1):
        yield _cut_after_head(text, head_cells, width)
    for start in range(1, len(text)):
        yield _cut_before(text, start, width)


def _cut_after_head(text: str, head_cells: int, width: int) -> str:
    """Cut the middle of a text, so that `head_cells` remain at its beginning: `sing…f_31`."""
    # `truncate_middle` takes a share of the width. Half a cell guards against rounding.
    head_share = (head_cells + 0.5) / max(width - 1, 1)
    return truncate_middle(text, width, head_share)


def _cut_before(text: str, start: int, width: int) -> str:
    """Omit what is before the index `start`, and cut the end if necessary: `…single_f…`."""
    return truncate(symbols().ellipsis + text[start:], width)


def _cut_before_and_keep_last_word(text: str, start: int, width: int) -> str:
    """Omit what is before the index `start`, and keep the last word, which often is the number of
    the item: `…single_f…_31`.

    If the text from `start` fits, or if there is no room for both, only this text is kept.
    """
    ellipsis = symbols().ellipsis
    text_from_start = ellipsis + text[start:]
    if display_width(text_from_start) <= width:
        return text_from_start

    # The last word begins where the one before it ends, with a sign such as `_`.
    last_word_start = max(_find_word_ends(text), default=len(text))
    ending = ellipsis + text[last_word_start:]
    middle_cells = width - display_width(ending)
    is_middle_longer_than_ellipsis = start + len(ellipsis) < last_word_start
    if middle_cells < MIN_MIDDLE_CELLS or not is_middle_longer_than_ellipsis:
        return _cut_before(text, start, width)

    # The ending begins with the ellipsis, so the one after the cut middle is removed.
    cut_middle = truncate(text_from_start, middle_cells + display_width(ellipsis))
    return cut_middle.removesuffix(ellipsis) + ending


def measure_common_prefix(texts: Sequence[str]) -> int:
    """Return how many characters the texts have in common at their beginning."""
    for index, chars in enumerate(zip(*texts, strict=False)):
        if len(set(chars)) > 1:
            return index
    return min(len(text) for text in texts)
