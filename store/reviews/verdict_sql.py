"""Build SQL for the automatic and the effective verdict, by the same rules as in `fcreview.model.verdict`."""

from __future__ import annotations

from fcreview.model.verdict import RESOLUTIONS, SCORING_ORDER

_RESOLUTIONS = ", ".join(f"'{resolution}'" for resolution in RESOLUTIONS)


def is_resolved_sql(decided_by: str) -> str:
    """Return the condition that a human verdict is resolved: by agreement, by majority or by an adjudicator."""
    return f"{decided_by} IN ({_RESOLUTIONS})"


def automatic_sql(table: str) -> str:
    """Return an expression for the automatic verdict, from the columns `official`, `rule` and `judge` of a table."""
    return f"coalesce({', '.join(f'{table}.{source}' for source in SCORING_ORDER)})"


def effective_sql(human: str, decided_by: str, table: str) -> str:
    """Return an expression for the effective verdict.

    It is the human verdict (column `human`) if it is resolved, else the automatic verdict. If annotators disagree, it
    is the automatic verdict.
    """
    return f"CASE WHEN {is_resolved_sql(decided_by)} THEN {human} ELSE {automatic_sql(table)} END"


def decided_by_sql(decided_by: str, table: str) -> str:
    """Return an expression for how the effective verdict was decided: `decided_by` of the human verdict, else the
    automatic source."""
    sources = " ".join(f"WHEN {table}.{source} IS NOT NULL THEN '{source}'" for source in SCORING_ORDER)
    return f"CASE WHEN {decided_by} IS NOT NULL THEN {decided_by} {sources} END"


EFFECTIVE_VERDICT = effective_sql("h.verdict", "h.decided_by", "i")
"""Effective verdict on an item, over `item_rows i LEFT JOIN human h`."""
AUTOMATIC_VERDICT = automatic_sql("i")
"""Automatic verdict on an item, over `item_rows i`."""
