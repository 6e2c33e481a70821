"""Preview, accept and list equivalence rules.

An equivalence rule makes the checker accept more values, such as 5.0 instead of 5 (docs/errata.md).

Example: fcreview rules preview result/ 'ignore-case in city'
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.config import load_config
from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, workspace_command
from fcreview.cli.output import emit, emit_json, format_cell, print_message, print_table
from fcreview.cli.run_options import set_options_and_errata
from fcreview.cli.workspace import (
    load_accepted_rules,
    load_workspace_errata,
    locate_workspace,
    save_accepted_rules,
    supports_equivalences,
)
from fcreview.cli.workspace_import import discover_runs, open_workspace
from fcreview.equivalence import EquivalenceRule, parse_rule
from fcreview.errors import CommandError
from fcreview.model.item import Item, Run
from fcreview.model.run_name import build_run_names
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.run_plan import RunPlan

DATE_LENGTH = len("2026-01-31")  # of a time in the format of ISO 8601
FLIP_TEXT = {True: "fail -> pass", False: "pass -> fail"}


@dataclass(frozen=True, slots=True)
class RuleFlip:
    """Item whose recomputed verdict a rule changes."""

    run: Run
    run_name: str
    category: str
    id: str
    passes: bool  # whether the item passes with the rule
    difference: str  # first difference between golden answer and prediction when the item fails

    def as_json(self) -> dict[str, Any]:
        """Build the JSON object of an item whose verdict the rule changes.

        `flip` says whether it changes to pass or to fail. `difference` is the first difference
        between the golden answer and the prediction.
        """
        return {
            "run_name": self.run_name,
            "benchmark": self.run.benchmark,
            "generation": self.run.generation,
            "language": self.run.language,
            "model": self.run.model,
            "category": self.category,
            "id": self.id,
            "flip": FLIP_TEXT[self.passes],
            "difference": self.difference,
        }


def find_verdict_flips(options: WorkspaceOptions, rule: EquivalenceRule) -> Iterator[RuleFlip]:
    """Find the recomputed verdicts that a rule changes, such as `ignore-case in city`.

    Raises CommandError if the rule applies to none of the runs.
    """
    plans = _discover_plans_as_imported(options)
    run_names = build_run_names(dict(enumerate(plan.run for plan in plans)))
    applies_to_any_run = False
    for number, plan in enumerate(plans):
        # Only some importers can apply rules.
        if not supports_equivalences(plan.importer):
            continue
        # A rule without a benchmark applies to all benchmarks.
        if rule.benchmark in ("", plan.run.benchmark):
            applies_to_any_run = True
            yield from _find_run_flips(plan, run_names[number], rule)

    if not applies_to_any_run:
        raise CommandError(
            f"the rule changes nothing, because there is no {rule.benchmark or 'BFCL'} run at PATH"
        )


def _discover_plans_as_imported(options: WorkspaceOptions) -> Sequence[RunPlan]:
    """Find the runs, with the options and the errata of their import."""
    config = load_config()
    workspace = locate_workspace(options, create=False)
    plans = discover_runs(options, config).plans
    # Without options of this command, the plans get the saved ones, and nothing new is saved.
    no_options = replace(options, decoder=None, evaluator=None, verdict_from=None, errata=None)
    set_options_and_errata(plans, no_options, config, workspace)
    return plans


def _find_run_flips(plan: RunPlan, run_name: str, rule: EquivalenceRule) -> Iterator[RuleFlip]:
    """Read a run without and with a rule, and yield the items whose recomputed verdicts differ."""
    from fcreview.errata import Errata

    errata_with_rule = (plan.errata or Errata()).with_rules(rule)
    plan_with_rule = replace(plan, errata=errata_with_rule)
    items_without_rule = {item.id: item for item in _read_items(plan)}

    for item_with_rule in _read_items(plan_with_rule):
        item_without_rule = items_without_rule.get(item_with_rule.id)
        if item_without_rule is None:
            continue
        if not _have_different_verdicts(item_without_rule, item_with_rule):
            continue

        # The difference between golden answer and prediction is shown as the failing item has it.
        failing_item = item_without_rule if item_with_rule.rule else item_with_rule
        yield RuleFlip(
            plan.run,
            run_name=run_name,
            category=item_with_rule.category,
            id=item_with_rule.id,
            passes=bool(item_with_rule.rule),
            difference=failing_item.first_difference or "",
        )


def _have_different_verdicts(item: Item, other: Item) -> bool:
    """Whether both items have a recomputed verdict, and the verdicts are not the same."""
    if item.rule is None or other.rule is None:
        return False
    return item.rule is not other.rule


def _read_items(plan: RunPlan) -> Iterator[Item]:
    from fcreview.importers.registry import read_items

    for item_or_issue in read_items(plan):
        if isinstance(item_or_issue, Item):
            yield item_or_issue


def print_verdict_flips(flips: Sequence[RuleFlip], *, as_json: bool) -> None:
    """Print the verdicts that a rule changes.

    Changes to fail come first, because they are usually unintended.
    """
    flips_to_fail = [flip for flip in flips if not flip.passes]
    flips_to_pass = [flip for flip in flips if flip.passes]
    ordered = flips_to_fail + flips_to_pass
    if as_json:
        emit_json(*[flip.as_json() for flip in ordered])
        return
    if not flips:
        emit(
            "The rule changes no recomputed verdict. Run fcreview doctor to check that no dataset"
            " is missing"
        )
        return

    emit(
        f"The rule changes {_format_flip_scope(flips)}: {len(flips_to_pass):,} from fail to pass,"
        f" {len(flips_to_fail):,} from pass to fail"
    )
    emit()
    _print_flip_table(ordered)


def _print_flip_table(flips: Sequence[RuleFlip]) -> None:
    rows = []
    for flip in flips:
        difference = format_cell(flip.difference)
        rows.append([FLIP_TEXT[flip.passes], flip.run_name, format_cell(flip.id), difference])
    print_table(["flip", "run", "item", "first difference"], rows)


def _format_flip_scope(flips: Sequence[RuleFlip]) -> str:
    """Format `3 verdicts (2 items, 2 runs)`. An item can flip in several runs."""
    n_verdicts = format_count(len(flips), "verdict")
    n_items = format_count(len({(flip.category, flip.id) for flip in flips}), "item")
    n_runs = format_count(len({id(flip.run) for flip in flips}), "run")
    return f"{n_verdicts} ({n_items}, {n_runs})"


@workspace_command()
def list_rules(options: WorkspaceOptions, as_json: JsonOption = False) -> None:
    """List accepted rules.

    Shows who accepted each rule, the date, and whether the errata of the workspace already apply
    the rule. --json prints {rule, benchmark, function, argument, who, date, says, applied}. Rules
    of the form `accept ... for ...` also have the keys given and wanted.

    Example: fcreview rules list result/
    """
    with open_workspace(options) as session:
        errata = load_workspace_errata(session.workspace)
        applied_rules = errata.rules if errata else ()
        accepted_rules = load_accepted_rules(session.workspace)

    # A rule may be accepted and applied. The dictionary keeps each rule once, in this order.
    rules = list(dict.fromkeys([*accepted_rules, *applied_rules]))
    if as_json:
        for rule in rules:
            is_applied = rule in applied_rules
            emit_json(rule.as_json() | {"says": str(rule), "applied": is_applied})
        return
    if not rules:
        print_message(
            "There are no rules. Run fcreview rules preview to see which verdicts a rule would"
            " change"
        )
        return
    _print_rule_table(rules, applied_rules)


def _print_rule_table(
    rules: Sequence[EquivalenceRule], applied_rules: Collection[EquivalenceRule]
) -> None:
    rows = []
    for rule in rules:
        date = rule.date[:DATE_LENGTH]
        state = "applied" if rule in applied_rules else "not yet"
        rows.append([format_cell(str(rule)), format_cell(rule.who), date, state])
    print_table(["rule", "who", "date", ""], rows)


RuleArgument = Annotated[
    str,
    argument(
        "RULE",
        "number-equal, default-omittable, ignore-case, power-notation or 'accept PREDICTED for"
        " GOLDEN'. Add 'in ARGUMENT', 'of FUNCTION' or 'on BENCHMARK' to limit the rule.",
    ),
]


@workspace_command()
def preview_rule(
    options: WorkspaceOptions, rule: RuleArgument, as_json: JsonOption = False
) -> None:
    """List the verdicts that a rule would change.

    Lists the recomputed verdicts of all runs at PATH that would change, with the first difference
    of each item. Saves nothing; use `fcreview rules add` to accept the rule. --json prints
    {benchmark, generation, language, model, category, id, flip, difference}.

    Example: fcreview rules preview result/ 'accept 5.0 for 5 in amount of calculate_tip'
    """
    parsed = parse_rule(rule)
    with open_workspace(options):
        print_verdict_flips(list(find_verdict_flips(options, parsed)), as_json=as_json)


@workspace_command()
def accept_rule(options: WorkspaceOptions, rule: RuleArgument) -> None:
    """Accept a rule.

    Prints the verdicts that the rule changes. To apply the rule, write it to an errata file with
    `fcreview errata create`, and pass the file with --errata.

    Example: fcreview rules add result/ 'ignore-case in city'
    """
    parsed = parse_rule(rule)
    with open_workspace(options) as session:
        accepted_rules = load_accepted_rules(session.workspace)
        if parsed in accepted_rules:
            raise CommandError(f"the rule is already accepted: {sanitize(str(parsed))}")

        print_verdict_flips(list(find_verdict_flips(options, parsed)), as_json=False)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        new_rule = replace(parsed, who=session.annotator, date=now)
        save_accepted_rules(session.workspace, [*accepted_rules, new_rule])

    next_step = "Run fcreview errata create, then pass --errata FILE to recompute verdicts"
    print_message(f"accepted the rule {sanitize(str(parsed))}. {next_step}")


@workspace_command()
def remove_rule(options: WorkspaceOptions, rule: RuleArgument) -> None:
    """Remove an accepted rule.

    Errata files that contain the rule do not change.

    Example: fcreview rules remove result/ 'ignore-case in city'
    """
    parsed = parse_rule(rule)
    with open_workspace(options) as session:
        accepted_rules = load_accepted_rules(session.workspace)
        if parsed not in accepted_rules:
            problem = f"rule not found: {sanitize(str(parsed))}"
            raise CommandError(f"{problem}. Run fcreview rules list to see the accepted rules")

        other_rules = [accepted for accepted in accepted_rules if accepted != parsed]
        save_accepted_rules(session.workspace, other_rules)
    print_message(f"removed the rule {sanitize(str(parsed))}")


COMMANDS = {"preview": preview_rule, "add": accept_rule, "remove": remove_rule, "list": list_rules}
ALIASES = {"try": "preview"}  # subcommands by their old names, which the help does not list
