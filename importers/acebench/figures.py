"""ACEBench's figures from scored items: accuracy a category and the summary row, as the evaluator computes them and as
the paper means them.

Source: the released `eval_main.py` and `generate_result` (revision e6db74b). Two known faults are kept in
`official` figures: the columns object_short and object_deep hold each other's values, and an item that fails its
first golden alternative but passes another is counted as right and listed as failing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from fcreview.figures import Figure, Scored
from fcreview.importers.acebench.files import CATEGORIES
from fcreview.model import Run

ATOM = ("bool", "enum", "number", "list", "object_short", "object_deep")
SINGLE = ("normal_single_turn_single_function", "normal_single_turn_parallel_function")
MULTIPLE = ("normal_multi_turn_user_switch", "normal_multi_turn_user_adjust")
SPECIAL = ("special_incomplete", "special_error_param", "special_irrelevant")
AGENT = ("agent_multi_turn", "agent_multi_step")
NORMAL = (*SINGLE, *MULTIPLE, "normal_similar_api", "normal_preference", *(f"normal_atom_{name}" for name in ATOM))

USED_WEIGHTS = (0.578, 0.2676, 0.1545)
"""Normal, special, agent, as the program has them; they sum to 1.0001."""


def figures(rows: Sequence[Scored], run: Run) -> list[Figure]:  # noqa: ARG001
    """`result.xlsx` as the program computes it, then the same with object columns in place and the paper's weights."""
    by_category: dict[str, list[Scored]] = {}
    for row in rows:
        if row.valid is not None:
            by_category.setdefault(row.category, []).append(row)
    scores: dict[str, float] = {}
    process: dict[str, float] = {}
    exact: dict[str, float] = {}
    for name, part in by_category.items():
        valid = [bool(row.valid) for row in part]
        if name in MULTIPLE:
            scores[name], process[name] = by_dialogue([(str(row.group), bool(row.valid)) for row in part])
            exact[name] = scores[name]
        else:
            scores[name] = accuracy(valid, None if name.startswith("special") else 3)
            exact[name] = accuracy(valid, None)
        shares = [row.values.get("process_accuracy") for row in part]
        if name.startswith("agent") and all(isinstance(share, (int, float)) for share in shares):
            process[name] = round(sum(map(float, shares)) / len(shares), 3)  # type: ignore[arg-type]
    if not scores:
        return []
    found = [Figure("accuracy", name, scores[name]) for name in CATEGORIES if name in scores]
    found += [Figure("process accuracy", name, process[name]) for name in CATEGORIES if name in process]
    row_ = summary(scores, process)
    swapped = "the program writes the two object columns into each other's place"
    found += [
        Figure("result.xlsx", name, value, note=swapped if name.startswith("object_") else "")
        for name, value in row_.items()
    ]
    counts = [
        sum(len(p) for n, p in by_category.items() if n.startswith(kind)) for kind in ("normal", "special", "agent")
    ]
    sound = summary(exact, process, paper_weights((counts[0], counts[1], counts[2])), swap_object_columns=False)
    note = "weights by the square root of the sample counts, as in the paper"
    names = ("object_short", "object_deep", "Summary")
    return found + [Figure("sound", name, sound[name], note=note if name == "Summary" else "") for name in names]


def paper_weights(counts: tuple[int, int, int]) -> tuple[float, float, float]:
    """The paper's: square roots of the sample counts, made to sum to 1."""
    roots = [count**0.5 for count in counts]
    total = sum(roots) or 1.0
    return roots[0] / total, roots[1] / total, roots[2] / total


def accuracy(valid: Sequence[bool], digits: int | None = 3) -> float:
    value = sum(valid) / len(valid) if valid else 0.0
    return value if digits is None else round(value, digits)


def by_dialogue(steps: Sequence[tuple[str, bool]]) -> tuple[float, float]:
    """(accuracy, process accuracy) of a multi-turn category: dialogues with every step valid, and the mean share of
    valid steps.

    `steps` are (dialogue number, valid) in file order; consecutive steps of the same number form a dialogue.
    """
    dialogues: list[tuple[str, list[bool]]] = []
    for number, valid in steps:
        if not dialogues or dialogues[-1][0] != number:
            dialogues.append((number, []))
        dialogues[-1][1].append(valid)
    if not dialogues:
        return 0.0, 0.0
    whole = round(sum(all(flags) for _, flags in dialogues) / len(dialogues), 3)
    shares = [round(sum(flags) / len(flags), 3) for _, flags in dialogues]
    return whole, round(sum(shares) / len(shares), 3)


def summary(
    scores: Mapping[str, float],
    process: Mapping[str, float] | None = None,
    weights: tuple[float, float, float] = USED_WEIGHTS,
    swap_object_columns: bool = True,
) -> dict[str, float]:
    """The row of `result.xlsx`, under its column names. A category that was not run counts as 0, in the means too."""
    score: Mapping[str, float] = defaultdict(float, scores)
    done: Mapping[str, float] = defaultdict(float, process or {})
    atom = {name: score[f"normal_atom_{name}"] for name in ATOM}
    row = dict(atom)
    if swap_object_columns:
        row["object_short"], row["object_deep"] = atom["object_deep"], atom["object_short"]
    normal, special, agent = _mean(score, NORMAL), _mean(score, SPECIAL), _mean(score, AGENT)
    return row | {
        "atom": round(sum(atom.values()) / len(atom), 3),
        "single_turn_singal_function": score[SINGLE[0]],
        "single_turn_parallel_function": score[SINGLE[1]],
        "single_turn": _mean(score, SINGLE),
        "multiple_turn_switch": score[MULTIPLE[0]],
        "multiple_turn_adjust": score[MULTIPLE[1]],
        "multiple_turn": _mean(score, MULTIPLE),
        "similar_api": score["normal_similar_api"],
        "profile": score["normal_preference"],
        "normal_summary": normal,
        "incomplete": score[SPECIAL[0]],
        "error": score[SPECIAL[1]],
        "irrelevant": score[SPECIAL[2]],
        "special_summary": special,
        "agent_multi_turn": score[AGENT[0]],
        "agent_multi_turn_process": done[AGENT[0]],
        "agent_multi_step": score[AGENT[1]],
        "agent_multi_step_process": done[AGENT[1]],
        "agent_summary": agent,
        "Summary": round(sum(w * part for w, part in zip(weights, (normal, special, agent), strict=True)), 3),
    }


def _mean(score: Mapping[str, float], names: Sequence[str]) -> float:
    return round(sum(score[name] for name in names) / len(names), 3)
