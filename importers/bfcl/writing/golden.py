"""Golden answers of BFCL's dataset. A fix is `{"ground_truth": ...}` in the form that the generation has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcreview.importers.bfcl import files
from fcreview.importers.bfcl.decode.call_text import parse_call_text
from fcreview.importers.bfcl.golden import declared
from fcreview.importers.bfcl.locate import Categories
from fcreview.importers.common.guard import names_of
from fcreview.importers.common.writing.records import Fixes, Json, fields_replaced, only_fields, with_golden, wrong_call
from fcreview.model import Item, Run
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan

FIELD = "ground_truth"


def problem(run: Run, item: Item, fix: Json) -> str | None:
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = only_fields(fix, FIELD)
    if wrong:
        return wrong
    category, truth = item.category, fix[FIELD]
    if "relevance" in category:
        return f"{category} has no golden answers"
    if category.startswith(("memory", "web_search")):
        return None if _texts(truth) and truth else f"{FIELD} is a list of accepted texts"
    if category.startswith("multi_turn"):
        return _turns(truth, item)
    if category.startswith("exec"):
        return _calls(truth, item) if _texts(truth) else f"{FIELD} is a list of calls as text"
    return _accepting(truth, item, old=run.generation == "V1")


def _accepting(truth: Any, item: Item, *, old: bool) -> str | None:
    """`[{"f": {"a": [1, 2]}}]`; in V1 `{"f_1": {"a": [1, 2]}}`."""
    if old:
        names = names_of(item.functions)
        parts: list[Any] = list(truth.items()) if isinstance(truth, dict) else []
        calls = [(declared(name, names), given) for name, given in parts]
    else:
        parts = truth if isinstance(truth, list) else []
        calls = [next(iter(each.items())) for each in parts if isinstance(each, dict) and len(each) == 1]
    if not calls or len(calls) != len(parts):
        form = '{"name": {"parameter": [accepted values]}}'
        return f"{FIELD} is {form}" if old else f"{FIELD} is a list of {form}, one for each call"
    for name, given in calls:
        wrong = wrong_call(name, given, item.functions)
        if wrong:
            return wrong
        for parameter, accepted in given.items():
            if not isinstance(accepted, list) or not accepted:
                return f"{parameter} of {name} is no list of accepted values"
    return None


def _turns(truth: Any, item: Item) -> str | None:
    if not isinstance(truth, list) or not all(map(_texts, truth)):
        return f"{FIELD} is a list of calls as text for each turn"
    if item.n_turns and len(truth) != item.n_turns:
        return f"{item.id} has {item.n_turns} turns, {FIELD} {len(truth)}"
    return next((wrong for turn in truth if (wrong := _calls(turn, item))), None)


def _calls(texts: list[str], item: Item) -> str | None:
    for text in texts:
        call = parse_call_text(text, item.functions)
        wrong = f"not a call: {text}" if call is None else wrong_call(*call, item.functions)
        if wrong:
            return wrong
    return None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def regolden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """The answer files (of the executable categories the question files) with these golden answers."""
    categories: Categories = plan.private
    for category, parts in categories.items():
        mine = {item: fix for (where, item), fix in fixes.items() if where == category}
        wanted = {files.dataset_id(item, category): ((category, item), fix) for item, fix in mine.items()}
        stems = {files.split_id(key)[0] for key in wanted} if category == "format_sensitivity" else {None}
        for source in parts.sources if wanted else ():
            stem = next((each for each in stems if each and source.questions.stem.endswith(f"_{each}")), None)
            own = {key: each for key, each in wanted.items() if stem is None or files.split_id(key)[0] == stem}
            if category == "format_sensitivity" and stem is None:
                continue
            path = source.answers or source.questions

            def name(place: int, record: Json, category: str = category) -> str:
                stated = record.get("id")
                return stated if isinstance(stated, str) else f"{category}_{place}"

            yield from with_golden(path, own, name, fields_replaced)
        if wanted and not parts.sources:
            yield NoPlace(f"golden answers of {category}, whose dataset was not found", len(wanted))
