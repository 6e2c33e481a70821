"""Prepare the dialogs of an item: texts to copy, the item in other runs, labels, raw records and the golden editor.

In blind mode the store omits hidden verdicts from an `ItemDetail`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.exporters.report.markdown import code_block, code_span, titled_lines
from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.item import Call, Item, Run
from fcreview.model.sanitize import display_width, sanitize
from fcreview.model.verdict import SCALES
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.database import StoreError
from fcreview.store.rows import ItemDetail, QueueRow, decode_item
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.call_diff import common_prefix_length, format_call
from fcreview.tui.item_view.call_pairs import call_to_json
from fcreview.tui.item_view.document import RawRecord, build_document, format_location, score_location
from fcreview.tui.queue.columns import difference_line
from fcreview.tui.text.graphics import FRAME_CELLS, box_lines
from fcreview.tui.text.lines import (
    ChoiceTable,
    Line,
    StyledText,
    TextColumn,
    fit_line,
    format_json,
    make_line,
    pad_text,
    plain_text,
    truncate_middle,
)
from fcreview.tui.text.theme import symbols, verdict_style

if TYPE_CHECKING:
    from fcreview.store.store import Store
    from fcreview.tui.session import GoldenSupport, Session


COPY_WIDTH = 100


def calls_text(detail: ItemDetail, target: str) -> str:
    """Format the predicted call of the target, else all predicted calls, else the golden calls, as text."""
    item, part = detail.item, parse_address(target)
    calls = item.predicted or item.golden
    if part is not None:
        calls = [call for call in calls if call.turn == part.turn] or calls
    if part is not None and part.call is not None:
        pair = [pair for pair in item.pairs if pair.turn == part.turn][part.call]
        predicted = [call for call in item.predicted if (call.turn, call.index) == (pair.turn, pair.predicted)]
        calls = predicted or [call for call in item.golden if (call.turn, call.index) == (pair.turn, pair.golden)]
    return "\n".join(format_call(call.name, call) for call in calls)


def diff_text(detail: ItemDetail, annotator: str, *, hide_verdicts: bool = False) -> str:
    """Format the comparison of all calls, or of the response with the golden response, as on screen."""
    options = DisplayOptions(unfold_all=True, hide_verdicts=hide_verdicts, print_hint="in full on the item screen")
    blocks = build_document(detail, annotator, options)
    comparisons = [block for block in blocks if _is_comparison(block.target or "")]
    return "\n".join(plain_text(line).rstrip() for block in comparisons for line in block.lines(COPY_WIDTH))


def _is_comparison(target: str) -> bool:
    part = parse_address(target)
    return target == RESPONSE or (part is not None and part.call is not None)


def markdown_text(detail: ItemDetail, annotator: str, command: str, *, hide_verdicts: bool = False) -> str:
    """Format the item as Markdown for an issue. Text from data is escaped. `command`: command that opens the item."""
    diff = diff_text(detail, annotator, hide_verdicts=hide_verdicts)
    return "\n".join(_markdown_lines(detail, annotator, diff, command))


def _markdown_lines(detail: ItemDetail, annotator: str, diff: str, command: str) -> Iterator[str]:
    row, run, item = detail.row, detail.run, detail.item
    yield f"### {code_span(row.id)}"
    yield ""
    yield f"{code_span(run.full_title)}, {code_span(run.model)}, {code_span(row.category)}"
    sources = (("official", row.official), ("recomputed", row.rule), ("judge", row.judge))
    verdicts = [f"{source} {format_verdict(value)}" for source, value in sources if value is not None]
    if verdicts:
        error = row.error_type or row.rule_error_type
        yield ", ".join(verdicts) + (f": {code_span(error)}" if error else "")
    yield ""
    questions = [message.content for message in item.messages if message.role == "user"]
    yield from titled_lines("Question", code_block("\n\n".join(questions) or item.question))
    yield from titled_lines("Golden and predicted", code_block(diff or "no calls"))
    for verdict in item.verdicts:
        if verdict.rationale:
            yield from titled_lines(f"{verdict.source} {code_span(verdict.by or '')}", code_block(verdict.rationale))
    mine = next((o for o in detail.opinions if (o.annotator, o.target) == (annotator, "item")), None)
    if mine is not None and mine.note:
        yield from titled_lines("Note", code_block(mine.note))
    if mine is not None and mine.golden_fix:
        fix = json.dumps(mine.golden_fix, ensure_ascii=False, indent=2)
        yield from titled_lines("Corrected golden answer", code_block(fix, "json"))
    yield from code_block(command)


def json_text(detail: ItemDetail) -> str:
    """Format messages, functions, golden and predicted calls as JSON, as input for another model or checker."""
    item, key = detail.item, detail.key
    fields = {
        **key._asdict(),
        "messages": [{"role": m.role, "content": m.content, "turn": m.turn, "step": m.step} for m in item.messages],
        "functions": item.functions,
        "golden": _calls_to_json(item.golden),
        "predicted": _calls_to_json(item.predicted),
        "prediction_hash": item.prediction_hash,
        "golden_hash": item.golden_hash,
    }
    return json.dumps(fields, ensure_ascii=False, indent=2, default=str)


def _calls_to_json(calls: Sequence[Call]) -> list[dict[str, Any]]:
    return [{"call": call_to_json(call), "turn": call.turn, "step": call.step} for call in calls]


def format_open_command(detail: ItemDetail, folder: Path | None) -> str:
    """Return the shell command that opens the item. It names `folder` only if the path of the run does not imply it."""
    path = Path(detail.run.path)
    parts = ["fcreview", "open", str(path), "--item", detail.row.id, "--run", str(detail.row.run)]
    if folder is not None and folder.resolve() not in (path.resolve(), *path.resolve().parents):
        parts += ["--workspace", str(folder)]
    return shlex.join(parts)


MIN_PANEL_ROWS = 3
MAX_RUN_NAME_CELLS = 30


def other_runs_panel(rows: Sequence[QueueRow], cells: int, free_rows: int) -> list[Line]:
    """Return a panel with verdict and first difference of the same item in other runs. Empty if there is no room."""
    if not rows or free_rows < MIN_PANEL_ROWS + (len(rows) > 1):
        return []
    names = [sanitize(row.run_name or row.model) for row in rows]
    name_cells = min(max(map(display_width, names)), MAX_RUN_NAME_CELLS)
    fitting = free_rows - 2 if len(rows) <= free_rows - 2 else free_rows - 3
    lines: list[Line] = []
    for row, name in list(zip(rows, names, strict=True))[:fitting]:
        value = automatic_verdict(row)
        sign: StyledText = (f"{symbols().verdict_symbol(value)} ", verdict_style(value))
        difference = difference_line(row) or make_line("no difference" if value else "", "dim")
        name_part = pad_text(truncate_middle(name, name_cells), name_cells + 2)
        lines.append(fit_line((sign, name_part, *difference), cells - FRAME_CELLS))
    if len(rows) > fitting:
        lines.append(make_line(f"{symbols().ellipsis} {format_count(len(rows) - fitting, 'more run')}", "dim"))
    verdicts = [value for row in rows if (value := automatic_verdict(row)) is not None]
    facts = f"fail: {verdicts.count(False)} of {len(verdicts)}" if verdicts else ""
    return box_lines("Other runs", lines, cells, ((facts, "dim"),) if facts else ())


def automatic_verdict(row: QueueRow) -> bool | None:
    """Return the official verdict, else the recomputed verdict, else the judge verdict."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


