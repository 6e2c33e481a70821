"""Try, accept and list equivalence rules.

See every verdict that one would change before it is accepted.

Example: fcreview rules try result/ 'ignore-case in city'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.config import load_config
from fcreview.cli.errors import CommandError
from fcreview.cli.import_options import applied, equates
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, note, text_of
from fcreview.cli.workspace import Place, discovered, opened, set_reading, workspace_of
from fcreview.corrections.errata_file import read_rules, write_rules
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.corrections.equivalence import Rule
    from fcreview.model.item import Item, Run
    from fcreview.run_plan import RunPlan
    from fcreview.store.workspace import Workspace


WORDS = {True: "fail -> pass", False: "pass -> fail"}


@dataclass(frozen=True, slots=True)
class Flip:
    run: Run
    category: str
    id: str
    passes: bool
    """With the rule."""
    difference: str
    """The first, as the failing side reads."""

    def as_json(self) -> dict[str, Any]:
        """`{"benchmark", "generation", "language", "model", "category", "id", "flip": "fail -> pass", "difference"}`"""
        key = {name: getattr(self.run, name) for name in ("benchmark", "generation", "language", "model")}
        return key | {
            "category": self.category,
            "id": self.id,
            "flip": WORDS[self.passes],
            "difference": self.difference,
        }


def flips(place: Place, rule: Rule) -> Iterator[Flip]:
    """Over all runs at the place whose benchmark's rules can be mended, with the workspace's errata before and after.
    CommandError if there is no such run."""
    plans = list(_plans(place, rule))
    if not plans:
        raise CommandError(f"no run here whose verdicts a rule could change ({rule.benchmark or 'BFCL'})")
    for plan in plans:
        yield from _of_run(plan, rule)


def _plans(place: Place, rule: Rule) -> Iterator[RunPlan]:
    config, workspace = load_config(), workspace_of(place, create=False)
    found = discovered(place, config).plans
    set_reading(found, replace(place, decoder=None, errata=None), config, workspace)
    for plan in found:
        if equates(plan.importer) and rule.benchmark in ("", plan.run.benchmark):
            yield plan


def _of_run(plan: RunPlan, rule: Rule) -> Iterator[Flip]:
    from fcreview.corrections.errata_file import Errata

    before = {item.id: item for item in _items(plan)}
    for item in _items(replace(plan, errata=(plan.errata or Errata()).with_rules(rule))):
        was = before.get(item.id)
        if was is not None and was.rule is not None and item.rule is not None and was.rule is not item.rule:
            failing = was if item.rule else item
            yield Flip(plan.run, item.category, item.id, item.rule, failing.first_difference or "")


def _items(plan: RunPlan) -> Iterator[Item]:
    from fcreview.importers.registry import read_plan
    from fcreview.model.item import ImportIssue

    return (one for one in read_plan(plan) if not isinstance(one, ImportIssue))


def show_flips(found: Sequence[Flip], *, as_json: bool) -> None:
    """Those that turn to fail first: a rule seldom means to do that."""
    ordered = sorted(found, key=lambda flip: flip.passes)
    if as_json:
        for flip in ordered:
            emit_json(flip.as_json())
        return
    if not found:
        emit("no verdict by rule would change; where the dataset is missing there is none: fcreview doctor says so")
        return
    gained = sum(flip.passes for flip in found)
    items, runs = len({(flip.category, flip.id) for flip in found}), len({id(flip.run) for flip in found})
    emit(
        f"{count_of(len(found), 'verdict')} would change, of {count_of(items, 'item')} in {count_of(runs, 'run')}:"
        f" {gained:,} fail -> pass, {len(found) - gained:,} pass -> fail"
    )
    cells = [
        [WORDS[flip.passes], text_of(flip.run.model), text_of(flip.id), text_of(flip.difference)] for flip in ordered
    ]
    if cells:
        emit()
        for line in aligned(["flip", "model", "item", "first difference"], cells):
            emit(line.rstrip())


def rules_of(workspace: Workspace) -> list[Rule]:
    """In the order in which they were accepted. ErrataError for a line that is no rule."""
    from fcreview.cli.import_options import content

    return read_rules(content(workspace.rules), str(workspace.rules)) if workspace.rules.exists() else []


def keep_rules(workspace: Workspace, rules: Sequence[Rule]) -> None:
    from fcreview.safe_files import write_whole

    write_whole(workspace.rules, write_rules(rules))


def list_(path: PathArgument, data: Data = None, workspace: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List the accepted rules, and whether errata apply them already.

    With --json one line a rule: {rule, benchmark, function, argument, who, date, says, applied}, of accept given and
    wanted.

    Example: fcreview rules list result/
    """
    with opened(Place([path], data, workspace)) as session:
        errata = applied(session.workspace)
        held = errata.rules if errata else ()
        rules = list(dict.fromkeys([*rules_of(session.workspace), *held]))
        if as_json:
            for rule in rules:
                emit_json({**rule.as_json(), "says": str(rule), "applied": rule in held})
            return
        rows = [
            [text_of(str(rule)), text_of(rule.who), rule.date[:10], "applied" if rule in held else "not yet"]
            for rule in rules
        ]
        if not rows:
            note("no rules: fcreview rules try shows what one would change")
            return
        for line in aligned(["rule", "who", "date", ""], rows):
            emit(line.rstrip())


