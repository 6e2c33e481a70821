"""Recompute the verdict on a reply: decode it, check it by BFCL's rules and pair it with the golden
calls.

Nothing is executed. Many models give the same reply to an item, so evaluations are cached and used
for all runs.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from typing import Any

import orjson

from fcreview.importers.bfcl.checker.call_check import (
    CallFailure,
    check_single_call,
    check_unordered_calls,
    pair_calls,
)
from fcreview.importers.bfcl.checker.rules import CategoryRules, find_category_rules
from fcreview.importers.bfcl.checker.schema import UncheckableItem, compile_expected_calls
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

JSON_SCALARS = frozenset({str, int, bool, type(None)})
NO_CALL = "relevance_error:decoder_failed"
MAX_CACHED = 8
"""Maximum number of different replies to one item that are cached."""
MAX_CACHE_KEY = 4096
"""Longest reply that is cached, in characters."""
MAX_VALUE_DEPTH = 50
"""Depth from which a value is converted to JSON without looking at it."""


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

    def find_rules(self, item: DatasetItem) -> CategoryRules:
        """Return the rules for an item."""
        category = self.category
        # Items of format sensitivity come from other categories, whose rules apply.
        if category == "format_sensitivity":
            category = item.category
        return find_category_rules(category, is_v1=self.rules_version == "V1")


def evaluate_result(result: Any, item: DatasetItem, settings: EvaluationSettings) -> Evaluation:
    """Decode the calls in a reply, and check them by the rules of the item's category.

    A malformed reply gets the verdict that BFCL gives it, and does not raise an error.

    Args:
        result: The field `result` of a record: the reply of the model.
        item: The item with the golden answer.
        settings: Version of the rules, category and decoder.
    """
    rules = settings.find_rules(item)
    decode = partial(
        decode_result,
        decoder=settings.decoder,
        context=DecoderContext(settings.rules_version, rules.decoding_language),
        config=settings.config,
    )

    # Each `except` turns its error into a text at once. An error that outlives the clause, in a
    # variable or a closure, would keep the dataset item in memory by its traceback.
    try:
        calls = decode(result)
    except Undecodable as error:
        reason = explain_decoding_error(result, error, decode)
        return evaluate_undecodable_reply(reason, item, rules)
    except WrongFormat as error:
        # Later versions fail calls of a wrong form. V1 checks them, and finds the error in them.
        if not rules.is_v1 or not error.v1_calls:
            reason = explain_decoding_error(result, error, decode)
            return evaluate_undecodable_reply(reason, item, rules, wrong_format=error)
        calls = error.v1_calls
    except (RecursionError, MemoryError) as error:
        reason = f"the reply is nested too deeply ({error})"
        return evaluate_undecodable_reply(reason, item, rules)

    return _evaluate_calls_once(calls, item, rules, settings.decoder.name_spelling)


def _evaluate_calls_once(
    calls: Calls, item: DatasetItem, rules: CategoryRules, spelling: NameSpelling
) -> Evaluation:
    """Check decoded calls, or return the evaluation of an earlier reply with equal calls."""
    key = _make_calls_cache_key(calls, rules, spelling)
    if key is None:
        return evaluate_calls(calls, item, rules, spelling)

    evaluation: Evaluation | None = item.evaluation_cache.get(key)
    if evaluation is None:
        evaluation = evaluate_calls(calls, item, rules, spelling)
        if len(item.evaluation_cache) < MAX_CACHED:
            item.evaluation_cache[key] = evaluation
    return evaluation


def _make_calls_cache_key(calls: Calls, rules: CategoryRules, spelling: NameSpelling) -> str | None:
    """Return a cache key that is equal for calls with equal values and types. None if the calls are
    too large to cache.
    """
    try:
        key = repr((calls, spelling, rules.category, rules.is_v1))
    except (ValueError, RecursionError):
        # The calls contain an integer of thousands of digits, or are nested too deeply.
        return None
    return key if len(key) <= MAX_CACHE_KEY else None


def evaluate_calls(
    calls: Calls, item: DatasetItem, rules: CategoryRules, spelling: NameSpelling
) -> Evaluation:
    """Check decoded calls. Malformed content does not raise an error."""
    note = _explain_missing_verdict(item, rules)
    evaluation = Evaluation(_replace_non_json_values(calls), note=note)
    if note is not None:
        return evaluation

    try:
        failure = _find_failure(calls, item, rules, spelling)
    except UncheckableItem as error:
        evaluation.note = str(error)
    except (RecursionError, TypeError, AttributeError, KeyError) as error:
        evaluation.note = f"the rules cannot be applied to this call ({error})"
    else:
        _set_verdict(evaluation, failure)
    return evaluation


def _explain_missing_verdict(item: DatasetItem, rules: CategoryRules) -> str | None:
    """Return why there is no verdict on any reply to an item; None if there is one."""
    if rules.compares_calls and not item.ground_truth:
        return "there is no golden answer to check against"
    return rules.why_not_recomputed


def _find_failure(
    calls: Calls, item: DatasetItem, rules: CategoryRules, spelling: NameSpelling
) -> CallFailure | None:
    """Apply the check of a category, and return the first error, or None if the reply passes.

    Raises UncheckableItem if calls cannot be compared with the golden answer.
    """
    if rules.check == "irrelevance":
        return _find_unwanted_call(calls, rules)
    if rules.check == "relevance":
        return _find_missing_call(calls)

    golden = compile_expected_calls(item, rules)
    if rules.check == "parallel":
        return check_unordered_calls(golden, calls, spelling)
    return check_single_call(golden, calls, spelling, f"{rules.check}_function_checker")


def _find_unwanted_call(calls: Calls, rules: CategoryRules) -> CallFailure | None:
    """Return the failure of an irrelevance item: its first call, if there is one.

    No available function is suitable, so any call fails.
    """
    if not calls:
        return None
    # In V1, the category is called `relevance`, and so is the error.
    error = "relevance_error"
    if "irrelevance" in rules.category:
        error = "irrelevance_error"
    function, _ = calls[0]
    return CallFailure(
        f"{error}:decoder_success",
        function=function,
        argument=None,
        message=f"{function} is called although no available function is suitable",
    )


def _find_missing_call(calls: Calls) -> CallFailure | None:
    """Relevance: any call passes, whatever its name and arguments."""
    if calls:
        return None
    return CallFailure(NO_CALL, function=None, argument=None, message="no function is called")


def decode_step(reply: Any, *, decoder: Decoder, rules_version: str) -> DisplayCalls | None:
    """Decode the reply of one step of a multi-turn or agentic record.

    Returns None if it contains no call.
    """
    try:
        calls = decode_result(reply, decoder, DecoderContext(rules_version))
    except WrongFormat as error:
        # Calls in a wrong format do not count, but can be displayed.
        return error.display_calls or None
    except (Undecodable, RecursionError, MemoryError):
        return None
    return _replace_non_json_values(calls) or None


def _set_verdict(evaluation: Evaluation, failure: CallFailure | None) -> None:
    """Set the verdict of an evaluation: it passes without a failure."""
    if failure is None:
        evaluation.valid = True
        return
    evaluation.valid = False
    evaluation.error_type = failure.error_type
    evaluation.function = failure.function
    evaluation.argument = failure.argument
    evaluation.messages = [failure.message]


def evaluate_undecodable_reply(
    reason: str,
    item: DatasetItem,
    rules: CategoryRules,
    *,
    wrong_format: WrongFormat | None = None,
) -> Evaluation:
    """Evaluate a reply without decodable calls.

    `wrong_format` is given if the reply was decoded, but not to a list of calls.
    """
    evaluation = Evaluation(
        calls=_list_calls_of_wrong_format(wrong_format),
        decode_error=reason,
        note=_explain_missing_verdict(item, rules),
    )
    if evaluation.note is None:
        failure = _find_failure_of_undecodable_reply(
            reason, rules, is_wrong_format=wrong_format is not None
        )
        _set_verdict(evaluation, failure)
    return evaluation


def _list_calls_of_wrong_format(wrong_format: WrongFormat | None) -> DisplayCalls | None:
    """Return the calls that can be shown although they have the wrong format."""
    if wrong_format is None or not wrong_format.display_calls:
        return None
    return _replace_non_json_values(wrong_format.display_calls)


def _find_failure_of_undecodable_reply(
    reason: str, rules: CategoryRules, *, is_wrong_format: bool
) -> CallFailure | None:
    """Return the failure of a reply that cannot be decoded, or None if it passes."""
    # A reply that cannot be decoded counts as a reply without a call, so it passes irrelevance.
    if rules.check == "irrelevance":
        return None
    if rules.check == "relevance":
        message = f"no function is called: {reason}"
        return CallFailure(NO_CALL, function=None, argument=None, message=message)
    error = "decoder_wrong_output_format" if is_wrong_format else "decoder_failed"
    return CallFailure(f"ast_decoder:{error}", function=None, argument=None, message=reason)


def _replace_non_json_values(calls: DisplayCalls) -> DisplayCalls:
    """Convert values that JSON does not have, such as NaN and bytes, to text.

    Arguments that are no object become None.
    """
    if all(_has_json_arguments(arguments) for _, arguments in calls):
        return calls
    converted: list[tuple[str, dict[str, Any] | None]] = []
    for name, arguments in calls:
        if type(arguments) is dict:
            converted.append((name, to_plain_json(arguments)))
        else:
            converted.append((name, None))
    return converted


def _has_json_arguments(arguments: Any) -> bool:
    """Whether the arguments of a call can be shown unchanged, as JSON."""
    return arguments is None or (type(arguments) is dict and _is_json_value(arguments))


def _is_json_value(value: Any, depth: int = 0) -> bool:
    """Whether a value is a text, a finite number, a boolean, null, or a list or object of such
    values.

    A value that is nested too deeply counts as none.
    """
    if type(value) in JSON_SCALARS:
        return True
    if type(value) is float:
        return isfinite(value)
    if depth > MAX_VALUE_DEPTH:
        return False
    if type(value) is dict:
        has_text_keys = all(type(key) is str for key in value)
        return has_text_keys and all(_is_json_value(field, depth + 1) for field in value.values())
    if type(value) is list or type(value) is tuple:
        return all(_is_json_value(element, depth + 1) for element in value)
    return False


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
    """Evaluate the reply in a record, or return the evaluation of an equal reply."""
    key = _make_reply_cache_key(record, settings)
    if key is None:
        return _evaluate_new_record(item, record, settings)

    reply: EvaluatedReply | None = item.reply_cache.get(key)
    if reply is None:
        reply = _evaluate_new_record(item, record, settings)
        if len(item.reply_cache) < MAX_CACHED:
            reply.is_cached = True
            item.reply_cache[key] = reply
    return reply


def _make_reply_cache_key(record: dict[str, Any], settings: EvaluationSettings) -> Hashable | None:
    """Return a key, equal for equal replies; None for a reply that is not cached."""
    # Records with reasoning or with a configuration differ in more than the reply, so that an
    # equal reply may have another result.
    if record.get("reasoning_content") or settings.config is not None:
        return None

    result = record["result"]
    text = result if type(result) is str else _serialize_for_cache(result)
    if text is None or len(text) > MAX_CACHE_KEY:
        return None
    return settings.decoder.name, settings.decoder.stringifies_arguments, text


def _serialize_for_cache(result: Any) -> bytes | None:
    """Return a result as JSON, by which equal results are found in a cache. None if it may be
    ambiguous.
    """
    try:
        # A copy, because orjson's own bytes occupy kilobytes.
        text = bytes(memoryview(orjson.dumps(result)))
    except TypeError:
        return None
    # orjson writes both None and NaN as null, so that different results would look equal.
    if b"null" in text:
        return None
    return text


def _evaluate_new_record(
    item: DatasetItem, record: dict[str, Any], settings: EvaluationSettings
) -> EvaluatedReply:
    """Evaluate the reply in a result record, and prepare what all items with this reply share:
    messages, predicted calls and pairs.
    """
    result = record["result"]
    # Replies with equal calls share one evaluation, from the item's cache. The first of these
    # replies prepares the calls and pairs for all.
    evaluation = evaluate_result(result, item, settings)
    if evaluation.predicted is None:
        evaluation.predicted = SharedList(_make_predicted_calls(evaluation, result, item))
        pairs = _pair_predicted_calls(evaluation, evaluation.predicted, item, settings)
        evaluation.pairs = SharedList(pairs)

    reply = EvaluatedReply(
        answer_hash(result),
        evaluation=evaluation,
        messages=make_single_turn_messages(record, item.opening_messages),
        predicted=evaluation.predicted,
        pairs=evaluation.pairs,
    )
    # A reply without decoded calls can still contain a call in a form that the decoder cannot read.
    if not evaluation.calls and raw_calls.holds_call_text(result, function_names(item.functions)):
        reply.is_undecoded = True
        _add_undecoded_call(reply, result, item, settings)
    return reply


def _pair_predicted_calls(
    evaluation: Evaluation, predicted: list[Call], item: DatasetItem, settings: EvaluationSettings
) -> list[CallPair]:
    """Pair the predicted calls of an item with its golden calls, to show them side by side."""
    if not item.golden_calls and not predicted:
        return []
    is_failing = evaluation.valid is False
    rules = settings.find_rules(item)
    return pair_calls(item, predicted, rules, with_schema_violations=is_failing)


def _add_undecoded_call(
    reply: EvaluatedReply, result: Any, item: DatasetItem, settings: EvaluationSettings
) -> None:
    """Add the text of a reply as a call that could not be decoded, if no call was decoded from the
    reply.

    Replies with equal calls share one evaluation. The added call belongs only to this reply,
    because other replies without decoded calls have other texts.
    """
    if reply.predicted:
        return
    reason = reply.evaluation.decode_error
    if not reason:
        reason = f"the decoder {settings.decoder.name} reads no call in this reply"
    reply.predicted = [_make_undecoded_call(result, reason)]
    reply.pairs = _pair_predicted_calls(reply.evaluation, reply.predicted, item, settings)


def _make_undecoded_call(result: Any, reason: str | None) -> Call:
    """Return a call that contains a whole reply as raw text."""
    return Call(
        "predicted",
        "",
        arguments=None,
        raw=convert_content_to_text(result),
        decode_error=reason,
    )


def _make_predicted_calls(evaluation: Evaluation, result: Any, item: DatasetItem) -> list[Call]:
    """Return the decoded calls of a reply, or one undecoded call if the reply is probably meant
    as a call.
    """
    if evaluation.calls:
        calls = []
        for index, (name, arguments) in enumerate(evaluation.calls):
            call = Call("predicted", name, arguments=arguments, index=index)
            if arguments is None:
                call.decode_error = evaluation.decode_error
            calls.append(call)
        return calls
    if evaluation.calls is None and _is_probable_call(result, item):
        return [_make_undecoded_call(result, evaluation.decode_error)]
    return []


def _is_probable_call(result: Any, item: DatasetItem) -> bool:
    """Whether a reply that cannot be decoded is meant as a call: a text with the name of an
    available function, or a value that is not only texts.
    """
    if isinstance(result, str):
        return has_function_name(result, item)
    if not isinstance(result, (list, dict)):
        return False
    return any(not isinstance(part, str) for part in result)
