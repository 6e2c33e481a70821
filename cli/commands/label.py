"""`fcreview label`: record a review from a script."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.config import find_team_link
from fcreview.cli.item_text import find_item_number
from fcreview.cli.label_recording import AdjudicateOption, read_limited_file, record_labels
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
    from collections.abc import Sequence

    from fcreview.model.golden_fix import GoldenStatus
    from fcreview.model.review import Event
    from fcreview.store.rows import ItemDetail, QueueRow
    from fcreview.store.sibling_fixes import SiblingFix

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
            " a number, or labels separated by commas.",
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
    accept: Annotated[
        bool,
        option(
            "--accept",
            "Accept the golden fix: it changes the verdicts of all runs. With several annotators,"
            " it is a proposal until it is adjudicated.",
        ),
    ] = False,
    siblings: Annotated[
        bool,
        option(
            "--siblings",
            "Correct the golden answers of siblings too, where they have the same calls. See"
            " suspects --siblings.",
        ),
    ] = False,
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
    golden answer in the dataset; with --siblings, it also corrects the same question in other
    categories and versions. Reviews without a time in the --from file are recorded as not
    blind.

    Example: fcreview label runs/gpt4o live_simple_3-3-0 --verdict fail --fault model --tag unit
    --reason 'wrong unit'
    """
    options_of_review = {
        "--verdict": verdict,
        "--fault": fault,
        "--tag": tag,
        "--reason": reason,
        "--golden-fix": golden_fix,
    }
    has_option_of_review = any(value is not None for value in options_of_review.values())

    if from_ is not None:
        # An empty option such as `--reason ''` is no verdict, so --from ignores it.
        if item is not None or undo or any(options_of_review.values()):
            raise UsageError(
                "--from reads items and verdicts from FILE. Omit ITEM, --undo and the options for a"
                " verdict"
            )
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

    if undo:
        if has_option_of_review or item is not None or adjudicate:
            raise UsageError(
                "--undo retracts your last review. Omit ITEM and the options for a verdict"
            )
        with open_workspace(options) as session:
            _retract_last_review(session, as_json)
        return

    if item is None or not has_option_of_review:
        *other_names, last_name = options_of_review
        names = f"{', '.join(other_names)} and {last_name}"
        raise UsageError(f"pass ITEM and at least one of {names}")
    if adjudicate:
        _check_resolution(verdict, fault)
    if golden_fix is None:
        _check_no_fix_is_needed(accepts_fix=accept, corrects_siblings=siblings)
    if siblings and adjudicate:
        raise UsageError("--adjudicate resolves a disagreement on one item. Omit --siblings")

    review_options = ReviewOptions(
        target=target,
        criterion=criterion,
        verdict=verdict,
        fault=None if fault is None else check_choice(FAULTS, fault, "fault"),
        tags=tag,
        note=reason,
        golden_fix=golden_fix,
        is_adjudication=adjudicate,
        accepts_golden_fix=accept,
        corrects_siblings=siblings,
    )
    with open_workspace(options) as session:
        _record_review(session, find_item_number(session, item, run), review_options, as_json)


def _check_resolution(verdict: str | None, fault: str | None) -> None:
    """Raise UsageError if an adjudication would leave the disagreement open."""
    if verdict in ABSTENTIONS or (verdict is None and fault is None):
        raise UsageError(f"--adjudicate must resolve the disagreement: {RESOLUTION_REQUIREMENT}")


def _check_no_fix_is_needed(*, accepts_fix: bool, corrects_siblings: bool) -> None:
    """Raise UsageError for options that have no effect without --golden-fix."""
    if accepts_fix:
        raise UsageError("--accept accepts a golden fix. Pass --golden-fix JSON")
    if corrects_siblings:
        raise UsageError("--siblings applies a golden fix to siblings. Pass --golden-fix JSON")


