"""Golden calls of ComplexFuncBench's dataset. A fix is `{"function_calls": [[{"name", "arguments"}]]}`: the calls of
every step. The dataset has a reply for each call, so steps and calls stay as many as they are.

The recorded verdicts were made with the former calls: only a new run judges by these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.writing.records import Fixes, Json, only_fields, with_golden, wrong_call
from fcreview.model import Item, Run
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan

FIELD = "function_calls"


def problem(run: Run, item: Item, fix: Json) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = only_fields(fix, FIELD)
    if wrong:
        return wrong
    steps = fix[FIELD]
    if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
        return f'{FIELD} is a list of steps, each a list of {{"name", "arguments"}}'
    sizes = Counter(call.step for call in item.golden)
    if [len(step) for step in steps] != [sizes[step] for step in range(len(sizes))]:
        has = ", ".join(str(sizes[step]) for step in range(len(sizes)))
        return f"the steps of {item.id} have {has} calls, for which the dataset has replies: as many are needed"
    for call in (call for step in steps for call in step):
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            return 'a call is {"name": text, "arguments": object}'
        wrong = wrong_call(call["name"], call["arguments"], item.functions)
        if wrong:
            return wrong
    return None


def regolden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """The dataset's files with these golden calls; of a sample in several files, each."""
    wanted = {item: ((where, item), fix) for (where, item), fix in fixes.items()}
    missing = set(wanted)
    for path in plan.data:
        for each in with_golden(path, wanted, lambda _, record: str(record.get("id")), _replaced):
            if isinstance(each, NoPlace):
                continue
            if isinstance(each, GoldenFixed):
                missing.discard(each.item[1])
            yield each
    if missing:
        yield NoPlace("golden calls of samples that the dataset does not have", len(missing))


def _replaced(record: Json, fix: Json) -> tuple[Any, Any, Json]:
    steps = iter(fix[FIELD])
    old, turns = list[Any](), list[Any]()
    for turn in record.get("conversations") or []:
        if isinstance(turn, dict) and turn.get("function_call"):
            old.append(turn["function_call"])
            turns.append(turn | {"function_call": next(steps, turn["function_call"])})
        else:
            turns.append(turn)
    return old, fix[FIELD], record | {"conversations": turns}
