"""Decode the calls of a reply as ACEBench's evaluator does, in the two versions of its rules.

* `2025-08` (upstream revision e6db74b and earlier): all white space is removed, also inside
  strings. The rest must be one Python expression, a list of calls.
* `2025-10` (since upstream commit 5b6e4de, 23 October 2025): the first balanced `[...]` of the
  reply is decoded, and white space stays. Multi-turn categories keep the earlier rules.

In both versions, positional arguments are ignored, a variable name becomes text, and every unary
operator negates. On 29 October 2025 (385427e), the text of an error with several golden calls
changed, but no verdict.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any, Literal, cast

from fcreview.importers.common.python_syntax import parse_expression, read_call, read_dotted_name
from fcreview.importers.common.records import Undecodable, explain_decoding_error

RuleSet = Literal["2025-08", "2025-10"]
AUGUST_2025: RuleSet = "2025-08"
OCTOBER_2025: RuleSet = "2025-10"
RULE_SETS: tuple[RuleSet, ...] = (AUGUST_2025, OCTOBER_2025)
"""Versions of the rules, oldest first."""
NEWEST_RULE_SET = OCTOBER_2025
MAX_QUOTED_TEXT = 60
MAX_CACHED_TEXT = 2_000
"""Length of a text, in characters, up to which its decoded calls stay in memory."""
MAX_CACHED_TEXTS = 2_048
"""Number of texts whose decoded calls stay in memory: the replies of a run in both versions."""

DecodedCall = tuple[str, dict[Any, Any]]
"""A decoded call: its function name and its arguments."""


def depends_on_rule_set(category: str) -> bool:
    """Whether the two versions decode the replies of a category differently: normal categories
    with a single turn.
    """
    return category.startswith("normal_") and not category.startswith("normal_multi_turn_")


def remove_whitespace(reply: str) -> str:
    return "".join(reply.split())


def find_first_brackets(reply: str) -> str | None:
    """Return the first balanced `[...]` of a reply, or None.

    As in the evaluator, every bracket counts, also inside a string. A `]` before the first `[`
    makes the depth negative, and then only a `[` at depth 0 begins the text.
    """
    depth = 0
    start = None
    for index, character in enumerate(reply):
        if character == "[":
            if depth == 0:
                start = index
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0 and start is not None:
                return reply[start : index + 1]
    return None


def select_decoded_text(reply: str, category: str, rule_set: RuleSet) -> str | None:
    """Return the part of a reply that the evaluator decodes, and that it quotes in the score file.
    None if the reply has no such part.
    """
    if rule_set == OCTOBER_2025 and depends_on_rule_set(category):
        return find_first_brackets(reply)
    return remove_whitespace(reply)


def decode_reply(reply: Any, category: str, rule_set: RuleSet) -> list[DecodedCall]:
    """Decode the calls of a normal reply.

    Raises Undecodable where the evaluator reports a wrong output format.
    """
    if not isinstance(reply, str):
        raise Undecodable("the reply is not text")
    text = select_decoded_text(reply, category, rule_set)
    if text is None:
        raise Undecodable("the reply has no balanced square brackets")
    return decode_call_list(text)


def decode_call_list(text: str) -> list[DecodedCall]:
    """Decode a list of calls such as `[f(a=1)]`. Raises Undecodable for any other text.

    A reply is decoded to choose the version of the rules, to grade it and to show it. Callers share
    the decoded calls and do not change them.
    """
    if len(text) > MAX_CACHED_TEXT:
        return _decode_text(text)
    return _decode_short_text(text)


@lru_cache(MAX_CACHED_TEXTS)
def _decode_short_text(text: str) -> list[DecodedCall]:
    return _decode_text(text)


def _decode_text(text: str) -> list[DecodedCall]:
    """Decode a list of calls, or a tuple or a set, which the evaluator accepts too: it only asks
    for elements. Raises Undecodable for any other text.
    """
    expression = parse_expression(text)
    if not isinstance(expression, (ast.List, ast.Tuple, ast.Set)):
        raise Undecodable("the reply is not a list of calls")
    for element in expression.elts:
        if not isinstance(element, ast.Call):
            kind = type(element).__name__.lower()
            raise Undecodable(f"the list contains a Python {kind} instead of a call")
    return [_read_call(element) for element in cast("list[ast.Call]", expression.elts)]


def _read_call(node: ast.Call) -> DecodedCall:
    for keyword in node.keywords:
        # Most values are constants, which contain no calls.
        if not isinstance(keyword.value, ast.Constant):
            keyword.value = _EmptyCallReplacer().visit(keyword.value)
    return read_call(node)


class _EmptyCallReplacer(ast.NodeTransformer):
    """Replaces nested calls without named arguments, such as `today()`, by `{"today": {}}`, as the
    evaluator does.

    Arithmetic and subscripts keep their calls, because the evaluator computes or quotes them.
    """

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not node.keywords:
            return ast.Dict([ast.Constant(read_dotted_name(node.func))], [ast.Dict([], [])])
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def _keep(self, node: ast.expr) -> ast.expr:
        return node

    visit_BinOp = visit_Subscript = visit_UnaryOp = visit_Attribute = _keep  # noqa: N815


def decode_with_whitespace(text: str) -> list[DecodedCall]:
    """Decode a list of calls for display.

    Strings keep their white space if the text can be decoded with it.
    """
    try:
        return decode_call_list(text.strip())
    except Undecodable:
        return decode_call_list(remove_whitespace(text))


def decode_for_display(reply: str, category: str, rule_set: RuleSet) -> list[DecodedCall]:
    """Decode the calls of a decodable reply.

    Strings keep their white space, although the evaluator may remove it.
    """
    if rule_set == OCTOBER_2025 and depends_on_rule_set(category):
        return decode_reply(reply, category, rule_set)
    return decode_with_whitespace(reply)


def explain_undecodable_reply(reply: Any, category: str, rule_set: RuleSet) -> str | None:
    """Return why a normal reply cannot be decoded. None if it can."""
    try:
        decode_reply(reply, category, rule_set)
    except Undecodable as error:
        if rule_set == OCTOBER_2025 and depends_on_rule_set(category):
            return _name_decoded_text(reply, str(error))
        return explain_decoding_error(
            reply, error, lambda text: decode_reply(text, category, rule_set)
        )
    return None


def _name_decoded_text(reply: Any, reason: str) -> str:
    """Return the reason with the text that was decoded: the first brackets of the reply.

    They can be a list in a thought before the calls. If they are the whole reply, or if there are
    none, the reason stays as it is.
    """
    brackets = find_first_brackets(reply) if isinstance(reply, str) else None
    if brackets is None or brackets == reply.strip():
        return reason
    quoted = brackets
    if len(quoted) > MAX_QUOTED_TEXT:
        quoted = quoted[:MAX_QUOTED_TEXT] + "…"
    return f"{reason}; the first brackets of the reply are {quoted}"


def split_text_around_calls(reply: str, category: str, rule_set: RuleSet) -> list[str]:
    """Return the texts before and after the decoded calls, without empty ones.

    The evaluator ignores them.
    """
    if rule_set != OCTOBER_2025 or not depends_on_rule_set(category):
        return []
    calls = find_first_brackets(reply)
    if calls is None:
        return []
    before, _, after = reply.partition(calls)
    return [text.strip() for text in (before, after) if text.strip()]
