"""List the decoder of each model, by BFCL version.

To add a model, add a row here; for a new family, also a decoder in `registry.py`. Source: the handlers in
`model_handler/` of the official program when each version was current.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

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
LATE_V3_MODELS: ModelRows = (
    ("nvidia_llama-3.1-nemotron-ultra-253b-v1", "NEMOTRON"),
    ("Salesforce_*xLAM-2-*", "XLAM2"),
    ("xiaoming-14B DM-Cito-*", "NAMEARG"),
    ("microsoft_Phi-4-mini-instruct-FC ibm-granite_granite-3.* katanemo_Arch-Agent-*", "LIST-DOTTED"),
    ("microsoft_phi-4 microsoft_Phi-4-mini-instruct", "PHI"),
    ("ibm-granite_granite-4.0-* Qwen_Qwen3-*-FC X-Humanoid_Pelican*-FC Nanbeige_Nanbeige4-*", "TAGS"),
    ("BitAgent_BitAgent-Bounty-8B", "JSON"),
    ("ThinkAgents_ThinkAgent-1B", "THINK"),
)
"""Models added between March and August 2025, when result files still had the names of V3."""
V3_MODELS: ModelRows = (
    *LATE_V3_MODELS,
    ("gpt-*-FC o1-*-FC o3-*-FC DeepSeek-V3 grok-beta claude-*-FC mistral-*-FC open-mi*-FC meetkai_functionary-*", "FC"),
    ("firefunction-*-FC palmyra-x-004", "FC-DOTTED"),
    ("gemini-*-FC", "GFC"),
    ("gemini-*", "GEMINI"),
    ("command-r*-FC", "COHERE"),
    ("nova-*", "LIST"),
    ("mistralai_Ministral-8B-Instruct-2410 deepseek-ai_DeepSeek-Coder-V2-* deepseek-ai_DeepSeek-V2.5", "LIST-DOTTED"),
    ("claude-*", "BLANK"),
    ("mistral-* open-mi*", "MISTRAL"),
    ("databricks-dbrx-instruct", "DBRX"),
    ("nvidia_nemotron-4-* snowflake_arctic", "QUOTED"),
    ("Nexusflow-Raven-v2", "RAVEN"),
    ("gorilla-openfunctions-v2", "GORILLA"),
    ("Salesforce_xLAM-*", "NAMEARG"),
    ("NousResearch_Hermes-2-*", "HERMES"),
    ("THUDM_glm-4-9b-chat", "GLM"),
    ("ibm-granite_granite-20b-*", "GRANITE"),
    ("MadeAgents_Hammer2*", "HAMMER"),
    ("tiiuae_Falcon3-*-FC", "FALCON"),
    ("meta-llama_*-FC", "LLAMAFC"),
    ("openbmb_MiniCPM3-4B-FC", "MINICPM"),
    ("deepseek-ai_DeepSeek-V2-*", "PHI"),
)
V4_MODELS: ModelRows = (
    ("gorilla-openfunctions-v2", "GORILLA"),
    ("gemini-*-FC", "GFC"),
    ("gemini-*", "GEMINI"),
    ("command-*-FC", "COHERE"),
    ("nova-*", "LIST"),
    ("nvidia_llama-3.1-nemotron-ultra-253b-v1", "NEMOTRON"),
    ("xiaoming-14B DM-Cito-*", "NAMEARG"),
    ("google_functiongemma-*-FC", "FGEMMA"),
    ("meta-llama_Llama-3.1-*-FC", "LLAMAFC"),
    ("meta-llama_Llama-*-FC", "PROMPT"),
    ("meta-llama_llama-4-*-FC-novita", "FC"),
    ("Salesforce_*xLAM-2-*", "XLAM2"),
    ("mistralai_Ministral-8B-Instruct-2410", "LIST-DOTTED"),
    ("microsoft_Phi-4-mini-instruct-FC ibm-granite_granite-3.* katanemo_Arch-Agent-*", "LIST-STRICT"),
    ("microsoft_phi-4 microsoft_Phi-4-mini-instruct", "PHI"),
    ("ibm-granite_granite-4.0-* Qwen_Qwen3-*-FC X-Humanoid_Pelican*-FC Nanbeige_Nanbeige4-*", "TAGS"),
    ("ibm-granite_granite-20b-*", "GRANITE"),
    ("THUDM_glm-4-9b-chat", "GLM"),
    ("openbmb_MiniCPM3-4B-FC", "MINICPM"),
    ("MadeAgents_Hammer2.1-*", "HAMMER"),
    ("tiiuae_Falcon3-*-FC", "FALCON"),
    ("BitAgent_BitAgent-Bounty-8B", "JSON"),
    ("ThinkAgents_ThinkAgent-1B", "THINK"),
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
"""BFCL version -> decoder of leaderboard models that no row matches."""


@lru_cache(maxsize=1024)
def decoder_name(model: str, version: str) -> tuple[str, bool]:
    """Return (name of the decoder for a model folder, whether the decoder is certain).

    The decoder is not certain for V3 runs of `LATE_V3_MODELS`, which may have had another decoder before March 2025,
    and for models that are not on the leaderboards.
    """
    for row in MODELS_BY_VERSION[version]:
        patterns, decoder = row
        if _has_matching_pattern(model, patterns):
            return decoder, version == "V4" or row not in LATE_V3_MODELS
    on_leaderboard = _has_matching_pattern(model, LEADERBOARD_MODELS)
    if version == "V4" and model.endswith("-FC"):
        return "FC", on_leaderboard
    return (DEFAULT_DECODERS[version], True) if on_leaderboard else ("AUTO", False)


def _has_matching_pattern(model: str, patterns: str) -> bool:
    return any(fnmatchcase(model, pattern) for pattern in patterns.split())
