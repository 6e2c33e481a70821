"""CONFETTI items: a call record or a dialog-act record each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcreview.importers.common.asked import asked_last
from fcreview.importers.common.guard import digest, documents, guarded
from fcreview.importers.common.jsonl import Record, records
from fcreview.importers.confetti import calls
from fcreview.importers.confetti.acts import CRITERION, GOLDEN, acts_match
from fcreview.importers.confetti.chains import dialog
from fcreview.importers.confetti.find import CALLS, RESULTS
from fcreview.importers.confetti.sources import Sources, load
from fcreview.model import GOLDEN_CALL, ImportIssue, Item, Message, Role, Verdict
from fcreview.plan import RunPlan
from fcreview.targets import RESPONSE

Row = dict[str, Any]
USUAL = (None, "text", "function_result")


def read(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    sources = load(plan, issues)
    yield from issues
    for path in plan.results:
        seen: set[str] = set()
        for row in records(path):
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
                yield _item(name, row, path, sources)
        for name in (sources.failures.get(RESULTS[path.name]) or {}).keys() - seen:
            yield ImportIssue(str(path), None, f"the score file names {name}, which has no result record", item=name)


def _item(name: str, row: Record, path: Path, sources: Sources) -> Item:
    record, category = row.value, RESULTS[path.name]
    question, answer = sources.questions.get(record["id"], {}), sources.answers.get(record["id"])
    item = Item(id=name, category=category, file=str(path), line=row.line, offset=row.offset, length=row.length)
    item.prediction_hash = digest(record.get("result"))
    item.golden_hash = digest(answer.get("ground_truth")) if answer else ""
    return guarded(item, lambda: _fill(item, record, question, answer, sources))


def _fill(item: Item, record: Row, question: Row, answer: Row | None, sources: Sources) -> None:
    category, known = item.category, record["id"]
    _official(item, category, known, sources)
    source = question or answer or {}
    item.group = dialog(str(source["dialog_id"])) if "dialog_id" in source else None
    item.messages = history(question.get("question"))
    item.n_turns = max((message.turn for message in item.messages), default=0) + 1
    if sources.answers and (answer is None or "ground_truth" not in answer):
        item.issues.append(ImportIssue(item.file, item.line, f"{known} has no golden answer", item=item.id))
    item.question = asked_last(item.messages)
    item.functions = documents(question.get("function"))
    item.tokens_in, item.tokens_out = _whole(record.get("input_token_count")), _whole(record.get("output_token_count"))
    item.latency = record["latency"] if isinstance(record.get("latency"), (int, float)) else None
    if category == CALLS:
        calls.fill(item, record.get("result"), answer, known, sources)
    else:
        _dialog_act(item, record.get("result"), answer, known, sources)


def _dialog_act(item: Item, result: Any, answer: Row | None, known: str, sources: Sources) -> None:
    """The golden reply and its labels against the predicted reply and the labels a judge gave it."""
    text = result if isinstance(result, str) else str(result)
    turn = item.n_turns - 1
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", text))
    golden = answer.get("ground_truth") if answer else None
    if answer:
        item.extra.more[GOLDEN] = golden
        item.extra.golden_reply = _reply(answer.get("ground_truth_content"))
        item.extra.golden_labels = [str(label) for label in golden] if isinstance(golden, list) else None
    judged = sources.act_judge.get(known)
    if judged is None:
        item.rule_note = "no judge labels: nothing to compare the golden labels with"
        return
    labels = judged.get("predicted_dialog_acts")
    labels = [str(label) for label in labels] if isinstance(labels, list) else []
    by = str(judged.get("judge_model") or "judge")
    reply = judged.get("response")
    said = str(reply) if reply is not None else None
    item.verdicts.append(Verdict("judge", labels, RESPONSE, CRITERION, None, said, by))
    if isinstance(golden, list):
        item.rule = acts_match(labels, golden)
        item.rule_error_type = None if item.rule else "dialog_act:no_overlap"
        reason = f"labels {', '.join(labels) or 'none'}; golden {', '.join(map(str, golden))}"
        item.verdicts.append(
            Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=reason, by="label overlap")
        )
        item.judge = item.rule
        item.first_difference = None if item.rule else reason


def _reply(content: Any) -> str | None:
    """Calls and words of a golden reply, a line each."""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part) for part in parts if part is not None) or None


def history(question: Any) -> list[Message]:
    """The flat message list as turns: a user message opens one. Content that is not text stands as its JSON."""
    found: list[Message] = []
    turn, step = -1, 0
    for entry in question if isinstance(question, list) else []:
        if not isinstance(entry, dict):
            continue
        role, content = entry.get("role"), entry.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        kind = entry.get("content_type")
        name = GOLDEN_CALL if kind == "function_call" else str(kind) if kind not in USUAL else None
        if role == "user":
            turn, step = turn + 1, 0
            found.append(Message(turn, -1, "user", text, name))
        else:
            place: Role = role if role in ("system", "assistant", "tool") else "log"
            found.append(Message(max(turn, 0), step, place, text, name))
            step += role == "tool"
    return found


def _official(item: Item, category: str, known: str, sources: Sources) -> None:
    failures = sources.failures.get(category)
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


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
