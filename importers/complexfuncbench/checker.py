"""Determine a verdict on every call of a ComplexFuncBench sample.

The verdict on a call comes from the evaluator's log or, if the log does not have it, from the
result record and the rules below. The evaluator compares a predicted call with a golden call in
several steps, called tiers:

* `format`: Is the call valid?
* `rule`: Are the two calls equal?
* `exact`: Are the values of the parameters in `EXACT_PARAMETERS` equal?
* `response`: Does the API give the same response to both calls?
* `judge`: Does an LLM accept the predicted call?

A verdict states the tier that decided it. Three other values are possible: `failed` if no tier
accepted the call and the judge did not reply, `unpaired` if the evaluator compared the call with no
golden call, and `unknown` if no file states the tier.

Source of the rules: the modules `utils/utils.py` and `compare` of the release (commit c37b284).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object
from fcreview.importers.complexfuncbench.log import (
    EvaluationLog,
    JsonCall,
    LoggedComparison,
    LoggedTurn,
)
from fcreview.matching.align import align_calls
from fcreview.model.address import call_address
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, CallPair, Message

OPTIONAL_FUNCTIONS = frozenset(
    {
        "Location_to_Lat_Long",
        "Search_Hotel_Destination",
        "Search_Attraction_Location",
        "Search_Car_Location",
        "Search_Flight_Location",
        "Taxi_Search_Location",
    }
)
"""Functions that the model may call any number of times, or not at all."""

GENERIC_REPLY = {
    "api_status": True,
    "content": "There is a problem with your api call, please double-check for possible problems.",
}
"""Reply that the evaluator gives the model if it does not accept a call."""

_EXACT_PARAMETERS_TEXT = """
Search_Hotels_By_Coordinates: arrival_date departure_date latitude longitude currency_code languagecode
Get_Room_List_With_Availability Get_Room_List Get_Hotel_Details: hotel_id arrival_date departure_date
    currency_code languagecode
Get_Room_Availability: currency_code hotel_id
Get_Question_And_Answer Get_Popular_Attraction_Near_By Get_Hotel_Reviews(Tips)_Sort_Option
    Get_Hotel_Review_Scores Get_Hotel_Reviews_Filter_Metadata Property_Children_Policies Get_Hotel_Policies
    Get_Description_And_Info Payment_features_of_the_Hotel: languagecode hotel_id
Get_Hotel_Reviews(Tips): languagecode hotel_id sort_option_id
Get_Nearby_Cities: languagecode longitude latitude
Get_Filter: search_type languagecode dest_id departure_date arrival_date categories_filter
Get_Sort_By: search_type departure_date languagecode dest_id arrival_date
Search_Hotels: currency_code languagecode search_type arrival_date dest_id departure_date categories_filter
    sort_by
Search_Car_Rentals: currency_code languagecode pick_up_longitude drop_off_time drop_off_latitude drop_off_date
    pick_up_time pick_up_date drop_off_longitude
Booking_Summary Vehicle_Supplier_Ratings Vehicle_Details Vehicle_Supplier_Details Get_Packages: currency_code
    languagecode search_key vehicle_id
Vehicle_Supplier_Review: languagecode vehicle_id search_key
Search_Car_Location Search_Attraction_Location Search_Flight_Location Taxi_Search_Location: languagecode
Get_Attraction_Details: currency_code languagecode slug
Search_Attractions: currency_code languagecode endDate startDate id
Get_Availability_Calendar: languagecode id
Get_Availability: currency_code languagecode slug date
Get_Min_Price_Multi_Stops: currency_code
Get_Flight_Details: currency_code token
Get_Seat_Map: currency_code offerToken
Get_Min_Price: currency_code fromId returnDate toId departDate
Search_Flights_Multi_Stops: currency_code sort
Search_Flights: currency_code toId fromId returnDate departDate sort
Search_Taxi: currency_code languagecode drop_off_place_id pick_up_place_id pick_up_time pick_up_date
Search_Hotel_Destination Location_to_Lat_Long Get_Exchange_Rates Get_Currency Get_Languages:
"""
"""Each line has function names, a colon, and parameters of these functions.

