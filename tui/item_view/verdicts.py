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
from fcreview.model.golden_fix import (
    ACCEPTED,
    DISPUTED_FIX,
    PROPOSED,
    REJECTED,
    GoldenFixDecision,
)
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
from fcreview.store.judgements import ItemJudgement
from fcreview.store.rows import ItemDetail, QueueRow, Suspicion
from fcreview.tui.item_view.blocks import (
    ESTIMATED_ROW_CELLS,
    INCIDENT_KEY,
    Block,
    DisplayOptions,
    IndexedItem,
    LineRenderer,
    group_by,
    text_block,
)
from fcreview.tui.item_view.call_diff import format_call
from fcreview.tui.text.lines import (
    BLANK_LINE,
    Line,
    LineBuilder,
    StyledText,
    justify_line,
    line_width,
    make_line,
    prefix_rows_with_label,
    rule_line,
    sanitize_and_wrap,
    truncate,
    truncate_error_type,
    wrap_first_rows,
)
from fcreview.tui.text.styles import get_verdict_style, symbols


def final_answer_blocks(item: Item, options: DisplayOptions) -> list[Block]:
    """Return the golden answers of the item, and the final answer that the model gave.

    Empty if the benchmark judges no final answer.
    """
    accepted_answers = item.extra.accepted_answers
    if accepted_answers is None:
        return []

    def heading_lines(cells: int) -> list[Line]:
        return [rule_line(make_line("final answer", "strong"), cells)]

    golden = " or ".join(
        json.dumps(answer, ensure_ascii=False, default=str) for answer in accepted_answers
    )
    answer = item.extra.final_answer
    answer_text = "(none)" if answer is None else answer
    return [
        Block("answer", heading_lines, title="final answer"),
        text_block(
            "answer/golden", "golden", golden, options, style="golden", title="golden answers"
        ),
        text_block(
            "answer/given", "answer", answer_text, options, style="predicted", title="final answer"
        ),
    ]


MAX_MARK_CELLS = 28


def mark_reviewed_blocks(
    blocks: Sequence[Block], opinions: Sequence[Opinion], annotator: str
) -> list[Block]:
    """Show the annotator's own verdicts on the blocks of the calls, turns and arguments that they
    reviewed.

    The verdict stands at the right end of the first line.
    """
    own_opinions = [opinion for opinion in opinions if _is_own_part_verdict(opinion, annotator)]
    unmarked_targets = group_by(own_opinions, lambda opinion: opinion.target)
    marked_blocks = []
    for block in blocks:
        # Only the first block of a target gets the mark, so the target is removed here.
        opinions_on_target = unmarked_targets.pop(block.target or "", None)
        if opinions_on_target is None:
            marked_blocks.append(block)
        else:
            lines = partial(_lines_with_review_marks, block.lines, opinions_on_target)
            marked_blocks.append(replace(block, lines=lines))
    return marked_blocks


def _is_own_part_verdict(opinion: Opinion, annotator: str) -> bool:
    """Whether an opinion is a current verdict of the annotator on a part of the item."""
    is_current_verdict = opinion.verdict is not None and not opinion.stale
    return opinion.annotator == annotator and is_current_verdict and opinion.target != ITEM


def _lines_with_review_marks(
    render: LineRenderer, opinions: Sequence[Opinion], cells: int
) -> list[Line]:
    """Render a block with the annotator's verdicts at the right end of its first line, such as `you
    ✗`.
    """
    first, *others = render(cells) or [BLANK_LINE]
    mark = LineBuilder()
    mark.add(" you", "dim")
    for opinion in opinions:
        mark.add(*_review_mark(opinion))
    mark.add(" ")

    # A rule at the end of the first line makes room. Any other text is cut with an ellipsis.
    shortened = _shorten_rule_at_end(first, mark.width + 1)
    return [justify_line(shortened, mark.build(), cells), *others]


def _shorten_rule_at_end(line: Line, cells: int) -> Line:
    """Shorten the horizontal rule at the end of a line by `cells`. Other lines stay as they are."""
    if not line:
        return line
    *other_parts, (last_text, style) = line
    has_only_dashes = set(last_text) <= {symbols().rule}
    if not has_only_dashes:
        return line
    n_dashes = max(len(last_text) - cells, 0)
    return (*other_parts, (last_text[:n_dashes], style))


def _review_mark(opinion: Opinion) -> StyledText:
    """Return a verdict of the annotator as a symbol or, on other scales than pass and fail, as a
    word.
    """
    value = opinion.verdict
    criterion = opinion.criterion
    if _is_shown_as_symbol(value, criterion):
        text = symbols().verdict_symbol(value)
    else:
        text = truncate(format_verdict(value, criterion), MAX_MARK_CELLS)
    return f" {text}", _value_style(value, criterion, "strong")


def _is_shown_as_symbol(value: Any, criterion: str) -> bool:
    """Whether the value of a verdict is shown as a symbol instead of a word.

    Labels are shown as words. True and false have symbols only on criteria where they mean pass and
    fail, not yes and no.
    """
    if isinstance(value, bool):
        return criterion in PASS_FAIL_CRITERIA
    return not isinstance(value, list)


def _verdict_symbol(value: Any, criterion: str) -> str:
    shown_value = value if _is_shown_as_symbol(value, criterion) else None
    return symbols().verdict_symbol(shown_value)


def _value_style(value: Any, criterion: str, neutral_style: str = "") -> str:
    if value is None or criterion in PASS_FAIL_CRITERIA:
        return get_verdict_style(value)
    return neutral_style


RATIONALE_ROWS = 8
SOURCE_LABELS = {"official": "official", "rule": "recomputed"}


def format_other_criteria(item: Item, source: str) -> str:
    """Format a source's verdicts on other criteria than `correct`: `func_ok ✓ · args_ok ✗`. The
    decisive step is omitted.
    """
    texts = []
    for verdict in item.verdicts:
        if verdict.source == source and _is_on_other_criterion(verdict):
            value = format_verdict_value(verdict.value, verdict.criterion)
            texts.append(f"{sanitize(verdict.criterion)} {value}")
    return " · ".join(texts)


