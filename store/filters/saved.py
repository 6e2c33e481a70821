"""Filters that an annotator keeps under names: `@hard` in a filter stands for the one that is called so.

`filters`: {"hard": "official:fail turns>=3"}. Neither reviews nor the store know of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fcreview.errors import WRONG_USAGE, FcreviewError
from fcreview.store.filters.parser import FilterError, parse
from fcreview.store.filters.tokens import LONGEST, Term, words
from fcreview.store.workspace import Own

FOLDER = "filters"
SIGN = "@"
MOST = 500
"""Filters that are kept."""
_NAME = re.compile(r"\w[\w.-]{0,39}")


class SavedError(FcreviewError):
    """A filter that cannot be kept; one line."""

    code = WRONG_USAGE


def saved(own: Own) -> dict[str, str]:
    """By name; whether they are still understood is another matter (`problem`)."""
    found = sorted(own.read(FOLDER).items())
    usable = [(name, text) for name, text in found if _NAME.fullmatch(name) and isinstance(text, str)]
    return {name: text[: LONGEST + 1] for name, text in usable[:MOST]}


def save(own: Own, name: str, text: str) -> None:
    """In the place of what had the name. SavedError if the name or the place will not do, FilterError for a filter that
    is not understood."""
    name = name.removeprefix(SIGN)
    if not _NAME.fullmatch(name):
        raise SavedError("a name is letters, digits and _ . -, 40 at most")
    if not text.strip():
        raise SavedError("there is no filter to save: all items are shown")
    known = saved(own)
    text = expanded(text, known)
    if len(known) >= MOST and name not in known:
        raise SavedError(f"{MOST} filters are kept already")
    _write(own, {**known, name: text})


def forget(own: Own, name: str) -> bool:
    """Whether there was one of that name. SavedError if the place cannot be written to."""
    known = saved(own)
    found = known.pop(name.removeprefix(SIGN), None) is not None
    if found:
        _write(own, known)
    return found


def _write(own: Own, filters: dict[str, str]) -> None:
    try:
        own.write(FOLDER, filters)
    except OSError as error:
        place = f"{own.file(FOLDER)}: " if own.root is not None else ""
        raise SavedError(f"{place}{error.strerror or error}") from error


def problem(text: str, *, blind: bool = False) -> str:
    """Why a filter that was kept is not understood any more, or not by who is blind; empty if it is."""
    try:
        parse(text, blind=blind)
    except FilterError as error:
        return error.message
    return ""


def expanded(text: str, known: Mapping[str, str], *, blind: bool = False) -> str:
    """The filter with what each `@name` stands for in its place. FilterError, with the place in `text`, for what is not
    understood; in quotation marks a word with that sign stands for itself."""
    parse(text, blind=blind)
    every = words(text)
    named = [word for word in every if isinstance(word, Term) and _is_name(word)]
    for term in reversed(named):
        word = term.values[0].text
        name = word.removeprefix(SIGN)
        if name not in known:
            raise FilterError(_unknown(name, known), text, term.position)
        if why := problem(known[name], blind=blind):
            raise FilterError(f"{word}: {why}", text, term.position)
        meant = known[name] if len(every) == 1 else f"({known[name]})"
        text = text[: term.position] + meant + text[term.position + len(word) :]
    if named:
        parse(text, blind=blind)
    return text


def _is_name(term: Term) -> bool:
    value = term.values[0]
    return term.key is None and not value.quoted and value.text.startswith(SIGN) and len(value.text) > 1


def _unknown(name: str, known: Mapping[str, str]) -> str:
    there = f"there are {', '.join(SIGN + each for each in known)}" if known else "none is saved yet"
    return f'no saved filter {SIGN}{name}: {there}; in quotation marks, "{SIGN}{name}" is looked for as text'
