"""Items of ACEBench's normal and special categories: transcript, calls, pairs and the rule verdict."""

from __future__ import annotations

import re
from typing import Any

from fcreview.compare import align, first_difference
from fcreview.importers.acebench import check_normal, check_special
from fcreview.importers.acebench.decode import CallTuple, Undecodable, decode
from fcreview.importers.acebench.rules import RULES
from fcreview.importers.acebench.transcript import messages
from fcreview.model import Accept, Call, Item, Message, Verdict


def fill(
    item: Item, record: dict[str, Any], question: dict[str, Any] | None, answer: dict[str, Any] | None, category: str
) -> None:
    reply = record.get("result")
    question = question or {}
    item.messages = messages(
        str(question.get("question", "")), time=_text(question, "time"), profile=_text(question, "profile")
    )
    turn = max((message.turn for message in item.messages), default=0)
    item.n_turns = turn + 1
    last = next((message for message in reversed(item.messages) if message.role == "user"), None)
    item.question = " ".join(last.content.split())[:400] if last else ""
    item.messages.append(Message(turn, 1000, "assistant", reply if isinstance(reply, str) else repr(reply)))
    if category.startswith("normal_multi_turn"):
        item.group = item.id.rpartition("_")[0]
    if category.startswith("special"):
        _special(item, reply, answer, category)
    else:
        _normal(item, reply, answer, turn)


def _text(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _special(item: Item, reply: Any, answer: dict[str, Any] | None, category: str) -> None:
    if answer is None:
        return
    golden = answer.get("ground_truth")
    item.extra["expected"] = {"phrase": check_special.PHRASES[category], "must name": golden}
    _verdict(item, check_special.check(reply, golden, category))


def _normal(item: Item, reply: Any, answer: dict[str, Any] | None, turn: int) -> None:
    calls: list[CallTuple] | None = None
    try:
        calls = decode(reply)
        item.predicted = [
            Call("predicted", name, arguments, turn, 0, index) for index, (name, arguments) in enumerate(calls)
        ]
    except Undecodable as error:
        text = reply if isinstance(reply, str) else repr(reply)
        item.predicted = (
            [Call("predicted", "", None, turn, 0, 0, raw=text, decode_error=str(error))] if text.strip() else []
        )
        problem = str(error)
    if answer is None:
        return
    golden = answer.get("ground_truth")
    alternatives = [one for one in (golden if isinstance(golden, list) else [golden]) if isinstance(one, dict)]
    if alternatives:
        item.golden = golden_calls(alternatives[0], item.functions, turn)
    if len(alternatives) > 1:
        item.extra["other accepted answers"] = alternatives[1:]
    item.pairs = align(item.golden, item.predicted, RULES)
    item.diff_function, item.diff_argument, item.first_difference = first_difference(
        item.pairs, item.golden, item.predicted
    )
    if calls is None:
        _verdict(item, check_normal.Outcome(False, "wrong_output_format", problem))
    else:
        _verdict(item, check_normal.check(calls, golden, item.functions))


def golden_calls(answer: dict[str, Any], functions: list[dict[str, Any]], turn: int = 0) -> list[Call]:
    """`{name or name_N: {argument: value}}` as calls. An argument that the schema does not require may be left out."""
    declared = {document.get("name"): document for document in functions}
    calls = []
    for index, (key, arguments) in enumerate(answer.items()):
        name = key if key in declared else re.sub(r"_\d+$", "", key)
        schema = declared.get(name, {}).get("parameters") or {}
        required = schema.get("required") or [] if isinstance(schema, dict) else []
        given = arguments if isinstance(arguments, dict) else {}
        accepts = {one: Accept([value], one not in required) for one, value in given.items()}
        calls.append(Call("golden", name, accepts, turn, 0, index))
    return calls


def _verdict(item: Item, outcome: check_normal.Outcome) -> None:
    item.rule, item.rule_error_type = outcome.valid, outcome.error_type
    if not outcome.valid:
        item.diff_function = outcome.function or item.diff_function
        item.diff_argument = outcome.argument or item.diff_argument
    item.verdicts.append(
        Verdict("rule", outcome.valid, error_type=outcome.error_type, rationale=outcome.message, by="ACEBench rules")
    )