def _is_on_other_criterion(verdict: Verdict) -> bool:
    """Whether a verdict is on the item or response, on another criterion than `correct`. Verdicts
    of further scorers have blocks of their own.
    """
    if verdict.target not in WHOLE_TARGETS or verdict.criterion in (CORRECT, DECISIVE_STEP):
        return False
    return not _is_verdict_of_further_scorer(verdict)


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
    """Return a source's verdict on the item, else its first verdict on a part. Decisive steps
    are ignored.
    """
    verdicts = [
        verdict
        for verdict in item.verdicts
        if verdict.source == source and verdict.criterion != DECISIVE_STEP
    ]
    for verdict in verdicts:
        if verdict.target == ITEM:
            return verdict
    return verdicts[0] if verdicts else None


def _verdict_remark_lines(
    item: Item, cells: int, *, show_failing_turn: bool, max_note_rows: int
) -> list[Line]:
    """Render remarks on the verdicts.

    These are the failing turn, the verdicts on other criteria than `correct`, and the reason why
    there is no recomputed verdict.
    """
    lines: list[Line] = []
    if show_failing_turn and item.extra.failing_turn is not None:
        # The reason of the benchmark names this turn, but counts from 0. The screen counts from 1.
        number = item.extra.failing_turn + 1
        text = f"fails in turn {number} (the benchmark's own messages count turns from 0)"
        lines += paragraph_lines("", text, cells, style="dim")

    for source, label in SOURCE_LABELS.items():
        criteria = format_other_criteria(item, source)
        lines += paragraph_lines(f"{label}: ", criteria, cells, style="dim")

    if item.rule is None:
        text = "no recomputed verdict"
        if item.rule_note:
            text += f": {item.rule_note}"
        lines += paragraph_lines("", text, cells, style="dim", max_rows=max_note_rows)
    return lines


def format_verdict_reason(verdict: Verdict | None, default_error_type: str | None) -> str:
    """Format the reason of a verdict as `error type: rationale`, or the part of it that exists.

    If the judge or scorer failed, the text says so. Some verdicts have no error type of their own:
    then `default_error_type`, the error type of the item, counts.
    """
    if verdict is None:
        return default_error_type or ""
    if verdict.failure:
        failure = describe_verdict_failure(verdict.source, verdict.failure)
        return f"{failure}: {verdict.rationale}" if verdict.rationale else failure

    error_type = verdict.error_type or default_error_type
    rationale = verdict.rationale
    # Some checkers already begin the rationale with the error type.
    if error_type and rationale and rationale.startswith(f"{error_type}:"):
        return rationale
    return ": ".join(part for part in (error_type, rationale) if part)


def paragraph_lines(
    label: str, text: str, cells: int, *, style: str = "", max_rows: int = RATIONALE_ROWS
) -> list[Line]:
    """Render a text with a label before its first row, in at most `max_rows` rows.

    A longer text ends with an ellipsis. An empty text has no rows, not even the label.
    """
    if not text:
        return []
    indent = "  "
    ending = " …"
    text_cells = cells - len(indent) - display_width(label)
    rows, has_more = wrap_first_rows(text, text_cells, max_rows)
    if has_more:
        last_row_cells = max(text_cells - len(ending), 1)
        # `clip` may have added an ellipsis of its own.
        last_row = clip(rows[-1], last_row_cells).rstrip("… ")
        rows[-1] = last_row + ending
    return [((indent, ""), *line) for line in prefix_rows_with_label(label, rows, style)]


def review_blocks(indexed: IndexedItem) -> list[Block]:
    """Return the reviews of annotators, and the reviews that the run's files contain."""
    blocks = []
    if indexed.opinions:
        lines = partial(_review_lines, indexed.opinions, indexed.annotator)
        blocks.append(Block("reviews", lines, title="reviews"))

    recorded = indexed.item.extra.recorded_reviews
    if recorded and not indexed.hide_verdicts:
        lines = partial(_recorded_review_lines, recorded)
        blocks.append(Block("recorded", lines, title="reviews in the run's files"))
    return blocks


def _recorded_review_lines(reviews: Sequence[RecordedReview], cells: int) -> list[Line]:
    """Return the human reviews that the files of the run contain, such as those of another tool."""
    hint = " not counted as reviews until you import them with import-labels"
    lines = [rule_line((("reviews in the run's files", "strong"), (hint, "dim")), cells)]
    for review in reviews:
        symbol = _verdict_symbol(review.verdict, review.criterion)
        label = f"{symbol} {sanitize(review.source)}: {sanitize(review.author)}  "
        lines += paragraph_lines(label, _describe_recorded_review(review), cells)
    return lines


def _describe_recorded_review(review: RecordedReview) -> str:
    """Format a review from the run's files: `fail · on turn 2 call 1 · fault: model · tags · reason
    · date`.

    Missing parts are left out.
    """
    parts = []
    if review.verdict is not None:
        parts.append(format_verdict(review.verdict, review.criterion))
    if review.criterion != CORRECT:
        parts.append(sanitize(review.criterion))
    if review.target != ITEM:
        parts.append(f"on {describe_address(sanitize(review.target))}")
    if review.fault:
        parts.append(f"fault: {sanitize(review.fault)}")
    if review.tags:
        parts.append(sanitize(", ".join(review.tags)))
    if review.reason:
        parts.append(sanitize(review.reason))
    if review.time:
        parts.append(sanitize(review.time[:DATE_CHARS]))
    return " · ".join(parts)


DATE_CHARS = len("2025-12-31")


def _review_lines(opinions: Sequence[Opinion], annotator: str, cells: int) -> list[Line]:
    """Render the reviews of the item below a heading, each with its note."""
    lines = [rule_line(make_line("reviews", "strong"), cells)]
    for opinion in opinions:
        symbol = _verdict_symbol(opinion.verdict, opinion.criterion)
        label = f"{symbol} {_annotator_label(opinion, annotator)}  "
        lines += paragraph_lines(label, _describe_opinion(opinion), cells)
        lines += paragraph_lines("  note  ", opinion.note or "", cells, style="dim")
    return lines


