"""List all BFCL decoders, and find the decoder of a model or of `--decoder`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fcreview.importers.bfcl.decoders import call_syntax, json_lists, native, tagged
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext
from fcreview.importers.bfcl.decoders.call_syntax import text_decoder
from fcreview.importers.bfcl.decoders.models import DEFAULT_DECODERS, decoder_name
from fcreview.importers.bfcl.decoders.python_calls import add_brackets, clean_prompt_text


def decode_result(result: Any, decoder: Decoder, context: DecoderContext, config: str | None = None) -> Calls:
    """Decode the `result` of a record. Raises Undecodable and WrongFormat.

    If `config`, the configuration part of a format-sensitivity id, is given, text is decoded in the format in `config`.
    """
    if config is not None and type(result) is str:
        from fcreview.importers.bfcl.decoders.format_sensitivity import decode_format_sensitivity

        return decode_format_sensitivity(result, config)
    calls = decoder.decode(result, context)
    if decoder.stringifies_arguments and context.language != "python":
        return [(name, {key: str(value) for key, value in arguments.items()}) for name, arguments in calls]
    return calls


def decode_unknown_model(result: Any, context: DecoderContext) -> Calls:
    """Decode a reply of an unknown model: a list of native calls in any form, or text in call syntax."""
    if type(result) is dict:
        result = [result]
    if type(result) is list:
        return native.decode_any_list(result)
    return DECODERS_BY_NAME[DEFAULT_DECODERS[context.version]].decode(result, context)


DECODERS = (
    Decoder("FC", native.decode_fc, "flat"),
    Decoder("FC-DOTTED", native.decode_fc),
    Decoder("FC-G", native.decode_gemini_v1, "flat"),
    Decoder("FC-O", native.decode_cohere_v1, "flat"),
    Decoder("GFC", native.decode_gemini, "flat"),
    Decoder("COHERE", native.decode_cohere, "flat"),
    Decoder("LIST", native.decode_list, "flat"),
    Decoder("LIST-DOTTED", native.decode_list),
    Decoder("LIST-STRICT", native.decode_strict_list),
    Decoder("NAMEARG", native.decode_named_arguments),
    Decoder("PROMPT", text_decoder(clean_prompt_text)),
    Decoder("BARE", text_decoder(lambda text: text)),
    Decoder("BRACKET", text_decoder(add_brackets)),
    Decoder("BLANK", text_decoder(call_syntax.clean_blank)),
    Decoder("MISTRAL", text_decoder(call_syntax.clean_mistral)),
    Decoder("LLAMA1", text_decoder(call_syntax.clean_llama1)),
    Decoder("PHI", text_decoder(call_syntax.clean_phi)),
    Decoder("GEMINI", text_decoder(call_syntax.clean_gemini)),
    Decoder("GEMMA1", text_decoder(call_syntax.clean_gemma1)),
    Decoder("CODER1", text_decoder(call_syntax.clean_coder1)),
    Decoder("QUOTED", call_syntax.decode_quoted),
    Decoder("DBRX", call_syntax.decode_dbrx),
    Decoder("RAVEN", call_syntax.decode_raven),
    Decoder("GORILLA", text_decoder(call_syntax.clean_gorilla)),
    Decoder("NEMOTRON", text_decoder(call_syntax.clean_nemotron)),
    Decoder("MINICPM", tagged.decode_minicpm, "flat"),
    Decoder("TAGS", tagged.decode_tagged),
    Decoder("HERMES", tagged.decode_hermes, "flat"),
    Decoder("GLM", tagged.decode_glm, "flat"),
    Decoder("GRANITE", tagged.decode_granite, "flat"),
    Decoder("FALCON", tagged.decode_falcon),
    Decoder("FGEMMA", tagged.decode_function_gemma),
    Decoder("JSON", json_lists.decode_json),
    Decoder("HAMMER", json_lists.decode_hammer),
    Decoder("XLAM1", json_lists.decode_xlam1),
    Decoder("XLAM2", json_lists.decode_xlam2),
    Decoder("THINK", json_lists.decode_think),
    Decoder("LLAMAFC", json_lists.decode_llama),
    Decoder("AUTO", decode_unknown_model, "either"),
)
"""Every decoder that `--decoder` accepts. docs/bfcl-decoders.md describes them."""
DECODERS_BY_NAME = {decoder.name: decoder for decoder in DECODERS}
"""Decoder name -> decoder. Also contains HERMES1, the variant of HERMES in V1, which stringifies arguments."""
DECODERS_BY_NAME["HERMES1"] = replace(DECODERS_BY_NAME["HERMES"], stringifies_arguments=True)

NATIVE_V1_DECODERS = frozenset({"FC", "FC-DOTTED", "FC-G", "FC-O"})
"""Decoders that stringified the arguments of Java and JavaScript calls until July 2024."""


def decoder_for_model(model: str, version: str) -> tuple[Decoder, bool]:
    """Return (decoder of a model folder, whether the decoder is certain)."""
    name, is_certain = decoder_name(model, version)
    return DECODERS_BY_NAME[name], is_certain


def find_decoder(name: str, version: str) -> Decoder | None:
    """Return the decoder with a name, in upper or lower case, that a user gave. None if it does not exist."""
    name = name.upper()
    return DECODERS_BY_NAME.get("HERMES1" if (name, version) == ("HERMES", "V1") else name)


def early_v1_decoder(decoder: Decoder, version: str) -> Decoder:
    """Return the variant of a decoder until the middle of July 2024. It differs only for native decoders of V1."""
    return (
        replace(decoder, stringifies_arguments=True)
        if version == "V1" and decoder.name in NATIVE_V1_DECODERS
        else decoder
    )
