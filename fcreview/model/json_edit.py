"""Change values in a JSON text, and keep every other character as it is.

Benchmarks write their datasets with different indentation, separators, escapes and number formats,
sometimes in one file. A maintainer accepts a correction that changes only what it must, so
`edit_json` copies the text of each part that stays equal, and writes new parts like their
neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from fcreview.model.json_value import to_json_text

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENTED_LINE = re.compile(r"\n([ \t]+)\S")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Span:
    """Position of a value in a text: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object, or an element of a list, which has an empty name."""

    name: str
    span: Span
    """Position of the value."""
    value: Any


def iter_json_parts(text: str, start: int = 0) -> Iterator[JsonMember]:
    """Yield the members of the object, or the elements of the list, that begins at `start` or after
    the white space there. Yields nothing for another value.

    Raises ValueError if the text is not JSON.
    """
    position = _skip_space(text, start)
    opening = text[position : position + 1]
    if opening not in ("{", "["):
        return
    is_object = opening == "{"
    closing = "}" if is_object else "]"

    position = _skip_space(text, position + 1)
    while text[position : position + 1] != closing:
        name = ""
        if is_object:
            name, position = _scan_name(text, position)
        value, end = _DECODER.raw_decode(text, position)
        yield JsonMember(name, Span(position, end), value)

        position = _skip_space(text, end)
        character = text[position : position + 1]
        if character == ",":
            position = _skip_space(text, position + 1)
        elif character != closing:
            raise ValueError(f"no comma at character {position}")


def find_json_member(text: str, name: str, start: int = 0) -> JsonMember | None:
    """Return the member of an object with this name. Of several, the last one counts, as in
    `json.loads`.
    """
    found = None
    for member in iter_json_parts(text, start):
        if member.name == name:
            found = member
    return found


def edit_json(text: str, new_value: Any) -> str:
    """Return a text with one JSON value such that its value is `new_value`.

    Parts that are equal keep their text, also inside changed objects and lists. White space around
    the value stays. Raises ValueError if the text is not JSON.
    """
    return edit_json_at(text, _find_only_value(text), new_value)


def edit_json_at(text: str, span: Span, new_value: Any) -> str:
    """Return a text in which the JSON value at `span` is `new_value`."""
    style = _find_style(text)
    node = _parse_node(text, span)
    indent = _find_line_indent(text, span.start)
    return text[: span.start] + _render(node, new_value, style, indent) + text[span.end :]


def _find_only_value(text: str) -> Span:
    start = _skip_space(text, 0)
    _, end = _DECODER.raw_decode(text, start)
    if _skip_space(text, end) != len(text):
        raise ValueError(f"more than one JSON value, at character {end}")
    return Span(start, end)


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()


def _scan_name(text: str, position: int) -> tuple[str, int]:
    """Return the name of a member, and the position of its value."""
    if text[position : position + 1] != '"':
        raise ValueError(f"no name at character {position}")
    name, end = scanstring(text, position + 1, True)
    colon = _skip_space(text, end)
    if text[colon : colon + 1] != ":":
        raise ValueError(f"no colon at character {colon}")
    return name, _skip_space(text, colon + 1)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a text writes JSON."""

    has_escapes: bool
    """Whether characters outside ASCII are escaped."""
    indent: str
    """Indentation of one level. Empty if the whole value is in one line."""
    comma: str
    """Comma in a line, with its space."""
    colon: str
    """Colon with its space."""
    line_end: str


def _find_style(text: str) -> _Style:
    """Find how a JSON text is written, so that new parts of it look alike."""
    indented = _INDENTED_LINE.search(text)
    has_compact_colons = '":' in text and '": ' not in text
    return _Style(
        has_escapes=text.isascii(),
        indent="" if indented is None else indented[1],
        comma="," if has_compact_colons else ", ",
        colon=":" if has_compact_colons else ": ",
        line_end="\r\n" if "\r\n" in text else "\n",
    )


