"""Convert one HammerBench snapshot to an item, with calls, slots and recomputed verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from fcreview.importers.common.records import last_question
from fcreview.importers.hammerbench.checker import SnapshotCheck, check_snapshot
from fcreview.importers.hammerbench.dialogue import QUOTED_MESSAGE_NAME, parse_prediction, split_golden_reply
from fcreview.importers.hammerbench.metrics import CHANGE_KEY
from fcreview.matching.align import align
from fcreview.matching.diff import ComparisonRules
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.derivation import DECLINE_KEY
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, ImportIssue, Item, Message, Verdict
from fcreview.model.json_value import to_plain_json


def normalize_value(text: str) -> str:
    """Normalize a text for the comparison of arguments: ignore case, blanks and final punctuation."""
    return " ".join(text.strip(".?!。！ ").lower().split())


DIFF_RULES = ComparisonRules(normalise=normalize_value)
"""Rules for the argument differences on screen. Verdicts use `compute_rouge_l`."""


@dataclass(slots=True)
class SnapshotSource:
    prediction: Any
    """Prediction as logged: text or an object."""
    label: Any
    """Golden call as an object, or the expected refusal as text."""
    messages: list[Message]
    tools: list[dict[str, Any]]
    """Function docs of the available functions."""
    language: str = "en"
    parser: str = "default"
    earlier: dict[str, Any] = field(default_factory=dict)
    """Golden arguments of the earlier snapshots of the conversation: the values of slots before an override."""


def fill_snapshot_item(item: Item, source: SnapshotSource, *, first_func_ok: bool | None = None) -> bool:
    """Fill in the item of a snapshot. Returns whether the function name is the golden one (`func_ok`).

    Args:
        item: the item.
        source: the data of the snapshot.
        first_func_ok: `func_ok` of the conversation's first snapshot, which counts for all snapshots in folders of
            conversations. None if each snapshot counts for itself.
    """
    declines = should_decline(item.category, source.label)
    if declines:
        source.messages, golden_reply = split_golden_reply(source.messages)
        item.extra.golden_reply = source.label if isinstance(source.label, str) else golden_reply
    item.messages, item.functions = source.messages, source.tools
    turn = max((message.turn for message in source.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(source.messages)
    raw = source.prediction
    if not isinstance(raw, str):
        raw = orjson.dumps(to_plain_json(raw)).decode()
    call = parse_prediction(source.prediction, source.parser)
    if call is None:
        item.messages = [*source.messages, Message(turn, 2, "assistant", raw)]
    else:
        item.predicted = [Call("predicted", str(call.get("name")), _get_object(call, "arguments"), turn, 0, 0, raw=raw)]
    if isinstance(source.label, dict) and not declines:
        item.golden = [make_golden_call(source.label, turn)]
    item.pairs = align(item.golden, item.predicted, DIFF_RULES)
    if not isinstance(source.label, (dict, str)):
        item.rule_note = "no golden answer to compare with"
        item.issues.append(ImportIssue(item.file, item.line, f"{item.id} has no label", item=item.id))
        return False
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    outcome = check_snapshot(call, source.prediction, source.label, source.language)
    _add_verdicts(item, outcome, declines, first_func_ok)
    _add_slot_metadata(item, source, call)
    return outcome.func_ok


def should_decline(category: str, label: Any) -> bool:
    """Return whether no available function is suitable, as in the `ir_` types and in the last snapshot of type IS."""
    return category.startswith("ir_") or isinstance(label, str)


def make_golden_call(label: dict[str, Any], turn: int) -> Call:
    arguments = {k: AcceptedValues([value], value == "") for k, value in _get_object(label, "arguments").items()}
    return Call("golden", str(label.get("name")), arguments, turn, 0, 0)


def _add_verdicts(item: Item, outcome: SnapshotCheck, expects_decline: bool, first_func_ok: bool | None) -> None:
    name_ok = outcome.func_ok if first_func_ok is None else first_func_ok
    item.rule = outcome.rejected if expects_decline else name_ok and outcome.args_ok
    item.rule_error_type = None if item.rule else _find_error_type(outcome, expects_decline, name_ok)
    rationale = None
    if outcome.lowest_similarity is not None:
        rationale = f"lowest ROUGE-L {outcome.lowest_similarity:.3f} at {outcome.lowest_argument} (required: 0.7)"
    add = item.verdicts.append
    add(Verdict("rule", item.rule, error_type=item.rule_error_type, rationale=rationale, by="HammerBench rules"))
    add(Verdict("rule", outcome.func_ok, criterion="func_ok"))
    add(Verdict("rule", outcome.args_ok, criterion="args_ok", rationale=rationale))
    add(Verdict("rule", outcome.hallucinated, criterion="hallucinated"))
    add(Verdict("rule", outcome.missing, criterion="missing"))
    add(Verdict("rule", outcome.rejected, criterion="rejected"))
    add(Verdict("rule", outcome.is_text, criterion="is_text"))
    if item.rule is False:
        item.diff_argument = item.diff_argument or outcome.lowest_argument


def _find_error_type(outcome: SnapshotCheck, expects_decline: bool, name_ok: bool) -> str:
    if expects_decline:
        return "not_declined"
    if outcome.is_text:
        return "refused" if outcome.rejected else "text"
    if not name_ok:
        return "wrong_function" if not outcome.func_ok else "wrong_first_function"
    if outcome.hallucinated:
        return "hallucinated_parameter"
    return "missing_parameter" if outcome.missing else "wrong_value"


def _add_slot_metadata(item: Item, source: SnapshotSource, call: dict[str, Any] | None) -> None:
    label = source.label if isinstance(source.label, dict) else {}
    golden = _get_object(label, "arguments")
    raw = source.prediction if isinstance(source.prediction, dict) else call or {}
    predicted = _get_object(raw, "arguments") | dict.fromkeys((call or {}).get("blank", ()), "")
    golden_function = next((each for each in source.tools if each.get("name") == label.get("name")), {})
    properties = read_declared_parameters(golden_function).properties or {}
    names = dict.fromkeys([*properties, *golden, *predicted])
    states = {each: (_slot_state(golden, each), _slot_state(predicted, each)) for each in names}
    unfilled = {each: pair for each, pair in states.items() if pair != ("filled", "filled")}
    item.extra.metadata["slots"] = f"{len(states) - len(unfilled)} of {len(states)} filled on both sides"
    for name, (golden_state, predicted_state) in unfilled.items():
        item.extra.metadata[f"slot {name}"] = f"golden {golden_state}, predicted {predicted_state}"
    earlier = source.earlier
    earlier_values = {
        each: earlier[each] for each, value in golden.items() if each in earlier and earlier[each] != value
    }
    if earlier_values:
        item.extra.metadata["overridden slots, value before"] = earlier_values
    if should_decline(item.category, source.label):
        item.extra.metadata[DECLINE_KEY] = "decline: no available function is suitable"
    last = max((message.turn for message in source.messages), default=0)
    if earlier_values:
        item.extra.metadata[CHANGE_KEY] = "a slot is overridden"
    elif any(message.name == QUOTED_MESSAGE_NAME and message.turn == last for message in source.messages):
        item.extra.metadata[CHANGE_KEY] = "the user refers to an attached message"


def _get_object(value: dict[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _slot_state(arguments: dict[str, Any], name: str) -> str:
    return "absent" if name not in arguments else "empty" if arguments[name] in ("", None) else "filled"
