"""A raw `result` to calls, by the decoder of its model.

Every decoder by its name: what the table of models, `--decoder` and the configuration speak of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.bfcl.decoders import code, json_lists, native, tagged
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, How
from fcreview.importers.bfcl.decoders.models import OTHERWISE, decoder_name
from fcreview.importers.bfcl.decoders.native import as_text


def decode(result: Any, decoder: Decoder, how: How, config: str | None = None) -> Calls:
    """The calls of a record's `result`. `config` is that of a format-sensitivity item. Raises Undecodable and
    WrongFormat."""
    if config is not None and type(result) is str:
        from fcreview.importers.bfcl.decoders.format_sensitivity import decode_configured

        return decode_configured(result, config)
    calls = decoder.read(result, how)
    return as_text(calls) if decoder.as_text and how.language != "python" else calls


def auto(result: Any, how: How) -> Calls:
    """Of a model that nobody knows: a list by what stands in it, text in call syntax."""
    if type(result) is dict:
        result = [result]
    if type(result) is list:
        return native.tolerant(result)
    return BY_NAME[OTHERWISE[how.rules]].read(result, how)


DECODERS = (
    Decoder("FC", native.fc, "flat", '[{"f": "{\\"a\\": 1}"}], f without dots'),
    Decoder("FC-DOTTED", native.fc, about='[{"f": "{\\"a\\": 1}"}]'),
    Decoder("FC-G", native.gemini_v1, "flat", "as FC; one object, too (V1 Gemini)"),
    Decoder("FC-O", native.cohere_v1, "flat", '[{"f": {"a": 1}}] (V1 Cohere)'),
    Decoder("GFC", native.as_it_is, "flat", '[{"f": {"a": 1}}]; text has the wrong format'),
    Decoder("COHERE", native.cohere, "flat", '[{"tool_name": "f", "parameters": {"a": 1}}]'),
    Decoder("LIST", native.listed, "flat", '[{"f": {"a": 1}}]'),
    Decoder("LIST-DOTTED", native.listed, about='[{"f": {"a": 1}}]'),
    Decoder("LIST-STRICT", native.listed_strictly, about='[{"f": {"a": 1}}], objects only'),
    Decoder("NAMEARG", native.named, about='[{"name": "f", "arguments": {"a": 1}}]'),
    Decoder("PROMPT", code.code(code.prompt), about="[f(a=1)], perhaps in backticks"),
    Decoder("BARE", code.code(code.bare), about="[f(a=1)] as it is"),
    Decoder("BRACKET", code.code(code.bracket), about="[f(a=1)], brackets added"),
    Decoder("BLANK", code.code(code.blank), about="[f(a=1)] behind a blank"),
    Decoder("MISTRAL", code.code(code.mistral), about="[f(a=1)] with \\_ for _"),
    Decoder("LLAMA1", code.code(code.one_line), about="[f(a=1)] over several lines"),
    Decoder("PHI", code.code(code.phi), about="[f(a=1)] in a fence with a language"),
    Decoder("GEMINI", code.code(code.gemini), about="[f(a=1)] in a tool_code fence"),
    Decoder("GEMMA1", code.code(code.region), about="[f(a=1)] in prose"),
    Decoder("CODER1", code.code(code.fenced_region), about="[f(a=1)] in a fence in prose"),
    Decoder("QUOTED", code.code(code.quoted), about="['f(a=1)', 'g(b=2)']"),
    Decoder("DBRX", code.dbrx, about="[f(a='x')], quotes dropped"),
    Decoder("RAVEN", code.raven, about="f(a=1);g(b=2);"),
    Decoder("GORILLA", code.code(code.gorilla), about="f(a=1)"),
    Decoder("NEMOTRON", code.code(code.nemotron), about="<TOOLCALL>[f(a=1)]</TOOLCALL>"),
    Decoder("MINICPM", tagged.minicpm, "flat", "<|tool_call_start|> f(a=1), a call a line <|tool_call_end|>"),
    Decoder("TAGS", tagged.tagged, about="<tool_call> blocks"),
    Decoder("HERMES", tagged.hermes, "flat", "<tool_call>, a line of JSON, </tool_call>"),
    Decoder("GLM", tagged.glm, "flat", "f, and on the next line {...}"),
    Decoder("GRANITE", tagged.granite, "flat", "<function_call> {...}"),
    Decoder("FALCON", tagged.falcon, about="the first <tool_call>, perhaps a list"),
    Decoder("FGEMMA", tagged.function_gemma, about="<start_function_call>call:f{a:1}<end_function_call>"),
    Decoder("JSON", json_lists.plain, about="a JSON list"),
    Decoder("HAMMER", json_lists.hammer, about="a JSON list; what is none is no call"),
    Decoder("XLAM1", json_lists.xlam1, about='{"tool_calls": [...]}'),
    Decoder("XLAM2", json_lists.xlam2, about="a JSON list, or objects joined by ;"),
    Decoder("THINK", json_lists.think, about="</think>, then a JSON list"),
    Decoder("LLAMAFC", json_lists.llama, about='{"name": "f", "parameters": {...}} in Python notation'),
    Decoder("AUTO", auto, "either", "by the reply: native lists, else text in call syntax"),
)
BY_NAME = {decoder.name: decoder for decoder in DECODERS}
BY_NAME["HERMES1"] = replace(BY_NAME["HERMES"], as_text=True)
"""V1's: arguments of Java and JavaScript calls are text."""

NATIVE_V1 = frozenset({"FC", "FC-DOTTED", "FC-G", "FC-O"})
"""Whose arguments of Java and JavaScript calls became text until July 2024."""


def decoder_of(model: str, rules: str) -> tuple[Decoder, bool]:
    """The decoder of a model folder, and whether the table knows the model."""
    name, known = decoder_name(model, rules)
    return BY_NAME[name], known


def asked_for(name: str, rules: str) -> Decoder | None:
    """The decoder that a person named, in any case; None if there is no such one."""
    name = name.upper()
    return BY_NAME.get("HERMES1" if (name, rules) == ("HERMES", "V1") else name)


def early(decoder: Decoder, rules: str) -> Decoder:
    """The decoder as it was in V1 until July 2024."""
    return replace(decoder, as_text=True) if rules == "V1" and decoder.name in NATIVE_V1 else decoder
