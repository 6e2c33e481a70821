"""Decode ACEBench replies, and fill the items of the normal and special categories.

A reply is one Python expression. As in the released `eval_main.py` and its decoder (revision e6db74b), white space is
removed first, also inside strings; positional arguments are ignored; a variable name becomes text; every unary operator
negates.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from typing import Any

from fcreview.importers.acebench import checker
from fcreview.importers.acebench.checker import CheckOutcome, DecodedCall
from fcreview.importers.common.python_syntax import parse_expression, read_call
from fcreview.importers.common.records import (
    Undecodable,
    as_object,
    explain_decoding_error,
    last_question,
    list_objects,
)
from fcreview.matching.align import align
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, Item, Message, Verdict

_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""Prefix of a message in a transcript: its speaker. `system` is the assistant."""
OTHER_ANSWERS = "other accepted answers"


def remove_whitespace(reply: str) -> str:
    """Remove all white space, as the evaluator does before decoding. Replies in score files have no white space."""
    return "".join(reply.split())


def decode_reply(reply: Any, *, keep_whitespace: bool = False) -> list[DecodedCall]:
    """Decode calls such as `[f(a=1)]`, as the evaluator does without white space. Raises Undecodable for other text."""
    if not isinstance(reply, str):
        raise Undecodable("the reply is not text")
    elements = getattr(parse_expression(reply.strip() if keep_whitespace else remove_whitespace(reply)), "elts", None)
    if elements is None:
        raise Undecodable("not a list of calls")
    other = next((element for element in elements if not isinstance(element, ast.Call)), None)
    if other is not None:
        raise Undecodable(f"expected a call, not a {type(other).__name__.lower()}")
    return [read_call(element) for element in elements]


def decode_for_display(reply: str) -> list[DecodedCall]:
    """Decode the calls of a reply with the white space in strings or, if that fails, without it."""
    try:
        return decode_reply(reply, keep_whitespace=True)
    except Undecodable:
        return decode_reply(reply)


def fill_item(
    item: Item, golden: Any, *, result: dict[str, Any], question: dict[str, Any] | None, can_recompute: bool
) -> None:
    """Fill a normal or special item. `golden` may come from the score file.

    The verdict is not recomputed if the dataset has no question or golden answer for the item (`can_recompute` is
    False).
    """
    reply = result.get("result")
    item.messages = dialogue_messages(question)
    turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(item.messages)
    if item.category.startswith("normal_multi_turn"):
        item.group = item.id.rpartition("_")[0]
    if item.category.startswith("special"):
        _add_reply_message(item, reply, turn)
        item.extra.golden_reply = _describe_required_reply(checker.REQUIRED_PHRASES[item.category], golden)
        if can_recompute:
            _add_recomputed_verdict(item, checker.check_special(reply, golden, item.category))
    else:
        _fill_normal(item, reply, golden, turn, can_recompute)


def dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    record = question or {}
    time, profile = (value if isinstance(value := record.get(name), str) else "" for name in ("time", "profile"))
    return parse_transcript(str(record.get("question", "")), time=time, profile=profile)


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", reply if isinstance(reply, str) else repr(reply)))


def _describe_required_reply(phrase: str, golden: Any) -> str:
    lines = [f"must contain: {phrase}"]
    for name, words in as_object(golden).items():
        listed = ", ".join(map(str, words)) if isinstance(words, list) else str(words)
        lines.append(f"must mention for {name}: {listed}")
    return "\n".join(lines)


def _fill_normal(item: Item, reply: Any, golden: Any, turn: int, can_recompute: bool) -> None:
    calls, decode_error = None, None
    try:
        calls = decode_reply(reply)
        item.predicted = [
            Call("predicted", name, arguments, turn, 0, index)
            for index, (name, arguments) in enumerate(decode_for_display(reply))
        ]
    except Undecodable as error:
        decode_error = explain_decoding_error(reply, error, decode_reply)
        text = reply if isinstance(reply, str) else repr(reply)
        if "(" in text:
            item.predicted = [Call("predicted", "", None, turn, 0, 0, text, decode_error)]
        else:
            _add_reply_message(item, reply, turn)
    alternatives = list_objects(golden if isinstance(golden, list) else [golden])
    if alternatives:
        item.golden = parse_golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra.metadata[OTHER_ANSWERS] = alternatives[1:]
    item.pairs = align(item.golden, item.predicted, checker.COMPARISON_RULES)
    if alternatives:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if can_recompute and calls is None:
        _add_recomputed_verdict(item, CheckOutcome(False, "wrong_output_format", decode_error))
    elif can_recompute:
        _add_recomputed_verdict(item, checker.check_calls(calls or [], golden, item.functions))


def base_function_name(key: str, available: Container[str | None]) -> str:
    """Return the function name of a golden key: the key if `available` contains it, else the key without `_N`."""
    return key if key in available else re.sub(r"_\d+$", "", key)


def parse_golden_calls(answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0) -> list[Call]:
    """Convert `{name or name_N: {argument: value}}` to calls. Arguments not required by `functions` are optional."""
    docs = {function.get("name"): function for function in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = base_function_name(key, docs)
        required = read_declared_parameters(docs.get(name, {})).required or ()
        accepted = {
            argument: AcceptedValues([value], name in docs and argument not in required)
            for argument, value in as_object(arguments).items()
        }
        calls.append(Call("golden", name, accepted, turn, 0, index))
    return calls


def _add_recomputed_verdict(item: Item, outcome: CheckOutcome) -> None:
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    if not outcome.valid:
        set_difference_location(item, outcome.function or item.diff_function, outcome.argument or item.diff_argument)
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="ACEBench rules")
    )


def parse_transcript(transcript: str, *, time: str = "", profile: str = "") -> list[Message]:
    """Split a transcript whose lines may begin with `user:` or `system:`. Each user message begins a turn.

    Time and user profile become system messages at the start, as in the model's prompt.
    """
    messages = [Message(0, -1, "system", text, name) for text, name in ((time, "time"), (profile, "profile")) if text]
    speakers = list(_SPEAKER.finditer(transcript))
    if not speakers:
        return [*messages, Message(0, -1, "user", transcript.strip())]
    turn, step = -1, 0
    ends = [*(speaker.start() for speaker in speakers[1:]), len(transcript)]
    for speaker, end in zip(speakers, ends, strict=True):
        text = transcript[speaker.end() : end].rstrip("\n")
        if speaker[1] == "user":
            turn, step = turn + 1, 0
            messages.append(Message(turn, -1, "user", text))
        else:
            messages.append(Message(max(turn, 0), step, "assistant", text))
            step += 1
    return messages
