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
    """Drafts of one annotator. Errors of the file system are ignored."""

    def __init__(self, state: AnnotatorState) -> None:
        self._state = state

    def read_all(self) -> list[Draft]:
        """Return the drafts, the oldest first. Entries that are not drafts are omitted."""
        entries = self._state.read(DRAFTS_FOLDER).get("drafts")
        if not isinstance(entries, list):
            return []
        drafts = [_parse_draft(entry) for entry in entries]
        return [draft for draft in drafts if draft is not None]

    def find_for_item(self, key: ItemKey) -> list[Draft]:
        """Return the drafts on an item, the oldest first."""
        beginning = _format_item_key(key) + SUBJECT_SEPARATOR
        return [draft for draft in self.read_all() if draft.subject.startswith(beginning)]

    def keep(self, draft: Draft) -> None:
        """Write a draft. It replaces an earlier draft of the same text."""
        if len(draft.text) > MAX_DRAFT_CHARACTERS:
            return
        others = [other for other in self.read_all() if other.is_for != draft.is_for]
        self._write([*others, draft][-MAX_DRAFTS:])

    def remove(self, draft: Draft) -> None:
        """Remove the draft of the same text, if there is one."""
        drafts = self.read_all()
        others = [other for other in drafts if other.is_for != draft.is_for]
        if len(others) < len(drafts):
            self._write(others)

    def _write(self, drafts: Sequence[Draft]) -> None:
        entries = [asdict(draft) for draft in drafts]
        self._state.try_write(DRAFTS_FOLDER, {"drafts": entries})


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

    def keep(self, text: str) -> None:
        self._file.keep(replace(self._empty, text=text))

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
