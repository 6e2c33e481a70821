"""Parse Java and JavaScript calls, `f(a="x", b=new int[]{1, 2})`, with tree-sitter grammars.

Only the first call and its `name=value` arguments count. Values stay source text; string literals lose their quotes.
A grammar is loaded when it is first needed.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fcreview.importers.bfcl.decoders.base import Calls, WrongFormat, check_size
from fcreview.importers.common.records import Undecodable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

VERBATIM_NODES = {"identifier", "class_literal", "type_identifier", "method_invocation"}
"""Types of Java nodes whose source text is kept unchanged."""


@lru_cache(maxsize=2)
def _load_parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    if language == "java":
        import tree_sitter_java

        return Parser(Language(tree_sitter_java.language()))
    import tree_sitter_javascript

    return Parser(Language(tree_sitter_javascript.language()))


def parse_source(text: str, language: str) -> Calls:
    """Parse one call in "java" or "javascript". Raises Undecodable, or WrongFormat for code without a call."""
    check_size(text)
    if language == "javascript":
        # In the official grammar a code fence ends the statement; newer grammars read it as a template string.
        text = text.replace("\n```", ";\n```")
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise Undecodable(f"not text: {error.reason}") from None
    root = _load_parser(language).parse(source).root_node
    if root.has_error and _find_first(root, "ERROR") is not None:  # a missing semicolon is no error
        raise Undecodable(f"not {'Java' if language == 'java' else 'JavaScript'} syntax")
    found = _JavaReader(text).read_call(root) if language == "java" else _read_javascript_call(root)
    if found is None:
        raise WrongFormat("code without a call")
    return [found]


def _node_text(node: Node) -> str:
    return (node.text or b"").decode()


def _add_argument(arguments: dict[Any, Any], name: str | None, value: str) -> None:
    if name in arguments:
        raise Undecodable(f"{f'argument {name} is' if name else 'unnamed arguments are'} given twice")
    arguments[name] = value


def _find_first(node: Node, node_type: str) -> Node | None:
    """Return the first node of a type, depth first, or None. A loop avoids recursion, because the tree may be deep."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == node_type:
            return node
        waiting.extend(reversed(node.children))
    return None


class _JavaReader:
    """Reads the first call of a Java syntax tree.

    As in the official program, byte offsets are used as character offsets, so text after a non-ASCII letter is shifted.
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def node_text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte]

    def read_call(self, root: Node) -> tuple[str, dict[str, Any]] | None:
        """Return the name and arguments of the first call; None if the tree has no call."""
        call = _find_first(root, "method_invocation")
        if call is None:
            return None
        target, name = call.child_by_field_name("object"), call.child_by_field_name("name")
        function = self.node_text(name) if name else ""
        if target is not None:
            function = f"{self.node_text(target)}.{function}"
        arguments: dict[str, Any] = {}
        holder = call.child_by_field_name("arguments")
        try:
            for child in holder.children if holder else []:
                if child.type == "assignment_expression":
                    parameter, value = child.children[0], child.children[2]
                    _add_argument(arguments, self.node_text(parameter), self.read_value(value, outermost=True))
                elif child.type in ("identifier", "class_literal"):
                    _add_argument(arguments, None, self.read_value(child))
        except RecursionError:
            raise Undecodable("too deeply nested expression") from None
        return function, arguments

    def read_value(self, node: Node, outermost: bool = False) -> str:
        """Return the source text of a value without insignificant spaces, the form that BFCL compares.

        The quotes of a literal are removed only if it is an argument itself (`outermost`).
        """
        if node.type in ("string_literal", "character_literal"):
            return self.node_text(node)[1:-1] if outermost else self.node_text(node)
        if node.type in VERBATIM_NODES:
            return self.node_text(node)
        if node.type == "array_creation_expression":
            element, value = node.child_by_field_name("type"), node.child_by_field_name("value")
            if element is None or value is None:
                raise Undecodable("an array without elements")
            return f"new {self.read_value(element)}[]{self.read_value(value)}"
        if node.type == "object_creation_expression":
            created, given = node.child_by_field_name("type"), node.child_by_field_name("arguments")
            inside = [self.read_value(child) for child in given.children if child.type not in ",()"] if given else []
            return f"new {self.read_value(created) if created else ''}({', '.join(inside)})"
        if node.child_count:
            return "".join(self.read_value(child) for child in node.children)
        return self.node_text(node)


def _read_javascript_call(root: Node) -> tuple[str, dict[str, Any]] | None:
    """Return the name and arguments of the first statement that is a call; None if no statement is a call."""
    for statement in root.children:
        if statement.type != "expression_statement":
            continue
        for call in statement.children:
            if call.type != "call_expression":
                continue
            arguments: dict[str, Any] = {}
            for child in call.children[1].children:
                if child.type == "assignment_expression":
                    parameter, value = child.children[0], child.children[2]
                    _add_argument(arguments, _node_text(parameter), _strip_quotes(_node_text(value)))
                elif child.type in ("identifier", "true"):
                    _add_argument(arguments, None, _node_text(child))
            return _node_text(call.children[0]), arguments
    return None


def _strip_quotes(text: str) -> str:
    for quote in "\"'":
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text
