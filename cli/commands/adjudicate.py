"""`fcreview adjudicate`: what annotators differ on, their names hidden: a screen, or a list without a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.launch import show_app
from fcreview.cli.options import (
    Annotator,
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    RunOption,
    WhereOption,
    WorkspaceOption,
)
from fcreview.cli.output import cells, emit, emit_json, note, on_terminal
from fcreview.cli.workspace import Place, opened
from fcreview.matching.first_difference import first_difference
from fcreview.model.address import ITEM, RESPONSE, Target, part_of, words
from fcreview.model.decision import letter
from fcreview.model.item import Call, Item, Pair
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of
from fcreview.stats.agreement import answer_text, automatic_of, majority_text, told_of, verdict_text

if TYPE_CHECKING:
    from fcreview.model.decision import Dispute
    from fcreview.store.rows import ItemDetail

LABEL = 13
"""Cells of what stands before each line's text."""
CALLS, ROWS = 6, 12
"""Calls of a side, and rows of a text, that are shown; `fcreview show` has the rest."""


def adjudicate(
    path: PathArgument,
    where: WhereOption = "",
    run: RunOption = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    annotator: Annotator = None,
    as_json: AsJson = False,
) -> None:
    """Settle what annotators differ on.

    Each target with their answers as A, B, C in shuffled order, names hidden; what most say is shown and not taken.
    On a terminal one key settles a target; elsewhere they are listed, for `fcreview label ITEM --adjudicate`.
    What is settled comes back only if prediction or golden answer changes.

    Example: fcreview adjudicate runs/gpt4o --where category:live_simple
    """
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        view = session.view(where, run=run)
        if on_terminal() and not as_json:
            show_app(session, view, adjudicate=True)
            return
        found = session.store.told.disputes(view)
        for each in found:
            detail = session.store.detail(each.item)
            if as_json:
                emit_json(as_object(detail, each.dispute))
                continue
            for line in lines_of(detail, each.dispute, path, cells(), workspace):
                emit(line)
            emit()
    if not as_json or not found:
        note(f"{count_of(len(found), 'target')} to settle" if found else "nothing is disputed")


def as_object(detail: ItemDetail, dispute: Dispute) -> dict[str, Any]:
    """{run, model, benchmark, generation, language, category, id, target, criterion, answers, majority, automatic}.

    An answer is {answer, value, fault, tags, note}: `answer` a letter, and nothing says whose it is. `majority` is what
    more than half say, or null. `automatic` has {source, value, by, error_type, rationale} as exported labels do.
    """
    answers = [
        {"answer": letter(at), "value": o.verdict, "fault": o.fault, "tags": o.tags or [], "note": o.note}
        for at, o in enumerate(dispute.answers)
    ]
    automatic = [
        {"source": v.source, "value": v.value, "by": v.by, "error_type": v.error_type, "rationale": v.rationale}
        for v in automatic_of(detail.item, dispute)
    ]
    return {
        "run": detail.row.run,
        **{name: getattr(detail.key, name) for name in ("model", "benchmark", "generation", "language")},
        "category": detail.key.category,
        "id": detail.key.id,
        "target": dispute.target,
        "criterion": dispute.criterion,
        "answers": answers,
        "majority": dispute.majority,
        "automatic": automatic,
    }


def lines_of(
    detail: ItemDetail, dispute: Dispute, path: Path, width: int, workspace: Path | None = None
) -> Iterator[str]:
    """One dispute as lines of safe text."""
    key, item = detail.key, detail.item
    about = [visible(key.id), words(visible(dispute.target)), visible(dispute.criterion)]
    place = ", ".join([visible(detail.run.kind), visible(key.model), visible(key.category)])
    yield f"{' · '.join(about)}   ({place}, run {detail.row.run})"
    for at, answer in enumerate(dispute.answers):
        yield from labelled(letter(at), answer_text(answer), width)
        yield from labelled("", ", ".join(answer.tags or ()), width)
        yield from labelled("", answer.note or "", width)
    golden, predicted, difference = compared(item, dispute.target)
    yield from labelled("golden", golden, width)
    yield from labelled("predicted", predicted, width)
    yield from labelled("differs", difference, width)
    for v in told_of(item, dispute):
        yield from labelled(v.source, verdict_text(v, dispute.criterion), width)
    yield from labelled("majority", majority_text(dispute), width)
    yield f"  {visible(settling(detail, dispute, path, workspace))}"


def compared(item: Item, target: str) -> tuple[str, str, str]:
    """Golden and predicted calls of the item, or of the part that is disputed, and the first difference between them;
    of a response, and where nothing was called, what was answered in words."""
    part = part_of(target)
    said = [m.content for m in item.messages if m.role == "assistant" and (part is None or m.turn == part.turn)]
    if target == RESPONSE:
        return "", said[-1] if said else "", ""
    pairs = pairs_of(item, part)
    golden = [call for call in item.golden if any((p.turn, p.golden) == (call.turn, call.index) for p in pairs)]
    predicted = [c for c in item.predicted if any((p.turn, p.predicted) == (c.turn, c.index) for p in pairs)]
    difference = item.first_difference if part is None else first_difference(pairs, golden, predicted).text
    return calls_text(golden), calls_text(predicted) or (said[-1] if said else ""), difference or ""


def pairs_of(item: Item, part: Target | None) -> list[Pair]:
    if part is None:
        return item.pairs
    there = [pair for pair in item.pairs if pair.turn == part.turn]
    return there if part.call is None else there[part.call : part.call + 1]


def calls_text(calls: Sequence[Call]) -> str:
    """A line a call."""
    from fcreview.tui.item_view.call_diff import call_text

    lines = [call_text(call.name, call) for call in calls[:CALLS]]
    return "\n".join([*lines, *([f"and {len(calls) - CALLS} more"] if len(calls) > CALLS else [])])


def settling(detail: ItemDetail, dispute: Dispute, path: Path, workspace: Path | None) -> str:
    """The command that settles it, in the workspace that was named."""
    named = ["--run", str(detail.row.run)]
    named += ["--target", dispute.target] if dispute.target != ITEM else []
    named += ["--criterion", dispute.criterion] if dispute.criterion != CORRECT else []
    named += ["--workspace", str(workspace)] if workspace is not None else []
    return f"{shlex.join(['fcreview', 'label', str(path), detail.key.id, *named, '--adjudicate'])} --verdict ..."


def labelled(label: str, text: str, width: int) -> Iterator[str]:
    """Text from data behind a label that stands in its first line only; nothing for an empty text."""
    from fcreview.tui.text.lines import fold_text

    rows, more = fold_text(text, width - LABEL, ROWS) if text else ([], False)
    for at, row in enumerate([*rows, *(["…"] if more else [])]):
        yield f"  {label if at == 0 else '':<{LABEL - 2}}{row}"
