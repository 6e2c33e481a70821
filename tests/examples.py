"""How many examples a property is tried on: a share of what the profile says (tests/conftest.py)."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(times: float, **more: Any) -> settings:
    """So many times as many as usual; FCREVIEW_EXAMPLES=long makes all of them more."""
    return settings(max_examples=max(int(times * settings.default.max_examples), 1), **more)
