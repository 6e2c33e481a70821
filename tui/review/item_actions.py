"""Data for the dialogs of an item: texts to copy, the same item in other runs, labels and raw records.

A detail that a blind annotator reads holds nothing hidden. Contains no Textual code.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.exporters.report.markdown import block, code, titled
from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.item import Call
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import SCALES
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.rows import ItemDetail, QueueRow, decode_item
from fcreview.tui.item_view.blocks import DisplayOptions
from fcreview.tui.item_view.call_diff import common_prefix_length, format_call
from fcreview.tui.item_view.call_pairs import call_to_json
from fcreview.tui.item_view.document import RawRecord, build_document, format_location, score_location
from fcreview.tui.text.lines import ChoiceTable, StyledText, TextColumn, plain_text, truncate_middle
from fcreview.tui.text.theme import symbols, verdict_style

if TYPE_CHECKING:
    from fcreview.model.item import Item
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


COPY_WIDTH = 100
"""Width of copied text in cells."""


def calls_text(detail: ItemDetail, target: str) -> str:
    """The predicted call of the target, else all predicted calls; golden calls if there are none."""
    item, part = detail.item, parse_address(target)
    calls = item.predicted or item.golden
    if part is not None:
        calls = [call for call in calls if call.turn == part.turn] or calls
    if part is not None and part.call is not None:
        pair = [pair for pair in item.pairs if pair.turn == part.turn][part.call]
        sides = [call for call in item.predicted if (call.turn, call.index) == (pair.turn, pair.predicted)]
        calls = sides or [call for call in item.golden if (call.turn, call.index) == (pair.turn, pair.golden)]
    return "\n".join(format_call(call.name, call) for call in calls)


def diff_text(detail: ItemDetail, annotator: str, *, hidden: bool = False) -> str:
    """The argument tables of all calls, or the response beside the golden response, as on the screen."""
    blocks = build_document(
        detail, annotator, DisplayOptions(unfold_all=True, hide_verdicts=hidden, print_hint="whole in the item")
    )
    shown = [each for each in blocks if _is_comparison(each.target or "")]
    return "\n".join(plain_text(line).rstrip() for each in shown for line in each.lines(COPY_WIDTH))


def _is_comparison(target: str) -> bool:
    part = parse_address(target)
    return target == RESPONSE or (part is not None and part.call is not None)


def markdown_text(detail: ItemDetail, annotator: str, command: str, *, hidden: bool = False) -> str:
    """The item as Markdown for an issue. Data text is escaped."""
    diff = diff_text(detail, annotator, hidden=hidden)
    return "\n".join(_markdown(detail, annotator, diff, command))


def _markdown(detail: ItemDetail, annotator: str, diff: str, command: str) -> Iterator[str]:
    row, run, item = detail.row, detail.run, detail.item
    yield f"### {code(row.id)}"
    yield ""
    yield f"{code(run.full_title)}, {code(run.model)}, {code(row.category)}"
    verdicts = [
        f"{name} {format_verdict(value)}"
        for name in ("official", "rule", "judge")
        if (value := getattr(row, name)) is not None
    ]
    if verdicts:
        error = row.error_type or row.rule_error_type
        yield ", ".join(verdicts) + (f": {code(error)}" if error else "")
    yield ""
    users = [message.content for message in item.messages if message.role == "user"]
    yield from titled("Question", block("\n\n".join(users) or item.question))
    yield from titled("Golden and predicted", block(diff or "no calls"))
    for verdict in item.verdicts:
        if verdict.rationale:
            yield from titled(f"{verdict.source} {code(verdict.by or '')}", block(verdict.rationale))
    mine = next((o for o in detail.opinions if (o.annotator, o.target) == (annotator, "item")), None)
    if mine is not None and mine.note:
        yield from titled("Note", block(mine.note))
    if mine is not None and mine.golden_fix:
        yield from titled("Should be", block(json.dumps(mine.golden_fix, ensure_ascii=False, indent=2), "json"))
    yield from block(command)


def json_text(detail: ItemDetail) -> str:
    """Question, functions, golden and predicted calls as JSON, for another model or a checker."""
    item, key = detail.item, detail.key
    whole = {
        **key._asdict(),
        "messages": [{"role": m.role, "content": m.content, "turn": m.turn, "step": m.step} for m in item.messages],
        "functions": item.functions,
        "golden": _calls_to_json(item.golden),
        "predicted": _calls_to_json(item.predicted),
        "prediction_hash": item.prediction_hash,
        "golden_hash": item.golden_hash,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2, default=str)


def _calls_to_json(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """`[{"call": {name: {argument: value}}, "turn", "step"}]`; golden values are lists of accepted values."""
    return [{"call": call_to_json(call), "turn": call.turn, "step": call.step} for call in calls]


def open_command(detail: ItemDetail, folder: Path | None) -> str:
    """The command that opens the item. `folder`: the workspace's, named only if it is not found otherwise."""
    path = Path(detail.run.path)
    parts = ["fcreview", "open", str(path), "--item", detail.row.id, "--run", str(detail.row.run)]
    if folder is not None and folder.resolve() not in (path.resolve(), *path.resolve().parents):
        parts += ["--workspace", str(folder)]
    return shlex.join(parts)


