"""Replace references to the attachments of an Inspect sample by their texts, up to the text budget
of an item.

Inspect moves long texts of messages and events to the field `attachments` of the sample, and refers
to each one by `attachment://HASH`. A sample may refer to the same attachment any number of times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.budgets import MAX_ITEM_TEXT_SHOWN, TextBudget
from fcreview.importers.inspect.events import EventData, EventReply
from fcreview.model.wording import format_count

PREFIX = "attachment://"
MAX_RESOLVED_DEPTH = 60


@dataclass(slots=True)
class AttachmentResolver:
    """Replaces references in the values of one sample. All values share one budget."""

    attachments: dict[str, Any]
    """Texts by hash."""
    budget: TextBudget = field(default_factory=TextBudget)

    def resolve(self, value: Any, depth: int = 0) -> Any:
        """Replace each text `attachment://HASH` by the attachment.

        A reference stays as it is if its hash is unknown, or if the budget does not allow its text.
        """
        if isinstance(value, str):
            return self._resolve_text(value)
        if depth > MAX_RESOLVED_DEPTH:
            return value
        if isinstance(value, list):
            return [self.resolve(part, depth + 1) for part in value]
        if isinstance(value, dict):
            return {key: self.resolve(part, depth + 1) for key, part in value.items()}
        return value

    def resolve_event_data(self, data: EventData) -> None:
        data.functions = self.resolve(data.functions)
        data.replies = [
            EventReply(self.resolve(reply.message), reply.agent) for reply in data.replies
        ]

    def describe_refusals(self) -> str:
        """Return why references were not replaced, or an empty text if all were."""
        n_refused = self.budget.n_refused
        if not n_refused:
            return ""
        references = format_count(
            n_refused, "reference to an attachment was", "references to attachments were"
        )
        return (
            f"{references} not replaced by the text, because an item may have at most"
            f" {MAX_ITEM_TEXT_SHOWN} of text"
        )

    def _resolve_text(self, text: str) -> str:
        if not text.startswith(PREFIX):
            return text
        attachment = self.attachments.get(text.removeprefix(PREFIX))
        if not isinstance(attachment, str) or not self.budget.spend(len(attachment)):
            return text
        return attachment


def find_references(value: Any) -> set[str]:
    """Return the hashes of the attachments to which a value refers."""
    if isinstance(value, str):
        return {value.removeprefix(PREFIX)} if value.startswith(PREFIX) else set()
    parts: Iterable[Any] = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list):
        parts = value
    references: set[str] = set()
    for part in parts:
        references |= find_references(part)
    return references
