"""Render the verdicts on an item and its parts, with reasons, reviews, errata and import issues.

Blind annotators see only their own reviews.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fcreview.model.address import ITEM, RESPONSE, WHOLE_TARGETS, describe_address
from fcreview.model.effective_verdict import is_definite
from fcreview.model.incident import describe_incident
from fcreview.model.item import Erratum, ImportIssue, Item, RecordedReview, Verdict
from fcreview.model.review import CORRECT, Opinion
from fcreview.model.sanitize import clip, display_width, sanitize
from fcreview.model.verdict import DECISIVE_STEP, PASS_FAIL_CRITERIA, SCALES
from fcreview.model.wording import (
    describe_error_type,
    describe_verdict_failure,
    format_count,
    format_verdict,
)
from fcreview.store.rows import Suspicion
from fcreview.tui.item_view.blocks import (
    INCIDENT_KEY,
    Block,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    text_block,
)
from fcreview.tui.text.lines import (
    Line,
    StyledText,
    justify_line,
    line_width,
    prefix_rows_with_label,
    rule_line,
    sanitize_and_wrap,
    truncate,
    truncate_error_type,
    wrap_first_rows,
)
from fcreview.tui.text.styles import get_verdict_style, symbols


def final_answer_blocks(item: Item, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the golden answers and the final answer.

    Empty if the benchmark judges no final answer.
    """
    accepted, answer = item.extra.accepted_answers, item.extra.final_answer
    if accepted is None:
        return []
    golden = " or ".join(json.dumps(value, ensure_ascii=False, default=str) for value in accepted)
    text = "(none)" if answer is None else answer
    return [
        Block(
            "answer",
            lambda cells: [rule_line((("final answer", "strong"),), cells)],
            title="final answer",
        ),
        text_block(
            "answer/golden", "golden", golden, options, style="golden", title="golden answers"
        ),
        text_block(
            "answer/given", "answer", text, options, style="predicted", title="final answer"
        ),
    ]


MAX_MARK_CELLS = 28


def mark_reviewed_blocks(
    blocks: Sequence[Block], opinions: Sequence[Opinion], annotator: str
) -> list[Block]:
    """Show the annotator's verdicts at the right end of the first line of each reviewed target."""
    reviews: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        mine = opinion.annotator == annotator and opinion.verdict is not None and not opinion.stale
        if mine and opinion.target != ITEM:
            reviews.setdefault(opinion.target, []).append(opinion)
    marked = []
    for block in blocks:
        own = reviews.pop(block.target or "", None)
        marked.append(
            block
            if own is None
            else replace(block, lines=partial(_lines_with_review_marks, block.lines, own))
        )
    return marked


def _lines_with_review_marks(
    render: LineRenderer, opinions: Sequence[Opinion], cells: int
) -> list[Line]:
    first, *others = render(cells) or [()]
    mark: Line = ((" you", "dim"), *map(_review_mark, opinions), (" ", ""))
    # A horizontal rule needs no ellipsis where it is cut.
    if first and set(first[-1][0]) <= {symbols().rule}:
        text, style = first[-1]
        first = (*first[:-1], (text[: max(len(text) - line_width(mark) - 1, 0)], style))
    return [justify_line(first, mark, cells), *others]


def _review_mark(opinion: Opinion) -> StyledText:
    value, criterion = opinion.verdict, opinion.criterion
    text = (
        symbols().verdict_symbol(value)
        if _is_shown_as_symbol(value, criterion)
        else truncate(format_verdict(value, criterion), MAX_MARK_CELLS)
    )
    return f" {text}", _value_style(value, criterion, "strong")


def _is_shown_as_symbol(value: Any, criterion: str) -> bool:
    return not isinstance(value, list) and not (
        isinstance(value, bool) and criterion not in PASS_FAIL_CRITERIA
    )


def _verdict_symbol(value: Any, criterion: str) -> str:
    return symbols().verdict_symbol(value if _is_shown_as_symbol(value, criterion) else None)


def _value_style(value: Any, criterion: str, neutral_style: str = "") -> str:
    return (
        get_verdict_style(value)
        if value is None or criterion in PASS_FAIL_CRITERIA
        else neutral_style
    )


RATIONALE_ROWS = 8
SOURCE_LABELS = {"official": "official", "rule": "recomputed"}


