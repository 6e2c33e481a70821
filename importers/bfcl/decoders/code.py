"""Replies in call syntax, `[f(a=1), g(b='x')]`: what each family's handler does to the text before it is parsed.

The parser is that of the generation (`parse_calls`), for Java and JavaScript that of the language; these cut off the
first and the last character, whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fcreview.importers.bfcl.decoders.base import Calls, DecodeFunction, DecoderContext, WrongFormat
from fcreview.importers.bfcl.decoders.python_calls import add_brackets, clean_prompt_text, parse_calls
from fcreview.importers.common.records import Undecodable

FENCE = "```"
PAIR = re.compile("'([^']*)'")
TOOLCALL = re.compile("<TOOLCALL>(.*?)</TOOLCALL>", re.DOTALL)


def text_decoder(clean: Callable[[str, DecoderContext], str]) -> DecodeFunction:
    """A decoder that parses what `clean` makes of the reply."""

    def read(result: Any, how: DecoderContext) -> Calls:
        return parse_source_calls(clean(require_text(result), how), how)

    return read


def require_text(result: Any) -> str:
    """The reply, if it is text. Raises Undecodable."""
    if type(result) is not str:
        raise Undecodable("no output" if result is None else "an object where text was expected")
    return result


def parse_source_calls(text: str, how: DecoderContext) -> Calls:
    if how.language == "python":
        return parse_calls(text, how.version)
    from fcreview.importers.bfcl.decoders.java_javascript import parse_source

    return parse_source(text[1:-1], how.language)


def bare(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return text


def bracket(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return add_brackets(text)


def blank(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    if not text:
        raise Undecodable("no output")
    return add_brackets(text.removeprefix(" "))


def mistral(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return add_brackets(text.replace("\\_", "_"))


def one_line(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return add_brackets(text.replace("\n", ""))


def prompt(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return clean_prompt_text(text)


def clean_phi(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return clean_prompt_text(text.strip().removeprefix(FENCE + "json").removeprefix(FENCE + "python"))


def clean_gemini(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return clean_prompt_text(text.replace(f"{FENCE}tool_code\n", "").replace(f"\n{FENCE}", ""))


def clean_nemotron(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    found = TOOLCALL.search(text)
    return clean_prompt_text(found[1]) if found else "[]"


def clean_gemma1(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    """From the first `[` to the last `]`."""
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        raise Undecodable("no [ ... ] in the text")
    return text[start : end + 1]


def clean_coder1(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    """In the first fence, from the first `[` to the *next* `]`."""
    parts = text.split(FENCE)
    inside = parts[1] if len(parts) > 1 else ""
    start = inside.find("[")
    end = inside.find("]", start)
    if start < 0 or end < 0:
        raise Undecodable("no [ ... ] in a code fence")
    return inside[start : end + 1]


def clean_quoted(text: str, how: DecoderContext) -> str:
    """Calls that are quoted one by one."""
    text = text.replace("\n", "")
    opening, closing = ("[ ", " ]") if how.v1 else ("[", "]")
    text = text if text.startswith("[") else opening + text
    text = text if text.endswith("]") else text + closing
    if text.startswith("['"):
        text = text.replace("['", "[").replace("', '", ", ").replace("','", ", ")
    return text.replace("']", "]") if text.endswith("']") else text


def gorilla(text: str, how: DecoderContext) -> str:  # noqa: ARG001
    return f"[{text}]"


def decode_raven(result: Any, how: DecoderContext) -> Calls:
    """`f(a=1);g(b=2);`."""
    text = require_text(result)
    calls = parse_source_calls("[" + text.removesuffix(";").replace(";", ",") + "]", how)
    if "out_of_domain" in text:
        raise WrongFormat("out_of_domain: no function is called", list(calls))
    return calls


def decode_dbrx(result: Any, how: DecoderContext) -> Calls:
    """Without the quotes; the reply as it is where that cannot be read."""
    text = require_text(result)
    plain = add_brackets(PAIR.sub(r"\1", text).replace("\n    ", ""))
    if plain.startswith("['"):
        plain = plain.replace("['", "[")
    try:
        return parse_source_calls(plain, how)
    except Undecodable:
        return parse_source_calls(text, how)