An indented line continues the last one.
"""

EXACT_PARAMETERS: dict[str, frozenset[str]] = {
    function: frozenset(parameters.split())
    for functions, _, parameters in (
        line.partition(":")
        for line in _EXACT_PARAMETERS_TEXT.replace("\n    ", " ").strip().splitlines()
    )
    for function in functions.split()
}
"""Function name -> parameters whose values must be equal.

If one of them differs, the call fails without the judge.
"""


class CallError(NamedTuple):
    """Reason why a predicted call does not match a golden call."""

    error_type: str
    """Error type of the evaluator."""
    message: str
    parameter: str | None = None
    """Name of the parameter that causes the error."""


def is_equal_value(parameter: str, predicted: Any, golden: Any) -> bool:
    """Return whether two values of a parameter are equal.

    The order of filters in `categories_filter` is ignored.
    """
    if parameter == "categories_filter" and isinstance(predicted, str) and isinstance(golden, str):
        filters, golden_filters = (
            {name.strip() for name in text.split(",")} for text in (predicted, golden)
        )
        return filters == golden_filters
    return bool(predicted == golden)


def is_equal_call(predicted: dict[str, Any], golden: dict[str, Any]) -> bool:
    """Return whether two calls have the same function name, parameter names and values."""
    predicted_arguments, golden_arguments = (
        predicted.get("arguments") or {},
        golden.get("arguments") or {},
    )
    if (
        predicted.get("name") != golden.get("name")
        or predicted_arguments.keys() != golden_arguments.keys()
    ):
        return False
    return all(
        is_equal_value(key, predicted_arguments[key], golden_arguments[key])
        for key in golden_arguments
    )


def find_exact_parameter_error(
    predicted: dict[str, Any], golden: dict[str, Any]
) -> CallError | None:
    """Return the first error that the tier `exact` finds, or None.

    Without an error, a later tier decides.
    """
    if predicted.get("name") != golden.get("name"):
        return CallError(
            "func_error", f"the model calls {predicted.get('name')} instead of {golden.get('name')}"
        )
    exact_parameters = EXACT_PARAMETERS.get(golden["name"], frozenset())
    predicted_arguments, golden_arguments = (
        predicted.get("arguments") or {},
        golden.get("arguments") or {},
    )
    for key in sorted(golden_arguments):
        if key in exact_parameters:
            if key not in predicted_arguments:
                return CallError(
                    "param_missing", message=f"the argument {key} is missing", parameter=key
                )
            if not is_equal_value(key, predicted_arguments[key], golden_arguments[key]):
                return CallError(
                    "value_error",
                    message=f"the value of {key} must be equal to the golden value",
                    parameter=key,
                )
    return None


def find_call_error(predicted: dict[str, Any], golden: dict[str, Any]) -> CallError:
    """Return the error of a rejected call.

    It concerns the alphabetically first golden argument that differs or, if none differs, an
    unexpected argument.
    """
    predicted_arguments, golden_arguments = (
        predicted.get("arguments") or {},
        golden.get("arguments") or {},
    )
    for key in sorted(golden_arguments):
        if key not in predicted_arguments:
            return CallError(
                "param_missing", message=f"the argument {key} is missing", parameter=key
            )
        if predicted_arguments[key] != golden_arguments[key]:
            return CallError(
                "value_error",
                message=f"the value of {key} is not equal to the golden value",
                parameter=key,
            )
    extra = next((key for key in predicted_arguments if key not in golden_arguments), None)
    return CallError(
        "param_hallucination",
        message=f"the golden call does not have the argument {extra}",
        parameter=extra,
    )


_PYTHON_TYPES = {"string": (str,), "number": (int, float), "boolean": (bool,), "array": (list,)}


def find_format_error(call: dict[str, Any], function_docs: list[dict[str, Any]]) -> str | None:
    """Return the first format error of a call, or None.

    As in the evaluator, a number may be a boolean.
    """
    function_doc = next((f for f in function_docs if f.get("name") == call.get("name")), None)
    if function_doc is None:
        return f"{call.get('name')} is not an available function"
    declared = read_declared_parameters(function_doc, strict=True)
    properties, given = declared.properties or {}, call.get("arguments") or {}
    if missing := [name for name in declared.required or () if name not in given]:
        return f"the call does not have the required parameters {', '.join(missing)}"
    if unknown := [name for name in given if name not in properties]:
        return f"the function does not have the parameters {', '.join(unknown)}"
    for name, value in given.items():
        type_name = (properties[name] or {}).get("type")
        if type_name in _PYTHON_TYPES and not isinstance(value, _PYTHON_TYPES[type_name]):
            return f"{name} must be of type {type_name}"
    return None


@dataclass(slots=True)
class GoldenPath:
    """The golden calls of a sample, in order, with the recorded replies to them."""

    calls: list[Call] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)
    """Recorded reply to each call, or None if the record has no reply."""
    steps: int = 0
    """Number of steps with calls."""


def parse_golden_path(record: dict[str, Any] | None) -> GoldenPath:
    """Read the golden path from a dataset record. Without a record, the path is empty."""
    path = GoldenPath()
    # If `conversations` is not a list, this raises an error, which `fill_safely` reports.
    for entry in map(as_object, (record or {}).get("conversations") or []):
        if entry.get("function_call"):
            for call in entry["function_call"]:
                arguments = as_object(as_object(call).get("arguments"))
                accepted = {name: AcceptedValues([value]) for name, value in arguments.items()}
                path.calls.append(
                    Call(
                        "golden",
                        str(call.get("name")),
                        arguments=accepted,
                        turn=0,
                        step=path.steps,
                        index=len(path.calls),
                    )
                )
            path.steps += 1
        elif entry.get("role") == "observation" and isinstance(entry.get("content"), list):
            path.observations += entry["content"]
    path.observations += [None] * (len(path.calls) - len(path.observations))
    return path


@dataclass(slots=True)
class PredictedPath:
    """The messages and the predicted calls of a sample."""

    messages: list[Message] = field(default_factory=list)
    steps: list[list[Call]] = field(default_factory=list)
    """Predicted calls of each step."""
    replies: list[list[Any]] = field(default_factory=list)
    """Replies to the calls of each step."""


def parse_predicted_path(record: dict[str, Any]) -> PredictedPath:
    """Read the predicted path from `gen_convs` of a result record.

    Some runners write the replies of a step as one list, others write one JSON text for each call.
    The GLM runner repeats the system prompt before every model reply, but the predicted path
    contains it once.
    """
    path = PredictedPath()
    n_system_prompts = 0
    for entry in record.get("gen_convs") or []:
        if not isinstance(entry, dict):
            continue
        role, content = entry.get("role"), entry.get("content")
        step = len(path.steps) - 1
        if function_calls := entry.get("function_call"):
            step_calls = function_calls if isinstance(function_calls, list) else [function_calls]
            numbered = enumerate(step_calls, sum(map(len, path.steps)))
            path.steps.append(
                [_make_predicted_call(call, step + 1, index) for index, call in numbered]
            )
            path.replies.append([])
        elif role == "observation":
            replies = content if isinstance(content, list) else [_parse_json_if_text(content)]
            if path.replies:
                path.replies[-1] += replies
            path.messages += [
                Message(0, max(step, 0), role="tool", content=convert_to_text(reply))
                for reply in replies
            ]
        elif role == "system":
            n_system_prompts += 1
            path.messages += (
                [Message(0, -1, role="system", content=convert_to_text(content))]
                if n_system_prompts == 1
                else []
            )
        elif role == "user":
            path.messages.append(
                Message(0, -1 if step < 0 else step, role="user", content=convert_to_text(content))
            )
        elif content is not None:
            path.messages.append(
                Message(0, step + 1, role="assistant", content=convert_to_text(content))
            )
    if n_system_prompts > 1:
        text = f"The record contains {n_system_prompts} copies of the system prompt."
        path.messages.append(Message(0, -1, role="log", content=text))
    return path


def _make_predicted_call(call: Any, step: int, index: int) -> Call:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return Call(
            "predicted",
            "",
            arguments=None,
            turn=0,
            step=step,
            index=index,
            raw=convert_to_text(call),
            decode_error="the value is not a call",
        )
    arguments = _parse_json_if_text(call.get("arguments"))
    if not isinstance(arguments, dict):
        error = "the arguments are not a JSON object"
        return Call(
            "predicted",
            call["name"],
            arguments=None,
            turn=0,
            step=step,
            index=index,
            raw=convert_to_text(call),
            decode_error=error,
        )
    return Call("predicted", call["name"], arguments=arguments, turn=0, step=step, index=index)


def _parse_json_if_text(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def convert_to_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@dataclass(slots=True)
class CallVerdict:
    """The evaluator's verdict on a predicted call."""

    predicted: Call
    golden: Call | None
    tier: str
    """Tier that decided the verdict. The module docstring lists the tiers."""
    ok: bool | None
    """Whether the evaluator accepted the call, or None if it did not judge the call or no file
    states the verdict.
    """
    error_type: str | None = None
    rationale: str | None = None
    is_golden_guessed: bool = False
    """Whether fcreview chose `golden`, the most similar golden call, because no file states it."""