NO_CALL = "(no call)"
MAX_PREFIX = 24
PREFIX_TAIL = 8


@dataclass(frozen=True, slots=True)
class RunPrediction:
    row: QueueRow
    calls: str
    same_count: int


def read_predictions(store: Store, item: int) -> list[RunPrediction]:
    """Return the predictions of all runs with the item. Equal predictions are adjacent, the most frequent first."""
    calls_by_item = {each.item: each.calls for each in store.fetch_predictions(item)}
    counts = Counter(calls_by_item.values())
    order = [calls for calls, _ in counts.most_common()]
    items = sorted(calls_by_item, key=lambda each: (order.index(calls_by_item[each]), each))
    predictions = [(row, calls_by_item[row.item]) for row in store.fetch_rows(items)]
    return [RunPrediction(row, calls, counts[calls]) for row, calls in predictions]


def summarize_predictions(runs: Sequence[RunPrediction]) -> str:
    """Summarize how the predictions agree: `9 of 12 runs fail · 7 predictions equal`. Hidden verdicts are omitted."""
    verdicts = [verdict for each in runs if (verdict := automatic_verdict(each.row)) is not None]
    most = max(each.same_count for each in runs)
    summary = f"{most} predictions equal" if most > 1 else "all predictions differ"
    return f"{verdicts.count(False)} of {format_count(len(verdicts), 'run')} fail · {summary}" if verdicts else summary


