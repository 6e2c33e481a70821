"""Replies with calls between tags, or a call a line: JSON inside, prose around it."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.decode.decoder import How
from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, WrongFormat, blocks, load_json, well_formed
from fcreview.importers.bfcl.decode.families.code import text_of
from fcreview.importers.bfcl.decode.families.json_lists import call_in

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
