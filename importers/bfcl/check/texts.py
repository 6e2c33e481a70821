"""How BFCL compares texts: without a few characters, without case, with one kind of quote."""

from __future__ import annotations

import re
from typing import Any

_ignored = re.compile(r"[ ,./\-_*^]").sub


def normalise(text: str) -> str:
    """`Hangzhou, China` -> `hangzhouchina`. Tabs, newlines, `:`, `$` and accents stay."""
    return _ignored("", text).lower().replace("'", '"')


def normalise_any(value: Any) -> Any:
    """A text normalised, anything else as it is (texts inside lists too)."""
    return normalise(value) if type(value) is str else value


def normalise_list(values: Any) -> list[Any]:
    """A list with the texts directly in it normalised."""
    return [_ignored("", value).lower().replace("'", '"') if type(value) is str else value for value in values]
