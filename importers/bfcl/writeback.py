"""The way back: this benchmark's own files by what people say.

The entry of an item that the evaluator passed and people fail: the fields that an entry of its kind has, as far as
results and dataset say them.

Golden answers of BFCL's dataset. A fix is `{"ground_truth": ...}` in the form that the generation has it.

BFCL's score files by what people say: entries of items that pass now go, of items that fail now come, in the order
of the results; the header counts anew. Leaderboard tables are over all models and made by the official program.

Source: `eval_runner.py` and `save_eval_results` of the official program, V1 to V4.

BFCL's golden answers from stored items, and the verdict with another one. Forms as in `golden`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import stdev
from typing import Any

from fcreview.importers.bfcl import filenames
from fcreview.importers.bfcl.checker.evaluate import evaluate
from fcreview.importers.bfcl.dataset import DatasetItem, repeated_id, strip_repeat_suffix
from fcreview.importers.bfcl.decoders.python_calls import parse_call_text
from fcreview.importers.bfcl.discovery import FilesByCategory
from fcreview.importers.bfcl.read import JoinedCategory, join_category
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import function_names
from fcreview.importers.common.writeback import (
    ANNOTATOR_REASON,
    GoldenFixes,
    JsonObject,
    LineEdits,
    apply_edits,
    check_fix_fields,
    check_golden_call,
    find_unrepresentable,
    has_decoded_calls,
    header_line_number,
    is_item_verdict,
    item_override,
    key_by_function_name,
    list_accepted_values,
    overridden_items,
    positions_by_name,
    rewrite_golden_file,
    update_counts,
)
from fcreview.model.item import Item, Run
from fcreview.model.json_value import is_string_list
from fcreview.model.metric import ScoredItem
from fcreview.model.redact import redact
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file


def make_failing_entry(plan: RunPlan, category: JoinedCategory, row: ScoredItem) -> dict[str, Any]:
    """`error_type` is null where nobody has named one."""
    context = category.context
    result = (category.results.read_record(row.id) if row.id in category.results.records else None) or {}
    found: dict[str, Any] = {
        "id": _score_entry_id(category, row.id, plan.run.generation),
        "model_name": plan.run.model,
        "test_category": context.category,
        "valid": False,
    }
    if context.kind == "single":
        found |= {"error": [ANNOTATOR_REASON], "error_type": row.error_type}
    else:
        found["error"] = {"error_message": [ANNOTATOR_REASON], "error_type": row.error_type}
    key = filenames.to_dataset_id(row.id, context.category) if category.has_derived_ids else row.id
    question, golden = _scored_question(plan, category, key)
    if question is not None:
        found["prompt"] = question
    irrelevance = "relevance" in context.category
    found["model_result" if irrelevance else "model_result_raw"] = result.get("result")
    if golden is not None and not irrelevance:
        found["possible_answer"] = golden
    if context.kind != "single" and "inference_log" in result:
        found["inference_log"] = result["inference_log"]
    return redact(found) if context.category == "rest" else found


def _score_entry_id(category: JoinedCategory, item: str, generation: str) -> str | int:
    """As the other entries of the file have it: a text, or the position from 1 in the dataset."""
    known = [each.id for each in (category.scores.failing if category.scores else {}).values()]
    counted = isinstance(known[0], int) if known else generation in ("V1", "V2")
    number = filenames.item_number(item)
    if number is not None and counted:
        return number + 1
    return next((stated for stated, names in category.results.repeated_ids.items() if item in names), item)


def _scored_question(plan: RunPlan, category: JoinedCategory, key: str) -> tuple[dict[str, Any] | None, Any]:
    """(question record, golden answer), if the dataset is the one that was scored."""
    case = category.dataset.items.get(key) if category.matches_dataset else None
    if case is None:
        return None, None
    parts = plan.importer_data[category.context.category]
    stem = filenames.split_item_id(key)[0]
    for source in parts.sources:
        question = _read_questions(source.questions, stem).get(key)
        if question is not None:
            if "involved_classes" in question:
                question = {name: value for name, value in question.items() if name != "function"}
            return question, case.ground_truth
    return None, case.ground_truth


@lru_cache(maxsize=4)
def _read_questions(path: Path, stem: str) -> dict[str, dict[str, Any]]:
    """By id; where the records have none, by place."""
    found: dict[str, dict[str, Any]] = {}
    seen: dict[str, int] = {}
    values = [row.value for row in read_records(path) if isinstance(row, JsonRecord) and isinstance(row.value, dict)]
    for place, value in enumerate(values):
        stated = value.get("id")
        item = stated if isinstance(stated, str) else f"{stem}_{place}"
        number = seen[item] = seen.get(item, -1) + 1
        found[repeated_id(item, number)] = value
    return found


GROUND_TRUTH = "ground_truth"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = check_fix_fields(fix, GROUND_TRUTH)
    if wrong:
        return wrong
    category, truth = item.category, fix[GROUND_TRUTH]
    if "relevance" in category:
        return f"{category} has no golden answers"
    if category.startswith(("memory", "web_search")):
        return None if is_string_list(truth) and truth else f"{GROUND_TRUTH} is a list of accepted texts"
    if category.startswith("multi_turn"):
        return _turns_problem(truth, item)
    if category.startswith("exec"):
        return (
            _call_texts_problem(truth, item) if is_string_list(truth) else f"{GROUND_TRUTH} is a list of calls as text"
        )
    return _accepted_values_problem(truth, item, old=run.generation == "V1")


def _accepted_values_problem(truth: Any, item: Item, *, old: bool) -> str | None:
    """`[{"f": {"a": [1, 2]}}]`; in V1 `{"f_1": {"a": [1, 2]}}`."""
    if old:
        names = function_names(item.functions)
        parts: list[Any] = list(truth.items()) if isinstance(truth, dict) else []
        calls = [(strip_repeat_suffix(name, names), given) for name, given in parts]
    else:
        parts = truth if isinstance(truth, list) else []
        calls = [next(iter(each.items())) for each in parts if isinstance(each, dict) and len(each) == 1]
    if not calls or len(calls) != len(parts):
        form = '{"name": {"parameter": [accepted values]}}'
        return f"{GROUND_TRUTH} is {form}" if old else f"{GROUND_TRUTH} is a list of {form}, one for each call"
    for name, given in calls:
        wrong = check_golden_call(name, given, item.functions)
        if wrong:
            return wrong
        for parameter, values in given.items():
            if not isinstance(values, list) or not values:
                return f"{parameter} of {name} is no list of accepted values"
    return None


def _turns_problem(truth: Any, item: Item) -> str | None:
    if not isinstance(truth, list) or not all(map(is_string_list, truth)):
        return f"{GROUND_TRUTH} is a list of calls as text for each turn"
    if item.n_turns and len(truth) != item.n_turns:
        return f"{item.id} has {item.n_turns} turns, {GROUND_TRUTH} {len(truth)}"
    return next((wrong for turn in truth if (wrong := _call_texts_problem(turn, item))), None)


def _call_texts_problem(texts: list[str], item: Item) -> str | None:
    for text in texts:
        call = parse_call_text(text, item.functions)
        wrong = f"not a call: {text}" if call is None else check_golden_call(*call, item.functions)
        if wrong:
            return wrong
    return None


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The answer files (of the executable categories the question files) with these golden answers."""
    categories: FilesByCategory = plan.importer_data
    for category, parts in categories.items():
        mine = {item: fix for (where, item), fix in fixes.items() if where == category}
        wanted = {filenames.to_dataset_id(item, category): ((category, item), fix) for item, fix in mine.items()}
        stems = {filenames.split_item_id(key)[0] for key in wanted} if category == "format_sensitivity" else {None}
        for source in parts.dataset_files if wanted else ():
            stem = next((each for each in stems if each and source.questions.stem.endswith(f"_{each}")), None)
            own = {key: each for key, each in wanted.items() if stem is None or filenames.split_item_id(key)[0] == stem}
            if category == "format_sensitivity" and stem is None:
                continue
            path = source.answers or source.questions

            def name(place: int, record: JsonObject, category: str = category) -> str:
                stated = record.get("id")
                return stated if isinstance(stated, str) else f"{category}_{place}"

            yield from rewrite_golden_file(path, own, name)
        if wanted and not parts.dataset_files:
            yield Unrepresentable(f"golden answers of {category}, whose dataset was not found", len(wanted))


