"""Number of Hypothesis examples for a test, relative to the profile in tests/conftest.py."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

LONG = "long" in (os.environ.get("FCREVIEW_EXAMPLES"), os.environ.get("FCREVIEW_FAULTS"))
only_long = pytest.mark.skipif(
    not LONG, reason="takes many minutes: FCREVIEW_EXAMPLES=long make sweep, or make faults"
)


def split_by_form(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Return the values as parameters of a test. Values that are not in `quick` are only tested in
    the long form.
    """
    return [value if value in quick else pytest.param(value, marks=only_long) for value in values]


def examples(times: float, **more: Any) -> settings:
    """Return settings with `times` as many examples as the profile.

    FCREVIEW_EXAMPLES=long selects a larger profile.
    """
    return settings(max_examples=max(int(times * settings.default.max_examples), 1), **more)
