"""List the models of the published BFCL programs, by BFCL version and decoder.

Only these names make a decoder certain. They are the names in the registry of the official program
(`handler_map.py`, later `model_config.py`) while it wrote files of the version, with `_` for `/` as
in folder names. A model is omitted if its handler changed within the version, because its name then
does not tell which handler read the replies. V2 has no list, because no published results show how
its handlers read replies.
"""

from __future__ import annotations

from collections.abc import Mapping

LISTED_MODELS: Mapping[str, Mapping[str, str]] = {
    "V1": {
        "FC": """
            claude-3-5-sonnet-20240620-FC claude-3-haiku-20240307-FC claude-3-opus-20240229-FC
            claude-3-sonnet-20240229-FC gpt-3.5-turbo-0125-FC gpt-4-0125-preview-FC gpt-4-0613-FC
            gpt-4-1106-preview-FC gpt-4-turbo-2024-04-09-FC gpt-4o-2024-05-13-FC gpt-4o-2024-08-06-FC
            gpt-4o-mini-2024-07-18-FC meetkai_functionary-medium-v2.2-FC meetkai_functionary-medium-v2.4-FC
            meetkai_functionary-medium-v3.1-FC meetkai_functionary-small-v2.2-FC
            meetkai_functionary-small-v2.4-FC meetkai_functionary-small-v3.1-FC
            meetkai_functionary-small-v3.2-FC mistral-large-2402-FC-Any mistral-large-2402-FC-Auto
            mistral-large-2407-FC-Any mistral-large-2407-FC-Auto mistral-small-2402-FC-Any
            mistral-small-2402-FC-Auto open-mistral-nemo-2407-FC-Any open-mistral-nemo-2407-FC-Auto
            open-mixtral-8x22b-FC-Any open-mixtral-8x22b-FC-Auto yi-large-fc
        """,
        "FC-DOTTED": "firefunction-v1-FC firefunction-v2-FC",
        "FC-G": "gemini-1.0-pro gemini-1.5-flash-preview-0514 gemini-1.5-pro-preview-0409"
        " gemini-1.5-pro-preview-0514",
        "FC-O": "command-r-plus-FC command-r-plus-FC-optimized",
        "BARE": """
            gpt-3.5-turbo-0125 gpt-4-0125-preview gpt-4-0613 gpt-4-1106-preview gpt-4-turbo-2024-04-09
            gpt-4o-2024-05-13 gpt-4o-2024-08-06 gpt-4o-mini-2024-07-18
        """,
        "BRACKET": "command-r-plus command-r-plus-optimized",
        "BLANK": """
            claude-2.1 claude-3-5-sonnet-20240620 claude-3-haiku-20240307 claude-3-opus-20240229
            claude-3-sonnet-20240229 claude-instant-1.2
        """,
        "MISTRAL": """
            mistral-large-2402 mistral-large-2407 mistral-medium-2312 mistral-small-2402 mistral-tiny-2312
            open-mistral-nemo-2407 open-mixtral-8x22b open-mixtral-8x7b
        """,
        "LLAMA1": "meta-llama_Meta-Llama-3-70B-Instruct meta-llama_Meta-Llama-3-8B-Instruct",
        "GEMMA1": "google_gemma-7b-it",
        "CODER1": "deepseek-ai_deepseek-coder-6.7b-instruct",
        "QUOTED": "nvidia_nemotron-4-340b-instruct snowflake_arctic",
        "DBRX": "databricks-dbrx-instruct",
        "RAVEN": "Nexusflow-Raven-v2",
        "GORILLA": "gorilla-openfunctions-v0 gorilla-openfunctions-v2",
        "HERMES1": """
            NousResearch_Hermes-2-Pro-Llama-3-70B NousResearch_Hermes-2-Pro-Llama-3-8B
            NousResearch_Hermes-2-Pro-Mistral-7B NousResearch_Hermes-2-Theta-Llama-3-70B
            NousResearch_Hermes-2-Theta-Llama-3-8B
        """,
        "GLM": "THUDM_glm-4-9b-chat",
        "GRANITE": "ibm-granite_granite-20b-functioncalling",
        "XLAM1": "Salesforce_xLAM-1b-fc-r Salesforce_xLAM-7b-fc-r",
    },
    "V3": {
        "FC": """
            claude-3-5-haiku-20241022-FC claude-3-5-sonnet-20240620-FC claude-3-5-sonnet-20241022-FC
            claude-3-7-sonnet-20250219-FC claude-3-haiku-20240307-FC claude-3-opus-20240229-FC
            claude-3-sonnet-20240229-FC claude-opus-4-20250514-FC claude-sonnet-4-20250514-FC
            DeepSeek-R1-0528-FC DeepSeek-V3 DeepSeek-V3-0324-FC DeepSeek-V3-FC glm-4.5-air-FC glm-4.5-FC
            gpt-3.5-turbo-0125-FC gpt-4-0125-preview-FC gpt-4-0613-FC gpt-4-1106-preview-FC
            gpt-4-turbo-2024-04-09-FC gpt-4.1-2025-04-14-FC gpt-4.1-mini-2025-04-14-FC
            gpt-4.1-nano-2025-04-14-FC gpt-4.5-preview-2025-02-27-FC gpt-4o-2024-05-13-FC
            gpt-4o-2024-08-06-FC gpt-4o-2024-11-20-FC gpt-4o-mini-2024-07-18-FC grok-3-beta-FC
            grok-3-mini-beta-FC grok-4-0709-FC grok-beta kimi-k2-0711-preview-FC
            meetkai_functionary-medium-v3.1-FC meetkai_functionary-small-v3.1-FC
            meetkai_functionary-small-v3.2-FC meta-llama_llama-4-maverick-17b-128e-instruct-fp8-FC-novita
            meta-llama_llama-4-scout-17b-16e-instruct-FC-novita mistral-large-2407-FC
            mistral-large-2407-FC-Any mistral-large-2407-FC-Auto mistral-large-2411-FC
            mistral-medium-2505-FC mistral-small-2402-FC mistral-small-2402-FC-Any
            mistral-small-2402-FC-Auto mistral-small-2503-FC mistral-small-2506-FC o1-2024-12-17-FC
            o3-2025-04-16-FC o3-mini-2025-01-31-FC o4-mini-2025-04-16-FC open-mistral-nemo-2407-FC
            open-mistral-nemo-2407-FC-Any open-mistral-nemo-2407-FC-Auto open-mixtral-8x22b-FC
            open-mixtral-8x22b-FC-Any open-mixtral-8x22b-FC-Auto qwen3-0.6b-FC qwen3-1.7b-FC qwen3-14b-FC
            qwen3-235b-a22b-FC qwen3-30b-a3b-FC qwen3-32b-FC qwen3-4b-FC qwen3-4b-nothink-FC
            qwen3-4b-think-FC qwen3-8b-FC qwen_qwq-32b-FC-novita qwq-32b-FC
        """,
        "FC-DOTTED": "firefunction-v1-FC firefunction-v2-FC palmyra-x-004"
        " qwen3-235b-a22b-instruct-2507-FC",
        "GFC": """
            gemini-1.0-pro-002-FC gemini-1.0-pro-FC gemini-1.5-flash-001-FC gemini-1.5-flash-002-FC
            gemini-1.5-flash-preview-0514-FC gemini-1.5-pro-001-FC gemini-1.5-pro-002-FC
            gemini-1.5-pro-preview-0514-FC gemini-2.0-flash-001-FC gemini-2.0-flash-exp-FC
            gemini-2.0-flash-lite-001-FC gemini-2.0-flash-lite-preview-02-05-FC gemini-2.0-pro-exp-02-05-FC
            gemini-2.5-flash-FC gemini-2.5-flash-lite-preview-06-17-FC gemini-2.5-pro-exp-03-25-FC
            gemini-2.5-pro-FC gemini-2.5-pro-preview-05-06-FC gemini-exp-1206-FC
        """,
        "COHERE": "command-a-03-2025-FC command-r-plus-FC command-r7b-12-2024-FC",
        "LIST": "nova-lite-v1.0 nova-micro-v1.0 nova-pro-v1.0",
        "LIST-DOTTED": """
            deepseek-ai_DeepSeek-Coder-V2-Instruct-0724 deepseek-ai_DeepSeek-Coder-V2-Lite-Instruct
            deepseek-ai_DeepSeek-V2.5 mistralai_Ministral-8B-Instruct-2410
        """,
        "LIST-STRICT": """
            ibm-granite_granite-3.1-8b-instruct ibm-granite_granite-3.2-8b-instruct katanemo_Arch-Agent-1.5B
            katanemo_Arch-Agent-32B katanemo_Arch-Agent-3B katanemo_Arch-Agent-7B
            microsoft_Phi-4-mini-instruct-FC
        """,
        "NAMEARG": """
            DM-Cito-8B DM-Cito-8B-v2 Salesforce_xLAM-1b-fc-r Salesforce_xLAM-7b-fc-r Salesforce_xLAM-7b-r
            Salesforce_xLAM-8x22b-r Salesforce_xLAM-8x7b-r xiaoming-14B
        """,
        "PROMPT": """
            BitAgent_BitAgent-8B BitAgent_GoGoAgent deepseek-ai_DeepSeek-R1 DeepSeek-R1 DeepSeek-R1-0528
            google_gemma-2-27b-it google_gemma-2-2b-it google_gemma-2-9b-it google_gemma-3-12b-it
            google_gemma-3-1b-it google_gemma-3-27b-it google_gemma-3-4b-it google_gemma-7b-it
            gpt-3.5-turbo-0125 gpt-4-0125-preview gpt-4-0613 gpt-4-1106-preview gpt-4-turbo-2024-04-09
            gpt-4.1-2025-04-14 gpt-4.1-mini-2025-04-14 gpt-4.1-nano-2025-04-14 gpt-4.5-preview-2025-02-27
            gpt-4o-2024-05-13 gpt-4o-2024-08-06 gpt-4o-2024-11-20 gpt-4o-mini-2024-07-18 grok-3-beta
            grok-3-mini-beta grok-4-0709 kimi-k2-0711-preview Ling_ling-lite-v1.5
            meta-llama_Llama-3.1-70B-Instruct meta-llama_Llama-3.1-8B-Instruct
            meta-llama_Llama-3.2-1B-Instruct meta-llama_Llama-3.2-3B-Instruct
            meta-llama_Llama-3.3-70B-Instruct meta-llama_Llama-4-Maverick-17B-128E-Instruct-FP8-FC
            meta-llama_llama-4-maverick-17b-128e-instruct-fp8-novita
            meta-llama_Llama-4-Scout-17B-16E-Instruct-FC meta-llama_llama-4-scout-17b-16e-instruct-novita
            meta-llama_Meta-Llama-3-70B-Instruct meta-llama_Meta-Llama-3-70B-Instruct-FC
            meta-llama_Meta-Llama-3-8B-Instruct meta-llama_Meta-Llama-3-8B-Instruct-FC
            NovaSky-AI_Sky-T1-32B-Preview o1-2024-12-17 o1-mini-2024-09-12 o1-preview-2024-09-12
            o3-2025-04-16 o3-mini-2025-01-31 o4-mini-2025-04-16 openbmb_MiniCPM3-4B phronetic-ai_RZN-T
            qwen3-0.6b qwen3-1.7b qwen3-14b qwen3-235b-a22b qwen3-235b-a22b-instruct-2507 qwen3-30b-a3b
            qwen3-32b qwen3-4b qwen3-8b Qwen_Qwen2-1.5B-Instruct Qwen_Qwen2-7B-Instruct
            Qwen_Qwen2.5-0.5B-Instruct Qwen_Qwen2.5-1.5B-Instruct Qwen_Qwen2.5-14B-Instruct
            Qwen_Qwen2.5-32B-Instruct Qwen_Qwen2.5-3B-Instruct Qwen_Qwen2.5-72B-Instruct
            Qwen_Qwen2.5-7B-Instruct Qwen_Qwen3-0.6B Qwen_Qwen3-1.7B Qwen_Qwen3-14B Qwen_Qwen3-235B-A22B
            Qwen_Qwen3-235B-A22B-Instruct-2507 Qwen_Qwen3-30B-A3B Qwen_Qwen3-32B Qwen_Qwen3-4B Qwen_Qwen3-8B
            qwen_qwq-32b-novita Qwen_QwQ-32B-Preview QwQ-32B qwq-32b speakleash_Bielik-11B-v2.3-Instruct
            Team-ACE_ToolACE-2-8B Team-ACE_ToolACE-8B uiuc-convai_CALM-405B uiuc-convai_CALM-70B
            uiuc-convai_CALM-8B uiuc-convai_CoALM-405B uiuc-convai_CoALM-70B uiuc-convai_CoALM-8B
            watt-ai_watt-tool-70B watt-ai_watt-tool-8B ZJared_Haha-7B
        """,
        "BLANK": """
            claude-2.1 claude-3-5-haiku-20241022 claude-3-5-sonnet-20240620 claude-3-5-sonnet-20241022
            claude-3-7-sonnet-20250219 claude-3-haiku-20240307 claude-3-opus-20240229
            claude-3-sonnet-20240229 claude-instant-1.2 claude-opus-4-20250514 claude-sonnet-4-20250514
        """,
        "MISTRAL": """
            mistral-large-2407 mistral-large-2411 mistral-medium-2312 mistral-medium-2505 mistral-small-2402
            mistral-small-2503 mistral-small-2506 mistral-tiny-2312 open-mistral-nemo-2407
            open-mixtral-8x22b open-mixtral-8x7b
        """,
        "PHI": """
            deepseek-ai_DeepSeek-V2-Chat-0628 deepseek-ai_DeepSeek-V2-Lite-Chat microsoft_phi-4
            microsoft_Phi-4-mini-instruct
        """,
        "GEMINI": """
            gemini-1.0-pro gemini-1.0-pro-002 gemini-1.5-flash-001 gemini-1.5-flash-002
            gemini-1.5-flash-preview-0514 gemini-1.5-pro-001 gemini-1.5-pro-002 gemini-1.5-pro-preview-0409
            gemini-1.5-pro-preview-0514 gemini-2.0-flash-001 gemini-2.0-flash-exp gemini-2.0-flash-lite-001
            gemini-2.0-flash-lite-preview-02-05 gemini-2.0-flash-thinking-exp-01-21 gemini-2.0-pro-exp-02-05
            gemini-2.5-flash gemini-2.5-flash-lite-preview-06-17 gemini-2.5-pro gemini-2.5-pro-exp-03-25
            gemini-2.5-pro-preview-05-06 gemini-exp-1206
        """,
        "QUOTED": "nvidia_nemotron-4-340b-instruct snowflake_arctic",
        "DBRX": "databricks-dbrx-instruct",
        "RAVEN": "Nexusflow-Raven-v2",
        "GORILLA": "gorilla-openfunctions-v2",
        "NEMOTRON": "nvidia_llama-3.1-nemotron-ultra-253b-v1",
        "MINICPM": "openbmb_MiniCPM3-4B-FC",
        "TAGS": """
            Qwen_Qwen2.5-0.5B-Instruct-FC Qwen_Qwen2.5-1.5B-Instruct-FC Qwen_Qwen2.5-14B-Instruct-FC
            Qwen_Qwen2.5-32B-Instruct-FC Qwen_Qwen2.5-3B-Instruct-FC Qwen_Qwen2.5-72B-Instruct-FC
            Qwen_Qwen2.5-7B-Instruct-FC Qwen_Qwen3-0.6B-FC Qwen_Qwen3-1.7B-FC Qwen_Qwen3-14B-FC
            Qwen_Qwen3-235B-A22B-FC Qwen_Qwen3-235B-A22B-Instruct-2507-FC Qwen_Qwen3-30B-A3B-FC
            Qwen_Qwen3-32B-FC Qwen_Qwen3-4B-FC Qwen_Qwen3-8B-FC
        """,
        "HERMES": """
            NousResearch_Hermes-2-Pro-Llama-3-70B NousResearch_Hermes-2-Pro-Llama-3-8B
            NousResearch_Hermes-2-Pro-Mistral-7B NousResearch_Hermes-2-Theta-Llama-3-70B
            NousResearch_Hermes-2-Theta-Llama-3-8B
        """,
        "GLM": "THUDM_glm-4-9b-chat",
        "GRANITE": "ibm-granite_granite-20b-functioncalling",
        "FALCON": """
            tiiuae_Falcon3-10B-Instruct-FC tiiuae_Falcon3-1B-Instruct-FC tiiuae_Falcon3-3B-Instruct-FC
            tiiuae_Falcon3-7B-Instruct-FC
        """,
        "JSON": "BitAgent_BitAgent-Bounty-8B",
        "HAMMER": """
            MadeAgents_Hammer2.0-0.5b MadeAgents_Hammer2.0-1.5b MadeAgents_Hammer2.0-3b
            MadeAgents_Hammer2.0-7b MadeAgents_Hammer2.1-0.5b MadeAgents_Hammer2.1-1.5b
            MadeAgents_Hammer2.1-3b MadeAgents_Hammer2.1-7b
        """,
        "XLAM2": """
            Salesforce_Llama-xLAM-2-70b-fc-r Salesforce_Llama-xLAM-2-8b-fc-r Salesforce_xLAM-2-1b-fc-r
            Salesforce_xLAM-2-32b-fc-r Salesforce_xLAM-2-3b-fc-r
        """,
        "THINK": "ThinkAgents_ThinkAgent-1B",
        "LLAMAFC": "meta-llama_Llama-3.1-70B-Instruct-FC meta-llama_Llama-3.1-8B-Instruct-FC",
    },
    "V4": {
        "FC": """
            claude-3-5-haiku-20241022-FC claude-haiku-4-5-20251001-FC claude-opus-4-1-20250805-FC
            claude-opus-4-5-20251101-FC claude-sonnet-4-20250514-FC claude-sonnet-4-5-20250929-FC
            DeepSeek-R1-0528-FC DeepSeek-V3-0324-FC DeepSeek-V3.2-Exp-FC glm-4.5-air-FC glm-4.5-FC
            glm-4.6-FC gpt-4.1-2025-04-14-FC gpt-4.1-mini-2025-04-14-FC gpt-4.1-nano-2025-04-14-FC
            gpt-4o-2024-11-20-FC gpt-4o-mini-2024-07-18-FC gpt-5-2025-08-07-FC gpt-5-mini-2025-08-07-FC
            gpt-5-nano-2025-08-07-FC gpt-5.2-2025-12-11-FC grok-4-0709-FC grok-4-1-fast-non-reasoning-FC
            grok-4-1-fast-reasoning-FC kimi-k2-0711-preview-FC kimi-k2-0905-preview-FC
            meetkai_functionary-medium-v3.1-FC meetkai_functionary-small-v3.1-FC
            meta-llama_llama-4-maverick-17b-128e-instruct-fp8-FC-novita
            meta-llama_llama-4-scout-17b-16e-instruct-FC-novita mistral-large-2411-FC mistral-medium-2505-FC
            mistral-small-2506-FC o3-2025-04-16-FC o4-mini-2025-04-16-FC open-mistral-nemo-2407-FC
            openbmb_MiniCPM-SALA-FC qwen3-0.6b-FC qwen3-1.7b-FC qwen3-14b-FC qwen3-30b-a3b-instruct-2507-FC
            qwen3-32b-FC qwen3-4b-FC qwen3-4b-nothink-FC qwen3-4b-think-FC qwen3-8b-FC
            qwen_qwq-32b-FC-novita qwq-32b-FC
        """,
        "FC-DOTTED": "firefunction-v2-FC palmyra-x-004 qwen3-235b-a22b-instruct-2507-FC",
        "GFC": """
            gemini-2.5-flash-FC gemini-2.5-flash-lite-FC gemini-2.5-flash-lite-preview-06-17-FC
            gemini-2.5-pro-FC gemini-3-pro-preview-FC gemini-3.1-flash-lite-preview-FC
        """,
        "COHERE": "command-a-03-2025-FC command-a-reasoning-08-2025-FC command-r7b-12-2024-FC",
        "LIST": "nova-2-lite-v1.0 nova-lite-v1.0 nova-micro-v1.0 nova-pro-v1.0",
        "LIST-DOTTED": "mistralai_Ministral-8B-Instruct-2410",
        "LIST-STRICT": """
            ibm-granite_granite-3.1-8b-instruct ibm-granite_granite-3.2-8b-instruct katanemo_Arch-Agent-1.5B
            katanemo_Arch-Agent-32B katanemo_Arch-Agent-3B katanemo_Arch-Agent-7B
            microsoft_Phi-4-mini-instruct-FC
        """,
        "NAMEARG": "DM-Cito-32B-v1 DM-Cito-8B-v2 DM-Cito-8B-v3 xiaoming-14B",
        "PROMPT": """
            BitAgent_BitAgent-8B BitAgent_GoGoAgent claude-3-5-haiku-20241022 claude-haiku-4-5-20251001
            claude-opus-4-1-20250805 claude-opus-4-5-20251101 claude-sonnet-4-20250514
            claude-sonnet-4-5-20250929 deepseek-ai_DeepSeek-R1 DeepSeek-R1-0528 DeepSeek-V3.2-Exp
            DeepSeek-V3.2-Exp-thinking google_gemma-3-12b-it google_gemma-3-1b-it google_gemma-3-27b-it
            google_gemma-3-4b-it gpt-4.1-2025-04-14 gpt-4.1-mini-2025-04-14 gpt-4.1-nano-2025-04-14
            gpt-4o-2024-11-20 gpt-4o-mini-2024-07-18 gpt-5-2025-08-07 gpt-5-mini-2025-08-07
            gpt-5-nano-2025-08-07 gpt-5.2-2025-12-11 grok-4-0709 kimi-k2-0711-preview kimi-k2-0905-preview
            Ling_ling-lite-v1.5 meta-llama_Llama-3.1-70B-Instruct meta-llama_Llama-3.1-8B-Instruct
            meta-llama_Llama-3.2-1B-Instruct-FC meta-llama_Llama-3.2-3B-Instruct-FC
            meta-llama_Llama-3.3-70B-Instruct-FC meta-llama_Llama-4-Maverick-17B-128E-Instruct-FP8-FC
            meta-llama_llama-4-maverick-17b-128e-instruct-fp8-novita
            meta-llama_Llama-4-Scout-17B-16E-Instruct-FC meta-llama_llama-4-scout-17b-16e-instruct-novita
            mistral-large-2411 mistral-medium-2505 mistral-small-2506 NovaSky-AI_Sky-T1-32B-Preview
            nvidia_nemotron-4-340b-instruct o3-2025-04-16 o4-mini-2025-04-16 open-mistral-nemo-2407
            openbmb_MiniCPM3-4B phronetic-ai_RZN-T qwen3-0.6b qwen3-1.7b qwen3-14b
            qwen3-235b-a22b-instruct-2507 qwen3-30b-a3b-instruct-2507 qwen3-32b qwen3-4b qwen3-8b
            Qwen_Qwen3-0.6B Qwen_Qwen3-1.7B Qwen_Qwen3-14B Qwen_Qwen3-235B-A22B-Instruct-2507
            Qwen_Qwen3-30B-A3B-Instruct-2507 Qwen_Qwen3-32B Qwen_Qwen3-4B-Instruct-2507 Qwen_Qwen3-8B
            qwen_qwq-32b-novita qwq-32b speakleash_Bielik-11B-v2.3-Instruct Team-ACE_ToolACE-2-8B
            uiuc-convai_CoALM-405B uiuc-convai_CoALM-70B uiuc-convai_CoALM-8B watt-ai_watt-tool-70B
            watt-ai_watt-tool-8B ZJared_Haha-7B
        """,
        "PHI": "microsoft_phi-4 microsoft_Phi-4-mini-instruct",
        "GEMINI": """
            gemini-2.5-flash gemini-2.5-flash-lite gemini-2.5-flash-lite-preview-06-17 gemini-2.5-pro
            gemini-3-pro-preview gemini-3.1-flash-lite-preview
        """,
        "GORILLA": "gorilla-openfunctions-v2",
        "NEMOTRON": "nvidia_llama-3.1-nemotron-ultra-253b-v1",
        "MINICPM": "openbmb_MiniCPM3-4B-FC",
        "TAGS": """
            ibm-granite_granite-4.0-350m Nanbeige_Nanbeige4-3B-Thinking-2511 Qwen_Qwen3-0.6B-FC
            Qwen_Qwen3-1.7B-FC Qwen_Qwen3-14B-FC Qwen_Qwen3-235B-A22B-Instruct-2507-FC
            Qwen_Qwen3-30B-A3B-Instruct-2507-FC Qwen_Qwen3-32B-FC Qwen_Qwen3-4B-Instruct-2507-FC
            Qwen_Qwen3-8B-FC X-Humanoid_Pelican1.0-VL-235B-A22B-FC X-Humanoid_Pelican1.0-VL-30B-A3B-FC
        """,
        "GLM": "THUDM_glm-4-9b-chat",
        "GRANITE": "ibm-granite_granite-20b-functioncalling",
        "FALCON": """
            tiiuae_Falcon3-10B-Instruct-FC tiiuae_Falcon3-1B-Instruct-FC tiiuae_Falcon3-3B-Instruct-FC
            tiiuae_Falcon3-7B-Instruct-FC
        """,
        "FGEMMA": "google_functiongemma-270m-it-FC",
        "JSON": "BitAgent_BitAgent-Bounty-8B",
        "HAMMER": "MadeAgents_Hammer2.1-0.5b MadeAgents_Hammer2.1-1.5b MadeAgents_Hammer2.1-3b"
        " MadeAgents_Hammer2.1-7b",
        "XLAM2": """
            Salesforce_Llama-xLAM-2-70b-fc-r Salesforce_Llama-xLAM-2-8b-fc-r Salesforce_xLAM-2-1b-fc-r
            Salesforce_xLAM-2-32b-fc-r Salesforce_xLAM-2-3b-fc-r
        """,
        "THINK": "ThinkAgents_ThinkAgent-1B",
        "LLAMAFC": "meta-llama_Llama-3.1-70B-Instruct-FC meta-llama_Llama-3.1-8B-Instruct-FC",
    },
}
"""BFCL version -> decoder name -> names of model folders, separated by white space."""