LEADERBOARD_FILE = re.compile(r"data(_[a-z_]+)?\.csv")


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    categories: FilesByCategory = plan.importer_data
    yield from find_unrepresentable(rows, is_item_verdict)
    for name, parts in categories.items():
        said = overridden_items(row for row in rows if row.category == name)
        if not said:
            continue
        if not parts.scores:
            yield Unrepresentable(f"items of {name}, which has no score file", len(said))
            continue
        category = join_category(plan, name, parts)
        if category.scores is None or category.scores.n_failures is None:
            yield Unrepresentable(f"items of {name}, whose score file has no header", len(said))
            continue
        right = sum(item_override(row) is True for row in said)
        if right and not category.knows_passes:  # who is not listed is then no pass
            yield Unrepresentable(
                f"passes of {name}, whose score file's count does not fit its entries or results", right
            )
        path = parts.scores[0]
        raw = read_file(path)
        edits = _make_edits(plan, category, said)
        edits.replaced[header_line_number(raw)] = _corrected_header(category.scores.header, said)
        yield RewrittenFile(path, apply_edits(raw, edits))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """The leaderboard tables beside the model folders."""
    folders = dict.fromkeys(filenames.model_folder(path).parent for path in plan.scores)
    return [
        path for folder in folders for path in sorted(folder.glob("data*.csv")) if LEADERBOARD_FILE.fullmatch(path.name)
    ]