def format_other_criteria(item: Item, source: str) -> str:
    """Format a source's verdicts on other criteria than `correct`: `func_ok ✓ · args_ok ✗`. The
    decisive step is omitted.
    """
    verdicts = [
        v
        for v in item.verdicts
        if v.source == source
        and v.target in WHOLE_TARGETS
        and v.criterion not in (CORRECT, DECISIVE_STEP)
        and not _is_verdict_of_further_scorer(v)
    ]
    return " · ".join(
        f"{sanitize(v.criterion)} {format_verdict_value(v.value, v.criterion)}" for v in verdicts
    )


def format_verdict_value(value: Any, criterion: str) -> str:
    """Format a verdict's value: a symbol for pass and fail, else a word, a list of labels, or a
    number with four significant digits.
    """
    if isinstance(value, float):
        return f"{value:.4g}"
    if value is None or (isinstance(value, bool) and criterion in PASS_FAIL_CRITERIA):
        return symbols().verdict_symbol(value)
    return format_verdict(value, criterion) or "none"


def find_main_verdict(item: Item, source: str) -> Verdict | None:
    """Return a source's verdict on the item, else its first verdict on a part.

    Decisive steps are ignored.
    """
    verdicts = [
        each for each in item.verdicts if each.source == source and each.criterion != DECISIVE_STEP
    ]
    return next((v for v in verdicts if v.target == ITEM), verdicts[0] if verdicts else None)


def _verdict_remark_lines(
    item: Item, cells: int, *, show_failing_turn: bool, max_note_rows: int
) -> list[Line]:
    """Render the failing turn, the verdicts on other criteria, and the reason why there is no
    recomputed verdict.
    """
    lines: list[Line] = []
    if show_failing_turn and item.extra.failing_turn is not None:
        text = (
            f"fails in turn {item.extra.failing_turn + 1} (the benchmark's own messages count turns"
            " from 0)"
        )
        lines += paragraph_lines("", text, cells, "dim")
    for source, label in SOURCE_LABELS.items():
        lines += paragraph_lines(f"{label}: ", format_other_criteria(item, source), cells, "dim")
    if item.rule is None:
        note = f": {item.rule_note}" if item.rule_note else ""
        lines += paragraph_lines("", f"no recomputed verdict{note}", cells, "dim", max_note_rows)
    return lines


def format_verdict_reason(verdict: Verdict | None, default_error_type: str | None) -> str:
    """Format the error type and the rationale of a verdict. `default_error_type`: used if the
    verdict has none. If the judge or scorer failed, say so.
    """
    if verdict is not None and verdict.failure:
        failure = describe_verdict_failure(verdict.source, verdict.failure)
        return f"{failure}: {verdict.rationale}" if verdict.rationale else failure
    error = (verdict.error_type if verdict else None) or default_error_type
    rationale = verdict.rationale if verdict else None
    if error and rationale and rationale.startswith(f"{error}:"):
        return rationale
    return ": ".join(part for part in (error, rationale) if part)


def paragraph_lines(
    label: str, text: str, cells: int, style: str = "", max_rows: int = RATIONALE_ROWS
) -> list[Line]:
    """Render a text with a label in at most `max_rows` rows. An empty text has no rows."""
    if not text:
        return []
    rows, has_more = wrap_first_rows(text, cells - display_width(label) - 2, max_rows)
    if has_more:
        rows[-1] = clip(rows[-1], max(cells - display_width(label) - 4, 1)).rstrip("… ") + " …"
    return [(("  ", ""), *row) for row in prefix_rows_with_label(label, rows, style)]


def review_blocks(indexed: IndexedItem) -> list[Block]:
    recorded = [] if indexed.hide_verdicts else indexed.item.extra.recorded_reviews
    blocks = []
    if indexed.opinions:
        lines = partial(_review_lines, indexed.opinions, indexed.annotator)
        blocks.append(Block("reviews", lines, title="reviews"))
    if recorded:
        blocks.append(
            Block(
                "recorded",
                partial(_recorded_review_lines, recorded),
                title="reviews in the run's files",
            )
        )
    return blocks


