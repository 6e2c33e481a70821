"""ACEBench's agent categories: the end state against the golden one, and how far the milestones were followed.

Source of the rules: the released agent checker and process scorer (revision e6db74b). Nothing is executed: states
and calls are compared as they were recorded.
"""

from __future__ import annotations

from typing import Any

from fcreview.importers.acebench.check_normal import PASS, Outcome


def check_end_state(states: Any, golden: Any) -> Outcome:
    """Both are lists of one-key objects, class name to attributes. Classes that golden misspells are never
    compared, but then the outcome of the class before is carried over."""
    if not isinstance(states, list) or not isinstance(golden, list):
        return Outcome(False, "wrong number of class", "no end state was recorded")
    if len(states) != len(golden):
        return Outcome(False, "wrong number of class", f"{len(states)} classes, golden {len(golden)}")
    failures: list[tuple[str, str, str]] = []
    for expected in golden:
        for name, attributes in expected.items():
            found = next((state[name] for state in states if isinstance(state, dict) and name in state), None)
            if found is not None:
                failures += [(name, attribute, text) for attribute, text in differences(found, attributes)]
    if failures:
        name, attribute, text = failures[0]
        return Outcome(False, "class attributes wrong", f"{name}.{attribute}: {text}", name, attribute)
    return PASS


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, str]]:
    """Attributes the evaluator objects to. One that only golden has goes unnoticed; extra keys of an object too."""
    found = []
    for name, value in ours.items():
        if name not in theirs:
            found.append((name, "not in the golden state"))
            continue
        expected = theirs[name]
        if isinstance(expected, dict) and isinstance(value, dict):
            wrong = [key for key, item in expected.items() if key not in value or value[key] != item]
            if wrong:
                found.append((name, f"differs at {', '.join(map(str, wrong))}"))
        elif value != expected:
            found.append((name, f"{value!r}, golden {expected!r}"))
    return found


def process_accuracy(process: Any, milestones: Any, end_state_ok: bool) -> tuple[float, float]:
    """(what counts towards the mean, what the process file reports), 0 to 1; they differ where there are
    alternatives."""
    if end_state_ok or not milestones:
        return 1.0, 1.0
    made = process if isinstance(process, list) else []
    if isinstance(milestones[0], list):
        scores = [round(leading_share(made, sequence), 3) for sequence in milestones]
        return max(scores), scores[-1]
    score = leading_share(made, milestones)
    return score, round(score, 3)


def leading_share(made: list[Any], milestones: list[str]) -> float:
    """The leading run of milestones found in order among the calls, as a share. Texts are compared trimmed, else
    exactly."""
    if not milestones:
        return 1.0
    position = done = 0
    for milestone in milestones:
        while position < len(made) and str(made[position]).strip() != str(milestone).strip():
            position += 1
        if position == len(made):
            break
        done, position = done + 1, position + 1
    return done / len(milestones)
