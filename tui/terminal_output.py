"""Terminal driver that sends only the changes of colours and attributes, because Textual sends all of them each time.

With true colours this halves the bytes of a frame, which users notice over SSH.
"""

from __future__ import annotations

import re

from textual.drivers.linux_driver import LinuxDriver

_SGR = re.compile(r"\x1b\[([0-9;]*)m")
"""Sequence that selects colours and attributes (ECMA-48, Select Graphic Rendition)."""
_OFF_CODES = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "8": "28", "9": "29"}
"""Attribute -> code that switches it off. 22 switches off both bold (1) and dim (2)."""
_COLOUR_LENGTHS = {"5": 3, "2": 5}
"""Second number of a colour -> length of the colour: `38;5;N` and `38;2;R;G;B`."""

GraphicState = tuple[str, str, frozenset[str]]
"""(foreground, background, attributes) as numbers of SGR. A colour is empty for the default."""
_RESET: GraphicState = ("", "", frozenset())


def _apply(state: GraphicState, parameters: str) -> GraphicState | None:
    """Return the state after an SGR sequence. None for a number that fcreview does not track."""
    foreground, background, attributes = state
    numbers, at = parameters.split(";"), 0
    while at < len(numbers):
        number = numbers[at].lstrip("0")
        length = _COLOUR_LENGTHS.get("".join(numbers[at + 1 : at + 2]), 0) if number in ("38", "48") else 1
        colour = ";".join(numbers[at : at + length])
        if not length:
            return None
        if not number:
            foreground, background, attributes = _RESET
        elif number in _OFF_CODES:
            attributes |= {number}
        elif number == "38" or re.fullmatch("3[0-7]|9[0-7]", number):
            foreground = colour
        elif number == "48" or re.fullmatch("4[0-7]|10[0-7]", number):
            background = colour
        else:
            return None
        at += length
    return foreground, background, attributes


def _transition(before: GraphicState | None, after: GraphicState) -> str:
    """Return the sequence that changes one state to another. `before`: None if unknown."""
    if before == after:
        return ""
    start = ""
    if before is None or after == _RESET:
        start, before = "\x1b[0m", _RESET
    off = {_OFF_CODES[each] for each in before[2] - after[2]}
    kept = {each for each in before[2] if _OFF_CODES[each] not in off}
    numbers = [*sorted(off), *sorted(after[2] - kept)]
    numbers += [after[0] or "39"] if before[0] != after[0] else []
    numbers += [after[1] or "49"] if before[1] != after[1] else []
    return start + (f"\x1b[{';'.join(numbers)}m" if numbers else "")


def compact_styles(text: str) -> str:
    """Return terminal output with the same effect and shorter SGR sequences.

    The output may begin in any state. It ends in the default state, as Textual's output does.
    """
    pieces = _SGR.split(text)  # text, parameters, text, parameters, ..., text
    if len(pieces) == 1:
        return text
    parts = [pieces[0]]
    sent: GraphicState | None = None
    wanted = _RESET
    for parameters, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        state = _apply(wanted, parameters)
        if state is None:
            return text
        wanted = state
        if piece:
            parts += [_transition(sent, wanted), piece]
            sent = wanted
    return "".join([*parts, _transition(sent, _RESET)])


class CompactDriver(LinuxDriver):
    """Textual's driver with `compact_styles`."""

    def write(self, data: str) -> None:
        super().write(compact_styles(data))
