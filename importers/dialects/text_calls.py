"""Calls that a model wrote into its text, in the styles of local models.

They are read only if the format names the style: a text may also quote a call.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.importers.common.json_text import parse_json_text
from fcreview.importers.common.python_syntax import parse_expression, read_call
from fcreview.importers.common.records import as_object
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import (
    MessageIssue,
    Note,
    ParsedMessage,
    ToolCall,
)

_THINK = re.compile(r"\s*(?:<think>)?(?P<reasoning>.*?)</think>", re.DOTALL)
"""Matches reasoning at the start. Without an opening tag, it is all before the closing tag."""
_HERMES = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_XML_FUNCTION = re.compile(r"<function=([^>\n]+)>(.*?)</function>", re.DOTALL)
_XML_PARAMETER = re.compile(r"<parameter=([^>\n]+)>(.*?)</parameter>", re.DOTALL)
_GLM_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_MISTRAL_CALL = re.compile(r"\[TOOL_CALLS\]\s*(?P<name>[\w.-]+)(?:\[ARGS\])?\s*(?=\{)")
_DEEPSEEK_CALL = re.compile(
    r"<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>(.*?)<｜tool▁call▁end｜>", re.DOTALL
)
_DEEPSEEK_V3_BODY = re.compile(
    r"\s*(?P<name>[^\n]+)\n```json\n(?P<arguments>.*)\n```\s*", re.DOTALL
)
_KIMI_CALL = re.compile(
    r"<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>(.*?)<\|tool_call_end\|>", re.DOTALL
)
_HARMONY_CALL = re.compile(
    r"(?:<\|start\|>assistant)?<\|channel\|>commentary to=(?:functions\.)?(\S+?)"
    r"\s*(?:<\|constrain\|>\w+)?<\|message\|>(.*?)<\|call\|>",
    re.DOTALL,
)
_HARMONY_REASONING = re.compile(
    r"<\|channel\|>analysis<\|message\|>(?P<reasoning>.*?)<\|end\|>", re.DOTALL
)
_HARMONY_TAG = re.compile(r"<\|(?:start|channel|message|end|return)\|>(?:assistant|final)?")
_SECTION_TAGS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
)
"""Tags around all calls of a reply."""
_STYLES_OF_TOOL_CALL = (
    (re.compile(r"<tool_call>\s*[\[{]"), "hermes"),
    (re.compile(r"<tool_call>\s*<function="), "qwen3_coder"),
    (re.compile(r"<tool_call>\s*[\w.-]+\s*(?:<arg_key>|</tool_call>)"), "glm45"),
)
"""Style of calls in the tag `<tool_call>`, by what follows the tag."""
_SEARCHED_TAGS = ("<tool_call>", "<function=", "<parameter=", "<arg_key>")
MAX_SEARCHED_CHARACTERS = 1_000_000_000
"""Maximum product of the length of a text and its number of tags. The end of each tag is searched
up to the end of the text.
"""

CALL_TAGS = (
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<｜tool▁call▁begin｜>",
    "<|tool_call_begin|>",
    "<|channel|>commentary to=",
)
"""Tags with which a call in a text begins."""


@dataclass(slots=True)
class TextWithCalls:
    """Reply whose calls were written into its text."""

    text: str
    """What remains without the calls and the reasoning."""
    calls: list[ToolCall] = field(default_factory=list)
    reasoning: str | None = None
    issues: list[MessageIssue] = field(default_factory=list)
    unread_calls: list[Any] = field(default_factory=list)
    """Texts between the tags of calls that could not be read."""


Reading = ToolCall | MessageIssue | Note
"""A note is the text of a call that could not be read."""


class UnknownStyle(ValueError):
    """Raised for a style of calls that no rule describes."""


def read_text_calls(text: str, style: str, *, path: str = "text") -> TextWithCalls:
    """Read the calls that a model wrote into the text of its reply, such as
    `<tool_call>{...}</tool_call>`.

    Returns the calls, and the text without them. Raises UnknownStyle if `style`, the way in which
    the model writes calls, is not in `STYLES`. `path` is the place of the reply, for issues.
    """
    rules = STYLES.get(style)
    if rules is None:
        raise UnknownStyle(f"unknown style {style}. Use one of {', '.join(STYLES)}")
    reply = TextWithCalls(text)
    _take_reasoning(reply, style)
    if _has_too_many_tags(reply.text):
        what = "too many tags to read the calls in a text"
        reply.issues.append(MessageIssue(what, path=path, raw=reply.text))
        return reply

    _add_readings(reply, rules.read(reply.text, path))
    # Without calls, the text can only contain a call that was cut off, and this is found by its
    # opening tag.
    if reply.calls or rules.opening:
        _take_calls_from_text(reply, rules, path)
    return reply


def _add_readings(reply: TextWithCalls, readings: Iterable[Reading]) -> None:
    for reading in readings:
        match reading:
            case MessageIssue():
                reply.issues.append(reading)
            case Note(value):
                reply.unread_calls.append(value)
            case ToolCall():
                reply.calls.append(reading)


def _take_calls_from_text(reply: TextWithCalls, rules: _Style, path: str) -> None:
    """Remove the calls from the text of a reply. A call that was cut off becomes an unread one."""
    remainder = rules.remove(reply.text)
    # An opening tag that is left over begins a call without a closing tag.
    cut_off_index = remainder.find(rules.opening) if rules.opening else -1
    if cut_off_index != -1:
        cut_off_call = remainder[cut_off_index:]
        reply.issues.append(MessageIssue("call not closed", path=path, raw=cut_off_call))
        reply.unread_calls.append(cut_off_call)
        remainder = remainder[:cut_off_index]
    reply.text = remainder.strip()


def find_tag_style(text: str) -> str | None:
    """Return the style of the calls in the tags `<tool_call>` of a text. None without such tags, or
    with an unknown form of the calls in them.
    """
    for pattern, style in _STYLES_OF_TOOL_CALL:
        if pattern.search(text):
            return style
    return None


def _has_too_many_tags(text: str) -> bool:
    """Whether the search for the ends of all tags in a text would take too long."""
    n_tags = sum(text.count(tag) for tag in _SEARCHED_TAGS)
    return n_tags * len(text) > MAX_SEARCHED_CHARACTERS


def report_call_tags(messages: Sequence[ParsedMessage]) -> Iterator[MessageIssue]:
    """Yield a notice for each reply without calls whose text has the tag of a call.

    The text may also quote a call, so nothing is read until somebody names the style.
    """
    for message in messages:
        if message.role != "assistant" or message.calls:
            continue
        for tag in CALL_TAGS:
            if tag in message.text:
                what = f"{tag} is read as text. A mapping file can name the style of calls (tags)"
                yield MessageIssue(what, path=message.path, severity="notice")


def _take_reasoning(reply: TextWithCalls, style: str) -> None:
    """Move the reasoning at the start of `reply.text` to `reply.reasoning`.

    `style` is the form in which the model writes reasoning and calls, such as `harmony`.
    """
    pattern = _HARMONY_REASONING if style == "harmony" else _THINK
    match = pattern.match(reply.text)
    if match is not None:
        reply.reasoning = match["reasoning"].strip()
        reply.text = reply.text[match.end() :]


# -- calls written as JSON


def _read_hermes(text: str, path: str) -> Iterator[Reading]:
    for written in _HERMES.findall(text):
        yield from read_call_text(written, path=path)


def read_call_text(written: str, *, path: str) -> Iterator[Reading]:
    """Yield the calls in the JSON text of a call or of a list of calls.

    Data of Hermes models also have calls as Python literals, which are read with a notice.
    """
    try:
        value = parse_json_text(written.strip(), [])
    except (ValueError, RecursionError):
        value = _parse_python_literal(written.strip())
        if value is None:
            yield MessageIssue("call is not JSON", path=path, raw=written)
            yield Note(written, is_unknown=True)
            return
        what = "call is a Python literal instead of JSON"
        yield MessageIssue(what, path=path, raw=written, severity="notice")
    for call in value if isinstance(value, list) else [value]:
        yield from _read_json_call(call, path=path)


def _parse_python_literal(text: str) -> Any:
    """Return the value of an object or a list that is written in Python's syntax, or None.

    The text is parsed, and never run. A value that JSON cannot have is none.
    """
    try:
        value = ast.literal_eval(parse_expression(text))
        return json.loads(json.dumps(value, allow_nan=False))
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def _read_json_call(call: Any, *, path: str) -> Iterator[Reading]:
    """Yield a call that is written as JSON in the text of a reply."""
    fields = as_object(call)
    name = fields.get("name")
    if not isinstance(name, str):
        yield MessageIssue("call without a name", path=path, raw=call)
        yield Note(call, is_unknown=True)
        return
    written = fields.get("arguments", fields.get("parameters"))
    yield from _read_call(name, written, call_id=fields.get("id"), path=path)


def _read_call(
    name: str, written_arguments: Any, *, path: str, call_id: Any = None
) -> Iterator[Reading]:
    for reading in values.read_call(call_id, name, written_arguments, path=path):
        if isinstance(reading, ToolCall | MessageIssue):
            yield reading


def _read_mistral(text: str, path: str) -> Iterator[Reading]:
    """Yield calls after `[TOOL_CALLS]`: a list, or a name and its arguments."""
    _, tag, listed = text.partition("[TOOL_CALLS]")
    if tag and listed.lstrip().startswith("["):
        yield from read_call_text(listed, path=path)
        return

    # The arguments of a call end where the name of the next call begins.
    names = list(_MISTRAL_CALL.finditer(text))
    ends = [name.start() for name in names[1:]]
    ends.append(len(text))
    for name, end in zip(names, ends, strict=False):
        arguments = text[name.end() : end].strip()
        yield from _read_call(name["name"], arguments, path=path)


def _read_llama3_json(text: str, path: str) -> Iterator[Reading]:
    """Yield calls that are the whole text, several with `;` between them."""
    calls = text.strip().removeprefix("<|python_tag|>")
    if not calls.startswith("{"):
        return
    for written in calls.split(";"):
        if written.strip():
            yield from read_call_text(written, path=path)


def _read_deepseek(text: str, path: str) -> Iterator[Reading]:
    """Yield calls of DeepSeek V3, which fences the JSON and has the type before the separator,
    and of V3.1, which has the name there.
    """
    for before, after in _DEEPSEEK_CALL.findall(text):
        fenced = _DEEPSEEK_V3_BODY.fullmatch(after)
        if fenced is not None:
            yield from _read_call(fenced["name"].strip(), fenced["arguments"], path=path)
        else:
            yield from _read_call(before.strip(), after.strip(), path=path)


def _read_kimi(text: str, path: str) -> Iterator[Reading]:
    """Yield calls of Kimi K2. An id such as `functions.NAME:INDEX` contains the name."""
    for written_id, written in _KIMI_CALL.findall(text):
        call_id = written_id.strip()
        name, _, _ = call_id.removeprefix("functions.").rpartition(":")
        yield from _read_call(name, written.strip(), call_id=call_id, path=path)


def _read_harmony(text: str, path: str) -> Iterator[Reading]:
    for name, written in _HARMONY_CALL.findall(text):
        yield from _read_call(name, written.strip(), path=path)


# -- calls written as XML or Python


def _read_qwen3_coder(text: str, path: str) -> Iterator[Reading]:
    """Yield calls whose parameters are tags. Values are texts; the function docs decide their
    types.
    """
    for written in _HERMES.findall(text):
        for name, body in _XML_FUNCTION.findall(written):
            arguments = {
                key: _strip_line_breaks(value) for key, value in _XML_PARAMETER.findall(body)
            }
            yield from _read_call(name.strip(), arguments, path=path)


def _strip_line_breaks(value: str) -> str:
    """Remove one line break at each end, which is not part of the value."""
    return value.removeprefix("\n").removesuffix("\n")


def _read_glm(text: str, path: str) -> Iterator[Reading]:
    """Yield calls with their name before the tags of keys and values."""
    for written in _HERMES.findall(text):
        name, _, _ = written.partition("<arg_key>")
        arguments = {key.strip(): value for key, value in _GLM_ARGUMENT.findall(written)}
        yield from _read_call(name.strip(), arguments, path=path)


def _read_pythonic(text: str, path: str) -> Iterator[Reading]:
    """Yield calls in Python's syntax, which are the whole text. It is parsed, and never run."""
    is_list = text.strip().startswith("[") and text.strip().endswith("]")
    if not is_list:
        return
    try:
        expression = parse_expression(text.strip())
        nodes = expression.elts if isinstance(expression, ast.List) else [expression]
        calls = [read_call(node) for node in nodes if isinstance(node, ast.Call)]
    except (ValueError, RecursionError, SyntaxError) as error:
        yield MessageIssue(f"calls are not Python: {error}", path=path, raw=text)
        return
    for name, arguments in calls:
        yield from _read_call(name, arguments, path=path)


