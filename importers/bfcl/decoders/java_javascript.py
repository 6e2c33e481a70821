"""Parse calls in Java and JavaScript, and convert their arguments to the values that the checker
compares.

An argument is source text. Text that does not match its declared type stays text, so it fails the
checker's type check. Source: the official `java_parser.py`, `js_parser.py`,
`java_type_converter.py` and `js_type_converter.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fcreview.importers.bfcl.decoders.base import Calls, WrongFormat, find_blocks, is_quoted
from fcreview.importers.common.python_syntax import check_text_size
from fcreview.importers.common.records import Undecodable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

VERBATIM_NODES = {
    "identifier",
    "class_literal",
    "type_identifier",
    "method_invocation",
    "string_literal",
    "character_literal",
}


@lru_cache(maxsize=2)
def _load_parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    if language == "java":
        import tree_sitter_java

        return Parser(Language(tree_sitter_java.language()))
    import tree_sitter_javascript

    return Parser(Language(tree_sitter_javascript.language()))


def parse_java_or_javascript(text: str, language: str) -> Calls:
    """Parse one call in "java" or "javascript".

    Raises Undecodable, or WrongFormat for code without a call.
    """
    check_text_size(text)
    if language == "javascript":
        # In the official grammar a code fence ends the statement; newer grammars read it as a
        # template string.
        text = text.replace("\n```", ";\n```")
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise Undecodable(f"the reply contains invalid characters: {error.reason}") from None
    root = _load_parser(language).parse(source).root_node
    # a missing semicolon is not an error
    if root.has_error and _find_first_node(root, "ERROR") is not None:
        raise Undecodable(f"the text is not valid {'Java' if language == 'java' else 'JavaScript'}")
    found = _JavaReader(text).read_call(root) if language == "java" else _read_javascript_call(root)
    if found is None:
        raise WrongFormat("the code contains no call")
    return [found]


def _node_text(node: Node) -> str:
    return (node.text or b"").decode()


def _add_argument(arguments: dict[Any, Any], name: str | None, value: str) -> None:
    if name in arguments:
        raise Undecodable(
            f"argument {name} is given twice" if name else "several arguments have no name"
        )
    arguments[name] = value


def _find_first_node(node: Node, node_type: str) -> Node | None:
    """Return the first node of a type, depth first, or None.

    Without recursion, because the tree may be deep.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == node_type:
            return node
        waiting.extend(reversed(node.children))
    return None


class _JavaReader:
    """Reads the first call of a Java syntax tree.

    As in BFCL, byte offsets are used as character offsets.
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def _slice_code(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte]

    def read_call(self, root: Node) -> tuple[str, dict[str, Any]] | None:
        """Return the name and arguments of the first call; None if the tree has no call."""
        call = _find_first_node(root, "method_invocation")
        if call is None:
            return None
        target, name = call.child_by_field_name("object"), call.child_by_field_name("name")
        prefix = f"{self._slice_code(target)}." if target is not None else ""
        function = prefix + (self._slice_code(name) if name else "")
        arguments: dict[str, Any] = {}
        holder = call.child_by_field_name("arguments")
        try:
            for child in holder.children if holder else []:
                if child.type == "assignment_expression":
                    parameter, value = child.children[0], child.children[2]
                    _add_argument(
                        arguments,
                        self._slice_code(parameter),
                        self._read_code(value, is_argument=True),
                    )
                elif child.type in ("identifier", "class_literal"):
                    _add_argument(arguments, None, self._read_code(child))
        except RecursionError:
            raise Undecodable("the expression is nested too deeply") from None
        return function, arguments

    def _read_code(self, node: Node, is_argument: bool = False) -> str:
        """Return the source text of a value without spaces.

        A literal that is a whole argument loses its quotes.
        """
        if is_argument and node.type in ("string_literal", "character_literal"):
            return self._slice_code(node)[1:-1]
        if node.type in VERBATIM_NODES:
            return self._slice_code(node)
        if node.type == "array_creation_expression":
            element, value = node.child_by_field_name("type"), node.child_by_field_name("value")
            if element is None or value is None:
                raise Undecodable("an array has no elements")
            return f"new {self._read_code(element)}[]{self._read_code(value)}"
        if node.type == "object_creation_expression":
            created, given = node.child_by_field_name("type"), node.child_by_field_name("arguments")
            inside = (
                [self._read_code(child) for child in given.children if child.type not in ",()"]
                if given
                else []
            )
            return f"new {self._read_code(created) if created else ''}({', '.join(inside)})"
        if node.child_count:
            return "".join(self._read_code(child) for child in node.children)
        return self._slice_code(node)


def _read_javascript_call(root: Node) -> tuple[str, dict[str, Any]] | None:
    statements = (node for node in root.children if node.type == "expression_statement")
    calls = (
        node
        for statement in statements
        for node in statement.children
        if node.type == "call_expression"
    )
    call = next(calls, None)
    if call is None:
        return None
    arguments: dict[str, Any] = {}
    for child in call.children[1].children:
        if child.type == "assignment_expression":
            parameter, value = _node_text(child.children[0]), _node_text(child.children[2])
            _add_argument(arguments, parameter, value[1:-1] if is_quoted(value, "\"'") else value)
        elif child.type in ("identifier", "true"):
            _add_argument(arguments, None, _node_text(child))
    return _node_text(call.children[0]), arguments


JAVA_TYPES: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    **dict.fromkeys(("char", "String", "any"), str),
    **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
    **dict.fromkeys(("HashMap", "Hashtable"), dict),
    "boolean": bool,
    "Set": set,
}
"""Declared Java type -> type of the Python value."""
JAVASCRIPT_TYPES: dict[str, type] = {
    "String": str,
    "integer": int,
    "float": float,
    "Bigint": int,
    "Boolean": bool,
    "dict": dict,
    "array": list,
    "any": str,
}

MAX_LITERAL = 10_000
"""Longest collection literal that is parsed, in characters.

