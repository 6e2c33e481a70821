"""Decode the replies of format-sensitivity runs. An item's id states which of four formats the prompt asked for."""

from __future__ import annotations

import ast
import re
from typing import Any
from xml.etree import ElementTree

from fcreview.importers.bfcl.decoders.base import MAX_TEXT, Calls, check_size, find_blocks, parse_json, validate_calls
from fcreview.importers.bfcl.decoders.python_calls import clean_prompt_text, parse_calls
from fcreview.importers.common.records import Undecodable

LITERAL_TYPES = {"array", "tuple", "object", "dict"}
"""XML parameter types whose value is a Python literal."""


def parse_config(config: str) -> dict[str, str]:
    """Parse `ret_fmt=json&tool_call_tag=True&...` into a mapping."""
    return dict(part.split("=", 1) for part in config.split("&") if "=" in part)


def decode_format_sensitivity(text: str, config: str) -> Calls:
    """Decode a reply to a prompt with this configuration. Raises Undecodable and WrongFormat."""
    settings = parse_config(config)
    text = clean_prompt_text(text)
    if settings.get("tool_call_tag") == "True":
        inside = find_blocks(text, "<TOOLCALL>", "</TOOLCALL>")
        if not inside:
            raise Undecodable("no <TOOLCALL>...</TOOLCALL> in the text")
        text = inside[0].strip()
    match settings.get("ret_fmt", "python"):
        case "json":
            return decode_json_format(text)
        case "verbose_xml":
            return decode_xml_format(text, verbose=True)
        case "concise_xml":
            return decode_xml_format(text, verbose=False)
    return parse_calls(text)


OBJECT_LIST_START = re.compile(r"\[\s*\{")
OBJECT_LIST_END = re.compile(r"\}\s*\]")


def decode_json_format(text: str) -> Calls:
    """Decode `[{"function": ..., "parameters": {...}}]` anywhere in the text. Text without JSON contains no call."""
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end:
        text = text[start : end + 1]
    try:
        found = parse_json(_find_object_list(text))
    except Undecodable:
        return []
    if not isinstance(found, (list, dict, str)):
        raise Undecodable("JSON, but not a list of calls")
    return validate_calls(_call_from_object(each) for each in found if isinstance(each, dict))


def _find_object_list(text: str) -> str:
    """Return the text from the first `[{` to the next `}]`, even if that is inside arguments, as in BFCL's code."""
    start = OBJECT_LIST_START.search(text)
    end = OBJECT_LIST_END.search(text, start.end()) if start else None
    return text[start.start() : end.end()] if start and end else text


def _call_from_object(found: dict[str, Any]) -> tuple[Any, Any]:
    if "function" not in found or "parameters" not in found:
        raise Undecodable("an object without function or parameters")
    return found["function"], found["parameters"]


def decode_xml_format(text: str, *, verbose: bool) -> Calls:
    """Decode `<functions><function name=...>` with typed parameters, whose values are attributes if `verbose`."""
    inside = find_blocks(text, "<functions>", "</functions>")
    if not inside:
        raise Undecodable("no <functions>...</functions> in the text")
    xml = f"<functions>{inside[0]}</functions>"
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise Undecodable("XML with declarations is not parsed")
    if len(xml) > MAX_TEXT:
        raise Undecodable("the XML is too long to be decoded")
    try:
        root = ElementTree.fromstring(xml)  # noqa: S314  the dangerous XML declarations are rejected above
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise Undecodable(f"not XML: {error}") from None
    return [_call_from_element(function, verbose) for function in root.findall("function")]


def _call_from_element(function: ElementTree.Element, verbose: bool) -> tuple[str, dict[str, Any]]:
    name = function.get("name")
    if name is None:
        raise Undecodable("a function without a name")
    holder = function.find("params") if verbose else None
    arguments: dict[str, Any] = {}
    for param in (function if holder is None else holder).findall("param"):
        key = param.get("name")
        if key is None:
            raise Undecodable(f"a parameter of {name} without a name")
        text = param.get("value", "") if verbose else (param.text or "").strip()
        arguments[key] = _convert_value(text, param.get("type", "string"))
    return name, arguments


def _convert_value(text: str, type_name: str) -> Any:
    try:
        if type_name == "integer":
            return int(text)
        if type_name == "float":
            return float(text)
        if type_name == "boolean":
            return text.lower() == "true"
        if type_name == "null":
            return None
        if type_name in LITERAL_TYPES:
            check_size(text)
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise Undecodable(f"{text[:80]} is not of type {type_name}: {error}") from None
    return text
