"""Parse calls in Python syntax, `[f(a=1), g.h(b='x')]`, by the rules of the official program (`ast_parse`).

`parse_calls` parses whole replies, and `parse_call_text` parses single calls in multi-turn golden answers and inference
logs. A parser for common syntax builds no syntax tree and is four times as fast as `ast`.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Sequence
from typing import Any, cast

from fcreview.importers.bfcl.decoders.base import Calls, WrongFormat, check_size
from fcreview.importers.common.python_syntax import compute_arithmetic, dotted_name
from fcreview.importers.common.records import Undecodable
from fcreview.model.function_schema import read_declared_parameters

RESERVED = frozenset(keyword.kwlist) | {"__debug__"}
"""Python keywords, which are neither names nor values. `_scalar_value` returns this set to signal a keyword."""
CONSTANTS: dict[str, Any] = {"True": True, "False": False, "None": None}
NAME = r"[A-Za-z_][A-Za-z_0-9]*"
SCALAR = (
    r"""'([^'\\\n\r\0\ud800-\udfff]*)'|"([^"\\\n\r\0\ud800-\udfff]*)\""""
    rf"""|(-?(?:0|[1-9][0-9]{{0,17}}))(\.[0-9]{{1,25}})?|({NAME})"""
)
CALL = re.compile(rf"[ \n]*({NAME}(?:\.{NAME})*)\(")
ARGUMENT = re.compile(rf"[ \n]*({NAME}) ?= ?(?:(?:{SCALAR})[ \n]*([,)])|\[)")
ELEMENT = re.compile(rf"[ \n]*(?:{SCALAR})[ \n]*([,\]])")
AFTER_LIST = re.compile(r"[ \n]*([,)])")
AFTER_CALL = re.compile(r"[ \n]*([,\]])")


def parse_simple_calls(text: str) -> Calls | None:
    """Parse `[f(a=1), ...]` in common syntax. Returns None if the text needs the `ast` parser.

    Names are dotted and ASCII, arguments have keywords, and values are plain strings, numbers, names or lists of them.
    A test compares the results with those of `ast` on generated text.
    """
    if not text.startswith("["):
        return None
    if text == "[]":
        return []
    position, calls = 1, []
    while True:
        head = CALL.match(text, position)
        if head is None:
            return None
        name = head[1]
        if name in RESERVED or ("." in name and not RESERVED.isdisjoint(name.split("."))):
            return None
        arguments: dict[str, Any] = {}
        position = head.end()
        if text.startswith(")", position):
            position += 1
        else:
            after = _parse_arguments(text, position, arguments)
            if after is None:
                return None
            position = after
        calls.append((name, arguments))
        end = AFTER_CALL.match(text, position)
        if end is None:
            return None
        position = end.end()
        if end[1] == "]":
            return calls if position == len(text) else None


def _parse_arguments(text: str, position: int, into: dict[str, Any]) -> int | None:
    """Add the arguments from `position` to `into`. Returns the position after the call; None for other syntax."""
    while True:
        found = ARGUMENT.match(text, position)
        if found is None:
            return None
        name, single, double, whole, fraction, word, end = found.groups()
        if name in RESERVED:
            return None
        position = found.end()
        if end is None:
            elements: list[Any] = []
            after = _parse_elements(text, position, elements)
            if after is None:
                return None
            closing = AFTER_LIST.match(text, after)
            if closing is None:
                return None
            into[name] = elements
            position, end = closing.end(), closing[1]
        else:
            value = _scalar_value(single, double, whole, fraction, word)
            if value is RESERVED:
                return None
            into[name] = value
        if end == ")":
            return position


def _parse_elements(text: str, position: int, into: list[Any]) -> int | None:
    """Add the list elements from `position` to `into`. Returns the position after the list; None for other syntax."""
    if text.startswith("]", position):
        return position + 1
    while True:
        found = ELEMENT.match(text, position)
        if found is None:
            return None
        single, double, whole, fraction, word, end = found.groups()
        value = _scalar_value(single, double, whole, fraction, word)
        if value is RESERVED:
            return None
        into.append(value)
        position = found.end()
        if end == "]":
            return position


def _scalar_value(single: str | None, double: str | None, whole: str | None, fraction: str | None, word: str) -> Any:
    """Return the value that the groups of `SCALAR` matched; RESERVED if it is a keyword."""
    if single is not None:
        return single
    if double is not None:
        return double
    if whole is not None:
        return int(whole) if fraction is None else float(whole + fraction)
    if word in CONSTANTS:
        return CONSTANTS[word]
    return RESERVED if word in RESERVED else word


PROSE_START = re.compile(rf"\[[ \n]*({NAME})(?:['\"]|!(?!=)|[ \n]+({NAME})(?=[ \n.,:;!?()]))|\[[ \n]*`")
OPERATORS = frozenset(keyword.kwlist) - CONSTANTS.keys()
STRING_PREFIX = re.compile(r"[rbuftRBUFT]{1,2}")


def is_prose(text: str) -> bool:
    """Whether the text cannot be a Python expression because of how it starts.

    Such text starts with two words (`[Here are`), a word and a quote (`[I'm`), a word and an exclamation mark, or a
    backtick. The test is faster than the parser and its message is clearer.
    """
    start = PROSE_START.match(text)
    if start is None:
        return False
    first, second = start.groups()
    if first is None:
        return True
    if first in OPERATORS or second in OPERATORS or second in CONSTANTS:
        return False
    return second is not None or STRING_PREFIX.fullmatch(first) is None