def _describe_opinion(opinion: Opinion) -> str:
    """Format a review as `fail · on turn 2 call 1 · fault: model · tags: unit · adjudicated`.

    Missing parts are left out.
    """
    parts = _review_texts(opinion)
    if opinion.target != ITEM:
        # The target follows the verdict, which is the first part if there is one.
        n_verdict_parts = 0 if opinion.verdict is None else 1
        target = f"on {describe_address(sanitize(opinion.target))}"
        parts.insert(n_verdict_parts, target)
    if opinion.golden_fix:
        status = f" {opinion.golden_status}" if opinion.golden_status else ""
        parts.append(f"golden fix{status}: {json.dumps(opinion.golden_fix)}")
    elif opinion.golden_status:
        parts.append("golden answer of the dataset stays")
    if opinion.is_adjudication:
        parts.append("adjudicated")
    if opinion.stale:
        parts.append("STALE: the prediction or the golden answer has changed")
    return " · ".join(parts)


def _review_texts(opinion: Opinion) -> list[str]:
    """Return the parts of the text of a review: verdict, criterion, fault, reason and tags.

    Missing parts are left out.
    """
    parts = _verdict_and_criterion_texts(opinion)
    if opinion.fault:
        parts.append(f"fault: {opinion.fault}")
    if opinion.reason:
        parts.append(f"override: {sanitize(opinion.reason)}")
    if opinion.tags:
        parts.append(f"tags: {sanitize(', '.join(opinion.tags))}")
    if opinion.bulk:
        parts.append("bulk review: not counted in agreement, calibration and estimates")
    return parts


def _verdict_and_criterion_texts(opinion: Opinion) -> list[str]:
    """Return the verdict and, unless it is the usual one, the criterion."""
    verdict = ""
    if opinion.verdict is not None:
        verdict = format_verdict(opinion.verdict, opinion.criterion)
    if opinion.criterion == DECISIVE_STEP and is_definite(opinion.verdict):
        # The value is the number of the message that decided the outcome, not pass or fail.
        return [f"decisive step: message {verdict}"]

    parts = []
    if verdict:
        parts.append(verdict)
    if opinion.criterion != CORRECT:
        parts.append(sanitize(opinion.criterion))
    return parts


def _annotator_label(opinion: Opinion, annotator: str) -> str:
    return "you" if opinion.annotator == annotator else sanitize(opinion.annotator)


def import_issue_blocks(issues: Sequence[ImportIssue]) -> list[Block]:
    if not issues:
        return []
    return [Block("issues", partial(_import_issue_lines, issues), title="import issues")]


def _import_issue_lines(issues: Sequence[ImportIssue], cells: int) -> list[Line]:
    """Render the problems that the import found in the item, each with its file and line."""
    title = format_count(len(issues), "import issue")
    lines = [rule_line(make_line(title, "strong"), cells)]
    for issue in issues:
        _, _, file_name = issue.file.rpartition("/")
        location = sanitize(file_name)
        if issue.line:
            location += f":{issue.line}"
        lines += paragraph_lines(f"{issue.severity}  ", f"{issue.what}  ({location})", cells)
    return lines


GOLDEN_STATUS_TITLES = {
    ACCEPTED: "corrected golden answer",
    PROPOSED: "proposed golden answer, which an adjudicator must accept",
    DISPUTED_FIX: "annotators corrected the golden answer differently; adjudicate it",
    REJECTED: "an adjudicator kept the golden answer of the dataset",
}
MAX_GOLDEN_FIX_ROWS = 8


def golden_fix_blocks(detail: ItemDetail, options: DisplayOptions) -> list[Block]:
    """Return the block of the golden answer that annotators corrected. Blind review hides it,
    because it can reveal other reviews.
    """
    decision = detail.golden
    if decision is None or options.hide_verdicts:
        return []
    lines = partial(_golden_fix_lines, decision, detail)
    block = Block("golden_fix", lines, title="corrected golden answer")
    if detail.corrected_item is None:
        return [block]
    old_answer = text_block(
        "golden_fix/old",
        "before",
        "\n".join(format_call(call) for call in detail.item.golden) or "no call",
        options,
        folded_rows=2,
        style="dim",
        title="golden answer of the dataset",
    )
    return [block, old_answer]


def _golden_fix_lines(decision: GoldenFixDecision, detail: ItemDetail, cells: int) -> list[Line]:
    """Render how the golden answer was corrected: the status, the authors, the effect and, if the
    calls below are compared with another answer, the new answer.
    """
    lines = [rule_line(_golden_fix_heading(decision), cells)]
    # The calls below already show the corrected answer.
    if detail.corrected_item is not None:
        return lines + paragraph_lines("", _describe_comparison(detail.row), cells, style="dim")

    if decision.golden_fix is not None:
        text = json.dumps(decision.golden_fix, ensure_ascii=False)
        lines += paragraph_lines("", text, cells, style="golden", max_rows=MAX_GOLDEN_FIX_ROWS)
    # Only an accepted correction counts, so that the verdict is recomputed.
    if decision.counts:
        effect = _describe_rescored_verdict(detail.row)
        lines += paragraph_lines("", effect, cells, style="dim")
    return lines


def _golden_fix_heading(decision: GoldenFixDecision) -> Line:
    """Return the status with authors and date: `corrected golden answer · anna · 2025-12-31`."""
    title = GOLDEN_STATUS_TITLES[decision.status]
    if not decision.annotators:
        return make_line(title, "strong")
    separator = f" {symbols().separator} "
    names = ", ".join(sanitize(annotator) for annotator in decision.annotators)
    source = f"{separator}{names}{separator}{sanitize(decision.time[:DATE_CHARS])}"
    return ((title, "strong"), (source, "dim"))


