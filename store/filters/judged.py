"""Verdicts on parts and on other criteria, as SQL over `item_rows i`: what a judge said, scores, and near misses.

A near miss (`--queue uncertain`): an item that fails by the verdict that counts before reviews, though its calls pair
off one to one and just one argument differs; or one that a judge scored between the ends of a scale (1 of 0 to 2).
"""

from __future__ import annotations

from fcreview.criteria import PASSING, ZERO_TO_TWO
from fcreview.store.reviews.effective import AUTOMATIC

_PASSING = ", ".join(f"'{criterion}'" for criterion in PASSING)
_SCORES = ", ".join(f"'{criterion}'" for criterion in ZERO_TO_TWO)


def some_verdict(condition: str) -> str:
    """Some automatic verdict `v` of the item is so."""
    return f"len([v FOR v IN coalesce(i.verdicts, []) IF {condition}]) > 0"


JUDGED = some_verdict("v.source = 'judge'")
"""A judge said something of the item or a part of it, on whichever criterion."""
_FAILED = some_verdict(f"v.source = 'judge' AND v.criterion IN ({_PASSING}) AND CAST(v.\"value\" AS VARCHAR) = 'false'")
_PASSED = some_verdict(f"v.source = 'judge' AND v.criterion IN ({_PASSING}) AND CAST(v.\"value\" AS VARCHAR) = 'true'")
BY_JUDGE = {
    "pass": f"(i.judge OR (i.judge IS NULL AND {_PASSED} AND NOT {_FAILED}))",
    "fail": f"(NOT i.judge OR {_FAILED})",
    "unknown": f"(i.judge IS NULL AND NOT {JUDGED})",
    "none": f"(i.judge IS NULL AND NOT {JUDGED})",
    "any": f"(i.judge IS NOT NULL OR {JUDGED})",
}
"""What the judge says of the item, or of its parts on criteria that pass or fail: one that fails fails all."""

_DIFFERING = (
    "list_sum([CASE WHEN p.golden IS NULL OR p.predicted IS NULL THEN 2"
    " ELSE len([d FOR d IN coalesce(p.diff, []) IF d.state IN ('!', '-', '+')]) END"
    " FOR p IN coalesce(i.pairs, [])])"
)
_MIDDLE = some_verdict(f"v.source = 'judge' AND v.criterion IN ({_SCORES}) AND CAST(v.\"value\" AS VARCHAR) = '1'")
NEAR_MISS = f"(({AUTOMATIC} = false AND {_DIFFERING} = 1) OR {_MIDDLE})"
