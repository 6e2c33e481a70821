"""Decode call syntax, `[f(a=1), g(b='x')]`. Each family of models has its own clean-up of the reply.

The cleaned text is then parsed by the rules of the BFCL version or, in Java and JavaScript categories, of the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, DecodeFunction, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.python_calls import add_brackets, clean_prompt_text, parse_calls
from fcreview.importers.common.records import Undecodable

FENCE = "```"
QUOTED = re.compile("'([^']*)'")
TOOLCALL = re.compile("<TOOLCALL>(.*?)</TOOLCALL>", re.DOTALL)


def text_decoder(clean: Callable[[str], str]) -> DecodeFunction:
    """Return a decoder that applies `clean` to the reply and parses the result."""

    def decode(result: Any, context: DecoderContext) -> Calls:
        return parse_source_calls(clean(require_text(result)), context)

    return decode


def require_text(result: Any) -> str:
    """Return the reply if it is a string. Raises Undecodable for any other type."""
    if type(result) is not str:
        raise Undecodable("no output" if result is None else "an object where text was expected")
    return result


def parse_source_calls(text: str, context: DecoderContext) -> Calls:
    """Parse calls in the language of the category.

    The official program always cuts off the first and last character of Java and JavaScript text.
    """
    if context.language == "python":
        return parse_calls(text, context.version)
    from fcreview.importers.bfcl.decoders.java_javascript import parse_source

    return parse_source(text[1:-1], context.language)


def clean_blank(text: str) -> str:
    """Remove one leading space and add missing brackets."""
    if not text:
        raise Undecodable("no output")
    return add_brackets(text.removeprefix(" "))


def clean_mistral(text: str) -> str:
    r"""Replace `\_` by `_` and add missing brackets."""
    return add_brackets(text.replace("\\_", "_"))


def clean_llama1(text: str) -> str:
    """Remove newlines and add missing brackets."""
    return add_brackets(text.replace("\n", ""))


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


def clean_gorilla(text: str) -> str:
    """Put the reply in brackets, also if it has brackets already."""
    return f"[{text}]"


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
