"""The verdict of the benchmark's own rules on one record, recomputed without running anything.

How a category is scored. Tests are on parts of its name, and their order matters (`eval_runner.py`).

Predicted calls laid against golden ones, with what the function documents ask beyond the golden answer.

What a reply to a case comes to. Models repeat each other: what they say alike is decoded, judged and laid against
the golden calls once, whichever run it is of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

import orjson

from fcreview.importers.bfcl.checker.schema import (
    COMPARISON_RULES,
    ExpectedCall,
    UncheckableItem,
    compile_expected_calls,
    language_of_category,
)
from fcreview.importers.bfcl.checker.values import CallFailure, check_single_call, check_unordered_calls
from fcreview.importers.bfcl.dataset import DatasetItem, content_text
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext, NameSpelling, WrongFormat
from fcreview.importers.bfcl.decoders.registry import decode_result, decoder_for_model
from fcreview.importers.bfcl.trajectory import single_turn_messages
from fcreview.importers.common.records import Undecodable
from fcreview.matching.align import align
from fcreview.model.item import ArgumentDiff, Call, Item, Message, Pair, Repeated
from fcreview.model.json_value import answer_hash, child, json_safe

Rule = Literal["simple", "multiple", "parallel", "irrelevance", "relevance", "unscored"]

NOT_RECOMPUTED_NOTES = {
    "multi_turn": "multi-turn verdicts are imported, not recomputed: they need the benchmark's executable environments",
    "executable": "executable verdicts are imported, not recomputed: they need live functions and web services",
    "agentic": "agentic verdicts are imported, not recomputed",
    "unscored": "BFCL does not score this category",
}


@lru_cache(maxsize=1024)
def rule_for_category(category: str, v1: bool) -> tuple[Rule, str | None]:
    """The rule to apply, and a note where there is none."""
    if "multi_turn" in category:
        return "unscored", NOT_RECOMPUTED_NOTES["multi_turn"]
    if "memory" in category or "web_search" in category:
        return "unscored", NOT_RECOMPUTED_NOTES["agentic"]
    if category.startswith(("executable", "exec_", "rest")):
        return "unscored", NOT_RECOMPUTED_NOTES["executable"]
    if category.startswith(("chatable", "sql")):
        return "unscored", NOT_RECOMPUTED_NOTES["unscored"]
    if "irrelevance" in category or (v1 and "relevance" in category):
        return "irrelevance", None
    if "relevance" in category:
        return "relevance", None
    if "parallel" in category or (v1 and "multiple" in category):
        return "parallel", None
    return ("multiple" if "multiple" in category else "simple"), None


DisplayCalls = list[tuple[str, dict[str, Any] | None]]
SCALARS = frozenset({str, int, bool, type(None)})
MAX_CACHED = 8
"""Different outputs to one case whose evaluation is kept."""
MAX_CACHE_KEY = 4096


@dataclass(slots=True)
class Evaluation:
    """What the rules say. `function` and `argument` are where the first failure lies."""

    calls: DisplayCalls | None
    """Decoded calls, arguments as JSON; None if the output is not calls."""
    decode_error: str | None = None
    valid: bool | None = None
    error_type: str | None = None
    messages: list[str] = field(default_factory=list)
    function: str | None = None
    argument: str | None = None
    note: str | None = None
    """Why there is no verdict."""
    predicted: list[Call] | None = None
    """For the caller, as `pairs`: what it made of this. Equal calls of other models are the same Evaluation."""
    pairs: list[Pair] = field(default_factory=list)


def evaluate(
    result: Any,
    item: DatasetItem,
    *,
    version: str,
    category: str,
    config: str | None = None,
    model: str = "",
    decoder: Decoder | None = None,
) -> Evaluation:
    """Verdict and decoded calls of a record's `result`.

    `generation` is "V1" to "V4"; `config` the configuration part of a format-sensitivity id
    (`ret_fmt=json&...`); the replies are read by `decoder`, without one by that of the folder's name, `model`. Never
    raises for bad content.
    """
    if decoder is None:
        decoder, _ = decoder_for_model(model, version)
    v1 = version == "V1"
    if category == "format_sensitivity":
        category = item.category
    kind, note = rule_for_category(category, v1)
    language = language_of_category(category) if kind not in ("irrelevance", "relevance") else "python"
    try:
        calls = decode_result(result, decoder, DecoderContext(version, language), config)
    except (Undecodable, WrongFormat) as error:
        if not v1 or isinstance(error, Undecodable) or not error.v1_calls:
            return _evaluate_undecodable(error, kind, note, _missing_golden_note(item, kind))
        calls = error.v1_calls
    except (RecursionError, MemoryError) as error:
        return _evaluate_undecodable(
            Undecodable(f"too deeply nested ({error})"), kind, note, _missing_golden_note(item, kind)
        )
    known, key = item.evaluation_cache, _cache_key(calls, decoder.name_spelling, category, v1)
    found = known.get(key) if key is not None else None
    if found is None:
        found = _apply_rule(calls, decoder.name_spelling, item, category, v1)
        if key is not None and len(known) < MAX_CACHED:
            known[key] = found
    return found


def _cache_key(calls: Calls, spelling: NameSpelling, category: str, v1: bool) -> str | None:
    """The same for calls that are the same, types included: of 71 models, most say the same of an item. None for calls
    that are too large to be kept."""
    try:
        key = repr((calls, spelling, category, v1))
    except (ValueError, RecursionError):  # an integer of thousands of digits, or nested too deeply
        return None
    return key if len(key) <= MAX_CACHE_KEY else None


def _apply_rule(calls: Calls, spelling: NameSpelling, case: DatasetItem, category: str, v1: bool) -> Evaluation:
    kind, note = rule_for_category(category, v1)
    found = Evaluation(_to_json_calls(calls))
    if kind == "unscored":
        found.note = note
    elif kind == "irrelevance":
        _set_verdict(found, _unwanted_call(calls, category) if calls else None)
    elif kind == "relevance":
        _set_verdict(
            found, None if calls else CallFailure("relevance_error:decoder_failed", None, None, "no function is called")
        )
    elif note := _missing_golden_note(case, kind):
        found.note = note
    else:
        try:
            golden = compile_expected_calls(case, category, v1)
            if kind == "parallel":
                failure = check_unordered_calls(golden, calls, spelling, v1)
            else:
                failure = check_single_call(golden, calls, spelling, v1, f"{kind}_function_checker")
            _set_verdict(found, failure)
        except UncheckableItem as error:
            found.note = str(error)
        except (RecursionError, TypeError, AttributeError, KeyError) as error:
            found.note = f"the rules cannot be applied to this call ({error})"
    return found


def decode_step(step: Any, *, decoder: Decoder, rules_version: str) -> DisplayCalls | None:
    """Calls of one step of a multi-turn or agentic record, or None if it is no call."""
    try:
        calls = decode_result(step, decoder, DecoderContext(rules_version))
    except WrongFormat as error:
        return error.display_calls or None
    except (Undecodable, RecursionError, MemoryError):
        return None
    return _to_json_calls(calls) or None


def _set_verdict(found: Evaluation, failure: CallFailure | None) -> None:
    if failure is None:
        found.valid = True
        return
    found.valid = False
    found.error_type, found.function, found.argument, message = failure
    found.messages = [message]


def _unwanted_call(calls: Calls, category: str) -> CallFailure:
    kind = "irrelevance_error" if "irrelevance" in category else "relevance_error"
    name = calls[0][0]
    return CallFailure(f"{kind}:decoder_success", name, None, f"{name} is called though no function on offer fits")


def _missing_golden_note(case: DatasetItem, kind: str) -> str | None:
    if kind in ("simple", "multiple", "parallel") and not case.ground_truth:
        return "there is no golden answer to check against"
    return None


def _evaluate_undecodable(
    error: Undecodable | WrongFormat, kind: str, note: str | None, no_golden: str | None
) -> Evaluation:
    reason = str(error)
    shown = _to_json_calls(error.display_calls) if isinstance(error, WrongFormat) and error.display_calls else None
    found = Evaluation(shown, reason)
    if kind == "unscored" or no_golden:
        found.note = note or no_golden
    elif kind == "irrelevance":
        found.valid = True
    elif kind == "relevance":
        _set_verdict(
            found, CallFailure("relevance_error:decoder_failed", None, None, f"no function is called: {reason}")
        )
    else:
        failed = "decoder_failed" if isinstance(error, Undecodable) else "decoder_wrong_output_format"
        _set_verdict(found, CallFailure(f"ast_decoder:{failed}", None, None, reason))
    return found


def _to_json_calls(calls: Any) -> Any:
    """The calls, with arguments that are not plain JSON (NaN, bytes, keys that are no text) put into words."""
    for _, arguments in calls:
        if arguments is not None and not (type(arguments) is dict and _is_json_object(arguments)):
            return [(name, json_safe(given) if type(given) is dict else None) for name, given in calls]
    return calls


def _is_json_object(value: dict[Any, Any], depth: int = 0) -> bool:
    for key, one in value.items():
        kind = type(one)
        if type(key) is not str or not (kind in SCALARS or _is_json_value(one, kind, depth)):
            return False
    return True


def _is_json_value(value: Any, kind: type, depth: int) -> bool:
    if kind is float:
        return isfinite(value)
    if depth >= 50:
        return False
    if kind is list or kind is tuple:
        return all(type(one) in SCALARS or _is_json_value(one, type(one), depth + 1) for one in value)
    return kind is dict and _is_json_object(value, depth + 1)


def pair_calls(case: DatasetItem, predicted: list[Call], category: str, v1: bool, *, failed: bool) -> list[Pair]:
    """`failed`: by the rules, which look at the function's document before they look at the golden answer."""
    pairs = align(case.golden_calls, predicted, COMPARISON_RULES)
    if failed:
        try:
            described = compile_expected_calls(
                case, case.category if category == "format_sensitivity" else category, v1
            )
        except UncheckableItem:
            return pairs
        for pair in pairs:
            if pair.golden is not None and pair.predicted is not None and pair.golden < len(described):
                _add_schema_differences(pair, described[pair.golden], predicted[pair.predicted])
    return pairs


