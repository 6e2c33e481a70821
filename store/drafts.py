"""Keep the texts that an annotator is typing, so that no end of the app loses them.

The file `drafts/<annotator>.json` in the workspace has an object `{"drafts": [{kind, id, subject,
text}]}`: the kind of text, the id of the item, and the key of the item with its target and
criterion. A draft is removed when its text is saved as a review, or cancelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from fcreview.store.workspace import AnnotatorState

if TYPE_CHECKING:
    from fcreview.model.review import ItemKey
    from fcreview.store.rows import ItemDetail

DRAFTS_FOLDER = "drafts"
MAX_DRAFTS = 100
"""Maximum number of drafts. If there are more, the oldest are removed."""
MAX_DRAFT_CHARACTERS = 200_000
"""Maximum length of a draft. A longer text is not kept."""
DraftKind = Literal["note", "golden answer"]


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that was not saved."""

    kind: str
    id: str
    """Id of the item."""
    subject: str
    """Key of the item, target and criterion, which another import does not change."""
    text: str

    @property
    def is_for(self) -> tuple[str, str]:
        return self.kind, self.subject


class DraftFile:
    """Drafts of one annotator.

    Drafts that cannot be written, such as on a full disk, stay in memory. Each later change tries
    to write them again.
    """

    def __init__(self, state: AnnotatorState) -> None:
        self._state = state
        self._unwritten: dict[tuple[str, str], Draft] = {}

    def read_all(self) -> list[Draft]:
        """Return the drafts on disk and in memory, the oldest first. Entries of the file that are
        not drafts are omitted.
        """
        saved = [draft for draft in self._read_file() if draft.is_for not in self._unwritten]
        return [*saved, *self._unwritten.values()]

    def _read_file(self) -> list[Draft]:
        entries = self._state.read(DRAFTS_FOLDER).get("drafts")
        if not isinstance(entries, list):
            return []
        drafts = [_parse_draft(entry) for entry in entries]
        return [draft for draft in drafts if draft is not None]

    def find_for_item(self, key: ItemKey) -> list[Draft]:
        """Return the drafts on an item, the oldest first."""
        beginning = _format_item_key(key) + SUBJECT_SEPARATOR
        return [draft for draft in self.read_all() if draft.subject.startswith(beginning)]

    def keep(self, draft: Draft) -> str:
        """Write a draft. It replaces an earlier draft of the same text.

        Return why it could not be written, or an empty text.
        """
        self._unwritten.pop(draft.is_for, None)  # so that it becomes the latest draft
        self._unwritten[draft.is_for] = draft
        if len(draft.text) > MAX_DRAFT_CHARACTERS:
            return f"the text has more than {MAX_DRAFT_CHARACTERS:,} characters"
        return self.write_unwritten()

    def write_unwritten(self) -> str:
        """Write the drafts that are only in memory.

        Return why they could not be written, or an empty text.
        """
        # An earlier version of a text that is now too long stays on disk.
        new = [
            draft for draft in self._unwritten.values() if len(draft.text) <= MAX_DRAFT_CHARACTERS
        ]
        if not new:
            return ""

        replaced = {draft.is_for for draft in new}
        saved = [draft for draft in self._read_file() if draft.is_for not in replaced]
        problem = self._write([*saved, *new][-MAX_DRAFTS:])
        if not problem:
            for draft in new:
                del self._unwritten[draft.is_for]
        return problem

    def list_unwritten(self) -> list[Draft]:
        """Return the drafts that the end of the program would lose, the oldest first."""
        return list(self._unwritten.values())

    def remove(self, draft: Draft) -> None:
        """Remove the draft of the same text, if there is one."""
        self._unwritten.pop(draft.is_for, None)
        drafts = self._read_file()
        others = [other for other in drafts if other.is_for != draft.is_for]
        if len(others) < len(drafts):
            self._write(others)

    def _write(self, drafts: Sequence[Draft]) -> str:
        """Write the file. Return why it could not be written, or an empty text."""
        entries = [asdict(draft) for draft in drafts]
        try:
            self._state.write(DRAFTS_FOLDER, {"drafts": entries})
        except OSError as error:
            return error.strerror or str(error) or type(error).__name__
        return ""


def _parse_draft(entry: Any) -> Draft | None:
    """Return the draft in an entry of the file. None if the entry is not a draft."""
    names = ("kind", "id", "subject", "text")
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), str) for name in names):
        return None
    return Draft(**{name: entry[name] for name in names})


class DraftSlot:
    """Draft of the text that one dialog edits."""

    def __init__(
        self, file: DraftFile, kind: DraftKind, detail: ItemDetail, *, target: str, criterion: str
    ) -> None:
        """Create the slot of a text on a target and criterion of an item."""
        parts = [_format_item_key(detail.key), target, criterion]
        subject = SUBJECT_SEPARATOR.join(parts)
        self._file = file
        self._empty = Draft(kind, id=detail.row.id, subject=subject, text="")

    def read(self) -> str | None:
        """Return the text of the draft. None if there is no draft."""
        for draft in self._file.read_all():
            if draft.is_for == self._empty.is_for:
                return draft.text
        return None

    def keep(self, text: str) -> str:
        """Write the draft. Return why it could not be written, or an empty text."""
        return self._file.keep(replace(self._empty, text=text))

    def remove(self) -> None:
        self._file.remove(self._empty)


SUBJECT_SEPARATOR = "\n"


def _format_item_key(key: ItemKey) -> str:
    return SUBJECT_SEPARATOR.join(key)


def describe_drafts(drafts: Sequence[Draft]) -> str:
    """Return `unsaved note on simple_3`, or with several drafts their number too. Empty without
    drafts.
    """
    if not drafts:
        return ""
    latest = drafts[-1]
    name = f"unsaved {latest.kind} on {latest.id}"
    n_others = len(drafts) - 1
    if not n_others:
        return name
    return f"{name}, and {n_others} more"
