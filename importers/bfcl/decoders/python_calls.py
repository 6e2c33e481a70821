"""Decode call syntax, `[f(a=1), g.h(b='x')]`, by the rules of the official program (`ast_parse`).

A reply is first cleaned up, in a way that depends on the model, and then parsed by the rules of the
BFCL version or, in Java and JavaScript categories, of the language. `parse_call_text` parses single
calls in multi-turn golden answers and inference logs. A parser for common syntax builds no syntax
tree and is four times as fast as `ast`.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from fcreview.importers.bfcl.decoders.base import (
    Calls,
    DecodeFunction,
    DecoderContext,
    WrongFormat,
    require_text,
)
from fcreview.importers.bfcl.decoders.java_javascript import parse_java_or_javascript
from fcreview.importers.common.python_syntax import (
    parse_expression,
    read_argument_value,
    read_call,
    read_dotted_name,
    unparse_node,
)
from fcreview.importers.common.records import Undecodable
from fcreview.model.function_schema import read_declared_parameters

RESERVED = frozenset(keyword.kwlist) | {"__debug__"}
"""Python keywords, which are neither names nor values.

`_convert_scalar` returns this set for a keyword.
"""
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

    Names are dotted and ASCII, arguments have keywords, and values are plain strings, numbers,
    names or lists of them. A test compares the results with those of `ast` on generated text.
    """
    if not text.startswith("["):
        return None
    if text == "[]":
        return []
    try:
        return _SimpleCallReader(text).read_calls()
    except _NotSimple:
        return None


class _NotSimple(Exception):
    """Raised for text that needs the `ast` parser."""