def _add_schema_differences(pair: Pair, golden: ExpectedCall, predicted: Call) -> None:
    """An argument may be left out by the golden answer and required by the function, or be golden and not among its
    parameters: the checker fails both (`ast_checker.py`, simple_function_checker)."""
    given = predicted.arguments
    if given is None or not golden.has_function_doc:
        return
    listed = {place.path for place in pair.diff}
    missing = [name for name in golden.required if name not in given]
    strange = [name for name in given if name in golden.undeclared]
    found = [ArgumentDiff(child("", name), "-", "required by the function, though not by golden") for name in missing]
    found += [ArgumentDiff(child("", name), "!", "golden, but no parameter of the function") for name in strange]
    found = [place for place in found if place.path not in listed]
    if found:
        pair.diff, pair.state = [*pair.diff, *found], "!"


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How replies are read and judged."""

    rules_version: str
    """Whose rules are applied, "V1" to "V4"."""
    category: str
    decoder: Decoder
    config: str | None = None
    """The configuration part of a format-sensitivity id."""


@dataclass(slots=True)
class EvaluatedReply:
    """Shared by all items that are the same reply to the same case: never changed."""

    prediction_hash: str
    """Of the raw result."""
    evaluation: Evaluation
    messages: list[Message]
    predicted: list[Call]
    pairs: list[Pair]
    is_cached: bool = False
    """Whether it will be seen again."""
    items: dict[tuple[str, str, bool | None], Item] = field(default_factory=dict)
    """For the caller: what it made of it, by id, score file and official verdict."""


def evaluate_reply(
    case: DatasetItem, record: dict[str, Any], opening: list[Message], reading: EvaluationSettings
) -> EvaluatedReply:
    """The reply in a result record, behind the messages that open the case's turns."""
    key = _reply_cache_key(record, reading)
    reply = case.reply_cache.get(key) if key is not None else None
    if reply is None:
        reply = _evaluate_new_reply(case, record, opening, reading)
        if key is not None and len(case.reply_cache) < MAX_CACHED:
            if reply.messages is not opening:
                reply.messages = Repeated(reply.messages)
            reply.is_cached = True
            case.reply_cache[key] = reply
    return reply