def _make_edits(plan: RunPlan, category: JoinedCategory, said: Sequence[ScoredItem]) -> LineEdits:
    failing = category.scores.failing if category.scores else {}
    order = positions_by_name(list(category.results.records) or list(category.dataset.items))
    edits = LineEdits(positions={each.line: order[name] for name, each in failing.items() if name in order})
    last = len(order)
    for row in said:
        if item_override(row) and row.id in failing:
            again = category.scores.further_entries.get(row.id, []) if category.scores else []
            edits.removed.update(each.line for each in (failing[row.id], *again))
        elif not item_override(row) and row.id not in failing:
            edits.added.append((order.get(row.id, last), make_failing_entry(plan, category, row)))
    return edits


def _corrected_header(header: dict[str, Any], moved: Sequence[ScoredItem]) -> dict[str, Any]:
    """Format sensitivity has a count for each configuration and their spread besides."""
    found = update_counts(header, sum(1 if item_override(row) else -1 for row in moved))
    for row in moved:
        config = row.setting
        if config is not None and isinstance(found.get(config), dict):
            found[config] = update_counts(found[config], 1 if item_override(row) else -1)
    before, after = _accuracy_spread(header), _accuracy_spread(found)
    for name in before.keys() & header.keys():
        stated = header[name]
        if isinstance(stated, (int, float)) and abs(stated - before[name]) < 0.01:
            found[name] = round(after[name], 2) if stated == round(stated, 2) else after[name]
        else:  # made in a way that is not known: better none than a wrong one
            found.pop(name)
    return found


def _accuracy_spread(header: dict[str, Any]) -> dict[str, float]:
    """In points of a percentage, see `figures.formats`."""
    values = [100 * each["accuracy"] for each in header.values() if isinstance(each, dict) and "accuracy" in each]
    if not values:
        return {}
    deviation = stdev(values) if len(values) > 1 else 0.0
    return {
        "accuracy_max_delta": max(values) - min(values),
        "accuracy_variance": deviation**2,
        "accuracy_std": deviation,
    }


def make_golden_template(run: Run, item: Item) -> JsonObject | None:
    """The golden answer as a fix of it; None where the store does not have it in full."""
    if item.category.startswith(("memory", "web_search")):
        return {GROUND_TRUTH: item.extra.accepted_answers} if item.extra.accepted_answers else None
    if item.category.startswith("multi_turn"):
        turns = [[call.raw or "" for call in item.golden if call.turn == turn] for turn in range(item.n_turns)]
        return {GROUND_TRUTH: turns} if any(turns) else None
    if not item.golden or not has_decoded_calls(item.golden):
        return None
    if item.category.startswith("exec"):
        return {GROUND_TRUTH: [call.raw or "" for call in item.golden]}
    given = [
        {name: list_accepted_values(each) for name, each in (call.arguments or {}).items()} for call in item.golden
    ]
    if run.generation == "V1":
        return {GROUND_TRUTH: key_by_function_name(item.golden, given, 1)}
    return {GROUND_TRUTH: [{call.name: values} for call, values in zip(item.golden, given, strict=True)]}


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:
    """The rule verdict with that golden answer; None where it is not recomputed."""
    if not isinstance(record, dict):
        return None
    category, config = item.category, None
    if category == "format_sensitivity" and (parts := filenames.split_format_sensitivity_id(item.id)):
        config, category = parts[1], filenames.split_item_id(parts[2])[0]
    rules = run.generation if run.generation in filenames.VERSIONS else "V4"
    case = DatasetItem(item.id, category, functions=item.functions, ground_truth=fix.get(GROUND_TRUTH))
    found = evaluate(record.get("result"), case, version=rules, category=category, config=config, model=run.model)
    return found.valid