def _recorded_review_lines(reviews: Sequence[RecordedReview], cells: int) -> list[Line]:
    hint = " not counted as reviews until you import them with import-labels"
    lines = [rule_line((("reviews in the run's files", "strong"), (hint, "dim")), cells)]
    for review in reviews:
        parts = [] if review.verdict is None else [format_verdict(review.verdict, review.criterion)]
        parts += [sanitize(review.criterion)] if review.criterion != "correct" else []
        parts += (
            [f"on {describe_address(sanitize(review.target))}"] if review.target != ITEM else []
        )
        parts += [f"fault: {sanitize(review.fault)}"] if review.fault else []
        parts += [sanitize(", ".join(review.tags))] if review.tags else []
        parts += [sanitize(review.reason)] if review.reason else []
        parts += [sanitize(review.time[:10])] if review.time else []
        symbol = _verdict_symbol(review.verdict, review.criterion)
        label = f"{symbol} {sanitize(review.source)}: {sanitize(review.author)}  "
        lines += paragraph_lines(label, " · ".join(parts), cells)
    return lines


def _review_lines(opinions: Sequence[Opinion], annotator: str, cells: int) -> list[Line]:
    lines = [rule_line((("reviews", "strong"),), cells)]
    for opinion in opinions:
        parts = _review_texts(opinion)
        if opinion.target != ITEM:
            parts.insert(
                0 if opinion.verdict is None else 1,
                f"on {describe_address(sanitize(opinion.target))}",
            )
        parts += [f"golden fix: {json.dumps(opinion.golden_fix)}"] if opinion.golden_fix else []
        parts += ["adjudicated"] if opinion.is_adjudication else []
        parts += ["STALE: the prediction or the golden answer has changed"] if opinion.stale else []
        symbol = _verdict_symbol(opinion.verdict, opinion.criterion)
        lines += paragraph_lines(
            f"{symbol} {_annotator_label(opinion, annotator)}  ", " · ".join(parts), cells
        )
        lines += paragraph_lines("  note  ", opinion.note or "", cells, "dim")
    return lines


def _review_texts(opinion: Opinion) -> list[str]:
    parts = (
        [format_verdict(opinion.verdict, opinion.criterion)] if opinion.verdict is not None else []
    )
    if opinion.criterion == DECISIVE_STEP and is_definite(opinion.verdict):
        parts = [f"decisive step: message {part}" for part in parts]
    elif opinion.criterion != CORRECT:
        parts.append(sanitize(opinion.criterion))
    parts += [f"fault: {opinion.fault}"] if opinion.fault else []
    parts += [f"override: {sanitize(opinion.reason)}"] if opinion.reason else []
    parts += ["tags: " + sanitize(", ".join(opinion.tags))] if opinion.tags else []
    parts += (
        ["bulk review: not counted in agreement, calibration and estimates"] if opinion.bulk else []
    )
    return parts


def _annotator_label(opinion: Opinion, annotator: str) -> str:
    return "you" if opinion.annotator == annotator else sanitize(opinion.annotator)


def import_issue_blocks(issues: Sequence[ImportIssue]) -> list[Block]:
    if not issues:
        return []

    def render_lines(cells: int) -> list[Line]:
        rendered = [rule_line(((format_count(len(issues), "import issue"), "strong"),), cells)]
        for issue in issues:
            location = sanitize(issue.file.rsplit("/", 1)[-1]) + (
                f":{issue.line}" if issue.line else ""
            )
            rendered += paragraph_lines(f"{issue.severity}  ", f"{issue.what}  ({location})", cells)
        return rendered

    return [Block("issues", render_lines, title="import issues")]


def erratum_blocks(erratum: Erratum | None, options: DisplayOptions) -> list[Block]:
    """Return the blocks of the erratum that changed the golden answer. Blind review hides them,
    because an erratum can reveal other reviews.
    """
    if erratum is None or options.hide_verdicts:
        return []
    block = Block("erratum", partial(_erratum_lines, erratum), title="errata")
    if erratum.stale:
        return [block]
    old, title = json.dumps(erratum.old, ensure_ascii=False), "golden answer before errata"
    return [
        block,
        text_block("erratum/old", "before", old, options, folded_rows=1, style="dim", title=title),
    ]


