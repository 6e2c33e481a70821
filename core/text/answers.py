"""Values of verdicts as the words of their criterion's scale, and back. For formats that know words only."""

from __future__ import annotations

import json
from typing import Any

from fcreview.criteria import PASS_FAIL, SCALES, YES_NO, Scale
from fcreview.values import to_json_text


def choices(criterion: str) -> dict[str, Any]:
    """The words of the criterion's scale and what they mean: pass and fail where it has no scale of its own."""
    return dict(SCALES.get(criterion, Scale(PASS_FAIL)).words)


def answer(criterion: str, value: Any) -> str:
    """The word for a value: `pass`, `yes`, `2`; JSON text for what the scale has no word for."""
    for word, meant in choices(criterion).items():
        if type(meant) is type(value) and meant == value:
            return word
    return to_json_text(value)


def answered(criterion: str, word: str) -> Any:
    """What `answer` gave the word for. ValueError for what is neither a word of the scale nor JSON."""
    words = choices(criterion)
    if word in words:
        return words[word]
    try:
        return json.loads(word)
    except ValueError:
        raise ValueError(f"no verdict {word!r} on {criterion}: there are {', '.join(words)}") from None


def off_scale(criterion: str, value: Any) -> str | None:
    """What is wrong with a value that the criterion's scale does not have, in a few words; None if nothing is, or the
    criterion has no scale. Where yes or no is asked, a list may say of what: so HammerBench does."""
    scale = SCALES.get(criterion)
    if scale is None or any(type(meant) is type(value) and meant == value for meant in scale.words.values()):
        return None
    if isinstance(value, list) and (scale.labels or scale.words is YES_NO):
        return None
    if scale.numbers is not None and type(value) in (int, float) and scale.numbers[0] <= value <= scale.numbers[1]:
        return None
    return f"no verdict {to_json_text(value)} on {criterion}: there are {scale.allowed()}"