The limit bounds the time for hostile input.
"""
INTEGER = re.compile(r"-?\d+\n?\Z")
DECIMAL = re.compile(r"-?\d+(?:\.\d+)?\n?\Z")
SCIENTIFIC = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\n?\Z")
BOOLEANS = {"true": True, "false": False}

LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\(")
LIST_BRACES = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*")
LIST_EMPTY = re.compile(r"new\s+ArrayList<\w*>\(\)")
ADDED = re.compile(r"add\(([^\n][^)\n]*)\)")
ARRAY = re.compile(r"new\s+\w+\[\]\s*\{")
MAP = re.compile(r"new\s+HashMap<")
MAP_BRACES = re.compile(r">\s*\(\)\s*\{\s*\{?")
MAP_EMPTY = re.compile(r">\s*\(\)")
PUT = re.compile(r'put\("([^\n]*?)",\s*([^)\n]*)\)')

ROWS = re.compile(r"(?:\[|new\s+Array\()\s*\[")
ROWS_END = {"[": re.compile(r"\]\s*\]"), "n": re.compile(r"\]\s*\)")}
BETWEEN_ROWS = re.compile(r"\]\s*,\s*\[")
"""Matches the text between two rows of a nested list. Only this text may contain newlines."""
NEW_ARRAY = re.compile(r"new\s+Array\(")


def convert_java(text: str, declared_type: str, element_type: str | None = None) -> Any:
    """Convert Java source text to a value of the declared type.

    Text that does not match the type stays text.
    """
    match declared_type:
        case "byte" | "short" | "integer":
            return _parse_integer(text)
        case "long":
            return _parse_number_with_suffix(text, "lL", _parse_integer)
        case "float":
            return _parse_number_with_suffix(text, "fF", _parse_float)
        case "double":
            return _parse_float(text)
        case "boolean":
            return BOOLEANS.get(text, text)
        case "Array" | "ArrayList" | "HashMap" if len(text) <= MAX_LITERAL:
            parse = {
                "Array": _parse_java_array,
                "ArrayList": _parse_array_list,
                "HashMap": _parse_hash_map,
            }
            value = parse[declared_type](text, element_type)
            return text if value is None else value
    return text


def convert_javascript(text: str, declared_type: str, element_type: str | None = None) -> Any:
    """Convert JavaScript source text to a value of the declared type.

    Text that does not match the type stays text.
    """
    match declared_type:
        case "String":
            return text[1:-1] if is_quoted(text, "\"'") else text
        case "integer":
            return _parse_integer(text)
        case "float":
            return float(text) if DECIMAL.match(text) else text
        case "Bigint":
            return _parse_number_with_suffix(text, "n", _parse_integer)
        case "Boolean":
            return BOOLEANS.get(text, text)
        case "array" if len(text) <= MAX_LITERAL:
            return _parse_javascript_array(text.strip(), element_type)
        case "dict" if len(text) <= MAX_LITERAL:
            return _parse_javascript_object(text.strip())
    return text


def _parse_integer(text: str) -> int | str:
    try:
        return int(text) if INTEGER.match(text) else text
    except ValueError:
        return text


def _parse_float(text: str) -> float | str:
    return float(text) if SCIENTIFIC.match(text) else text


def _parse_number_with_suffix(
    text: str, suffixes: str, parse: Callable[[str], float | str]
) -> float | str:
    """Parse a number that ends in one of the letters `suffixes`, such as `5L`.

    Any other text is returned unchanged.
    """
    number = text.removesuffix("\n")
    if not number.endswith(tuple(suffixes)):
        return text
    value = parse(number[:-1])
    return text if isinstance(value, str) else value


def _guess_number(text: str) -> float | str:
    """Return an integer or a float, or the text if it is neither."""
    for number_type in (int, float):
        with suppress(ValueError):
            return number_type(text)
    return text


def _text_until(text: str, start: int, closing: str, min_length: int = 0) -> str | None:
    """Return the text from `start` to `closing`, of at least `min_length` characters; None if it
    contains a newline.
    """
    end = text.find(closing, start + min_length)
    return None if end < 0 or "\n" in text[start:end] else text[start:end]


def _text_between(
    head: re.Pattern[str], text: str, closing: str, min_length: int = 0
) -> str | None:
    """Return the first text between a match of `head` and the next `closing` that contains no
    newline, or None.
    """
    matches = (_text_until(text, found.end(), closing, min_length) for found in head.finditer(text))
    return next((inside for inside in matches if inside is not None), None)


def _parse_java_array(text: str, element_type: str | None) -> list[Any] | None:
    inside = _text_between(ARRAY, text, "}")
    if inside is None:
        return None
    parts = [part.strip() for part in inside.split(",")]
    return [
        convert_java(part, element_type) if element_type else _guess_java_value(part)
        for part in parts
        if part
    ]


def _parse_array_list(text: str, element_type: str | None) -> list[Any] | None:
    inside = _text_between(LIST_OF, text, "))", 1)
    if inside is not None:
        return [_parse_list_element(part.strip(), element_type) for part in inside.split(",")]
    head = LIST_BRACES.search(text)
    end = text.find("}}", head.end() + 1) if head else -1
    if head and end >= 0:
        return [
            _parse_list_element(part.strip(), element_type)
            for part in ADDED.findall(text[head.end() : end])
        ]
    return [] if LIST_EMPTY.search(text) else None


def _parse_list_element(part: str, element_type: str | None) -> Any:
    if element_type in ("char", "String"):
        return part[1:-1]
    return convert_java(part, element_type) if element_type else _guess_java_value(part)


def _parse_hash_map(text: str, _element_type: str | None) -> dict[str, Any] | None:
    head = MAP.search(text)
    if head is None:
        return None
    braces = MAP_BRACES.search(text, head.end())
    end = text.find("}", braces.end()) if braces else -1
    if braces and end >= 0:
        return {
            key: _guess_java_value(value.strip())
            for key, value in PUT.findall(text[braces.end() : end])
        }
    return {} if MAP_EMPTY.search(text, head.end()) else None


def _guess_java_value(text: str) -> Any:
    if text in BOOLEANS:
        return BOOLEANS[text]
    if is_quoted(text, '"'):
        return text[1:-1]
    for suffixes, parse in (("lL", _parse_integer), ("fF", _parse_float)):
        if not isinstance(value := _parse_number_with_suffix(text, suffixes, parse), str):
            return value
    return _guess_number(text)


def _parse_javascript_array(text: str, element_type: str | None) -> list[Any] | str:
    """Parse an array, which may contain arrays. Text that is not an array stays text."""
    rows = ROWS.match(text)
    end = ROWS_END[text[0]].search(text, rows.end()) if rows else None
    if rows and end:
        inside = text[rows.end() - 1 : end.start() + 1]
        if "\n" not in inside or "\n" not in BETWEEN_ROWS.sub("],[", inside):
            blocks = find_blocks(inside, "[", "]")
            return [[_guess_javascript_value(part) for part in row.split(",")] for row in blocks]
    line: str | None
    if text.startswith("["):
        line = _text_until(text, 1, "]")
    else:
        head = NEW_ARRAY.match(text)
        line = _text_until(text, head.end(), ")") if head else None
    if line is None or (element_type is not None and element_type not in JAVASCRIPT_TYPES):
        return text
    parts = [part.strip() for part in line.split(",")] if line.strip() else []
    return [
        convert_javascript(part, element_type) if element_type else _guess_javascript_value(part)
        for part in parts
    ]


def _parse_javascript_object(text: str) -> dict[str, Any] | str:
    """Parse an object without inner objects. As in the official program, it ends at the first
    closing brace.

    Text that is not an object stays text.
    """
    inside = _text_until(text, 1, "}") if text.startswith("{") else None
    if inside is None:
        return text
    found: dict[str, Any] = {}
    position = 0
    while (colon := inside.find(":", position)) >= 0:
        key = inside[position:colon]
        position = colon + 1
        if not key:
            continue
        end = _find_member_end(inside, position)
        value = inside[position:end].strip()
        position = len(inside) - len(inside[end + 1 :].lstrip())
        is_array = value.startswith("[") and value.endswith("]")
        parsed = (
            _parse_javascript_array(value, None)
            if is_array
            else _guess_javascript_value(value.strip("'\""))
        )
        found[key.strip().strip("'\"")] = parsed
    return found


def _find_member_end(text: str, start: int) -> int:
    """Return the position of the first comma that a key and a colon follow, or the length of the
    text.
    """
    comma = text.find(",", start)
    while comma >= 0:
        following = text.find(",", comma + 1)
        if text.find(":", comma + 2, len(text) if following < 0 else following) >= 0:
            return comma
        comma = following
    return len(text)


def _guess_javascript_value(text: str) -> Any:
    text = text.strip()
    if text in BOOLEANS:
        return BOOLEANS[text]
    return text[1:-1] if is_quoted(text, "\"'") else _guess_number(text)
