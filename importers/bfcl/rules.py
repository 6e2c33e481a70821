"""What BFCL takes for equal, for the comparison engine."""

from __future__ import annotations

from fcreview.calls.face import Rules
from fcreview.importers.bfcl.check.texts import normalise


def _same_name(golden: str, predicted: str) -> bool:
    """Native function calling cannot have dots in names, so `math.factorial` was offered as `math_factorial`."""
    return golden == predicted or golden.replace(".", "_") == predicted


RULES = Rules(normalise=normalise, int_is_float=True, tuple_is_list=True, same_name=_same_name)
