"""List all BFCL decoders and the decoder of each model, by BFCL version, and find the decoder of a model.

To add a model, add a row in this module. If it needs a new decoder, also add the decoder to `DECODERS`. Source: the
handlers in `model_handler/` of the official program when each version was current.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from fcreview.importers.bfcl.decoders import json_calls, python_calls, tagged
from fcreview.importers.bfcl.decoders.base import Calls, Decoder, DecoderContext
from fcreview.importers.bfcl.decoders.python_calls import add_brackets, clean_prompt_text, make_text_decoder


def decode_result(result: Any, decoder: Decoder, context: DecoderContext, config: str | None = None) -> Calls:
    """Decode a `result`, by the format-sensitivity `config` if it is given. Raises Undecodable and WrongFormat."""
    if config is not None and type(result) is str:
        return tagged.decode_format_sensitivity(result, config)
    calls = decoder.decode(result, context)
    if decoder.stringifies_arguments and context.language != "python":
        return [(name, {key: str(value) for key, value in arguments.items()}) for name, arguments in calls]
    return calls


def decode_unknown_model(result: Any, context: DecoderContext) -> Calls:
    """Decode a reply of an unknown model: a list of native calls in any form, or text in call syntax."""
    if type(result) is dict:
        result = [result]
    if type(result) is list:
        return json_calls.decode_any_list(result)
    return DECODERS_BY_NAME[DEFAULT_DECODERS[context.version]].decode(result, context)


DECODERS = (
    Decoder("FC", json_calls.decode_fc, "flat"),
    Decoder("FC-DOTTED", json_calls.decode_fc),
    Decoder("FC-G", json_calls.decode_gemini_v1, "flat"),
    Decoder("FC-O", json_calls.decode_cohere_v1, "flat"),
    Decoder("GFC", json_calls.decode_gemini, "flat"),
    Decoder("COHERE", json_calls.decode_cohere, "flat"),
    Decoder("LIST", json_calls.decode_list, "flat"),
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
    Decoder("NEMOTRON", make_text_decoder(python_calls.clean_nemotron)),
    Decoder("MINICPM", tagged.decode_minicpm, "flat"),
    Decoder("TAGS", tagged.decode_tagged),
    Decoder("HERMES", tagged.decode_hermes, "flat"),
    Decoder("GLM", tagged.decode_glm, "flat"),
    Decoder("GRANITE", tagged.decode_granite, "flat"),
    Decoder("FALCON", tagged.decode_falcon),
    Decoder("FGEMMA", tagged.decode_function_gemma),
    Decoder("JSON", json_calls.decode_json),
    Decoder("HAMMER", json_calls.decode_hammer),
    Decoder("XLAM1", json_calls.decode_xlam1),
    Decoder("XLAM2", json_calls.decode_xlam2),
    Decoder("THINK", json_calls.decode_think),
    Decoder("LLAMAFC", json_calls.decode_llama),
    Decoder("AUTO", decode_unknown_model, "either"),
)
"""Every decoder that `--decoder` accepts. docs/bfcl-decoders.md describes them."""
DECODERS_BY_NAME = {decoder.name: decoder for decoder in DECODERS}
"""Decoder name -> decoder. Also contains HERMES1, the variant of HERMES in V1, which stringifies arguments."""
DECODERS_BY_NAME["HERMES1"] = replace(DECODERS_BY_NAME["HERMES"], stringifies_arguments=True)

NATIVE_V1_DECODERS = frozenset({"FC", "FC-DOTTED", "FC-G", "FC-O"})
"""Decoders that stringified the arguments of Java and JavaScript calls until July 2024."""


def find_decoder(name: str, version: str) -> Decoder | None:
    """Return the decoder with this name, in upper or lower case. None if it does not exist."""
    name = name.upper()
    return DECODERS_BY_NAME.get("HERMES1" if (name, version) == ("HERMES", "V1") else name)


def to_early_v1_decoder(decoder: Decoder, version: str) -> Decoder:
    """Return the form of a decoder before the middle of July 2024. Only V1's native decoders have changed since."""
    stringified = version == "V1" and decoder.name in NATIVE_V1_DECODERS
    return replace(decoder, stringifies_arguments=True) if stringified else decoder