class _SimpleCallReader:
    """Reads a list of calls from beginning to end. Methods raise _NotSimple for other syntax."""

    def __init__(self, text: str) -> None:
        self._text = text
        # After the opening bracket.
        self._position = 1

    def read_calls(self) -> Calls:
        """Read the calls after the opening bracket of the list, as pairs (function, arguments).
        Raises _NotSimple if the text needs the slow parser.
        """
        calls = []
        separator = ","
        while separator == ",":
            name = self._match(CALL)[1]
            if not RESERVED.isdisjoint(name.split(".")):
                raise _NotSimple
            calls.append((name, self._read_arguments()))
            separator = self._match(AFTER_CALL)[1]
        if self._position != len(self._text):
            raise _NotSimple
        return calls

    def _read_arguments(self) -> dict[str, Any]:
        """Read the arguments of a call, up to and with its closing parenthesis.

        Raises _NotSimple if an argument has a form that this fast parser does not know.
        """
        arguments: dict[str, Any] = {}
        if self._is_next(")"):
            self._position += 1
            return arguments

        while True:
            # The pattern matches `name=`, and then a scalar (in one of several groups) with the
            # comma or parenthesis after it, or only the opening bracket of a list.
            name, *scalar_groups, scalar_separator = self._match(ARGUMENT).groups()
            if name in RESERVED:
                raise _NotSimple
            if scalar_separator is None:
                arguments[name] = self._read_elements()
                separator = self._match(AFTER_LIST)[1]
            else:
                arguments[name] = _convert_scalar(*scalar_groups)
                separator = scalar_separator
            if separator == ")":
                return arguments

    def _read_elements(self) -> list[Any]:
        """Read the elements of a list, after its opening bracket, up to its closing bracket. Only
        scalars are allowed, such as numbers and strings.
        """
        elements: list[Any] = []
        if self._is_next("]"):
            self._position += 1
            return elements
        separator = ","
        while separator == ",":
            # The last group of the pattern is a comma or the closing bracket.
            *scalar_groups, separator = self._match(ELEMENT).groups()
            elements.append(_convert_scalar(*scalar_groups))
        return elements

    def _is_next(self, text: str) -> bool:
        return self._text.startswith(text, self._position)

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Match a pattern at the position, and go to its end."""
        match = pattern.match(self._text, self._position)
        if match is None:
            raise _NotSimple
        self._position = match.end()
        return match


def _convert_scalar(
    single: str | None, double: str | None, whole: str | None, fraction: str | None, word: str
) -> Any:
    """Return the value of the groups of `SCALAR`: a string in `single` or `double` quotes, a
    number, or a word. Raises _NotSimple for a keyword.
    """
    if single is not None:
        return single
    if double is not None:
        return double
    if whole is not None:
        return int(whole) if fraction is None else float(whole + fraction)
    if word in CONSTANTS:
        return CONSTANTS[word]
    if word in RESERVED:
        raise _NotSimple
    return word


PROSE_START = re.compile(
    rf"\[[ \n]*({NAME})(?:['\"]|!(?!=)|[ \n]+({NAME})(?=[ \n.,:;!?()]))|\[[ \n]*`"
)
MAX_QUOTED_ELEMENT = 80
"""Longest quoted element of a list that is no call, in characters."""
OPERATORS = frozenset(keyword.kwlist) - CONSTANTS.keys()
STRING_PREFIX = re.compile(r"[rbuftRBUFT]{1,2}")


def is_prose(text: str) -> bool:
    """Whether the start of a text shows that it is not a Python expression.

    Prose starts with two words (`[Here are`), a word and a quote (`[I'm`), a word and an
    exclamation mark, or a backtick. This check is faster than the parser, and its message is
    clearer.
    """
    start = PROSE_START.match(text)
    if start is None:
        return False
    first_word, second_word = start.groups()
    # Only the backtick matches without a word.
    if first_word is None:
        return True
    # `[not a`, `[x or y` and `[not None` are Python expressions.
    if first_word in OPERATORS or second_word in OPERATORS or second_word in CONSTANTS:
        return False
    if second_word is not None:
        return True
    # A quote or an exclamation mark follows the word. `[f'` begins a string with a prefix.
    return STRING_PREFIX.fullmatch(first_word) is None


def add_brackets(text: str) -> str:
    start = "" if text.startswith("[") else "["
    end = "" if text.endswith("]") else "]"
    return start + text + end


def clean_prompt_text(text: str) -> str:
    """Remove backticks, newlines and spaces at both ends and add missing brackets."""
    return add_brackets(text.strip("`\n "))


def parse_calls(text: str, version: str = "V4") -> Calls:
    """Parse `[f(a=1), ...]` as one Python expression. Raises Undecodable and WrongFormat.

    In V1, a single call needs brackets, and every call needs keyword arguments. Later versions
    require neither. V2 and V3 remove brackets and quotes at both ends, so a newline between two
    calls is a syntax error. V4 removes white space and then quotes at both ends, but no brackets.
    """
    if version == "V1":
        return _parse_v1_calls(text)
    if version in ("V2", "V3"):
        return _parse_v2_calls(text)
    cleaned = text.strip().strip("'")
    calls = parse_simple_calls(cleaned)
    if calls is not None:
        return calls
    # The text still has its brackets, if it has any, so it is also the text that can be prose.
    return [read_call(node) for node in _parse_call_nodes(cleaned, listed=cleaned)]


def _parse_v1_calls(text: str) -> Calls:
    """Parse a list of calls as V1 of the benchmark does. Raises WrongFormat for calls without
    keyword arguments, which V1 cannot evaluate.
    """
    calls = parse_simple_calls(text)
    if calls is not None:
        # The fast parser reads only keyword arguments, so a call without arguments has none.
        without_keywords = [name for name, arguments in calls if not arguments]
    else:
        nodes = _parse_call_nodes(text, listed=text, accepts_single_call=False)
        calls = [read_call(node) for node in nodes]
        without_keywords = [read_dotted_name(node.func) for node in nodes if not node.keywords]
    if without_keywords:
        reason = f"{without_keywords[0]} is called without keyword arguments"
        raise WrongFormat(reason, list(calls))
    return calls


def _parse_v2_calls(text: str) -> Calls:
    """Parse calls as V2 and V3 do: without all brackets and quotes at both ends.

    The fast parser and the recognition of prose need a list, so they get the text in brackets
    again.
    """
    stripped = text.strip("[]'")
    if not stripped:
        raise Undecodable("the reply contains only brackets and quotes")
    listed = f"[{stripped}]"
    # Without the brackets, white space in front and a newline between two calls are errors, which
    # the fast parser does not find.
    may_have_syntax_error = stripped[0] == " " or "\n" in stripped
    if not may_have_syntax_error:
        calls = parse_simple_calls(listed)
        if calls is not None:
            return calls
    return [read_call(node) for node in _parse_call_nodes(stripped, listed=listed)]


def _parse_call_nodes(
    text: str, *, listed: str, accepts_single_call: bool = True
) -> list[ast.Call]:
    """Parse calls with the `ast` parser, which is slow but knows every form.

    Raises Undecodable for anything else than calls.

    Args:
        text: The text that is parsed: a list of calls or, if it is accepted, a single call.
        listed: The same text as a list in brackets, in which prose is recognised.
        accepts_single_call: Whether a call without a list is accepted.
    """
    if is_prose(listed):
        raise Undecodable("prose, not calls")
    body = parse_expression(text)
    if isinstance(body, ast.Call) and accepts_single_call:
        return [body]
    if not isinstance(body, (ast.List, ast.Tuple, ast.Set)):
        raise Undecodable("the text is not a list of calls")
    for element in body.elts:
        if not isinstance(element, ast.Call):
            source = unparse_node(element)[:MAX_QUOTED_ELEMENT]
            raise Undecodable(f"an element of the list is not a call: {source}")
    return cast("list[ast.Call]", body.elts)


def parse_call_text(
    text: str, functions: Sequence[dict[str, Any]] = ()
) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the arguments of one call, such as `cd(folder='a')`.

    None if the text is no call. `functions` are the function docs, which name the parameters of
    positional arguments.
    """
    # The fast parser reads most calls. It returns None if a call is not simple.
    simple_calls = parse_simple_calls(f"[{text}]")
    if simple_calls is not None:
        return simple_calls[0] if len(simple_calls) == 1 else None
    try:
        node = parse_expression(text.strip())
        if not isinstance(node, ast.Call):
            return None
        name, keywords = read_call(node)
        positional = [read_argument_value(argument) for argument in node.args]
    except (Undecodable, RecursionError):
        return None
    return name, _name_positional_arguments(positional, name, functions) | keywords


