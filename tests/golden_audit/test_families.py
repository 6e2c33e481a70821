from __future__ import annotations

import pytest

from fcreview.golden_audit.evidence import find_model_family


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4o-2024-08-06-FC", "gpt"),
        ("o1-2024-12-17", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("claude-3-opus-20240229", "claude"),
        ("gemini-1.5-flash-002", "gemini"),
        ("google_gemma-7b-it", "gemini"),
        ("meta-llama_Meta-Llama-3-70B-Instruct", "llama"),
        ("meta-llama/Llama-3.1-8B-Instruct-FC", "llama"),
        ("open-mixtral-8x7b", "mistral"),
        ("mistral-large-2407-FC-Auto", "mistral"),
        ("Qwen_Qwen2.5-7B-Instruct", "qwen"),
        ("command-r-plus-FC", "cohere"),
        ("Salesforce_xLAM-7b-fc-r", "xlam"),
        ("gorilla-openfunctions-v2", "gorilla"),
        ("THUDM_glm-4-9b-chat", "glm"),
        ("maple-8b", "maple"),
        ("", "unnamed"),
        ("42", "42"),
    ],
)
def test_family_is_read_from_model_name(model: str, name: str) -> None:
    assert find_model_family(model) == name
