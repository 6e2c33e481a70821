"""What an annotator typed into the filter line, and the filters kept under names: the same in the next session.

`history`: {"filter": [text], "search": [text]}, the latest last; a workspace that cannot be written to keeps none
beyond the session.
"""

from __future__ import annotations

from fcreview.store.filters import saved
from fcreview.store.filters.words import LONGEST
from fcreview.store.own import Own

FOLDER = "history"
KINDS = ("filter", "search")
MOST = 100
"""Texts of a kind that are kept: the latest."""


class Typed:
    """Of one annotator in one workspace. A blind one is offered nothing that they could not use: a filter that tells
    verdicts, typed or saved at another time, is left out."""

    def __init__(self, own: Own, *, blind: bool = False) -> None:
        self._own = own
        self.blind = blind
        self._typed: dict[str, list[str]] | None = None

    def history(self, kind: str) -> list[str]:
        """The latest last."""
        typed = self._read().get(kind, [])
        if not self.blind or kind != "filter":
            return list(typed)
        return [text for text in typed if not (saved.problem(text, blind=True) and not saved.problem(text))]

    def remember(self, kind: str, text: str) -> None:
        typed = self._read().setdefault(kind, [])
        typed[:] = [*(each for each in typed if each != text), text][-MOST:]
        self._own.keep(FOLDER, dict(self._read()))

    def _read(self) -> dict[str, list[str]]:
        if self._typed is None:
            found = self._own.read(FOLDER)
            self._typed = {kind: _texts(found.get(kind)) for kind in KINDS}
        return self._typed

    # -- filters that have names

    @property
    def every(self) -> dict[str, str]:
        return saved.saved(self._own)

    @property
    def usable(self) -> dict[str, str]:
        return {name: text for name, text in self.every.items() if not self.problem(text)}

    def problem(self, text: str) -> str:
        """Why it is not understood here; empty if it is."""
        return saved.problem(text, blind=self.blind)

    def expanded(self, text: str) -> str:
        """With what each `@name` stands for. FilterError, with its place, for what is not understood."""
        return saved.expanded(text, self.every, blind=self.blind)

    def save(self, name: str, text: str) -> None:
        """SavedError or FilterError say why not."""
        saved.save(self._own, name, text)

    def forget(self, name: str) -> bool:
        """Whether there was one. SavedError if it cannot be taken away."""
        return saved.forget(self._own, name)


def _texts(found: object) -> list[str]:
    """Of a file that anybody may have written to."""
    if not isinstance(found, list):
        return []
    return [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST][-MOST:]
