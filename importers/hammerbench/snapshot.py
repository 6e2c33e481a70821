"""One snapshot as an item: calls, slots, and the rule verdicts func_ok, args_ok, hallucinated, missing, rejected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from fcreview.importers.common.records import last_question
from fcreview.importers.hammerbench.checker import SnapshotCheck, check_snapshot
from fcreview.importers.hammerbench.dialogue import QUOTED_MESSAGE_NAME, parse_prediction, split_golden_reply
from fcreview.importers.hammerbench.judge import DECLINE_KEY, MOMENT_KEY
from fcreview.matching.align import align
from fcreview.matching.diff import ComparisonRules
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, ImportIssue, Item, Message, Verdict
from fcreview.model.json_value import to_plain_json


def normalize_value(text: str) -> str:
    """Case, blanks and closing marks aside."""
    return " ".join(text.strip(".?!。！ ").lower().split())


DIFF_RULES = ComparisonRules(normalise=normalize_value)
"""For the argument diff; verdicts go by similarity."""


@dataclass(slots=True)
class SnapshotSource:
    prediction: Any
    label: Any
    messages: list[Message]
    tools: list[dict[str, Any]]
    language: str = "en"
    parser: str = "default"
    earlier: dict[str, Any] = field(default_factory=dict)
    """Golden values of the conversation's earlier snapshots: what a slot held before it was overridden."""


def fill_snapshot_item(item: Item, given: SnapshotSource, *, first_func_ok: bool | None = None) -> bool:
    """Fills the item; returns func_ok. `first_ok` is the conversation's first func_ok in the per-conversation
    generation, where it counts for every snapshot; None where each stands for itself."""
    declines = should_decline(item.category, given.label)
    if declines:
        given.messages, said = split_golden_reply(given.messages)
        item.extra.golden_reply = given.label if isinstance(given.label, str) else said
    item.messages, item.functions = given.messages, given.tools
    turn = max((message.turn for message in given.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(given.messages)
    raw = given.prediction if isinstance(given.prediction, str) else orjson.dumps(to_plain_json(given.prediction)).decode()
    call = parse_prediction(given.prediction, given.parser)
    item.predicted = [_make_predicted_call(call, raw, turn)] if call or raw.strip() else []
    if call is None:
        item.predicted = []
        item.messages = [*given.messages, Message(turn, 2, "assistant", raw)]
    if isinstance(given.label, dict) and not declines:
        item.golden = [_make_golden_call(given.label, turn)]
    item.pairs = align(item.golden, item.predicted, DIFF_RULES)
    if not isinstance(given.label, (dict, str)):
        item.rule_note = "no golden answer: nothing to compare with"
        item.issues.append(ImportIssue(item.file, item.line, f"{item.id} has no label", item=item.id))
        return False
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    outcome = check_snapshot(call, given.prediction, given.label, given.language)
    _add_verdicts(item, outcome, declines, first_func_ok)
    _add_slot_metadata(item, given, call)
    return outcome.func_ok


def should_decline(category: str, label: Any) -> bool:
    """No offered tool fits: the irrelevance sets, and the last snapshot of an intent shift."""
    return category.startswith("ir_") or isinstance(label, str)


def _make_predicted_call(call: dict[str, Any] | None, raw: str, turn: int) -> Call:
    if call is None:
        return Call("predicted", "", None, turn, 0, 0, raw=raw, decode_error="no call could be read")
    arguments = call.get("arguments")
    return Call(
        "predicted", str(call.get("name")), arguments if isinstance(arguments, dict) else {}, turn, 0, 0, raw=raw
    )


def _make_golden_call(label: dict[str, Any], turn: int) -> Call:
    arguments = label.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    return Call("golden", str(label.get("name")), {k: AcceptedValues([v], v == "") for k, v in given.items()}, turn, 0, 0)


def _add_verdicts(item: Item, outcome: SnapshotCheck, declines: bool, first_func_ok: bool | None) -> None:
    named = outcome.func_ok if first_func_ok is None else first_func_ok
    item.rule = outcome.rejected if declines else named and outcome.args_ok
    item.rule_error_type = None if item.rule else _find_error_type(outcome, declines, named)
    reason = None
    if outcome.lowest_similarity is not None:
        reason = f"lowest ROUGE-L {outcome.lowest_similarity:.3f} at {outcome.lowest_argument} (0.7 is asked)"
    say = item.verdicts.append
    say(Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=reason, by="HammerBench rules"))
    say(Verdict("rule", outcome.func_ok, criterion="func_ok"))
    say(Verdict("rule", outcome.args_ok, criterion="args_ok", rationale=reason))
    say(Verdict("rule", outcome.hallucinated, criterion="hallucinated"))
    say(Verdict("rule", outcome.missing, criterion="missing"))
    say(Verdict("rule", outcome.rejected, criterion="rejected"))
    say(Verdict("rule", outcome.is_text, criterion="is_text"))
    if item.rule is False:
        item.diff_argument = item.diff_argument or outcome.lowest_argument


def _find_error_type(outcome: SnapshotCheck, declines: bool, named: bool) -> str:
    if declines:
        return "not_declined"
    if outcome.is_text:
        return "refused" if outcome.rejected else "text"
    if not named:
        return "wrong_function" if not outcome.func_ok else "wrong_first_function"
    if outcome.hallucinated:
        return "hallucinated_parameter"
    return "missing_parameter" if outcome.missing else "wrong_value"


def _add_slot_metadata(item: Item, given: SnapshotSource, call: dict[str, Any] | None) -> None:
    label = given.label if isinstance(given.label, dict) else {}
    golden = _get_object(label, "arguments")
    raw = given.prediction if isinstance(given.prediction, dict) else call or {}
    ours = _get_object(raw, "arguments") | dict.fromkeys((call or {}).get("blank", ()), "")
    tool: dict[str, Any] = next((t for t in given.tools if t.get("name") == label.get("name")), {})
    properties = read_declared_parameters(tool).properties or {}
    states = {n: (_slot_state(golden, n), _slot_state(ours, n)) for n in dict.fromkeys([*properties, *golden, *ours])}
    open_ones = {n: pair for n, pair in states.items() if pair != ("filled", "filled")}
    item.extra.metadata["slots"] = f"{len(states) - len(open_ones)} of {len(states)} filled on both sides"
    for name, (theirs, mine) in open_ones.items():
        item.extra.metadata[f"slot {name}"] = f"golden {theirs}, predicted {mine}"
    old = {n: given.earlier[n] for n, value in golden.items() if n in given.earlier and given.earlier[n] != value}
    if old:
        item.extra.metadata["overridden slots, value before"] = old
    if should_decline(item.category, given.label):
        item.extra.metadata[DECLINE_KEY] = "decline: no offered tool fits"
    last = max((message.turn for message in given.messages), default=0)
    if old:
        item.extra.metadata[MOMENT_KEY] = "a slot is overridden"
    elif any(message.name == QUOTED_MESSAGE_NAME and message.turn == last for message in given.messages):
        item.extra.metadata[MOMENT_KEY] = "an attached message is referred to"


def _get_object(value: dict[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _slot_state(arguments: dict[str, Any], name: str) -> str:
    return "absent" if name not in arguments else "empty" if arguments[name] in ("", None) else "filled"
