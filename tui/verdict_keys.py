"""Define the keys that give a verdict. Screens, the command line and the help take names, keys,
labels and values from this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fcreview.model.review import UNSURE, Fault


@dataclass(frozen=True, slots=True)
class VerdictKey:
    """Key that gives a verdict."""

    name: str
    """Name that the actions pass on, such as `pass`."""
    action_id: str
    """Id of the action on the item screen."""
    default_key: str
    label: str
    """Label of the action in the key line and in the command palette."""
    value: Any
    """Recorded verdict. On some criteria, the opposite is recorded (`PendingQuestion`)."""
    fault: Fault | None = None
    """Recorded fault."""


PASS_KEY = VerdictKey("pass", action_id="item.pass", default_key="p", label="pass", value=True)
FAIL_KEY = VerdictKey("fail", action_id="item.fail", default_key="f", label="fail", value=False)
GOLDEN_WRONG_KEY = VerdictKey(
    "golden",
    action_id="item.golden_wrong",
    default_key="g",
    label="golden wrong",
    value=True,  # If the golden answer is wrong, the prediction passes.
    fault="golden",
)
UNSURE_KEY = VerdictKey(
    "unsure", action_id="item.unsure", default_key="u", label="unsure", value=UNSURE
)
VERDICT_KEYS = (PASS_KEY, FAIL_KEY, GOLDEN_WRONG_KEY, UNSURE_KEY)
VERDICT_KEY_BY_NAME = {key.name: key for key in VERDICT_KEYS}