NO_CALL = "(no call)"
MAX_PREFIX = 24
"""A longer prefix that all predictions share is omitted."""
PREFIX_TAIL = 8
"""Characters of an omitted prefix that are still shown."""


@dataclass(frozen=True, slots=True)
class RunPrediction:
    """One run's prediction for the item."""

    row: QueueRow
    calls: str
    same_count: int
    """Number of runs with this prediction, this run included."""


def read_predictions(store: Store, item: int) -> list[RunPrediction]:
    """The predictions of all runs with the item, grouped, the most frequent prediction first."""
    found = {each.item: each.calls for each in store.fetch_predictions(item)}
    times = Counter(found.values())
    order = list(dict.fromkeys(sorted(found.values(), key=lambda calls: -times[calls])))
    rows = store.fetch_rows(sorted(found, key=lambda number: (order.index(found[number]), number)))
    return [RunPrediction(row, found[row.item], times[found[row.item]]) for row in rows]


def automatic_verdict(row: QueueRow) -> bool | None:
    """The official verdict, else the recomputed one, else the judge's."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


def summarize_predictions(runs: Sequence[RunPrediction]) -> str:
    """`9 of 12 runs fail · 7 give the same`, without verdicts if they are hidden."""
    known = [verdict for each in runs if (verdict := automatic_verdict(each.row)) is not None]
    most = max(each.same_count for each in runs)
    same = f"{most} give the same" if most > 1 else "all predictions differ"
    return f"{known.count(False)} of {format_count(len(known), 'run')} fail · {same}" if known else same


def prediction_choices(runs: Sequence[RunPrediction], item: int) -> ChoiceTable[int]:
    """The rows of the list of runs. A row's value is its item."""
    distinct = list(dict.fromkeys(each.calls for each in runs))
    alike = [shared for other in distinct[1:] if (shared := common_prefix_length(distinct[0], other)) > MAX_PREFIX]
    common = distinct[0][: min(alike, default=0)]
    values = [each.row.item for each in runs]
    firsts = {distinct.index(each.calls): at for at, each in reversed(list(enumerate(runs)))}
    return ChoiceTable(
        title=f"{sanitize(runs[0].row.id)} in other runs",
        noun="run",
        columns=(
            TextColumn("alike", align_right=True),
            TextColumn("model", truncate=truncate_middle, min_width=12),
            *(TextColumn(name) for name in ("off", "rule", "you")),
            TextColumn("prediction", min_width=30),
        ),
        rows=[_prediction_cells(each, at in firsts.values(), common) for at, each in enumerate(runs)],
        values=values,
        cursor=values.index(decode_item(item)) if decode_item(item) in values else 0,
        note=summarize_predictions(runs),
    )


def _prediction_cells(each: RunPrediction, first: bool, common: str) -> list[StyledText]:
    row = each.row
    calls = each.calls or NO_CALL
    if common and calls.startswith(common):
        calls = symbols().ellipsis + calls[len(common) - PREFIX_TAIL :]
    marks: list[StyledText] = [
        (symbols().verdict_symbol(each), verdict_style(each)) for each in (row.official, row.rule, row.you)
    ]
    alike: StyledText = (f"{each.same_count}", "strong") if first else ("", "")
    return [alike, (sanitize(row.run_name or row.model), ""), *marks, (sanitize(calls), "" if first else "dim")]


@dataclass(frozen=True, slots=True)
class LabelChoices:
    """The labels to choose from and those chosen at first."""

    labels: list[str]
    selected: list[str]


def read_label_criteria(store: Store, item: int) -> list[str]:
    """The criteria on which the item's response has labels."""
    return store.fetch_label_criteria(item)


def label_choices(detail: ItemDetail, annotator: str, criterion: str) -> LabelChoices:
    """The criterion's known labels, then those of this item. Chosen are this annotator's own, else the benchmark's."""
    scale = SCALES.get(criterion)
    automatic = next(
        (
            verdict.value
            for verdict in detail.item.verdicts
            if (verdict.target, verdict.criterion) == (RESPONSE, criterion) and isinstance(verdict.value, list)
        ),
        [],
    )
    mine = next(
        (
            opinion.verdict
            for opinion in detail.opinions
            if (opinion.annotator, opinion.target, opinion.criterion) == (annotator, RESPONSE, criterion)
        ),
        None,
    )
    chosen = mine if isinstance(mine, list) else automatic
    known = scale.known_labels if scale is not None else ()
    golden = detail.item.extra.golden_labels or []
    return LabelChoices(list(dict.fromkeys([*known, *map(str, golden), *map(str, automatic), *chosen])), list(chosen))


async def read_raw_records(session: Session, number: int, item: Item) -> list[RawRecord]:
    """The record of the result file, and the score file's entry that failed the item if there is one."""
    result = await _read_or_error(session, lambda store: store.read_raw_record(number)) or ""
    records = [RawRecord("result", format_location(item.file, item.line), result)]
    entry = await _read_or_error(session, lambda store: store.read_score_record(number))
    return [*records, RawRecord("score", score_location(item), entry)] if entry is not None else records


async def _read_or_error(session: Session, query: Callable[[Store], str | None]) -> str | None:
    try:
        return await session.query(query)
    except Exception as error:  # the file may be gone, changed or unreadable
        return f"The record cannot be read: {error}"
