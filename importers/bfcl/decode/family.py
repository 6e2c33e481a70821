"""Which family of output handlers a model folder belongs to: asked only where the record's own shape does not tell.

The same text is decoded differently by the benchmark's handlers, and the handler is not in the files.
`[{"name": ...}]` is a call from a model that was asked for it, and a failure from one that was asked for Python syntax.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

Family = Literal[
    "api", "gemini", "cohere", "tags", "first_tag", "hermes", "granite", "json", "hammer", "glm", "llama_json",
    "llama", "gemma", "mistral", "phi", "plain", "bare", "prompt",
]  # fmt: skip
"""`api`: native function calling, text is never a call; `gemini` and `cohere` say so differently. `tags`:
`<tool_call>` blocks, `first_tag` only one. `json`: a JSON list or `tool_calls` object, `hammer` takes
broken JSON for no call. `llama_json`: literals, or JSON objects joined by semicolons. `plain`: `f(a=1);`
without brackets. `bare`: no clean-up at all. The rest are prompt-mode clean-ups."""

KNOWN: tuple[tuple[str, Family], ...] = (
    ("hermes", "hermes"),
    ("granite-20b", "granite"),
    ("granite-3", "api"),
    ("granite-4", "tags"),
    ("pelican", "tags"),
    ("falcon3", "first_tag"),
    ("xlam", "json"),
    ("hammer", "hammer"),
    ("glm-4-9b", "glm"),
    ("arch-agent", "api"),
    ("raven", "plain"),
    ("gorilla-openfunctions", "plain"),
)
"""Parts of folder names; the first that is found counts. Those whose function calling goes through text,
and a few native ones without `-FC` in their name."""
V4_API: tuple[tuple[str, Family], ...] = (("gemini", "gemini"), ("command", "cohere"))
V1_PROMPT: tuple[tuple[str, Family], ...] = (
    ("llama", "llama"),
    ("gemma", "gemma"),
    ("mistral", "mistral"),
    ("gpt-", "bare"),
)
FLAT_NAMES = frozenset({"api", "gemini", "cohere", "hermes", "granite", "glm"})
"""Families that were offered `math_factorial` for `math.factorial`."""


@lru_cache(maxsize=1024)
def family_of(model: str, v1: bool) -> Family:
    """The family of a model folder's name; `prompt` if nothing else is known."""
    name = model.lower()
    for part, family in KNOWN:
        if part in name:
            return family
    if name.endswith("-fc") or "-fc-" in name:
        if name.startswith("qwen_"):
            return "tags"
        if name.startswith("meta-llama_") and "novita" not in name:
            return "llama_json" if "3.1" in name else "prompt"
        return "api" if v1 else next((family for part, family in V4_API if name.startswith(part)), "api")
    if not v1:
        return "phi" if "phi-" in name else "prompt"
    return next((family for part, family in V1_PROMPT if part in name), "prompt")
