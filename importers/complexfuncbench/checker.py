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
from itertools import chain
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, find_function_doc
from fcreview.importers.complexfuncbench.log import (
    EvaluationLog,
    JsonCall,
    LoggedComparison,
    LoggedTurn,
)
from fcreview.matching.align import align_calls
from fcreview.model.address import call_address
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import AcceptedValues, Call, CallPair, Message, Role

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
        return _split_filters(predicted) == _split_filters(golden)
    return bool(predicted == golden)


def _split_filters(text: str) -> set[str]:
    return {name.strip() for name in text.split(",")}


def is_equal_call(predicted: dict[str, Any], golden: dict[str, Any]) -> bool:
    """Return whether two calls have the same function name, parameter names and values."""
    if predicted.get("name") != golden.get("name"):
        return False
    predicted_arguments = predicted.get("arguments") or {}
    golden_arguments = golden.get("arguments") or {}
    if predicted_arguments.keys() != golden_arguments.keys():
        return False
    for name, value in golden_arguments.items():
        if not is_equal_value(name, predicted_arguments[name], value):
            return False
    return True


def find_exact_parameter_error(
    predicted: dict[str, Any], golden: dict[str, Any]
) -> CallError | None:
    """Return the first parameter that must equal the golden value and does not, or None.

    The evaluator has a list of such parameters for each function (`EXACT_PARAMETERS`). A call
    without such an error is not yet accepted. The responses of the API or a judge decide then.
    """
    if predicted.get("name") != golden.get("name"):
        message = f"the model calls {predicted.get('name')} instead of {golden.get('name')}"
        return CallError("func_error", message)

    exact_parameters = EXACT_PARAMETERS.get(golden["name"], frozenset())
    predicted_arguments = predicted.get("arguments") or {}
    golden_arguments = golden.get("arguments") or {}
    for name in sorted(golden_arguments):
        if name not in exact_parameters:
            continue
        if name not in predicted_arguments:
            return _make_missing_argument_error(name)
        if not is_equal_value(name, predicted_arguments[name], golden_arguments[name]):
            message = f"the value of {name} must be equal to the golden value"
            return CallError("value_error", message=message, parameter=name)
    return None


def _make_missing_argument_error(name: str) -> CallError:
    return CallError("param_missing", message=f"the argument {name} is missing", parameter=name)


def find_call_error(predicted: dict[str, Any], golden: dict[str, Any]) -> CallError:
    """Explain why the evaluator rejected a call, given the golden call that it compared.

    This is the first golden argument, in alphabetical order, that is missing or differs. If none
    does, it is an argument that the golden call does not have. The parameter is None if the calls
    are equal, which the evaluator accepts, so that only a damaged log has such a call.
    """
    predicted_arguments = predicted.get("arguments") or {}
    golden_arguments = golden.get("arguments") or {}
    for name in sorted(golden_arguments):
        if name not in predicted_arguments:
            return _make_missing_argument_error(name)
        if predicted_arguments[name] != golden_arguments[name]:
            message = f"the value of {name} is not equal to the golden value"
            return CallError("value_error", message=message, parameter=name)

    unexpected = [name for name in predicted_arguments if name not in golden_arguments]
    parameter = unexpected[0] if unexpected else None
    message = f"the golden call does not have the argument {parameter}"
    return CallError("param_hallucination", message=message, parameter=parameter)


_PYTHON_TYPES = {"string": (str,), "number": (int, float), "boolean": (bool,), "array": (list,)}