def _erratum_lines(erratum: Erratum, cells: int) -> list[Line]:
    separator = f" {symbols().separator} "
    authors = ", ".join(map(sanitize, erratum.who)) or "author unknown"
    title = "erratum not applied" if erratum.stale else "golden answer from errata"
    lines = [
        rule_line(
            (
                (title, "strong"),
                (separator.join(["", authors, sanitize(erratum.date[:10])]), "dim"),
            ),
            cells,
        )
    ]
    if erratum.stale:
        lines += paragraph_lines("", f"stale: {sanitize(erratum.stale)}", cells, "warn")
    for reason in erratum.reasons:
        lines += paragraph_lines("", reason, cells)
    return lines


VERDICT_WORDS = ("true", "false", "yes", "no", "1", "0", "correct", "incorrect", "pass", "fail")


def judge_blocks(
    indexed: IndexedItem, target: str = ITEM, max_rows: int = RATIONALE_ROWS
) -> list[Block]:
    """Return the judge verdicts on the item or response.

    Verdicts without a rationale share one line.
    """
    if indexed.hide_verdicts:
        return []
    verdicts = [v for v in indexed.item.verdicts if v.source == "judge" and v.target == target]
    labels = (
        find_judge_label_verdict(indexed.item)
        if indexed.item.extra.golden_labels is not None
        else None
    )
    # A judge verdict on labels is omitted here, because it is shown next to the golden labels.
    unexplained = [v for v in verdicts if not _has_rationale(v) and v is not labels]
    blocks = []
    if unexplained:
        render = partial(_judge_lines_without_rationale, unexplained)
        blocks.append(Block(f"judge:{target}", render, title="judge"))
    for at, verdict in enumerate(filter(_has_rationale, verdicts)):
        blocks.append(_judge_rationale_block(f"judge:{target}:{at}", verdict, max_rows))
    return blocks


def _has_rationale(verdict: Verdict) -> bool:
    if verdict.failure:
        return True
    rationale = (verdict.rationale or "").strip().strip(".").casefold()
    value = (
        ", ".join(map(str, verdict.value))
        if isinstance(verdict.value, list)
        else str(verdict.value)
    )
    return bool(
        verdict.error_type or (rationale and rationale not in (*VERDICT_WORDS, value.casefold()))
    )


def _judge_name(verdict: Verdict) -> str:
    return sanitize(f"judge {verdict.by or ''}".rstrip())


def _judge_verdict_text(verdict: Verdict, suffix: str = "") -> StyledText:
    criterion = "" if verdict.criterion == "correct" else f"{sanitize(verdict.criterion)} "
    text = f"{criterion}{format_verdict_value(verdict.value, verdict.criterion)}{suffix}"
    return text, _value_style(verdict.value, verdict.criterion)


def _judge_lines_without_rationale(verdicts: Sequence[Verdict], cells: int) -> list[Line]:
    """Render `── judge gpt-4o ✓ · args_ok_llm ✓ "True" ──`. A reply that several verdicts share is
    shown after the last of them.
    """
    lines: list[Line] = []
    parts: list[StyledText] = []
    previous = ""
    last_with_reply = {verdict.rationale: at for at, verdict in enumerate(verdicts)}
    for at, verdict in enumerate(verdicts):
        name = _judge_name(verdict)
        value: Line = (_judge_verdict_text(verdict),)
        if verdict.rationale and last_with_reply[verdict.rationale] == at:
            value = (*value, (f' "{sanitize(verdict.rationale.strip())}"', "dim"))
        named: list[StyledText] = [(f"{name} ", "strong"), *value]
        entry = [*value] if name == previous else named
        if parts and line_width((*parts, *entry)) + 10 > cells:
            lines.append(rule_line(tuple(parts), cells))
            parts, entry = [], named
        parts += [(" · ", "dim"), *entry] if parts else entry
        previous = name
    return [*lines, rule_line(tuple(parts), cells)]


def _judge_rationale_block(key: str, verdict: Verdict, max_rows: int) -> Block:
    rationale = verdict.rationale or ""
    long = (
        len(rationale) > 70 * max_rows
        or len(sanitize_and_wrap(rationale, 70, max_rows + 1)) > max_rows
    )
    on_target = (
        "" if verdict.target == ITEM else f" on {describe_address(sanitize(verdict.target))}"
    )

    def render_lines(cells: int) -> list[Line]:
        value, style = _judge_verdict_text(verdict, on_target)
        head: Line = ((_judge_name(verdict), "strong"), (f" {symbols().rule * 2} {value}", style))
        return [
            rule_line(head, cells),
            *paragraph_lines("", format_verdict_reason(verdict, None), cells, "", max_rows),
        ]

    return Block(
        key,
        render_lines,
        foldable=long,
        folded=long,
        opens_pager=long,
        title=f"judge {sanitize(verdict.by or '')}",
        full_text=lambda: rationale,
    )