def derive_call_verdicts(
    predicted_path: PredictedPath,
    golden_path: GoldenPath,
    function_docs: list[dict[str, Any]],
    log: EvaluationLog | None,
) -> list[CallVerdict]:
    """Return a verdict on each predicted call, in the order of the calls."""
    turns: list[LoggedTurn | None] = list(log.turns) if log else []
    verdicts: list[CallVerdict] = []
    accepted_indexes: set[int] = set()
    for step, calls in enumerate(predicted_path.steps):
        turn = turns[step] if step < len(turns) else None
        replies = predicted_path.replies[step]
        comparisons = list(turn.comparisons) if turn else []
        for position, call in enumerate(calls):
            reply = replies[position] if position < len(replies) else None
            verdicts.append(
                _find_logged_verdict(call, comparisons, golden_path, accepted_indexes)
                or _infer_verdict_from_reply(
                    call, reply, golden_path, function_docs, accepted_indexes, log is not None
                )
            )
        accepted = (each.golden for each in verdicts if each.ok and each.golden is not None)
        accepted_indexes.update(golden.index for golden in accepted)
    return _guess_golden_calls(verdicts, golden_path, accepted_indexes)


def call_to_json(call: Call) -> JsonCall:
    arguments = call.arguments or {}
    if call.side == "golden":
        arguments = {name: accepted.any_of[0] for name, accepted in arguments.items()}
    return {"name": call.name, "arguments": arguments}


