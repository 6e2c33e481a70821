"""`fcreview label`: reviews from scripts, with the same journal as the screens."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.export import take_in
from fcreview.cli.commands.show import one_item
from fcreview.cli.errors import CommandError, UsageError, one_of
from fcreview.cli.options import Annotator, AsJson, Data, ErrataOption, PathArgument, RunOption, WorkspaceOption
from fcreview.cli.output import emit, emit_json, note
from fcreview.cli.workspace import Place, opened, read_named
from fcreview.model.address import FORMS, ITEM, is_address
from fcreview.model.decision import SETTLING
from fcreview.model.review import CORRECT, FAULTS, OWN, Act, Fault, Said
from fcreview.model.sanitize import visible
from fcreview.model.verdict import ABSTENTIONS, ASKED, Scale, scale_of
from fcreview.model.wording import word

if TYPE_CHECKING:
    from fcreview.model.review import Event
    from fcreview.store.rows import ItemDetail

GOLDEN_WRONG = "golden-wrong"


def label(
    path: PathArgument,
    item: Annotated[str | None, typer.Argument(metavar="ITEM", help="The item's id.", show_default=False)] = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            "--verdict",
            metavar="VALUE",
            help="pass, fail, unsure or golden-wrong; 0, 1, 2; yes, no; a number; labels separated by commas.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str,
        typer.Option("--target", metavar="ADDRESS", help=f"{FORMS}."),
    ] = ITEM,
    criterion: Annotated[
        str,
        typer.Option(
            "--criterion",
            metavar="NAME",
            help=f"{', '.join(ASKED)}, or any other on which the benchmark has a verdict in this item.",
        ),
    ] = CORRECT,
    fault: Annotated[
        str | None,
        typer.Option(
            "--fault",
            metavar="WHO",
            help=f"Who is wrong: {', '.join(FAULTS)}.",
            show_default=False,
        ),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Error tag; repeatable.", show_default=False)
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", "--note", metavar="TEXT", help="Why, in your words.", show_default=False)
    ] = None,
    golden_fix: Annotated[
        str | None,
        typer.Option(
            "--golden-fix",
            metavar="JSON",
            help="What the golden answer should be, in the benchmark's form, or a file with it.",
            show_default=False,
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Many at once: JSON Lines with id, value, fault, tags, note ... as exported.",
            show_default=False,
        ),
    ] = None,
    adjudicate: Annotated[
        bool, typer.Option("--adjudicate", help="Settle it: what annotators said no longer decides.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Take back your last review instead, of whichever item.")
    ] = False,
    annotator: Annotator = None,
    run: RunOption = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Review an item from a script, or many at once.

    The review is on disk when the command returns.
    Only what is given is set. golden-wrong says that the prediction is right and the golden answer at fault.
    With --adjudicate it settles what `fcreview adjudicate` lists. A golden fix is checked against the benchmark's form
    of golden answers and the functions; `fcreview export --format golden-patch` makes a patch of those that hold.

    Example: fcreview label runs/gpt4o live_simple_3-3-0 --verdict fail --fault model --tag unit --reason 'wrong unit'
    """
    if from_ is not None and (item is not None or undo or verdict or fault or tag or reason or golden_fix):
        raise UsageError("--from says which items and what of them: it goes with no ITEM, no verdict and no --undo")
    if from_ is not None:
        with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
            take_in(session, from_, "jsonl", as_json=as_json, adjudicate=adjudicate, here=True, run=run)
        return
    said = {"verdict": verdict, "fault": fault, "tag": tag, "reason": reason, "golden-fix": golden_fix}
    given = [f"--{name}" for name, value in said.items() if value is not None]
    if undo and (given or item is not None or adjudicate):
        raise UsageError("--undo takes back your last review: it goes with no item and no verdict")
    if not undo and (item is None or not given):
        raise UsageError("name an ITEM and at least one of --verdict, --fault, --tag, --reason and --golden-fix")
    if adjudicate and (verdict in ABSTENTIONS or (verdict is None and fault is None)):
        raise UsageError(f"--adjudicate settles something: {SETTLING}")
    who = _fault(fault)
    with opened(Place([path], data, workspace, annotator=annotator, errata=errata)) as session:
        if undo:
            event = session.reviewer().undo()
            if event is None:
                raise CommandError(f"nothing to undo: {session.annotator} has no review here")
            _tell(event, as_json, undone=True)
            return
        chosen = one_item(session, item or "", run)
        detail = session.store.detail(chosen)
        _check_target(detail, target)
        scale = _scale(detail, target, criterion)
        if verdict == GOLDEN_WRONG:
            if criterion != CORRECT or fault not in (None, "golden"):
                raise UsageError("golden-wrong is a verdict on 'correct' and names the fault itself")
            value, who = True, "golden"
        else:
            value = _value(verdict, criterion, scale)
        fix = None if golden_fix is None else _golden_fix(golden_fix, detail, target, criterion)
        act: Act = "adjudicate" if adjudicate else "review"
        review = Said(
            act=act, target=target, criterion=criterion, verdict=value, fault=who, tags=tag, note=reason, golden_fix=fix
        )
        event = session.reviewer().review(chosen, review)
        _tell(event, as_json)


