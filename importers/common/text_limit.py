"""Limit the text of an item before it is stored: the last door for the items of all importers.

An importer keeps to the budget where it replaces references. This module bounds what is long in the
file itself, such as one message of 400 MB. A text that does not fit is replaced by a placeholder,
and an import issue says how many.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from fcreview.importers.common.budgets import MAX_ITEM_TEXT, MAX_ITEM_TEXT_SHOWN, TextBudget
from fcreview.model.item import (
    AcceptedValues,
    Call,
    Extra,
    GoldenObject,
    ImportIssue,
    Item,
    Message,
    StateDifference,
    TaskSection,
    Verdict,
)
from fcreview.model.wording import format_count

MAX_MEASURED_DEPTH = 300
CALL_OMITTED = "the call is omitted because the item has too much text"
QUOTES = 2
"""Characters around a text in JSON."""
SEPARATORS = 2
"""Characters between two values in JSON."""
SCALAR_CHARACTERS = 4
MAX_NAME_LENGTH = 200
"""Length after which the name of a function is cut if its docs are omitted."""

FunctionDocs = dict[str, Any]


@dataclass(slots=True)
class TextLimiter:
    """Limits the texts of the items of one run."""

    _last_functions: list[FunctionDocs] = field(default_factory=list)
    """The function docs that were measured last. Many items share one list."""
    _last_functions_length: int = 0

    def limit(self, item: Item) -> None:
        """Replace texts of an item by placeholders if all of them together are above the budget."""
        n_characters = _measure_item(item) + self._measure_functions(item.functions)
        if n_characters <= MAX_ITEM_TEXT:
            return

        budget = TextBudget()
        # This changes the item, and counts in the budget the texts that it replaces.
        _limit_item(item, budget)
        texts = format_count(budget.n_refused, "text was", "texts were")
        what = (
            f"{texts} replaced by a placeholder, because an item may have at most"
            f" {MAX_ITEM_TEXT_SHOWN} of text"
        )
        item.issues.append(ImportIssue(item.file, item.line, what=what, item=item.id))

    def _measure_functions(self, functions: list[FunctionDocs]) -> int:
        if functions is not self._last_functions:
            self._last_functions = functions
            self._last_functions_length = measure_value(functions)
        return self._last_functions_length


def make_placeholder(n_characters: int) -> str:
    return f"(omitted: {n_characters:,} characters)"


def _measure_item(item: Item) -> int:
    """Return about the length of all texts of an item, except its function docs."""
    n_characters = sum(len(message.content) for message in item.messages)
    n_characters += sum(_measure_call(call) for call in item.predicted)
    n_characters += sum(_measure_call(call) for call in item.golden)
    n_characters += sum(len(verdict.rationale or "") for verdict in item.verdicts)
    n_characters += sum(len(section.text) for section in item.task_sections)
    return n_characters + _measure_extra(item.extra)


def _measure_call(call: Call) -> int:
    return measure_value(call.arguments) + len(call.raw or "")


def _measure_extra(extra: Extra) -> int:
    """Return the number of characters in the further data of an item."""
    n_characters = measure_value(extra.metadata)
    n_characters += len(extra.golden_reply or "") + len(extra.final_answer or "")
    n_characters += measure_value(extra.golden_labels) + measure_value(extra.accepted_answers)
    n_characters += sum(len(review.reason or "") for review in extra.recorded_reviews)
    for difference in (extra.state_differences or {}).values():
        n_characters += _measure_difference(difference)
    return n_characters


def _measure_difference(difference: StateDifference) -> int:
    return measure_value(difference.golden) + measure_value(difference.predicted)


def measure_value(value: Any) -> int:
    """Return about how many characters a value has as JSON.

    This need not be exact, so that it is fast: it only limits how much text an item may have.
    """
    if isinstance(value, str):
        return len(value) + QUOTES
    # Writing the JSON takes a tenth of the time of a walk through the value.
    try:
        return len(orjson.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return _measure_parts(value, depth=0)


def _measure_parts(value: Any, depth: int) -> int:
    """Return about how many characters a value has as JSON.

    It is for values that orjson cannot write, such as those with long integers.
    """
    if isinstance(value, str):
        return len(value) + QUOTES
    if depth > MAX_MEASURED_DEPTH:
        # Deeper parts hardly matter for the size.
        return 1
    if isinstance(value, AcceptedValues):
        return _measure_parts(value.any_of, depth + 1)
    if isinstance(value, GoldenObject):
        return _measure_parts(value.fields, depth + 1)
    if isinstance(value, dict):
        return _measure_object(value, depth)
    if isinstance(value, (list, tuple)):
        return sum(_measure_parts(part, depth + 1) + SEPARATORS for part in value)
    return SCALAR_CHARACTERS


def _measure_object(value: dict[Any, Any], depth: int) -> int:
    n_characters = 0
    for key, part in value.items():
        n_characters += len(str(key)) + QUOTES
        n_characters += _measure_parts(part, depth + 1) + SEPARATORS
    return n_characters


def _limit_item(item: Item, budget: TextBudget) -> None:
    """Replace the texts of an item that exceed its budget, so that a huge item stays readable.

    The calls come first, because verdicts depend on them.
    """
    item.predicted = [_limit_call(call, budget) for call in item.predicted]
    item.golden = [_limit_call(call, budget) for call in item.golden]

    # Messages that items share must not change.
    n_shared = len(item.shared_opening or ())
    own_messages = [_limit_message(message, budget) for message in item.messages[n_shared:]]
    item.messages = item.messages[:n_shared] + own_messages

    item.verdicts = [_limit_verdict(verdict, budget) for verdict in item.verdicts]
    item.functions = [_limit_function(function, budget) for function in item.functions]
    item.task_sections = [_limit_section(section, budget) for section in item.task_sections]
    _limit_extra(item.extra, budget)


def _limit_call(call: Call, budget: TextBudget) -> Call:
    n_characters = _measure_call(call)
    if budget.spend(n_characters):
        return call
    placeholder = make_placeholder(n_characters)
    return replace(call, arguments=None, raw=placeholder, decode_error=CALL_OMITTED)


def _limit_message(message: Message, budget: TextBudget) -> Message:
    return replace(message, content=_limit_text(message.content, budget))


def _limit_verdict(verdict: Verdict, budget: TextBudget) -> Verdict:
    if verdict.rationale is None:
        return verdict
    return replace(verdict, rationale=_limit_text(verdict.rationale, budget))


def _limit_function(function: FunctionDocs, budget: TextBudget) -> FunctionDocs:
    n_characters = measure_value(function)
    if budget.spend(n_characters):
        return function
    name = str(function.get("name"))[:MAX_NAME_LENGTH]
    return {"name": name, "description": make_placeholder(n_characters)}


def _limit_section(section: TaskSection, budget: TextBudget) -> TaskSection:
    return replace(section, text=_limit_text(section.text, budget))


def _limit_text(text: str, budget: TextBudget) -> str:
    if budget.spend(len(text)):
        return text
    return make_placeholder(len(text))


def _limit_extra(extra: Extra, budget: TextBudget) -> None:
    """Replace the texts in the further parts of an item that exceed its budget."""
    _limit_answers(extra, budget)
    if extra.state_differences is not None:
        extra.state_differences = {
            name: _limit_difference(difference, budget)
            for name, difference in extra.state_differences.items()
        }
    for review in extra.recorded_reviews:
        if review.reason is not None:
            review.reason = _limit_text(review.reason, budget)
    for name, value in extra.metadata.items():
        extra.metadata[name] = _limit_value(value, budget)


def _limit_answers(extra: Extra, budget: TextBudget) -> None:
    """Replace long texts in the golden answers and the final answer."""
    if extra.golden_reply is not None:
        extra.golden_reply = _limit_text(extra.golden_reply, budget)
    if extra.final_answer is not None:
        extra.final_answer = _limit_text(extra.final_answer, budget)
    if extra.golden_labels is not None:
        extra.golden_labels = _limit_list(extra.golden_labels, budget)
    if extra.accepted_answers is not None:
        extra.accepted_answers = _limit_list(extra.accepted_answers, budget)


def _limit_list(values: list[Any], budget: TextBudget) -> list[Any]:
    return [_limit_value(value, budget) for value in values]


def _limit_difference(difference: StateDifference, budget: TextBudget) -> StateDifference:
    return replace(
        difference,
        golden=_limit_value(difference.golden, budget),
        predicted=_limit_value(difference.predicted, budget),
    )


def _limit_value(value: Any, budget: TextBudget) -> Any:
    n_characters = measure_value(value)
    if budget.spend(n_characters):
        return value
    return make_placeholder(n_characters)
