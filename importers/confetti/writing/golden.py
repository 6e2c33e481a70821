"""Golden answers of CONFETTI's dataset. A fix is `{"ground_truth": ...}`: one call `[{function: {parameter: [accepted
values]}}]`, or the labels of a dialog act."""

from __future__ import annotations

from collections.abc import Iterator

from fcreview.importers.common.writing.records import Fixes, Json, fields_replaced, only_fields, with_golden, wrong_call
from fcreview.importers.confetti.acts import LABELS
from fcreview.importers.confetti.find import CALLS, QUESTIONS
from fcreview.model import Item, Run
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan

FIELD = "ground_truth"


def problem(run: Run, item: Item, fix: Json) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = only_fields(fix, FIELD)
    if wrong:
        return wrong
    truth = fix[FIELD]
    if item.category != CALLS:
        good = isinstance(truth, list) and truth and all(each in LABELS for each in truth)
        return None if good else f"{FIELD} is a list of {', '.join(LABELS)}"
    if not isinstance(truth, list) or len(truth) != 1 or not isinstance(truth[0], dict) or len(truth[0]) != 1:
        return f'{FIELD} is [{{"function": {{"parameter": [accepted values]}}}}], one call'
    ((name, given),) = truth[0].items()
    wrong = wrong_call(name, given, item.functions)
    if wrong:
        return wrong
    plain = next((each for each, accepted in given.items() if not isinstance(accepted, list) or not accepted), None)
    return f"{plain} is no list of accepted values" if plain is not None else None


def regolden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """The files in `possible_answer/` with these golden answers."""
    for category in dict.fromkeys(where for where, _ in fixes):
        wanted = {item: ((where, item), fix) for (where, item), fix in fixes.items() if where == category}
        answers = [each for each in plan.data if each.parent.name == "possible_answer"]
        path = next((each for each in answers if QUESTIONS[each.name] == category), None)
        if path is None:
            yield NoPlace(f"golden answers of {category}, whose dataset was not found", len(wanted))
        else:
            yield from with_golden(path, wanted, lambda _, record: str(record.get("id")), fields_replaced)