def _fault(named: str | None) -> Fault | None:
    return None if named is None else one_of(FAULTS, named, "fault")


def _golden_fix(given: str, detail: ItemDetail, target: str, criterion: str) -> dict[str, Any]:
    """UsageError for what is no JSON object or said of a part, CommandError for what the benchmark could not read."""
    from fcreview.importers.registry import golden_problem

    if (target, criterion) != OWN:
        raise UsageError("--golden-fix is said of the whole item: it goes with no --target and no --criterion")
    text = given
    if not given.lstrip().startswith("{"):
        try:
            text = read_named(Path(given)).decode()
        except (OSError, ValueError) as error:
            raise UsageError(f"--golden-fix is a JSON object or a file with one: {error}") from error
    try:
        fix = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"--golden-fix is no JSON: {error}") from error
    if not isinstance(fix, dict):
        raise UsageError("--golden-fix is a JSON object with the fields of the golden record that change")
    problem = golden_problem(detail.run, detail.item, fix)
    if problem:
        raise CommandError(f"--golden-fix for {detail.row.id}: {problem}")
    return fix


def _scale(detail: ItemDetail, target: str, criterion: str) -> Scale:
    """What may be answered there. UsageError for a criterion that is not asked of every item, and on which the
    benchmark says nothing in this one."""
    automatic = [v for v in detail.item.verdicts if v.criterion == criterion]
    here = [v.value for v in automatic if v.target == target]
    scale = scale_of(criterion, here)
    if scale is None:
        scale = scale_of(criterion, [v.value for v in automatic])
    if scale is None or not (automatic or criterion in ASKED):
        known = dict.fromkeys([*ASKED, *(visible(v.criterion) for v in detail.item.verdicts)])
        raise UsageError(f"no criterion {criterion!r} here: there are {', '.join(known)}")
    return scale


def _value(verdict: str | None, criterion: str, scale: Scale) -> Any:
    """The verdict as stored. UsageError for one that the scale does not have."""
    if verdict is None:
        return None
    try:
        return scale.value(verdict)
    except ValueError:
        words = f"{scale.allowed()}, {GOLDEN_WRONG}" if criterion == CORRECT else scale.allowed()
        raise UsageError(f"no verdict {verdict!r} on {criterion}: there are {words}") from None


def _check_target(detail: ItemDetail, target: str) -> None:
    """UsageError for an address of the wrong form, CommandError for a turn or call that the item does not have."""
    from fcreview.store.labels.import_labels import check_target

    if not is_address(target):
        raise UsageError(f"no target {target!r}: {FORMS}")
    pairs = Counter(pair.turn for pair in detail.item.pairs)
    try:
        check_target(target, detail.row.id, max([detail.item.n_turns, *(turn + 1 for turn in pairs)]), pairs)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _tell(event: Event, as_json: bool, *, undone: bool = False) -> None:
    if as_json:
        emit_json(event)
        return
    said: Sequence[str] = [
        part
        for part in (
            f"{visible(event.criterion)} {word(event.verdict, event.criterion) or 'none'}"
            if event.verdict is not None
            else "",
            f"fault {event.fault}" if event.fault else "",
            f"tags {visible(', '.join(event.tags))}" if event.tags else "",
            "with a note" if event.note else "",
            "with a golden fix" if event.golden_fix else "",
        )
        if part
    ]
    target = "" if event.target == ITEM else f" {visible(event.target)}"
    doing = "undone: " if undone else "settled: " if event.act == "adjudicate" else ""
    emit(f"{doing}{visible(event.key.id)}{target}: {', '.join(said)}")
    note(f"event {event.event} by {event.annotator}")
