"""`fcreview label`: record a review from a script."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.commands.import_labels import AdjudicateOption, read_limited_file, record_labels
from fcreview.cli.commands.show import find_item_number
from fcreview.cli.options import (
    JsonOption,
    RunOption,
    WorkspaceOptions,
    argument,
    option,
    workspace_command,
)
from fcreview.cli.output import check_choice, emit, emit_json, print_message, print_warning
from fcreview.cli.workspace import WorkspaceSession
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError, UsageError
from fcreview.model.address import ADDRESS_FORMS, ITEM, is_address
from fcreview.model.decision import RESOLUTION_REQUIREMENT
from fcreview.model.incident import INCIDENT
from fcreview.model.review import CORRECT, FAULTS, ITEM_CORRECT, Annotation, Fault
from fcreview.model.sanitize import sanitize
from fcreview.model.verdict import ABSTENTIONS, PASS_FAIL, UNIVERSAL_CRITERIA, Scale, find_scale
from fcreview.model.wording import format_verdict

if TYPE_CHECKING:
    from fcreview.model.review import Event
    from fcreview.store.rows import ItemDetail

GOLDEN_WRONG = "golden-wrong"


@workspace_command("annotator")
def label(
    options: WorkspaceOptions,
    item: Annotated[str | None, argument("ITEM", "Item id.")] = None,
    verdict: Annotated[
        str | None,
        option(
            "--verdict VALUE",
            f"{', '.join(PASS_FAIL)} or golden-wrong. With --criterion, also 0, 1 or 2, yes or no,"
            " a number, or"
            " labels separated by commas.",
        ),
    ] = None,
    target: Annotated[
        str, option("--target ADDRESS", f"Target of the review: {ADDRESS_FORMS}.")
    ] = ITEM,
    criterion: Annotated[
        str,
        option(
            "--criterion NAME",
            f"{', '.join(UNIVERSAL_CRITERIA)}, or a criterion of the benchmark's verdicts on the"
            " item.",
        ),
    ] = CORRECT,
    fault: Annotated[
        str | None, option("--fault NAME", f"Who is to blame for the error: {', '.join(FAULTS)}.")
    ] = None,
    tag: Annotated[
        list[str] | None, option("--tag TAG", "Error tag. You can repeat the option.")
    ] = None,
    reason: Annotated[
        str | None, option("--reason --note TEXT", "Note that explains the review.")
    ] = None,
    golden_fix: Annotated[
        str | None,
        option(
            "--golden-fix JSON",
            "Corrected golden answer in the benchmark's format: JSON, or a file with JSON.",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        option("--from FILE", "Import exported labels, as `fcreview import-labels` does."),
    ] = None,
    adjudicate: AdjudicateOption = False,
    undo: Annotated[bool, option("--undo", "Retract your last review, on any item.")] = False,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record a review from a script.

    Sets only the fields that you pass. The verdict golden-wrong records a pass with the fault
    golden. A corrected golden answer must be valid in the benchmark's format and differ from the
    golden answer in the dataset. Reviews without a time in the --from file are recorded as not
    blind.

    Example: fcreview label runs/gpt4o live_simple_3-3-0 --verdict fail --fault model --tag unit
    --reason 'wrong unit'
    """
    if from_ is not None and (
        item is not None or undo or verdict or fault or tag or reason or golden_fix
    ):
        raise UsageError(
            "--from reads items and verdicts from FILE. Omit ITEM, --undo and the options for a"
            " verdict"
        )
    if from_ is not None:
        with open_workspace(options) as session:
            record_labels(
                session,
                from_,
                adjudicate=adjudicate,
                run=run,
                mark_untimed_not_blind=True,
                as_json=as_json,
            )
        return
    fields = {
        "verdict": verdict,
        "fault": fault,
        "tag": tag,
        "reason": reason,
        "golden-fix": golden_fix,
    }
    given = [f"--{name}" for name, value in fields.items() if value is not None]
    if undo and (given or item is not None or adjudicate):
        raise UsageError(
            "--undo retracts your last review. Omit ITEM and the options for a verdict"
        )
    if not undo and (item is None or not given):
        raise UsageError(
            "pass ITEM and at least one of --verdict, --fault, --tag, --reason and --golden-fix"
        )
    if adjudicate and (verdict in ABSTENTIONS or (verdict is None and fault is None)):
        raise UsageError(f"--adjudicate must resolve the disagreement: {RESOLUTION_REQUIREMENT}")
    blamed: Fault | None = None if fault is None else check_choice(FAULTS, fault, "fault")
    with open_workspace(options) as session:
        if undo:
            _retract_last_review(session, as_json)
            return
        chosen = find_item_number(session, item or "", run)
        detail = session.store.read_detail(chosen)
        _check_target(detail, target)
        scale = _find_scale(detail, target, criterion)
        if verdict == GOLDEN_WRONG:
            if criterion != CORRECT or fault not in (None, "golden"):
                raise UsageError(
                    "golden-wrong sets the fault and applies to the criterion correct. Omit --fault"
                    " and --criterion"
                )
            value, blamed = True, "golden"
        else:
            value = _parse_verdict(verdict, criterion, scale)
        fix = (
            None if golden_fix is None else _parse_golden_fix(golden_fix, detail, target, criterion)
        )
        review = Annotation(
            target=target,
            criterion=criterion,
            verdict=value,
            fault=blamed,
            tags=tag,
            note=reason,
            golden_fix=fix,
        )
        if adjudicate:
            review = replace(review, act="adjudicate")
        _print_event(session.create_reviewer().review(chosen, review), as_json)
        _warn_about_contradiction(session, chosen)