def prediction_choices(runs: Sequence[RunPrediction], item: int, *, blind: bool = False) -> ChoiceTable[int]:
    """List the runs with their predictions. `blind`: hide the verdicts of items that the annotator has not reviewed."""
    distinct = list(dict.fromkeys(each.calls for each in runs))
    prefixes = [shared for other in distinct[1:] if (shared := common_prefix_length(distinct[0], other)) > MAX_PREFIX]
    prefix = distinct[0][: min(prefixes, default=0)]
    values = [each.row.item for each in runs]
    first_rows = {distinct.index(each.calls): at for at, each in reversed(list(enumerate(runs)))}
    return ChoiceTable(
        title=f"{sanitize(runs[0].row.id)} in other runs",
        noun="run",
        columns=(
            TextColumn("equal", align_right=True),
            TextColumn("model", truncate=truncate_middle, min_width=12),
            *(TextColumn(name) for name in ("off", "recomp.", "you")),
            TextColumn("prediction", min_width=30),
        ),
        rows=[_prediction_cells(each, at in first_rows.values(), prefix, blind) for at, each in enumerate(runs)],
        values=values,
        cursor=values.index(decode_item(item)) if decode_item(item) in values else 0,
        note=summarize_predictions(runs),
    )


def _prediction_cells(prediction: RunPrediction, is_first: bool, prefix: str, blind: bool) -> list[StyledText]:
    """Return the cells of a run without the common `prefix`. `is_first`: the first run with its prediction."""
    row, calls = prediction.row, prediction.calls or NO_CALL
    if prefix and calls.startswith(prefix):
        calls = symbols().ellipsis + calls[len(prefix) - PREFIX_TAIL :]
    verdicts: list[StyledText] = [
        (symbols().verdict_symbol(each), verdict_style(each)) for each in (row.official, row.rule, row.you)
    ]
    if blind and row.you is None:
        verdicts[:2] = [("hidden", "dim")] * 2
    count: StyledText = (f"{prediction.same_count}", "strong") if is_first else ("", "")
    return [count, (sanitize(row.run_name or row.model), ""), *verdicts, (sanitize(calls), "" if is_first else "dim")]


@dataclass(frozen=True, slots=True)
class LabelChoices:
    labels: list[str]
    selected: list[str]


def label_choices(detail: ItemDetail, annotator: str, criterion: str) -> LabelChoices:
    """Return the labels to choose from. The annotator's own labels are selected, else the benchmark's."""
    verdicts = [v.value for v in detail.item.verdicts if (v.target, v.criterion) == (RESPONSE, criterion)]
    automatic = next((value for value in verdicts if isinstance(value, list)), [])
    own_key = (annotator, RESPONSE, criterion)
    own = next((o.verdict for o in detail.opinions if (o.annotator, o.target, o.criterion) == own_key), None)
    selected = own if isinstance(own, list) else automatic
    known = scale.known_labels if (scale := SCALES.get(criterion)) is not None else ()
    golden = detail.item.extra.golden_labels or []
    labels = dict.fromkeys([*known, *map(str, golden), *map(str, automatic), *selected])
    return LabelChoices(list(labels), list(selected))


async def read_raw_records(session: Session, number: int, item: Item) -> list[RawRecord]:
    """Return the records of item `number` in the result file and, if it exists, in the score file."""
    result = await _read_or_error(session, lambda store: store.read_raw_record(number)) or ""
    records = [RawRecord("result", format_location(item.file, item.line), result)]
    entry = await _read_or_error(session, lambda store: store.read_score_record(number))
    return [*records, RawRecord("score", score_location(item), entry)] if entry is not None else records


async def _read_or_error(session: Session, read: Callable[[Store], str | None]) -> str | None:
    try:
        return await session.query(read)
    except Exception as error:  # the file may be gone, changed or unreadable
        return f"The record cannot be read: {error}"


EMPTY_GOLDEN = "{\n}"
JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(:)?|[{}\[\]]')


@dataclass(frozen=True, slots=True)
class CheckedText:
    """Result of checking a text: the parsed golden answer, or the problem of an invalid text."""

    golden_fix: dict[str, Any] | None
    problem: str = ""
    position: int = 0


def initial_text(golden: GoldenSupport, run: Run, item: Item) -> str:
    """Return the initial text of the editor: the golden answer of the dataset as JSON."""
    try:
        template = golden.make_template(run, item)
    except FcreviewError:
        return EMPTY_GOLDEN
    return EMPTY_GOLDEN if template is None else format_json(template)


