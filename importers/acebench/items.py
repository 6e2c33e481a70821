"""Fill the items of ACEBench's normal and special categories."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any

from fcreview.importers.acebench import checker
from fcreview.importers.acebench.checker import COMPARISON_RULES, CheckOutcome, decode_for_display, decode_reply
from fcreview.importers.common.records import (
    Undecodable,
    as_object,
    explain_decoding_error,
    last_question,
    list_objects,
)
from fcreview.matching.align import align_calls
from fcreview.matching.first_difference import find_first_difference, set_difference_location
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, Item, Message, Verdict

_SPEAKER = re.compile(r"^(user|system):[ ]?", re.MULTILINE)
"""Prefix that names the speaker of a message in a transcript. `system` means the assistant."""
OTHER_ANSWERS = "other accepted answers"
RULES = "ACEBench rules"


def fill_non_agent_item(
    item: Item, golden_answer: Any, *, result: dict[str, Any], question: dict[str, Any] | None, can_recompute: bool
) -> None:
    """Fill a normal or special item from its records in the result and question files.

    The golden answer may come from the score file. `can_recompute` is true if the dataset has the question and the
    golden answer.
    """
    reply = result.get("result")
    item.messages = read_dialogue_messages(question)
    turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(item.messages)
    if item.category.startswith("normal_multi_turn"):
        item.group = item.id.rpartition("_")[0]
    if item.category.startswith("special"):
        _add_reply_message(item, reply, turn)
        item.extra.golden_reply = _describe_required_reply(checker.REQUIRED_PHRASES[item.category], golden_answer)
        if can_recompute:
            _add_recomputed_verdict(item, checker.check_special_reply(reply, golden_answer, item.category))
    else:
        _fill_normal_item(item, reply, golden_answer, turn, can_recompute)


def read_dialogue_messages(question: dict[str, Any] | None) -> list[Message]:
    record = question or {}
    time, profile = (value if isinstance(value := record.get(name), str) else "" for name in ("time", "profile"))
    return parse_transcript(str(record.get("question", "")), time=time, user_profile=profile)


def _add_reply_message(item: Item, reply: Any, turn: int) -> None:
    step = max((message.step for message in item.messages if message.turn == turn), default=-1) + 1
    item.messages.append(Message(turn, step, "assistant", reply if isinstance(reply, str) else repr(reply)))


def _describe_required_reply(required_phrase: str, golden_answer: Any) -> str:
    lines = [f"required text: {required_phrase}"]
    for name, words in as_object(golden_answer).items():
        listed = ", ".join(map(str, words)) if isinstance(words, list) else str(words)
        lines.append(f"required words for {name}: {listed}")
    return "\n".join(lines)


def _fill_normal_item(item: Item, reply: Any, golden_answer: Any, turn: int, can_recompute: bool) -> None:
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
    alternatives = list_objects(golden_answer if isinstance(golden_answer, list) else [golden_answer])
    if alternatives:
        item.golden = parse_golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra.metadata[OTHER_ANSWERS] = alternatives[1:]
    item.pairs = align_calls(item.golden, item.predicted, COMPARISON_RULES)
    if alternatives:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    if can_recompute and calls is None:
        _add_recomputed_verdict(item, CheckOutcome(False, "wrong_output_format", decode_error))
    elif can_recompute:
        _add_recomputed_verdict(item, checker.check_calls(calls or [], golden_answer, item.functions))


def golden_key_to_function_name(key: str, available_functions: Container[str | None]) -> str:
    """Return the function that a key of a golden answer names. `f_2` means `f`, unless a function is called `f_2`."""
    return key if key in available_functions else re.sub(r"_\d+$", "", key)


def parse_golden_calls(answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0) -> list[Call]:
    """Convert a golden answer `{function: {argument: value}}` to calls.

    Several calls of the function `f` have the keys `f_1`, `f_2` and so on. Arguments that the function doc does not
    require are optional.
    """
    docs = {function.get("name"): function for function in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = golden_key_to_function_name(key, docs)
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
    verdict = Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by=RULES)
    item.verdicts.append(verdict)


def parse_transcript(transcript: str, *, time: str = "", user_profile: str = "") -> list[Message]:
    """Split a transcript, in which `user:` or `system:` begins a message. Each user message begins a turn.

    The time and the user profile become system messages at the start, as in the model's prompt.
    """
    named_texts = (("time", time), ("profile", user_profile))
    messages = [Message(0, -1, "system", text, name) for name, text in named_texts if text]
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