def find_judge_label_verdict(item: Item) -> Verdict | None:
    """Return the first judge verdict that assigns labels to the response, or None."""
    found = (
        v
        for v in item.verdicts
        if v.source == "judge" and v.target == RESPONSE and isinstance(v.value, list)
    )
    return next(found, None)


TARGET_REASON_ROWS = 4
AUTOMATIC_SOURCES = ("official", "rule", "judge")
ARGUMENT_FLAGS = ("hallucinated",)
"""Criteria of verdicts on arguments. Positive verdicts on these criteria are shown below the call,
with the name of the argument.
"""


def target_verdict_and_review_blocks(
    indexed: IndexedItem, target: str, automatic_sources: Sequence[str] = AUTOMATIC_SOURCES
) -> list[Block]:
    """Return a block with the automatic verdicts and the reviews on a target.

    Empty if there are none.
    """
    shown = () if indexed.hide_verdicts else automatic_sources
    verdicts = [verdict for verdict in _target_verdicts(indexed, target) if verdict.source in shown]
    opinions = indexed.opinions_by_target.get(target, [])
    if not verdicts and not opinions:
        return []

    def render_lines(cells: int) -> list[Line]:
        rendered = [line for verdict in verdicts for line in _target_verdict_lines(verdict, cells)]
        for opinion in opinions:
            rendered += _target_review_lines(opinion, indexed.annotator, cells)
        return rendered

    return [
        Block(
            f"{target}/said",
            render_lines,
            target=target,
            title=f"verdicts on {describe_address(target)}",
        )
    ]


def _target_verdicts(indexed: IndexedItem, target: str) -> list[Verdict]:
    """Return the automatic verdicts to show below a target, without a judge's pass that has no
    rationale.
    """
    verdicts = [v for v in indexed.verdicts.get(target, ()) if v.source != "human"]
    flags = [
        v
        for v in indexed.argument_verdicts.get(target, ())
        if v.criterion in ARGUMENT_FLAGS and v.value is True
    ]
    return [v for v in verdicts if v.source != "judge" or v.rationale or v.value is False] + flags


def has_failure_or_review(indexed: IndexedItem, target: str) -> bool:
    """Whether a target has a visible verdict of fail, a visible verdict by a judge, or a review."""
    if indexed.opinions_by_target.get(target):
        return True
    return not indexed.hide_verdicts and any(
        verdict.value is False or verdict.source == "judge"
        for verdict in _target_verdicts(indexed, target)
    )


def format_review_marks(indexed: IndexedItem, target: str) -> str:
    """Return the reviews of a target as ` · you ✗ · bob ✓`, for targets that are shown on one
    line.
    """
    return "".join(
        f" · {_annotator_label(opinion, indexed.annotator)}"
        f" {_verdict_symbol(opinion.verdict, opinion.criterion)}"
        for opinion in indexed.opinions_by_target.get(target, [])
        if opinion.verdict is not None
    )


def _target_verdict_lines(verdict: Verdict, cells: int) -> list[Line]:
    by = verdict.by or ""
    is_judge = verdict.source == "judge"
    source = _judge_name(verdict) if is_judge else SOURCE_LABELS.get(verdict.source, verdict.source)
    argument = verdict.target.partition("/arg:")[2]
    if argument:
        return paragraph_lines(f"{source}  ", f"{verdict.criterion}: {argument}", cells, "warn")
    head = (
        f"{source} {format_verdict_value(verdict.value, verdict.criterion)}"
        f" {sanitize(verdict.criterion)}"
    )
    if by and not is_judge:
        head += f" · {sanitize(by)}"
    reason = format_verdict_reason(verdict, None)
    passes = verdict.value is not False or verdict.criterion not in PASS_FAIL_CRITERIA
    style = "dim" if passes and not is_judge else ""
    return paragraph_lines(
        "", f"{head}: {reason}" if reason else head, cells, style, TARGET_REASON_ROWS
    )