def _describe_comparison(row: QueueRow) -> str:
    """Return whether the prediction passes with a corrected golden answer.

    The text stands above the calls, which are compared with the corrected answer.
    """
    if row.golden_verdict is None:
        return "the golden column shows it; it does not change the verdict"
    verdict = "passes" if row.golden_verdict else "fails"
    return f"the golden column shows it; the prediction {verdict} with it"


def _describe_rescored_verdict(row: QueueRow) -> str:
    """Return whether the prediction passes with a corrected golden answer.

    The text stands above the calls, which are still compared with the golden answer of the dataset.
    """
    comparison = "below, the prediction is compared with the golden answer of the dataset"
    if row.golden_verdict is None:
        return f"it does not change the verdict; {comparison}"
    verdict = "passes" if row.golden_verdict else "fails"
    return f"the prediction {verdict} with it; {comparison}"


def erratum_blocks(erratum: Erratum | None, options: DisplayOptions) -> list[Block]:
    """Return the erratum that changed the golden answer, and the old answer.

    An erratum is an accepted correction of the dataset. Blind review hides it, because it can
    reveal other reviews.
    """
    if erratum is None or options.hide_verdicts:
        return []
    block = Block("erratum", partial(_erratum_lines, erratum), title="errata")
    # A stale erratum does not fit the dataset any more, so it changed nothing.
    if erratum.stale:
        return [block]
    old_answer = text_block(
        "erratum/old",
        "before",
        json.dumps(erratum.old, ensure_ascii=False),
        options,
        folded_rows=1,
        style="dim",
        title="golden answer before errata",
    )
    return [block, old_answer]


def _erratum_lines(erratum: Erratum, cells: int) -> list[Line]:
    """Render an erratum: a heading with its authors, and why the golden answer was corrected."""
    title = "erratum not applied" if erratum.stale else "golden answer from errata"
    authors = ", ".join(sanitize(author) for author in erratum.who) or "author unknown"
    date = sanitize(erratum.date[:DATE_CHARS])
    separator = f" {symbols().separator} "
    source = f"{separator}{authors}{separator}{date}"
    lines = [rule_line(((title, "strong"), (source, "dim")), cells)]

    # A stale erratum no longer fits the dataset, so it was not applied.
    if erratum.stale:
        reason = f"stale: {sanitize(erratum.stale)}"
        lines += paragraph_lines("", reason, cells, style="warn")
    for reason in erratum.reasons:
        lines += paragraph_lines("", reason, cells)
    return lines


VERDICT_WORDS = ("true", "false", "yes", "no", "1", "0", "correct", "incorrect", "pass", "fail")


def judge_blocks(
    indexed: IndexedItem, target: str = ITEM, max_rows: int = RATIONALE_ROWS
) -> list[Block]:
    """Return the judge verdicts on the item or on the response. Blind review hides them.

    A verdict with a rationale has a block of its own. The others share one line.
    """
    if indexed.hide_verdicts:
        return []

    verdicts = _list_judge_verdicts(indexed.item, target)
    explained = [verdict for verdict in verdicts if _has_rationale(verdict)]
    unexplained = [verdict for verdict in verdicts if not _has_rationale(verdict)]
    blocks = []
    if unexplained:
        lines = partial(_judge_lines_without_rationale, unexplained)
        blocks.append(Block(f"judge:{target}", lines, title="judge"))
    for index, verdict in enumerate(explained):
        blocks.append(_judge_rationale_block(f"judge:{target}:{index}", verdict, max_rows))
    return blocks


def _list_judge_verdicts(item: Item, target: str) -> list[Verdict]:
    """Return the judge verdicts on a target that are shown in the section of the judges."""
    label_verdict = None
    if item.extra.golden_labels is not None:
        label_verdict = find_judge_label_verdict(item)

    verdicts = []
    for verdict in item.verdicts:
        # The verdict on labels is shown beside the golden labels, without its rationale.
        is_shown_elsewhere = verdict is label_verdict and not _has_rationale(verdict)
        is_on_target = verdict.source == "judge" and verdict.target == target
        if is_on_target and not is_shown_elsewhere:
            verdicts.append(verdict)
    return verdicts


def _has_rationale(verdict: Verdict) -> bool:
    """Whether a judge says more than the verdict.

    Some judges repeat the verdict as their rationale, such as `Pass.`
    """
    if verdict.failure or verdict.error_type:
        return True
    rationale = (verdict.rationale or "").strip().strip(".").casefold()
    if not rationale:
        return False

    value = str(verdict.value)
    if isinstance(verdict.value, list):
        value = ", ".join(str(label) for label in verdict.value)
    return rationale not in VERDICT_WORDS and rationale != value.casefold()


def _judge_name(verdict: Verdict) -> str:
    return sanitize(f"judge {verdict.by or ''}".rstrip())


def _judge_verdict_text(verdict: Verdict, suffix: str = "") -> StyledText:
    text = format_verdict_value(verdict.value, verdict.criterion) + suffix
    if verdict.criterion != CORRECT:
        text = f"{sanitize(verdict.criterion)} {text}"
    return text, _value_style(verdict.value, verdict.criterion)


@dataclass(frozen=True, slots=True)
class _JudgeEntry:
    """Verdict of a judge on a line with others."""

    judge: str
    value: Line
    """The verdict, and the reply of the judge if it is shown here."""

    @property
    def with_name(self) -> Line:
        return ((f"{self.judge} ", "strong"), *self.value)


JUDGE_LINE_MARGIN = 10
"""Width, in cells, of the rule and the separators beside the judge verdicts on a line."""


