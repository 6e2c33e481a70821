"""Tags that reviewers are offered: the words that each benchmark's own publication has for its errors or for what makes
an item hard. Kept apart from the importers so that knowing them loads none."""

from __future__ import annotations

from collections.abc import Mapping

TAGS: Mapping[str, tuple[str, ...]] = {
    # the release post of V1 (common mistakes), and the kinds of failure that the V4 program names
    "bfcl": (
        "implicit conversion", "malformed call", "missing URL", "wrong function", "wrong count", "missing parameter",
        "unexpected parameter", "wrong type", "wrong value", "should not call", "should call", "wrong state",
        "wrong response", "wrong answer",
    ),
    # figure 6 (normal), table 5 (special), section 4.2 (agent)
    "acebench": (
        "function name", "param type", "param value", "output format", "error detection", "error correction",
        "function call error", "rule violation", "information mismanagement",
    ),
    # metrics of section 4 and the shifts of section 3
    "hammerbench": (
        "function name", "parameter hallucination", "parameter missing", "argument value", "imperfect instruction",
        "slot overriding", "external information", "intent shift",
    ),
    # table 1: complexities of the conversations
    "confetti": (
        "exception in execution", "failed conversation", "confirmation", "goal switching", "goal correction",
        "goal stacking", "ambiguous goal", "follow-up question", "implicit goal", "overfill", "underfill",
        "goal not supported",
    ),
    # section 4.3.1
    "complexfuncbench": ("func_error", "param_missing", "hallucination", "value_error", "stop_early"),
}  # fmt: skip
"""By importer. Documented in docs/guide.md."""