RuleArgument = Annotated[
    str,
    typer.Argument(
        metavar="RULE",
        help="number-equal, default-omittable, ignore-case, power-notation or 'accept VALUE for VALUE'; then"
        " 'in ARGUMENT', 'of FUNCTION', 'on BENCHMARK'.",
        show_default=False,
    ),
]


def try_(
    path: PathArgument,
    rule: RuleArgument,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List every verdict that an equivalence rule would change.

    Of verdicts by rule, over all runs at PATH. Each with the first difference as it reads; those that turn from pass to
    fail first. Nothing is changed. With --json one line a flip: {benchmark, generation, language, model, category, id,
    flip, difference}.

    Example: fcreview rules try result/ 'accept 5.0 for 5 in amount of calculate_tip'
    """
    from fcreview.corrections.equivalence import parse_rule

    place, meant = Place([path], data, workspace, errata=errata), parse_rule(rule)
    with opened(place):
        show_flips(list(flips(place, meant)), as_json=as_json)


NEXT = "fcreview errata create writes it, --errata FILE rescores with it"


def add(path: PathArgument, rule: RuleArgument, data: Data = None, workspace: WorkspaceOption = None) -> None:
    """Accept an equivalence rule.

    Every verdict that it changes is listed before. No verdict changes yet: the rule becomes part of the errata that are
    made next.

    Example: fcreview rules add result/ 'ignore-case in city'
    """
    from fcreview.corrections.equivalence import parse_rule

    place, meant = Place([path], data, workspace), parse_rule(rule)
    with opened(place) as session:
        known = rules_of(session.workspace)
        if meant in known:
            raise CommandError(f"accepted already: {visible(str(meant))}")
        show_flips(list(flips(place, meant)), as_json=False)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        keep_rules(session.workspace, [*known, replace(meant, who=session.annotator, date=now)])
    note(f"accepted: {visible(str(meant))}; {NEXT}")


def remove(path: PathArgument, rule: RuleArgument, data: Data = None, workspace: WorkspaceOption = None) -> None:
    """Take an accepted rule back: later errata are without it.

    Example: fcreview rules remove result/ 'ignore-case in city'
    """
    from fcreview.corrections.equivalence import parse_rule

    meant = parse_rule(rule)
    with opened(Place([path], data, workspace)) as session:
        known = rules_of(session.workspace)
        if meant not in known:
            raise CommandError(f"not accepted: {visible(str(meant))}; fcreview rules list shows what is")
        keep_rules(session.workspace, [each for each in known if each != meant])
    note(f"removed: {visible(str(meant))}")


COMMANDS = {"try": try_, "add": add, "remove": remove, "list": list_}
