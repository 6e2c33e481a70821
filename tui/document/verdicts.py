"""What was said about an item: official, rule, judge, people; and what is known besides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from fcreview.criteria import PASSING
from fcreview.extra import Extra
from fcreview.model import ImportIssue, Item, Verdict
from fcreview.review import Opinion
from fcreview.sanitise import visible, width
from fcreview.store.rows import ItemDetail
from fcreview.targets import WHOLE, words
from fcreview.text.words import word
from fcreview.tui.document.blocks import Block, Options
from fcreview.tui.document.texts import text_block
from fcreview.tui.text.lines import Line, Part, column, labelled, rule, size_text, spread, wrap_text
from fcreview.tui.text.theme import symbols, verdict_style

RATIONALE_ROWS = 8
SHORT = 48
"""Characters of a field that are shown without saying how many there are."""


def verdict_blocks(detail: ItemDetail, options: Options) -> list[Block]:
    """Official, rule and judge: empty while they are hidden from a blind annotator."""
    if options.hidden:
        return []
    judges = judged(detail.item)
    return [
        Block("verdicts", partial(verdict_lines, detail.item), title="verdicts"),
        *(Block(f"judge:{at}", partial(judge_lines, v), title="judge") for at, v in enumerate(judges)),
    ]


def judged(item: Item) -> list[Verdict]:
    """The judge's verdicts that say something of their own: on a part, only what is reasoned and not said above."""
    every = [v for v in item.verdicts if v.source == "judge"]
    whole = [v for v in every if v.target in WHOLE]
    said = {(v.criterion, v.rationale) for v in whole}
    parts = [v for v in every if v.target not in WHOLE and v.rationale]
    return whole + [v for v in parts if (v.criterion, v.rationale) not in said]


def measures(item: Item, source: str) -> str:
    """`func_ok ✓ · args_ok ✗ · missing city, time`: what a source says of the item beside passing or failing."""
    said = [v for v in item.verdicts if v.source == source and v.target in WHOLE and v.criterion != "correct"]
    return " · ".join(f"{visible(v.criterion)} {value_words(v.value, v.criterion)}" for v in said)


def call_verdicts(item: Item, address: str, cells: int) -> list[Line]:
    """What the benchmark said of one call, and at which of its tiers."""
    lines: list[Line] = []
    for v in item.verdicts:
        if v.target == address and v.source in ("official", "rule"):
            words = f"{v.source} {value_words(v.value, v.criterion)} {visible(v.criterion)}"
            detail = " · ".join(part for part in (words, v.by and visible(v.by)) if part)
            lines += _paragraph("", ": ".join(part for part in (detail, _reason(v, None)) if part), cells, "dim")
    return lines


def value_words(value: Any, criterion: str) -> str:
    """A verdict's value beside its criterion: a symbol, a number, or labels."""
    if value is None or (isinstance(value, bool) and criterion in PASSING):
        return symbols().verdict(value)
    return word(value, criterion) or "none"


def _of(item: Item, source: str) -> Verdict | None:
    of_item = [v for v in item.verdicts if v.source == source]
    return next((v for v in of_item if v.target == "item"), of_item[0] if of_item else None)


def verdict_lines(item: Item, cells: int) -> list[Line]:
    """One paragraph if official and rule say the same, one each and a plain word if they do not."""
    official, rule_verdict = _of(item, "official"), _of(item, "rule")
    said_official = _reason(official, item.error_type)
    said_rule = _reason(rule_verdict, item.rule_error_type)
    parts: list[Part] = [_mark("official", item.official), ("  ", ""), _mark("rule", item.rule)]
    both = item.official is not None and item.rule is not None
    reasons = bool(item.error_type and item.rule_error_type and item.error_type != item.rule_error_type)
    differ = both and (item.official != item.rule or reasons)
    if differ:
        parts.append(("  they differ" if item.official != item.rule else "  for different reasons", "warn"))
    lines = [rule(tuple(parts), cells)]
    if differ:
        for name, said, value in (("official", said_official, item.official), ("rule", said_rule, item.rule)):
            lines += _paragraph(f"{name:<9} ", said or ("passes" if value else "fails, no reason given"), cells)
            lines += _paragraph(" " * 10, measures(item, name), cells, "dim")
        return lines
    lines += _paragraph("", said_rule or said_official, cells)
    failing = item.extra.failing_turn
    if failing is not None:
        count = f"fails in turn {failing + 1}; the benchmark's own words count turns from 0"
        lines += _paragraph("", count, cells, "dim")
    for source in ("official", "rule"):
        lines += _paragraph(f"{source}: ", measures(item, source), cells, "dim")
    if item.rule is None:
        lines += _paragraph("rule: ", item.rule_note or "no verdict was recomputed", cells, "dim")
    return lines


def _reason(verdict: Verdict | None, error_type: str | None) -> str:
    error = (verdict.error_type if verdict else None) or error_type
    rationale = verdict.rationale if verdict else None
    return ": ".join(part for part in (error, rationale) if part)


