"""`fcreview adjudicate`: resolve annotator disagreements in the app, or list them without a
terminal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.cli.commands.open import show_app
from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WhereOption,
    WorkspaceOptions,
    workspace_command,
)
from fcreview.cli.output import (
    can_show_app,
    emit,
    emit_json,
    emit_lines,
    get_wrap_width,
    print_message,
)
from fcreview.cli.workspace_import import open_workspace
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import ITEM, RESPONSE, describe_address, parse_address
from fcreview.model.decision import format_answer_letter
from fcreview.model.item import Call, Item
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count
from fcreview.stats.agreement_ratings import (
    format_majority,
    format_opinion,
    format_source_verdict,
    list_automatic_verdicts,
    list_verdicts_for_adjudication,
)

if TYPE_CHECKING:
    from fcreview.model.decision import Disagreement
    from fcreview.store.rows import ItemDetail

LABEL_WIDTH = 13  # width of the label column in terminal columns
MAX_CALLS = 6  # maximum number of golden calls and of predicted calls that are printed
MAX_ROWS = 12  # maximum number of lines of each text


@workspace_command("annotator")
def adjudicate(
    options: WorkspaceOptions,
    where: WhereOption = "",
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resolve annotator disagreements.

    Opens the app, which shows the annotators' answers in random order and without names, as A, B,
    C. Without a terminal, prints each disagreement with the `fcreview label --adjudicate` command
    that resolves it. A resolved disagreement opens again only if the prediction or the golden
    answer changes.

    Example: fcreview adjudicate runs/gpt4o --where category:live_simple
    """
    with open_workspace(options) as session:
        view = session.build_view(where, run=run)
        if can_show_app() and not as_json:
            show_app(session, view, start="adjudicate")
            return
        disagreements = session.store.analysis.fetch_disagreements(view)
        for each in disagreements:
            detail = session.store.read_detail(each.item)
            if as_json:
                emit_json(_build_disagreement_json(detail, each.disagreement))
                continue
            emit_lines(
                _format_disagreement_lines(detail, each.disagreement, options, get_wrap_width())
            )
            emit()
    if not as_json or not disagreements:
        print_message(
            f"{format_count(len(disagreements), 'disagreement')} to resolve"
            if disagreements
            else "no disagreements to resolve"
        )


def _build_disagreement_json(detail: ItemDetail, disagreement: Disagreement) -> dict[str, Any]:
    """Build the JSON object of a disagreement. `answers` is a list of {answer, value, fault, tags,
    note}, where `answer` is a letter that stands for the annotator. `majority` is the verdict of
    more than half of the annotators, or null.
    """
    answers = [
        {
            "answer": format_answer_letter(at),
            "value": o.verdict,
            "fault": o.fault,
            "tags": o.tags or [],
            "note": o.note,
        }
        for at, o in enumerate(disagreement.answers)
    ]
    automatic = [
        {
            name: getattr(verdict, name)
            for name in ("source", "value", "by", "error_type", "rationale")
        }
        for verdict in list_automatic_verdicts(detail.item, disagreement)
    ]
    key_names = ("model", "benchmark", "generation", "language", "category", "id")
    return {
        "run": detail.row.run,
        **{name: getattr(detail.key, name) for name in key_names},
        "target": disagreement.target,
        "criterion": disagreement.criterion,
        "answers": answers,
        "majority": disagreement.majority,
        "automatic": automatic,
    }


def _format_disagreement_lines(
    detail: ItemDetail, disagreement: Disagreement, options: WorkspaceOptions, width: int
) -> Iterator[str]:
    key, item = detail.key, detail.item
    about = [
        sanitize(key.id),
        describe_address(sanitize(disagreement.target)),
        sanitize(disagreement.criterion),
    ]
    run = ", ".join([sanitize(detail.run.full_title), detail.row.run_name, sanitize(key.category)])
    yield f"{' · '.join(about)}   ({run}, run {detail.row.run})"
    texts: list[tuple[str, str]] = []
    for at, answer in enumerate(disagreement.answers):
        texts += [
            (format_answer_letter(at), format_opinion(answer)),
            ("", ", ".join(answer.tags or ())),
            ("", answer.note or ""),
        ]
    texts += zip(
        ("golden", "predicted", "differs"),
        _extract_target_texts(item, disagreement.target),
        strict=True,
    )
    for verdict in list_verdicts_for_adjudication(item, disagreement):
        texts.append((verdict.source, format_source_verdict(verdict, disagreement.criterion)))
    for label, text in (*texts, ("majority", format_majority(disagreement))):
        yield from _format_labelled_lines(label, text, width)
    yield f"  {sanitize(_build_label_command(detail, disagreement, options))}"


class TargetTexts(NamedTuple):
    golden: str  # golden calls
    predicted: str  # predicted calls, or the model's text if it made no call
    difference: str  # first difference between the calls


def _extract_target_texts(item: Item, target: str) -> TargetTexts:
    part = parse_address(target)
    replies = [
        m.content
        for m in item.messages
        if m.role == "assistant" and (part is None or m.turn == part.turn)
    ]
    if target == RESPONSE:
        return TargetTexts("", predicted=replies[-1] if replies else "", difference="")
    pairs = item.pairs if part is None else [pair for pair in item.pairs if pair.turn == part.turn]
    if part is not None and part.call is not None:
        pairs = pairs[part.call : part.call + 1]
    golden = [
        call
        for call in item.golden
        if any((p.turn, p.golden) == (call.turn, call.index) for p in pairs)
    ]
    predicted = [
        c for c in item.predicted if any((p.turn, p.predicted) == (c.turn, c.index) for p in pairs)
    ]
    difference = (
        item.first_difference
        if part is None
        else find_first_difference(pairs, golden, predicted).text
    )
    return TargetTexts(
        _format_calls(golden),
        predicted=_format_calls(predicted) or (replies[-1] if replies else ""),
        difference=difference or "",
    )


def _format_calls(calls: Sequence[Call]) -> str:
    from fcreview.tui.item_view.call_diff import format_call

    lines = [format_call(call) for call in calls[:MAX_CALLS]]
    return "\n".join(
        [
            *lines,
            *(
                [f"and {format_count(len(calls) - MAX_CALLS, 'more call')}"]
                if len(calls) > MAX_CALLS
                else []
            ),
        ]
    )


def _build_label_command(
    detail: ItemDetail, disagreement: Disagreement, options: WorkspaceOptions
) -> str:
    arguments = ["--run", str(detail.row.run)]
    arguments += ["--target", disagreement.target] if disagreement.target != ITEM else []
    arguments += (
        ["--criterion", disagreement.criterion] if disagreement.criterion != CORRECT else []
    )
    arguments += ["--workspace", str(options.workspace)] if options.workspace is not None else []
    command = [
        "fcreview",
        "label",
        str(options.paths[0]),
        detail.key.id,
        *arguments,
        "--adjudicate",
    ]
    return f"{shlex.join(command)} --verdict ..."


def _format_labelled_lines(label: str, text: str, width: int) -> Iterator[str]:
    from fcreview.tui.text.lines import wrap_first_rows

    rows, more = wrap_first_rows(text, width - LABEL_WIDTH, MAX_ROWS) if text else ([], False)
    for at, row in enumerate([*rows, *(["…"] if more else [])]):
        yield f"  {label if at == 0 else '':<{LABEL_WIDTH - 2}}{row}"