def _reply_cache_key(record: dict[str, Any], reading: EvaluationSettings) -> tuple[str, bool, Any] | None:
    """The same for replies that are the same. None for what is not kept: the large, those with reasoning, which is
    never the same, and those of several configurations."""
    result = record["result"]
    if record.get("reasoning_content") or reading.config is not None:
        return None
    if type(result) is not str:
        try:
            result = bytes(memoryview(orjson.dumps(result)))  # as orjson has it, it holds on to kilobytes
        except TypeError:
            return None
        if b"null" in result:  # or NaN, which is written so
            return None
    if len(result) > MAX_CACHE_KEY:
        return None
    return reading.decoder.name, reading.decoder.stringifies_arguments, result


def _evaluate_new_reply(
    case: DatasetItem, record: dict[str, Any], opening: list[Message], reading: EvaluationSettings
) -> EvaluatedReply:
    result = record["result"]
    found = evaluate(
        result,
        case,
        version=reading.rules_version,
        category=reading.category,
        config=reading.config,
        decoder=reading.decoder,
    )
    if found.predicted is None:
        found.predicted = Repeated(_predicted_calls(found, result, case))
        if case.golden_calls or found.predicted:
            failed, v1 = found.valid is False, reading.rules_version == "V1"
            found.pairs = Repeated(pair_calls(case, found.predicted, reading.category, v1, failed=failed))
    return EvaluatedReply(
        answer_hash(result), found, single_turn_messages(record, opening), found.predicted, found.pairs
    )


def _predicted_calls(found: Evaluation, result: Any, case: DatasetItem) -> list[Call]:
    if found.calls:
        return [
            Call("predicted", name, arguments, 0, 0, index, None, None if arguments is not None else found.decode_error)
            for index, (name, arguments) in enumerate(found.calls)
        ]
    if found.calls is None and _attempts_call(result, case):
        return [Call("predicted", "", None, 0, 0, 0, content_text(result), found.decode_error)]
    return []


def _attempts_call(result: Any, case: DatasetItem) -> bool:
    """Whether a text that could not be decoded names a function on offer, or a list was not prose."""
    if isinstance(result, str):
        return any(
            name in result or name.replace(".", "_") in result
            for name in (document.get("name") for document in case.functions)
            if isinstance(name, str) and name
        )
    return isinstance(result, (list, dict)) and bool(result) and not all(isinstance(part, str) for part in result)
