"""Verdicts on parts and on other criteria, as SQL over `item_rows i`: what a judge said, scores, and near misses.

A near miss (`--queue uncertain`): an item that fails by the verdict that counts before reviews, though its calls pair
off one to one and just one argument differs; or one that a judge scored between the ends of a scale (1 of 0 to 2).
"""

from __future__ import annotations

from fcreview.criteria import FAULTY, PASSING, REMARKS, ZERO_TO_TWO
from fcreview.review import CORRECT
from fcreview.store.reviews.effective import AUTOMATIC
from fcreview.targets import ITEM

_PASSING = ", ".join(f"'{criterion}'" for criterion in PASSING if criterion not in REMARKS)
_FAULTY = ", ".join(f"'{criterion}'" for criterion in FAULTY)
_REMARKS = ", ".join(f"'{criterion}'" for criterion in REMARKS)
_SCORES = ", ".join(f"'{criterion}'" for criterion in ZERO_TO_TWO)
_VALUE = 'CAST(v."value" AS VARCHAR)'


def some_verdict(condition: str) -> str:
    """Some automatic verdict `v` of the item is so."""
    return f"len([v FOR v IN coalesce(i.verdicts, []) IF {condition}]) > 0"


def _judge_says(right: str, wrong: str) -> str:
    plain = f"v.criterion IN ({_PASSING}) AND {_VALUE} = '{right}'"
    faulty = f"v.criterion IN ({_FAULTY}) AND {_VALUE} = '{wrong}'"
    return some_verdict(f"v.source = 'judge' AND (({plain}) OR ({faulty}))")


JUDGED = some_verdict(
    f"v.source = 'judge' AND v.criterion NOT IN ({_REMARKS}) AND (v.target <> '{ITEM}' OR v.criterion = '{CORRECT}')"
)
"""A judge said something of the item or a part of it that people can answer there."""
_FAILED = _judge_says("false", "true")
_PASSED = _judge_says("true", "false")
BY_JUDGE = {
    "pass": f"(i.judge OR (i.judge IS NULL AND {_PASSED} AND NOT {_FAILED}))",
    "fail": f"(NOT i.judge OR {_FAILED})",
    "unknown": f"(i.judge IS NULL AND NOT {JUDGED})",
    "none": f"(i.judge IS NULL AND NOT {JUDGED})",
    "any": f"(i.judge IS NOT NULL OR {JUDGED})",
}
"""What the judge says of the item or of its parts: one part that fails or is hallucinated fails all."""

_DIFFERING = (
    "list_sum([CASE WHEN p.golden IS NULL OR p.predicted IS NULL THEN 2"
    " ELSE len([d FOR d IN coalesce(p.diff, []) IF d.state IN ('!', '-', '+')]) END"
    " FOR p IN coalesce(i.pairs, [])])"
)
_MIDDLE = some_verdict(f"v.source = 'judge' AND v.criterion IN ({_SCORES}) AND {_VALUE} = '1'")
NEAR_MISS = f"(({AUTOMATIC} = false AND {_DIFFERING} = 1) OR {_MIDDLE})"
