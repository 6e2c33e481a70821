"""Preview, accept and list equivalence rules.

An equivalence rule makes the checker accept more values, such as 5.0 instead of 5 (docs/errata.md).

Example: fcreview rules preview result/ 'ignore-case in city'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fcreview.cli.config import load_config
from fcreview.cli.options import JsonOption, WorkspaceOptions, argument, workspace_command
from fcreview.cli.output import emit, emit_json, format_cell, print_message, print_table
from fcreview.cli.run_options import set_options_and_errata
from fcreview.cli.workspace import (
    load_workspace_errata,
    locate_workspace,
    read_workspace_file,
    supports_equivalences,
)
from fcreview.cli.workspace_import import discover_runs, open_workspace
from fcreview.equivalence import EquivalenceRule, parse_rule
from fcreview.errata import parse_rules, serialize_rules
from fcreview.errors import CommandError
from fcreview.model.item import Item, Run
from fcreview.model.run_name import build_run_names
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count

if TYPE_CHECKING:
    from fcreview.run_plan import RunPlan
    from fcreview.store.workspace import Workspace

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
        """Build the JSON object {run_name, benchmark, generation, language, model, category, id,
        flip, difference}.
        """
        key = {
            name: getattr(self.run, name)
            for name in ("benchmark", "generation", "language", "model")
        }
        flip = {"flip": FLIP_TEXT[self.passes], "difference": self.difference}
        return {"run_name": self.run_name, **key, "category": self.category, "id": self.id, **flip}


def find_verdict_flips(options: WorkspaceOptions, rule: EquivalenceRule) -> Iterator[RuleFlip]:
    """Find the verdicts that a rule changes.

    Raises CommandError if the rule applies to none of the runs.
    """
    config, workspace = load_config(), locate_workspace(options, create=False)
    plans = discover_runs(options, config).plans
    set_options_and_errata(
        plans,
        replace(options, decoder=None, evaluator=None, verdict_from=None, errata=None),
        config,
        workspace,
    )
    affected = {
        number: plan
        for number, plan in enumerate(plans)
        if supports_equivalences(plan.importer) and rule.benchmark in ("", plan.run.benchmark)
    }
    if not affected:
        raise CommandError(
            f"the rule changes nothing, because there is no {rule.benchmark or 'BFCL'} run at PATH"
        )
    names = build_run_names(dict(enumerate(plan.run for plan in plans)))
    for number, plan in affected.items():
        yield from _find_run_flips(plan, names[number], rule)


def _find_run_flips(plan: RunPlan, run_name: str, rule: EquivalenceRule) -> Iterator[RuleFlip]:
    from fcreview.errata import Errata

    before = {item.id: item for item in _read_items(plan)}
    for item in _read_items(replace(plan, errata=(plan.errata or Errata()).with_rules(rule))):
        was = before.get(item.id)
        if (
            was is not None
            and was.rule is not None
            and item.rule is not None
            and was.rule is not item.rule
        ):
            failing = was if item.rule else item
            yield RuleFlip(
                plan.run,
                run_name=run_name,
                category=item.category,
                id=item.id,
                passes=item.rule,
                difference=failing.first_difference or "",
            )


def _read_items(plan: RunPlan) -> Iterator[Item]:
    from fcreview.importers.registry import read_items

    return (one for one in read_items(plan) if isinstance(one, Item))


def print_verdict_flips(flips: Sequence[RuleFlip], *, as_json: bool) -> None:
    """Print the verdicts that a rule changes.

    Changes to fail come first, because they are usually unintended.
    """
    ordered = sorted(flips, key=lambda flip: flip.passes)
    if as_json:
        emit_json(*[flip.as_json() for flip in ordered])
        return
    if not flips:
        emit(
            "The rule changes no recomputed verdict. Run fcreview doctor to check that no dataset"
            " is missing"
        )
        return

    n_passing = sum(flip.passes for flip in flips)
    n_failing = len(flips) - n_passing
    verdicts = format_count(len(flips), "verdict")
    items = format_count(len({(flip.category, flip.id) for flip in flips}), "item")
    runs = format_count(len({id(flip.run) for flip in flips}), "run")
    emit(
        f"The rule changes {verdicts} ({items}, {runs}): {n_passing:,} from fail to pass,"
        f" {n_failing:,} from pass to fail"
    )
    emit()
    rows = [
        [FLIP_TEXT[flip.passes], flip.run_name, format_cell(flip.id), format_cell(flip.difference)]
        for flip in ordered
    ]
    print_table(["flip", "run", "item", "first difference"], rows)


def load_accepted_rules(workspace: Workspace) -> list[EquivalenceRule]:
    """Load the accepted rules of the workspace, oldest first.

    Raises ErrataError for an invalid line.
    """
    content = read_workspace_file(workspace, workspace.rules)
    return [] if content is None else parse_rules(content, str(workspace.rules))


def save_accepted_rules(workspace: Workspace, rules: Sequence[EquivalenceRule]) -> None:
    workspace.files.write(workspace.rules, serialize_rules(rules))


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
        in_errata = errata.rules if errata else ()
        rules = list(dict.fromkeys([*load_accepted_rules(session.workspace), *in_errata]))
        if as_json:
            emit_json(
                *(
                    {**each.as_json(), "says": str(each), "applied": each in in_errata}
                    for each in rules
                )
            )
            return
        rows = [
            [
                format_cell(str(rule)),
                format_cell(rule.who),
                rule.date[:10],
                "applied" if rule in in_errata else "not yet",
            ]
            for rule in rules
        ]
        if not rows:
            print_message(
                "There are no rules. Run fcreview rules preview to see which verdicts a rule would"
                " change"
            )
            return
        print_table(["rule", "who", "date", ""], rows)


RuleArgument = Annotated[
    str,
    argument(
        "RULE",
        "number-equal, default-omittable, ignore-case, power-notation or 'accept PREDICTED for"
        " GOLDEN'. Add 'in"
        " ARGUMENT', 'of FUNCTION' or 'on BENCHMARK' to limit the rule.",
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
        known = load_accepted_rules(session.workspace)
        if parsed in known:
            raise CommandError(f"the rule is already accepted: {sanitize(str(parsed))}")
        print_verdict_flips(list(find_verdict_flips(options, parsed)), as_json=False)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        save_accepted_rules(
            session.workspace, [*known, replace(parsed, who=session.annotator, date=now)]
        )
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
        known = load_accepted_rules(session.workspace)
        if parsed not in known:
            problem = f"rule not found: {sanitize(str(parsed))}"
            raise CommandError(f"{problem}. Run fcreview rules list to see the accepted rules")
        save_accepted_rules(session.workspace, [each for each in known if each != parsed])
    print_message(f"removed the rule {sanitize(str(parsed))}")


COMMANDS = {"preview": preview_rule, "add": accept_rule, "remove": remove_rule, "list": list_rules}
ALIASES = {"try": "preview"}  # subcommands by their old names, which the help does not list