def _warn_about_contradiction(session: WorkspaceSession, item: int) -> None:
    """Warn if this annotator's verdict on the item contradicts the annotator's own verdicts on
    its parts.
    """
    for contradiction in session.store.fetch_contradictions([item >> 32]):
        if contradiction.item == item and session.annotator in contradiction.annotators:
            print_warning(
                "your verdict on the item contradicts your verdicts on its parts or criteria. It"
                " counts for the item,"
                " the others for all other figures. Change one of them, or run fcreview label"
                " --undo"
            )


def _parse_golden_fix(
    json_or_file: str, detail: ItemDetail, target: str, criterion: str
) -> dict[str, Any]:
    from fcreview.importers.registry import explain_golden_fix_rejection

    if (target, criterion) != ITEM_CORRECT:
        raise UsageError("--golden-fix applies to the whole item. Omit --target and --criterion")
    text = json_or_file
    if not json_or_file.lstrip().startswith("{"):
        try:
            text = read_limited_file(Path(json_or_file)).decode()
        except (OSError, ValueError) as error:
            raise UsageError(
                f"--golden-fix must be a JSON object or a file with a JSON object: {error}"
            ) from error
    try:
        fix = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--golden-fix must be valid JSON: {error}") from error
    if not isinstance(fix, dict):
        raise UsageError(
            "--golden-fix must be a JSON object with the changed fields of the golden answer"
        )
    problem = explain_golden_fix_rejection(detail.run, detail.item, fix)
    if problem:
        raise CommandError(f"--golden-fix does not fit {detail.row.id}: {problem}")
    return fix


def _find_scale(detail: ItemDetail, target: str, criterion: str) -> Scale:
    if criterion == INCIDENT and target != ITEM:
        raise UsageError("an incident concerns the whole item. Omit --target")
    automatic = [v for v in detail.item.verdicts if v.criterion == criterion]
    values = [v.value for v in automatic if v.target == target]
    scale = find_scale(criterion, values) or find_scale(criterion, [v.value for v in automatic])
    if scale is None or not (automatic or criterion in UNIVERSAL_CRITERIA):
        known = dict.fromkeys(
            [*UNIVERSAL_CRITERIA, *(sanitize(v.criterion) for v in detail.item.verdicts)]
        )
        raise UsageError(f"this item has no criterion {criterion!r}. Choose {', '.join(known)}")
    return scale


def _parse_verdict(verdict: str | None, criterion: str, scale: Scale) -> Any:
    if verdict is None:
        return None
    try:
        return scale.parse_typed_answer(verdict)
    except ValueError:
        words = f"{GOLDEN_WRONG}, " * (criterion == CORRECT) + scale.describe_answers()
        raise UsageError(f"{verdict!r} is not a verdict on {criterion}. Choose {words}") from None


def _check_target(detail: ItemDetail, target: str) -> None:
    from fcreview.store.label_import import raise_if_target_is_missing

    if not is_address(target):
        raise UsageError(f"{target!r} is not a target. Choose {ADDRESS_FORMS}")
    pairs = Counter(pair.turn for pair in detail.item.pairs)
    try:
        raise_if_target_is_missing(target, detail.row.id, detail.item.n_turns, pairs)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _retract_last_review(session: WorkspaceSession, as_json: bool) -> None:
    events = session.create_reviewer().undo()
    if not events:
        raise CommandError(f"nothing to undo: {session.annotator} has no reviews in this workspace")
    for event in events:
        _print_event(event, as_json, is_undone=True)


def _print_event(event: Event, as_json: bool, *, is_undone: bool = False) -> None:
    if as_json:
        emit_json(event)
        return
    verdict = (
        f"{sanitize(event.criterion)} {format_verdict(event.verdict, event.criterion) or 'none'}"
    )
    parts = (
        verdict if event.verdict is not None else "",
        f"fault {event.fault}" if event.fault else "",
        f"tags {sanitize(', '.join(event.tags))}" if event.tags else "",
        "with a note" if event.note else "",
        "with a golden fix" if event.golden_fix else "",
    )
    target = "" if event.target == ITEM else f" {sanitize(event.target)}"
    prefix = "undone: " if is_undone else "adjudicated: " if event.act == "adjudicate" else ""
    emit(f"{prefix}{sanitize(event.key.id)}{target}: {', '.join(filter(None, parts))}")
    print_message(f"event {event.event} by {event.annotator}")