def _find_logged_verdict(
    call: Call,
    comparisons: list[LoggedComparison],
    golden_path: GoldenPath,
    accepted_indexes: set[int],
) -> CallVerdict | None:
    for comparison in comparisons:
        if comparison.predicted == call_to_json(call):
            comparisons.remove(comparison)
            equal_calls = [
                each for each in golden_path.calls if call_to_json(each) == comparison.golden
            ]
            golden = _choose_unused_golden_call(equal_calls, accepted_indexes)
            reason = (
                comparison.message
                if comparison.judge is None
                else str(comparison.judge.get("reason"))
            )
            error_type = comparison.error_type
            if not comparison.accepted and error_type is None and comparison.golden is not None:
                error_type = find_call_error(call_to_json(call), comparison.golden).error_type
            return CallVerdict(
                call,
                golden=golden,
                tier=comparison.tier,
                ok=comparison.accepted,
                error_type=error_type,
                rationale=reason,
            )
    return None


def _choose_unused_golden_call(golden_calls: list[Call], accepted_indexes: set[int]) -> Call | None:
    first = next(iter(golden_calls), None)
    return next((call for call in golden_calls if call.index not in accepted_indexes), first)


def _infer_verdict_from_reply(
    call: Call,
    reply: Any,
    golden_path: GoldenPath,
    function_docs: list[JsonCall],
    accepted_indexes: set[int],
    has_log: bool,
) -> CallVerdict:
    if isinstance(reply, dict) and set(reply) == {"error"}:
        return CallVerdict(
            call,
            golden=None,
            tier="format",
            ok=False,
            error_type="format_error",
            rationale=str(reply["error"]),
        )
    if reply == GENERIC_REPLY:
        if format_error := find_format_error(call_to_json(call), function_docs):
            return CallVerdict(
                call,
                golden=None,
                tier="format",
                ok=False,
                error_type="format_error",
                rationale=format_error,
            )
        return (
            CallVerdict(call, golden=None, tier="unpaired", ok=None)
            if has_log
            else CallVerdict(call, golden=None, tier="unknown", ok=False)
        )
    if reply is not None:
        equal_replies = [
            each for each in golden_path.calls if golden_path.observations[each.index] == reply
        ]
        if (golden_call := _choose_unused_golden_call(equal_replies, accepted_indexes)) is not None:
            tier = (
                "rule"
                if is_equal_call(call_to_json(call), call_to_json(golden_call))
                else "unknown"
            )
            return CallVerdict(call, golden=golden_call, tier=tier, ok=True)
    if call.arguments is None:
        return CallVerdict(
            call,
            golden=None,
            tier="format",
            ok=False,
            error_type="decode_error",
            rationale=call.decode_error,
        )
    for golden in golden_path.calls:
        if golden.index not in accepted_indexes and is_equal_call(
            call_to_json(call), call_to_json(golden)
        ):
            return CallVerdict(call, golden=golden, tier="rule", ok=True)
    return CallVerdict(call, golden=None, tier="unpaired" if has_log else "unknown", ok=None)


