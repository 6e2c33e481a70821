"""What was said about an item: official, rule, judge, people; and what is known besides.

The final answer beside the golden ones, where that is what is judged.

A mark on the line of every part that this annotator judged.

Where a golden answer comes from that is not the dataset's, or why a correction of it is not applied.

What judges said of the item or of its reply: the reasoned ones each with its reason, the bare ones on one line.

What was said of one part of an item, to stand at that part: official, rule, judge with its reason, and people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fcreview.model.address import ITEM, RESPONSE, WHOLE, words
from fcreview.model.item import Erratum, ImportIssue, Item, Verdict
from fcreview.model.review import Opinion
from fcreview.model.sanitize import clip, visible, width
from fcreview.model.verdict import PASSING
from fcreview.model.wording import word
from fcreview.tui.item_view.blocks import Block, LinesFor, Options, Scene, text_block
from fcreview.tui.text.lines import Line, Part, cut, fold_text, labelled, line_width, rule, spread, wrap_text
from fcreview.tui.text.theme import symbols, verdict_style


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


LONGEST_MARK = 28


def marked(blocks: Sequence[Block], opinions: Sequence[Opinion], annotator: str) -> list[Block]:
    """The blocks, with a mark on the first line of the first block of every target that this annotator judged."""
    said: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        mine = opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale
        if mine and opinion.target != ITEM:
            said.setdefault(opinion.target, []).append(opinion)
    made = []
    for block in blocks:
        here = said.pop(block.target or "", None)
        made.append(block if here is None else replace(block, lines=partial(_marked_lines, block.lines, here)))
    return made


def _marked_lines(lines: LinesFor, opinions: Sequence[Opinion], cells: int) -> list[Line]:
    first, *others = lines(cells) or [()]
    mark = _mark(opinions)
    if first and set(first[-1][0]) <= {symbols().rule}:  # a rule to the edge gives way without a sign
        text, style = first[-1]
        first = (*first[:-1], (text[: max(len(text) - line_width(mark) - 1, 0)], style))
    return [spread(first, mark, cells), *others]


def _mark(opinions: Sequence[Opinion]) -> Line:
    parts: list[Part] = [(" you", "dim")]
    for opinion in opinions:
        parts.append((f" {_said(opinion.verdict, opinion.criterion)}", _style(opinion.verdict, opinion.criterion)))
    return (*parts, (" ", ""))


def _said(value: Any, criterion: str) -> str:
    """A symbol where true means right, else the word: `no`, `2`."""
    plain = isinstance(value, list) or (isinstance(value, bool) and criterion not in PASSING)
    return cut(visible(word(value, criterion)), LONGEST_MARK) if plain else symbols().verdict(value)


def _style(value: Any, criterion: str) -> str:
    return verdict_style(value) if criterion in PASSING else "strong"


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
    parts: list[Part] = [_verdicts_mark("official", item.official), ("  ", ""), _verdicts_mark("rule", item.rule)]
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


def _verdicts_mark(name: str, value: Any) -> Part:
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
        (f" {symbols().rule * 2} {criterion}{value}{about}", _verdicts_style(verdict.value, verdict.criterion)),
    )
    return [rule(head, cells), *paragraph("", reason_of(verdict, None), cells)]


def _verdicts_style(value: Any, criterion: str) -> str:
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


def erratum_blocks(erratum: Erratum | None, options: Options) -> list[Block]:
    """Who corrected it, when and why; then the dataset's own golden answer, in one row. Nothing to blind annotators:
    it tells what others found."""
    if erratum is None or options.hidden:
        return []
    told = Block("erratum", partial(_lines, erratum), title="errata")
    if erratum.stale:
        return [told]
    old, title = json.dumps(erratum.old, ensure_ascii=False), "golden answer before errata"
    return [told, text_block("erratum/old", "was", old, options, rows=1, style="dim", title=title)]


def _lines(erratum: Erratum, cells: int) -> list[Line]:
    between = f" {symbols().between} "
    who = ", ".join(map(visible, erratum.who)) or "nobody named"
    title = "errata, not applied" if erratum.stale else "golden answer from errata"
    made = [rule(((title, "strong"), (between.join(["", who, visible(erratum.date[:10])]), "dim")), cells)]
    if erratum.stale:
        made += paragraph("", f"stale: {visible(erratum.stale)}", cells, "warn")
    for reason in erratum.reasons:
        made += paragraph("", reason, cells)
    return made


BARE = ("true", "false", "yes", "no", "1", "0", "correct", "incorrect", "pass", "fail")
"""Reasons that only repeat the verdict."""


def judge_blocks(of: Scene, target: str = ITEM, parent: str | None = None) -> list[Block]:
    """Of the item or of the response; empty while they are hidden from a blind annotator."""
    if of.hidden:
        return []
    verdicts = [v for v in of.item.verdicts if v.source == "judge" and v.target == target]
    beside = label_verdict(of.item) if of.item.extra.golden_labels is not None else None
    bare = [v for v in verdicts if is_bare(v) and v is not beside]  # labels stand in the row of the golden ones
    reasoned = [v for v in verdicts if not is_bare(v)]
    blocks = []
    if bare:
        blocks.append(Block(f"judge:{target}", partial(bare_lines, bare), parent=parent, title="judge"))
    for at, verdict in enumerate(reasoned):
        blocks.append(_reasoned(f"judge:{target}:{at}", verdict, parent))
    return blocks


def is_bare(verdict: Verdict) -> bool:
    said = (verdict.rationale or "").strip().strip(".").casefold()
    labels = ", ".join(map(str, verdict.value)) if isinstance(verdict.value, list) else str(verdict.value)
    return not verdict.error_type and (not said or said in BARE or said == labels.casefold())


def bare_lines(verdicts: Sequence[Verdict], cells: int) -> list[Line]:
    """`── judge gpt-4o ── ✓ · args_ok_llm ✓ ──`: as many as fit on a line."""
    lines: list[Line] = []
    parts: list[Part] = []
    last = ""
    for verdict in verdicts:
        name = visible(f"judge {verdict.by or ''}".rstrip())
        said: list[Part] = [] if name == last else [(f"{name} ", "strong")]
        criterion = "" if verdict.criterion == "correct" else f"{visible(verdict.criterion)} "
        said.append((criterion + value_words(verdict.value, verdict.criterion), _judges_style(verdict)))
        if parts and line_width((*parts, *said)) + 10 > cells:
            lines.append(rule(tuple(parts), cells))
            parts = []
            said = said if name != last else [(f"{name} ", "strong"), *said]
        parts += [(" · ", "dim"), *said] if parts else said
        last = name
    return [*lines, rule(tuple(parts), cells)]


def _judges_style(verdict: Verdict) -> str:
    """Green and red only where true means right."""
    return verdict_style(verdict.value) if verdict.value is None or verdict.criterion in PASSING else ""


def _reasoned(key: str, verdict: Verdict, parent: str | None) -> Block:
    reason = verdict.rationale or ""
    long = len(reason) > 70 * RATIONALE_ROWS or len(wrap_text(reason, 70, RATIONALE_ROWS + 1)) > RATIONALE_ROWS
    return Block(
        key,
        partial(judge_lines, verdict),
        stop=long,
        foldable=long,
        folded=long,
        pages=long,
        parent=parent,
        title=f"judge {visible(verdict.by or '')}",
        full=lambda: reason,
    )


def label_verdict(item: Item) -> Verdict | None:
    """The judge's labels of the reply."""
    found = (v for v in item.verdicts if v.source == "judge" and v.target == RESPONSE and isinstance(v.value, list))
    return next(found, None)