def find_format_error(call: dict[str, Any], function_docs: list[dict[str, Any]]) -> str | None:
    """Return the first reason why a call is not valid for its function, or None.

    The evaluator checks this before it compares the call with golden calls: the function must
    exist, required parameters must be present, all parameters must be declared, and the values must
    have the declared types. As in the evaluator, a number may be a boolean.
    """
    function_doc = find_function_doc(call.get("name"), function_docs)
    if function_doc is None:
        return f"{call.get('name')} is not an available function"
    declared = read_declared_parameters(function_doc, strict=True)
    properties = declared.properties or {}
    arguments = call.get("arguments") or {}

    missing = [name for name in declared.required or () if name not in arguments]
    if missing:
        return f"the call does not have the required parameters {', '.join(missing)}"
    unknown = [name for name in arguments if name not in properties]
    if unknown:
        return f"the function does not have the parameters {', '.join(unknown)}"

    for name, value in arguments.items():
        declared_type = (properties[name] or {}).get("type")
        # The evaluator does not check values of other types.
        if declared_type not in _PYTHON_TYPES:
            continue
        if not isinstance(value, _PYTHON_TYPES[declared_type]):
            return f"{name} must be of type {declared_type}"
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
    """Read the golden path of a sample: its golden calls in order, with the recorded replies.

    `record` is the sample's record in the dataset. Without one, the path is empty.
    """
    path = GoldenPath()
    # If `conversations` is not a list, this raises an error, which `fill_safely` reports.
    for entry in (record or {}).get("conversations") or []:
        message = as_object(entry)
        content = message.get("content")
        if message.get("function_call"):
            for call in message["function_call"]:
                path.calls.append(_make_golden_call(call, path.steps, len(path.calls)))
            path.steps += 1
        elif message.get("role") == "observation" and isinstance(content, list):
            path.observations += content

    # Each call has one reply. Calls whose reply is not recorded get None.
    n_missing_replies = len(path.calls) - len(path.observations)
    path.observations += [None] * n_missing_replies
    return path


def _make_golden_call(call: Any, step: int, index: int) -> Call:
    arguments = as_object(as_object(call).get("arguments"))
    accepted = {name: AcceptedValues([value]) for name, value in arguments.items()}
    name = str(call.get("name"))
    return Call("golden", name, arguments=accepted, turn=0, step=step, index=index)


@dataclass(slots=True)
class PredictedPath:
    """The messages and the predicted calls of a sample."""

    messages: list[Message] = field(default_factory=list)
    steps: list[list[Call]] = field(default_factory=list)
    """Predicted calls of each step."""
    replies: list[list[Any]] = field(default_factory=list)
    """Replies to the calls of each step."""

    @property
    def calls(self) -> list[Call]:
        return list(chain.from_iterable(self.steps))

    @property
    def last_step(self) -> int:
        """Number of the last step, from 0, or -1 before the first step."""
        return len(self.steps) - 1

    def add_step(self, function_calls: Any) -> None:
        """Add a step with its calls, or with a single call that is not in a list."""
        raw_calls = function_calls if isinstance(function_calls, list) else [function_calls]
        step = self.last_step + 1
        first_index = len(self.calls)
        calls = []
        for index, raw_call in enumerate(raw_calls, first_index):
            calls.append(_make_predicted_call(raw_call, step, index))
        self.steps.append(calls)
        self.replies.append([])

    def add_replies(self, content: Any) -> None:
        """Add replies to the calls of the last step.

        Some runners write the replies of a step as one list, others write one JSON text for each
        call.
        """
        replies = content if isinstance(content, list) else [_parse_json_if_text(content)]
        # The last list has the replies to the calls of the last step.
        if self.replies:
            self.replies[-1] += replies
        step = max(self.last_step, 0)
        for reply in replies:
            text = convert_to_text(reply)
            self.messages.append(Message(turn=0, step=step, role="tool", content=text))

    def add_message(self, role: Role, step: int, content: Any) -> None:
        self.messages.append(
            Message(turn=0, step=step, role=role, content=convert_to_text(content))
        )


def parse_predicted_path(record: dict[str, Any]) -> PredictedPath:
    """Read the conversation of a result record: messages, the model's calls and the replies to
    them.

    The runner for GLM models repeats the system prompt before every reply of the model. The path
    has it once, and a note with the number of copies.
    """
    path = PredictedPath()
    n_system_prompts = 0
    for entry in record.get("gen_convs") or []:
        if not isinstance(entry, dict):
            continue
        is_system_prompt = entry.get("role") == "system" and not entry.get("function_call")
        n_system_prompts += is_system_prompt
        is_copy = is_system_prompt and n_system_prompts > 1
        if not is_copy:
            _add_entry(path, entry)

    if n_system_prompts > 1:
        text = f"The record contains {n_system_prompts} copies of the system prompt."
        path.add_message("log", -1, text)
    return path


