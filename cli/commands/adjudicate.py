"""`fcreview adjudicate`: resolve annotator disagreements in the app, or list them without a
terminal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fcreview.cli.app_start import show_app
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
from fcreview.model.address import (
    ITEM,
    RESPONSE,
    PartAddress,
    describe_address,
    parse_address,
)
from fcreview.model.decision import format_answer_letter
from fcreview.model.item import Call, CallPair, Item
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
        for row in disagreements:
            detail = session.store.read_detail(row.item)
            if as_json:
                emit_json(_build_disagreement_json(detail, row.disagreement))
            else:
                width = get_wrap_width()
                emit_lines(_format_disagreement_lines(detail, row.disagreement, options, width))
                emit()

    if not disagreements:
        print_message("no disagreements to resolve")
    elif not as_json:
        print_message(f"{format_count(len(disagreements), 'disagreement')} to resolve")


def _build_disagreement_json(detail: ItemDetail, disagreement: Disagreement) -> dict[str, Any]:
    """Build the JSON object of a disagreement.

    `majority` is the verdict of more than half of the annotators, or null.
    """
    key = detail.key
    return {
        "run": detail.row.run,
        "model": key.model,
        "benchmark": key.benchmark,
        "generation": key.generation,
        "language": key.language,
        "category": key.category,
        "id": key.id,
        "target": disagreement.target,
        "criterion": disagreement.criterion,
        "answers": _build_answers_json(disagreement),
        "majority": disagreement.majority,
        "golden_status": disagreement.golden_status,
        "automatic": _build_automatic_verdicts_json(detail.item, disagreement),
    }


def _build_answers_json(disagreement: Disagreement) -> list[dict[str, Any]]:
    """Build an object for each annotator's answer. A letter stands for the annotator's name."""
    answers = []
    for index, answer in enumerate(disagreement.answers):
        answers.append(
            {
                "answer": format_answer_letter(index),
                "value": answer.verdict,
                "fault": answer.fault,
                "tags": answer.tags or [],
                "note": answer.note,
                "golden_fix": answer.golden_fix,
                "golden_status": answer.golden_status,
            }
        )
    return answers


def _build_automatic_verdicts_json(item: Item, disagreement: Disagreement) -> list[dict[str, Any]]:
    """Build an object for each automatic verdict on the target of a disagreement."""
    verdicts = []
    for verdict in list_automatic_verdicts(item, disagreement):
        verdicts.append(
            {
                "source": verdict.source,
                "value": verdict.value,
                "by": verdict.by,
                "error_type": verdict.error_type,
                "rationale": verdict.rationale,
            }
        )
    return verdicts


def _format_disagreement_lines(
    detail: ItemDetail, disagreement: Disagreement, options: WorkspaceOptions, width: int
) -> Iterator[str]:
    """Format a disagreement as text, and the command that resolves it.

    The text has the answers of the annotators, the calls that they are about, the automatic
    verdicts and the majority.
    """
    yield _format_disagreement_title(detail, disagreement)

    for index, answer in enumerate(disagreement.answers):
        letter = format_answer_letter(index)
        yield from _format_labelled_lines(letter, format_opinion(answer), width)
        yield from _format_labelled_lines("", ", ".join(answer.tags or ()), width)
        yield from _format_labelled_lines("", answer.note or "", width)

    texts = _extract_target_texts(detail.item, disagreement.target)
    yield from _format_labelled_lines("golden", texts.golden, width)
    yield from _format_labelled_lines("predicted", texts.predicted, width)
    yield from _format_labelled_lines("differs", texts.difference, width)

    for verdict in list_verdicts_for_adjudication(detail.item, disagreement):
        text = format_source_verdict(verdict, disagreement.criterion)
        yield from _format_labelled_lines(verdict.source, text, width)
    yield from _format_labelled_lines("majority", format_majority(disagreement), width)
    yield f"  {sanitize(_build_label_command(detail, disagreement, options))}"


def _format_disagreement_title(detail: ItemDetail, disagreement: Disagreement) -> str:
    """Format `simple_3 · item · correct   (BFCL V4, gpt-4o, simple, run 1)`."""
    key = detail.key
    item_id = sanitize(key.id)
    target = describe_address(sanitize(disagreement.target))
    criterion = sanitize(disagreement.criterion)

    benchmark = sanitize(detail.run.full_title)
    category = sanitize(key.category)
    run = f"{benchmark}, {detail.row.run_name}, {category}, run {detail.row.run}"
    return f"{item_id} · {target} · {criterion}   ({run})"


class TargetTexts(NamedTuple):
    golden: str  # golden calls
    predicted: str  # predicted calls, or the model's text if it made no call
    difference: str  # first difference between the calls


def _extract_target_texts(item: Item, target: str) -> TargetTexts:
    """Return the golden and predicted calls of a target, and their first difference.

    The target `response` has no calls, so its predicted text is the model's last reply.
    """
    part = parse_address(target)
    turn = None if part is None else part.turn
    reply = _find_last_reply(item, turn)
    if target == RESPONSE:
        return TargetTexts("", predicted=reply, difference="")

    pairs = _select_pairs(item, part)
    golden, predicted = _select_calls_of_pairs(item, pairs)
    if part is None:
        difference = item.first_difference
    else:
        difference = find_first_difference(pairs, golden, predicted).text
    return TargetTexts(
        _format_calls(golden),
        predicted=_format_calls(predicted) or reply,
        difference=difference or "",
    )


def _select_calls_of_pairs(item: Item, pairs: Sequence[CallPair]) -> tuple[list[Call], list[Call]]:
    """Return the golden calls and the predicted calls of the pairs, from the calls of an item."""
    golden_places = {(pair.turn, pair.golden) for pair in pairs}
    predicted_places = {(pair.turn, pair.predicted) for pair in pairs}
    golden = [call for call in item.golden if (call.turn, call.index) in golden_places]
    predicted = [call for call in item.predicted if (call.turn, call.index) in predicted_places]
    return golden, predicted


def _find_last_reply(item: Item, turn: int | None) -> str:
    """Return the model's last text in a turn, or in the item if `turn` is None."""
    for message in reversed(item.messages):
        if message.role == "assistant" and turn in (None, message.turn):
            return message.content
    return ""


