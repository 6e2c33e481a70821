"""Messages of verifiers as messages of OpenAI's chat format, and the tree of a trace as branches.

Version 0.4 writes calls flat, with the arguments exactly as the model wrote them. Versions 0.1 to
0.3 write each call as a JSON text, which contains the arguments as a text again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.records import as_object, is_integer
from fcreview.importers.dialects.context import quote_calls
from fcreview.importers.dialects.conversation import MessageIssue, ParsedConversation
from fcreview.importers.dialects.embedded import has_foreign_form
from fcreview.importers.dialects.read import read_conversation

CHAT = "openai_chat"
STATE_FIELDS = ("provider_state",)
"""Fields of messages that only their API can read, and that are no part of the conversation."""


def convert_message(message: Any) -> Any:
    """Return a message in OpenAI's chat format. Anything that is no message is unchanged, so that
    the reader of the format reports it. So is a message of another dialect.
    """
    is_own_form = isinstance(message, dict) and not has_foreign_form(message)
    if not is_own_form:
        return message
    converted = {name: value for name, value in message.items() if name not in STATE_FIELDS}
    if converted.get("tool_calls") is None:
        converted.pop("tool_calls", None)
    elif isinstance(converted["tool_calls"], list):
        converted["tool_calls"] = [convert_call(call) for call in converted["tool_calls"]]
    return converted


def convert_call(call: Any) -> Any:
    """Convert a call of verifiers to the form of OpenAI's chat API.

    A value that is no call is returned unchanged.
    """
    # In versions 0.1 to 0.3, a call is the JSON text of one.
    if isinstance(call, str):
        try:
            call = parse_json_text(call, [])
        except (ValueError, RecursionError):
            return call
    if not isinstance(call, dict):
        return call
    has_openai_form = "function" in call or "custom" in call
    if has_openai_form:
        return call
    return _nest_name_and_arguments(call)


def _nest_name_and_arguments(call: dict[str, Any]) -> dict[str, Any]:
    """Return a call with its name and arguments in an object `function` or, for a custom tool with
    a text as its input, `custom`.
    """
    # OpenAI's form has no place for the namespace, which only groups the functions.
    flat_names = ("name", "arguments", "namespace")
    other_fields = {name: value for name, value in call.items() if name not in flat_names}
    if call.get("type") == "custom":
        custom = {"name": call.get("name"), "input": call.get("arguments")}
        return other_fields | {"custom": custom}
    function = {name: call[name] for name in ("name", "arguments") if name in call}
    return other_fields | {"function": function}


def read_messages(messages: Sequence[Any], places: Sequence[str]) -> ParsedConversation:
    """Read messages. `places` names the place of each message in the record, for issues."""
    if not messages:
        return ParsedConversation(CHAT)
    written = {"messages": [convert_message(message) for message in messages]}
    conversation = read_conversation(written, dialect=CHAT, reads_foreign=True)
    conversation.issues = [_place_issue(issue, places) for issue in conversation.issues]
    return conversation


def _place_issue(issue: MessageIssue, places: Sequence[str]) -> MessageIssue:
    """Replace `messages[2]` at the beginning of a path by the place of the message."""
    number, bracket, rest = issue.path.removeprefix("messages[").partition("]")
    if not bracket or not number.isdecimal() or int(number) >= len(places):
        return issue
    return replace(issue, path=places[int(number)] + rest)


def join_context_and_answer(
    context: ParsedConversation, answer: ParsedConversation
) -> ParsedConversation:
    """Return one conversation. The calls of the context are no predictions."""
    quote_calls(context)
    joined = ParsedConversation(CHAT, messages=[*context.messages, *answer.messages])
    joined.issues = [*context.issues, *answer.issues]
    return joined


# -- the tree of a trace


@dataclass(slots=True)
class Node:
    index: int
    message: Any
    parent: int | None
    is_sampled: bool
    """Whether the model wrote the message."""
    place: str


@dataclass(slots=True)
class MessageTree:
    nodes: list[Node] = field(default_factory=list)
    issues: list[MessageIssue] = field(default_factory=list)

    def list_leaves(self) -> list[Node]:
        """Return the last node of each branch, in order."""
        parents = {node.parent for node in self.nodes}
        return [node for node in self.nodes if node.index not in parents]

    def list_branch(self, leaf: Node) -> list[Node]:
        """Return the nodes from the root to a leaf."""
        return self.list_own_nodes(leaf, set())

    def list_own_nodes(self, leaf: Node, other_nodes: Set[int]) -> list[Node]:
        """Return the nodes of a branch that come after the last node which `other_nodes` contains.

        Branches have the same beginning. Listing it again for each branch would take quadratic
        time.
        """
        own = [leaf]
        while own[-1].parent is not None and own[-1].parent not in other_nodes:
            own.append(self.nodes[own[-1].parent])
        return own[::-1]


def read_tree(nodes: Any, *, place: str) -> MessageTree:
    """Read the nodes of a trace. A node without a parent is a root; several roots are normal."""
    tree = MessageTree()
    if not isinstance(nodes, list):
        tree.issues.append(MessageIssue("nodes is not a list", path=place, raw=nodes))
        return tree
    if not nodes:
        tree.issues.append(MessageIssue("no messages were found", path=place))
    for index, written in enumerate(nodes):
        tree.nodes.append(_read_node(written, index, f"{place}[{index}]", tree.issues))
    return tree


def _read_node(written: Any, index: int, place: str, issues: list[MessageIssue]) -> Node:
    """Read a node of the message tree of a rollout: a message, and the node that it follows.

    `index` is the number of the node and `place` its place in the file. Malformed parts are added
    to `issues`.
    """
    fields = as_object(written)
    if "message" not in fields:
        issues.append(MessageIssue("node without a message", path=place, raw=written))
    parent = fields.get("parent")
    is_valid_parent = parent is None or _is_earlier_node(parent, index)
    if not is_valid_parent:
        issues.append(MessageIssue("parent is no earlier node", path=place, raw=parent))
    for name in fields:
        if name not in NODE_FIELDS:
            what = f"field {name} is not read"
            issues.append(MessageIssue(what, path=place, raw=fields[name], severity="notice"))

    return Node(
        index,
        message=fields.get("message"),
        parent=parent if is_valid_parent else None,
        is_sampled=fields.get("sampled") is True,
        place=f"{place}.message",
    )


def _is_earlier_node(parent: Any, index: int) -> bool:
    """Whether a value is the number of an earlier node. A node comes after its parent, so that
    there are no circles.
    """
    return is_integer(parent) and 0 <= parent < index


NODE_FIELDS = frozenset(
    {
        "parent",
        "message",
        "sampled",
        "semantic_parents",
        "tools",
        "timestamp",
        "token_ids",
        "mask",
        "logprobs",
        "is_content",
        "is_truncated",
        "multi_modal_data",
        "routed_experts",
        "kept_tokens",
        "token_type_ids",
    }
)
"""Fields of a node: the message, its place in the tree, and token data for training."""


def read_branch(branch: Sequence[Node]) -> ParsedConversation:
    """Read a branch. What stands before the first message of the model is context."""
    first = _find_first_sampled(branch)
    context = read_messages(
        [node.message for node in branch[:first]], [node.place for node in branch[:first]]
    )
    answer = read_messages(
        [node.message for node in branch[first:]], [node.place for node in branch[first:]]
    )
    return join_context_and_answer(context, answer)


def _find_first_sampled(branch: Sequence[Node]) -> int:
    """Return the position of the first message of the model, or 0 if no node says who wrote it."""
    for position, node in enumerate(branch):
        if node.is_sampled:
            return position
    return 0


@dataclass(frozen=True, slots=True)
class NodesAsText:
    """Messages as one text, for branches and agents that are not the conversation."""

    text: str
    issues: Sequence[MessageIssue]


def describe_nodes(nodes: Sequence[Node]) -> NodesAsText:
    conversation = read_messages([node.message for node in nodes], [node.place for node in nodes])
    lines = list(_describe_messages(conversation))
    return NodesAsText("\n".join(lines), conversation.issues)


def _describe_messages(conversation: ParsedConversation) -> Iterator[str]:
    """Yield a line or more for each text, call and result."""
    for message in conversation.messages:
        if message.reasoning:
            yield f"{message.role} (reasoning): {message.reasoning}"
        if message.text:
            yield f"{message.role}: {message.text}"
        for call in message.calls:
            yield f"{message.role}: [call {call.name} {call.raw or call.arguments}]"
        for result in message.results:
            yield f"tool: {result.text}"
