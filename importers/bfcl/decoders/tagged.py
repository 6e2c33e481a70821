"""FunctionGemma's notation: `<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`.

MiniCPM's tool calls: Python statements between tags.

Replies with calls between tags, or a call a line: JSON inside, prose around it.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from fcreview.importers.bfcl.decoders.base import (
    Calls,
    DecoderContext,
    WrongFormat,
    check_size,
    find_blocks,
    parse_json,
    validate_calls,
)
from fcreview.importers.bfcl.decoders.code import require_text
from fcreview.importers.bfcl.decoders.json_lists import call_from_object
from fcreview.importers.bfcl.decoders.python_calls import read_call
from fcreview.importers.common.records import Undecodable

KEY = re.compile(r"\s*([^:{},]+?)\s*:")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
NAME = re.compile(r"call:\s*([^\s{]+)\s*(\{.*)?", re.DOTALL)
CONSTANTS = {"null": None, "true": True, "false": False}
ESCAPE = "<escape>"


def decode_function_gemma(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`."""
    calls = []
    for block in find_blocks(require_text(result), "<start_function_call>", "<end_function_call>"):
        named = NAME.search(block)
        if named:
            check_size(block)
            calls.append((named[1], _FunctionGemmaReader(named[2] or "{}").read_object()))
    return calls


class _FunctionGemmaReader:
    """Reads `{key:value,...}`: values are objects, lists, strings between two `<escape>`, or bare words."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0

    def read_object(self) -> dict[str, Any]:
        self.position += 1
        found: dict[str, Any] = {}
        while not self._skip_end("}"):
            key = KEY.match(self.text, self.position)
            if key is None:
                raise Undecodable("an argument without a name")
            self.position = key.end()
            found[key[1].removeprefix(ESCAPE).removesuffix(ESCAPE)] = self.read_value()
        return found

    def read_value(self) -> Any:
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        if self.text.startswith(ESCAPE, self.position):
            start = self.position + len(ESCAPE)
            end = self.text.find(ESCAPE, start)
            if end < 0:
                raise Undecodable("a string without an end")
            self.position = end + len(ESCAPE)
            return self.text[start:end]
        if self.text.startswith("{", self.position):
            return self.read_object()
        if self.text.startswith("[", self.position):
            self.position += 1
            items = []
            while not self._skip_end("]"):
                items.append(self.read_value())
            return items
        end = next((i for i in range(self.position, len(self.text)) if self.text[i] in ",}]"), len(self.text))
        word, self.position = self.text[self.position : end].strip(), end
        return _parse_bare_word(word)

    def _skip_end(self, closing: str) -> bool:
        """Whether the list ends here; a comma before the next element is passed over."""
        while self.position < len(self.text) and self.text[self.position] in ", \n\t":
            self.position += 1
        if self.position >= len(self.text):
            raise Undecodable(f"no {closing} at the end")
        if self.text[self.position] != closing:
            return False
        self.position += 1
        return True


def _parse_bare_word(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    number = NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else int(word)


THOUGHT, THOUGHT_END = "<|thought_start|>", "<|thought_end|>"
START, END = "<|tool_call_start|>", "<|tool_call_end|>"
OPENING, CLOSING = re.compile(r"\s*`*\s*(?:python\b)?\s*"), re.compile(r"\s*`*\s*\Z")


def decode_minicpm(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`<|tool_call_start|>`, a fence with a call a line, `<|tool_call_end|>`; whatever else has the wrong format."""
    text = require_text(result)
    if THOUGHT in text and THOUGHT_END in text:
        text = text.rpartition(THOUGHT_END)[2]
    if START not in text or END not in text:
        raise WrongFormat("no tool call between tags")
    inside = text.partition(START)[2].rpartition(END)[0].strip()
    try:
        return _parse_statements(inside)
    except (Undecodable, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongFormat(str(error)) from None


def _parse_statements(text: str) -> Calls:
    opening = OPENING.match(text)
    text = text[opening.end() :] if opening else text
    closing = CLOSING.search(text)
    text = text[: closing.start()] if closing else text
    check_size(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    calls = []
    for statement in body:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise Undecodable("a statement that is not a call")
        calls.append(read_call(statement.value))
    if not calls:
        raise Undecodable("no call between the tags")
    return calls


OPEN, CLOSE = "<tool_call>", "</tool_call>"


def decode_hermes(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """The line behind a line `<tool_call>`, each ' of it taken for a "; all other lines are ignored."""
    found, opened = [], False
    for line in require_text(result).split("\n"):
        if line not in (OPEN, CLOSE) and opened:
            found.append(call_from_object(parse_json(line.replace("'", '"'))))
        opened = line == OPEN
    return validate_calls(found)


def decode_glm(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """A name on the very first line, blanks and all, and its JSON arguments on the second; more lines do not count. So
    an empty first line is a call without a name, if the second one holds JSON."""
    lines = require_text(result).split("\n")
    if len(lines) < 2:
        raise WrongFormat("no second line with arguments")
    return validate_calls([(lines[0], parse_json(lines[1]))])


def decode_granite(result: Any, how: DecoderContext) -> Calls:  # noqa: ARG001
    """`<function_call> {"name": ..., "arguments": {...}}`, repeated; prose in between spoils the format."""
    calls: list[tuple[Any, Any]] = []
    prose = ""
    for part in filter(None, map(str.strip, require_text(result).split("<function_call>"))):
        try:
            found = parse_json(part)
        except Undecodable:
            prose = "text that is not a call"
            continue
        if type(found) is not dict:
            raise Undecodable("JSON, but not a call")
        name = found.get("name", "")
        name = name.strip() if type(name) is str else name
        if name == "no_function":
            prose = "no function is called"
        else:
            calls.append((name, found.get("arguments", {})))
    if prose:
        raise WrongFormat(prose, list(validate_calls(calls)))
    return validate_calls(calls)


def decode_falcon(result: Any, how: DecoderContext) -> Calls:
    """What the first `<tool_call>` holds: one call or a list of them. Whatever else is no call, in V4 a failure."""
    _, tag, rest = require_text(result).partition(OPEN)
    try:
        if not tag:
            raise Undecodable("no <tool_call> in the text")
        found = parse_json(_strip_fence(rest.partition(CLOSE)[0].strip()))
        listed = [found] if type(found) is dict else found
        if type(listed) is list and all(type(one) is dict for one in listed):
            return validate_calls(map(call_from_object, listed))
    except Undecodable:
        if how.version == "V4":
            raise
        return []
    raise Undecodable("JSON, but not a list of calls")


def _strip_fence(text: str) -> str:
    if text.startswith("```") and text.endswith("```"):
        return text.strip("`").strip().removeprefix("json")
    return text


def decode_tagged(result: Any, how: DecoderContext) -> Calls:
    """Every `<tool_call>` block whose tags stand on lines of their own. A block that is no JSON is skipped; before V4
    it spoiled the whole reply."""
    calls = []
    for block in find_blocks(require_text(result), f"{OPEN}\n", f"\n{CLOSE}"):
        try:
            found = parse_json(block)
        except Undecodable:
            if how.version != "V4":
                return []
            continue
        if type(found) is not dict and how.version != "V4":
            return []
        name, arguments = call_from_object(found)
        if type(arguments) is not dict:
            raise Undecodable("arguments that are no object")
        calls.append((name, arguments))
    return validate_calls(calls)