def _select_pairs(item: Item, part: PartAddress | None) -> list[CallPair]:
    """Return the pairs of calls of a part of the item: all pairs of a turn, or one of them.

    `part`: None for the whole item.
    """
    if part is None:
        return list(item.pairs)
    pairs_of_turn = [pair for pair in item.pairs if pair.turn == part.turn]
    if part.call is None:
        return pairs_of_turn
    if part.call < len(pairs_of_turn):
        return [pairs_of_turn[part.call]]
    return []


def _format_calls(calls: Sequence[Call]) -> str:
    """Return the first calls, one on each line, and the number of further calls."""
    from fcreview.tui.item_view.call_diff import format_call

    lines = [format_call(call) for call in calls[:MAX_CALLS]]
    n_more = len(calls) - MAX_CALLS
    if n_more > 0:
        lines.append(f"and {format_count(n_more, 'more call')}")
    return "\n".join(lines)


def _build_label_command(
    detail: ItemDetail, disagreement: Disagreement, options: WorkspaceOptions
) -> str:
    """Format the command that resolves a disagreement: `fcreview label ... --adjudicate --verdict
    ...`.

    The user adds the verdict. Options with their default values are omitted.
    """
    command = ["fcreview", "label", str(options.paths[0]), detail.key.id]
    command += ["--run", str(detail.row.run)]
    if disagreement.target != ITEM:
        command += ["--target", disagreement.target]
    if disagreement.criterion != CORRECT:
        command += ["--criterion", disagreement.criterion]
    if options.workspace is not None:
        command += ["--workspace", str(options.workspace)]
    command.append("--adjudicate")
    return f"{shlex.join(command)} --verdict ..."


def _format_labelled_lines(label: str, text: str, width: int) -> Iterator[str]:
    """Wrap a text beside its label. An empty text has no lines."""
    from fcreview.tui.text.lines import wrap_first_rows

    if not text:
        return
    rows, has_more = wrap_first_rows(text, width - LABEL_WIDTH, MAX_ROWS)
    if has_more:
        rows = [*rows, "…"]
    for row in rows:
        yield f"  {label:<{LABEL_WIDTH - 2}}{row}"
        label = ""
