"""Each verdict that a person can type has a key and an appearance."""

from __future__ import annotations

import pytest

from fcreview.model.verdict import PASS_FAIL
from fcreview.tui.text.styles import VERDICT_APPEARANCES
from fcreview.tui.verdict_keys import VERDICT_KEYS


@pytest.mark.parametrize("word", PASS_FAIL)
def test_each_verdict_has_a_key_and_an_appearance(word: str) -> None:
    value = PASS_FAIL[word]
    values_of_keys = [key.value for key in VERDICT_KEYS]
    assert value in values_of_keys, f"tui/verdict_keys.py has no key for {word!r}"
    meanings = [each.meaning for each in VERDICT_APPEARANCES if each.value is value]
    assert meanings, f"VERDICT_APPEARANCES of tui/text/styles.py has no entry for {word!r}"
