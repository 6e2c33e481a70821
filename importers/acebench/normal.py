"""Items of ACEBench's normal and special categories: transcript, calls, pairs and the rule verdict."""

from __future__ import annotations

import re
from typing import Any

from fcreview.importers.acebench.checker import REQUIRED_PHRASES, COMPARISON_RULES, CheckOutcome, check_calls, check_special
from fcreview.importers.acebench.decode import DecodedCall, decode_reply, decode_for_display
from fcreview.importers.common.records import Undecodable, last_question
from fcreview.matching.align import align
from fcreview.matching.first_difference import set_difference_location, find_first_difference
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, Item, Message, Verdict

_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""A question is a transcript whose lines start with `user:` or `system:` (the assistant)."""


def fill_item(
    item: Item,
    record: dict[str, Any],
    question: dict[str, Any] | None,
    golden: Any,
    category: str,
    *,
    can_recompute: bool,
) -> None:
    """`golden` may come from a failing score entry where there is no answer file; then `judged` is false and the rules,
    which need the function documents, are not applied."""
    reply = record.get("result")
    item.messages = dialogue_messages(question)
    turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(item.messages)
    if category.startswith("normal_multi_turn"):
        item.group = item.id.rpartition("_")[0]
    if category.startswith("special"):
        _add_reply_message(item, reply, turn)
        _fill_special(item, reply, golden, category, can_recompute)
    else:
        _fill_normal(item, reply, golden, turn, can_recompute)


def dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    """The dialogue so far, as the model was given it."""
    known = question or {}
    return parse_transcript(str(known.get("question", "")), time=_text(known, "time"), profile=_text(known, "profile"))


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", reply if isinstance(reply, str) else repr(reply)))


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _fill_special(item: Item, reply: Any, golden: Any, category: str, judged: bool) -> None:
    item.extra.golden_reply = _describe_required_reply(REQUIRED_PHRASES[category], golden)
    if judged:
        _add_recomputed_verdict(item, check_special(reply, golden, category))


def _describe_required_reply(phrase: str, golden: Any) -> str:
    """What the evaluator looks for in the reply, in words."""
    words = [f"must say: {phrase}"]
    for name, wanted in golden.items() if isinstance(golden, dict) else ():
        named = ", ".join(map(str, wanted)) if isinstance(wanted, list) else str(wanted)
        words.append(f"must name, of {name}: {named}")
    return "\n".join(words)


def _fill_normal(item: Item, reply: Any, golden: Any, turn: int, judged: bool) -> None:
    calls, problem = _try_decode(reply)
    if calls is None:
        text = reply if isinstance(reply, str) else repr(reply)
        item.predicted = [Call("predicted", "", None, turn, 0, 0, text, problem)] if "(" in text else []
        if not item.predicted:
            _add_reply_message(item, reply, turn)
    else:
        shown = decode_for_display(reply)
        item.predicted = [Call("predicted", name, given, turn, 0, at) for at, (name, given) in enumerate(shown)]
    alternatives = [one for one in (golden if isinstance(golden, list) else [golden]) if isinstance(one, dict)]
    if alternatives:
        item.golden = parse_golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra.metadata["other accepted answers"] = alternatives[1:]
    item.pairs = align(item.golden, item.predicted, COMPARISON_RULES)
    if alternatives:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if not judged:
        return
    if calls is None:
        _add_recomputed_verdict(item, CheckOutcome(False, "wrong_output_format", problem))
    else:
        _add_recomputed_verdict(item, check_calls(calls, golden, item.functions))


def _try_decode(reply: Any) -> tuple[list[DecodedCall] | None, str | None]:
    try:
        return decode_reply(reply), None
    except Undecodable as error:
        return None, str(error)


def parse_golden_calls(answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0) -> list[Call]:
    """`{name or name_N: {argument: value}}` as calls. An argument that the schema does not require may be left out;
    without a schema none is known to."""
    declared = {document.get("name"): document for document in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = key if key in declared else re.sub(r"_\d+$", "", key)
        required = read_declared_parameters(declared.get(name, {})).required or ()
        given = arguments if isinstance(arguments, dict) else {}
        optional = set(given) - set(required) if name in declared else set()
        accepts = {one: AcceptedValues([value], one in optional) for one, value in given.items()}
        calls.append(Call("golden", name, accepts, turn, 0, index))
    return calls


def _add_recomputed_verdict(item: Item, outcome: CheckOutcome) -> None:
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    if not outcome.valid:
        set_difference_location(item, outcome.function or item.diff_function, outcome.argument or item.diff_argument)
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="ACEBench rules")
    )


def parse_transcript(question: str, *, time: str = "", profile: str = "") -> list[Message]:
    """One turn a user line; a text may itself hold line feeds. Time and profile stand first, as the model was told
    them."""
    found: list[Message] = []
    if time:
        found.append(Message(0, -1, "system", time, "time"))
    if profile:
        found.append(Message(0, -1, "system", profile, "profile"))
    starts = list(_SPEAKER.finditer(question))
    if not starts:
        return [*found, Message(0, -1, "user", question.strip())]
    turn, step = -1, 0
    for position, start in enumerate(starts):
        end = starts[position + 1].start() if position + 1 < len(starts) else len(question)
        text = question[start.end() : end].rstrip("\n")
        if start[1] == "user":
            turn, step = turn + 1, 0
            found.append(Message(turn, -1, "user", text))
        else:
            found.append(Message(max(turn, 0), step, "assistant", text))
            step += 1
    return found
