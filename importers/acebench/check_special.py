"""ACEBench's special categories: fixed phrases and names that must stand in the reply, case and all.

Source of the rules: the released special checker (revision e6db74b). English phrases are asked of Chinese replies too.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.acebench.check_normal import PASS, Outcome

PHRASES = {
    "special_incomplete": "Missing necessary parameters",
    "special_error_param": "There is incorrect value",
    "special_irrelevant": "the limitations of the function",
}


def check(reply: Any, golden: Any, category: str) -> Outcome:
    """`golden`: `{api: [missing parameters]}`, `{parameter: [wrong values]}` or, for irrelevant, a sentence that
    is not used."""
    text = reply if isinstance(reply, str) else ""
    phrase = PHRASES[category]
    if phrase not in text:
        return Outcome(False, "error_detection", f"the reply does not say {phrase!r}")
    outcome = PASS
    if category != "special_irrelevant" and isinstance(golden, dict):
        for name, words in golden.items():
            wanted = [name, *words] if category == "special_incomplete" else list(words)
            absent = [str(word) for word in wanted if str(word) not in text]
            if absent:
                outcome = Outcome(False, "error_correction", f"not named: {', '.join(absent)}", name, absent[0])
    return outcome
