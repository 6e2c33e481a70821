"""CONFETTI items: a call record or a dialog-act record each.

Call records: binary verdict, soft score by argument, the parameter-hallucination judge, and the place in the
chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcreview.importers.bfcl.checker.schema import COMPARISON_RULES
from fcreview.importers.common.jsonl import JsonRecord, read_records
from fcreview.importers.common.records import last_question, read_function_docs, fill_safely
from fcreview.importers.confetti.checker import (
    ACT_CRITERION,
    SCORE_DECIMALS,
    GOLDEN_ACTS_KEY,
    FIXED_SCORE_KEY,
    has_common_label,
    check_call,
    get_dialog_id,
    make_golden_calls,
    make_dataset_item,
    compute_parameter_scores,
    compute_soft_score,
)
from fcreview.importers.confetti.discovery import CALLS_CATEGORY, RESULT_FILES, RunRecords, load_run_records
from fcreview.matching.align import align
from fcreview.matching.first_difference import set_difference_location, find_first_difference
from fcreview.model.address import RESPONSE, argument_address, call_address
from fcreview.model.item import GOLDEN_CALL, ArgumentDiff, Call, ImportIssue, Item, Message, Role, Verdict
from fcreview.model.json_value import answer_hash, child_path, to_json_text
from fcreview.run_plan import RunPlan


def fill_call_item(item: Item, result: Any, answer: dict[str, Any] | None, known: str, sources: RunRecords) -> None:
    turn = item.n_turns - 1
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    golden = answer.get("ground_truth") if answer else None
    outcome = check_call(result, make_dataset_item(known, item.functions, golden))
    raw = result if isinstance(result, str) else str(result)
    if outcome.calls is None:
        item.predicted = [Call("predicted", "", None, turn, step, 0, raw, outcome.decode_error)] if raw.strip() else []
    else:
        item.predicted = [
            Call("predicted", name, given, turn, step, at) for at, (name, given) in enumerate(outcome.calls)
        ]
    link = sources.chain_positions.get(known)
    if link:
        item.extra.metadata["chain"] = {"turn": link.turn, "position": link.index + 1, "length": link.length}
    if golden is None:
        item.rule_note = "no golden answer: nothing to compare with"
        item.pairs = align([], item.predicted)
        return
    item.golden = make_golden_calls(golden, turn)
    item.pairs = align(item.golden, item.predicted, COMPARISON_RULES)
    _note_stored_values(item)
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if item.functions:
        item.rule, item.rule_error_type = outcome.valid, outcome.error_type
        text = "; ".join(outcome.messages) or None
        item.verdicts.append(
            Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=text, by="BFCL v2 rules, adapted")
        )
        if outcome.valid is False:
            set_difference_location(item, outcome.function or item.diff_function, outcome.argument or item.diff_argument)
    else:
        item.rule_note = "no question file: functions are unknown"
    _add_soft_scores(item, golden, sources.soft_scores.get(known))
    _add_hallucination_flags(item, sources.hallucination_flags.get(known))


def _note_stored_values(item: Item) -> None:
    """Says of a golden argument with several values how it is stored: it may be meant as one list, of which the rules
    take any element."""
    for pair in item.pairs:
        golden = item.golden[pair.golden].arguments if pair.golden is not None else None
        given = item.predicted[pair.predicted].arguments if pair.predicted is not None else None
        for name, accept in (golden or {}).items():
            if len(accept.any_of) < 2 or name not in (given or {}):
                continue
            path, stored = child_path("", name), f"stored as {to_json_text(accept.any_of)}"
            known = next((place for place in pair.diff if place.path == path), None)
            if known is None:
                pair.diff.append(ArgumentDiff(path, "~", f"{stored}: the rules take any one value of it"))
                pair.state = "~" if pair.state == "=" else pair.state
            else:
                known.reason = f"{known.reason}; {stored}"


def _add_soft_scores(item: Item, golden: Any, given: dict[str, Any] | None) -> None:
    turn = item.n_turns - 1
    name, accepted = next(iter(golden[0].items())) if golden else ("", {})
    call = item.predicted[0] if len(item.predicted) == 1 and item.predicted[0].arguments is not None else None
    matches = call is not None and call.name == name
    ours = compute_parameter_scores(accepted, call.arguments or {}) if call is not None and matches else {}
    item.verdicts.append(Verdict("rule", compute_soft_score(matches, ours), criterion="soft_score", by="token F1"))
    item.verdicts += [Verdict("rule", s, _argument_address(turn, 0, n), "soft_score", by="token F1") for n, s in ours.items()]
    if given is not None:
        item.verdicts.append(Verdict("official", given.get("soft_score"), criterion="soft_score", by="soft score file"))
        scores = given.get("param_scores")
        scores = scores if isinstance(scores, dict) else {}
        matches = bool(given.get("function_match", matches))
        if matches and not _is_mean_of_arguments(given.get("soft_score"), scores):
            item.extra.metadata[FIXED_SCORE_KEY] = "the file's score is not the mean over its arguments"
        for parameter, score in scores.items():
            item.verdicts.append(
                Verdict("official", score, _argument_address(turn, 0, parameter), "soft_score", by="soft score file")
            )
    if not matches:
        item.extra.metadata[FIXED_SCORE_KEY] = "not exactly one call of the golden function"


def _is_mean_of_arguments(score: Any, scores: dict[str, Any]) -> bool:
    numbers = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return isinstance(score, (int, float)) and abs(score - compute_soft_score(True, numbers)) < 10**-SCORE_DECIMALS


def _argument_address(turn: int, position: int, name: str) -> str:
    return argument_address(turn, position, child_path("", name))


def _add_hallucination_flags(item: Item, judged: dict[str, Any] | None) -> None:
    """The judge's flags, one verdict an argument of every predicted call; flags without such an argument stay in
    the raw reply."""
    if judged is None:
        return
    by, reason = str(judged.get("judge_model") or "judge"), judged.get("rationale")
    text = str(reason) if reason is not None else None
    flags = judged.get("hallucinated_parameters")
    lists = (
        [[str(name) for name in one] if isinstance(one, list) else [] for one in flags]
        if isinstance(flags, list)
        else []
    )
    every = [name for one in lists for name in one]
    item.verdicts.append(Verdict("judge", every, criterion="hallucinated", rationale=text, by=by))
    golden = item.golden[0].name if item.golden else None
    turn = item.n_turns - 1
    positions = {pair.predicted: position for position, pair in enumerate(item.pairs)}
    strays = set(every)
    for call, flagged in zip(item.predicted, lists, strict=False):
        position = positions.get(call.index, call.index)
        names = list(call.arguments or {})
        strays -= set(names)
        matches = Verdict("judge", call.name == golden, call_address(turn, position), "name_matches", by=by)
        item.verdicts.append(matches)
        item.verdicts += [
            Verdict("judge", name in flagged, _argument_address(turn, position, name), "hallucinated", None, text, by)
            for name in names
        ]
    if strays or len(lists) != len(item.predicted):
        item.extra.metadata["judge's raw reply"] = judged.get("response")


JsonObject = dict[str, Any]
PLAIN_CONTENT_TYPES = (None, "text", "function_result")


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    sources = load_run_records(plan, issues)
    yield from issues
    for path in plan.results:
        seen: set[str] = set()
        for row in read_records(path):
            if isinstance(row, ImportIssue):
                yield row
            elif not isinstance(row.value, dict) or not isinstance(row.value.get("id"), str):
                yield ImportIssue(str(path), row.line, "a result record without an id", str(row.value)[:300])
            else:
                name = row.value["id"]
                if name in seen:
                    name = f"{name}#{row.line}"
                    yield ImportIssue(str(path), row.line, f"stands here twice; kept as {name}", item=name)
                seen.add(row.value["id"])
                yield _read_item(name, row, path, sources)
        for name in (sources.failures_by_category.get(RESULT_FILES[path.name]) or {}).keys() - seen:
            yield ImportIssue(str(path), None, f"the score file names {name}, which has no result record", item=name)


def _read_item(name: str, row: JsonRecord, path: Path, sources: RunRecords) -> Item:
    record, category = row.value, RESULT_FILES[path.name]
    question, answer = sources.questions.get(record["id"], {}), sources.answers.get(record["id"])
    item = Item(id=name, category=category, file=str(path), line=row.line, offset=row.offset, length=row.length)
    item.prediction_hash = answer_hash(record.get("result"))
    item.golden_hash = answer_hash(answer.get("ground_truth")) if answer else ""
    return fill_safely(item, lambda: _fill_item(item, record, question, answer, sources))


def _fill_item(item: Item, record: JsonObject, question: JsonObject, answer: JsonObject | None, sources: RunRecords) -> None:
    category, known = item.category, record["id"]
    _add_official_verdict(item, category, known, sources)
    source = question or answer or {}
    item.group = get_dialog_id(str(source["dialog_id"])) if "dialog_id" in source else None
    item.messages = read_messages(question.get("question"))
    item.n_turns = max((message.turn for message in item.messages), default=0) + 1
    if sources.answers and (answer is None or "ground_truth" not in answer):
        item.issues.append(ImportIssue(item.file, item.line, f"{known} has no golden answer", item=item.id))
    item.question = last_question(item.messages)
    item.functions = read_function_docs(question.get("function"))
    item.tokens_in, item.tokens_out = _int_or_none(record.get("input_token_count")), _int_or_none(record.get("output_token_count"))
    item.latency = record["latency"] if isinstance(record.get("latency"), (int, float)) else None
    if category == CALLS_CATEGORY:
        fill_call_item(item, record.get("result"), answer, known, sources)
    else:
        _fill_dialog_act_item(item, record.get("result"), answer, known, sources)


def _fill_dialog_act_item(item: Item, result: Any, answer: JsonObject | None, known: str, sources: RunRecords) -> None:
    """The golden reply and its labels against the predicted reply and the labels a judge gave it."""
    text = result if isinstance(result, str) else str(result)
    turn = item.n_turns - 1
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", text))
    golden = answer.get("ground_truth") if answer else None
    if answer:
        item.extra.metadata[GOLDEN_ACTS_KEY] = golden
        item.extra.golden_reply = _join_reply(answer.get("ground_truth_content"))
        item.extra.golden_labels = [str(label) for label in golden] if isinstance(golden, list) else None
    judged = sources.act_labels.get(known)
    if judged is None:
        item.rule_note = "no judge labels: nothing to compare the golden labels with"
        return
    labels = judged.get("predicted_dialog_acts")
    labels = [str(label) for label in labels] if isinstance(labels, list) else []
    by = str(judged.get("judge_model") or "judge")
    reply = judged.get("response")
    said = str(reply) if reply is not None else None
    item.verdicts.append(Verdict("judge", labels, RESPONSE, ACT_CRITERION, None, said, by))
    if isinstance(golden, list):
        item.rule = has_common_label(labels, golden)
        item.rule_error_type = None if item.rule else "dialog_act:no_overlap"
        reason = f"labels {', '.join(labels) or 'none'}; golden {', '.join(map(str, golden))}"
        item.verdicts.append(
            Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=reason, by="label overlap")
        )
        item.judge = item.rule
        item.first_difference = None if item.rule else reason


def _join_reply(content: Any) -> str | None:
    """Calls and words of a golden reply, a line each."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part) for part in parts if part is not None) or None


