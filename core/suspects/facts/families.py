"""Which models are of one family: what they have in common they learned together, so they are one witness."""

from __future__ import annotations

import re
from functools import lru_cache

_MEMBERS = {
    "gpt": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci"),
    "claude": ("claude",),
    "gemini": ("gemini", "gemma", "palm", "bison"),
    "mistral": ("mistral", "mixtral", "ministral", "codestral", "magistral", "pixtral"),
    "llama": ("llama",),
    "qwen": ("qwen", "qwq"),
    "cohere": ("command", "aya", "c4ai"),
    "nova": ("nova", "titan"),
}
"""Names of one maker's models that do not begin alike."""
_FAMILY = {name: family for family, names in _MEMBERS.items() for name in names}
_WORD = re.compile(r"[a-z]+(?:\d(?=[-_.]|$))?")
_MAKERS = ("meta", "open", "openai", "anthropic", "google", "nvidia", "databricks", "cohere", "amazon", "microsoft")


@lru_cache(1 << 12)
def family(model: str) -> str:
    """`gpt` of `gpt-4o-2024-08-06-FC`, `llama` of `meta-llama_Meta-Llama-3-70B-Instruct`, else the name's first word
    that is no maker's: `functionary` of `meetkai/functionary-small`. Of a fine-tuned model it is the tuner's name."""
    own = re.split(r"[/_]", model.lower(), maxsplit=1)[-1] if re.search(r"[/_]", model) else model.lower()
    words = [word for word in _WORD.findall(own) if word not in _MAKERS]
    if words and (known := _known(words[0])):
        return known
    return str(words[0]).rstrip("0123456789") if words else own or "unnamed"


def _known(word: str) -> str | None:
    return _FAMILY.get(word, _FAMILY.get(word.rstrip("0123456789")))