def _add_entry(path: PredictedPath, entry: dict[str, Any]) -> None:
    """Add an entry of the conversation in a result record to a path."""
    role = entry.get("role")
    content = entry.get("content")
    if entry.get("function_call"):
        path.add_step(entry["function_call"])
    elif role == "observation":
        path.add_replies(content)
    elif role == "system":
        path.add_message("system", -1, content)
    elif role == "user":
        # A text of the user belongs to the step before it, or to none (-1) at the beginning.
        path.add_message("user", path.last_step, content)
    elif content is not None:
        # A text of the model begins a step: it is the thought before calls, or the last reply.
        path.add_message("assistant", path.last_step + 1, content)


def _make_predicted_call(raw_call: Any, step: int, index: int) -> Call:
    """Convert a call of a result record. Its arguments are an object or JSON text."""
    call = Call("predicted", "", arguments=None, turn=0, step=step, index=index)
    if not isinstance(raw_call, dict) or not isinstance(raw_call.get("name"), str):
        call.raw = convert_to_text(raw_call)
        call.decode_error = "the value is not a call"
        return call

    call.name = raw_call["name"]
    arguments = _parse_json_if_text(raw_call.get("arguments"))
    if isinstance(arguments, dict):
        call.arguments = arguments
    else:
        call.raw = convert_to_text(raw_call)
        call.decode_error = "the arguments are not a JSON object"
    return call


