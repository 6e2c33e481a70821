"""List all BFCL decoders, and decode replies with them.

Source: the handlers in `model_handler/` of the official program when each version was current.
`models.py` finds the decoder of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fcreview.importers.bfcl.decoders import json_calls, python_calls, tagged
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext
from fcreview.importers.bfcl.decoders.python_calls import (
    add_brackets,
    clean_prompt_text,
    make_text_decoder,
)


def decode_result(
    result: Any, decoder: Decoder, context: DecoderContext, config: str | None = None
) -> Calls:
    """Decode the calls in a reply. Raises Undecodable and WrongFormat.

    Args:
        result: The field `result` of a record.
        decoder: The rules by which BFCL reads the replies of the model.
        context: Version of BFCL, and language of the calls.
        config: The prompt format of an item of the category format_sensitivity, which tries many
            formats. Decoders for native calls ignore it.
    """
    if config is not None and type(result) is str and decoder.name in FORMAT_SENSITIVITY_CLEANUPS:
        clean = FORMAT_SENSITIVITY_CLEANUPS[decoder.name]
        return tagged.decode_format_sensitivity(clean(result), config)

    calls = decoder.decode(result, context)
    if not decoder.stringifies_arguments or context.language == "python":
        return calls
    # Java and JavaScript arguments must be source text, but native calls contain JSON values.
    stringified_calls = []
    for name, arguments in calls:
        texts = {key: str(value) for key, value in arguments.items()}
        stringified_calls.append((name, texts))
    return stringified_calls


def decode_unknown_model(result: Any, context: DecoderContext) -> Calls:
    """Decode a reply of an unknown model: a list of native calls in any form, or text in call
    syntax.
    """
    if type(result) is dict:
        result = [result]
    if type(result) is list:
        return json_calls.decode_any_list(result)
    return DECODERS_BY_NAME[DEFAULT_DECODERS[context.version]].decode(result, context)


DECODERS = (
    Decoder("FC", decode=json_calls.decode_fc, name_spelling="flat"),
    Decoder("FC-DOTTED", json_calls.decode_fc),
    Decoder("FC-G", decode=json_calls.decode_gemini_v1, name_spelling="flat"),
    Decoder("FC-O", decode=json_calls.decode_cohere_v1, name_spelling="flat"),
    Decoder("GFC", decode=json_calls.decode_gemini, name_spelling="flat"),
    Decoder("COHERE", decode=json_calls.decode_cohere, name_spelling="flat"),
    Decoder("LIST", decode=json_calls.decode_list, name_spelling="flat"),
    Decoder("LIST-DOTTED", json_calls.decode_list),
    Decoder("LIST-STRICT", json_calls.decode_strict_list),
    Decoder("NAMEARG", json_calls.decode_named_arguments),
    Decoder("PROMPT", make_text_decoder(clean_prompt_text)),
    Decoder("BARE", make_text_decoder(lambda text: text)),
    Decoder("BRACKET", make_text_decoder(add_brackets)),
    Decoder("BLANK", make_text_decoder(python_calls.clean_blank)),
    Decoder("MISTRAL", make_text_decoder(lambda text: add_brackets(text.replace("\\_", "_")))),
    Decoder("LLAMA1", make_text_decoder(lambda text: add_brackets(text.replace("\n", "")))),
    Decoder("PHI", make_text_decoder(python_calls.clean_phi)),
    Decoder("GEMINI", make_text_decoder(python_calls.clean_gemini)),
    Decoder("GEMMA1", make_text_decoder(python_calls.clean_gemma1)),
    Decoder("CODER1", make_text_decoder(python_calls.clean_coder1)),
    Decoder("QUOTED", python_calls.decode_quoted),
    Decoder("DBRX", python_calls.decode_dbrx),
    Decoder("RAVEN", python_calls.decode_raven),
    Decoder("GORILLA", make_text_decoder(lambda text: f"[{text}]")),
    Decoder("NEMOTRON", python_calls.decode_nemotron),
    Decoder("MINICPM", decode=tagged.decode_minicpm, name_spelling="flat"),
    Decoder("TAGS", tagged.decode_tagged),
    Decoder("HERMES", decode=tagged.decode_hermes, name_spelling="flat"),
    Decoder("GLM", decode=tagged.decode_glm, name_spelling="flat"),
    Decoder("GRANITE", decode=tagged.decode_granite, name_spelling="flat"),
    Decoder("FALCON", tagged.decode_falcon),
    Decoder("FGEMMA", tagged.decode_function_gemma),
    Decoder("JSON", json_calls.decode_json),
    Decoder("HAMMER", json_calls.decode_hammer),
    Decoder("XLAM1", json_calls.decode_xlam1),
    Decoder("XLAM2", json_calls.decode_xlam2),
    Decoder("THINK", json_calls.decode_think),
    Decoder("LLAMAFC", json_calls.decode_llama),
    Decoder("AUTO", decode=decode_unknown_model, name_spelling="either"),
)
"""Every decoder that `--decoder` accepts. docs/bfcl-decoders.md describes them."""
DECODERS_BY_NAME = {decoder.name: decoder for decoder in DECODERS}
"""Decoder name -> decoder.

Also contains HERMES1, the variant of HERMES in V1, which stringifies arguments.
"""
DECODERS_BY_NAME["HERMES1"] = replace(DECODERS_BY_NAME["HERMES"], stringifies_arguments=True)

FORMAT_SENSITIVITY_CLEANUPS: Mapping[str, Callable[[str], str]] = {
    "PROMPT": lambda text: text,
    "AUTO": lambda text: text,
    "PHI": python_calls.remove_phi_fence,
    "GEMINI": python_calls.remove_tool_code_fences,
}
"""Name of a decoder that follows the prompt configurations -> what its handler removes from a
reply before that.
"""

DEFAULT_DECODERS = {"V1": "BRACKET", "V2": "PROMPT", "V3": "PROMPT", "V4": "PROMPT"}
"""BFCL version -> decoder of most models that answer with text."""

NATIVE_V1_DECODERS = frozenset({"FC", "FC-DOTTED", "FC-G", "FC-O"})
"""Decoders that stringified the arguments of Java and JavaScript calls until July 2024."""


def find_decoder(name: str, version: str) -> Decoder | None:
    """Return the decoder with this name, in upper or lower case. None if it does not exist."""
    name = name.upper()
    return DECODERS_BY_NAME.get("HERMES1" if (name, version) == ("HERMES", "V1") else name)


def to_early_v1_decoder(decoder: Decoder, version: str) -> Decoder:
    """Return the form of a decoder before the middle of July 2024.

    Only V1's native decoders have changed since.
    """
    stringified = version == "V1" and decoder.name in NATIVE_V1_DECODERS
    return replace(decoder, stringifies_arguments=True) if stringified else decoder