def _judge_lines_without_rationale(verdicts: Sequence[Verdict], cells: int) -> list[Line]:
    """Render verdicts of judges next to each other: `── judge gpt-4o ✓ · args_ok_llm ✓ "True" ──`.

    Verdicts that do not fit continue on the next line. Each line names a judge once, before the
    first of several verdicts in a row by this judge.
    """
    lines: list[Line] = []
    line = LineBuilder()
    previous_judge = ""
    for entry in _list_judge_entries(verdicts):
        text = entry.value if entry.judge == previous_judge else entry.with_name
        has_room = line.width + line_width(text) + JUDGE_LINE_MARGIN <= cells
        if line.is_empty:
            line.add_line(entry.with_name)
        elif has_room:
            line.add(" · ", "dim")
            line.add_line(text)
        else:
            # The line is full, so the next one begins, with the name of the judge.
            lines.append(rule_line(line.build(), cells))
            line = LineBuilder()
            line.add_line(entry.with_name)
        previous_judge = entry.judge
    lines.append(rule_line(line.build(), cells))
    return lines


def _list_judge_entries(verdicts: Sequence[Verdict]) -> list[_JudgeEntry]:
    """Return the verdicts of judges as short texts, such as `✓ "True"`.

    Several verdicts can come from one reply of a judge. The reply is shown once, after the last of
    them.
    """
    last_index_by_reply = {verdict.rationale: index for index, verdict in enumerate(verdicts)}
    entries = []
    for index, verdict in enumerate(verdicts):
        value = LineBuilder()
        value.add(*_judge_verdict_text(verdict))
        if verdict.rationale and last_index_by_reply[verdict.rationale] == index:
            value.add(f' "{sanitize(verdict.rationale.strip())}"', "dim")
        entries.append(_JudgeEntry(_judge_name(verdict), value.build()))
    return entries


def _judge_rationale_block(key: str, verdict: Verdict, max_rows: int) -> Block:
    """Return a judge verdict with its rationale. A long rationale is folded, and opens in the
    pager.
    """
    rationale = verdict.rationale or ""
    is_long = _needs_more_rows(rationale, max_rows)
    return Block(
        key,
        partial(_judge_rationale_lines, verdict, max_rows),
        foldable=is_long,
        folded=is_long,
        opens_pager=is_long,
        title=f"judge {sanitize(verdict.by or '')}",
        full_text=lambda: rationale,
    )


def _needs_more_rows(text: str, max_rows: int) -> bool:
    """Whether a text probably has more than `max_rows` rows. The width is not known yet."""
    if len(text) > max_rows * ESTIMATED_ROW_CELLS:
        return True
    # Line breaks make more rows than the number of characters tells.
    rows = sanitize_and_wrap(text, ESTIMATED_ROW_CELLS, max_rows + 1)
    return len(rows) > max_rows


def _judge_rationale_lines(verdict: Verdict, max_rows: int, cells: int) -> list[Line]:
    on_target = ""
    if verdict.target != ITEM:
        on_target = f" on {describe_address(sanitize(verdict.target))}"
    value, style = _judge_verdict_text(verdict, on_target)
    dash = symbols().rule * 2
    head: Line = ((_judge_name(verdict), "strong"), (f" {dash} {value}", style))
    reason = format_verdict_reason(verdict, None)
    return [rule_line(head, cells), *paragraph_lines("", reason, cells, max_rows=max_rows)]


def judgement_blocks(
    judgements: Sequence[ItemJudgement], max_rows: int = RATIONALE_ROWS
) -> list[Block]:
    """Return the verdicts of `fcreview judge`, each with its rationale.

    The store leaves out those that the annotator must not see yet.
    """
    blocks = []
    for judgement in judgements:
        verdict = Verdict(
            "judge",
            judgement.verdict,
            target=judgement.target,
            criterion=judgement.criterion,
            rationale=judgement.rationale,
            by=judgement.label,
        )
        key = f"judgement:{judgement.judge}:{judgement.target}:{judgement.criterion}"
        blocks.append(_judge_rationale_block(key, verdict, max_rows))
    return blocks


def find_judge_label_verdict(item: Item) -> Verdict | None:
    """Return the first judge verdict that assigns labels to the response, or None."""
    for verdict in item.verdicts:
        is_on_response = verdict.source == "judge" and verdict.target == RESPONSE
        if is_on_response and isinstance(verdict.value, list):
            return verdict
    return None


TARGET_REASON_ROWS = 4
AUTOMATIC_SOURCES = ("official", "rule", "judge")
ARGUMENT_FLAGS = ("hallucinated",)
"""Criteria of verdicts on arguments. Positive verdicts on these criteria are shown below the call,
with the name of the argument.
"""


def target_verdict_and_review_blocks(
    indexed: IndexedItem, target: str, automatic_sources: Sequence[str] = AUTOMATIC_SOURCES
) -> list[Block]:
    """Return the automatic verdicts and the reviews on a target, such as a turn or a call, in one
    block.

    Blind review hides the automatic verdicts. Empty if there is nothing to show.
    """
    verdicts = []
    if not indexed.hide_verdicts:
        verdicts = [
            verdict
            for verdict in _target_verdicts(indexed, target)
            if verdict.source in automatic_sources
        ]
    opinions = indexed.opinions_by_target.get(target, [])
    if not verdicts and not opinions:
        return []

    def render_lines(cells: int) -> list[Line]:
        rendered: list[Line] = []
        for verdict in verdicts:
            rendered += _target_verdict_lines(verdict, cells)
        for opinion in opinions:
            rendered += _target_review_lines(opinion, indexed.annotator, cells)
        return rendered

    title = f"verdicts on {describe_address(target)}"
    return [Block(f"{target}/said", render_lines, target=target, title=title)]


def _target_verdicts(indexed: IndexedItem, target: str) -> list[Verdict]:
    """Return the automatic verdicts to show at a target, such as a turn or a call.

    A judge's pass without a rationale is omitted, because it says nothing. If the target is a call,
    verdicts on its arguments are added if they found an error.
    """
    shown = []
    for verdict in indexed.verdicts.get(target, ()):
        # Verdicts of people are shown as reviews.
        is_automatic = verdict.source != "human"
        is_silent_pass = not verdict.rationale and verdict.value is not False
        is_silent_judge = verdict.source == "judge" and is_silent_pass
        if is_automatic and not is_silent_judge:
            shown.append(verdict)
    for verdict in indexed.argument_verdicts.get(target, ()):
        if verdict.criterion in ARGUMENT_FLAGS and verdict.value is True:
            shown.append(verdict)
    return shown