def _record_review(
    session: WorkspaceSession, item_number: int, review_options: ReviewOptions, as_json: bool
) -> None:
    """Record a review of an item, and print it."""
    detail = session.store.read_detail(item_number)
    annotation = review_options.build_annotation(detail)
    if review_options.corrects_siblings:
        events = _correct_with_siblings(session, item_number, annotation, review_options)
    else:
        if review_options.accepts_golden_fix:
            annotation = _accept_golden_fix(session, item_number, annotation)
        events = [session.create_reviewer().review(item_number, annotation)]

    for event in events:
        _print_event(event, as_json)
    _warn_about_contradiction(session, detail.row)


def _correct_with_siblings(
    session: WorkspaceSession, item_number: int, review: Annotation, review_options: ReviewOptions
) -> list[Event]:
    """Record a golden fix with those of the siblings, all or none. Return the events."""
    sibling_fixes = _plan_sibling_fixes(session, item_number, review)
    if not sibling_fixes:
        print_message("no sibling has another golden answer")

    fixes = _make_sibling_reviews(session, sibling_fixes, review, review_options)
    if review_options.accepts_golden_fix:
        review = _accept_golden_fix(session, item_number, review)
    return session.create_reviewer().review_with_siblings(item_number, review, fixes)


def _plan_sibling_fixes(
    session: WorkspaceSession, item_number: int, review: Annotation
) -> list[SiblingFix]:
    """Return how a golden fix in a review could also correct other items with the same question."""
    from fcreview.importers import registry
    from fcreview.store.sibling_fixes import GoldenFormats, plan_sibling_fixes

    formats = GoldenFormats(
        registry.parse_golden_fix,
        registry.make_golden_template,
        registry.explain_golden_fix_rejection,
    )
    return plan_sibling_fixes(session.store, item_number, review.golden_fix or {}, formats)


