"""Find the decoder of a model by its name: certain for a listed name, a first guess for any other
name.

To add a model, add its name to `LISTED_MODELS`, and a pattern here if similar models use the same
decoder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from fcreview.importers.bfcl.decoders.base import Decoder
from fcreview.importers.bfcl.decoders.listed_models import LISTED_MODELS
from fcreview.importers.bfcl.decoders.registry import DECODERS_BY_NAME, DEFAULT_DECODERS

ModelRows = tuple[tuple[str, str], ...]
"""Rows of (patterns of model folder names, separated by spaces; decoder name). `*` matches any
text.

The first row with a matching pattern gives the first guess for a model that is not listed. Upper
and lower case are equal.
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
    (
        "microsoft_Phi-4-mini-instruct-FC ibm-granite_granite-3.* katanemo_Arch-Agent-*",
        "LIST-STRICT",
    ),
    ("microsoft_phi-4 microsoft_Phi-4-mini-instruct", "PHI"),
    (
        "ibm-granite_granite-4.0-* Qwen_Qwen3-*-FC X-Humanoid_Pelican*-FC Nanbeige_Nanbeige4-*",
        "TAGS",
    ),
    ("BitAgent_BitAgent-Bounty-8B", "JSON"),
    ("ThinkAgents_ThinkAgent-1B", "THINK"),
)
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
    *_LATE_V3_AND_V4_MODELS,
    *_V3_AND_V4_MODELS,
    (
        "gpt-*-FC o1-*-FC o3-*-FC o4-*-FC DeepSeek-V3 DeepSeek-*-FC grok-beta grok-*-FC"
        " claude-*-FC",
        "FC",
    ),
    (
        "mistral-*-FC* open-mi*-FC* meetkai_functionary-* qwen3-*-FC qwq-*-FC *-FC-novita"
        " yi-large-fc",
        "FC",
    ),
    ("firefunction-*-FC palmyra-x-004", "FC-DOTTED"),
    ("command-*-FC*", "COHERE"),
    ("Qwen_Qwen2.5-*-FC", "TAGS"),
    (
        "mistralai_Ministral-8B-Instruct-2410 deepseek-ai_DeepSeek-Coder-V2-*"
        " deepseek-ai_DeepSeek-V2.5",
        "LIST-DOTTED",
    ),
    ("claude-*", "BLANK"),
    ("mistral-* open-mi*", "MISTRAL"),
    ("databricks-dbrx-instruct", "DBRX"),
    ("nvidia_nemotron-4-* snowflake_arctic", "QUOTED"),
    ("Nexusflow-Raven-v2", "RAVEN"),
    ("Salesforce_xLAM-*", "NAMEARG"),
    ("NousResearch_Hermes-2-*", "HERMES"),
    ("MadeAgents_Hammer2*", "HAMMER"),
    ("meta-llama_Llama-3.1-*-FC", "LLAMAFC"),
    ("meta-llama_*-FC", "PROMPT"),
    ("deepseek-ai_DeepSeek-V2-*", "PHI"),
)
V4_MODELS: ModelRows = (
    *_LATE_V3_AND_V4_MODELS,
    *_V3_AND_V4_MODELS,
    ("command-*-FC", "COHERE"),
    ("google_functiongemma-*-FC", "FGEMMA"),
    ("meta-llama_Llama-3.1-*-FC", "LLAMAFC"),
    ("meta-llama_Llama-*-FC", "PROMPT"),
    ("*-FC-novita", "FC"),
    ("mistralai_Ministral-8B-Instruct-2410", "LIST-DOTTED"),
    ("MadeAgents_Hammer2.1-*", "HAMMER"),
    ("firefunction-v2-FC palmyra-x-004 qwen3-235b-a22b-instruct-2507-FC", "FC-DOTTED"),
)
MODELS_BY_VERSION: Mapping[str, ModelRows] = {
    "V1": V1_MODELS,
    "V2": V3_MODELS,
    "V3": V3_MODELS,
    "V4": V4_MODELS,
}

LEADERBOARD_MODELS = (
    "gpt-* o1* o3* o4* claude-* gemini-* mistral* open-mi* command-* nova-* amazon* grok* xai*"
    " palmyra* phronetic*"
    " DeepSeek-* deepseek* meta-llama_* llama* Qwen_* qwen* google_* gemma* microsoft_*"
    " databricks-* snowflake*"
    " nvidia_* ibm-granite_* THUDM_* zai-org_* glm-* openbmb_* BitAgent_* MadeAgents_* Team-ACE_*"
    " watt-ai_* tiiuae_*"
    " uiuc-convai_* speakleash_* Salesforce_* NousResearch_* katanemo_* mistralai_* meetkai_*"
    " firefunction* yi-*"
    " moonshotai_* kimi* ZJared_* CoALM* NovaSky-AI_* Nanbeige_* Arch-* Ling* inclusionAI_*"
    " allenai_* Menlo_*"
)
"""Name patterns of all models on the published leaderboards. If no row matches such a model, the
first guess is Python syntax.
"""