def _mark(name: str, value: Any) -> Part:
    return (f"{name} {symbols().verdict(value)}", verdict_style(value))


def _paragraph(label: str, text: str, cells: int, style: str = "") -> list[Line]:
    if not text:
        return []
    rows = wrap_text(text, cells - len(label) - 2, RATIONALE_ROWS)
    return [(("  ", ""), *each) for each in labelled(label, rows, style)]


def judge_lines(verdict: Verdict, cells: int) -> list[Line]:
    about = "" if verdict.target == "item" else f" on {words(visible(verdict.target))}"
    criterion = "" if verdict.criterion == "correct" else f"{visible(verdict.criterion)} "
    value = value_words(verdict.value, verdict.criterion)
    head: Line = (
        (visible(f"judge {verdict.by or ''}".rstrip()), "strong"),
        (f" {symbols().rule * 2} {criterion}{value}{about}", _style(verdict.value, verdict.criterion)),
    )
    return [rule(head, cells), *_paragraph("", _reason(verdict, None), cells)]


def _style(value: Any, criterion: str) -> str:
    """Green and red only where true means right."""
    return verdict_style(value) if value is None or criterion in PASSING else ""


def _marked(value: Any, criterion: str) -> Any:
    """What a symbol can show of it: not yes or no, and no labels."""
    return None if isinstance(value, list) or (isinstance(value, bool) and criterion not in PASSING) else value


def opinion_blocks(detail: ItemDetail, annotator: str, options: Options) -> list[Block]:
    """What this annotator said, and the others unless that is hidden."""
    shown = [o for o in detail.opinions if o.annotator == annotator or not options.hidden]
    if not shown:
        return []
    return [Block("reviews", partial(_opinion_lines, shown, annotator), title="reviews")]


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
        parts += ["settles the item"] if opinion.adjudicated else []
        parts += ["STALE: prediction or golden answer changed since"] if opinion.stale else []
        mark = symbols().verdict(_marked(opinion.verdict, opinion.criterion))
        lines += _paragraph(f"{mark} {who}  ", " · ".join(parts), cells)
        if opinion.note:
            lines += _paragraph("  note  ", opinion.note, cells, "dim")
    return lines


def answer_blocks(item: Item, options: Options) -> list[Block]:
    """The golden answers and the one that was given below each other, where that is what is judged."""
    accepted, given = item.extra.accepted_answers, item.extra.final_answer
    if accepted is None:
        return []
    golden = " or ".join(json.dumps(each, ensure_ascii=False, default=str) for each in accepted)
    said = "(none)" if given is None else given
    return [
        Block("answer", lambda cells: [rule((("final answer", "strong"),), cells)], title="final answer"),
        text_block("answer/golden", "golden", golden, options, style="golden", title="golden answers"),
        text_block("answer/given", "given", said, options, style="predicted", title="final answer"),
    ]


def extra_blocks(item: Item, options: Options) -> list[Block]:
    """The benchmark's own fields, a line each, long ones opened in the pager; what tells the outcome is left out while
    verdicts are hidden."""
    fields = _more(item.extra)
    if options.hidden or not fields:
        return []
    names = min(max(width(visible(name)) for name in fields), 24)
    blocks = [Block("extra", lambda cells: [rule((("more", "strong"),), cells)])]
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        long = len(text) > SHORT
        blocks.append(
            Block(
                f"extra:{name}",
                partial(_field_lines, column(visible(name), names)[0], text, options.opens("opens it")),
                stop=long,
                foldable=long,
                folded=long,
                pages=True,
                title=visible(name),
                full=partial(str, text),
            )
        )
    return blocks


def _more(extra: Extra) -> dict[str, Any]:
    """What is not shown elsewhere: the benchmark's own fields, a state that belongs to no turn, what was left out."""
    known = extra.as_json()
    fields = {"redacted": True} if extra.redacted else {}
    if extra.failing_turn is None and "state_differences" in known:
        fields["state_differences"] = known["state_differences"]
    return fields | extra.more


def _field_lines(name: str, text: str, opens: str, cells: int) -> list[Line]:
    head = visible(text[: cells * 2])
    size = f"  {size_text(text)}, {opens}" if len(text) > SHORT else ""
    left: Line = ((f"  {name}  ", "dim"), (head, ""))
    return [spread(left, ((size, "dim"),), cells)]


def issue_blocks(issues: Sequence[ImportIssue]) -> list[Block]:
    if not issues:
        return []

    def lines(cells: int) -> list[Line]:
        made = [rule(((f"import: {len(issues)} remark{'s' * (len(issues) > 1)}", "strong"),), cells)]
        for issue in issues:
            where = visible(issue.file.rsplit("/", 1)[-1]) + (f":{issue.line}" if issue.line else "")
            made += _paragraph(f"{issue.severity}  ", f"{issue.what}  ({where})", cells)
        return made

    return [Block("issues", lines, title="import")]
