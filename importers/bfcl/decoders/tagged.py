"""FunctionGemma's notation: `<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`.

MiniCPM's tool calls: Python statements between tags.

Replies with calls between tags, or a call a line: JSON inside, prose around it.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, How, WrongFormat, blocks, check_bounds, load_json, well_formed
from fcreview.importers.bfcl.decoders.code import text_of
from fcreview.importers.bfcl.decoders.json_lists import call_in
from fcreview.importers.bfcl.decoders.python_calls import call_of
from fcreview.importers.common.records import Undecodable

KEY = re.compile(r"\s*([^:{},]+?)\s*:")
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
NAME = re.compile(r"call:\s*([^\s{]+)\s*(\{.*)?", re.DOTALL)
CONSTANTS = {"null": None, "true": True, "false": False}
ESCAPE = "<escape>"


def function_gemma(result: Any, how: How) -> Calls:  # noqa: ARG001
    """`<start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>`."""
    calls = []
    for block in blocks(text_of(result), "<start_function_call>", "<end_function_call>"):
        named = NAME.search(block)
        if named:
            check_bounds(block)
            calls.append((named[1], _Reader(named[2] or "{}").object()))
    return calls


class _Reader:
    """Reads `{key:value,...}`: values are objects, lists, strings between two `<escape>`, or bare words."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def object(self) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while not self._ends("}"):
            key = KEY.match(self.text, self.at)
            if key is None:
                raise Undecodable("an argument without a name")
            self.at = key.end()
            found[key[1].removeprefix(ESCAPE).removesuffix(ESCAPE)] = self.value()
        return found

    def value(self) -> Any:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1
        if self.text.startswith(ESCAPE, self.at):
            start = self.at + len(ESCAPE)
            end = self.text.find(ESCAPE, start)
            if end < 0:
                raise Undecodable("a string without an end")
            self.at = end + len(ESCAPE)
            return self.text[start:end]
        if self.text.startswith("{", self.at):
            return self.object()
        if self.text.startswith("[", self.at):
            self.at += 1
            items = []
            while not self._ends("]"):
                items.append(self.value())
            return items
        end = next((i for i in range(self.at, len(self.text)) if self.text[i] in ",}]"), len(self.text))
        word, self.at = self.text[self.at : end].strip(), end
        return _bare(word)

    def _ends(self, closing: str) -> bool:
        """Whether the list ends here; a comma before the next element is passed over."""
        while self.at < len(self.text) and self.text[self.at] in ", \n\t":
            self.at += 1
        if self.at >= len(self.text):
            raise Undecodable(f"no {closing} at the end")
        if self.text[self.at] != closing:
            return False
        self.at += 1
        return True


def _bare(word: str) -> Any:
    if word in CONSTANTS:
        return CONSTANTS[word]
    number = NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else int(word)


THOUGHT, THOUGHT_END = "<|thought_start|>", "<|thought_end|>"
START, END = "<|tool_call_start|>", "<|tool_call_end|>"
OPENING, CLOSING = re.compile(r"\s*`*\s*(?:python\b)?\s*"), re.compile(r"\s*`*\s*\Z")


def minicpm(result: Any, how: How) -> Calls:  # noqa: ARG001
    """`<|tool_call_start|>`, a fence with a call a line, `<|tool_call_end|>`; whatever else has the wrong format."""
    text = text_of(result)
    if THOUGHT in text and THOUGHT_END in text:
        text = text.rpartition(THOUGHT_END)[2]
    if START not in text or END not in text:
        raise WrongFormat("no tool call between tags")
    inside = text.partition(START)[2].rpartition(END)[0].strip()
    try:
        return _statements(inside)
    except (Undecodable, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WrongFormat(str(error)) from None


def _statements(text: str) -> Calls:
    opening = OPENING.match(text)
    text = text[opening.end() :] if opening else text
    closing = CLOSING.search(text)
    text = text[: closing.start()] if closing else text
    check_bounds(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text).body
    calls = []
    for statement in body:
        if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
            raise Undecodable("a statement that is not a call")
        calls.append(call_of(statement.value))
    if not calls:
        raise Undecodable("no call between the tags")
    return calls


OPEN, CLOSE = "<tool_call>", "</tool_call>"


def hermes(result: Any, how: How) -> Calls:  # noqa: ARG001
    """The line behind a line `<tool_call>`, each ' of it taken for a "; all other lines are ignored."""
    found, opened = [], False
    for line in text_of(result).split("\n"):
        if line not in (OPEN, CLOSE) and opened:
            found.append(call_in(load_json(line.replace("'", '"'))))
        opened = line == OPEN
    return well_formed(found)


def glm(result: Any, how: How) -> Calls:  # noqa: ARG001
    """A name on the very first line, blanks and all, and its JSON arguments on the second; more lines do not count. So
    an empty first line is a call without a name, if the second one holds JSON."""
    lines = text_of(result).split("\n")
    if len(lines) < 2:
        raise WrongFormat("no second line with arguments")
    return well_formed([(lines[0], load_json(lines[1]))])


def granite(result: Any, how: How) -> Calls:  # noqa: ARG001
    """`<function_call> {"name": ..., "arguments": {...}}`, repeated; prose in between spoils the format."""
    calls: list[tuple[Any, Any]] = []
    prose = ""
    for part in filter(None, map(str.strip, text_of(result).split("<function_call>"))):
        try:
            found = load_json(part)
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
        raise WrongFormat(prose, list(well_formed(calls)))
    return well_formed(calls)


def falcon(result: Any, how: How) -> Calls:
    """What the first `<tool_call>` holds: one call or a list of them. Whatever else is no call, in V4 a failure."""
    _, tag, rest = text_of(result).partition(OPEN)
    try:
        if not tag:
            raise Undecodable("no <tool_call> in the text")
        found = load_json(_unfenced(rest.partition(CLOSE)[0].strip()))
        listed = [found] if type(found) is dict else found
        if type(listed) is list and all(type(one) is dict for one in listed):
            return well_formed(map(call_in, listed))
    except Undecodable:
        if how.rules == "V4":
            raise
        return []
    raise Undecodable("JSON, but not a list of calls")


def _unfenced(text: str) -> str:
    if text.startswith("```") and text.endswith("```"):
        return text.strip("`").strip().removeprefix("json")
    return text


def tagged(result: Any, how: How) -> Calls:
    """Every `<tool_call>` block whose tags stand on lines of their own. A block that is no JSON is skipped; before V4
    it spoiled the whole reply."""
    calls = []
    for block in blocks(text_of(result), f"{OPEN}\n", f"\n{CLOSE}"):
        try:
            found = load_json(block)
        except Undecodable:
            if how.rules != "V4":
                return []
            continue
        if type(found) is not dict and how.rules != "V4":
            return []
        name, arguments = call_in(found)
        if type(arguments) is not dict:
            raise Undecodable("arguments that are no object")
        calls.append((name, arguments))
    return well_formed(calls)
