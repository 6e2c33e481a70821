"""What is looked at more closely: other runs, labels, what is copied.

What of an item can be copied, as text: for a chat, an issue, a script. Knows no screen.

What is hidden from a blind annotator is not in the detail.

The same item in other runs: one row a run, equal predictions together. Pure but for `read`.

Which labels a response can be given on the screen. Pure but for `asked_labels`.

An item's records as they stand in the files: read again when they are asked for.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.exporters.report.markdown import block, code, titled
from fcreview.model.address import RESPONSE, part_of
from fcreview.model.item import Call
from fcreview.model.sanitize import visible
from fcreview.model.verdict import SCALES
from fcreview.model.wording import count_of, word
from fcreview.store.rows import ItemDetail, QueueRow, item_of
from fcreview.tui.item_view.blocks import Options
from fcreview.tui.item_view.call_diff import agree, call_text
from fcreview.tui.item_view.call_pairs import call_value
from fcreview.tui.item_view.document import Record, document, place_of, score_place
from fcreview.tui.text.lines import Choices, Column, Part, cut_middle, plain
from fcreview.tui.text.theme import symbols, verdict_style

if TYPE_CHECKING:
    from fcreview.model.item import Item
    from fcreview.store.store import Store
    from fcreview.tui.session import Session


CELLS = 100


def call_copy(detail: ItemDetail, target: str) -> str:
    """The predicted call that the target lies in, else all of them; golden ones if there are none."""
    item, part = detail.item, part_of(target)
    calls = item.predicted or item.golden
    if part is not None:
        calls = [call for call in calls if call.turn == part.turn] or calls
    if part is not None and part.call is not None:
        pair = [pair for pair in item.pairs if pair.turn == part.turn][part.call]
        sides = [call for call in item.predicted if (call.turn, call.index) == (pair.turn, pair.predicted)]
        calls = sides or [call for call in item.golden if (call.turn, call.index) == (pair.turn, pair.golden)]
    return "\n".join(call_text(call.name, call) for call in calls)


def diff_copy(detail: ItemDetail, annotator: str, *, hidden: bool = False) -> str:
    """The argument tables of all calls, or the response beside the golden one, as on the screen."""
    blocks = document(detail, annotator, Options(open_all=True, hidden=hidden, in_print="whole in the item"))
    shown = [each for each in blocks if _compared(each.target or "")]
    return "\n".join(plain(line).rstrip() for each in shown for line in each.lines(CELLS))


def _compared(target: str) -> bool:
    part = part_of(target)
    return target == RESPONSE or (part is not None and part.call is not None)


def markdown_copy(detail: ItemDetail, annotator: str, command: str, *, hidden: bool = False) -> str:
    """Ready for an issue: nothing of the data is read as markup."""
    diff = diff_copy(detail, annotator, hidden=hidden)
    return "\n".join(_markdown(detail, annotator, diff, command))


def _markdown(detail: ItemDetail, annotator: str, diff: str, command: str) -> Iterator[str]:
    row, run, item = detail.row, detail.run, detail.item
    yield f"### {code(row.id)}"
    yield ""
    yield f"{code(run.kind)}, {code(run.model)}, {code(row.category)}"
    said = [
        f"{name} {word(value)}" for name in ("official", "rule", "judge") if (value := getattr(row, name)) is not None
    ]
    if said:
        error = row.error_type or row.rule_error_type
        yield ", ".join(said) + (f": {code(error)}" if error else "")
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


def json_copy(detail: ItemDetail) -> str:
    """Question, functions, golden and predicted calls: enough to ask another model, or to try a checker."""
    item, key = detail.item, detail.key
    whole = {
        **key._asdict(),
        "messages": [{"role": m.role, "content": m.content, "turn": m.turn, "step": m.step} for m in item.messages],
        "functions": item.functions,
        "golden": _calls(item.golden),
        "predicted": _calls(item.predicted),
        "prediction_hash": item.prediction_hash,
        "golden_hash": item.golden_hash,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2, default=str)


def _calls(calls: Sequence[Call]) -> list[dict[str, Any]]:
    """`[{"call": {name: {argument: value}}, "turn", "step"}]`; golden values are lists of what is accepted."""
    return [{"call": call_value(call), "turn": call.turn, "step": call.step} for call in calls]


def command_copy(detail: ItemDetail, place: Path | None) -> str:
    """What opens the item again. `place`: the folder of the workspace, named where it would not be found."""
    path = Path(detail.run.path)
    parts = ["fcreview", "open", str(path), "--item", detail.row.id, "--run", str(detail.row.run)]
    if place is not None and place.resolve() not in (path.resolve(), *path.resolve().parents):
        parts += ["--workspace", str(place)]
    return shlex.join(parts)


NO_CALL = "(no call)"
SEEN = 24
"""Characters that predictions have in common from which on they are left out, but for the last."""
LEFT = 8


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """One run's prediction for the question."""

    row: QueueRow
    calls: str
    alike: int
    """How many runs predict the same, this one among them."""


