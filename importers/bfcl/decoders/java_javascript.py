"""Parse calls in Java and JavaScript, and convert their arguments to the values that the checker
compares.

An argument is source text. Text that does not match its declared type stays text, so it fails the
checker's type check. Source: the official `java_parser.py`, `js_parser.py`,
`java_type_converter.py` and `js_type_converter.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
    """Return the parser for Java or JavaScript. It is imported here, because that takes time."""
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
    code = text
    if language == "javascript":
        # In the official grammar a code fence ends the statement; newer grammars read it as a
        # template string.
        code = text.replace("\n```", ";\n```")
    root = _parse_code(code, language)
    call = _JavaReader(code).read_call(root) if language == "java" else _read_javascript_call(root)
    if call is None:
        raise WrongFormat("the code contains no call")
    return [call]


def _parse_code(code: str, language: str) -> Node:
    """Return the syntax tree. Raises Undecodable if the code is not valid."""
    try:
        source = code.encode()
    except UnicodeEncodeError as error:
        raise Undecodable(f"the reply contains invalid characters: {error.reason}") from None
    root = _load_parser(language).parse(source).root_node
    # `has_error` is also true for a missing semicolon, which is accepted.
    if root.has_error and _find_first_node(root, "ERROR") is not None:
        language_name = "Java" if language == "java" else "JavaScript"
        raise Undecodable(f"the text is not valid {language_name}")
    return root


def _node_text(node: Node) -> str:
    return (node.text or b"").decode()


def _add_argument(arguments: dict[Any, Any], name: str | None, value: str) -> None:
    if name in arguments:
        if name:
            raise Undecodable(f"argument {name} is given twice")
        raise Undecodable("several arguments have no name")
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
        try:
            return self._read_function_name(call), self._read_arguments(call)
        except RecursionError:
            raise Undecodable("the expression is nested too deeply") from None

    def _read_function_name(self, call: Node) -> str:
        """Return the name of the called method, with its object if there is one."""
        called_object = call.child_by_field_name("object")
        name = call.child_by_field_name("name")
        function = self._slice_code(name) if name is not None else ""
        if called_object is None:
            return function
        return f"{self._slice_code(called_object)}.{function}"

    def _read_arguments(self, call: Node) -> dict[str, Any]:
        """Return the arguments of the form `name = value`, and an argument that is only a name
        under the key None, as in BFCL.
        """
        arguments: dict[str, Any] = {}
        argument_list = call.child_by_field_name("arguments")
        if argument_list is None:
            return arguments
        for child in argument_list.children:
            if child.type == "assignment_expression":
                parameter, _equals_sign, value = child.children[:3]
                _add_argument(
                    arguments,
                    self._slice_code(parameter),
                    self._read_code(value, is_argument=True),
                )
            elif child.type in ("identifier", "class_literal"):
                _add_argument(arguments, None, self._read_code(child))
        return arguments

    def _read_code(self, node: Node, is_argument: bool = False) -> str:
        """Return the source text of a value without spaces.

        A literal that is a whole argument loses its quotes.
        """
        if is_argument and node.type in ("string_literal", "character_literal"):
            return self._slice_code(node)[1:-1]
        if node.type in VERBATIM_NODES:
            return self._slice_code(node)
        if node.type == "array_creation_expression":
            return self._read_array_creation(node)
        if node.type == "object_creation_expression":
            return self._read_object_creation(node)
        if node.child_count:
            return "".join(self._read_code(child) for child in node.children)
        return self._slice_code(node)

    def _read_array_creation(self, node: Node) -> str:
        """Return the code of an array: `new int[]{1,2}`."""
        element_type = node.child_by_field_name("type")
        elements = node.child_by_field_name("value")
        if element_type is None or elements is None:
            raise Undecodable("an array has no elements")
        return f"new {self._read_code(element_type)}[]{self._read_code(elements)}"

    def _read_object_creation(self, node: Node) -> str:
        """Return the code of an object: `new Point(1, 2)`."""
        object_type = node.child_by_field_name("type")
        argument_list = node.child_by_field_name("arguments")
        arguments = []
        if argument_list is not None:
            for child in argument_list.children:
                if child.type not in ("(", ",", ")"):
                    arguments.append(self._read_code(child))
        type_name = self._read_code(object_type) if object_type is not None else ""
        return f"new {type_name}({', '.join(arguments)})"


def _read_javascript_call(root: Node) -> tuple[str, dict[str, Any]] | None:
    """Return the name and the arguments of the first statement that is a call, or None.

    `root` is the syntax tree of a reply such as `f(name = 'Eve', user)`. As in BFCL's
    `js_parser.py`, an argument that is only an identifier or `true` has the key None, and all other
    arguments without a name are dropped.
    """
    call = _find_call_statement(root)
    if call is None:
        return None

    function, argument_list = call.children[:2]
    arguments: dict[str, Any] = {}
    for child in argument_list.children:
        if child.type == "assignment_expression":
            parameter, _equals_sign, value_node = child.children[:3]
            value = _node_text(value_node)
            if is_quoted(value, QUOTES):
                value = value[1:-1]
            _add_argument(arguments, _node_text(parameter), value)
        elif child.type in ("identifier", "true"):
            _add_argument(arguments, None, _node_text(child))
    return _node_text(function), arguments


def _find_call_statement(root: Node) -> Node | None:
    """Return the first statement that is a call, in the syntax tree of a reply."""
    for statement in root.children:
        if statement.type != "expression_statement":
            continue
        for expression in statement.children:
            if expression.type == "call_expression":
                return expression
    return None


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

QUOTES = "\"'"  # characters around a string in JavaScript
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
            return text[1:-1] if is_quoted(text, QUOTES) else text
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
    """Return the number that a text such as `5L` states, which ends in one of the letters
    `suffixes`.

    A text that is no such number is returned unchanged.
    """
    number = text.removesuffix("\n")
    if not number.endswith(tuple(suffixes)):
        return text
    value = parse(number[:-1])
    # `parse` returns a text that is no number as it is.
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
    if end < 0:
        return None
    inside = text[start:end]
    return None if "\n" in inside else inside


def _text_between(
    head: re.Pattern[str], text: str, closing: str, min_length: int = 0
) -> str | None:
    """Return the first text between a match of `head` and the next `closing` that contains no
    newline, or None.
    """
    for match in head.finditer(text):
        inside = _text_until(text, match.end(), closing, min_length)
        if inside is not None:
            return inside
    return None


def _parse_java_array(text: str, element_type: str | None) -> list[Any] | None:
    """Return the elements of a Java array such as `new int[]{1, 2}`, or None for other text."""
    inside = _text_between(ARRAY, text, "}")
    if inside is None:
        return None
    elements = []
    for part in inside.split(","):
        element = part.strip()
        if element:
            elements.append(_parse_java_element(element, element_type))
    return elements


def _parse_java_element(text: str, element_type: str | None) -> Any:
    if element_type:
        return convert_java(text, element_type)
    return _guess_java_value(text)


def _parse_array_list(text: str, element_type: str | None) -> list[Any] | None:
    """Parse one of three forms of a Java list, or return None for other text.

    The forms are `new ArrayList<>(Arrays.asList(1, 2))`, a list that calls `add` in double braces,
    as in `new ArrayList<>() {{ add(1); add(2); }}`, and the empty list. As in BFCL's
    `java_type_converter.py`, the first two have at least one character inside.
    """
    listed_text = _text_between(LIST_OF, text, "))", min_length=1)
    if listed_text is not None:
        return [_parse_list_element(part.strip(), element_type) for part in listed_text.split(",")]

    opening = LIST_BRACES.search(text)
    if opening is not None:
        first_character_inside = opening.end()
        end = text.find("}}", first_character_inside + 1)
        if end >= 0:
            added = ADDED.findall(text[opening.end() : end])
            return [_parse_list_element(part.strip(), element_type) for part in added]

    is_empty = LIST_EMPTY.search(text) is not None
    return [] if is_empty else None


def _parse_list_element(part: str, element_type: str | None) -> Any:
    if element_type in ("char", "String"):
        return part[1:-1]
    return _parse_java_element(part, element_type)


def _parse_hash_map(text: str, _element_type: str | None) -> dict[str, Any] | None:
    """Parse a Java map that calls `put` in double braces, or an empty one. An example is
    `new HashMap<>() {{ put("a", 1); }}`. Return None for other text.
    """
    head = MAP.search(text)
    if head is None:
        return None

    opening = MAP_BRACES.search(text, head.end())
    if opening is not None:
        end = text.find("}", opening.end())
        if end >= 0:
            members = PUT.findall(text[opening.end() : end])
            return {key: _guess_java_value(value.strip()) for key, value in members}

    is_empty = MAP_EMPTY.search(text, head.end()) is not None
    return {} if is_empty else None


def _guess_java_value(text: str) -> Any:
    """Return the value of a Java literal whose type is not declared."""
    if text in BOOLEANS:
        return BOOLEANS[text]
    if is_quoted(text, '"'):
        return text[1:-1]
    # The result of these two steps is a text if the literal is no number with this suffix.
    long_number = _parse_number_with_suffix(text, "lL", _parse_integer)
    if not isinstance(long_number, str):
        return long_number
    float_number = _parse_number_with_suffix(text, "fF", _parse_float)
    if not isinstance(float_number, str):
        return float_number
    return _guess_number(text)


def _parse_javascript_array(text: str, element_type: str | None) -> list[Any] | str:
    """Parse an array such as `[1, 2]`, or an array of arrays such as `[[1, 2], [3]]`.

    Text that is no array is returned as it is. The elements of inner arrays have no declared type,
    so their type is guessed.
    """
    rows = _find_rows(text)
    if rows is not None:
        return [[_guess_javascript_value(part) for part in row.split(",")] for row in rows]

    elements = _find_array_elements(text)
    has_known_type = element_type is None or element_type in JAVASCRIPT_TYPES
    if elements is None or not has_known_type:
        return text
    if not elements.strip():
        return []

    values = []
    for part in elements.split(","):
        if element_type:
            values.append(convert_javascript(part.strip(), element_type))
        else:
            values.append(_guess_javascript_value(part.strip()))
    return values


def _find_rows(text: str) -> list[str] | None:
    """Return the texts of the inner arrays of an array of arrays, or None for other text.

    As in the official program, a newline may stand only between two inner arrays.
    """
    start = ROWS.match(text)
    if start is None:
        return None
    end = ROWS_END[text[0]].search(text, start.end())
    if end is None:
        return None
    first_bracket = start.end() - 1
    last_bracket = end.start()
    rows = text[first_bracket : last_bracket + 1]
    text_without_separators = BETWEEN_ROWS.sub("", rows)
    if "\n" in text_without_separators:
        return None
    return find_blocks(rows, "[", "]")


def _find_array_elements(text: str) -> str | None:
    """Return the elements of `[1, 2]` or `new Array(1, 2)` as one text; None for other text."""
    if text.startswith("["):
        # The elements begin after the bracket.
        return _text_until(text, 1, "]")
    head = NEW_ARRAY.match(text)
    if head is None:
        return None
    return _text_until(text, head.end(), ")")


def _parse_javascript_object(text: str) -> dict[str, Any] | str:
    """Parse an object such as `{name: 'Eve', age: 3}` without inner objects.

    Text that is no object is returned as it is. As in the official program, the object ends at the
    first closing brace, and the text after it is ignored.
    """
    if not text.startswith("{"):
        return text
    inside = _text_until(text, 1, "}")
    if inside is None:
        return text

    return {
        key.strip().strip(QUOTES): _parse_member_value(value.strip())
        for key, value in _iter_members(inside)
    }


def _iter_members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text of each key and of its value, from the text inside the braces of an object."""
    rest = text
    while rest:
        key, colon, rest = rest.partition(":")
        # A key has at least one character. A colon without a key is skipped.
        if key and colon:
            end = _find_member_end(rest)
            yield key, rest[:end]
            # The next key begins after the comma and the spaces that follow it.
            rest = rest[end + 1 :].lstrip()


def _parse_member_value(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _parse_javascript_array(text, None)
    return _guess_javascript_value(text.strip(QUOTES))


def _find_member_end(text: str) -> int:
    """Return the position of the first comma that a key and a colon follow, or the length of the
    text.
    """
    comma = text.find(",")
    while comma >= 0:
        next_comma = text.find(",", comma + 1)
        search_end = len(text) if next_comma < 0 else next_comma
        # A key has at least one character, which is why the search skips the one after the comma.
        has_key = text.find(":", comma + 2, search_end) >= 0
        if has_key:
            return comma
        comma = next_comma
    return len(text)


def _guess_javascript_value(text: str) -> Any:
    text = text.strip()
    if text in BOOLEANS:
        return BOOLEANS[text]
    if is_quoted(text, QUOTES):
        return text[1:-1]
    return _guess_number(text)
