"""Searches of JSON texts that are fast because most texts have nothing to find."""

from __future__ import annotations

import random
import re

from fcreview.importers.common.json_text import may_have_surrogates

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""An escaped surrogate, or a lone one."""
PIECES = ["\\ud", "\\uD", "\\u", "\\", "d", "D", "8", "f", "\ud800", "é", "\U0001f600", "text"]


def test_surrogates_are_found_like_by_their_definition() -> None:
    rng = random.Random(1)
    found = set()
    for _ in range(3_000):
        text = "".join(rng.choices(PIECES, k=rng.randrange(6)))
        found.add(may_have_surrogates(text))
        assert may_have_surrogates(text) == (SURROGATE.search(text) is not None), text
    assert found == {True, False}