def _find_line_indent(text: str, position: int) -> str:
    """Return the white space at the start of the line with this position."""
    line_start = text.rfind("\n", 0, position) + 1
    line = text[line_start:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


@dataclass(slots=True)
class _Node:
    """A value in a text. A container also has its parts."""

    text: str
    value: Any
    parts: list[_Part] = field(default_factory=list)
    head: str = ""
    """Text from the opening bracket to the first part."""
    tail: str = ""
    """Text from the last part to the closing bracket."""


@dataclass(slots=True)
class _Part:
    name: str
    label: str
    """Text from the name to the value: `"id": `. Empty in a list."""
    node: _Node
    separator: str
    """Text between the previous part and this one. Empty for the first part."""


def _parse_node(text: str, span: Span) -> _Node:
    """Parse a value of a JSON text into a tree.

    The texts of the node and of its parts join to exactly the text of the value, with its blanks:
    `{"a": 1, "b": 2}` has the head `{`, the part `"a": ` `1`, the separator `, `, the part `"b": `
    `2`, and the tail `}`. A value without parts has only its text.
    """
    value, _ = _DECODER.raw_decode(text, span.start)
    node = _Node(text[span.start : span.end], value)
    # The end of the opening bracket, and then of each part.
    previous_end = span.start + 1
    for member in iter_json_parts(text, span.start):
        label_start = _find_label_start(text, member, previous_end)
        is_first = not node.parts
        if is_first:
            node.head = text[span.start : label_start]
        part = _Part(
            member.name,
            # The label is the name with the colon. Elements of lists have none.
            text[label_start : member.span.start],
            node=_parse_node(text, member.span),
            separator="" if is_first else text[previous_end:label_start],
        )
        node.parts.append(part)
        previous_end = member.span.end

    if node.parts:
        node.tail = text[previous_end : span.end]
    return node


def _find_label_start(text: str, member: JsonMember, from_position: int) -> int:
    """Return where a part begins: at its name or, in a list, at its value."""
    position = _skip_space(text, from_position)
    if text[position] == ",":
        position = _skip_space(text, position + 1)
    return min(position, member.span.start)


def _render(node: _Node, value: Any, style: _Style, indent: str) -> str:
    """Return the text of a value that replaces a node, in a line with this indentation."""
    if _is_same(node.value, value):
        return node.text
    if isinstance(node.value, dict) and isinstance(value, dict) and node.parts:
        return _render_object(node, value, style, indent)
    if isinstance(node.value, list) and isinstance(value, list) and node.parts:
        return _render_list(node, value, style, indent)
    return _dump(value, style, indent)


def _is_same(old: Any, new: Any) -> bool:
    """Whether two JSON values are equal, and have the same types: 1 is not 1.0."""
    return to_json_text(old) == to_json_text(new)


def _render_object(node: _Node, value: Mapping[str, Any], style: _Style, indent: str) -> str:
    """Return the text of a changed object. The old members keep their order, and new ones follow.

    If a name occurs several times, only its last member has the value, so only this one changes.
    """
    inner_indent = _find_inner_indent(node, indent)
    last_index = {part.name: index for index, part in enumerate(node.parts)}
    pieces = _ContainerText(node, style, inner_indent)
    for index, part in enumerate(node.parts):
        if part.name not in value:
            continue
        part_text = part.node.text
        is_last_of_name = last_index[part.name] == index
        if is_last_of_name:
            part_text = _render(part.node, value[part.name], style, inner_indent)
        pieces.add(part.label + part_text, part.separator)

    for name, member in value.items():
        if name not in last_index:
            label = json.dumps(name, ensure_ascii=style.has_escapes) + style.colon
            pieces.add(label + pieces.dump(member))
    return pieces.join()


def _render_list(node: _Node, value: Sequence[Any], style: _Style, indent: str) -> str:
    """Return the text of a changed list.

    Equal elements keep their text. In each section of the list that changes, the first new element
    replaces the first old one, and so on. Further new elements are added, and further old ones are
    left out.
    """
    inner_indent = _find_inner_indent(node, indent)
    pieces = _ContainerText(node, style, inner_indent)
    old_texts = [to_json_text(part.node.value) for part in node.parts]
    new_texts = [to_json_text(element) for element in value]
    matcher = SequenceMatcher(None, old_texts, new_texts, autojunk=False)
    # Equal sections need no branch of their own, because `_render` keeps the text of equal values.
    for _tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old_parts = node.parts[old_start:old_end]
        new_elements = value[new_start:new_end]
        for part, element in zip(old_parts, new_elements, strict=False):
            pieces.add(_render(part.node, element, style, inner_indent), part.separator)
        for element in new_elements[len(old_parts) :]:
            pieces.add(pieces.dump(element))
    return pieces.join()


def _find_inner_indent(node: _Node, indent: str) -> str:
    """Return the indentation of the parts of a container."""
    _, line_feed, space = node.head.rpartition("\n")
    return space if line_feed else indent


class _ContainerText:
    """Puts the text of a changed object or list together."""

    def __init__(self, node: _Node, style: _Style, indent: str) -> None:
        self._node = node
        self._style = style
        self._indent = indent
        self._texts: list[str] = []
        # New parts get the separator of the last part. `node` is the unchanged object or list.
        separators = [part.separator for part in node.parts if part.separator]
        self._usual_separator = separators[-1] if separators else self._make_separator()

    def _make_separator(self) -> str:
        """Return the separator of a container with one part, from the white space before it."""
        if "\n" in self._node.head:
            return "," + self._node.head[1:]
        return self._style.comma

    def dump(self, value: Any) -> str:
        """Return the text of a new part, in one line if the other parts are in one line."""
        if "\n" in self._node.head:
            return _dump(value, self._style, self._indent)
        return _dump_in_line(value, self._style)

    def add(self, text: str, separator: str = "") -> None:
        if self._texts:
            self._texts.append(separator or self._usual_separator)
        self._texts.append(text)

    def join(self) -> str:
        if not self._texts:
            return self._node.head[0] + self._node.tail[-1]
        return self._node.head + "".join(self._texts) + self._node.tail


def _dump(value: Any, style: _Style, indent: str) -> str:
    """Return the text of a new value that begins in a line with this indentation."""
    if not style.indent:
        return _dump_in_line(value, style)
    text = json.dumps(value, ensure_ascii=style.has_escapes, indent=style.indent)
    return text.replace("\n", style.line_end + indent)


def _dump_in_line(value: Any, style: _Style) -> str:
    separators = (style.comma, style.colon)
    return json.dumps(value, ensure_ascii=style.has_escapes, separators=separators)
