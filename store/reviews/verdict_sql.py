"""What `fcreview.model.verdict` says of the verdict that counts, as SQL. Made from the same order of sources."""

from __future__ import annotations

from fcreview.model.verdict import DISPUTED, SCORING_ORDER, RESOLUTIONS

_SETTLED = ", ".join(f"'{how}'" for how in RESOLUTIONS)


def is_resolved_sql(decided_by: str) -> str:
    """Whether people settled it."""
    return f"{decided_by} IN ({_SETTLED})"


def automatic_sql(table: str) -> str:
    """The benchmark's own verdict, from the columns `official`, `rule` and `judge` of `table`."""
    return f"coalesce({', '.join(f'{table}.{source}' for source in SCORING_ORDER)})"


def effective_sql(human: str, decided_by: str, table: str) -> str:
    """People's verdict (`human`) if they settled it, none while they differ, else the automatic one."""
    return (
        f"CASE WHEN {is_resolved_sql(decided_by)} THEN {human} WHEN {decided_by} = '{DISPUTED}' THEN NULL"
        f" ELSE {automatic_sql(table)} END"
    )


def decided_by_sql(decided_by: str, table: str) -> str:
    """Who gave the verdict that counts: how people decided, else the source that did; null if nobody."""
    sources = " ".join(f"WHEN {table}.{source} IS NOT NULL THEN '{source}'" for source in SCORING_ORDER)
    return f"CASE WHEN {decided_by} IS NOT NULL THEN {decided_by} {sources} END"


EFFECTIVE_VERDICT = effective_sql("h.verdict", "h.decided_by", "i")
"""Of an item: over `item_rows i LEFT JOIN human h`."""
AUTOMATIC_VERDICT = automatic_sql("i")
"""Of an item, before anybody reviewed."""
