"""SQL of labels: of all, as the view `labels`, or of some items."""

from __future__ import annotations

from fcreview.review import CORRECT
from fcreview.rollup import SCORING, Policy
from fcreview.store.labels.fields import AUTOMATIC, LABEL_FIELDS, VALUE
from fcreview.store.reviews.views import DECISION_COLUMNS
from fcreview.targets import ITEM

OWN = f"target = '{ITEM}' AND criterion = '{CORRECT}'"


def _packed(**values: str) -> str:
    """A structure with the fields `AUTOMATIC`."""
    return f"""struct_pack({", ".join(f'"{name}" := {values.get(name, "NULL::VARCHAR")}' for name in AUTOMATIC)})"""


_SAID = _packed(**{name: f'v."{name}"' for name in AUTOMATIC})
_COLUMNS = ", ".join(_packed(source=f"'{source}'", **{VALUE: f"to_json({source})"}) for source in SCORING)
# An importer may give the item's own verdict as a column only.
_ALONE = (
    f"CASE WHEN {OWN} THEN [a FOR a IN [{_COLUMNS}] IF a.value IS NOT NULL"
    " AND NOT list_contains([s.source FOR s IN said], a.source)] ELSE [] END"
)
_LAST = ", ".join(
    f"""CAST(CASE WHEN {OWN} THEN to_json({source})
        ELSE list_last([s.value FOR s IN said IF s.source = '{source}']) END AS VARCHAR) AS {source}"""
    for source in SCORING
)
# Taken apart is only what is not the item's own verdict: most runs have nothing else.
_PARTS = f"[v FOR v IN verdicts IF NOT (v.target = '{ITEM}' AND v.criterion = '{CORRECT}')]"
_PEOPLE = ", ".join(f"p.{name}" for name in DECISION_COLUMNS if name not in ("item", "target", "criterion"))


def labels_sql(policy: Policy, where: str = "true") -> str:
    """A SELECT of `item` and the fields of `LABEL_FIELDS` that are read in SQL. `where` chooses items by `item`; it is
    put where lists are taken apart, which costs most. Verdicts are JSON text."""
    columns = ", ".join(f"{each.sql} AS {name}" for name, each in LABEL_FIELDS.items() if each.sql)
    return f"""
WITH chosen AS (SELECT * FROM item_rows WHERE {where}),
people AS (SELECT * FROM human_labels WHERE {where}),
judged AS (
    SELECT item, '{ITEM}' AS target, '{CORRECT}' AS criterion FROM chosen
    UNION ALL (
        SELECT item, v.target, v.criterion FROM (SELECT item, unnest({_PARTS}) AS v FROM chosen)
        UNION SELECT item, target, criterion FROM people WHERE NOT ({OWN})
    )
),
about AS (
    SELECT c.*, target, criterion, {_PEOPLE},
           [{_SAID} FOR v IN coalesce(verdicts, []) IF v.target = target AND v.criterion = criterion] AS said
    FROM judged JOIN chosen c USING (item) LEFT JOIN people p USING (item, target, criterion)
),
o AS (SELECT * EXCLUDE ({", ".join(SCORING)}), '{policy}' AS policy, {_LAST}, said || {_ALONE} AS automatic FROM about)
SELECT o.item, {columns} FROM o JOIN runs r USING (run)
"""


def labels_view(policy: Policy) -> str:
    return f"CREATE OR REPLACE TEMP VIEW labels AS {labels_sql(policy)}"