REASON_ROWS = 4
SPOKEN = ("official", "rule", "judge")
FLAGS = ("hallucinated",)
"""Criteria of arguments that are told at their call: names only."""


def said_block(of: Scene, address: str, parent: str | None, spoken: Sequence[str] = SPOKEN) -> list[Block]:
    """A block of its own below the part, so that the part's lines stay what they are; nothing if nothing was said.

    `spoken`: the sources that are told here. What official says of a turn stands above the trajectory already.
    """
    verdicts = [] if of.hidden else [v for v in verdicts_on(of, address) if v.source in spoken]
    opinions = opinions_on(of, address)
    if not verdicts and not opinions:
        return []

    def lines(cells: int) -> list[Line]:
        made: list[Line] = []
        for verdict in verdicts:
            made += _verdict(verdict, cells)
        for opinion in opinions:
            made += _opinion(opinion, of.annotator, cells)
        return made

    return [Block(f"{address}/said", lines, target=address, parent=parent, title="verdicts on it")]


def own_block(of: Scene, address: str, parent: str | None) -> list[Block]:
    """What people said of it, where judges have a block of their own."""
    opinions = opinions_on(of, address)
    if not opinions:
        return []

    def lines(cells: int) -> list[Line]:
        return [each for opinion in opinions for each in _opinion(opinion, of.annotator, cells)]

    return [Block(f"{address}/said", lines, target=address, parent=parent, title="verdicts on it")]