def add_brackets(text: str) -> str:
    """Add an opening and a closing bracket where the text lacks them."""
    if not text.startswith("["):
        text = "[" + text
    return text if text.endswith("]") else text + "]"


def clean_prompt_text(text: str) -> str:
    """Remove backticks, newlines and spaces at both ends and add missing brackets."""
    return add_brackets(text.strip("`\n "))


def parse_calls(text: str, version: str = "V4") -> Calls:
    """Parse `[f(a=1), ...]` as one Python expression. Raises Undecodable and WrongFormat.

    In V1, a single call needs brackets, and every call needs keyword arguments. Later versions require neither. V2 and
    V3 remove brackets and quotes at both ends, so a newline between two calls is a syntax error.
    """
    v1, stripped = version == "V1", version in ("V2", "V3")
    listed = text
    if stripped:
        text = text.strip("[]'")
        if not text:
            raise Undecodable("only brackets and quotes")
        listed = f"[{text}]"
    elif not v1:
        text = listed = text.strip().strip("'")
    calls = None if stripped and (text[0] == " " or "\n" in text) else parse_simple_calls(listed)
    if calls is None:
        if is_prose(listed):
            raise Undecodable("prose, not calls")
        nodes = _parse_call_nodes(text, v1)
        calls = [read_call(node) for node in nodes]
        without = [dotted_name(node.func) for node in nodes if not node.keywords] if v1 else []
    else:
        without = [name for name, arguments in calls if not arguments] if v1 else []
    if without:
        raise WrongFormat(f"{without[0]} is called without keyword arguments", list(calls))
    return calls


def parse_expression(text: str) -> ast.expr:
    """Parse one expression of limited size. Raises Undecodable."""
    check_size(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in a reply must not print warnings to the terminal
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Undecodable(f"not Python call syntax: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise Undecodable(f"not Python call syntax: {error}") from None


def _parse_call_nodes(text: str, v1: bool) -> list[ast.Call]:
    body = parse_expression(text)
    if isinstance(body, ast.Call) and not v1:
        return [body]
    if not isinstance(body, (ast.List, ast.Tuple, ast.Set)):
        raise Undecodable("the text is not a list of calls")
    other = next((element for element in body.elts if not isinstance(element, ast.Call)), None)
    if other is not None:
        raise Undecodable(f"an element of the list is not a call: {_source_text(other)[:80]}")
    return cast("list[ast.Call]", body.elts)


def read_call(node: ast.Call) -> tuple[str, dict[str, Any]]:
    """Return the name and keyword arguments of a call. The last value of a repeated keyword counts."""
    arguments: dict[str, Any] = {}
    for argument in node.keywords:
        arguments[argument.arg] = read_value(argument.value)  # type: ignore[index]  # `**x` gives the key None
    return dotted_name(node.func), arguments


def read_value(node: ast.expr) -> Any:
    """Return the value of one argument by BFCL's rules. Raises Undecodable."""
    try:
        return _read_value(node)
    except Undecodable:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError, MemoryError, KeyError) as error:
        raise Undecodable(f"argument {_source_text(node)[:80]}: {error}") from None


def _read_value(node: ast.expr | None) -> Any:
    match node:
        case ast.Constant(value=value):
            return "..." if value is ... else value
        case ast.Name(id=name):
            return name
        case ast.List(elts=elts) | ast.Tuple(elts=elts):
            values = [_read_value(element) for element in elts]
            return values if isinstance(node, ast.List) else tuple(values)
        case ast.Dict(keys=keys, values=fields):
            return {_read_value(key): _read_value(field) for key, field in zip(keys, fields, strict=True)}
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            return -value  # type: ignore[operator]  # BFCL negates for any operator; some constants raise
        case ast.BinOp():
            return compute_arithmetic(node)
        case ast.Call(keywords=keywords):
            if not keywords:
                return _source_text(node)
            name, arguments = read_call(node)
            return {name: arguments}
        case ast.Subscript():
            return _source_text(node)
    raise Undecodable(f"{type(node).__name__} is not supported as an argument value")


def _source_text(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return type(node).__name__


def parse_call_text(text: str, functions: Sequence[dict[str, Any]] = ()) -> tuple[str, dict[str, Any]] | None:
    """Return the name and arguments of one call, `cd(folder='a')`; None if the text is not a call.

    Positional arguments get the parameter names from the function's doc in `functions` or, without one, "0", "1", ...
    """
    simple = parse_simple_calls(f"[{text}]")
    if simple is not None:
        return simple[0] if len(simple) == 1 else None
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call):
            return None
        name, keywords = read_call(node)
        positional = [read_value(argument) for argument in node.args]
    except (Undecodable, RecursionError):
        return None
    doc = next((doc for doc in functions if doc.get("name") == name), None) if positional else None
    names = list(read_declared_parameters(doc).properties or ()) if doc is not None else []
    arguments = {(names[i] if i < len(names) else str(i)): value for i, value in enumerate(positional)}
    return name, {**arguments, **keywords}
