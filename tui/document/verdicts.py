"""What was said about an item: official, rule, judge, people; and what is known besides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from fcreview.criteria import PASSING
from fcreview.model import ImportIssue, Item, Verdict
from fcreview.review import Opinion
from fcreview.sanitise import clip, visible, width
from fcreview.targets import WHOLE, words
from fcreview.text.words import word
from fcreview.tui.document.blocks import Block
from fcreview.tui.document.scene import Scene
from fcreview.tui.text.lines import Line, Part, fold_text, labelled, rule
from fcreview.tui.text.theme import symbols, verdict_style

RATIONALE_ROWS = 8


def verdict_blocks(of: Scene, most: int = RATIONALE_ROWS) -> list[Block]:
    """Official and rule, `most` rows of each reason: empty while they are hidden from a blind annotator."""
    if of.hidden:
        return []
    return [Block("verdicts", partial(verdict_lines, of.item, most), title="verdicts")]


def measures(item: Item, source: str) -> str:
    """`func_ok ✓ · args_ok ✗ · missing city, time`: what a source says of the item beside passing or failing."""
    said = [v for v in item.verdicts if v.source == source and v.target in WHOLE and v.criterion != "correct"]
    return " · ".join(f"{visible(v.criterion)} {value_words(v.value, v.criterion)}" for v in said)


def value_words(value: Any, criterion: str) -> str:
    """A verdict's value beside its criterion: a symbol, a number of at most four places, or labels."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if value is None or (isinstance(value, bool) and criterion in PASSING):
        return symbols().verdict(value)
    return word(value, criterion) or "none"


def _of(item: Item, source: str) -> Verdict | None:
    of_item = [v for v in item.verdicts if v.source == source]
    return next((v for v in of_item if v.target == "item"), of_item[0] if of_item else None)


def verdict_lines(item: Item, most: int, cells: int) -> list[Line]:
    """One paragraph if official and rule say the same, one each and a plain word if they do not."""
    official, rule_verdict = _of(item, "official"), _of(item, "rule")
    said_official = reason_of(official, item.error_type)
    said_rule = reason_of(rule_verdict, item.rule_error_type)
    parts: list[Part] = [_mark("official", item.official), ("  ", ""), _mark("rule", item.rule)]
    both = item.official is not None and item.rule is not None
    reasons = bool(item.error_type and item.rule_error_type and item.error_type != item.rule_error_type)
    differ = both and (item.official != item.rule or reasons)
    if differ:
        parts.append(("  they differ" if item.official != item.rule else "  for different reasons", "warn"))
    lines = [rule(tuple(parts), cells)]
    if differ:
        for name, said, value in (("official", said_official, item.official), ("rule", said_rule, item.rule)):
            lines += paragraph(
                f"{name:<9} ", said or ("passes" if value else "fails, no reason given"), cells, "", most
            )
            lines += paragraph(" " * 10, measures(item, name), cells, "dim")
        return lines
    lines += paragraph("", said_rule or said_official, cells, "", most)
    failing = item.extra.failing_turn
    if failing is not None:
        count = f"fails in turn {failing + 1}; the benchmark's own words count turns from 0"
        lines += paragraph("", count, cells, "dim")
    for source in ("official", "rule"):
        lines += paragraph(f"{source}: ", measures(item, source), cells, "dim")
    if item.rule is None:
        lines += paragraph("rule: ", item.rule_note or "no verdict was recomputed", cells, "dim")
    return lines


def reason_of(verdict: Verdict | None, error_type: str | None) -> str:
    error = (verdict.error_type if verdict else None) or error_type
    rationale = verdict.rationale if verdict else None
    if error and rationale and rationale.startswith(f"{error}:"):
        return rationale
    return ": ".join(part for part in (error, rationale) if part)


def _mark(name: str, value: Any) -> Part:
    return (f"{name} {symbols().verdict(value)}", verdict_style(value))


def paragraph(label: str, text: str, cells: int, style: str = "", most: int = RATIONALE_ROWS) -> list[Line]:
    """A text behind its label, indented; cut to `most` rows, which its last one then shows."""
    if not text:
        return []
    rows, more = fold_text(text, cells - width(label) - 2, most)
    if more:
        rows[-1] = clip(rows[-1], max(cells - width(label) - 4, 1)) + " …"
    return [(("  ", ""), *each) for each in labelled(label, rows, style)]


def judge_lines(verdict: Verdict, cells: int) -> list[Line]:
    about = "" if verdict.target == "item" else f" on {words(visible(verdict.target))}"
    criterion = "" if verdict.criterion == "correct" else f"{visible(verdict.criterion)} "
    value = value_words(verdict.value, verdict.criterion)
    head: Line = (
        (visible(f"judge {verdict.by or ''}".rstrip()), "strong"),
        (f" {symbols().rule * 2} {criterion}{value}{about}", _style(verdict.value, verdict.criterion)),
    )
    return [rule(head, cells), *paragraph("", reason_of(verdict, None), cells)]


def _style(value: Any, criterion: str) -> str:
    """Green and red only where true means right."""
    return verdict_style(value) if value is None or criterion in PASSING else ""


def marked_value(value: Any, criterion: str) -> Any:
    """What a symbol can show of it: not yes or no, and no labels."""
    return None if isinstance(value, list) or (isinstance(value, bool) and criterion not in PASSING) else value


def opinion_blocks(of: Scene) -> list[Block]:
    """What this annotator said, and the others unless that is hidden."""
    if not of.opinions:
        return []
    return [Block("reviews", partial(_opinion_lines, of.opinions, of.annotator), title="reviews")]


def _opinion_lines(opinions: Sequence[Opinion], annotator: str, cells: int) -> list[Line]:
    lines = [rule((("reviews", "strong"),), cells)]
    for opinion in opinions:
        who = "you" if opinion.annotator == annotator else visible(opinion.annotator)
        parts = [word(opinion.verdict, opinion.criterion)] if opinion.verdict is not None else []
        parts += [f"on {words(visible(opinion.target))}"] if opinion.target != "item" else []
        parts += [visible(opinion.criterion)] if opinion.criterion != "correct" else []
        parts += [f"wrong: {opinion.fault}"] if opinion.fault else []
        parts += ["tags " + visible(", ".join(opinion.tags))] if opinion.tags else []
        parts += ["golden fix " + json.dumps(opinion.golden_fix)] if opinion.golden_fix else []
        parts += [f"overrules: {visible(opinion.reason)}"] if opinion.reason else []
        parts += ["settles the item"] if opinion.adjudicated else []
        parts += ["STALE: prediction or golden answer changed since"] if opinion.stale else []
        mark = symbols().verdict(marked_value(opinion.verdict, opinion.criterion))
        lines += paragraph(f"{mark} {who}  ", " · ".join(parts), cells)
        if opinion.note:
            lines += paragraph("  note  ", opinion.note, cells, "dim")
    return lines


def issue_blocks(issues: Sequence[ImportIssue]) -> list[Block]:
    if not issues:
        return []

    def lines(cells: int) -> list[Line]:
        made = [rule(((f"import: {len(issues)} remark{'s' * (len(issues) > 1)}", "strong"),), cells)]
        for issue in issues:
            where = visible(issue.file.rsplit("/", 1)[-1]) + (f":{issue.line}" if issue.line else "")
            made += paragraph(f"{issue.severity}  ", f"{issue.what}  ({where})", cells)
        return made

    return [Block("issues", lines, title="import")]
