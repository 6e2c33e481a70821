"""Recompute the verdict on a reply: decode it, check it by BFCL's rules and pair it with the golden
calls.

Nothing is executed. Many models give the same reply to an item, so evaluations are cached and used
for all runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import isfinite
from typing import Any, Literal, NamedTuple

import orjson

from fcreview.importers.bfcl.checker.call_check import (
    CallFailure,
    check_single_call,
    check_unordered_calls,
    pair_calls,
)
from fcreview.importers.bfcl.checker.schema import (
    UncheckableItem,
    compile_expected_calls,
    language_of_category,
)
from fcreview.importers.bfcl.dataset import DatasetItem, convert_content_to_text
from fcreview.importers.bfcl.decoders import raw_calls
from fcreview.importers.bfcl.decoders.base import (
    Calls,
    Decoder,
    DecoderContext,
    DisplayCalls,
    NameSpelling,
    WrongFormat,
)
from fcreview.importers.bfcl.decoders.registry import decode_result
from fcreview.importers.bfcl.joining import has_function_name
from fcreview.importers.bfcl.trajectory import make_single_turn_messages
from fcreview.importers.common.records import Undecodable, explain_decoding_error, function_names
from fcreview.model.item import Call, CallPair, Item, Message, SharedList
from fcreview.model.json_value import answer_hash, to_plain_json

RuleName = Literal["simple", "multiple", "parallel", "irrelevance", "relevance", "unscored"]

NOT_RECOMPUTED_NOTES = {
    "multi_turn": "multi-turn verdicts are imported, not recomputed: they need the benchmark's"
    " executable environments",
    "executable": "executable verdicts are imported, not recomputed: they need live functions and"
    " web services",
    "agentic": "agentic verdicts are imported, not recomputed",
    "unscored": "BFCL does not score this category",
}


class CategoryRule(NamedTuple):
    """The check that decides the verdicts of a category."""

    name: RuleName
    why_not_recomputed: str | None = None
    """Reason why verdicts of the category are not recomputed."""


@lru_cache(maxsize=1024)
def find_category_rule(category: str, is_v1: bool) -> CategoryRule:
    """Return the rule for a category.

    As in `eval_runner.py`, it depends on words in the category name.
    """
    if "multi_turn" in category:
        return CategoryRule("unscored", NOT_RECOMPUTED_NOTES["multi_turn"])
    if "memory" in category or "web_search" in category:
        return CategoryRule("unscored", NOT_RECOMPUTED_NOTES["agentic"])
    if category.startswith(("executable", "exec_", "rest")):
        return CategoryRule("unscored", NOT_RECOMPUTED_NOTES["executable"])
    if category.startswith(("chatable", "sql")):
        return CategoryRule("unscored", NOT_RECOMPUTED_NOTES["unscored"])
    if "irrelevance" in category or (is_v1 and "relevance" in category):
        return CategoryRule("irrelevance")
    if "relevance" in category:
        return CategoryRule("relevance")
    if "parallel" in category or (is_v1 and "multiple" in category):
        return CategoryRule("parallel")
    return CategoryRule("multiple" if "multiple" in category else "simple")


JSON_SCALARS = frozenset({str, int, bool, type(None)})
NO_CALL = "relevance_error:decoder_failed"
MAX_CACHED = 8
"""Maximum number of different replies to one item that are cached."""
MAX_CACHE_KEY = 4096
"""Longest reply that is cached, in characters."""


@dataclass(slots=True)
class Evaluation:
    """Decoded calls of a reply and the recomputed verdict on them.

    Replies with equal calls share one object.
    """

    calls: DisplayCalls | None
    decode_error: str | None = None
    valid: bool | None = None
    error_type: str | None = None
    messages: list[str] = field(default_factory=list)
    function: str | None = None
    argument: str | None = None
    note: str | None = None
    """Reason why there is no verdict."""
    predicted: list[Call] | None = None
    """`calls` converted for display. `evaluate_record` sets this attribute and `pairs`."""
    pairs: list[CallPair] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    rules_version: str
    """BFCL version whose rules apply, "V1" to "V4"."""
    category: str
    decoder: Decoder
    config: str | None = None
    """Prompt configuration of a format-sensitivity item, such as `ret_fmt=json&...`."""


def evaluate_result(result: Any, item: DatasetItem, settings: EvaluationSettings) -> Evaluation:
    """Decode and check the `result` of a record. Malformed content does not raise an error."""
    version, category, decoder = settings.rules_version, settings.category, settings.decoder
    is_v1 = version == "V1"
    if category == "format_sensitivity":
        category = item.category
    rule, _ = find_category_rule(category, is_v1)
    language = (
        language_of_category(category) if rule not in ("irrelevance", "relevance") else "python"
    )
    decode = partial(
        decode_result,
        decoder=decoder,
        context=DecoderContext(version, language),
        config=settings.config,
    )

    # No variable refers to the error after this: its traceback would keep the dataset item in
    # memory.
    try:
        calls = decode(result)
    except Undecodable as error:
        reason = explain_decoding_error(result, error, decode)
        return evaluate_undecodable_reply(reason, item, category, is_v1)
    except WrongFormat as error:
        if not is_v1 or not error.v1_calls:
            reason = explain_decoding_error(result, error, decode)
            return evaluate_undecodable_reply(reason, item, category, is_v1, wrong_format=error)
        calls = error.v1_calls
    except (RecursionError, MemoryError) as error:
        return evaluate_undecodable_reply(
            f"the reply is nested too deeply ({error})", item, category, is_v1
        )

    cache = item.evaluation_cache
    key = _make_calls_cache_key(calls, decoder.name_spelling, category, is_v1)
    evaluation = cache.get(key) if key is not None else None
    if evaluation is None:
        evaluation = evaluate_calls(calls, item, category, decoder.name_spelling, is_v1)
        if key is not None and len(cache) < MAX_CACHED:
            cache[key] = evaluation
    return evaluation


def _make_calls_cache_key(
    calls: Calls, spelling: NameSpelling, category: str, is_v1: bool
) -> str | None:
    """Return a cache key, equal for calls with equal values and types; None for calls that are
    too large to cache.
    """
    try:
        key = repr((calls, spelling, category, is_v1))
    except (
        ValueError,
        RecursionError,
    ):  # an integer of thousands of digits, or calls nested too deeply
        return None
    return key if len(key) <= MAX_CACHE_KEY else None


def evaluate_calls(
    calls: Calls, item: DatasetItem, category: str, spelling: NameSpelling, is_v1: bool
) -> Evaluation:
    """Check decoded calls by the rules of V1 or of later versions.

    Malformed content does not raise an error.
    """
    rule, _ = find_category_rule(category, is_v1)
    evaluation = Evaluation(
        _replace_non_json_values(calls), note=_explain_missing_verdict(item, category, is_v1)
    )
    if evaluation.note:
        return evaluation
    if rule == "irrelevance" and calls:
        error, name = (
            "irrelevance_error" if "irrelevance" in category else "relevance_error",
            calls[0][0],
        )
        message = f"{name} is called although no available function is suitable"
        _set_verdict(
            evaluation,
            CallFailure(f"{error}:decoder_success", function=name, argument=None, message=message),
        )
    elif rule == "irrelevance":
        evaluation.valid = True
    elif rule == "relevance":
        _set_verdict(
            evaluation,
            None
            if calls
            else CallFailure(
                NO_CALL, function=None, argument=None, message="no function is called"
            ),
        )
    else:
        try:
            golden = compile_expected_calls(item, category, is_v1)
            if rule == "parallel":
                failure = check_unordered_calls(golden, calls, spelling)
            else:
                failure = check_single_call(golden, calls, spelling, f"{rule}_function_checker")
            _set_verdict(evaluation, failure)
        except UncheckableItem as error:
            evaluation.note = str(error)
        except (RecursionError, TypeError, AttributeError, KeyError) as error:
            evaluation.note = f"the rules cannot be applied to this call ({error})"
    return evaluation


def _explain_missing_verdict(item: DatasetItem, category: str, is_v1: bool) -> str | None:
    rule, note = find_category_rule(category, is_v1)
    if rule in ("simple", "multiple", "parallel") and not item.ground_truth:
        return "there is no golden answer to check against"
    return note


def decode_step(reply: Any, *, decoder: Decoder, rules_version: str) -> DisplayCalls | None:
    """Decode the reply of one step of a multi-turn or agentic record.

    Returns None if it contains no call.
    """
    try:
        calls = decode_result(reply, decoder, DecoderContext(rules_version))
    except WrongFormat as error:
        return error.display_calls or None
    except (Undecodable, RecursionError, MemoryError):
        return None
    return _replace_non_json_values(calls) or None


def _set_verdict(evaluation: Evaluation, failure: CallFailure | None) -> None:
    evaluation.valid = failure is None
    if failure is not None:
        evaluation.error_type, evaluation.function, evaluation.argument, message = failure
        evaluation.messages = [message]


def evaluate_undecodable_reply(
    reason: str,
    item: DatasetItem,
    category: str,
    is_v1: bool = False,
    wrong_format: WrongFormat | None = None,
) -> Evaluation:
    """Evaluate a reply without decodable calls.

    `wrong_format` is given if the reply was decoded, but not to a list of calls.
    """
    shown = wrong_format.display_calls if wrong_format is not None else None
    calls = _replace_non_json_values(shown) if shown else None
    evaluation = Evaluation(calls, reason, note=_explain_missing_verdict(item, category, is_v1))
    rule, _ = find_category_rule(category, is_v1)
    if evaluation.note:
        return evaluation
    if rule == "irrelevance":
        evaluation.valid = True
    elif rule == "relevance":
        _set_verdict(
            evaluation,
            CallFailure(
                NO_CALL, function=None, argument=None, message=f"no function is called: {reason}"
            ),
        )
    else:
        failed = "decoder_failed" if wrong_format is None else "decoder_wrong_output_format"
        _set_verdict(
            evaluation,
            CallFailure(f"ast_decoder:{failed}", function=None, argument=None, message=reason),
        )
    return evaluation


def _replace_non_json_values(calls: Any) -> Any:
    """Convert values that JSON does not have, such as NaN and bytes, to text.

    Without such values, return `calls`.
    """
    if all(
        arguments is None or (type(arguments) is dict and _is_json_value(arguments))
        for _, arguments in calls
    ):
        return calls
    return [
        (name, to_plain_json(arguments) if type(arguments) is dict else None)
        for name, arguments in calls
    ]


def _is_json_value(value: Any, depth: int = 0) -> bool:
    if type(value) in JSON_SCALARS:
        return True
    if type(value) is float:
        return isfinite(value)
    if depth > 50:
        return False
    if type(value) is dict:
        return all(
            type(key) is str and _is_json_value(field, depth + 1) for key, field in value.items()
        )
    return type(value) in (list, tuple) and all(
        _is_json_value(element, depth + 1) for element in value
    )


@dataclass(slots=True)
class EvaluatedReply:
    """Evaluation of a reply to a dataset item.

    All runs with this reply share the object, so it is never changed.
    """

    prediction_hash: str
    evaluation: Evaluation
    messages: list[Message]
    predicted: list[Call]
    pairs: list[CallPair]
    is_undecoded: bool = False
    """Whether the reply contains the text of a call that the decoder did not read."""
    is_cached: bool = False
    """Whether the object is in the cache, so that records with an equal reply use it too."""
    items: dict[tuple[str, str, bool | None], Item] = field(default_factory=dict)
    """(item id, score file name, official verdict) -> first item with this reply.

    Set by `items.build_item`.
    """


def evaluate_record(
    item: DatasetItem, record: dict[str, Any], settings: EvaluationSettings
) -> EvaluatedReply:
    key = _make_reply_cache_key(record, settings)
    reply = item.reply_cache.get(key) if key is not None else None
    if reply is None:
        reply = _evaluate_new_record(item, record, settings)
        if key is not None and len(item.reply_cache) < MAX_CACHED:
            reply.is_cached = True
            item.reply_cache[key] = reply
    return reply


def _make_reply_cache_key(record: dict[str, Any], settings: EvaluationSettings) -> Hashable | None:
    result = record["result"]
    if record.get("reasoning_content") or settings.config is not None:
        return None
    if type(result) is not str:
        try:
            # a copy, because orjson's own bytes occupy kilobytes
            result = bytes(memoryview(orjson.dumps(result)))
        except TypeError:
            return None
        if b"null" in result:  # orjson also writes NaN as null
            return None
    if len(result) > MAX_CACHE_KEY:
        return None
    return settings.decoder.name, settings.decoder.stringifies_arguments, result


def _evaluate_new_record(
    item: DatasetItem, record: dict[str, Any], settings: EvaluationSettings
) -> EvaluatedReply:
    result = record["result"]
    evaluation = evaluate_result(result, item, settings)
    if evaluation.predicted is None:
        evaluation.predicted = SharedList(_make_predicted_calls(evaluation, result, item))
        evaluation.pairs = SharedList(
            _pair_predicted_calls(evaluation, evaluation.predicted, item, settings)
        )

    messages = make_single_turn_messages(record, item.opening_messages)
    reply = EvaluatedReply(
        answer_hash(result),
        evaluation=evaluation,
        messages=messages,
        predicted=evaluation.predicted,
        pairs=evaluation.pairs,
    )
    if not evaluation.calls and raw_calls.holds_call_text(result, function_names(item.functions)):
        reply.is_undecoded = True
        _add_undecoded_call(reply, result, item, settings)
    return reply


def _pair_predicted_calls(
    evaluation: Evaluation, predicted: list[Call], item: DatasetItem, settings: EvaluationSettings
) -> list[CallPair]:
    if not item.golden_calls and not predicted:
        return []
    category = item.category if settings.category == "format_sensitivity" else settings.category
    is_v1 = settings.rules_version == "V1"
    is_failing = evaluation.valid is False
    return pair_calls(item, predicted, category, is_v1, with_schema_violations=is_failing)


def _add_undecoded_call(
    reply: EvaluatedReply, result: Any, item: DatasetItem, settings: EvaluationSettings
) -> None:
    """Replace the predicted calls by a call that contains the reply as raw text, if there is none
    yet.

    Replies with equal calls share an evaluation. Replies without calls have different texts, so
    each gets its own call.
    """
    if reply.predicted:
        return
    reason = (
        reply.evaluation.decode_error
        or f"the decoder {settings.decoder.name} reads no call in this reply"
    )
    text = convert_content_to_text(result)
    reply.predicted = [
        Call(
            "predicted", "", arguments=None, turn=0, step=0, index=0, raw=text, decode_error=reason
        )
    ]
    reply.pairs = _pair_predicted_calls(reply.evaluation, reply.predicted, item, settings)


def _make_predicted_calls(evaluation: Evaluation, result: Any, item: DatasetItem) -> list[Call]:
    if evaluation.calls:
        error = evaluation.decode_error
        return [
            Call(
                "predicted",
                name,
                arguments=arguments,
                turn=0,
                step=0,
                index=index,
                raw=None,
                decode_error=None if arguments is not None else error,
            )
            for index, (name, arguments) in enumerate(evaluation.calls)
        ]
    if evaluation.calls is None and _is_probable_call(result, item):
        return [
            Call(
                "predicted",
                "",
                arguments=None,
                turn=0,
                step=0,
                index=0,
                raw=convert_content_to_text(result),
                decode_error=evaluation.decode_error,
            )
        ]
    return []


def _is_probable_call(result: Any, item: DatasetItem) -> bool:
    if isinstance(result, str):
        return has_function_name(result, item)
    return (
        isinstance(result, (list, dict))
        and bool(result)
        and not all(isinstance(part, str) for part in result)
    )
