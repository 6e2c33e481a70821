"""Filters that an annotator keeps under names: `@hard` in a filter stands for the one that is called so.

`filters`: {"hard": "official:fail turns>=3"}. Neither reviews nor the store know of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.store.filters.parser import FilterError, parse_filter
from fcreview.store.filters.tokens import MAX_FILTER_LENGTH, FilterTerm, tokenize
from fcreview.store.workspace import AnnotatorState

FOLDER = "filters"
SAVED_FILTER_PREFIX = "@"
MAX_SAVED_FILTERS = 500
"""Filters that are kept."""
_NAME = re.compile(r"\w[\w.-]{0,39}")


class SavedFilterError(FcreviewError):
    """A filter that cannot be kept; one line."""

    code = EXIT_USAGE_ERROR


def load_saved_filters(state: AnnotatorState) -> dict[str, str]:
    """By name; whether they are still understood is another matter (`problem`)."""
    found = sorted(state.read(FOLDER).items())
    usable = [(name, text) for name, text in found if _NAME.fullmatch(name) and isinstance(text, str)]
    return {name: text[: MAX_FILTER_LENGTH + 1] for name, text in usable[:MAX_SAVED_FILTERS]}


def save_filter(state: AnnotatorState, name: str, text: str) -> None:
    """In the place of what had the name. SavedError if the name or the place will not do, FilterError for a filter that
    is not understood."""
    name = name.removeprefix(SAVED_FILTER_PREFIX)
    if not _NAME.fullmatch(name):
        raise SavedFilterError("a name is letters, digits and _ . -, 40 at most")
    if not text.strip():
        raise SavedFilterError("there is no filter to save: all items are shown")
    known = load_saved_filters(state)
    text = expand_saved_filters(text, known)
    if len(known) >= MAX_SAVED_FILTERS and name not in known:
        raise SavedFilterError(f"{MAX_SAVED_FILTERS} filters are kept already")
    _write(state, {**known, name: text})


def delete_filter(state: AnnotatorState, name: str) -> bool:
    """Whether there was one of that name. SavedError if the place cannot be written to."""
    known = load_saved_filters(state)
    found = known.pop(name.removeprefix(SAVED_FILTER_PREFIX), None) is not None
    if found:
        _write(state, known)
    return found


def _write(own: AnnotatorState, filters: dict[str, str]) -> None:
    try:
        own.write(FOLDER, filters)
    except OSError as error:
        place = f"{own.path_of(FOLDER)}: " if own.root is not None else ""
        raise SavedFilterError(f"{place}{error.strerror or error}") from error


def find_filter_problem(text: str, *, blind: bool = False) -> str:
    """Why a filter that was kept is not understood any more, or not by who is blind; empty if it is."""
    try:
        parse_filter(text, blind=blind)
    except FilterError as error:
        return error.message
    return ""


def expand_saved_filters(text: str, saved_filters: Mapping[str, str], *, blind: bool = False) -> str:
    """The filter with what each `@name` stands for in its place. FilterError, with the place in `text`, for what is not
    understood; in quotation marks a word with that sign stands for itself."""
    parse_filter(text, blind=blind)
    every = tokenize(text)
    named = [word for word in every if isinstance(word, FilterTerm) and _is_name(word)]
    for term in reversed(named):
        word = term.values[0].text
        name = word.removeprefix(SAVED_FILTER_PREFIX)
        if name not in saved_filters:
            raise FilterError(_unknown(name, saved_filters), text, term.position)
        if why := find_filter_problem(saved_filters[name], blind=blind):
            raise FilterError(f"{word}: {why}", text, term.position)
        meant = saved_filters[name] if len(every) == 1 else f"({saved_filters[name]})"
        text = text[: term.position] + meant + text[term.position + len(word) :]
    if named:
        parse_filter(text, blind=blind)
    return text


def _is_name(term: FilterTerm) -> bool:
    value = term.values[0]
    return term.key is None and not value.quoted and value.text.startswith(SAVED_FILTER_PREFIX) and len(value.text) > 1


def _unknown(name: str, known: Mapping[str, str]) -> str:
    there = f"there are {', '.join(SAVED_FILTER_PREFIX + each for each in known)}" if known else "none is saved yet"
    return f'no saved filter {SAVED_FILTER_PREFIX}{name}: {there}; in quotation marks, "{SAVED_FILTER_PREFIX}{name}" is looked for as text'
