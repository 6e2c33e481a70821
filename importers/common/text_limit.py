"""Limit the text of an item before it is stored: the last door for the items of all importers.

An importer keeps to the budget where it replaces references. This module bounds what is long in the
file itself, such as one message of 400 MB. A text that does not fit is replaced by a placeholder,
and an import issue says how many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.common.budgets import MAX_ITEM_TEXT, MAX_ITEM_TEXT_SHOWN, TextBudget
from fcreview.model.item import Call, ImportIssue, Item, Message, Verdict
from fcreview.model.wording import format_count

MAX_MEASURED_DEPTH = 300


def limit_item_text(item: Item) -> None:
    """Replace texts of an item by placeholders if all of them together are above the budget."""
    is_large_record = item.length > MAX_ITEM_TEXT
    if not is_large_record and _measure_texts(item) <= MAX_ITEM_TEXT:
        return

    budget = TextBudget()
    # The calls come first, because verdicts depend on them.
    item.predicted = [_limit_call(call, budget) for call in item.predicted]
    n_shared = len(item.shared_opening or ())
    opening = item.messages[:n_shared]
    item.messages = opening + [
        _limit_message(message, budget) for message in item.messages[n_shared:]
    ]
    item.verdicts = [_limit_verdict(verdict, budget) for verdict in item.verdicts]
    metadata = item.extra.metadata
    for name, value in metadata.items():
        n_characters = measure_value(value)
        if not budget.spend(n_characters):
            metadata[name] = make_placeholder(n_characters)

    if budget.n_refused:
        texts = format_count(budget.n_refused, "text was", "texts were")
        what = (
            f"{texts} replaced by a placeholder, because an item may have at most"
            f" {MAX_ITEM_TEXT_SHOWN} of text"
        )
        item.issues.append(ImportIssue(item.file, item.line, what=what, item=item.id))


def make_placeholder(n_characters: int) -> str:
    return f"(omitted: {n_characters:,} characters)"


def _measure_texts(item: Item) -> int:
    """Return the length of the texts that can be longer than the record: importers may repeat
    them.
    """
    n_characters = sum(len(message.content) for message in item.messages)
    n_characters += sum(len(call.raw) for call in item.predicted if call.raw)
    n_characters += sum(len(verdict.rationale) for verdict in item.verdicts if verdict.rationale)
    return n_characters


def measure_value(value: Any, depth: int = 0) -> int:
    """Return about the length of a value as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if depth > MAX_MEASURED_DEPTH:
        return 1
    if isinstance(value, dict):
        return sum(
            len(str(key)) + measure_value(part, depth + 1) + 4 for key, part in value.items()
        )
    if isinstance(value, (list, tuple)):
        return sum(measure_value(part, depth + 1) + 2 for part in value)
    return 4


def _limit_call(call: Call, budget: TextBudget) -> Call:
    n_characters = measure_value(call.arguments) + len(call.raw or "")
    if budget.spend(n_characters):
        return call
    error = "the call is omitted because the item has too much text"
    return replace(call, arguments=None, raw=make_placeholder(n_characters), decode_error=error)


def _limit_message(message: Message, budget: TextBudget) -> Message:
    if budget.spend(len(message.content)):
        return message
    return replace(message, content=make_placeholder(len(message.content)))


def _limit_verdict(verdict: Verdict, budget: TextBudget) -> Verdict:
    n_characters = len(verdict.rationale or "")
    if budget.spend(n_characters):
        return verdict
    return replace(verdict, rationale=make_placeholder(n_characters))