def has_failure_or_review(indexed: IndexedItem, target: str) -> bool:
    """Whether a target has a visible verdict of fail, a visible verdict by a judge, or a review."""
    if indexed.opinions_by_target.get(target):
        return True
    if indexed.hide_verdicts:
        return False
    verdicts = _target_verdicts(indexed, target)
    return any(verdict.value is False or verdict.source == "judge" for verdict in verdicts)


def format_review_marks(indexed: IndexedItem, target: str) -> str:
    """Return the reviews of a target as ` · you ✗ · bob ✓`, for targets that are shown on one
    line.
    """
    marks = ""
    for opinion in indexed.opinions_by_target.get(target, []):
        if opinion.verdict is not None:
            symbol = _verdict_symbol(opinion.verdict, opinion.criterion)
            marks += f" · {_annotator_label(opinion, indexed.annotator)} {symbol}"
    return marks


def _target_verdict_lines(verdict: Verdict, cells: int) -> list[Line]:
    """Render an automatic verdict on a part of the item: `judge gpt-4o fail correct: reason`."""
    # A verdict on an argument is a finding, such as `hallucinated: city`. It needs no value.
    _, _, argument = verdict.target.partition("/arg:")
    if argument:
        text = f"{verdict.criterion}: {argument}"
        return paragraph_lines(f"{_full_source_name(verdict)}  ", text, cells, style="warn")

    # Only what the reader should look at is not dim.
    fails = verdict.value is False and verdict.criterion in PASS_FAIL_CRITERIA
    style = "" if fails or verdict.source == "judge" else "dim"
    text = _format_target_verdict(verdict)
    return paragraph_lines("", text, cells, style=style, max_rows=TARGET_REASON_ROWS)


def _full_source_name(verdict: Verdict) -> str:
    """Return the source of a verdict. A judge has a name of its own."""
    if verdict.source == "judge":
        return _judge_name(verdict)
    return _source_label(verdict)


def _format_target_verdict(verdict: Verdict) -> str:
    value = format_verdict_value(verdict.value, verdict.criterion)
    text = f"{_full_source_name(verdict)} {value} {sanitize(verdict.criterion)}"
    # The name of the source already says which judge it is.
    if verdict.by and verdict.source != "judge":
        text += f" · {sanitize(verdict.by)}"
    reason = format_verdict_reason(verdict, None)
    if reason:
        text += f": {reason}"
    return text


def _source_label(verdict: Verdict) -> str:
    return SOURCE_LABELS.get(verdict.source, verdict.source)


def _target_review_lines(opinion: Opinion, annotator: str, cells: int) -> list[Line]:
    """Return a review of a part of the item: annotator, verdict, and what else the review says."""
    parts = _review_texts(opinion)
    if opinion.note:
        parts.append(sanitize(opinion.note))
    symbol = _verdict_symbol(opinion.verdict, opinion.criterion)
    return paragraph_lines(
        f"{_annotator_label(opinion, annotator)} {symbol}  ",
        " · ".join(parts),
        cells,
        style="strong",
        max_rows=TARGET_REASON_ROWS,
    )


INCIDENT_TEXT_ROWS = 3


def incident_blocks(item: Item) -> list[Block]:
    """Return the block that says why an item has no answer: an incident, such as a failed request.

    It stands before everything else. If it is not certain, or only a limit was reached, it is a
    note that does not stand out.
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
    """Render why the item has no answer, with the place and the text of the failure."""
    sentence = describe_incident(item.incident or "", item.incident_certainty)
    # The mark is weak, so it is only a note.
    if not item.has_incident:
        return paragraph_lines("", sentence, cells, style="dim")

    lines = paragraph_lines("! ", sentence, cells, style="warn")
    if item.incident_certainty == "human":
        return lines + paragraph_lines("", "marked by a reviewer", cells, style="dim")
    location = f"{sanitize(item.incident_where)}: " if item.incident_where else ""
    text = item.incident_text or ""
    return lines + paragraph_lines(location, text, cells, style="dim", max_rows=INCIDENT_TEXT_ROWS)


HIDDEN_REASONS = "  verdicts and reasons: hidden until you submit"
SUSPICION_ROWS = 3
SOURCE_LABEL_CELLS = 12
REASON_STYLE = "differs"
"""Style of the reason for a failure, which is the same as that of a difference between calls."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Reason for the verdict of one source (`official` or `rule`)."""

    source: str
    value: bool | None
    sentence: str
    code: str
    """Error type. Empty if `sentence` is the error type."""


def find_verdict_reason(item: Item, source: str) -> Reason:
    """Return the reason of the official or the recomputed verdict on an item, as a sentence and an
    error type.

    `source`: `official` or `rule` (recomputed).
    """
    verdict = find_main_verdict(item, source)
    if verdict is not None and verdict.failure:
        # The scorer failed, so that there is no verdict.
        failure = describe_verdict_failure(source, verdict.failure)
        return Reason(source, value=None, sentence=failure, code="")

    if source == "official":
        value = item.official
        item_error_type = item.error_type
    else:
        value = item.rule
        item_error_type = item.rule_error_type

    error_type = item_error_type or ""
    if verdict is not None and verdict.error_type:
        # It is more precise than that of the item.
        error_type = verdict.error_type

    sentence = _format_reason_without_code(item, verdict, item_error_type, error_type)
    if not sentence:
        sentence = describe_error_type(error_type) or error_type
    if sentence == error_type:
        # The error type is the sentence, so it is not shown again beside it.
        return Reason(source, value, sentence=sentence, code="")
    return Reason(source, value, sentence=sentence, code=error_type)


def _format_reason_without_code(
    item: Item, verdict: Verdict | None, item_error_type: str | None, code: str
) -> str:
    """Return the reason of a verdict without its error type `code`, which is shown beside it.

    Empty without a reason in words. `item_error_type`: error type of the item, which is the reason
    if the verdict has none.
    """
    if item.has_incident:
        # The checker would explain the text of the failure as the model's reply.
        return ""
    reason = format_verdict_reason(verdict, item_error_type)
    return reason.removeprefix(code).removeprefix(":").strip()


