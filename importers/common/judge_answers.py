"""Read the answers of LLM judges, which programs write in many words."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.records import is_number
from fcreview.model.address import ITEM
from fcreview.model.item import Item, Verdict
from fcreview.model.json_value import to_json_text
from fcreview.model.review import ITEM_CORRECT

JUDGE = "LLM judge"
NO_ANSWER = "the judge's reply has no verdict that can be read"
PASSING_WORDS = frozenset({"yes", "true", "correct", "1", "pass", "[[a=b]]"})
FAILING_WORDS = frozenset({"no", "false", "incorrect", "0", "fail", "[[a!=b]]"})


_EQUIVALENCE_LABEL = re.compile(r"\[\[A!?=B\]\]")


def parse_judge_answer(answer: Any) -> Any:
    """Convert the answer of a judge to the value of a verdict. None if there is no answer.

    An answer that means pass or fail, such as `yes`, 0 or `incorrect`, becomes true or false. A
    number stays a number. Any other answer is a label, and becomes a list with it.
    """
    if isinstance(answer, bool):
        return answer
    if is_number(answer):
        return bool(answer) if answer in (0, 1) else float(answer)
    if answer is None or answer == "":
        return None

    text = answer if isinstance(answer, str) else to_json_text(answer)
    word = text.strip().lower()
    if word in PASSING_WORDS:
        return True
    if word in FAILING_WORDS:
        return False
    return [text.strip()]


def find_equivalence_label(text: str) -> str | None:
    """Return the last label in the text of a judge that compares two answers: `[[A=B]]`."""
    labels = _EQUIVALENCE_LABEL.findall(text)
    return labels[-1] if labels else None


def add_judge_verdict(
    item: Item,
    answer: Any,
    text: str | None,
    *,
    criterion: str,
    by: str | None,
    target: str = ITEM,
) -> None:
    """Add the verdict of a judge, an LLM that grades answers, to an item.

    Args:
        item: The item.
        answer: What the judge answered, such as `true`, `"yes"`, `0.8` or a label.
        text: The judge's explanation.
        criterion: The question that the judge answers, such as `correct`.
        by: Name of the judge, if it is known.
        target: The part of the item that was judged.
    """
    author = by or JUDGE
    value = parse_judge_answer(answer)
    if value is None:
        # The judge failed. This says nothing about the answer of the model.
        failure = f"{NO_ANSWER}: {text}" if text else NO_ANSWER
        add_failed_verdict(
            item, "judge", failure=failure, by=author, target=target, criterion=criterion
        )
        return

    verdict = Verdict("judge", value, target=target, criterion=criterion, by=author)
    verdict.rationale = text or None
    item.verdicts.append(verdict)

    # The first pass or fail on the whole item is the one that lists show.
    is_item_verdict = (target, criterion) == ITEM_CORRECT and isinstance(value, bool)
    if is_item_verdict and item.judge is None:
        item.judge = value
