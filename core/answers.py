"""Values of verdicts as the words of their criterion's scale, and back. For formats that know words only."""

from __future__ import annotations

import json
from typing import Any

from fcreview.criteria import PASS_FAIL, SCALES
from fcreview.values import to_json_text


def answer(criterion: str, value: Any) -> str:
    """The word for a value: `pass`, `yes`, `2`; pass and fail where the criterion has no scale of its own; JSON text
    for what the scale has no word for."""
    for word, meant in SCALES.get(criterion, PASS_FAIL).items():
        if type(meant) is type(value) and meant == value:
            return word
    return to_json_text(value)


def answered(criterion: str, word: str) -> Any:
    """What `answer` gave the word for. ValueError for what is neither a word of the scale nor JSON."""
    scale = SCALES.get(criterion, PASS_FAIL)
    if word in scale:
        return scale[word]
    try:
        return json.loads(word)
    except ValueError:
        raise ValueError(f"no verdict {word!r} on {criterion}: there are {', '.join(scale)}") from None


def off_scale(criterion: str, value: Any) -> str | None:
    """What is wrong with a value that the criterion's scale does not have, in a few words; None if nothing is, or the
    criterion has no scale."""
    scale = SCALES.get(criterion)
    if scale is None or any(type(meant) is type(value) and meant == value for meant in scale.values()):
        return None
    return f"no verdict {to_json_text(value)} on {criterion}: there are {', '.join(map(to_json_text, scale.values()))}"
