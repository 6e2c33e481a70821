"""Prompt-mode Java and JavaScript calls, `f(a="x", b=new int[]{1, 2})`, read with a tree-sitter grammar.

The first call counts, with its `name=value` arguments; values stay source text, and simple literals lose
their quotes. The grammars are loaded when the first such text is met.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fcreview.importers.bfcl.decoders.base import Calls, WrongFormat, check_size
from fcreview.importers.common.records import Undecodable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

TEXT_LEAVES = {"identifier", "class_literal", "type_identifier", "method_invocation"}


@lru_cache(maxsize=2)
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    if language == "java":
        import tree_sitter_java

        return Parser(Language(tree_sitter_java.language()))
    import tree_sitter_javascript

    return Parser(Language(tree_sitter_javascript.language()))


def parse_source(text: str, language: str) -> Calls:
    """Calls (one) of `language` "java" or "javascript". Raises Undecodable; WrongFormat for code without a call."""
    check_size(text)
    if language == "javascript":
        # A code fence after the call ended the statement in the evaluator's grammar; the newer one takes
        # it for a template.
        text = text.replace("\n```", ";\n```")
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise Undecodable(f"not text: {error.reason}") from None
    root = _parser(language).parse(source).root_node
    if root.has_error and _find_first(root, "ERROR") is not None:  # a missing semicolon alone is no failure
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


def _find_first(node: Node, kind: str) -> Node | None:
    """Depth first, in source order; without recursion, since a long chain of operators is a deep tree."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == kind:
            return node
        waiting.extend(reversed(node.children))
    return None


class _JavaReader:
    """Texts are cut by byte offsets out of characters, as the evaluator does: after a letter that is not
    ASCII they are off by its extra bytes."""

    def __init__(self, source: str) -> None:
        self.source = source

    def node_text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte]

    def read_call(self, root: Node) -> tuple[str, dict[str, Any]] | None:
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
                    _add_argument(
                        arguments, self.node_text(child.children[0]), self.read_value(child.children[2], outermost=True)
                    )
                elif child.type in ("identifier", "class_literal"):
                    _add_argument(arguments, None, self.read_value(child))
        except RecursionError:
            raise Undecodable("too deeply nested expression") from None
        return function, arguments

    def read_value(self, node: Node, outermost: bool = False) -> str:
        """Source text of a value without the blanks that do not matter, as the benchmark compares it."""
        kind = node.type
        if kind in ("string_literal", "character_literal"):
            return self.node_text(node)[1:-1] if outermost else self.node_text(node)
        if kind in TEXT_LEAVES:
            return self.node_text(node)
        if kind == "array_creation_expression":
            element, value = node.child_by_field_name("type"), node.child_by_field_name("value")
            if element is None or value is None:
                raise Undecodable("an array without elements")
            return f"new {self.read_value(element)}[]{self.read_value(value)}"
        if kind == "object_creation_expression":
            created, given = node.child_by_field_name("type"), node.child_by_field_name("arguments")
            inside = [self.read_value(child) for child in given.children if child.type not in ",()"] if given else []
            return f"new {self.read_value(created) if created else ''}({', '.join(inside)})"
        if node.child_count:
            return "".join(self.read_value(child) for child in node.children)
        return self.node_text(node)


def _read_javascript_call(root: Node) -> tuple[str, dict[str, Any]] | None:
    for statement in root.children:
        if statement.type != "expression_statement":
            continue
        for call in statement.children:
            if call.type != "call_expression":
                continue
            arguments: dict[str, Any] = {}
            for child in call.children[1].children:
                if child.type == "assignment_expression":
                    _add_argument(
                        arguments, _node_text(child.children[0]), _strip_quotes(_node_text(child.children[2]))
                    )
                elif child.type in ("identifier", "true"):
                    _add_argument(arguments, None, _node_text(child))
            return _node_text(call.children[0]), arguments
    return None


def _strip_quotes(text: str) -> str:
    for quote in "\"'":
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1]
    return text