_SEPARATOR = re.compile(r"[^a-z0-9]+")
NATIVE_MODE = "fc"
"""Part of the names of models with native function calling, as in `gpt-4o-2024-11-20-FC`."""


@dataclass(frozen=True, slots=True)
class ModelDecoder:
    """Decoder that a model's name suggests."""

    decoder: Decoder
    listed_name: str | None = None
    """Listed model that the name equals or contains; None if there is none."""
    is_certain: bool = False
    """Whether the name equals the name of a listed model."""


@lru_cache(maxsize=1024)
def find_model_decoder(model: str, version: str) -> ModelDecoder:
    """Return the decoder for the replies of a model. `model` is the name of its folder."""
    listed = _index_listed_models(version)
    if model in listed:
        return ModelDecoder(DECODERS_BY_NAME[listed[model]], model, is_certain=True)

    similar = _find_similar_model(model, listed)
    if similar is not None:
        return ModelDecoder(DECODERS_BY_NAME[listed[similar]], similar)

    for patterns, name in MODELS_BY_VERSION[version]:
        if _has_matching_pattern(model, patterns):
            return ModelDecoder(DECODERS_BY_NAME[name])
    return ModelDecoder(DECODERS_BY_NAME[_guess_by_suffix(model, version)])


def list_version_decoders(version: str) -> set[str]:
    """Return the names of the decoders that models of a BFCL version use."""
    decoders = {DECODERS_BY_NAME[name] for _, name in MODELS_BY_VERSION[version]}
    decoders |= {DECODERS_BY_NAME[name] for name in LISTED_MODELS.get(version, {})}
    return {decoder.name for decoder in decoders} | {DEFAULT_DECODERS[version]}


@lru_cache
def _index_listed_models(version: str) -> Mapping[str, str]:
    """Return model name -> decoder name."""
    index = {}
    for decoder, names in LISTED_MODELS.get(version, {}).items():
        for name in names.split():
            index[name] = decoder
    return index


def _find_similar_model(model: str, listed: Mapping[str, str]) -> str | None:
    """Return the longest listed name that the name of a model contains, or None.

    The model can be a repeat or a quantised copy of the listed one. Case and separators are
    ignored, and the provider before the first `_` of a listed name may be missing. A name with `FC`
    is similar only to names with `FC`, because the same model has another decoder without native
    function calling.
    """
    tokens = _split_into_tokens(model)
    best: str | None = None
    best_size = 0
    for name in listed:
        for spelling in _list_spellings(name):
            wanted = _split_into_tokens(spelling)
            is_same_mode = (NATIVE_MODE in wanted) == (NATIVE_MODE in tokens)
            if is_same_mode and len(spelling) > best_size and _contains_tokens(tokens, wanted):
                best = name
                best_size = len(spelling)
    return best


def _list_spellings(name: str) -> Iterator[str]:
    """Yield a listed name, and the name without its provider."""
    yield name
    _, separator, rest = name.partition("_")
    if separator:
        yield rest


def _split_into_tokens(name: str) -> list[str]:
    return [token for token in _SEPARATOR.split(name.lower()) if token]


def _contains_tokens(tokens: list[str], wanted: list[str]) -> bool:
    """Whether `tokens` contains all of `wanted`, next to each other and in this order.

    A final `FC` is not searched, because it can also come later, as in
    `gpt-4o-2024-11-20-run1-FC`. The caller checks that both names have it, or neither.
    """
    sequence = wanted
    if wanted and wanted[-1] == NATIVE_MODE:
        sequence = wanted[:-1]
    size = len(sequence)
    starts = range(len(tokens) - size + 1)
    return any(tokens[start : start + size] == sequence for start in starts)


def _guess_by_suffix(model: str, version: str) -> str:
    """Return the decoder of a name without a matching row.

    Since V3, most models with `FC` use the decoder FC.
    """
    if version != "V1" and NATIVE_MODE in _split_into_tokens(model):
        return "FC"
    return DEFAULT_DECODERS[version] if _has_matching_pattern(model, LEADERBOARD_MODELS) else "AUTO"


def _has_matching_pattern(model: str, patterns: str) -> bool:
    return any(fnmatchcase(model.lower(), pattern.lower()) for pattern in patterns.split())
