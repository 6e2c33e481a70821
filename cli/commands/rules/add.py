"""`fcreview rules add` and `remove`: which rules are part of the workspace's next errata."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from fcreview.cli.commands.rules.flips import flips, show_flips
from fcreview.cli.commands.rules.kept import keep_rules, rules_of
from fcreview.cli.commands.rules.try_ import RuleArgument
from fcreview.cli.common import Place, opened
from fcreview.cli.errors import CommandError
from fcreview.cli.options import Data, PathArgument, WorkspaceOption
from fcreview.cli.output import note
from fcreview.sanitise import visible

NEXT = "fcreview errata create writes it, --errata FILE rescores with it"


def add(path: PathArgument, rule: RuleArgument, data: Data = None, workspace: WorkspaceOption = None) -> None:
    """Accept an equivalence rule.

    Every verdict that it changes is listed before. No verdict changes yet: the rule becomes part of the errata that are
    made next.

    Example: fcreview rules add result/ 'ignore-case in city'
    """
    from fcreview.errata.rules import parse_rule

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
    from fcreview.errata.rules import parse_rule

    meant = parse_rule(rule)
    with opened(Place([path], data, workspace)) as session:
        known = rules_of(session.workspace)
        if meant not in known:
            raise CommandError(f"not accepted: {visible(str(meant))}; fcreview rules list shows what is")
        keep_rules(session.workspace, [each for each in known if each != meant])
    note(f"removed: {visible(str(meant))}")
