"""Filters that an annotator keeps under names: `@hard` in a filter stands for the one that is called so.

One file an annotator, `.fcreview/filters/<annotator>.json`: {"hard": "official:fail turns>=3"}. Neither reviews nor the
store know of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from fcreview.errors import WRONG_USAGE, FcreviewError
from fcreview.store.filters.language import FilterError, parse
from fcreview.store.filters.words import LONGEST, Term, words

SIGN = "@"
MOST = 500
"""Filters that are kept."""
_NAME = re.compile(r"\w[\w.-]{0,39}")


class SavedError(FcreviewError):
    """A filter that cannot be kept; one line."""

    code = WRONG_USAGE


def file_of(root: Path, annotator: str) -> Path:
    """`root`: the workspace's own folder."""
    return root / "filters" / f"{annotator}.json"


def saved(root: Path, annotator: str) -> dict[str, str]:
    """By name; whether they are still understood is another matter (`problem`)."""
    from fcreview.store.kept import read_object

    found = sorted(read_object(file_of(root, annotator)).items())
    usable = [(name, text) for name, text in found if _NAME.fullmatch(name) and isinstance(text, str)]
    return {name: text[: LONGEST + 1] for name, text in usable[:MOST]}


def save(root: Path, annotator: str, name: str, text: str) -> None:
    """In the place of what had the name. SavedError if the name or the place will not do, FilterError for a filter that
    is not understood."""
    name = name.removeprefix(SIGN)
    if not _NAME.fullmatch(name):
        raise SavedError("a name is letters, digits and _ . -, 40 at most")
    if not text.strip():
        raise SavedError("there is no filter to save: all items are shown")
    known = saved(root, annotator)
    text = expanded(text, known)
    if len(known) >= MOST and name not in known:
        raise SavedError(f"{MOST} filters are kept already")
    _write(root, annotator, {**known, name: text})


def forget(root: Path, annotator: str, name: str) -> bool:
    """Whether there was one of that name. SavedError if the place cannot be written to."""
    known = saved(root, annotator)
    found = known.pop(name.removeprefix(SIGN), None) is not None
    if found:
        _write(root, annotator, known)
    return found


def _write(root: Path, annotator: str, filters: dict[str, str]) -> None:
    from fcreview.store.kept import write_object

    file = file_of(root, annotator)
    try:
        file.parent.mkdir(exist_ok=True)
        write_object(file, filters)
    except OSError as error:
        raise SavedError(f"{file}: {error.strerror or error}") from error


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