def check_text(text: str, golden: GoldenSupport, run: Run, item: Item) -> CheckedText:
    """Parse the text and check it with the benchmark's importer."""
    try:
        fix = json.loads(text)
    except json.JSONDecodeError as error:
        return CheckedText(None, f"invalid JSON: {error.msg}", error.pos)
    except (ValueError, RecursionError) as error:
        return CheckedText(None, f"invalid JSON: {error}")
    if not isinstance(fix, dict):
        return CheckedText(None, "not a JSON object with the fields of the golden record")
    try:
        problem = golden.find_problem(run, item, fix)
    except FcreviewError as error:
        problem = str(error)
    return CheckedText(None, problem, find_problem_position(problem, text)) if problem else CheckedText(fix)


def find_problem_position(problem: str, text: str) -> int:
    """Return the position, in characters, of the most deeply nested JSON string that a problem mentions, else 0."""
    depth, deepest, position = 0, 0, 0
    for token in JSON_TOKEN.finditer(text):
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif token[1] and depth > deepest and re.search(rf"(?<!\w){re.escape(token[1])}(?!\w)", problem):
            deepest, position = depth, token.start()
    return position


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Convert a position in characters to (line, column). All numbers count from 0."""
    return text.count("\n", 0, position), position - (text.rfind("\n", 0, position) + 1)


@dataclass(frozen=True, slots=True)
class RecheckSummary:
    """Effect of a new golden answer on the runs that were checked so far."""

    this_verdict: bool | None = None
    """Recomputed verdict on the displayed prediction: true for pass, None if it cannot be recomputed."""
    runs_checked: int = 0
    to_pass: int = 0
    """Number of verdicts that change to pass. `to_fail` is the number that change to fail."""
    to_fail: int = 0
    runs_left: int = 0

    def describe(self) -> str:
        """Format the effect: `valid · this prediction would pass · changes 3 of 12 runs: 2 to pass, 1 to fail`."""
        if self.this_verdict is None:
            text = "valid · this prediction's verdict cannot be recomputed"
        else:
            text = f"valid · this prediction would {'pass' if self.this_verdict else 'fail'}"
        if not self.runs_checked:
            return text
        rest = f", {self.runs_left} left" if self.runs_left else ""
        runs, changes = format_count(self.runs_checked, "run"), self.to_pass + self.to_fail
        if not changes:
            return f"{text} · changes no verdict in {runs}{rest}"
        counts = ((self.to_pass, "pass"), (self.to_fail, "fail"))
        detail = ", ".join(f"{count} to {verdict}" for count, verdict in counts if count)
        return f"{text} · changes {changes} of {runs}: {detail}{rest}"


async def recheck_runs(
    session: Session, golden: GoldenSupport, item: int, fix: dict[str, Any]
) -> AsyncIterator[RecheckSummary]:
    """Recompute the verdict of an item, then of the same item in each other run. Yield a summary after each run."""
    own = decode_item(item)
    summary = await _recheck_run(session, golden, own, fix, RecheckSummary())
    yield summary
    others = [other for other in await session.query(lambda store: store.find_same_question(own)) if other != own]
    for at, other in enumerate(others, 1):
        checked = await _recheck_run(session, golden, other, fix, summary)
        summary = replace(checked, this_verdict=summary.this_verdict, runs_left=len(others) - at)
        yield summary


async def _recheck_run(
    session: Session, golden: GoldenSupport, item: int, fix: dict[str, Any], summary: RecheckSummary
) -> RecheckSummary:
    before, after = await session.query(lambda store: _recompute_verdict(store, golden, item, fix))
    if after is None:
        return summary
    return replace(
        summary,
        this_verdict=after,
        runs_checked=summary.runs_checked + 1,
        to_pass=summary.to_pass + (after and before is False),
        to_fail=summary.to_fail + (not after and before is True),
    )


def _recompute_verdict(
    store: Store, golden: GoldenSupport, item: int, fix: dict[str, Any]
) -> tuple[bool | None, bool | None]:
    detail = store.read_detail(item)
    return detail.item.rule, golden.recheck(detail.run, detail.item, fix, _read_record(store, item))


def _read_record(store: Store, item: int) -> Any:
    try:
        return json.loads(store.read_raw_record(item))
    except (StoreError, ValueError, RecursionError):
        return None
