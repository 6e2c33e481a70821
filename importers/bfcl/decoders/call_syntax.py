"""Decode call syntax, `[f(a=1), g(b='x')]`.

The reply is first cleaned up, in a way that depends on the model. The cleaned text is then parsed by the rules of the
BFCL version or, in Java and JavaScript categories, of the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fcreview.importers.bfcl.decoders.base import (
    Calls,
    DecodeFunction,
    DecoderContext,
    WrongFormat,
    check_size,
    is_quoted,
)
from fcreview.importers.bfcl.decoders.python_calls import add_brackets, clean_prompt_text, parse_calls
from fcreview.importers.common.records import Undecodable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

FENCE = "```"
QUOTED = re.compile("'([^']*)'")
TOOLCALL = re.compile("<TOOLCALL>(.*?)</TOOLCALL>", re.DOTALL)


def text_decoder(clean: Callable[[str], str]) -> DecodeFunction:
    """Return a decoder that applies `clean` to the reply and parses the result."""
    return lambda result, context: parse_source_calls(clean(require_text(result)), context)


def require_text(result: Any) -> str:
    """Return the reply if it is a string. Raises Undecodable for any other type."""
    if type(result) is not str:
        raise Undecodable("no output" if result is None else "an object where text was expected")
    return result


def parse_source_calls(text: str, context: DecoderContext) -> Calls:
    """Parse calls in the category's language. The first and last characters of Java and JavaScript text are ignored."""
    if context.language == "python":
        return parse_calls(text, context.version)
    return parse_source(text[1:-1], context.language)


def clean_blank(text: str) -> str:
    """Remove one leading space and add missing brackets."""
    if not text:
        raise Undecodable("no output")
    return add_brackets(text.removeprefix(" "))


def clean_phi(text: str) -> str:
    """Remove an opening code fence with the language `json` or `python`, then clean up like a PROMPT reply."""
    return clean_prompt_text(text.strip().removeprefix(FENCE + "json").removeprefix(FENCE + "python"))


def clean_gemini(text: str) -> str:
    """Remove `tool_code` fences, then clean up like a PROMPT reply."""
    return clean_prompt_text(text.replace(f"{FENCE}tool_code\n", "").replace(f"\n{FENCE}", ""))


def clean_nemotron(text: str) -> str:
    """Return the first `<TOOLCALL>` block, cleaned up like a PROMPT reply; `[]` if the reply has none."""
    found = TOOLCALL.search(text)
    return clean_prompt_text(found[1]) if found else "[]"


def clean_gemma1(text: str) -> str:
    """Return the text from the first `[` to the last `]`."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        raise Undecodable("no [ ... ] in the text")
    return text[start : end + 1]


def clean_coder1(text: str) -> str:
    """Return the text from the first `[` in the first code fence to the *next* `]`."""
    parts = text.split(FENCE)
    inside = parts[1] if len(parts) > 1 else ""
    start = inside.find("[")
    end = inside.find("]", start)
    if start < 0 or end < 0:
        raise Undecodable("no [ ... ] in a code fence")
    return inside[start : end + 1]


def decode_quoted(result: Any, context: DecoderContext) -> Calls:
    """Decode `['f(a=1)', 'g(b=2)']`, a list of calls in quotes."""
    text = require_text(result).replace("\n", "")
    opening, closing = ("[ ", " ]") if context.is_v1 else ("[", "]")
    text = text if text.startswith("[") else opening + text
    text = text if text.endswith("]") else text + closing
    if text.startswith("['"):
        text = text.replace("['", "[").replace("', '", ", ").replace("','", ", ")
    return parse_source_calls(text.replace("']", "]") if text.endswith("']") else text, context)


def decode_raven(result: Any, context: DecoderContext) -> Calls:
    """Decode `f(a=1);g(b=2);`. A reply with `out_of_domain` calls no function."""
    text = require_text(result)
    calls = parse_source_calls("[" + text.removesuffix(";").replace(";", ",") + "]", context)
    if "out_of_domain" in text:
        raise WrongFormat("out_of_domain: no function is called", list(calls))
    return calls


def decode_dbrx(result: Any, context: DecoderContext) -> Calls:
    """Decode the reply without the quotes around its strings. If that fails, decode the unchanged reply."""
    text = require_text(result)
    unquoted = add_brackets(QUOTED.sub(r"\1", text).replace("\n    ", ""))
    if unquoted.startswith("['"):
        unquoted = unquoted.replace("['", "[")
    try:
        return parse_source_calls(unquoted, context)
    except Undecodable:
        return parse_source_calls(text, context)


VERBATIM_NODES = {
    "identifier", "class_literal", "type_identifier", "method_invocation", "string_literal", "character_literal",
}  # fmt: skip
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
    if root.has_error and _find_first(root, "ERROR") is not None:  # a missing semicolon is not an error
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
        if outermost and node.type in ("string_literal", "character_literal"):
            return self.node_text(node)[1:-1]
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
    statements = (node for node in root.children if node.type == "expression_statement")
    calls = (node for statement in statements for node in statement.children if node.type == "call_expression")
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