def _target_review_lines(opinion: Opinion, annotator: str, cells: int) -> list[Line]:
    parts = [*_review_texts(opinion), *([sanitize(opinion.note)] if opinion.note else [])]
    symbol = _verdict_symbol(opinion.verdict, opinion.criterion)
    label = f"{_annotator_label(opinion, annotator)} {symbol}  "
    return paragraph_lines(label, " · ".join(parts), cells, "strong", TARGET_REASON_ROWS)


INCIDENT_TEXT_ROWS = 3


def incident_blocks(item: Item) -> list[Block]:
    """Return the block that says first why an item has no answer.

    A used-up limit and a weak mark are quiet notes.
    """
    if item.incident is None:
        return []
    # The cursor starts at an incident, so that it is on the first screen.
    return [
        Block(
            INCIDENT_KEY,
            partial(_incident_lines, item),
            is_heading=item.has_incident,
            title="incident",
        )
    ]


def _incident_lines(item: Item, cells: int) -> list[Line]:
    sentence = describe_incident(item.incident or "", item.incident_certainty)
    if not item.has_incident:
        return paragraph_lines("", sentence, cells, "dim")

    lines = paragraph_lines("! ", sentence, cells, "warn")
    if item.incident_certainty == "human":
        return [*lines, *paragraph_lines("", "marked by a reviewer", cells, "dim")]
    where = f"{sanitize(item.incident_where)}: " if item.incident_where else ""
    return [
        *lines,
        *paragraph_lines(where, item.incident_text or "", cells, "dim", INCIDENT_TEXT_ROWS),
    ]


