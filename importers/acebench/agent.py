"""Items of ACEBench's agent categories: the conversation, milestones beside the executed calls, and the end state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fcreview.calls.align import align
from fcreview.calls.first_difference import first_difference
from fcreview.importers.acebench.check_agent import check_end_state, process_accuracy
from fcreview.importers.acebench.check_value import RULES
from fcreview.importers.acebench.decode import Undecodable, readable
from fcreview.importers.acebench.figures.rates import MILESTONES, PROCESS
from fcreview.importers.acebench.history import read_history
from fcreview.model import Accept, Call, ImportIssue, Item, Message, Role, Verdict


def fill(
    item: Item,
    record: dict[str, Any],
    question: dict[str, Any] | None,
    answer: dict[str, Any] | None,
    history: Path | None,
) -> None:
    text = str((question or {}).get("question", ""))
    item.question = " ".join(text.split())[:400]
    simulated = item.category == "agent_multi_turn"
    item.messages = [
        Message(
            0, -1, "system" if simulated else "user", text, "instruction to the simulated user" if simulated else None
        )
    ]
    process = [str(part) for part in record.get("process") or []] if isinstance(record.get("process"), list) else []
    steps = _conversation(item, history) if history is not None else []
    if len(steps) != len(process):
        steps = list(range(len(process)))
    item.predicted = _calls("predicted", process, steps)
    item.n_steps = len(process)
    if answer is None:
        return
    milestones = answer.get("mile_stone") or []
    sequences = milestones if milestones and isinstance(milestones[0], list) else [milestones]
    item.golden = _calls("golden", [str(part) for part in sequences[0]], range(len(sequences[0])))
    if len(sequences) > 1:
        item.extra.more["other milestone sequences"] = sequences[1:]
    item.pairs = align(item.golden, item.predicted, RULES, ordered=True)
    item.diff_function, item.diff_argument, item.first_difference = first_difference(
        item.pairs, item.golden, item.predicted
    )
    outcome = check_end_state(record.get("result"), answer.get("ground_truth"))
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="end state")
    )
    counted, _ = process_accuracy(record.get("process"), milestones, outcome.valid)
    item.verdicts.append(Verdict("rule", counted, criterion=PROCESS, by="milestones"))
    item.extra.more[MILESTONES], _ = process_accuracy(record.get("process"), milestones, False)
    if not outcome.valid:
        item.diff_function, item.diff_argument = outcome.function, outcome.argument
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
    """Adds what was said; the steps at which the agent spoke to the execution role, whose texts stand as calls."""
    try:
        said, odd = read_history(history.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        item.issues.append(ImportIssue(str(history), None, f"cannot be read: {error.strerror}", item=item.id))
        return []
    item.issues += [ImportIssue(str(history), line, "not a row of the table", item=item.id) for line in odd]
    calls: list[int] = []
    for step, one in enumerate(said):
        if one.sender == "execution":
            item.messages.append(Message(0, calls[-1] if calls else step, "tool", one.content))
        elif one.recipient == "execution":
            calls.append(step)
        else:
            role: Role = "user" if one.sender == "user" else "assistant"
            item.messages.append(Message(0, step, role, one.content))
    return calls