def verdict_reason_blocks(
    indexed: IndexedItem, max_rows: int, options: DisplayOptions
) -> list[Block]:
    """Return the reasons of the official and of the recomputed verdict.

    Empty if they would only repeat the header, which shows both verdicts. In blind review, a line
    says that the reasons are hidden. `max_rows`: maximum number of rows of a reason.
    """
    if indexed.hide_verdicts:
        return [Block("hidden", lambda _: [make_line(HIDDEN_REASONS, "dim")])]

    item = indexed.item
    official = find_verdict_reason(item, "official")
    recomputed = find_verdict_reason(item, "rule")

    # A failure needs an explanation, and so does a recomputed verdict that is missing.
    fails = official.value is False or recomputed.value is False
    needs_explanation = fails or item.rule is None
    has_sentence = bool(official.sentence or recomputed.sentence)
    has_criteria = any(format_other_criteria(item, source) for source in SOURCE_LABELS)
    if not (needs_explanation or has_sentence or has_criteria):
        return []

    lines = partial(_reason_lines, item, official, recomputed, max_rows=max_rows, options=options)
    return [Block("verdicts", lines, title="verdicts"), *_scorer_verdict_blocks(item)]


def _scorer_verdict_blocks(item: Item) -> list[Block]:
    """Return a block for each further scorer that passes or fails the item.

    The verdict keys on such a block review the criterion of this scorer.
    """
    blocks: list[Block] = []
    for verdict in item.verdicts:
        if not _is_verdict_of_further_scorer(verdict):
            continue
        block = Block(
            f"verdicts:{verdict.criterion}",
            partial(_scorer_verdict_lines, verdict),
            criterion=verdict.criterion,
            is_heading=True,
            title=sanitize(verdict.criterion),
        )
        blocks.append(block)
    return blocks


def _is_verdict_of_further_scorer(verdict: Verdict) -> bool:
    """Whether a verdict is on the item, by a scorer whose criterion only its benchmark knows."""
    is_known = verdict.criterion in SCALES or verdict.criterion == DECISIVE_STEP
    return verdict.target == ITEM and isinstance(verdict.value, bool) and not is_known


def _scorer_verdict_lines(verdict: Verdict, cells: int) -> list[Line]:
    symbol = symbols().verdict_symbol(verdict.value)
    label = f"{_source_label(verdict)}: {sanitize(verdict.criterion)} {symbol}  "
    rationale = verdict.rationale or " "
    return paragraph_lines(label, rationale, cells, max_rows=SCORER_RATIONALE_ROWS)


SCORER_RATIONALE_ROWS = 3


def _reason_lines(
    item: Item,
    official: Reason,
    recomputed: Reason,
    cells: int,
    *,
    max_rows: int,
    options: DisplayOptions,
) -> list[Line]:
    """Render the reasons of the official and the recomputed verdict, and remarks below them.

    If the verdicts differ, each has its reason. Else they share one. `max_rows`: maximum number of
    rows of a reason.
    """
    has_both = official.value is not None and recomputed.value is not None
    differ = has_both and official.value != recomputed.value
    first, second = _choose_reason_order(official, recomputed)

    lines: list[Line] = []
    is_in_frame = options.frames and not options.panels
    # The frame is heading enough, except for something special.
    if differ or item.has_incident or not is_in_frame:
        fails = official.value is False or recomputed.value is False
        title = _choose_verdicts_title(item, fails=fails, differ=differ)
        lines.append(rule_line(make_line(title, "warn" if differ else "strong"), cells))
    if differ:
        lines += _labelled_reason_lines(first, cells, max_rows)
        lines += _labelled_reason_lines(second, cells, max_rows)
    else:
        lines += _common_reason_lines(first, second, cells, max_rows)

    # A reason counts turns from 0. If one names a turn, a remark has its number on the screen.
    names_turn = "turn" in official.sentence or "turn" in recomputed.sentence
    max_note_rows = 1 if options.frames else RATIONALE_ROWS
    return lines + _verdict_remark_lines(
        item, cells, show_failing_turn=names_turn, max_note_rows=max_note_rows
    )


def _choose_reason_order(official: Reason, recomputed: Reason) -> tuple[Reason, Reason]:
    """Return the two reasons in the order in which they are shown.

    The reason of the recomputed verdict comes first, because it names the argument. Without such a
    verdict, the official reason does.
    """
    if recomputed.value is None and official.sentence:
        return official, recomputed
    return recomputed, official


def _common_reason_lines(main: Reason, other: Reason, cells: int, max_rows: int) -> list[Line]:
    """Render the reason of a verdict that two sources agree on.

    If the two sources give different reasons, render both, the main one first.
    """
    sentence = paragraph_lines("", main.sentence, cells, style=REASON_STYLE, max_rows=max_rows)
    lines = _append_error_type(sentence, main.code, cells)
    if not other.sentence or other.sentence == main.sentence:
        return lines

    # An error type that both sources have is shown once, after the main reason.
    other_error_type = "" if other.code == main.code else other.code
    shown_other = replace(other, code=other_error_type)
    # The other reason gets one row less than the main one.
    other_rows = max(max_rows - 1, 1)
    return lines + _labelled_reason_lines(shown_other, cells, other_rows, with_verdict=False)


def _choose_verdicts_title(item: Item, *, fails: bool, differ: bool) -> str:
    """Return the title of the section with the verdicts, such as `Why it fails`."""
    if differ:
        return "Official and recomputed verdicts differ"
    if not fails:
        return "Verdicts"
    if item.has_incident:
        return "How the benchmark counts it"
    return "Why it fails"