ModelRows = tuple[tuple[str, str], ...]
"""Rows of (patterns of model folder names, separated by spaces; decoder name). `*` matches any text.

The first row with a matching pattern is used.
"""

V1_MODELS: ModelRows = (
    ("gpt-*-FC claude-*-FC mistral-*-FC* open-mi*-FC* meetkai_functionary-* yi-large-fc", "FC"),
    ("firefunction-*-FC", "FC-DOTTED"),
    ("gemini-*", "FC-G"),
    ("command-r-plus-FC*", "FC-O"),
    ("command-r-plus command-r-plus-optimized", "BRACKET"),
    ("gpt-*", "BARE"),
    ("claude-*", "BLANK"),
    ("mistral-* open-mistral-* open-mixtral-*", "MISTRAL"),
    ("meta-llama_*", "LLAMA1"),
    ("google_gemma-7b-it", "GEMMA1"),
    ("deepseek-ai_deepseek-coder-6.7b-*", "CODER1"),
    ("databricks-dbrx-instruct", "DBRX"),
    ("nvidia_nemotron-4-340b-instruct snowflake_arctic", "QUOTED"),
    ("Nexusflow-Raven-v2", "RAVEN"),
    ("gorilla-openfunctions-v*", "GORILLA"),
    ("NousResearch_Hermes-2-*", "HERMES1"),
    ("THUDM_glm-4-9b-chat", "GLM"),
    ("ibm-granite_granite-20b-*", "GRANITE"),
    ("Salesforce_xLAM-*", "XLAM1"),
)
_LATE_V3_AND_V4_MODELS: ModelRows = (
    ("nvidia_llama-3.1-nemotron-ultra-253b-v1", "NEMOTRON"),
    ("Salesforce_*xLAM-2-*", "XLAM2"),
    ("xiaoming-14B DM-Cito-*", "NAMEARG"),
    ("microsoft_phi-4 microsoft_Phi-4-mini-instruct", "PHI"),
    ("ibm-granite_granite-4.0-* Qwen_Qwen3-*-FC X-Humanoid_Pelican*-FC Nanbeige_Nanbeige4-*", "TAGS"),
    ("BitAgent_BitAgent-Bounty-8B", "JSON"),
    ("ThinkAgents_ThinkAgent-1B", "THINK"),
)
LATE_V3_MODELS: ModelRows = (
    *_LATE_V3_AND_V4_MODELS,
    ("microsoft_Phi-4-mini-instruct-FC ibm-granite_granite-3.* katanemo_Arch-Agent-*", "LIST-DOTTED"),
)
"""Models added between March and August 2025, when result files still had the names of V3."""
_V3_AND_V4_MODELS: ModelRows = (
    ("gemini-*-FC", "GFC"),
    ("gemini-*", "GEMINI"),
    ("nova-*", "LIST"),
    ("gorilla-openfunctions-v2", "GORILLA"),
    ("THUDM_glm-4-9b-chat", "GLM"),
    ("ibm-granite_granite-20b-*", "GRANITE"),
    ("tiiuae_Falcon3-*-FC", "FALCON"),
    ("openbmb_MiniCPM3-4B-FC", "MINICPM"),
)
V3_MODELS: ModelRows = (
    *LATE_V3_MODELS,
    *_V3_AND_V4_MODELS,
    ("gpt-*-FC o1-*-FC o3-*-FC DeepSeek-V3 grok-beta claude-*-FC mistral-*-FC open-mi*-FC meetkai_functionary-*", "FC"),
    ("firefunction-*-FC palmyra-x-004", "FC-DOTTED"),
    ("command-r*-FC", "COHERE"),
    ("mistralai_Ministral-8B-Instruct-2410 deepseek-ai_DeepSeek-Coder-V2-* deepseek-ai_DeepSeek-V2.5", "LIST-DOTTED"),
    ("claude-*", "BLANK"),
    ("mistral-* open-mi*", "MISTRAL"),
    ("databricks-dbrx-instruct", "DBRX"),
    ("nvidia_nemotron-4-* snowflake_arctic", "QUOTED"),
    ("Nexusflow-Raven-v2", "RAVEN"),
    ("Salesforce_xLAM-*", "NAMEARG"),
    ("NousResearch_Hermes-2-*", "HERMES"),
    ("MadeAgents_Hammer2*", "HAMMER"),
    ("meta-llama_*-FC", "LLAMAFC"),
    ("deepseek-ai_DeepSeek-V2-*", "PHI"),
)
V4_MODELS: ModelRows = (
    *_LATE_V3_AND_V4_MODELS,
    *_V3_AND_V4_MODELS,
    ("command-*-FC", "COHERE"),
    ("google_functiongemma-*-FC", "FGEMMA"),
    ("meta-llama_Llama-3.1-*-FC", "LLAMAFC"),
    ("meta-llama_Llama-*-FC", "PROMPT"),
    ("meta-llama_llama-4-*-FC-novita", "FC"),
    ("mistralai_Ministral-8B-Instruct-2410", "LIST-DOTTED"),
    ("microsoft_Phi-4-mini-instruct-FC ibm-granite_granite-3.* katanemo_Arch-Agent-*", "LIST-STRICT"),
    ("MadeAgents_Hammer2.1-*", "HAMMER"),
    ("firefunction-v2-FC palmyra-x-004 qwen3-235b-a22b-instruct-2507-FC", "FC-DOTTED"),
)
MODELS_BY_VERSION: Mapping[str, ModelRows] = {"V1": V1_MODELS, "V2": V3_MODELS, "V3": V3_MODELS, "V4": V4_MODELS}

