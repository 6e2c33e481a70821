"""Questions with what all runs in scope answered, and how often each run passes: what suspects are found among."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from fcreview.model import ArgumentDiff, Call, Pair
from fcreview.store.filters.language import parse
from fcreview.store.reviews.effective import AUTOMATIC
from fcreview.suspects.case import Answer, Case, CaseKey, Witness
from fcreview.suspects.facts.families import family
from fcreview.suspects.facts.witnesses import smoothed
from fcreview.values import accept_from_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from duckdb import DuckDBPyConnection

    from fcreview.store.rows import View

_RATES = f"""
SELECT i.run, r.model, i.category, count(*) FILTER ({AUTOMATIC}), count({AUTOMATIC})
FROM item_rows i JOIN runs r USING (run) WHERE {{runs}} GROUP BY ALL ORDER BY ALL
"""
_ANSWERS = f"""
SELECT r.benchmark, r.generation, r.language, i.category, i.id, i.golden_hash, min(i.item), list(i.run ORDER BY i.run),
       {AUTOMATIC} AS passed, coalesce(i.official <> i.rule, false) AS contradicted
FROM item_rows i JOIN runs r USING (run) WHERE {{runs}}
GROUP BY ALL, i.prediction_hash ORDER BY min(i.seq), min(i.item)
"""
_QUESTIONS = """
SELECT item, id, array_to_string(list_transform(list_filter(messages, m -> m.role IN ('user', 'system')), m -> m.content), '
'), list_filter(calls, c -> c.side = 'golden'), functions
FROM item_rows WHERE item IN (SELECT unnest(?::BIGINT[]))
"""
_CALLS = """
SELECT item, list_filter(calls, c -> c.side = 'predicted'), pairs
FROM item_rows WHERE item IN (SELECT unnest(?::BIGINT[]))
"""


@dataclass(frozen=True, slots=True)
class Panel:
    """The questions, and the runs that answered them."""

    cases: list[Case]
    witnesses: dict[int, Witness]
    chosen: frozenset[CaseKey] | None
    """What the view's filter selects; None for all."""
