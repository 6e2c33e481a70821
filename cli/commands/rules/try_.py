"""`fcreview rules try`: every verdict that a rule would change, before anybody accepts it."""

from __future__ import annotations

from typing import Annotated

import typer

from fcreview.cli.commands.rules.flips import flips, show_flips
from fcreview.cli.common import Place, opened
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption

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
    from fcreview.errata.rules import parse_rule

    place, meant = Place([path], data, workspace, errata=errata), parse_rule(rule)
    with opened(place):
        show_flips(list(flips(place, meant)), as_json=as_json)