def read_messages(question: Any) -> list[Message]:
    """The flat message list as turns: a user message opens one. Content that is not text stands as its JSON."""
    found: list[Message] = []
    turn, step = -1, 0
    for entry in question if isinstance(question, list) else []:
        if not isinstance(entry, dict):
            continue
        role, content = entry.get("role"), entry.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        kind = entry.get("content_type")
        name = GOLDEN_CALL if kind == "function_call" else str(kind) if kind not in PLAIN_CONTENT_TYPES else None
        if role == "user":
            turn, step = turn + 1, 0
            found.append(Message(turn, -1, "user", text, name))
        else:
            place: Role = role if role in ("system", "assistant", "tool") else "log"
            found.append(Message(max(turn, 0), step, place, text, name))
            step += role == "tool"
    return found


def _add_official_verdict(item: Item, category: str, known: str, sources: RunRecords) -> None:
    failures = sources.failures_by_category.get(category)
    if failures is None:
        return
    entry = failures.get(known)
    item.official = entry is None
    item.error_type = str(entry["error_type"]) if entry and entry.get("error_type") is not None else None
    error = entry.get("error") if entry else None
    text = "\n".join(map(str, error)) if isinstance(error, list) else str(error) if error else None
    item.verdicts.append(
        Verdict("official", item.official, error_type=item.error_type, rationale=text, by="score file")
    )


def _int_or_none(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