def _guess_golden_calls(
    verdicts: list[CallVerdict], golden_path: GoldenPath, accepted_indexes: set[int]
) -> list[CallVerdict]:
    """Set the golden call of each verdict without one to the most similar unused golden call of
    the same function.
    """
    unpaired = [
        each for each in verdicts if each.golden is None and each.predicted.arguments is not None
    ]
    partner_indexes = {each.golden.index for each in verdicts if each.golden is not None}
    remaining = [
        call for call in golden_path.calls if call.index not in accepted_indexes | partner_indexes
    ]
    by_index = {each.predicted.index: each for each in unpaired}
    for pair in align_calls(remaining, [each.predicted for each in unpaired]):
        if pair.golden is None or pair.predicted is None:
            continue
        verdict, golden = by_index[pair.predicted], golden_path.calls[pair.golden]
        if golden.name == verdict.predicted.name:
            verdict.golden, verdict.is_golden_guessed = golden, True
            error = find_exact_parameter_error(
                call_to_json(verdict.predicted), call_to_json(golden)
            )
            if verdict.tier == "unknown" and error:
                verdict.tier, verdict.error_type, verdict.rationale = (
                    "exact",
                    error.error_type,
                    error.message,
                )
    return verdicts


def is_optional_call(call: Call) -> bool:
    """Return whether a golden call is optional: the model may omit or repeat it."""
    if call.name in OPTIONAL_FUNCTIONS:
        return True
    search_type = (call.arguments or {}).get("search_type")
    return (
        call.name == "Search_Hotels" and search_type is not None and search_type.any_of == ["hotel"]
    )


def find_missing_golden_calls(path: GoldenPath, verdicts: Sequence[CallVerdict]) -> list[Call]:
    """Return the golden calls that the model had to make, but for which the evaluator accepted
    no predicted call.
    """
    covered = {each.golden.index for each in verdicts if each.ok and each.golden is not None}
    return [call for call in path.calls if call.index not in covered and not is_optional_call(call)]


def index_verdicts_by_address(
    pairs: Sequence[CallPair], verdicts: Sequence[CallVerdict]
) -> dict[str, CallVerdict]:
    by_predicted = {verdict.predicted.index: verdict for verdict in verdicts}
    return {
        call_address(0, position): by_predicted[pair.predicted]
        for position, pair in enumerate(pairs)
        if pair.predicted in by_predicted
    }
