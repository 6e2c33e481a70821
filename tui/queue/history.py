"""What an annotator typed into the filter line, and the filters kept under names: the same in the next session.

`.fcreview/history/<annotator>.json`: {"filter": [text], "search": [text]}, the latest last. It may be thrown away at
any time; a workspace that cannot be written to keeps none beyond the session.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fcreview.store.filters import saved
from fcreview.store.filters.words import LONGEST

KINDS = ("filter", "search")
MOST = 100
"""Texts of a kind that are kept: the latest."""


class Typed:
    """Of one annotator in one workspace. A blind one is offered nothing that they could not use: a filter that tells
    verdicts, typed or saved at another time, is left out."""

    def __init__(self, folder: Path | None, annotator: str, *, blind: bool = False) -> None:
        self._folder, self._annotator = folder, annotator
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
        if self._folder is None:
            return
        from fcreview.store.kept import write_object

        file = self._file(self._folder)
        with suppress(OSError):
            file.parent.mkdir(exist_ok=True)
            write_object(file, self._typed)

    def _file(self, folder: Path) -> Path:
        return folder / "history" / f"{self._annotator}.json"

    def _read(self) -> dict[str, list[str]]:
        if self._typed is None:
            from fcreview.store.kept import read_object

            found = read_object(self._file(self._folder)) if self._folder is not None else {}
            self._typed = {kind: _texts(found.get(kind)) for kind in KINDS}
        return self._typed

    # -- filters that have names

    @property
    def every(self) -> dict[str, str]:
        return saved.saved(self._folder, self._annotator) if self._folder is not None else {}

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
        if self._folder is None:
            raise saved.SavedError("there is no workspace to keep it in")
        saved.save(self._folder, self._annotator, name, text)

    def forget(self, name: str) -> bool:
        """Whether there was one. SavedError if it cannot be taken away."""
        return self._folder is not None and saved.forget(self._folder, self._annotator, name)


def _texts(found: object) -> list[str]:
    """Of a file that anybody may have written to."""
    if not isinstance(found, list):
        return []
    return [text for text in found if isinstance(text, str) and 0 < len(text) <= LONGEST][-MOST:]
