"""The benchmark's own fields: numbers as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.tui.document.extra import rounded
from tests.tui.document.shown import WEATHER, detail, text


def test_a_field_shows_no_digits_that_nobody_reads() -> None:
    of = detail(WEATHER)
    of.item.extra.more = {"cost": 0.1 + 0.2, "latency": [[1.2345678901234567], [0.1 + 0.2]], "at": {"x": 0.1 + 0.2}}
    of.item.seconds = [12.345678901234567]
    shown = "\n".join(text(of))
    assert "0.3000" not in shown and "12.3457" in shown
    assert "[[1.2346], [0.3]]" in shown and '{"x": 0.3}' in shown
    assert of.item.extra.more["cost"] == 0.1 + 0.2, "what is kept stays as it is"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00001234, 1.23e-05), (0.0, 0.0), (1e30, 1e30), (3, 3), (True, True), ("0.30000000000000004",) * 2,
     ({"longitude": 120.15507123}, {"longitude": 120.15507123}), (float("inf"), float("inf"))],
)  # fmt: skip
def test_numbers_are_rounded_and_nothing_else(value: Any, shown: Any) -> None:
    assert rounded(value) == shown
