"""Items of ACEBench's agent categories: the conversation, milestones beside the executed calls, and the end state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from fcreview.calls.align import align
from fcreview.calls.first_difference import blame, first_difference
from fcreview.importers.acebench.check_agent import check_end_state, process_accuracy
from fcreview.importers.acebench.check_value import RULES
from fcreview.importers.acebench.decode import Undecodable, readable
from fcreview.importers.acebench.figures.rates import MILESTONES, PROCESS
from fcreview.importers.acebench.history import read_history
from fcreview.importers.acebench.milestones import best_sequence, in_words, met, pairs_of
from fcreview.importers.acebench.states import state_differences
from fcreview.importers.common.asked import question_line
from fcreview.importers.common.jsonl import read_file
from fcreview.model import Accept, Call, ImportIssue, Item, Message, Verdict
from fcreview.values import json_safe

INSTRUCTION = "instruction to the simulated user"
"""`Message.name` of what the model did not see."""


def fill(
    item: Item,
    record: dict[str, Any],
    question: dict[str, Any] | None,
    answer: dict[str, Any] | None,
    history: Path | None,
) -> None:
    text = str((question or {}).get("question", ""))
    item.question = question_line(text)
    simulated = item.category == "agent_multi_turn"
    item.messages = [Message(0, -1, "system", text, INSTRUCTION) if simulated else Message(0, -1, "user", text)]
    if initial := (question or {}).get("initial_config"):
        item.messages.append(Message(0, -1, "state", orjson.dumps(json_safe(initial)).decode(), "at the start"))
    process = [str(part) for part in record.get("process") or []] if isinstance(record.get("process"), list) else []
    steps = _conversation(item, history) if history is not None else []
    if len(steps) != len(process):
        steps = list(range(len(process)))
    item.predicted = _calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is None:
        return
    milestones = answer.get("mile_stone") or []
    sequence, others = best_sequence(process, milestones)
    item.golden = _calls("golden", sequence, range(len(sequence)))
    if others:
        item.extra.more["other milestone sequences"] = others
    places = met(process, sequence)
    if len(item.golden) == len(sequence) and len(item.predicted) == len(process):
        item.pairs = pairs_of(item.golden, item.predicted, places)
    else:  # a text that holds several calls
        item.pairs = align(item.golden, item.predicted, RULES, ordered=True)
    first_difference(item.pairs, item.golden, item.predicted).put(item)
    outcome = check_end_state(record.get("result"), answer.get("ground_truth"))
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="end state")
    )
    counted, _ = process_accuracy(record.get("process"), milestones, outcome.valid)
    item.verdicts.append(Verdict("rule", counted, criterion=PROCESS, by="milestones"))
    if sequence:
        item.extra.more["milestones"] = in_words(sequence, len(places))
    item.extra.more[MILESTONES], _ = process_accuracy(record.get("process"), milestones, False)
    if not outcome.valid:
        blame(item, outcome.function, outcome.argument)
    if not outcome.valid:
        item.extra.state_differences = state_differences(record.get("result"), answer.get("ground_truth"))
    item.extra.more |= {"end state": record.get("result"), "golden end state": answer.get("ground_truth")}


def _calls(side: Any, texts: list[str], steps: Sequence[int]) -> list[Call]:
    """Calls of agent messages or milestones, decoded leniently as at run time: brackets are added where they are
    missing."""
    calls: list[Call] = []
    for step, text in zip(steps, texts, strict=True):
        inner = text.strip()
        try:
            decoded = (
                readable(inner if inner.startswith("[") else f"[{inner}]") if side == "golden" else _lenient(inner)
            )
        except Undecodable as error:
            name = inner.strip("[ ").partition("(")[0]
            calls.append(Call(side, name, None, 0, step, len(calls), raw=text, decode_error=str(error)))
            continue
        for name, arguments in decoded:
            given = {key: Accept([value]) for key, value in arguments.items()} if side == "golden" else arguments
            calls.append(Call(side, name, given, 0, step, len(calls), raw=text))
    return calls


def _lenient(text: str) -> list[tuple[str, dict[Any, Any]]]:
    start, end = text.find("["), text.rfind("]")
    return readable(text[start : end + 1] if 0 <= start < end else f"[{text}]")


def _conversation(item: Item, history: Path) -> list[int]:
    """Adds what was said; the steps at which the agent spoke to the execution role, whose texts stand as calls.

    A step is something the agent did. What the user says before the first opens the turn; that the table repeats the
    question there is left out.
    """
    try:
        said, odd = read_history(read_file(history).decode("utf-8", "replace"))
    except OSError as error:
        item.issues.append(ImportIssue(str(history), None, f"cannot be read: {error.strerror}", item=item.id))
        return []
    item.issues += [ImportIssue(str(history), line, "not a row of the table", item=item.id) for line in odd]
    known = {"".join(message.content.split()) for message in item.messages if message.role == "user"}
    calls: list[int] = []
    step = -1
    for one in said:
        if one.sender == "execution":
            item.messages.append(Message(0, calls[-1] if calls else max(step, 0), "tool", one.content))
        elif one.sender == "user":
            if step >= 0 or "".join(one.content.split()) not in known:
                item.messages.append(Message(0, step, "user", one.content))
        else:
            step += 1
            if one.recipient == "execution":
                calls.append(step)
            else:
                item.messages.append(Message(0, step, "assistant", one.content))
    return calls
