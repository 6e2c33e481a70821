"""A raw `result` to calls, by the decoder of its model.

Every decoder by its name: what the table of models, `--decoder` and the configuration speak of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.bfcl.decoders import code, json_lists, native, tagged
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext
from fcreview.importers.bfcl.decoders.models import DEFAULT_DECODERS, decoder_name
from fcreview.importers.bfcl.decoders.native import stringify_arguments


def decode_result(result: Any, decoder: Decoder, how: DecoderContext, config: str | None = None) -> Calls:
    """The calls of a record's `result`. `config` is that of a format-sensitivity item. Raises Undecodable and
    WrongFormat."""
    if config is not None and type(result) is str:
        from fcreview.importers.bfcl.decoders.format_sensitivity import decode_format_sensitivity

        return decode_format_sensitivity(result, config)
    calls = decoder.decode(result, how)
    return stringify_arguments(calls) if decoder.stringifies_arguments and how.language != "python" else calls


def decode_unknown_model(result: Any, how: DecoderContext) -> Calls:
    """Of a model that nobody knows: a list by what stands in it, text in call syntax."""
    if type(result) is dict:
        result = [result]
    if type(result) is list:
        return native.decode_any_list(result)
    return BY_NAME[DEFAULT_DECODERS[how.version]].decode(result, how)


DECODERS = (
    Decoder("FC", native.decode_fc, "flat", '[{"f": "{\\"a\\": 1}"}], f without dots'),
    Decoder("FC-DOTTED", native.decode_fc, example='[{"f": "{\\"a\\": 1}"}]'),
    Decoder("FC-G", native.decode_gemini_v1, "flat", "as FC; one object, too (V1 Gemini)"),
    Decoder("FC-O", native.decode_cohere_v1, "flat", '[{"f": {"a": 1}}] (V1 Cohere)'),
    Decoder("GFC", native.decode_gemini, "flat", '[{"f": {"a": 1}}]; text has the wrong format'),
    Decoder("COHERE", native.decode_cohere, "flat", '[{"tool_name": "f", "parameters": {"a": 1}}]'),
    Decoder("LIST", native.decode_list, "flat", '[{"f": {"a": 1}}]'),
    Decoder("LIST-DOTTED", native.decode_list, example='[{"f": {"a": 1}}]'),
    Decoder("LIST-STRICT", native.decode_strict_list, example='[{"f": {"a": 1}}], objects only'),
    Decoder("NAMEARG", native.decode_named_arguments, example='[{"name": "f", "arguments": {"a": 1}}]'),
    Decoder("PROMPT", code.text_decoder(code.prompt), example="[f(a=1)], perhaps in backticks"),
    Decoder("BARE", code.text_decoder(code.bare), example="[f(a=1)] as it is"),
    Decoder("BRACKET", code.text_decoder(code.bracket), example="[f(a=1)], brackets added"),
    Decoder("BLANK", code.text_decoder(code.blank), example="[f(a=1)] behind a blank"),
    Decoder("MISTRAL", code.text_decoder(code.mistral), example="[f(a=1)] with \\_ for _"),
    Decoder("LLAMA1", code.text_decoder(code.one_line), example="[f(a=1)] over several lines"),
    Decoder("PHI", code.text_decoder(code.clean_phi), example="[f(a=1)] in a fence with a language"),
    Decoder("GEMINI", code.text_decoder(code.clean_gemini), example="[f(a=1)] in a tool_code fence"),
    Decoder("GEMMA1", code.text_decoder(code.clean_gemma1), example="[f(a=1)] in prose"),
    Decoder("CODER1", code.text_decoder(code.clean_coder1), example="[f(a=1)] in a fence in prose"),
    Decoder("QUOTED", code.text_decoder(code.clean_quoted), example="['f(a=1)', 'g(b=2)']"),
    Decoder("DBRX", code.decode_dbrx, example="[f(a='x')], quotes dropped"),
    Decoder("RAVEN", code.decode_raven, example="f(a=1);g(b=2);"),
    Decoder("GORILLA", code.text_decoder(code.gorilla), example="f(a=1)"),
    Decoder("NEMOTRON", code.text_decoder(code.clean_nemotron), example="<TOOLCALL>[f(a=1)]</TOOLCALL>"),
    Decoder("MINICPM", tagged.decode_minicpm, "flat", "<|tool_call_start|> f(a=1), a call a line <|tool_call_end|>"),
    Decoder("TAGS", tagged.decode_tagged, example="<tool_call> blocks"),
    Decoder("HERMES", tagged.decode_hermes, "flat", "<tool_call>, a line of JSON, </tool_call>"),
    Decoder("GLM", tagged.decode_glm, "flat", "f, and on the next line {...}"),
    Decoder("GRANITE", tagged.decode_granite, "flat", "<function_call> {...}"),
    Decoder("FALCON", tagged.decode_falcon, example="the first <tool_call>, perhaps a list"),
    Decoder("FGEMMA", tagged.decode_function_gemma, example="<start_function_call>call:f{a:1}<end_function_call>"),
    Decoder("JSON", json_lists.decode_json, example="a JSON list"),
    Decoder("HAMMER", json_lists.decode_hammer, example="a JSON list; what is none is no call"),
    Decoder("XLAM1", json_lists.decode_xlam1, example='{"tool_calls": [...]}'),
    Decoder("XLAM2", json_lists.decode_xlam2, example="a JSON list, or objects joined by ;"),
    Decoder("THINK", json_lists.decode_think, example="</think>, then a JSON list"),
    Decoder("LLAMAFC", json_lists.decode_llama, example='{"name": "f", "parameters": {...}} in Python notation'),
    Decoder("AUTO", decode_unknown_model, "either", "by the reply: native lists, else text in call syntax"),
)
BY_NAME = {decoder.name: decoder for decoder in DECODERS}
BY_NAME["HERMES1"] = replace(BY_NAME["HERMES"], stringifies_arguments=True)
"""V1's: arguments of Java and JavaScript calls are text."""

NATIVE_V1_DECODERS = frozenset({"FC", "FC-DOTTED", "FC-G", "FC-O"})
"""Whose arguments of Java and JavaScript calls became text until July 2024."""


def decoder_for_model(model: str, rules: str) -> tuple[Decoder, bool]:
    """The decoder of a model folder, and whether the table knows the model."""
    name, known = decoder_name(model, rules)
    return BY_NAME[name], known


def find_decoder(name: str, rules: str) -> Decoder | None:
    """The decoder that a person named, in any case; None if there is no such one."""
    name = name.upper()
    return BY_NAME.get("HERMES1" if (name, rules) == ("HERMES", "V1") else name)


def early_v1_decoder(decoder: Decoder, rules: str) -> Decoder:
    """The decoder as it was in V1 until July 2024."""
    return replace(decoder, stringifies_arguments=True) if rules == "V1" and decoder.name in NATIVE_V1_DECODERS else decoder
