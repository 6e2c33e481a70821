"""Build the panel with the reasons why an item fails: sentence and error type of recomputed and official verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fcreview.model.item import Item
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.wording import describe_error_type
from fcreview.tui.item_view.blocks import Block, IndexedItem
from fcreview.tui.item_view.verdicts import (
    SOURCE_LABELS,
    criteria_text,
    main_verdict,
    paragraph_lines,
    verdict_reason,
)
from fcreview.tui.text.lines import Line, rule_line, truncate_error_type
from fcreview.tui.text.theme import symbols, verdict_style

HIDDEN_REASONS = "  verdicts and reasons: hidden until you submit"
SUSPICION_ROWS = 3
"""Largest number of rows for a reason why a golden answer is suspect."""
LABEL_CELLS = 12
"""Width, in cells, of the name of a verdict's source before its reason."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason for the verdict of one source."""

    source: str
    value: bool | None
    sentence: str
    code: str
    """Error type. Empty if there is none or if the sentence is the error type."""


def read_reason(item: Item, source: str) -> Reason:
    """Return the reason of the official or the recomputed (`rule`) verdict on the item."""
    official = source == "official"
    value, error_type = (item.official, item.error_type) if official else (item.rule, item.rule_error_type)
    verdict = main_verdict(item, source)
    code = (verdict.error_type if verdict else None) or error_type or ""
    sentence = verdict_reason(verdict, error_type).removeprefix(code).removeprefix(":").strip()
    sentence = sentence or describe_error_type(code) or code
    return Reason(source, value, sentence, "" if sentence == code else code)


def reason_blocks(indexed: IndexedItem, max_rows: int, *, has_heading: bool) -> list[Block]:
    """Return the panel with the reasons. Empty if it would only repeat the badges in the header.

    Blind review hides the reasons. `has_heading`: whether the panel always has a title. Otherwise it has a title only
    if the verdicts differ.
    """
    item = indexed.item
    if indexed.hide_verdicts:
        return [Block("hidden", lambda _: [((HIDDEN_REASONS, "dim"),)])]
    official, recomputed = read_reason(item, "official"), read_reason(item, "rule")
    criteria = [text for source in SOURCE_LABELS if (text := criteria_text(item, source))]
    fails = False in (official.value, recomputed.value)
    if item.rule is not None and not fails and not (official.sentence or recomputed.sentence or criteria):
        return []
    lines = partial(_reason_lines, item, official, recomputed, max_rows, has_heading)
    return [Block("verdicts", lines, title="verdicts")]


def _reason_lines(
    item: Item, official: Reason, recomputed: Reason, max_rows: int, has_heading: bool, cells: int
) -> list[Line]:
    known = official.value is not None and recomputed.value is not None
    differ = known and official.value != recomputed.value
    first, second = (
        (recomputed, official) if recomputed.value is not None or not official.sentence else (official, recomputed)
    )
    fails = False in (first.value, second.value)
    title = "Official and recomputed verdicts differ" if differ else "Why it fails" if fails else "Verdicts"
    lines = [rule_line(((title, "warn" if differ else "strong"),), cells)] if has_heading or differ else []
    if differ:
        for reason in (first, second):
            lines += _labelled_lines(reason, cells, max_rows)
    else:
        lines += _sentence_lines(first, cells, max_rows)
        if second.sentence and second.sentence != first.sentence:
            rest = second if second.code != first.code else Reason(second.source, second.value, second.sentence, "")
            lines += _labelled_lines(rest, cells, max(max_rows - 1, 1), with_verdict=False)
    if item.extra.failing_turn is not None and "turn" in f"{first.sentence} {second.sentence}":
        text = f"fails in turn {item.extra.failing_turn + 1} (the benchmark's own messages count turns from 0)"
        lines += paragraph_lines("", text, cells, "dim")
    for source, label in SOURCE_LABELS.items():
        lines += paragraph_lines(f"{label}: ", criteria_text(item, source), cells, "dim")
    if item.rule is None:
        note = f": {item.rule_note}" if item.rule_note else ""
        lines += paragraph_lines("", f"no recomputed verdict{note}", cells, "dim", 1)
    return lines


def _sentence_lines(reason: Reason, cells: int, max_rows: int) -> list[Line]:
    """Render the reason that comes first: the sentence, then the code on the same row if it fits."""
    return _with_code(paragraph_lines("", reason.sentence, cells, "differs", max_rows), reason.code, cells)


def _labelled_lines(reason: Reason, cells: int, max_rows: int, *, with_verdict: bool = True) -> list[Line]:
    sign = f" {symbols().verdict_symbol(reason.value)}" if with_verdict else ""
    label = f"{SOURCE_LABELS[reason.source]}{sign}  "
    text = reason.sentence or ("pass" if reason.value else "fail (no reason given)")
    style = verdict_style(reason.value) if with_verdict else ""
    lines = paragraph_lines(label.ljust(LABEL_CELLS + (2 if with_verdict else 0)), text, cells, style, max_rows)
    return _with_code(lines, reason.code, cells)


def _with_code(lines: list[Line], code: str, cells: int) -> list[Line]:
    code = sanitize(code)
    if not code or not lines:
        return lines
    used = sum(display_width(text) for text, _ in lines[-1])
    if used + 3 + display_width(code) <= cells:
        return [*lines[:-1], (*lines[-1], ("   ", ""), (code, "dim"))]
    return [*lines, (("  ", ""), (truncate_error_type(code, cells - 2), "dim"))]


def suspicion_blocks(suspicions: Sequence[str], *, has_heading: bool) -> list[Block]:
    """Return the panel with the reasons why the golden answer looks wrong. Empty without reasons."""
    if not suspicions:
        return []

    def lines(cells: int) -> list[Line]:
        rendered = [rule_line((("Why the golden answer is suspect", "strong"),), cells)] if has_heading else []
        for text in suspicions:
            rendered += paragraph_lines(f"{symbols().separator} ", text, cells, "golden", SUSPICION_ROWS)
        return rendered

    return [Block("suspicions", lines, title="why the golden answer is suspect")]
