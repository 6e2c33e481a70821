"""Rank the golden answers that look wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fcreview.cli.output import (
    show_activity,
)
from fcreview.cli.workspace import WorkspaceSession

if TYPE_CHECKING:
    from fcreview.golden_audit.score import Suspect


def fetch_ranked_suspects(
    session: WorkspaceSession, where: str = "", run: str | None = None
) -> list[Suspect]:
    """Rank the questions whose golden answer looks wrong, the most suspect first.

    The evidence comes from all runs, even if a filter or `run` (number, name or model) limits the
    ranking to some questions.
    """
    from fcreview.golden_audit.score import rank_suspects
    from fcreview.store.database import pause_garbage_collection
    from fcreview.store.filters.tokens import add_terms

    if run is not None:
        where = add_terms(where, f"run:{session.find_run_number(run)}")
    with show_activity("comparing answers with golden answers"), pause_garbage_collection():
        audit = session.store.analysis.fetch_audit_input(session.build_view(where))
        ranking = rank_suspects(audit.questions, audit.run_profiles)

    if audit.selected_keys is None:
        return ranking
    return [suspect for suspect in ranking if suspect.question.key in audit.selected_keys]
