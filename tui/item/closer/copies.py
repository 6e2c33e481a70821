"""What of an item can be copied, as text: for a chat, an issue, a script. Knows no screen.

What is hidden from a blind annotator is not in the detail.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fcreview.exporters.marking import block, code, titled
from fcreview.model import Call
from fcreview.store.rows import ItemDetail
from fcreview.targets import RESPONSE, part_of
from fcreview.text.words import word
from fcreview.tui.document.blocks import Options
from fcreview.tui.document.calls import call_text
from fcreview.tui.document.document import document
from fcreview.tui.document.pairs import call_value
from fcreview.tui.text.lines import plain

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
