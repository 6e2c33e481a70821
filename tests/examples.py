"""How many examples a property is tried on: a share of what the profile says (tests/conftest.py)."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

LONG = os.environ.get("FCREVIEW_EXAMPLES") == "long"
only_long = pytest.mark.skipif(not LONG, reason="takes many minutes: FCREVIEW_EXAMPLES=long make sweep")


def examples(times: float, **more: Any) -> settings:
    """So many times as many as usual; FCREVIEW_EXAMPLES=long makes all of them more."""
    return settings(max_examples=max(int(times * settings.default.max_examples), 1), **more)
