"""Apply ComplexFuncBench's rules for calls: the rule comparison, the exact-value gate, and the error types.

Source: the modules `utils/utils.py` and `compare` of the release (commit c37b284). This module restates the rules.
"""

from __future__ import annotations

from typing import Any

from fcreview.model.function_schema import read_declared_parameters

FREE_FUNCTIONS = frozenset({
    "Location_to_Lat_Long", "Search_Hotel_Destination", "Search_Attraction_Location", "Search_Car_Location",
    "Search_Flight_Location", "Taxi_Search_Location",
})  # fmt: skip
"""Optional functions: the model may call them any number of times, or not at all."""

GENERIC_REPLY = {
    "api_status": True,
    "content": "There is a problem with your api call, please double-check for possible problems.",
}
"""Reply that the model gets for any call that was not accepted."""

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
"""Lines of function names, a colon, and parameters of these functions. An indented line continues the line above."""

EXACT_PARAMETERS: dict[str, frozenset[str]] = {
    function: frozenset(parameters.split())
    for functions, _, parameters in (
        line.partition(":") for line in _EXACT_PARAMETERS_TEXT.replace("\n    ", " ").strip().splitlines()
    )
    for function in functions.split()
}
"""Function name -> parameters whose values must be equal. If one differs, the judge is not called."""

CallError = tuple[str, str, str | None]
"""(error type, message, name of the parameter or None)."""


def is_equal_value(parameter: str, predicted: Any, golden: Any) -> bool:
    """Return whether two values are equal. `categories_filter` is compared as a set of comma-separated parts."""
    if parameter == "categories_filter" and isinstance(predicted, str) and isinstance(golden, str):
        return _split_filters(predicted) == _split_filters(golden)
    return bool(predicted == golden)


def _split_filters(text: str) -> set[str]:
    return {part.strip() for part in text.split(",")}


def is_rule_match(predicted: dict[str, Any], golden: dict[str, Any]) -> bool:
    """Return whether two calls have the same function name, parameter names and values."""
    predicted_arguments, golden_arguments = predicted.get("arguments") or {}, golden.get("arguments") or {}
    if predicted.get("name") != golden.get("name") or predicted_arguments.keys() != golden_arguments.keys():
        return False
    return all(is_equal_value(key, predicted_arguments[key], golden_arguments[key]) for key in golden_arguments)


def check_exact_parameters(predicted: dict[str, Any], golden: dict[str, Any]) -> CallError | None:
    """Return the first error of the exact-value gate, or None if the response and judge tiers decide on the pair."""
    if predicted.get("name") != golden.get("name"):
        return "func_error", f"{predicted.get('name')} instead of {golden.get('name')}", None
    exact_parameters = EXACT_PARAMETERS.get(golden["name"], frozenset())
    predicted_arguments, golden_arguments = predicted.get("arguments") or {}, golden.get("arguments") or {}
    for key in sorted(golden_arguments):
        if key in exact_parameters:
            if key not in predicted_arguments:
                return "param_missing", f"{key} is missing", key
            if not is_equal_value(key, predicted_arguments[key], golden_arguments[key]):
                return "value_error", f"{key} must equal the golden value", key
    return None


def find_call_error(predicted: dict[str, Any], golden: dict[str, Any]) -> CallError:
    """Return the error of a rejected call: at the first golden argument by name that differs, or at an extra one."""
    predicted_arguments, golden_arguments = predicted.get("arguments") or {}, golden.get("arguments") or {}
    for key in sorted(golden_arguments):
        if key not in predicted_arguments:
            return "param_missing", f"{key} is missing", key
        if predicted_arguments[key] != golden_arguments[key]:
            return "value_error", f"{key} is not equal to the golden value", key
    extra = next((key for key in predicted_arguments if key not in golden_arguments), None)
    return "param_hallucination", f"{extra} is not in the golden call", extra


_PYTHON_TYPES = {"string": (str,), "number": (int, float), "boolean": (bool,), "array": (list,)}


def find_format_error(call: dict[str, Any], functions: list[dict[str, Any]]) -> str | None:
    """Return the first format error of a call, or None. A boolean passes as a number."""
    function_doc = next((f for f in functions if f.get("name") == call.get("name")), None)
    if function_doc is None:
        return f"{call.get('name')} is not an available function"
    declared = read_declared_parameters(function_doc, strict=True)
    properties, given = declared.properties or {}, call.get("arguments") or {}
    missing = [name for name in declared.required or () if name not in given]
    if missing:
        return f"missing required parameters: {', '.join(missing)}"
    unknown = [name for name in given if name not in properties]
    if unknown:
        return f"unknown parameters: {', '.join(unknown)}"
    for name, value in given.items():
        type_name = (properties[name] or {}).get("type")
        if type_name in _PYTHON_TYPES and not isinstance(value, _PYTHON_TYPES[type_name]):
            return f"{name} should be a {type_name}"
    return None
