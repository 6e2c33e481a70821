"""A workspace's accepted rules, `.fcreview/rules.jsonl`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fcreview.errata.file import read_rules, write_rules

if TYPE_CHECKING:
    from fcreview.errata.rules import Rule
    from fcreview.store.workspace import Workspace


def rules_of(workspace: Workspace) -> list[Rule]:
    """In the order in which they were accepted. ErrataError for a line that is no rule."""
    from fcreview.cli.finding.errata import content

    return read_rules(content(workspace.rules), str(workspace.rules)) if workspace.rules.exists() else []


def keep_rules(workspace: Workspace, rules: Sequence[Rule]) -> None:
    from fcreview.store.kept import write_whole

    write_whole(workspace.rules, write_rules(rules))