LEADERBOARD_MODELS = (
    "gpt-* o1* o3* o4* claude-* gemini-* mistral* open-mi* command-* nova-* amazon* grok* xai* palmyra* phronetic*"
    " DeepSeek-* deepseek* meta-llama_* llama* Qwen_* qwen* google_* gemma* microsoft_* databricks-* snowflake*"
    " nvidia_* ibm-granite_* THUDM_* zai-org_* glm-* openbmb_* BitAgent_* MadeAgents_* Team-ACE_* watt-ai_* tiiuae_*"
    " uiuc-convai_* speakleash_* Salesforce_* NousResearch_* katanemo_* mistralai_* meetkai_* firefunction* yi-*"
    " moonshotai_* kimi* ZJared_* CoALM* NovaSky-AI_* Nanbeige_* Arch-* Ling* inclusionAI_* allenai_* Menlo_*"
)
"""Name patterns of all models on the published leaderboards.

If no row matches such a model, it answers in Python syntax or, with `-FC` in V4, by native calls.
"""
DEFAULT_DECODERS = {"V1": "BRACKET", "V2": "PROMPT", "V3": "PROMPT", "V4": "PROMPT"}
"""BFCL version -> decoder of leaderboard models that match no row of `MODELS_BY_VERSION`."""


class ModelDecoder(NamedTuple):
    decoder: Decoder
    is_certain: bool
    """False for models that are not on the leaderboards, and for V3 runs of `LATE_V3_MODELS`, whose decoder may have
    been another one before March 2025."""


@lru_cache(maxsize=1024)
def find_model_decoder(model: str, version: str) -> ModelDecoder:
    """Return the decoder for the replies of a model. `model` is the name of its folder."""
    for row in MODELS_BY_VERSION[version]:
        patterns, name = row
        if _has_matching_pattern(model, patterns):
            return ModelDecoder(DECODERS_BY_NAME[name], version == "V4" or row not in LATE_V3_MODELS)
    on_leaderboard = _has_matching_pattern(model, LEADERBOARD_MODELS)
    if version == "V4" and model.endswith("-FC"):
        return ModelDecoder(DECODERS_BY_NAME["FC"], on_leaderboard)
    name = DEFAULT_DECODERS[version] if on_leaderboard else "AUTO"
    return ModelDecoder(DECODERS_BY_NAME[name], on_leaderboard)


def _has_matching_pattern(model: str, patterns: str) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns.split())