def _parse_json_if_text(value: Any) -> Any:
    """Return the value of a JSON text. Another value or text is returned as it is."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
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
    """Return the evaluator's verdict on each predicted call, in the order of the calls.

    The log states the verdicts. What it does not state follows from the replies that the evaluator
    gave the model.

    Args:
        predicted_path: The calls of the model, step by step, with the replies.
        golden_path: The golden calls, with the recorded replies.
        function_docs: The documentation of the functions.
        log: The evaluator's log of the sample, if there is one.
    """
    finder = _VerdictFinder(golden_path, function_docs, has_log=log is not None)
    logged_turns: list[LoggedTurn] = list(log.turns) if log else []
    verdicts: list[CallVerdict] = []
    for step, calls in enumerate(predicted_path.steps):
        logged_turn = logged_turns[step] if step < len(logged_turns) else LoggedTurn()
        replies = predicted_path.replies[step]
        verdicts += finder.find_step_verdicts(calls, replies, logged_turn.comparisons)
    _set_guessed_golden_calls(verdicts, golden_path, finder.accepted_indexes)
    return verdicts


@dataclass(slots=True)
class _VerdictFinder:
    """Finds the verdicts on the calls of a sample, step by step."""

    golden_path: GoldenPath
    function_docs: list[JsonCall]
    has_log: bool
    accepted_indexes: set[int] = field(default_factory=set)
    """Indexes of the golden calls for which an earlier step has an accepted call."""

    def find_step_verdicts(
        self, calls: list[Call], replies: list[Any], comparisons: list[LoggedComparison]
    ) -> list[CallVerdict]:
        """Return the verdicts on the calls of one step.

        Args:
            calls: The calls.
            replies: The reply to each call. Replies at the end may be missing.
            comparisons: The comparisons of the step that the log states, each for one call. A call
                without a comparison is judged by its reply.
        """
        remaining_comparisons = list(comparisons)
        verdicts = []
        for position, call in enumerate(calls):
            comparison = find_comparison(call, remaining_comparisons)
            if comparison is not None:
                remaining_comparisons.remove(comparison)
                verdicts.append(self._convert_comparison(call, comparison))
            else:
                reply = replies[position] if position < len(replies) else None
                verdicts.append(self._infer_from_reply(call, reply))

        # Later steps cannot get the golden calls that this step has fulfilled.
        for verdict in verdicts:
            if verdict.ok and verdict.golden is not None:
                self.accepted_indexes.add(verdict.golden.index)
        return verdicts

    def _convert_comparison(self, call: Call, comparison: LoggedComparison) -> CallVerdict:
        """Convert a comparison in the evaluator's log to a verdict on the compared call.

        The log quotes the golden call. If several golden calls are equal to it, the first one without
        an accepted call is taken.
        """
        equal_golden_calls = []
        for golden_call in self.golden_path.calls:
            if call_to_json(golden_call) == comparison.golden:
                equal_golden_calls.append(golden_call)
        verdict = CallVerdict(
            call,
            golden=self._choose_unused(equal_golden_calls),
            tier=comparison.tier,
            ok=comparison.accepted,
            error_type=comparison.error_type,
            rationale=comparison.message,
        )
        if comparison.judge is not None:
            verdict.rationale = str(comparison.judge.get("reason"))

        # For calls that a judge rejected, the log has no error type.
        lacks_error_type = not comparison.accepted and comparison.error_type is None
        if lacks_error_type and comparison.golden is not None:
            error = find_call_error(call_to_json(call), comparison.golden)
            verdict.error_type = error.error_type
        return verdict

    def _infer_from_reply(self, call: Call, reply: Any) -> CallVerdict:
        """Infer the verdict on a call from the reply that the evaluator gave to the model.

        The evaluator simulates the API, and its reply shows what it thought of the call: an error for
        an invalid call, the recorded reply to a golden call for a call that it accepted in its place,
        and a generic reply for any other call.
        """
        if isinstance(reply, dict) and set(reply) == {"error"}:
            return _make_format_verdict(call, "format_error", str(reply["error"]))
        if reply == GENERIC_REPLY:
            return self._explain_generic_reply(call)
        golden_of_reply = None if reply is None else self._find_golden_call_with_reply(reply)
        if golden_of_reply is None:
            return self._infer_from_call(call)
        # If the calls differ, it is unknown by which comparison the call was accepted.
        is_equal = is_equal_call(call_to_json(call), call_to_json(golden_of_reply))
        tier = "rule" if is_equal else "unknown"
        return CallVerdict(call, golden=golden_of_reply, tier=tier, ok=True)

    def _infer_from_call(self, call: Call) -> CallVerdict:
        """Infer the verdict on a call whose reply is missing or shows nothing."""
        if call.arguments is None:
            return _make_format_verdict(call, "decode_error", call.decode_error)
        equal_golden_call = self._find_equal_unused_golden_call(call)
        if equal_golden_call is not None:
            return CallVerdict(call, golden=equal_golden_call, tier="rule", ok=True)
        # A log contains every comparison, so a call without one was not compared.
        tier = "unpaired" if self.has_log else "unknown"
        return CallVerdict(call, golden=None, tier=tier, ok=None)

    def _find_equal_unused_golden_call(self, call: Call) -> Call | None:
        """Return a golden call that equals a predicted one and has no accepted call yet.

        The evaluator accepts such a call for certain.
        """
        for golden_call in self.golden_path.calls:
            is_unused = golden_call.index not in self.accepted_indexes
            if is_unused and is_equal_call(call_to_json(call), call_to_json(golden_call)):
                return golden_call
        return None

    def _explain_generic_reply(self, call: Call) -> CallVerdict:
        """Return the verdict on a call that was not accepted. One runner also gives the generic
        reply for format errors.
        """
        format_error = find_format_error(call_to_json(call), self.function_docs)
        if format_error is not None:
            return _make_format_verdict(call, "format_error", format_error)
        if self.has_log:
            return CallVerdict(call, golden=None, tier="unpaired", ok=None)
        return CallVerdict(call, golden=None, tier="unknown", ok=False)

    def _find_golden_call_with_reply(self, reply: Any) -> Call | None:
        calls = []
        for golden_call in self.golden_path.calls:
            if self.golden_path.observations[golden_call.index] == reply:
                calls.append(golden_call)
        return self._choose_unused(calls)

    def _choose_unused(self, golden_calls: list[Call]) -> Call | None:
        """Return the first golden call without an accepted call, else the first one."""
        for golden_call in golden_calls:
            if golden_call.index not in self.accepted_indexes:
                return golden_call
        return golden_calls[0] if golden_calls else None


def find_comparison(call: Call, comparisons: Sequence[LoggedComparison]) -> LoggedComparison | None:
    """Return the first comparison of a predicted call, or None."""
    json_call = call_to_json(call)
    for comparison in comparisons:
        if comparison.predicted == json_call:
            return comparison
    return None


def _make_format_verdict(call: Call, error_type: str, rationale: str | None) -> CallVerdict:
    """Return the verdict on a call that fails, because its format is wrong."""
    return CallVerdict(
        call, golden=None, tier="format", ok=False, error_type=error_type, rationale=rationale
    )


def call_to_json(call: Call) -> JsonCall:
    arguments = call.arguments or {}
    if call.side == "golden":
        arguments = {name: accepted.any_of[0] for name, accepted in arguments.items()}
    return {"name": call.name, "arguments": arguments}


def _set_guessed_golden_calls(
    verdicts: list[CallVerdict], golden_path: GoldenPath, accepted_indexes: set[int]
) -> None:
    """Give each verdict without a golden call the most similar golden call of the same function, so
    that reviewers see what differs.

    Golden calls that another verdict has are not used.

    Args:
        verdicts: The verdicts on the predicted calls. Those without a golden call are changed.
        golden_path: The golden calls.
        accepted_indexes: The indexes of the golden calls that have an accepted call.
    """
    used_indexes = set(accepted_indexes)
    verdict_by_unpaired_call: dict[int, CallVerdict] = {}
    for verdict in verdicts:
        if verdict.golden is not None:
            used_indexes.add(verdict.golden.index)
        elif verdict.predicted.arguments is not None:
            verdict_by_unpaired_call[verdict.predicted.index] = verdict

    unused_golden = [call for call in golden_path.calls if call.index not in used_indexes]
    unpaired_calls = [verdict.predicted for verdict in verdict_by_unpaired_call.values()]
    # A pair names its two calls by `Call.index`, the position among all golden or predicted calls.
    for pair in align_calls(unused_golden, unpaired_calls):
        if pair.golden is None or pair.predicted is None:
            continue
        verdict = verdict_by_unpaired_call[pair.predicted]
        golden = golden_path.calls[pair.golden]
        if golden.name == verdict.predicted.name:
            _set_guessed_golden_call(verdict, golden)


def _set_guessed_golden_call(verdict: CallVerdict, golden: Call) -> None:
    """Set a guessed golden call and, if the evaluator gave no reason, the reason why the call
    differs from it.
    """
    verdict.golden = golden
    verdict.is_golden_guessed = True
    if verdict.tier != "unknown":
        return
    error = find_exact_parameter_error(call_to_json(verdict.predicted), call_to_json(golden))
    if error is not None:
        verdict.tier = "exact"
        verdict.error_type = error.error_type
        verdict.rationale = error.message


def is_optional_call(call: Call) -> bool:
    """Return whether a golden call is optional: the model may omit or repeat it.

    Besides the optional functions, this is `Search_Hotels` with the search type `hotel`.
    """
    if call.name in OPTIONAL_FUNCTIONS:
        return True
    if call.name != "Search_Hotels":
        return False
    search_type = (call.arguments or {}).get("search_type")
    return search_type is not None and search_type.any_of == ["hotel"]


def find_missing_golden_calls(path: GoldenPath, verdicts: Sequence[CallVerdict]) -> list[Call]:
    """Return the golden calls that the model had to make, but for which the evaluator accepted
    no predicted call.
    """
    covered_indexes = set()
    for verdict in verdicts:
        if verdict.ok and verdict.golden is not None:
            covered_indexes.add(verdict.golden.index)
    missing = [call for call in path.calls if call.index not in covered_indexes]
    return [call for call in missing if not is_optional_call(call)]


def index_verdicts_by_address(
    pairs: Sequence[CallPair], verdicts: Sequence[CallVerdict]
) -> dict[str, CallVerdict]:
    """Return address of a pair -> verdict on its predicted call."""
    verdict_by_call = {verdict.predicted.index: verdict for verdict in verdicts}
    verdict_by_address = {}
    for position, pair in enumerate(pairs):
        if pair.predicted in verdict_by_call:
            verdict_by_address[call_address(0, position)] = verdict_by_call[pair.predicted]
    return verdict_by_address