def _name_positional_arguments(
    values: Sequence[Any], function: str, functions: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return positional arguments by the names of their parameters.

    An argument without a declared parameter gets its position as its name: "0", "1" ...
    """
    if not values:
        return {}
    parameter_names = _list_parameter_names(function, functions)
    arguments = {}
    for index, value in enumerate(values):
        is_declared = index < len(parameter_names)
        name = parameter_names[index] if is_declared else str(index)
        arguments[name] = value
    return arguments


def _list_parameter_names(name: str, functions: Sequence[dict[str, Any]]) -> list[str]:
    """Return the parameters of a function in the order of its doc. Empty without a doc."""
    for doc in functions:
        if doc.get("name") == name:
            return list(read_declared_parameters(doc).properties or ())
    return []


def make_text_decoder(clean: Callable[[str], str]) -> DecodeFunction:
    """Return a decoder that applies `clean` to the reply and parses the result."""
    return lambda result, context: parse_calls_in_language(clean(require_text(result)), context)


def parse_calls_in_language(text: str, context: DecoderContext) -> Calls:
    """Parse calls in the category's language.

    The first and last character of Java and JavaScript text are ignored.
    """
    if context.language == "python":
        return parse_calls(text, context.version)
    return parse_java_or_javascript(text[1:-1], context.language)


def clean_blank(text: str) -> str:
    """Remove one leading space and add missing brackets."""
    if not text:
        raise Undecodable("the reply is empty")
    return add_brackets(text.removeprefix(" "))


def remove_phi_fence(text: str) -> str:
    """Remove white space at both ends, and an opening code fence with the language `json` or
    `python`.
    """
    return text.strip().removeprefix("```json").removeprefix("```python")


def remove_tool_code_fences(text: str) -> str:
    return text.replace("```tool_code\n", "").replace("\n```", "")


def clean_phi(text: str) -> str:
    """Remove an opening code fence with a language, then clean up like a PROMPT reply."""
    return clean_prompt_text(remove_phi_fence(text))


def clean_gemini(text: str) -> str:
    """Remove `tool_code` fences, then clean up like a PROMPT reply."""
    return clean_prompt_text(remove_tool_code_fences(text))


def decode_nemotron(result: Any, context: DecoderContext) -> Calls:
    """Decode the first `<TOOLCALL>` block like a PROMPT reply.

    A reply without a block contains no call.
    """
    found = re.search("<TOOLCALL>(.*?)</TOOLCALL>", require_text(result), re.DOTALL)
    if found is None:
        return []
    return parse_calls_in_language(clean_prompt_text(found[1]), context)


def clean_gemma1(text: str) -> str:
    """Return the text from the first `[` to the last `]`."""
    start = text.find("[")
    end = text.rfind("]")
    if start < 0 or end < start:
        raise Undecodable("the text contains no [ ... ]")
    return text[start : end + 1]


def clean_coder1(text: str) -> str:
    """Return the text from the first `[` in the first code fence to the *next* `]`."""
    parts = text.split("```")
    inside = parts[1] if len(parts) > 1 else ""
    start = inside.find("[")
    end = inside.find("]", start)
    if start < 0 or end < 0:
        raise Undecodable("the text contains no code fence with [ ... ]")
    return inside[start : end + 1]


def decode_quoted(result: Any, context: DecoderContext) -> Calls:
    """Decode `['f(a=1)', 'g(b=2)']`, a list of calls in quotes."""
    reply = require_text(result).replace("\n", "")
    # As in the handlers of V1, the added brackets have a blank inside. So in a reply without
    # brackets, the quotes around calls stay, and such calls cannot be decoded.
    opening, closing = ("[ ", " ]") if context.is_v1 else ("[", "]")
    if not reply.startswith("["):
        reply = opening + reply
    if not reply.endswith("]"):
        reply = reply + closing
    return parse_calls_in_language(_remove_quotes_around_calls(reply), context)


def _remove_quotes_around_calls(text: str) -> str:
    """Return `['f(a=1)', 'g(b=2)']` as `[f(a=1), g(b=2)]`."""
    unquoted = text
    if unquoted.startswith("['"):
        unquoted = unquoted.replace("['", "[").replace("', '", ", ").replace("','", ", ")
    if unquoted.endswith("']"):
        unquoted = unquoted.replace("']", "]")
    return unquoted


def decode_raven(result: Any, context: DecoderContext) -> Calls:
    """Decode `f(a=1);g(b=2);`. A reply with `out_of_domain` calls no function."""
    text = require_text(result)
    # The calls are parsed even if the reply refuses, so that they can be shown with the error.
    calls = parse_calls_in_language("[" + text.removesuffix(";").replace(";", ",") + "]", context)
    if "out_of_domain" in text:
        raise WrongFormat("out_of_domain: no function is called", list(calls))
    return calls


def decode_dbrx(result: Any, context: DecoderContext) -> Calls:
    """Decode the reply without the quotes around its strings.

    If that fails, decode the unchanged reply.
    """
    text = require_text(result)
    unquoted = add_brackets(re.sub("'([^']*)'", r"\1", text).replace("\n    ", ""))
    if unquoted.startswith("['"):
        unquoted = unquoted.replace("['", "[")
    try:
        return parse_calls_in_language(unquoted, context)
    except Undecodable:
        return parse_calls_in_language(text, context)