def _labelled_reason_lines(
    reason: Reason, cells: int, max_rows: int, *, with_verdict: bool = True
) -> list[Line]:
    """Render a reason after the name of its source, such as `official ✗ the city is missing`.

    `with_verdict`: whether the symbol of the verdict follows the name.
    """
    label = SOURCE_LABELS[reason.source]
    label_cells = SOURCE_LABEL_CELLS
    style = ""
    if with_verdict:
        label += f" {symbols().verdict_symbol(reason.value)}"
        label_cells += 2
        style = get_verdict_style(reason.value)

    text = reason.sentence
    if not text:
        text = "pass" if reason.value else "fail (no reason given)"
    padded_label = f"{label}  ".ljust(label_cells)
    lines = paragraph_lines(padded_label, text, cells, style=style, max_rows=max_rows)
    return _append_error_type(lines, reason.code, cells)


def _append_error_type(lines: list[Line], error_type: str, cells: int) -> list[Line]:
    """Return the lines with the error type after the last line, or below it if it does not fit."""
    if not error_type or not lines:
        return lines
    text = sanitize(error_type)
    *first_lines, last_line = lines
    line_with_error_type: Line = (*last_line, ("   ", ""), (text, "dim"))
    if line_width(line_with_error_type) <= cells:
        return [*first_lines, line_with_error_type]

    indent = "  "
    shortened = truncate_error_type(text, cells - len(indent))
    below: Line = ((indent, ""), (shortened, "dim"))
    return [*lines, below]


def suspicion_blocks(suspicion: Suspicion | None, *, has_heading: bool) -> list[Block]:
    """Return the reasons why the golden answer looks wrong, if fcreview suspects it."""
    if suspicion is None:
        return []
    strength = "strong" if suspicion.is_strong else "weak"
    separator = symbols().separator
    title = f"why the golden answer is suspect {separator} score {suspicion.score:.2f}, {strength}"

    def render_lines(cells: int) -> list[Line]:
        rendered: list[Line] = []
        if has_heading:
            rendered.append(rule_line(make_line(title.capitalize(), "strong"), cells))
        for text in suspicion.reasons:
            rendered += paragraph_lines(
                f"{separator} ", text, cells, style="golden", max_rows=SUSPICION_ROWS
            )
        return rendered

    return [Block("suspicions", render_lines, title=title)]


MAX_NOTED_REASONS = 3
NOTE_INDENT = "    "


def add_suspicion_notes(blocks: Sequence[Block], suspicion: Suspicion | None) -> list[Block]:
    """Add the reasons why a golden value looks wrong below the argument that they mention.

    The reasons come from a check of the golden answer, the strongest one first. The result has the
    same blocks, but those of mentioned arguments have more lines and may be marked as suspect.
    """
    if suspicion is None or not suspicion.reasons:
        return list(blocks)

    arguments = _list_arguments_of_calls(blocks)
    reasons_by_block: dict[int, list[str]] = {}
    for reason in suspicion.reasons:
        block_index = _find_mentioned_argument(arguments, reason)
        if block_index is not None:
            reasons_by_block.setdefault(block_index, []).append(reason)

    strongest_reason = suspicion.reasons[0]
    is_about_call = _names_function(strongest_reason, arguments)
    noted_blocks = list(blocks)
    for block_index, reasons in reasons_by_block.items():
        block = blocks[block_index]
        # A strongest reason with a function is about its call. It makes an argument suspect only if
        # it mentions this argument.
        noted_blocks[block_index] = replace(
            block,
            lines=partial(_noted_lines, block.lines, reasons[:MAX_NOTED_REASONS]),
            is_suspect=strongest_reason in reasons or not is_about_call,
        )
    return noted_blocks


def _names_function(reason: str, arguments: Sequence[_ArgumentOfCall]) -> bool:
    """Whether a reason contains the name of a function that the golden answer calls."""
    functions = {argument.function for argument in arguments if argument.function}
    return any(function in reason for function in functions)


@dataclass(frozen=True, slots=True)
class _ArgumentOfCall:
    """Argument in the document, with the function of its golden call."""

    index: int
    name: str
    function: str
    differs: bool


def _list_arguments_of_calls(blocks: Sequence[Block]) -> list[_ArgumentOfCall]:
    """List the arguments of the calls, without nested values. Differing ones come first."""
    differing = []
    others = []
    function = ""
    for index, block in enumerate(blocks):
        # The heading of a call has its function. The blocks of its arguments follow.
        if block.function:
            function = block.function
        _, separator, name = block.key.partition("/arg:")
        if not separator or not block.is_argument:
            continue
        argument = _ArgumentOfCall(index, name, function, block.differs)
        if argument.differs:
            differing.append(argument)
        else:
            others.append(argument)
    return differing + others


def _find_mentioned_argument(arguments: Sequence[_ArgumentOfCall], reason: str) -> int | None:
    """Return the index of the argument that a reason is about, such as `days` in `wrong type: days
    is a string (get_weather)`.

    If the reason names a function, the argument of its call is meant, else the first argument with
    this name.
    """
    # The argument is the first word after `may be right: `, or else after the first colon.
    _, marker, statement = reason.rpartition("may be right: ")
    if not marker:
        _, _, statement = reason.partition(": ")
    candidates = [argument for argument in arguments if _begins_with_name(statement, argument.name)]
    for argument in candidates:
        # The check of the golden answer adds the name of the function in brackets.
        if f"({argument.function})" in reason:
            return argument.index
    return candidates[0].index if candidates else None


def _begins_with_name(text: str, name: str) -> bool:
    following = text[len(name) : len(name) + 1]
    is_whole_name = not (following.isalnum() or following in ("_", ".", "["))
    return bool(name) and text.startswith(name) and is_whole_name


def _noted_lines(render: LineRenderer, reasons: Sequence[str], cells: int) -> list[Line]:
    """Return the lines of a block, and below them the reasons why its golden answer looks wrong."""
    lines = list(render(cells))
    label = f"{NOTE_INDENT}{symbols().separator} "
    for reason in reasons:
        lines += paragraph_lines(label, reason, cells, style="golden", max_rows=SUSPICION_ROWS)
    return lines