def verdicts_on(of: Scene, address: str) -> list[Verdict]:
    """Those that tell something: on the part itself, and flags raised on its arguments."""
    own = [v for v in of.verdicts.get(address, ()) if v.source != "human"]
    flags = [v for v in of.flags.get(address, ()) if v.criterion in FLAGS and v.value is True]
    told = [v for v in own if v.source != "judge" or v.rationale or v.value is False]
    return told + flags


def opinions_on(of: Scene, address: str) -> list[Opinion]:
    return of.said.get(address, [])


def refused(of: Scene, address: str) -> bool:
    """Whether anybody said of the part that it is wrong, or the reader said anything at all."""
    if opinions_on(of, address):
        return True
    return not of.hidden and any(v.value is False or v.source == "judge" for v in verdicts_on(of, address))


def mark_of(of: Scene, address: str) -> str:
    """` · you ✗` behind a part that is shown on one line."""
    shown = [opinion for opinion in opinions_on(of, address) if opinion.verdict is not None]
    marks = [(_who(o, of.annotator), symbols().verdict(marked_value(o.verdict, o.criterion))) for o in shown]
    return "".join(f" · {who} {mark}" for who, mark in marks)


def _verdict(verdict: Verdict, cells: int) -> list[Line]:
    argument = verdict.target.partition("/arg:")[2]
    by = verdict.by or ""
    who = f"judge {by}".rstrip() if verdict.source == "judge" else verdict.source
    if argument:
        return paragraph(f"{visible(who)}  ", f"{verdict.criterion}: {argument}", cells, "warn")
    head = f"{visible(who)} {value_words(verdict.value, verdict.criterion)} {visible(verdict.criterion)}"
    if verdict.source != "judge" and by:
        head += f" · {visible(by)}"
    said = reason_of(verdict, None)
    passes = verdict.value is not False or verdict.criterion not in PASSING
    style = "dim" if passes and verdict.source != "judge" else ""
    return paragraph("", f"{head}: {said}" if said else head, cells, style, REASON_ROWS)


def _opinion(opinion: Opinion, annotator: str, cells: int) -> list[Line]:
    parts = [word(opinion.verdict, opinion.criterion)] if opinion.verdict is not None else []
    parts += [visible(opinion.criterion)] if opinion.criterion != "correct" else []
    parts += [f"wrong: {opinion.fault}"] if opinion.fault else []
    parts += [f"overrules: {visible(opinion.reason)}"] if opinion.reason else []
    parts += ["tags " + visible(", ".join(opinion.tags))] if opinion.tags else []
    parts += [visible(opinion.note)] if opinion.note else []
    mark = symbols().verdict(marked_value(opinion.verdict, opinion.criterion))
    return paragraph(f"{_who(opinion, annotator)} {mark}  ", " · ".join(parts), cells, "strong", REASON_ROWS)


def _who(opinion: Opinion, annotator: str) -> str:
    return "you" if opinion.annotator == annotator else visible(opinion.annotator)