# -- what remains without the calls


def _remove(*patterns: re.Pattern[str]) -> Callable[[str], str]:
    """Return a function that removes the calls from a text: all matches of patterns, and tags that
    enclose several calls.
    """

    def remove(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub("", text)
        for tag in _SECTION_TAGS:
            text = text.replace(tag, "")
        return text

    return remove


def _remove_after_mistral_tag(text: str) -> str:
    return text.partition("[TOOL_CALLS]")[0]


def _remove_all(text: str) -> str:  # noqa: ARG001 - the whole text is calls
    return ""


@dataclass(frozen=True, slots=True)
class _Style:
    read: Callable[[str, str], Iterator[Reading]]
    """Yields the calls in a text. The second argument is the path for issues."""
    remove: Callable[[str], str]
    opening: str = ""
    """Tag that begins a call; empty if calls have no closing tag."""


STYLES: Mapping[str, _Style] = {
    "hermes": _Style(_read_hermes, _remove(_HERMES), "<tool_call>"),
    "qwen3_coder": _Style(_read_qwen3_coder, _remove(_HERMES), "<tool_call>"),
    "glm45": _Style(_read_glm, _remove(_HERMES), "<tool_call>"),
    "mistral": _Style(_read_mistral, _remove_after_mistral_tag),
    "mistral_v11": _Style(_read_mistral, _remove_after_mistral_tag),
    "llama3_json": _Style(_read_llama3_json, _remove_all),
    "pythonic": _Style(_read_pythonic, _remove_all),
    "deepseek_v3": _Style(_read_deepseek, _remove(_DEEPSEEK_CALL), "<｜tool▁call▁begin｜>"),
    "deepseek_v31": _Style(_read_deepseek, _remove(_DEEPSEEK_CALL), "<｜tool▁call▁begin｜>"),
    "kimi_k2": _Style(_read_kimi, _remove(_KIMI_CALL), "<|tool_call_begin|>"),
    "harmony": _Style(
        _read_harmony, _remove(_HARMONY_CALL, _HARMONY_TAG), "<|channel|>commentary to="
    ),
}
"""Styles by name, as vLLM and Hugging Face call them."""
