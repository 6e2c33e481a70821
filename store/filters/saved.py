"""Save the filters and searches of an annotator. A filter saved under a name is used in other
filters as `@name`.

Files in the workspace's folder `.fcreview`:

* `filters/<annotator>.json`, the saved filters: `{"hard": "official:fail turns>=3"}`
* `history/<annotator>.json`, the recent texts, the latest last: `{"filter": ["turns>=3"], "search":
  ["celsius"]}`
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fcreview.errors import EXIT_USAGE_ERROR, FcreviewError
from fcreview.store.filters.parser import FilterError, parse_filter
from fcreview.store.filters.tokens import MAX_FILTER_LENGTH, FilterTerm, tokenize
from fcreview.store.workspace import AnnotatorState

FILTERS_FOLDER = "filters"
SAVED_FILTER_PREFIX = "@"
MAX_SAVED_FILTERS = 500
HISTORY_FOLDER = "history"
HISTORY_KINDS = ("filter", "search")
MAX_HISTORY = 100
"""Maximum number of recent texts of each kind."""
_NAME = re.compile(r"\w[\w.-]{0,39}")


NUMBERS_OF_OLDER_IMPORT = (
    "item number of an older import: an import can give the number to another item. Use id:ID"
)


class SavedFilterError(FcreviewError):
    """Raised when a filter cannot be saved or deleted. The message is one line."""

    exit_code = EXIT_USAGE_ERROR


def find_filter_problem(text: str, *, blind: bool = False) -> str:
    """Return why a filter is invalid or, in blind mode, not allowed; empty if the filter is
    valid.
    """
    try:
        parse_filter(text, blind=blind)
    except FilterError as error:
        return error.message
    return ""


def has_item_numbers(text: str) -> bool:
    """Whether a filter selects items by their numbers, such as `item:17`.

    An import can change the numbers, so such a filter must not be used after the next import.
    """
    try:
        tokens = tokenize(text)
    except FilterError:
        return False
    return any(
        isinstance(token, FilterTerm) and (token.key or "").lower() == "item" for token in tokens
    )


def expand_saved_filters(
    text: str, saved_filters: Mapping[str, str], *, blind: bool = False
) -> str:
    """Replace each `@name` in a filter with the saved filter of that name. A quoted `"@name"` stays
    unchanged.

    Raises FilterError for an unknown name and for an invalid filter. With `blind`, a filter must
    not reveal verdicts.
    """
    # A mistake is reported at its position in the user's text, so this comes first.
    parse_filter(text, blind=blind)
    tokens = tokenize(text)
    names = [
        token for token in tokens if isinstance(token, FilterTerm) and _is_saved_filter_name(token)
    ]
    if not names:
        return text

    is_only_token = len(tokens) == 1
    expanded = text
    # From the last name to the first, so that the positions of the other names stay valid.
    for term in reversed(names):
        try:
            saved_filter = _get_saved_filter(term, saved_filters, blind=blind)
        except SavedFilterError as error:
            raise FilterError(str(error), expanded, term.position) from None
        # Parentheses keep an `or` inside of the saved filter together.
        replacement = saved_filter if is_only_token else f"({saved_filter})"
        expanded = _replace_term(expanded, term, replacement)

    # The expanded filter can be too long or too deeply nested.
    parse_filter(expanded, blind=blind)
    return expanded


def _replace_term(text: str, term: FilterTerm, replacement: str) -> str:
    end = term.position + len(_get_word(term))
    return text[: term.position] + replacement + text[end:]


def _get_word(term: FilterTerm) -> str:
    """Return the text of a term without a key. Such a term has exactly one value."""
    (value,) = term.values
    return value.text


def _get_saved_filter(term: FilterTerm, saved_filters: Mapping[str, str], *, blind: bool) -> str:
    """Return the saved filter that the term `@name` names.

    Raises SavedFilterError if it does not exist, is invalid or is not allowed in blind mode.
    """
    word = _get_word(term)
    name = word.removeprefix(SAVED_FILTER_PREFIX)
    if name not in saved_filters:
        raise SavedFilterError(_unknown_name_message(name, saved_filters))
    problem = find_filter_problem(saved_filters[name], blind=blind)
    if not problem and has_item_numbers(saved_filters[name]):
        problem = NUMBERS_OF_OLDER_IMPORT
    if problem:
        raise SavedFilterError(f"{word}: {problem}")
    return saved_filters[name]


def _is_saved_filter_name(term: FilterTerm) -> bool:
    """Whether a term is the name of a saved filter, such as `@hard`."""
    value = term.values[0]
    return (
        term.key is None
        and not value.quoted
        and value.text.startswith(SAVED_FILTER_PREFIX)
        and len(value.text) > 1
    )


def _unknown_name_message(name: str, saved_filters: Mapping[str, str]) -> str:
    names = ", ".join(SAVED_FILTER_PREFIX + each for each in saved_filters) or "none"
    word = SAVED_FILTER_PREFIX + name
    return f'no saved filter {word} (saved: {names}). To search for text, use "{word}"'


class AnnotatorFilters:
    """Saved filters, recent filters and recent searches of an annotator."""

    def __init__(self, state: AnnotatorState, *, blind: bool = False) -> None:
        self._state = state
        self.blind = blind
        self._recent_texts: dict[str, list[str]] | None = None

    def list_recent_texts(self, kind: str) -> list[str]:
        """Return the recent filters (`kind` "filter") or searches ("search"), the latest last. In
        blind mode, filters that would reveal verdicts are omitted.
        """
        texts = self._load_recent_texts().get(kind, [])
        if not self.blind or kind != "filter":
            return list(texts)
        return [text for text in texts if not _is_forbidden_in_blind_mode(text)]

    def add_recent_text(self, kind: str, text: str) -> None:
        """Add a text as the latest one. An equal earlier text and the oldest ones are dropped.

        A filter with item numbers is not kept, because an import changes them.
        """
        if kind == "filter" and has_item_numbers(text):
            return
        texts_by_kind = self._load_recent_texts()
        other_texts = [each for each in texts_by_kind.get(kind, []) if each != text]
        texts_by_kind[kind] = [*other_texts, text][-MAX_HISTORY:]
        self._state.try_write(HISTORY_FOLDER, dict(texts_by_kind))

    def _load_recent_texts(self) -> dict[str, list[str]]:
        """Return the recent texts of each kind, the first time from the file."""
        if self._recent_texts is None:
            history = self._state.read(HISTORY_FOLDER)
            self._recent_texts = {
                kind: _select_valid_texts(history.get(kind)) for kind in HISTORY_KINDS
            }
        return self._recent_texts

    @property
    def saved_filters(self) -> dict[str, str]:
        """Saved filters by name, in alphabetical order.

        A filter can be invalid (see `find_filter_problem`).
        """
        saved = sorted(self._state.read(FILTERS_FOLDER).items())
        usable = [
            (name, text) for name, text in saved if _NAME.fullmatch(name) and isinstance(text, str)
        ]
        # A text that is too long is cut, but stays too long, so that it is reported as invalid.
        max_length = MAX_FILTER_LENGTH + 1
        return {name: text[:max_length] for name, text in usable[:MAX_SAVED_FILTERS]}

    @property
    def usable_filters(self) -> dict[str, str]:
        """Valid saved filters by name.

        In blind mode, filters that would reveal verdicts are omitted.
        """
        return {
            name: text
            for name, text in self.saved_filters.items()
            if not find_filter_problem(text, blind=self.blind)
        }

    def expand_saved_filters(self, text: str) -> str:
        """Replace each `@name` by the saved filter of that name.

        Raises FilterError with the position of an error.
        """
        return expand_saved_filters(text, self.saved_filters, blind=self.blind)

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter.

        Each `@name` in it is replaced by the saved filter. Raises FilterError or SavedFilterError.
        """
        bare_name = name.removeprefix(SAVED_FILTER_PREFIX)
        if not _NAME.fullmatch(bare_name):
            raise SavedFilterError(
                "invalid name. Use at most 40 letters, digits and the characters _ . -"
            )
        if not text.strip():
            raise SavedFilterError("there is no filter to save, because all items are shown")

        saved = self.saved_filters
        expanded = expand_saved_filters(text, saved)
        if has_item_numbers(expanded):
            raise SavedFilterError(
                "a saved filter cannot have item numbers, because an import changes them. Use id:ID"
            )
        if len(saved) >= MAX_SAVED_FILTERS and bare_name not in saved:
            raise SavedFilterError(
                f"you already have {MAX_SAVED_FILTERS} saved filters. Delete one first with forget"
                " @NAME"
            )
        self._write_saved_filters(saved | {bare_name: expanded})

    def delete_filter(self, name: str) -> bool:
        """Delete a saved filter.

        Return whether it existed. Raises SavedFilterError if the file cannot be written.
        """
        saved = self.saved_filters
        existed = saved.pop(name.removeprefix(SAVED_FILTER_PREFIX), None) is not None
        if existed:
            self._write_saved_filters(saved)
        return existed

    def _write_saved_filters(self, filters: dict[str, str]) -> None:
        """Write the saved filters. Raises SavedFilterError if the file cannot be written."""
        try:
            self._state.write(FILTERS_FOLDER, filters)
        except OSError as error:
            message = str(error.strerror or error)
            # A state that is only in memory has no file to name.
            if self._state.root is not None:
                message = f"{self._state.get_path(FILTERS_FOLDER)}: {message}"
            raise SavedFilterError(message) from error


def _is_forbidden_in_blind_mode(text: str) -> bool:
    """Whether a filter is valid, but only outside blind mode. An invalid filter reveals nothing."""
    return bool(find_filter_problem(text, blind=True)) and not find_filter_problem(text)


def _select_valid_texts(stored_texts: object) -> list[str]:
    """Return the latest texts of a history file, which another program may have changed."""
    if not isinstance(stored_texts, list):
        return []
    texts = []
    for text in stored_texts:
        if isinstance(text, str) and 0 < len(text) <= MAX_FILTER_LENGTH:
            texts.append(text)
    return texts[-MAX_HISTORY:]
