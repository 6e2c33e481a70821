"""The row of ACEBench's `result.xlsx`. Source: `generate_result` of `eval_main.py` (revision e6db74b)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fcreview.importers.acebench.figures.rates import MULTIPLE

ATOM = ("bool", "enum", "number", "list", "object_short", "object_deep")
SINGLE = ("normal_single_turn_single_function", "normal_single_turn_parallel_function")
SPECIAL = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT = ("agent_multi_turn", "agent_multi_step")
NORMAL = (*SINGLE, *MULTIPLE, "normal_similar_api", "normal_preference", *(f"normal_atom_{name}" for name in ATOM))

USED_WEIGHTS = (0.578, 0.2676, 0.1545)
"""Normal, special, agent, as the program has them; they sum to 1.0001."""

Values = Mapping[str, float | None]
"""By category: one that is not there was not run; None is one whose value is not known."""


def paper_weights(counts: tuple[int, int, int]) -> tuple[float, float, float]:
    """The paper's: square roots of the sample counts, made to sum to 1."""
    roots = [count**0.5 for count in counts]
    total = sum(roots) or 1.0
    return roots[0] / total, roots[1] / total, roots[2] / total


def summary(
    scores: Values,
    process: Values,
    weights: tuple[float, float, float] = USED_WEIGHTS,
    swap_object_columns: bool = True,
) -> dict[str, float | None]:
    """The row under its column names. A category that was not run counts as 0, in the means too; one whose value is
    not known leaves what is made of it without a value."""
    atom = {name: scores.get(f"normal_atom_{name}", 0.0) for name in ATOM}
    row = dict(atom)
    if swap_object_columns:
        row["object_short"], row["object_deep"] = atom["object_deep"], atom["object_short"]
    normal, special, agent = _mean(scores, NORMAL), _mean(scores, SPECIAL), _mean(scores, AGENT)
    parts = [part for part in (normal, special, agent) if part is not None]
    whole = len(parts) == len(weights)
    total = round(sum(w * part for w, part in zip(weights, parts, strict=True)), 3) if whole else None
    return row | {
        "atom": _mean(scores, [f"normal_atom_{name}" for name in ATOM]),
        "single_turn_singal_function": scores.get(SINGLE[0], 0.0),
        "single_turn_parallel_function": scores.get(SINGLE[1], 0.0),
        "single_turn": _mean(scores, SINGLE),
        "multiple_turn_switch": scores.get(MULTIPLE[0], 0.0),
        "multiple_turn_adjust": scores.get(MULTIPLE[1], 0.0),
        "multiple_turn": _mean(scores, MULTIPLE),
        "similar_api": scores.get("normal_similar_api", 0.0),
        "profile": scores.get("normal_preference", 0.0),
        "normal_summary": normal,
        "incomplete": scores.get(SPECIAL[0], 0.0),
        "error": scores.get(SPECIAL[1], 0.0),
        "irrelevant": scores.get(SPECIAL[2], 0.0),
        "special_summary": special,
        "agent_multi_turn": scores.get(AGENT[0], 0.0),
        "agent_multi_turn_process": process.get(AGENT[0], 0.0),
        "agent_multi_step": scores.get(AGENT[1], 0.0),
        "agent_multi_step_process": process.get(AGENT[1], 0.0),
        "agent_summary": agent,
        "Summary": total,
    }


def _mean(scores: Values, names: Sequence[str]) -> float | None:
    values = [scores.get(name, 0.0) for name in names]
    known = [value for value in values if value is not None]
    return round(sum(known) / len(values), 3) if len(known) == len(values) else None
