"""Number of Hypothesis examples for a test, relative to the profile in tests/conftest.py."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

LONG = os.environ.get("FCREVIEW_EXAMPLES") == "long"
only_long = pytest.mark.skipif(
    not LONG, reason="takes many minutes: FCREVIEW_EXAMPLES=long make sweep"
)


def examples(times: float, **more: Any) -> settings:
    """Return settings with `times` as many examples as the profile.

    FCREVIEW_EXAMPLES=long selects a larger profile.
    """
    return settings(max_examples=max(int(times * settings.default.max_examples), 1), **more)
