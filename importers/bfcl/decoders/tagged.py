"""Decode calls between tags or on separate lines, and the replies of format-sensitivity runs."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, Any

from fcreview.importers.bfcl.decoders.base import (
    Calls,
    DecoderContext,
    WrongFormat,
    find_blocks,
    parse_json,
    require_text,
    validate_calls,
)
from fcreview.importers.bfcl.decoders.json_calls import read_json_call, read_json_calls
from fcreview.importers.bfcl.decoders.python_calls import clean_prompt_text, parse_calls
from fcreview.importers.common.python_syntax import MAX_TEXT, check_text_size, read_call
from fcreview.importers.common.records import Undecodable

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

KEY = re.compile(r"\s*([^:{},]+?)\s*:")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
NAME = re.compile(r"call:\s*([^\s{]+)\s*(\{.*)?", re.DOTALL)
CONSTANTS = {"null": None, "true": True, "false": False}
ESCAPE = "<escape>"
"""Tag before and after a string in FunctionGemma's notation."""


def decode_function_gemma(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode `<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`."""
    calls = []
    for block in find_blocks(require_text(result), "<start_function_call>", "<end_function_call>"):
        named = NAME.search(block)
        if named:
            check_text_size(block)
            calls.append((named[1], _FunctionGemmaReader(named[2] or "{}").read_object()))
    return calls


class _FunctionGemmaReader:
    """Reads `{key:value,...}`.

    A value is an object, a list, a string between two `<escape>` tags or a bare word.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read_object(self) -> dict[str, Any]:
        """Read an object from its opening to its closing bracket. Names may be quoted."""
        found: dict[str, Any] = {}
        self._skip_bracket()
        self._skip_separators()
        while not self._is_at_closing_bracket("}"):
            key = KEY.match(self.text, self.position)
            if key is None:
                raise Undecodable("an argument has no name")
            self.position = key.end()
            found[key[1].removeprefix(ESCAPE).removesuffix(ESCAPE)] = self.read_value()
            self._skip_separators()
        self._skip_bracket()
        return found

    def read_value(self) -> Any:
        """Read the value at the current position: a string, an object, a list, or a word such as
        `true` or `5`.
        """
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        if self.text.startswith(ESCAPE, self.position):
            return self._read_string()
        if self.text.startswith("{", self.position):
            return self.read_object()
        if self.text.startswith("[", self.position):
            return self._read_list()
        return self._read_bare_word()

    def _read_string(self) -> str:
        """Read a text between two `<escape>`."""
        start = self.position + len(ESCAPE)
        end = self.text.find(ESCAPE, start)
        if end < 0:
            raise Undecodable("a string has no closing <escape>")
        self.position = end + len(ESCAPE)
        return self.text[start:end]

    def _read_list(self) -> list[Any]:
        """Read a list, of which the next character is the opening bracket."""
        items = []
        self._skip_bracket()
        self._skip_separators()
        while not self._is_at_closing_bracket("]"):
            # A bare word ends here, so the list would never end.
            if self.text.startswith("}", self.position):
                raise Undecodable("a list is closed by }")
            items.append(self.read_value())
            self._skip_separators()
        self._skip_bracket()
        return items

    def _read_bare_word(self) -> Any:
        """Read a number, a constant or a text that ends at a comma or a closing bracket."""
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in ",}]":
            self.position += 1
        return _parse_bare_word(self.text[start : self.position].strip())

    def _skip_bracket(self) -> None:
        self.position += 1

    def _skip_separators(self) -> None:
        """Skip the commas and spaces before an element or a closing bracket."""
        while self.position < len(self.text) and self.text[self.position] in ", \n\t":
            self.position += 1

    def _is_at_closing_bracket(self, closing: str) -> bool:
        """Whether the next character is `closing`. Raises Undecodable at the end of the text."""
        if self.position >= len(self.text):
            raise Undecodable(f"the closing {closing} is missing")
        return self.text[self.position] == closing


def _parse_bare_word(word: str) -> Any:
    number = NUMBER.fullmatch(word)
    if number is None:
        return CONSTANTS.get(word, word)
    has_fraction_or_exponent = number[1] or number[2]
    return float(word) if has_fraction_or_exponent else int(word)


THOUGHT = "<|thought_start|>"
THOUGHT_END = "<|thought_end|>"
START = "<|tool_call_start|>"
END = "<|tool_call_end|>"
FENCE_START = re.compile(r"\s*`*\s*(?:python\b)?\s*")
FENCE_END = re.compile(r"\s*`*\s*\Z")


def decode_minicpm(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode Python calls, one per line, between `<|tool_call_start|>` and `<|tool_call_end|>`."""
    text = require_text(result)
    if THOUGHT in text and THOUGHT_END in text:
        _, _, text = text.rpartition(THOUGHT_END)
    if START not in text or END not in text:
        raise WrongFormat("the text contains no tool call between tags")

    _, _, text_after_start = text.partition(START)
    code, _, _ = text_after_start.rpartition(END)
    try:
        return _parse_call_statements(code.strip())
    except (Undecodable, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongFormat(str(error)) from None


def _parse_call_statements(text: str) -> Calls:
    """Parse a block of Python code whose statements are all calls, with or without a code fence.

    The code is only parsed and never executed.
    """
    code = FENCE_START.sub("", text, count=1)
    code = FENCE_END.sub("", code, count=1)
    check_text_size(code)
    # Python warns about doubtful code, such as invalid escapes. The warnings would go to the user.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statements = ast.parse(code).body

    calls = []
    for statement in statements:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise Undecodable("a statement is not a call")
        calls.append(read_call(statement.value))
    if not calls:
        raise Undecodable("there is no call between the tags")
    return calls


OPEN = "<tool_call>"
CLOSE = "</tool_call>"


def decode_hermes(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode the JSON line after each line `<tool_call>`, with `'` read as `"`.

    All other lines are ignored.
    """
    found = []
    is_open = False
    for line in require_text(result).split("\n"):
        if line not in (OPEN, CLOSE) and is_open:
            found.append(read_json_call(parse_json(line.replace("'", '"'))))
        is_open = line == OPEN
    return validate_calls(found)


def decode_glm(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode a function name on the first line, which may be empty, and JSON arguments on the
    second line.
    """
    lines = require_text(result).split("\n")
    if len(lines) < 2:
        raise WrongFormat("the second line, with the arguments, is missing")
    return validate_calls([(lines[0], parse_json(lines[1]))])


def decode_granite(result: Any, context: DecoderContext) -> Calls:  # noqa: ARG001
    """Decode a reply with one or more `<function_call> {"name": "f", "arguments": {...}}`.

    A reply with prose, or with the name `no_function`, has the wrong format. The error then
    contains the calls that could be read.
    """
    calls: list[tuple[Any, Any]] = []
    why_wrong_format = ""
    for part in require_text(result).split("<function_call>"):
        call_text = part.strip()
        if not call_text:
            continue
        try:
            call = parse_json(call_text)
        except Undecodable:
            why_wrong_format = "the reply contains text that is not a call"
            continue
        if type(call) is not dict:
            raise Undecodable("the JSON is not a call")

        name = call.get("name", "")
        if type(name) is str:
            name = name.strip()
        if name == "no_function":
            why_wrong_format = "no function is called"
        else:
            calls.append((name, call.get("arguments", {})))

    if why_wrong_format:
        raise WrongFormat(why_wrong_format, list(validate_calls(calls)))
    return validate_calls(calls)


def decode_falcon(result: Any, context: DecoderContext) -> Calls:
    """Decode the JSON in the first `<tool_call>` block.

    A reply without a block, or with one that cannot be parsed, is an error in V4 only. In other
    versions, it has no calls.
    """
    text = require_text(result)
    try:
        value = parse_json(_find_first_block(text))
        is_call = _is_call_or_list_of_calls(value)
        calls = read_json_calls(value) if is_call else []
    except Undecodable:
        if context.version == "V4":
            raise
        return []
    # Other JSON is an error in all versions, so it is raised outside of the `try`.
    if not is_call:
        raise Undecodable("the JSON is not a list of calls")
    return calls


def _find_first_block(text: str) -> str:
    """Return the first `<tool_call>` block without tags and code fence. A new tag ends it."""
    _, tag, rest = text.partition(OPEN)
    if not tag:
        raise Undecodable("the text contains no <tool_call>")
    # The block ends at the closing tag, or where the next block begins without one.
    block = rest.partition(OPEN)[0].partition(CLOSE)[0].strip()
    if block.startswith("```") and block.endswith("```"):
        return block.strip("`").strip().removeprefix("json")
    return block


def _is_call_or_list_of_calls(value: Any) -> bool:
    if type(value) is dict:
        return True
    return type(value) is list and all(type(element) is dict for element in value)


def decode_tagged(result: Any, context: DecoderContext) -> Calls:
    """Decode the calls in `<tool_call>` blocks, whose tags are on lines of their own.

    Each block contains a JSON object. If a block is no JSON, V4 skips it, while earlier versions
    read no call at all. If it is JSON but no object, V4 fails the reply, while earlier versions
    read no call. An object without name or arguments fails the reply in all versions.
    """
    is_v4 = context.version == "V4"
    calls = []
    for block in find_blocks(require_text(result), f"{OPEN}\n", f"\n{CLOSE}"):
        try:
            call = parse_json(block)
        except Undecodable:
            if not is_v4:
                return []
            continue
        if type(call) is not dict and not is_v4:
            return []

        # Raises Undecodable for anything else than an object with both fields.
        name, arguments = read_json_call(call)
        if type(arguments) is not dict:
            raise Undecodable("the arguments of a call are not an object")
        calls.append((name, arguments))
    return validate_calls(calls)


LITERAL_TYPES = {"array", "tuple", "object", "dict"}


def decode_format_sensitivity(text: str, config: str) -> Calls:
    """Decode a reply to a prompt with this configuration, `ret_fmt=json&tool_call_tag=True&...`."""
    settings = dict(part.split("=", 1) for part in config.split("&") if "=" in part)
    calls_text = clean_prompt_text(text)
    if settings.get("tool_call_tag") == "True":
        calls_text = _find_first_tool_call_block(calls_text)
    match settings.get("ret_fmt"):
        case "json":
            return decode_json_format(calls_text)
        case "verbose_xml":
            return decode_xml_format(calls_text, verbose=True)
        case "concise_xml":
            return decode_xml_format(calls_text, verbose=False)
    return parse_calls(calls_text)


def _find_first_tool_call_block(text: str) -> str:
    blocks = find_blocks(text, "<TOOLCALL>", "</TOOLCALL>")
    if not blocks:
        raise Undecodable("the text contains no <TOOLCALL>...</TOOLCALL>")
    return blocks[0].strip()


OBJECT_LIST_START = re.compile(r"\[\s*\{")
OBJECT_LIST_END = re.compile(r"\}\s*\]")


def decode_json_format(text: str) -> Calls:
    """Decode `[{"function": ..., "parameters": {...}}]` anywhere in the text.

    Text without JSON contains no call.
    """
    try:
        value = parse_json(_cut_object_list(text))
    except Undecodable:
        return []
    # BFCL's code goes through the elements of a list, but also through the keys of an object or the
    # characters of a text, and skips what is no object. So the latter two have no calls.
    if isinstance(value, (dict, str)):
        return []
    if not isinstance(value, list):
        raise Undecodable("the JSON is not a list of calls")

    objects = [element for element in value if isinstance(element, dict)]
    for call in objects:
        if "function" not in call or "parameters" not in call:
            raise Undecodable("an object has no field function or parameters")
    return validate_calls((call["function"], call["parameters"]) for call in objects)


def _cut_object_list(text: str) -> str:
    """Cut the first list of objects, such as `[{"name": "f"}]`, out of a text.

    If there is none, return the text between the first `[` and the last `]`, or else the whole
    text.
    """
    start = text.find("[")
    end = text.rfind("]")
    part = text
    if 0 <= start < end:
        part = text[start : end + 1]

    opening = OBJECT_LIST_START.search(part)
    if opening is None:
        return part
    # As in BFCL's code, the list ends at the next `}]`, even if that is inside arguments.
    closing = OBJECT_LIST_END.search(part, opening.end())
    if closing is None:
        return part
    return part[opening.start() : closing.end()]


def decode_xml_format(text: str, *, verbose: bool) -> Calls:
    """Decode `<functions><function name=...>` with typed parameters.

    If `verbose`, values are XML attributes.
    """
    inside = find_blocks(text, "<functions>", "</functions>")
    if not inside:
        raise Undecodable("the text contains no <functions>...</functions>")
    xml = f"<functions>{inside[0]}</functions>"
    if "<!DOCTYPE" in xml or "<!ENTITY" in xml:
        raise Undecodable("XML with declarations is not parsed")
    if len(xml) > MAX_TEXT:
        raise Undecodable("the XML is too long to be decoded")
    from xml.etree import ElementTree  # loaded on first use

    try:
        root = ElementTree.fromstring(xml)  # noqa: S314  the dangerous XML declarations are rejected above
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise Undecodable(f"not XML: {error}") from None
    return [_read_xml_call(function, verbose) for function in root.findall("function")]


def _read_xml_call(function: Element, verbose: bool) -> tuple[str, dict[str, Any]]:
    """Read the name and the arguments of a call in XML.

    In the verbose form, parameters can stand inside `<params>`, and their values are in an
    attribute. Raises Undecodable if a name is missing.
    """
    name = function.get("name")
    if name is None:
        raise Undecodable("a function has no name")

    parent = function
    params = function.find("params")
    if verbose and params is not None:
        parent = params
    arguments: dict[str, Any] = {}
    for param in parent.findall("param"):
        key = param.get("name")
        if key is None:
            raise Undecodable(f"a parameter of {name} has no name")
        text = param.get("value", "") if verbose else (param.text or "").strip()
        arguments[key] = _convert_xml_value(text, param.get("type", "string"))
    return name, arguments


def _convert_xml_value(text: str, type_name: str) -> Any:
    """Convert the text of a parameter to the type that the call states. Raises Undecodable if it is
    not of this type.
    """
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
            check_text_size(text)
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise Undecodable(f"{text[:80]} is not of type {type_name}: {error}") from None
    return text