def _make_sibling_reviews(
    session: WorkspaceSession,
    sibling_fixes: Sequence[SiblingFix],
    review: Annotation,
    review_options: ReviewOptions,
) -> list[tuple[int, Annotation]]:
    """Return (item number, review) for each sibling: a similar question whose golden answer gets
    the same correction. Prints a warning for each sibling that cannot be corrected.

    The reviews have the note of `review`, but no verdict, because each sibling has another answer.
    """
    fixes = []
    for sibling_fix in sibling_fixes:
        item = sibling_fix.question.item
        if sibling_fix.golden_fix is None:
            item_id = sanitize(sibling_fix.question.key.id)
            print_warning(f"{item_id} keeps its golden answer: {sibling_fix.problem}")
            continue
        annotation = Annotation(golden_fix=sibling_fix.golden_fix, note=review.note)
        if review_options.accepts_golden_fix:
            annotation = _accept_golden_fix(session, item, annotation)
        fixes.append((item, annotation))
    return fixes


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Fields of a review as they were typed."""

    target: str
    criterion: str
    verdict: str | None
    fault: Fault | None
    tags: list[str] | None
    note: str | None
    golden_fix: str | None
    is_adjudication: bool
    accepts_golden_fix: bool
    corrects_siblings: bool

    def build_annotation(self, detail: ItemDetail) -> Annotation:
        """Build the review from the options, and check that it fits the item.

        Raises UsageError or CommandError if it does not.
        """
        _check_target(detail, self.target)
        return Annotation(
            target=self.target,
            criterion=self.criterion,
            verdict=self._parse_verdict(detail),
            fault="golden" if self.verdict == GOLDEN_WRONG else self.fault,
            tags=self.tags,
            note=self.note,
            golden_fix=self._parse_golden_fix(detail),
            act="adjudicate" if self.is_adjudication else "review",
        )

    def _parse_verdict(self, detail: ItemDetail) -> Any:
        """Return the verdict as a value on the scale of the criterion."""
        scale = _find_scale(detail, self.target, self.criterion)
        if self.verdict == GOLDEN_WRONG:
            self._check_golden_wrong()
            # If the golden answer is wrong, the model's answer passes.
            return True
        return _parse_verdict(self.verdict, self.criterion, scale)

    def _parse_golden_fix(self, detail: ItemDetail) -> dict[str, Any] | None:
        if self.golden_fix is None:
            return None
        return _parse_golden_fix(self.golden_fix, detail, self.target, self.criterion)

    def _check_golden_wrong(self) -> None:
        if self.criterion != CORRECT or self.fault not in (None, "golden"):
            raise UsageError(
                "golden-wrong sets the fault and applies to the criterion correct. Omit --fault and"
                " --criterion"
            )


EXECUTION_ADVICE = "Run fcreview errata rescore --execute after fcreview import --execute"


def _accept_golden_fix(session: WorkspaceSession, item: int, review: Annotation) -> Annotation:
    """Return a review that corrects the golden answer, with the status of the correction and the
    verdicts that it changes.
    """
    from fcreview.importers.registry import rescore
    from fcreview.model.golden_fix import ACCEPTED
    from fcreview.store.golden_fix_effect import collect_changed_verdicts, measure_run_effects

    status = _choose_fix_status(session, review)
    effects = measure_run_effects(session.store, item, review.golden_fix or {}, rescore)
    if status == ACCEPTED:
        _warn_if_calls_need_execution(session, item)
    return replace(review, golden_status=status, golden_verdicts=collect_changed_verdicts(effects))


def _choose_fix_status(session: WorkspaceSession, review: Annotation) -> GoldenStatus:
    """The correction of an adjudicator or of the only annotator is accepted. With several
    annotators, and in a team, it is a proposal.
    """
    from fcreview.model.golden_fix import ACCEPTED, PROPOSED

    if review.act == "adjudicate":
        return ACCEPTED
    is_in_team = find_team_link(session.workspace) is not None
    if is_in_team or session.store.has_other_annotators(session.annotator):
        return PROPOSED
    return ACCEPTED


def _warn_if_calls_need_execution(session: WorkspaceSession, item: int) -> None:
    """Warn if the verdict of an item depends on executed calls, because none is executed here."""
    from fcreview.importers.registry import needs_execution

    (row,) = session.store.fetch_rows([item])
    benchmark = session.store.runs[row.run].benchmark
    if needs_execution(benchmark, row.category):
        print_message("the calls are not executed, so no verdict changes. " + EXECUTION_ADVICE)


def _warn_about_contradiction(session: WorkspaceSession, row: QueueRow) -> None:
    """Warn if this annotator's verdict on the item contradicts the annotator's own verdicts on
    its parts.
    """
    for contradiction in session.store.fetch_contradictions([row.run]):
        if contradiction.item == row.item and session.annotator in contradiction.annotators:
            print_warning(
                "your verdict on the item contradicts your verdicts on its parts or criteria. It"
                " counts for the item, the others for all other figures. Change one of them, or run"
                " fcreview label --undo"
            )


def _parse_golden_fix(
    json_or_file: str, detail: ItemDetail, target: str, criterion: str
) -> dict[str, Any]:
    """Parse the value of --golden-fix: JSON, or a file with JSON, with the changed fields.

    Raises UsageError if it is no JSON object or the review is not of the whole item, and
    CommandError if the benchmark does not accept it as a golden answer of the item.
    """
    from fcreview.importers.registry import explain_golden_fix_rejection

    if (target, criterion) != ITEM_CORRECT:
        raise UsageError("--golden-fix applies to the whole item. Omit --target and --criterion")

    try:
        fix = json.loads(_read_golden_fix_text(json_or_file))
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


def _read_golden_fix_text(json_or_file: str) -> str:
    """Return a text that begins like a JSON object unchanged, and read any other as a file."""
    if json_or_file.lstrip().startswith("{"):
        return json_or_file
    try:
        return read_limited_file(Path(json_or_file)).decode()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--golden-fix must be a JSON object or a file with a JSON object: {error}"
        ) from error


def _find_scale(detail: ItemDetail, target: str, criterion: str) -> Scale:
    """Return the scale of a criterion, such as pass and fail, or scores from 0 to 2.

    Raises UsageError if the item has no such criterion.
    """
    if criterion == INCIDENT and target != ITEM:
        raise UsageError("an incident concerns the whole item. Omit --target")

    verdicts = [verdict for verdict in detail.item.verdicts if verdict.criterion == criterion]
    if not verdicts and criterion not in UNIVERSAL_CRITERIA:
        raise UsageError(_explain_missing_criterion(detail, criterion))

    # The automatic verdicts on the target decide the scale, else those on all parts of the item.
    values_on_target = [verdict.value for verdict in verdicts if verdict.target == target]
    all_values = [verdict.value for verdict in verdicts]
    scale = find_scale(criterion, values_on_target) or find_scale(criterion, all_values)
    if scale is None:
        # A criterion whose values form no scale cannot be labelled.
        raise UsageError(_explain_missing_criterion(detail, criterion))
    return scale


def _explain_missing_criterion(detail: ItemDetail, criterion: str) -> str:
    """Return a message that lists the criteria that the item has."""
    criteria_of_item = [sanitize(verdict.criterion) for verdict in detail.item.verdicts]
    choices = ", ".join(dict.fromkeys([*UNIVERSAL_CRITERIA, *criteria_of_item]))
    return f"this item has no criterion {criterion!r}. Choose {choices}"


def _parse_verdict(verdict: str | None, criterion: str, scale: Scale) -> Any:
    """Parse the value of --verdict on a scale. None without the option. Raises UsageError."""
    if verdict is None:
        return None
    try:
        return scale.parse_typed_answer(verdict)
    except ValueError:
        words = scale.describe_answers()
        if criterion == CORRECT:
            words = f"{GOLDEN_WRONG}, {words}"
        raise UsageError(f"{verdict!r} is not a verdict on {criterion}. Choose {words}") from None


def _check_target(detail: ItemDetail, target: str) -> None:
    """Raise an error if --target is no address, or if the item has no such part."""

    from fcreview.store.label_import import raise_if_target_is_missing

    if not is_address(target):
        raise UsageError(f"{target!r} is not a target. Choose {ADDRESS_FORMS}")
    n_pairs_by_turn = Counter(pair.turn for pair in detail.item.pairs)
    try:
        raise_if_target_is_missing(target, detail.row.id, detail.item.n_turns, n_pairs_by_turn)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _retract_last_review(session: WorkspaceSession, as_json: bool) -> None:
    """Undo the annotator's latest review, or all reviews of the latest bulk review, and print
    them.
    """
    events = session.create_reviewer().undo()
    if not events:
        raise CommandError(f"nothing to undo: {session.annotator} has no reviews in this workspace")
    for event in events:
        _print_event(event, as_json, is_undone=True)


def _print_event(event: Event, as_json: bool, *, is_undone: bool = False) -> None:
    """Print a recorded or undone review as `adjudicated: simple_3 turn:1: correct pass`."""
    if as_json:
        emit_json(event)
        return

    prefix = ""
    if is_undone:
        prefix = "undone: "
    elif event.act == "adjudicate":
        prefix = "adjudicated: "
    target = "" if event.target == ITEM else f" {sanitize(event.target)}"
    fields = ", ".join(_list_event_fields(event))
    emit(f"{prefix}{sanitize(event.key.id)}{target}: {fields}")
    print_message(f"event {event.event} by {event.annotator}")


def _list_event_fields(event: Event) -> list[str]:
    """List the fields that a review sets, such as `correct pass` or `with a note`."""
    fields = []
    if event.verdict is not None:
        verdict = format_verdict(event.verdict, event.criterion) or "none"
        fields.append(f"{sanitize(event.criterion)} {verdict}")
    if event.fault:
        fields.append(f"fault {event.fault}")
    if event.tags:
        fields.append(f"tags {sanitize(', '.join(event.tags))}")
    if event.note:
        fields.append("with a note")
    if event.golden_fix:
        status = f" {event.golden_status}" if event.golden_status else ""
        fields.append(f"with a golden fix{status}")
    return fields