HIDDEN_REASONS = "  verdicts and reasons: hidden until you submit"
SUSPICION_ROWS = 3
SOURCE_LABEL_CELLS = 12


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason for the verdict of one source (`official` or `rule`)."""

    source: str
    value: bool | None
    sentence: str
    code: str
    """Error type. Empty if `sentence` is the error type."""


def find_verdict_reason(item: Item, source: str) -> Reason:
    official = source == "official"
    verdict = find_main_verdict(item, source)
    if verdict is not None and verdict.failure:
        return Reason(
            source, value=None, sentence=describe_verdict_failure(source, verdict.failure), code=""
        )
    value, error_type = (
        (item.official, item.error_type) if official else (item.rule, item.rule_error_type)
    )
    code = (verdict.error_type if verdict else None) or error_type or ""
    sentence = (
        format_verdict_reason(verdict, error_type).removeprefix(code).removeprefix(":").strip()
    )
    # The checker explains the text of the failure as if it were the model's reply.
    if item.has_incident:
        sentence = describe_error_type(code)
    sentence = sentence or describe_error_type(code) or code
    return Reason(source, value=value, sentence=sentence, code="" if sentence == code else code)


def verdict_reason_blocks(
    indexed: IndexedItem, max_rows: int, options: DisplayOptions
) -> list[Block]:
    """Return the block with the reasons of the verdicts. Empty if it would only repeat the header.
    `max_rows`: maximum number of rows of a reason.
    """
    item = indexed.item
    if indexed.hide_verdicts:
        return [Block("hidden", lambda _: [((HIDDEN_REASONS, "dim"),)])]
    official, recomputed = find_verdict_reason(item, "official"), find_verdict_reason(item, "rule")
    criteria = [text for source in SOURCE_LABELS if (text := format_other_criteria(item, source))]
    fails = False in (official.value, recomputed.value)
    if (
        item.rule is not None
        and not fails
        and not (official.sentence or recomputed.sentence or criteria)
    ):
        return []
    lines = partial(_reason_lines, item, official, recomputed, max_rows, options)
    return [Block("verdicts", lines, title="verdicts"), *_scorer_verdict_blocks(item)]


def _scorer_verdict_blocks(item: Item) -> list[Block]:
    """Return a block for each further scorer's pass or fail on the item, to which the verdict
    keys apply there.
    """
    blocks: list[Block] = []
    for verdict in item.verdicts:
        if _is_verdict_of_further_scorer(verdict):
            key = f"verdicts:{verdict.criterion}"
            lines = partial(_scorer_verdict_lines, verdict)
            title = sanitize(verdict.criterion)
            blocks.append(
                Block(key, lines, criterion=verdict.criterion, is_heading=True, title=title)
            )
    return blocks


def _is_verdict_of_further_scorer(verdict: Verdict) -> bool:
    """Whether a verdict is on the item, by a scorer whose criterion only its benchmark knows."""
    is_known = verdict.criterion in SCALES or verdict.criterion == DECISIVE_STEP
    return verdict.target == ITEM and isinstance(verdict.value, bool) and not is_known


def _scorer_verdict_lines(verdict: Verdict, cells: int) -> list[Line]:
    symbol = symbols().verdict_symbol(verdict.value)
    label = (
        f"{SOURCE_LABELS.get(verdict.source, verdict.source)}: {sanitize(verdict.criterion)}"
        f" {symbol}  "
    )
    return paragraph_lines(label, verdict.rationale or " ", cells, "", SCORER_RATIONALE_ROWS)


SCORER_RATIONALE_ROWS = 3


def _reason_lines(
    item: Item,
    official: Reason,
    recomputed: Reason,
    max_rows: int,
    options: DisplayOptions,
    cells: int,
) -> list[Line]:
    known = official.value is not None and recomputed.value is not None
    differ = known and official.value != recomputed.value
    first, second = recomputed, official
    if recomputed.value is None and official.sentence:
        first, second = official, recomputed
    fails = False in (first.value, second.value)
    has_heading = options.panels or not options.frames or item.has_incident
    title = _choose_verdicts_title(item, fails=fails, differ=differ)
    lines = (
        [rule_line(((title, "warn" if differ else "strong"),), cells)]
        if has_heading or differ
        else []
    )
    if differ:
        for reason in (first, second):
            lines += _labelled_reason_lines(reason, cells, max_rows)
    else:
        lines += _append_error_type(
            paragraph_lines("", first.sentence, cells, "differs", max_rows), first.code, cells
        )
        if second.sentence and second.sentence != first.sentence:
            rest = second if second.code != first.code else replace(second, code="")
            lines += _labelled_reason_lines(rest, cells, max(max_rows - 1, 1), with_verdict=False)
    show_turn = "turn" in f"{first.sentence} {second.sentence}"
    note_rows = 1 if options.frames else RATIONALE_ROWS
    return lines + _verdict_remark_lines(
        item, cells, show_failing_turn=show_turn, max_note_rows=note_rows
    )


def _choose_verdicts_title(item: Item, *, fails: bool, differ: bool) -> str:
    if differ:
        return "Official and recomputed verdicts differ"
    if fails and item.has_incident:
        return "How the benchmark counts it"
    return "Why it fails" if fails else "Verdicts"


def _labelled_reason_lines(
    reason: Reason, cells: int, max_rows: int, *, with_verdict: bool = True
) -> list[Line]:
    sign = f" {symbols().verdict_symbol(reason.value)}" if with_verdict else ""
    label = f"{SOURCE_LABELS[reason.source]}{sign}  "
    text = reason.sentence or ("pass" if reason.value else "fail (no reason given)")
    style = get_verdict_style(reason.value) if with_verdict else ""
    lines = paragraph_lines(
        label.ljust(SOURCE_LABEL_CELLS + (2 if with_verdict else 0)), text, cells, style, max_rows
    )
    return _append_error_type(lines, reason.code, cells)


def _append_error_type(lines: list[Line], error_type: str, cells: int) -> list[Line]:
    error_type = sanitize(error_type)
    if not error_type or not lines:
        return lines
    used = sum(display_width(text) for text, _ in lines[-1])
    if used + 3 + display_width(error_type) <= cells:
        return [*lines[:-1], (*lines[-1], ("   ", ""), (error_type, "dim"))]
    return [*lines, (("  ", ""), (truncate_error_type(error_type, cells - 2), "dim"))]


def suspicion_blocks(suspicion: Suspicion | None, *, has_heading: bool) -> list[Block]:
    """Return the block with the reasons why the golden answer looks wrong.

    Empty without a suspicion.
    """
    if suspicion is None:
        return []
    strength = f"score {suspicion.score:.2f}, {'strong' if suspicion.is_strong else 'weak'}"
    title = f"why the golden answer is suspect {symbols().separator} {strength}"

    def render_lines(cells: int) -> list[Line]:
        rendered = [rule_line(((title.capitalize(), "strong"),), cells)] if has_heading else []
        for text in suspicion.reasons:
            rendered += paragraph_lines(
                f"{symbols().separator} ", text, cells, "golden", SUSPICION_ROWS
            )
        return rendered

    return [Block("suspicions", render_lines, title=title)]