def read(store: Store, item: int) -> list[Elsewhere]:
    """Of every run that has the question: the most frequent prediction first, runs of one prediction together."""
    found = {each.item: each.calls for each in store.predictions(item)}
    times = Counter(found.values())
    order = list(dict.fromkeys(sorted(found.values(), key=lambda calls: -times[calls])))
    rows = store.rows(sorted(found, key=lambda number: (order.index(found[number]), number)))
    return [Elsewhere(row, found[row.item], times[found[row.item]]) for row in rows]


def automatic(row: QueueRow) -> bool | None:
    """Official, else rule, else the judge's."""
    return next((value for value in (row.official, row.rule, row.judge) if value is not None), None)


def headline(runs: Sequence[Elsewhere]) -> str:
    """`9 of 12 fail · 7 give the same`; of verdicts nothing where they are hidden."""
    known = [verdict for each in runs if (verdict := automatic(each.row)) is not None]
    most = max(each.alike for each in runs)
    same = f"{most} give the same" if most > 1 else "no two alike"
    return f"{known.count(False)} of {count_of(len(known), 'run')} fail · {same}" if known else same


def choices(runs: Sequence[Elsewhere], item: int) -> Choices[int]:
    """A row stands for its item."""
    distinct = list(dict.fromkeys(each.calls for each in runs))
    alike = [shared for other in distinct[1:] if (shared := agree(distinct[0], other)) > SEEN]
    common = distinct[0][: min(alike, default=0)]
    values = [each.row.item for each in runs]
    firsts = {distinct.index(each.calls): at for at, each in reversed(list(enumerate(runs)))}
    return Choices(
        title=f"{visible(runs[0].row.id)} in other runs",
        noun="run",
        columns=(
            Column("alike", right=True),
            Column("model", cut=cut_middle, least=12),
            *(Column(name) for name in ("off", "rule", "you")),
            Column("prediction", least=30),
        ),
        rows=[_cells(each, at in firsts.values(), common) for at, each in enumerate(runs)],
        values=values,
        cursor=values.index(item_of(item)) if item_of(item) in values else 0,
        note=headline(runs),
    )


def _cells(each: Elsewhere, first: bool, common: str) -> list[Part]:
    row = each.row
    calls = each.calls or NO_CALL
    if common and calls.startswith(common):
        calls = symbols().ellipsis + calls[len(common) - LEFT :]
    marks: list[Part] = [(symbols().verdict(each), verdict_style(each)) for each in (row.official, row.rule, row.you)]
    alike: Part = (f"{each.alike}", "strong") if first else ("", "")
    return [alike, (visible(row.run_name or row.model), ""), *marks, (visible(calls), "" if first else "dim")]


@dataclass(frozen=True, slots=True)
class Offered:
    """What there is to choose from, and what is chosen at first."""

    labels: list[str]
    chosen: list[str]


def asked_labels(store: Store, item: int) -> list[str]:
    """The criteria on which its response has labels."""
    return store.label_criteria(item)


def offered(detail: ItemDetail, annotator: str, criterion: str) -> Offered:
    """The labels that the criterion is known to have, then those that stand in this item. Chosen are this annotator's
    own, else the benchmark's; what is hidden is not in the detail."""
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
    known = scale.known if scale is not None else ()
    golden = detail.item.extra.golden_labels or []
    return Offered(list(dict.fromkeys([*known, *map(str, golden), *map(str, automatic), *chosen])), list(chosen))


async def raw_records(session: Session, number: int, item: Item) -> list[Record]:
    """The result record and the entry of the score file that failed the item, if it is known."""
    records = [Record("result", place_of(item.file, item.line), await _read(session, partial(_result, number)) or "")]
    entry = await _read(session, partial(_score, number))
    return [*records, Record("score", score_place(item), entry)] if entry is not None else records


def _result(item: int, store: Store) -> str | None:
    return store.raw(item)


def _score(item: int, store: Store) -> str | None:
    return store.raw_score(item)


async def _read(session: Session, question: Callable[[Store], str | None]) -> str | None:
    try:
        return await session.ask(question)
    except Exception as error:  # the file may be gone, changed or unreadable: say so
        return f"The record cannot be read: {error}"
