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
_OF_ITEM = f"(v.target = '{ITEM}' AND v.criterion = '{CORRECT}')"
# Taken apart, once for all parts, is only what is not the item's own verdict: most runs have nothing else.
_PARTS = f"[v FOR v IN verdicts IF NOT {_OF_ITEM}]"
_PEOPLE = ", ".join(f"p.{name}" for name in DECISION_COLUMNS if name not in ("item", "target", "criterion"))


def labels_sql(policy: Policy, where: str = "true") -> str:
    """A SELECT of `item` and the fields of `LABEL_FIELDS` that are read in SQL. `where` chooses items by `item`; it is
    put where lists are taken apart, which costs most. Verdicts are JSON text."""
    columns = ", ".join(f"{each.sql} AS {name}" for name, each in LABEL_FIELDS.items() if each.sql)
    return f"""
WITH chosen AS (SELECT * FROM item_rows WHERE {where}),
people AS (SELECT * FROM human_labels WHERE {where}),
apart AS (
    SELECT item, v.target AS target, v.criterion AS criterion, list({_SAID} ORDER BY nth) AS said
    FROM (SELECT item, unnest(parts) AS v, generate_subscripts(parts, 1) AS nth
          FROM (SELECT item, {_PARTS} AS parts FROM chosen))
    GROUP BY ALL
),
judged AS (
    SELECT item, '{ITEM}' AS target, '{CORRECT}' AS criterion, [{_SAID} FOR v IN verdicts IF {_OF_ITEM}] AS said
    FROM chosen
    UNION ALL
    SELECT item, target, criterion, said FROM apart
    FULL JOIN (SELECT item, target, criterion FROM people WHERE NOT ({OWN})) USING (item, target, criterion)
),
about AS (
    SELECT c.*, j.target, j.criterion, {_PEOPLE}, coalesce(j.said, []) AS said
    FROM judged j JOIN chosen c USING (item) LEFT JOIN people p USING (item, target, criterion)
),
o AS (SELECT * EXCLUDE ({", ".join(SCORING)}), '{policy}' AS policy, {_LAST}, said || {_ALONE} AS automatic FROM about)
SELECT o.item, {columns} FROM o JOIN runs r USING (run)
"""


def labels_view(policy: Policy) -> str:
    return f"CREATE OR REPLACE TEMP VIEW labels AS {labels_sql(policy)}"
