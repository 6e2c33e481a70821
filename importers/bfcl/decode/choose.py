"""A raw `result` to calls: picks the decoder by the record's shape, then by the text's form, last by the
model's folder name."""

from __future__ import annotations

from typing import Any

from fcreview.importers.bfcl.decode import local
from fcreview.importers.bfcl.decode.decoding import Calls, Undecodable, WrongFormat
from fcreview.importers.bfcl.decode.family import FLAT_NAMES, Family, family_of
from fcreview.importers.bfcl.decode.fc import as_text, decode_calls
from fcreview.importers.bfcl.decode.python import bracketed, parse_calls, prompt_text


def decode(
    result: Any, *, language: str, v1: bool, config: str | None = None, model: str = "", early: bool = False
) -> tuple[Calls, bool]:
    """Calls, and whether the record is native function calling (where dots in names may have become underscores).

    `language` is "python", "java" or "javascript"; `early`: the run was scored before the middle of July 2024, when
    native arguments of Java and JavaScript calls were turned into text first. Raises Undecodable and WrongFormat.
    """
    if type(result) is str:
        if config is not None:
            from fcreview.importers.bfcl.decode.format_sensitivity import decode_configured

            return decode_configured(result, config), False
        return _decode_text(result, language, v1, family_of(model, v1))
    if type(result) is dict:
        result = [result]
    if type(result) is not list:
        raise Undecodable("no output" if result is None else f"{type(result).__name__} where calls were expected")
    if not v1 and any(type(part) is str for part in result) and family_of(model, v1) == "gemini":
        raise WrongFormat("text where calls were expected")
    calls = decode_calls(result)
    return (as_text(calls) if early and v1 and language != "python" else calls), True


def _decode_text(text: str, language: str, v1: bool, family: Family) -> tuple[Calls, bool]:
    flat = family in FLAT_NAMES
    match family:
        case "api":
            if text:
                raise Undecodable("text where calls were expected")
            return [], flat
        case "gemini":
            raise WrongFormat("text where calls were expected")
        case "cohere":
            return [], flat
        case "tags":
            return local.tool_call_tags(text), flat
        case "first_tag":
            return local.first_tool_call(text), flat
        case "hermes":
            calls = local.hermes(text, single_quotes=v1)
            return (as_text(calls) if v1 and language != "python" else calls), flat
        case "granite":
            return local.granite(text), flat
        case "json":
            return local.json_calls(text), flat
        case "hammer":
            return local.hammer(text), flat
        case "llama_json":
            return local.literals_or_semicolons(text), flat
        case "glm":
            return local.name_line(text), flat
    return _decode_code(_clean(text, v1, family), language, v1), flat


def _clean(text: str, v1: bool, family: Family) -> str:
    """What the handlers do to prompt-mode text before it is parsed; it then has outer brackets, but for
    V1's `bare` family."""
    if family == "plain":
        text = text.strip().removesuffix(";")
    if family == "phi":
        text = text.strip().removeprefix("```json").removeprefix("```python")
    if not v1:
        return prompt_text(text)
    match family:
        case "llama":
            text = text.replace("\n", "")
        case "gemma":
            return local.bracket_region(text)
        case "mistral":
            text = text.replace("\\_", "_")
        case "bare":
            return text
    return bracketed(text)


def _decode_code(text: str, language: str, v1: bool) -> Calls:
    if language == "python":
        return parse_calls(text, v1=v1)
    from fcreview.importers.bfcl.decode.treesitter import parse_source

    return parse_source(text[1:-1], language)
